//! The order by hand: finds the value that a node gets to be where it is asked for among its siblings.
//!
//! Rows propose the neighbours, and base records decide: rows lag, so each that is found is looked at again. Siblings without a value, or with the
//! value of the one next to the spot, get values of their own, and so do siblings that have become crowded. All of them are written with the
//! node in one transaction.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::attempts::Stop;
use super::command::Spot;
use super::request::{Stamp, Turn};
use super::{Context, Refusal, fraction, record};
use crate::keys::{Id, ItemKey, NodeRef, OrderedList, SiblingPlace, SortKey};
use crate::model::{
    AttributeValue, BaseNode, CREATED_AT, CREATED_BY, DELETING, Item, PUT_BACK, REVISION, Settings, SiblingOrder,
    key_of, text,
};
use crate::plan::{Facts, Need, Rule, Rules};
use crate::request::{Action, Condition, Query, ReadOptions, TRANSACTION_ACTIONS_MAX, Update};

/// Rows that are read first: the neighbour's, and the node's own, and one more.
const FIRST_ROWS: usize = 3;
/// Most rows that are read at a time after that: as many as base records in a `BatchGetItem`, at most.
const PAGE_ROWS_MAX: usize = 96;
/// Most rows that are read. If so many don't show the neighbours, they are of nodes that aren't there any more.
const ROWS_MAX: usize = 1_000;
/// Longest value, in bytes, before crowded siblings get others.
const CROWDED_BYTES: usize = 64;
/// How short these should be, so that it isn't soon to be done again.
const RESPACED_BYTES: usize = 56;
/// Longest value there is.
const VALUE_BYTES_MAX: usize = 128;
/// Most bytes that are looked at of another client's text. No value is longer, so the rest of the text decides nothing.
const BOUND_BYTES_MAX: usize = VALUE_BYTES_MAX + 4;
/// Most siblings that one write gives other values: a transaction has the node, its neighbour and an idempotency key, too.
const CHANGED_MAX: usize = TRANSACTION_ACTIONS_MAX - 3;
/// How many siblings of the batch itself are looked at, each time that the rows are.
const OF_BATCH: usize = 8;

type Order = (SiblingPlace, Id);

/// A node among its siblings, as its base record has it.
#[derive(Clone, Debug)]
struct Sibling {
    id: Id,
    place: SiblingPlace,
    item: Arc<Item>,
}

/// Which way siblings are walked from where the node is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// What was placed by the same batch before: the parent, and the node with its place. Its rows can't be there yet.
pub(super) type Placed = (Option<Id>, Id, SiblingPlace);

/// Finds the value of a node that is to be at a spot.
#[derive(Debug)]
pub(super) struct FindSpot<'a> {
    settings: &'a Settings,
    order: &'a SiblingOrder,
    rules: Rules,
    stamp: &'a Stamp,
    turn: Turn,
    node: &'a NodeRef,
    parent: Option<Id>,
    spot: &'a Spot,
    /// Where the node is in this list, if it is there.
    own: Option<Order>,
    anchor: Option<Sibling>,
    way: Way,
    /// The siblings found so far, and those that were looked at.
    found: BTreeMap<Order, Sibling>,
    looked_at: BTreeSet<Id>,
    /// Placed by the batch and not looked at, the nearest first.
    of_batch: VecDeque<Order>,
    /// The sort key of the last row read, and its place.
    after: Option<String>,
    last_row: Option<Order>,
    rows_read: usize,
    is_over: bool,
    looking: Option<Vec<Id>>,
}

/// What [`FindSpot`] comes to.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The value that the node gets; `None` if it is there already.
    pub(super) value: Option<String>,
    /// The siblings that get other values in the same transaction, and where they are then.
    pub(super) changes: Vec<(Action, Placed)>,
    /// What must hold of the sibling that the node comes next to.
    pub(super) anchor: Option<Action>,
}

/// What is to be done next.
pub(super) enum Looking {
    Need(Need),
    Found(Found),
}

impl<'a> FindSpot<'a> {
    /// Begins with the base records of the node and of the anchor, and what the batch has placed.
    pub(super) fn new(
        context: Context<'a>,
        stamp: &'a Stamp,
        (node, parent): (&'a NodeRef, Option<Id>),
        spot: &'a Spot,
        (own, anchor): (Option<&Item>, Option<&Item>),
        placed: &[Placed],
    ) -> Result<Self, Refusal> {
        let Context { settings, rules, .. } = context;
        let order = settings.order.as_ref().filter(|order| order.by_hand).ok_or(Refusal::NotByHand)?;
        if parent.is_none() && !settings.root_rows {
            return Err(Refusal::RootsUnordered);
        }
        let way = match spot {
            Spot::First | Spot::After(_) => Way::Up,
            Spot::Last | Spot::Before(_) => Way::Down,
        };
        let mut find = Self {
            settings,
            order,
            rules,
            stamp,
            turn: stamp.turn,
            node,
            parent,
            spot,
            own: None,
            anchor: None,
            way,
            found: BTreeMap::new(),
            looked_at: BTreeSet::from([node.id.clone()]),
            of_batch: VecDeque::new(),
            after: None,
            last_row: None,
            rows_read: 0,
            is_over: false,
            looking: None,
        };
        find.own = own.and_then(|item| find.sibling(&node.id, item)).map(|own| (own.place, own.id));
        if let Some(id) = spot.anchor() {
            if *id == node.id {
                return Err(Refusal::BesideItself);
            }
            let anchor = anchor.and_then(|item| find.sibling(id, item));
            let anchor = anchor.ok_or_else(|| Refusal::NotASibling(id.clone()))?;
            find.text_or_none(&anchor)?;
            if anchor.place == SiblingPlace::none() {
                find.way = Way::Down;
            }
            find.looked_at.insert(id.clone());
            find.anchor = Some(anchor);
        }
        find.add_batch(placed);
        Ok(find)
    }

    /// A sibling, if this base record is one of the same parent's.
    fn sibling(&self, id: &Id, item: &Item) -> Option<Sibling> {
        let base = BaseNode::read(item.clone(), &self.node.sibling(id.clone()), &self.settings.schema).ok()?;
        let place = self.order.place(item, id).unwrap_or_else(SiblingPlace::none);
        (base.parent == self.parent).then(|| Sibling { id: id.clone(), place, item: base.item })
    }

    /// Notes what the batch has placed on the way from the spot.
    fn add_batch(&mut self, placed: &[Placed]) {
        let beyond = placed.iter().filter(|(parent, id, place)| {
            *parent == self.parent && *id != self.node.id && self.is_beyond(&(place.clone(), id.clone()))
        });
        let mut beyond: Vec<Order> = beyond.map(|(_, id, place)| (place.clone(), id.clone())).collect();
        beyond.sort();
        if self.way == Way::Down {
            beyond.reverse();
        }
        self.of_batch = beyond.into();
    }

    /// True if a place is on the way from the spot.
    fn is_beyond(&self, order: &Order) -> bool {
        let Some(anchor) = &self.anchor else { return true };
        let start = (&anchor.place, &anchor.id);
        match self.way {
            Way::Up => (&order.0, &order.1) > start,
            Way::Down => (&order.0, &order.1) < start,
        }
    }

    pub(super) fn begin(&mut self) -> Result<Looking, Stop> {
        if let Some(anchor) = &self.anchor {
            self.after = Some(self.row_key(&anchor.place, &anchor.id)?);
        }
        Ok(Looking::Need(self.rows()))
    }

    pub(super) fn next(&mut self, facts: Facts) -> Result<Looking, Stop> {
        match self.looking.take() {
            None => {
                let page = facts.page()?;
                self.is_over = page.next.is_none();
                self.after = page.next;
                self.rows_read += page.items.len();
                let schema = &self.settings.schema;
                let rows = page.items.iter().filter_map(|row| schema.parse_sort_key(&key_of(row, schema)?.sk));
                let rows: Vec<Order> = rows
                    .filter_map(|key| match key {
                        SortKey::Child { place, id } | SortKey::OrderedRoot { place, id } => Some((place, id)),
                        _ => None,
                    })
                    .collect();
                self.last_row = rows.last().cloned().or(self.last_row.take());
                self.look_at(rows)
            }
            Some(ids) => {
                let read = facts.read()?;
                for id in ids {
                    let item = read.item(&self.key(&id))?;
                    let Some(sibling) = item.and_then(|item| self.sibling(&id, item)) else { continue };
                    let order = (sibling.place.clone(), id);
                    if self.is_beyond(&order) {
                        self.found.insert(order, sibling);
                    }
                }
                self.go_on()
            }
        }
    }

    /// Looks at the base records of what these rows show, and of the next of the batch.
    fn look_at(&mut self, rows: Vec<Order>) -> Result<Looking, Stop> {
        let of_batch = self.of_batch.drain(..self.of_batch.len().min(OF_BATCH));
        let ids = rows.into_iter().chain(of_batch).map(|(_, id)| id);
        let ids: Vec<Id> = ids.filter(|id| self.looked_at.insert(id.clone())).collect();
        if ids.is_empty() {
            return self.go_on();
        }
        let need = self.records(&ids);
        self.looking = Some(ids);
        Ok(Looking::Need(need))
    }

    fn go_on(&mut self) -> Result<Looking, Stop> {
        match self.decide()? {
            Some(found) => Ok(Looking::Found(found)),
            None if self.is_over => self.look_at(Vec::new()),
            None if self.rows_read < ROWS_MAX => Ok(Looking::Need(self.rows())),
            None => Err(Refusal::SiblingsNotYetPlaced.into()),
        }
    }

    fn key(&self, id: &Id) -> ItemKey {
        self.settings.schema.node_key(&self.node.sibling(id.clone()))
    }

    fn row_key(&self, place: &SiblingPlace, id: &Id) -> Result<String, Stop> {
        let (place, id) = (place.clone(), id.clone());
        let key = match self.parent {
            Some(_) => SortKey::Child { place, id },
            None => SortKey::OrderedRoot { place, id },
        };
        Ok(self.settings.schema.sort_key(&key)?)
    }

    /// The next rows on the way.
    fn rows(&self) -> Need {
        let schema = &self.settings.schema;
        let (pk, list) = match &self.parent {
            Some(parent) => (schema.partition(&self.node.sibling(parent.clone())), OrderedList::Children),
            None => (schema.roots_partition(self.node.tenant.as_ref()), OrderedList::Roots),
        };
        Need::page(Query {
            pk,
            range: schema.ordered_range(list, None, None),
            after: self.after.clone(),
            limit: (4 * self.rows_read).clamp(FIRST_ROWS, PAGE_ROWS_MAX),
            descending: self.way == Way::Down,
            reading: ReadOptions { strong: true, attributes: Some([].into()) },
        })
    }

    /// What is needed of siblings' base records.
    fn records(&self, ids: &[Id]) -> Need {
        let names = self.settings.schema.names();
        let attributes = [&*names.parent, &*names.segment, &*self.order.attribute, DELETING, PUT_BACK, REVISION];
        let attributes = attributes.into_iter().chain([CREATED_AT]).map(str::to_owned).collect();
        let options = ReadOptions { strong: true, attributes: Some(attributes) };
        Need { options, ..Need::keys(ids.iter().map(|id| self.key(id))) }
    }

    /// The value, if enough siblings are known.
    fn decide(&self) -> Result<Option<Found>, Refusal> {
        let nearest: Vec<&Sibling> = match self.way {
            Way::Up => self.found.values().collect(),
            Way::Down => self.found.values().rev().collect(),
        };
        // Siblings that nothing can be put between before they have other values.
        let start = match (&self.anchor, self.spot) {
            (Some(anchor), _) => Some(anchor.place.clone()),
            (None, Spot::Last) => Some(SiblingPlace::none()),
            (None, _) => None,
        };
        let alike = nearest.iter().take_while(|sibling| Some(&sibling.place) == start.as_ref()).count();
        if alike > CHANGED_MAX {
            return Err(self.no_room());
        }
        if !self.knows(nearest.get(alike).copied()) {
            return Ok(None);
        }
        if self.is_there(nearest.first().copied()) {
            return Ok(Some(Found { value: None, changes: Vec::new(), anchor: self.stays() }));
        }
        let mut spaced: Option<(usize, usize, Vec<String>)> = None;
        for crowded in [0, 1, 3, 7, 15, 31, 63] {
            let changed = alike + crowded;
            if !self.knows(nearest.get(changed).copied()) {
                return Ok(None);
            }
            // What has no text isn't changed to make room.
            if !nearest.get(alike..changed).is_some_and(|crowd| crowd.iter().all(|sibling| self.has_text(sibling))) {
                break;
            }
            let limit = if crowded == 0 { CROWDED_BYTES } else { RESPACED_BYTES };
            if let Some(values) = self.values(&nearest[..changed], nearest.get(changed).copied())? {
                let longest = values.iter().map(String::len).max().unwrap_or_default();
                if longest <= VALUE_BYTES_MAX && spaced.as_ref().is_none_or(|(least, ..)| longest < *least) {
                    spaced = Some((longest, changed, values));
                }
                if longest <= limit {
                    break;
                }
            }
            if self.goes_by_time() {
                break;
            }
        }
        let (_, changed, values) = spaced.ok_or_else(|| self.no_room())?;
        self.placed(&nearest[..changed], values, nearest.get(changed).copied()).map(Some)
    }

    fn has_text(&self, sibling: &Sibling) -> bool {
        matches!(sibling.item.get(&self.order.attribute), Some(AttributeValue::S(_)))
    }

    /// True if nothing that is still to be looked at can be nearer than this sibling.
    fn knows(&self, sibling: Option<&Sibling>) -> bool {
        let is_nearer = |than: &Order| {
            sibling.is_some_and(|sibling| {
                let (at, than) = ((&sibling.place, &sibling.id), (&than.0, &than.1));
                if self.way == Way::Up { at <= than } else { at >= than }
            })
        };
        let knows_rows = self.is_over || self.last_row.as_ref().is_some_and(is_nearer);
        knows_rows && self.of_batch.front().is_none_or(is_nearer)
    }

    /// True if the value comes of the time alone.
    fn goes_by_time(&self) -> bool {
        self.anchor.as_ref().is_none_or(|anchor| anchor.place == SiblingPlace::none())
    }

    /// True if the node is next to its anchor already. Whether it is the first or the last of all nobody knows: rows lag.
    fn is_there(&self, nearest: Option<&Sibling>) -> bool {
        let (Some(own), Some(anchor)) = (&self.own, &self.anchor) else { return false };
        let (start, own) = ((&anchor.place, &anchor.id), (&own.0, &own.1));
        let before = matches!(self.spot, Spot::Before(_));
        let is_right_side = if before { own < start } else { own > start };
        // Of siblings without a value the walk goes down, whichever side is asked for.
        let walks_to_it = before == (self.way == Way::Down);
        is_right_side
            && walks_to_it
            && nearest.is_none_or(|nearest| {
                let nearest = (&nearest.place, &nearest.id);
                if before { nearest < own } else { own < nearest }
            })
    }

    /// The text of a sibling, or none if it has no value.
    fn text_or_none<'s>(&self, sibling: &'s Sibling) -> Result<Option<&'s str>, Refusal> {
        match sibling.item.get(&self.order.attribute) {
            None => Ok(None),
            // A value has less bytes than the cut text, so it is on the same side of both.
            Some(AttributeValue::S(text)) => Ok(Some(&text[..text.floor_char_boundary(BOUND_BYTES_MAX)])),
            Some(_) => {
                let attribute = self.order.attribute.clone();
                Err(Refusal::PlaceNotText { id: sibling.id.clone(), attribute })
            }
        }
    }

    /// The text that the values have to sort before. What has no place is no bound, and nothing sorts before a number.
    fn high<'s>(&self, beyond: Option<&'s Sibling>) -> Result<Option<&'s str>, Refusal> {
        let placed = beyond.filter(|sibling| sibling.place != SiblingPlace::none());
        Ok(placed.map(|sibling| self.text_or_none(sibling)).transpose()?.flatten())
    }

    /// The values of these siblings, which are next to the spot, and of the node, in their order. `beyond` is the sibling behind them. `None`:
    /// there is no room.
    fn values(&self, siblings: &[&Sibling], beyond: Option<&Sibling>) -> Result<Option<Vec<String>>, Refusal> {
        for sibling in siblings {
            self.text_or_none(sibling)?;
        }
        let (count, turn) = (siblings.len() + 1, &self.turn);
        let seed = turn.seed.wrapping_add(turn.part.into());
        let anchor = self.anchor.as_ref().map(|anchor| self.text_or_none(anchor)).transpose()?.flatten();
        // Numbers sort before all texts.
        let low = beyond.and_then(|sibling| self.text_or_none(sibling).ok().flatten());
        let is_short = |values: &Vec<String>| values.iter().all(|value| value.len() <= CROWDED_BYTES);
        Ok(match (self.spot, anchor) {
            (Spot::First, _) => fraction::first(self.high(beyond)?, turn).map(|value| vec![value]),
            (Spot::Last, _) => self.after_all(low, count, seed),
            (Spot::After(_), Some(text)) => match self.high(beyond)? {
                Some(high) => {
                    let one = fraction::right_after(text, high, turn).filter(|_| count == 1);
                    shorter(fraction::spread(Some(text), Some(high), count, seed), one, high)
                }
                None => fraction::ceiling(text)
                    .and_then(|ceiling| fraction::spread(Some(text), Some(&ceiling), count, seed))
                    .filter(is_short)
                    .or_else(|| self.after_all(Some(text), count, seed)),
            },
            (Spot::Before(_), Some(text)) => match low {
                Some(low) => {
                    let one = fraction::right_before(low, text, turn).filter(|_| count == 1);
                    shorter(fraction::spread(Some(low), Some(text), count, seed), one, low)
                }
                None => fraction::floor(text)
                    .and_then(|floor| fraction::spread(Some(&floor), Some(text), count, seed))
                    .filter(is_short)
                    .or_else(|| before_all(text, count, turn)),
            },
            // The anchor has no value. It gets one if something is to come after it.
            (Spot::After(_), None) => self.after_all(low, count + 1, seed),
            (Spot::Before(_), None) => self.after_all(low, count, seed),
        })
    }

    /// So many values after a text, which everything that comes last later comes after.
    fn after_all(&self, text: Option<&str>, count: usize, seed: u64) -> Option<Vec<String>> {
        if !self.rules.keeps(Rule::LastByTime) {
            return fraction::spread(text, None, count, seed);
        }
        let least = fraction::last(text, &self.turn);
        let others = fraction::spread(Some(&least), Some(&fraction::ceiling(&least)?), count - 1, seed)?;
        Some(std::iter::once(least).chain(others).collect())
    }

    /// What is written, given the values of the siblings next to the spot, of the anchor if it had none, and of the node.
    fn placed(&self, siblings: &[&Sibling], values: Vec<String>, beyond: Option<&Sibling>) -> Result<Found, Refusal> {
        let mut changed: Vec<&Sibling> = siblings.to_vec();
        if self.way == Way::Down {
            changed.reverse();
        }
        let gets_value =
            |anchor: &&Sibling| matches!(self.spot, Spot::After(_)) && anchor.place == SiblingPlace::none();
        let anchor = self.anchor.as_ref().filter(gets_value);
        changed.extend(anchor);
        let mut values = values;
        // The node comes before all that change, or after them.
        let value = if self.way == Way::Up { values.remove(0) } else { values.pop().unwrap_or_default() };
        let mut moves: Vec<(&Sibling, SiblingPlace, &String)> = Vec::new();
        for (sibling, value) in changed.into_iter().zip(&values) {
            moves.push((sibling, SiblingPlace::of_text(value, &sibling.id), value));
        }
        self.check_room(&value, &moves, beyond)?;
        // What gets a value has the conditions of a check.
        let stays = if anchor.is_none() { self.stays() } else { None };
        let change = |(sibling, place, value): (&Sibling, SiblingPlace, &String)| {
            (self.change(sibling, value), (self.parent.clone(), sibling.id.clone(), place))
        };
        let changes = moves.into_iter().map(change).collect();
        Ok(Found { value: Some(value), changes, anchor: stays })
    }

    /// Checks that the values are in order as parts of keys, where long ones are cut.
    fn check_room(
        &self,
        value: &str,
        moves: &[(&Sibling, SiblingPlace, &String)],
        beyond: Option<&Sibling>,
    ) -> Result<(), Refusal> {
        let own = SiblingPlace::of_text(value, &self.node.id);
        let mut places: Vec<&SiblingPlace> = moves.iter().map(|(_, place, _)| place).collect();
        let anchor = self.anchor.as_ref().map(|anchor| &anchor.place).filter(|place| **place != SiblingPlace::none());
        let beyond = beyond.map(|beyond| &beyond.place);
        match self.way {
            Way::Up => {
                places.insert(0, &own);
                let places = anchor.into_iter().chain(places).chain(beyond);
                places.is_sorted_by(|a, b| a < b)
            }
            Way::Down => {
                places.push(&own);
                let places = beyond.into_iter().chain(places).chain(anchor);
                places.is_sorted_by(|a, b| a < b)
            }
        }
        .then_some(())
        .ok_or_else(|| self.no_room())
    }

    fn no_room(&self) -> Refusal {
        Refusal::NoRoom { attribute: self.order.attribute.clone() }
    }

    /// Gives a sibling another value.
    fn change(&self, sibling: &Sibling, value: &str) -> Action {
        let mut update = Update::set(&self.order.attribute, text(value));
        // Nobody has created it by this.
        let is_of_creation = |name: &str| name == CREATED_AT || name == CREATED_BY;
        let stamps = record::stamped(Some(&sibling.item), self.stamp).into_iter();
        update.set.extend(stamps.filter(|(name, _)| !is_of_creation(name)));
        Action::Update {
            key: self.key(&sibling.id),
            update,
            condition: self.is_as_read(sibling, &[REVISION, CREATED_AT]),
        }
    }

    /// That the anchor is where it was.
    fn stays(&self) -> Option<Action> {
        let anchor = self.anchor.as_ref().filter(|_| self.rules.keeps(Rule::AnchorStays))?;
        Some(Action::Check { key: self.key(&anchor.id), condition: self.is_as_read(anchor, &[]) })
    }

    fn is_as_read(&self, sibling: &Sibling, others: &[&str]) -> Condition {
        let parent = &self.settings.schema.names().parent;
        let same = |name: &str| Condition::is(name, sibling.item.get(name).cloned());
        let mut conditions = vec![Condition::Exists, same(parent), same(&self.order.attribute)];
        conditions.extend(others.iter().map(|name| same(name)));
        Condition::All(conditions)
    }
}

/// So many values before a text, which everything that comes first later comes before.
fn before_all(text: &str, count: usize, turn: &Turn) -> Option<Vec<String>> {
    let greatest = fraction::first(Some(text), turn)?;
    let mut values = fraction::spread(Some(&fraction::floor(&greatest)?), Some(&greatest), count - 1, turn.seed)?;
    values.push(greatest);
    Some(values)
}

/// These values, or one with a time, if that is no longer than the value or than the neighbour's, which may have a time as well.
fn shorter(values: Option<Vec<String>>, one: Option<String>, neighbour: &str) -> Option<Vec<String>> {
    match (values.as_deref(), one) {
        (Some([value]), Some(one)) if one.len() > value.len().max(neighbour.len()) => values,
        (_, Some(one)) => Some(vec![one]),
        _ => values,
    }
}
