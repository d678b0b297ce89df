//! Totals: how many nodes are below each node, and what their numbers add up to.
//!
//! What a node adds to its ancestors' totals is its [`Share`]. The item `COUNTED` of a node says which share of it the
//! totals hold, and changes only in a transaction with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::decimal::Decimal;
use super::epoch::{Epoch, epoch_of};
use super::format::{self, NewerFormat};
use super::item::{AttributeValue, Item, text, text_of, texts, texts_of, with_key};
use super::settings::Settings;
use crate::keys::{DEPTH_MAX, Id, NodeRef, Schema};
use crate::request::Update;

/// The word for the number of nodes, in settings.
const COUNT: &str = "count";

/// Most attributes whose numbers are added up. It is a choice: each is in what every node is counted as.
pub const TOTALS_ATTRIBUTES_MAX: usize = 8;

/// The totals that a table keeps.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Totals {
    /// The attributes of base records whose numbers are added up. The nodes are counted in any case.
    attributes: BTreeSet<String>,
}

impl Totals {
    /// Nodes are counted, and these attributes added up.
    pub fn of(attributes: impl IntoIterator<Item = String>) -> Self {
        Self { attributes: attributes.into_iter().collect() }
    }

    /// The attributes that are added up.
    #[must_use]
    pub fn attributes(&self) -> &BTreeSet<String> {
        &self.attributes
    }

    /// The share of a node with this base record below these ancestors. What is no number, or has too many digits
    /// before the point, adds nothing but one to those that are left out.
    pub fn share(&self, ancestors: Vec<Id>, base: &Item) -> Share {
        let value = |name: &String| match base.get(name) {
            Some(AttributeValue::N(digits)) => Decimal::value(digits).filter(|value| !value.is_zero()),
            _ => None,
        };
        let values = self.attributes.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect();
        Share::new(ancestors, values, self.left_out(base).next().is_some())
    }

    /// The attributes of a base record that should be added up and can't be.
    pub fn left_out<'a>(&'a self, base: &'a Item) -> impl Iterator<Item = &'a str> {
        let is_left_out = |name: &&String| match base.get(*name) {
            None => false,
            Some(AttributeValue::N(digits)) => Decimal::value(digits).is_none(),
            Some(_) => true,
        };
        self.attributes.iter().filter(is_left_out).map(String::as_str)
    }
}

impl fmt::Display for Totals {
    /// As settings have it: `count,size`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(COUNT)?;
        self.attributes.iter().try_for_each(|name| write!(f, ",{name}"))
    }
}

/// The share of a node in the totals of its ancestors.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[must_use]
pub struct Share {
    /// The ancestors whose totals the node is in, nearest first.
    ancestors: Vec<Id>,
    /// The numbers that it adds to each of them, by attribute. Zeros are left out.
    values: BTreeMap<String, Decimal>,
    /// True if it has something that should be added up and can't be.
    is_left_out: bool,
}

impl Share {
    /// The share of a node below these ancestors. Without ancestors it is nothing.
    pub fn new(ancestors: Vec<Id>, values: BTreeMap<String, Decimal>, is_left_out: bool) -> Self {
        if ancestors.is_empty() { Self::default() } else { Self { ancestors, values, is_left_out } }
    }

    /// The same share of these ancestors alone: a step on the way.
    pub fn below(&self, ancestors: &[Id]) -> Self {
        Self::new(ancestors.to_vec(), self.values.clone(), self.is_left_out)
    }

    /// True if both add the same to an ancestor of both, but for the children.
    #[must_use]
    pub fn adds_as(&self, other: &Self) -> bool {
        (&self.values, self.is_left_out) == (&other.values, other.is_left_out)
    }

    /// The ancestors, nearest first.
    #[must_use]
    pub fn ancestors(&self) -> &[Id] {
        &self.ancestors
    }

    /// The amounts that it adds to one of the ancestors; none to others.
    pub fn of(&self, ancestor: &Id) -> Amounts {
        if !self.ancestors.contains(ancestor) {
            return Amounts::default();
        }
        let is_parent = self.ancestors.first() == Some(ancestor);
        let one = |is_one: bool| if is_one { Decimal::ONE } else { Decimal::ZERO };
        let (children, left_out) = (one(is_parent), one(self.is_left_out));
        Amounts { count: Decimal::ONE, children, left_out, sums: self.values.clone() }
    }

    /// The changes of each ancestor's totals when this share takes the place of another.
    #[must_use]
    pub fn change_from(&self, before: &Self) -> BTreeMap<Id, Amounts> {
        let concerned: BTreeSet<&Id> = self.ancestors.iter().chain(&before.ancestors).collect();
        let changes = concerned.into_iter().map(|ancestor| {
            let mut change = self.of(ancestor);
            change.subtract(&before.of(ancestor));
            (ancestor.clone(), change)
        });
        changes.filter(|(_, change)| !change.is_nothing()).collect()
    }
}

/// The amounts below a node, as its totals have them, or a part of them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[must_use]
pub struct Amounts {
    /// The number of nodes below it.
    pub count: Decimal,
    /// The number of its children.
    pub children: Decimal,
    /// The number of nodes below it with something that should be added up and can't be.
    pub left_out: Decimal,
    /// The sums, by attribute.
    pub sums: BTreeMap<String, Decimal>,
}

impl Amounts {
    const COUNT: &str = "_count";
    const CHILDREN: &str = "_children";
    const LEFT_OUT: &str = "_left_out";
    /// The attribute that counts the writes of a lane.
    pub const WRITES: &str = "_writes";
    /// The prefix of a sum's name: a user's attribute can be an index's key, or the table's TTL attribute.
    const SUM: &str = "_sum_";

    /// Adds other amounts.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.children += other.children;
        self.left_out += other.left_out;
        other.sums.iter().for_each(|(name, sum)| *self.sums.entry(name.clone()).or_default() += *sum);
        self.sums.retain(|_, sum| !sum.is_zero());
    }

    /// Takes other amounts away.
    pub fn subtract(&mut self, other: &Self) {
        let sums = other.sums.iter().map(|(name, sum)| (name.clone(), -*sum)).collect();
        let (count, children, left_out) = (-other.count, -other.children, -other.left_out);
        self.add(&Self { count, children, left_out, sums });
    }

    /// True if nothing is to be added.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        [self.count, self.children, self.left_out].iter().all(|number| number.is_zero()) && self.sums.is_empty()
    }

    /// True if nothing but the number of children changes.
    #[must_use]
    pub fn is_of_children(&self) -> bool {
        Self { children: Decimal::ZERO, ..self.clone() }.is_nothing()
    }

    /// The update that adds these amounts to a lane, for example `ADD _count 1, _children 1, _sum_size 12, _writes 1`.
    #[must_use]
    pub fn added(&self) -> Update {
        let numbers = [(Self::COUNT, self.count), (Self::CHILDREN, self.children), (Self::LEFT_OUT, self.left_out)];
        let own =
            numbers.into_iter().chain([(Self::WRITES, Decimal::ONE)]).map(|(name, amount)| (name.to_owned(), amount));
        let sums = self.sums.iter().map(|(name, sum)| (format!("{}{name}", Self::SUM), *sum));
        Update { add: own.chain(sums).filter(|(_, amount)| !amount.is_zero()).collect(), ..Update::default() }
    }

    /// Reads a lane. What isn't a number counts as nothing.
    pub fn in_lane(lane: &Item) -> Self {
        let number = |name: &str| number_of(lane, name).unwrap_or_default();
        let sums = lane.keys().filter_map(|name| {
            let sum = number_of(lane, name).filter(|sum| !sum.is_zero())?;
            Some((name.strip_prefix(Self::SUM)?.to_owned(), sum))
        });
        let [count, children, left_out] = [Self::COUNT, Self::CHILDREN, Self::LEFT_OUT].map(number);
        Self { count, children, left_out, sums: sums.collect() }
    }

    /// The sum of these lanes.
    pub fn in_lanes<'l>(lanes: impl IntoIterator<Item = &'l Item>) -> Self {
        let mut all = Self::default();
        lanes.into_iter().for_each(|lane| all.add(&Self::in_lane(lane)));
        all
    }

    /// A lane that has all of it, made of its key, after so many writes.
    #[must_use]
    pub fn lane(&self, key: Item, writes: u64) -> Item {
        let mut lane = self.added().of(key);
        lane.insert(Self::WRITES.to_owned(), AttributeValue::N(writes.to_string()));
        lane
    }

    /// True if a lane has nothing but numbers where there have to be some, so that the table can add to them.
    #[must_use]
    pub fn can_be_added_to(lane: &Item) -> bool {
        let own = [Self::COUNT, Self::CHILDREN, Self::LEFT_OUT, Self::WRITES];
        let mut numbers = lane.keys().filter(|name| own.contains(&name.as_str()) || name.starts_with(Self::SUM));
        numbers.all(|name| number_of(lane, name).is_some())
    }

    /// True if an item with a lane's key can be one: it has attributes beside its key, and none of somebody else's.
    #[must_use]
    pub fn is_lane(item: &Item, schema: &Schema) -> bool {
        let names = schema.names();
        let mut others =
            item.keys().filter(|name| **name != names.partition_key && **name != names.sort_key).peekable();
        others.peek().is_some() && others.all(|name| name.starts_with('_'))
    }

    /// How often a lane was written.
    #[must_use]
    pub fn writes_of(lane: &Item) -> Option<u64> {
        number_of(lane, Self::WRITES)?.count()
    }
}

fn number_of(item: &Item, name: &str) -> Option<Decimal> {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => Decimal::sum(digits),
        _ => None,
    }
}

/// The count of a node: the item `COUNTED`. After the node has gone it is a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The epoch of the totals that hold the share.
    pub epoch: Epoch,
    /// The name of the write. No other write of this item has the same: a transaction that comes late finds another.
    pub version: String,
    /// The share; `None` for a tombstone.
    pub share: Option<Share>,
}

impl Counted {
    /// The attribute that names the write.
    pub const VERSION: &str = "version";
    const EPOCH: &str = "epoch";
    const ANCESTORS: &str = "ancestors";
    const VALUES: &str = "values";
    const LEFT_OUT: &str = "left_out";

    /// Seconds that a tombstone is kept: 14 days, as a lineage's. Transactions under way when the node went have ended.
    const KEPT_SECONDS: u64 = 14 * 24 * 60 * 60;

    /// The item, written at this time in seconds since 1970.
    ///
    /// ```json
    /// {"PK": "d", "SK": "COUNTED", "format": 1, "epoch": 0, "version": "0b6a….0", "ancestors": ["V", "D"], "values": {"size": 12}}
    /// ```
    #[must_use]
    pub fn item(&self, node: &NodeRef, settings: &Settings, now: u64) -> Item {
        let schema = &settings.schema;
        let mut item = with_key(&schema.counted_key(node), schema);
        format::mark(&mut item);
        item.insert(Self::EPOCH.to_owned(), AttributeValue::N(self.epoch.0.to_string()));
        item.insert(Self::VERSION.to_owned(), text(&self.version));
        match &self.share {
            Some(share) => {
                let values = share.values.iter();
                let values = values.map(|(name, value)| (name.clone(), AttributeValue::N(value.to_string())));
                item.insert(Self::ANCESTORS.to_owned(), texts(share.ancestors.iter().map(Id::as_str)));
                item.insert(Self::VALUES.to_owned(), AttributeValue::M(values.collect()));
                if share.is_left_out {
                    item.insert(Self::LEFT_OUT.to_owned(), AttributeValue::Bool(true));
                }
            }
            None => {
                let expires = now.saturating_add(Self::KEPT_SECONDS);
                item.insert(settings.expires().to_owned(), AttributeValue::N(expires.to_string()));
            }
        }
        item
    }

    /// Reads the item. `None` for one that no handler has written, or with more ancestors or values than a node can
    /// have: each ancestor's change has all values, which could fill the memory. Fails if a newer version has written
    /// it.
    pub fn read(item: &Item) -> Result<Option<Self>, NewerFormat> {
        Ok(if format::is_known(item)? { Self::known(item) } else { None })
    }

    fn known(item: &Item) -> Option<Self> {
        let share = match (item.get(Self::ANCESTORS), item.get(Self::VALUES)) {
            (None, None) => None,
            (Some(_), Some(AttributeValue::M(values))) => {
                let value = |(name, value): (&String, &AttributeValue)| match value {
                    AttributeValue::N(digits) => Some((name.clone(), Decimal::value(digits)?)),
                    _ => None,
                };
                let ancestors = texts_of(item, Self::ANCESTORS, |id| Id::new(id).ok())?;
                if ancestors.len() > DEPTH_MAX || values.len() > TOTALS_ATTRIBUTES_MAX {
                    return None;
                }
                let is_left_out = item.contains_key(Self::LEFT_OUT);
                Some(Share::new(ancestors, values.iter().map(value).collect::<Option<_>>()?, is_left_out))
            }
            _ => return None,
        };
        Some(Self { epoch: epoch_of(item, Self::EPOCH)?, version: text_of(item, Self::VERSION)?.to_owned(), share })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Vec<Id> {
        ids.iter().map(|id| Id::new(*id).unwrap()).collect()
    }

    fn share(ancestors: &[&str], size: &str) -> Share {
        let values = Decimal::value(size).filter(|size| !size.is_zero()).map(|size| ("size".to_owned(), size));
        Share::new(ids(ancestors), values.into_iter().collect(), false)
    }

    fn changes(before: &Share, after: &Share) -> Vec<String> {
        let changes = after.change_from(before).into_iter();
        let shown = changes.map(|(id, Amounts { count, children, sums, .. })| {
            let size = sums.get("size").copied().unwrap_or_default();
            format!("{id}: {count} {children} {size}")
        });
        shown.collect()
    }

    #[test]
    fn what_has_more_than_a_node_can_have_counts_nothing() {
        let counted = |ancestors: usize, values: usize| {
            let ancestors = (0..ancestors).map(|number| Id::new(format!("a{number}")).unwrap());
            let values = (0..values).map(|number| (format!("v{number}"), Decimal::ONE));
            let share = Some(Share::new(ancestors.collect(), values.collect(), false));
            let node = NodeRef::from(Id::new("n").unwrap());
            let counted = Counted { epoch: Epoch(0), version: "one".to_owned(), share };
            Counted::read(&counted.item(&node, &Settings::default(), 0)).unwrap() == Some(counted)
        };
        assert!(counted(DEPTH_MAX, TOTALS_ATTRIBUTES_MAX));
        assert!(!counted(DEPTH_MAX + 1, 1) && !counted(1, TOTALS_ATTRIBUTES_MAX + 1));
    }

    #[test]
    fn only_ancestors_whose_totals_change_are_concerned() {
        let (none, below) = (Share::default(), share(&["p", "r"], "2.5"));
        assert_eq!(changes(&none, &below), ["p: 1 1 2.5", "r: 1 0 2.5"]);
        assert_eq!(changes(&below, &none), ["p: -1 -1 -2.5", "r: -1 0 -2.5"]);
        assert_eq!(changes(&below, &below), Vec::<String>::new());
        assert_eq!(changes(&below, &share(&["p", "r"], "0.5")), ["p: 0 0 -2", "r: 0 0 -2"]);
        assert_eq!(changes(&below, &share(&["q", "r"], "2.5")), ["p: -1 -1 -2.5", "q: 1 1 2.5"]);
        // One that was the parent stays an ancestor, and one that was none is in between.
        assert_eq!(changes(&below, &share(&["q", "p", "r"], "2.5")), ["p: 0 -1 0", "q: 1 1 2.5"]);
        assert_eq!(changes(&below, &share(&["r"], "2.5")), ["p: -1 -1 -2.5", "r: 0 1 0"]);
    }

    #[test]
    fn what_is_counted_reads_back_and_nothing_else_is_read() {
        let (settings, node) = (Settings::default(), NodeRef::from(Id::new("d").unwrap()));
        let left_out = Share { is_left_out: true, ..share(&["p"], "1") };
        for share in [None, Some(Share::default()), Some(share(&["p", "r"], "-0.25")), Some(left_out)] {
            let counted = Counted { epoch: Epoch(3), version: "w".to_owned(), share };
            let item = counted.item(&node, &settings, 100);
            assert_eq!(item.contains_key("_expires"), counted.share.is_none());
            assert_eq!(Counted::read(&item), Ok(Some(counted)));
            for name in item.keys().filter(|name| !["PK", "SK", "_expires", "left_out"].contains(&name.as_str())) {
                let mut odd = item.clone();
                odd.insert(name.clone(), AttributeValue::Bool(true));
                assert_eq!(Counted::read(&odd), Ok(None), "{name}");
            }
            let newer = item.into_iter().chain([("format".to_owned(), AttributeValue::N("99".to_owned()))]).collect();
            assert_eq!(Counted::read(&newer), Err(NewerFormat { format: 99 }));
        }
    }

    #[test]
    fn an_epoch_reads_back_and_without_one_it_is_the_first() {
        let schema = Schema::default();
        assert_eq!(Epoch::read(Some(&Epoch(7).item(&schema))), Ok(Epoch(7)));
        assert_eq!(Epoch::read(None), Ok(Epoch(0)));
        let odd = Item::from([("epoch".to_owned(), AttributeValue::N("7".to_owned()))]);
        assert_eq!(Epoch::read(Some(&odd)), Ok(Epoch(0)), "it has no format");
    }

    #[test]
    fn epochs_go_round_so_that_none_is_the_last() {
        assert!(Epoch(1).is_after(Epoch(0)) && !Epoch(0).is_after(Epoch(1)) && !Epoch(1).is_after(Epoch(1)));
        assert!(Epoch(0).is_after(Epoch(9_999)) && Epoch(2).is_after(Epoch(9_999)));
        assert!(!Epoch(5_000).is_after(Epoch(0)) && !Epoch(0).is_after(Epoch(5_000)), "half way round is neither");
        assert_eq!(Epoch(2).or_later(Epoch(9_999)), Epoch(2));
        let after = |all: &[u32]| Epoch::after(&all.iter().copied().map(Epoch).collect::<Vec<_>>());
        assert_eq!(after(&[0]), Some(Epoch(1)));
        assert_eq!(after(&[2, 9_999, 1]), Some(Epoch(3)));
        assert_eq!(after(&[9_999]), Some(Epoch(0)));
        assert_eq!(after(&[0, 3_500, 7_000]), None);
    }

    #[test]
    fn a_lane_has_what_was_added_to_it() {
        let mut amounts = share(&["p"], "0.1").of(&Id::new("p").unwrap());
        amounts.add(&share(&["p"], "0.2").of(&Id::new("p").unwrap()));
        let lane = amounts.added().of(amounts.added().of(Item::new()));
        let mut twice = amounts.clone();
        twice.add(&amounts);
        assert_eq!(Amounts::in_lane(&lane), twice);
        assert_eq!(twice.sums["size"].to_string(), "0.6");
        assert_eq!(Amounts::writes_of(&lane), Some(2));
    }

    #[test]
    fn what_cannot_be_added_up_is_named() {
        let totals = Totals::of(["size", "price", "none"].map(str::to_owned));
        assert_eq!(totals.to_string(), "count,none,price,size");
        let number = |digits: &str| AttributeValue::N(digits.to_owned());
        let base = Item::from([("size".to_owned(), number("1e20")), ("price".to_owned(), number("0.10"))]);
        assert_eq!(totals.left_out(&base).collect::<Vec<_>>(), ["size"]);
        let values = BTreeMap::from([("price".to_owned(), Decimal::value("0.1").unwrap())]);
        assert_eq!(totals.share(ids(&["p"]), &base), Share::new(ids(&["p"]), values, true));
        let base = Item::from([("size".to_owned(), text("12"))]);
        assert_eq!(totals.left_out(&base).collect::<Vec<_>>(), ["size"]);
    }
}
