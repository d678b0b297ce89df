//! The oracle computes what a table must hold from its base records alone.
//!
//! It shares no code with the product that it judges. It spells the keys itself, and finds each node's placement in the
//! naive way, by walking up from the node.

use std::collections::{BTreeMap, BTreeSet};

use serde_dynamo::AttributeValue::{self, Bool, L, M, N, S};

/// An item.
pub type Item = BTreeMap<String, AttributeValue>;
/// A table: its items by partition key and sort key.
pub type Contents = BTreeMap<(String, String), Item>;

/// The settings of a table, independent of the product's.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// The names of the two key attributes, of `parent` and of `segment`, and the node's sort key.
    pub names: [&'static str; 5],
    /// True if there are path rows.
    pub path_rows: bool,
    /// True if there are root rows.
    pub root_rows: bool,
    /// True if partition keys begin with a tenant.
    pub tenants: bool,
    /// The attributes that order siblings, with commas between, if any do; `name:caseless` if case doesn't count.
    pub order: Option<String>,
    /// The attributes that link.
    pub links: Vec<String>,
    /// The attributes that rows copy; `None` for all.
    pub copied: Option<Vec<&'static str>>,
}

impl Default for Oracle {
    fn default() -> Self {
        Self {
            names: ["PK", "SK", "parent", "segment", "NODE"],
            path_rows: true,
            root_rows: true,
            tenants: false,
            order: None,
            links: Vec::new(),
            copied: None,
        }
    }
}

struct Node<'a> {
    parent: Option<&'a str>,
    segment: Option<&'a str>,
    item: &'a Item,
}

impl Node<'_> {
    /// When the node was put into the trash, and what its row there says of it; `None` if it wasn't. A record that
    /// names a parent isn't in the trash.
    fn trashed(&self) -> Option<(String, AttributeValue)> {
        let value = self.item.get("_trashed").filter(|_| self.parent.is_none())?;
        let mut kept: std::collections::HashMap<String, AttributeValue> = match value {
            M(map) => map.clone(),
            _ => std::collections::HashMap::new(),
        };
        let is_time = |text: &str| text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
        kept.retain(|name, value| match (name.as_str(), value) {
            ("at", S(at)) => is_time(at),
            ("by", S(by)) => by.len() <= 2_048,
            ("parent", S(id)) => !id.is_empty() && id.len() <= 1014,
            ("born", S(born)) => born.len() <= 256,
            _ => false,
        });
        let at = match kept.get("at") {
            Some(S(at)) => at.clone(),
            _ => "-".to_owned(),
        };
        Some((at, M(kept)))
    }
}

/// A tenant and an id. The tenant is empty in a table without tenants.
type Place<'a> = (&'a str, &'a str);

impl Oracle {
    /// True if an item is a base record, or belongs to another application. Derived items are neither.
    #[must_use]
    pub fn is_base(&self, pk: &str, sk: &str) -> bool {
        let node = self.names[4];
        let below = sk.strip_prefix(node).and_then(|rest| rest.strip_prefix('#')).is_some_and(|rest| {
            rest.len() > 4 && rest.as_bytes()[..4].iter().all(u8::is_ascii_digit) && rest.as_bytes()[4] == b'#'
        });
        let register = pk.rsplit('#').any(|part| part == "ROOTS" || part == "ORPHANS" || part == "TRASH")
            && (sk.starts_with("TRASH#")
                || sk.starts_with("ROOT#")
                || sk.starts_with("ORPHAN#")
                || sk.starts_with("ORDERED#"));
        let linked = sk.starts_with("CHILD#") || sk.starts_with("LINK#");
        if pk.starts_with("CHANGES#") || pk.contains("#CHANGES#") {
            return true;
        }
        !(linked
            || below
            || register
            || sk == "LINEAGE"
            || sk == "CASCADE"
            || sk.starts_with("PATH#")
            || sk.starts_with("v0_"))
    }

    /// Returns the whole table that these base records call for. Derived items among the contents are ignored.
    #[must_use]
    pub fn table(&self, contents: &Contents) -> Contents {
        let base: Contents =
            contents.iter().filter(|((pk, sk), _)| self.is_base(pk, sk)).map(|(k, v)| (k.clone(), v.clone())).collect();
        let mut table = base.clone();
        let nodes = self.nodes(&base);
        for (&(tenant, id), node) in &nodes {
            self.add_rows(&mut table, &nodes, tenant, id, node);
        }
        self.add_latest(&mut table, &base);
        table
    }

    /// Returns the differences between a table and what it must hold, one a line.
    #[must_use]
    pub fn differences(&self, contents: &Contents) -> Vec<String> {
        let mut wanted = self.table(contents);
        let is_marked = |item: &Item| matches!(item.get("_deleting"), Some(M(map)) if map.contains_key("operation"));
        let marked = contents.iter().filter(|((_, sk), item)| sk == self.names[4] && is_marked(item));
        let marked: Vec<String> = marked.map(|((pk, _), _)| format!("{pk} is still being deleted")).collect();
        // A lineage has the life that its base record names. If that names none, the handler has made a name.
        for (key, item) in wanted.iter_mut().filter(|((_, sk), item)| sk == "LINEAGE" && !item.contains_key("born")) {
            let made = contents.get(key).and_then(|found| found.get("born")).filter(|born| matches!(born, S(_)));
            item.insert("born".to_owned(), made.cloned().unwrap_or(S("any name".to_owned())));
        }
        // It may name the lives that its id had before.
        for (key, item) in wanted.iter_mut().filter(|((_, sk), _)| sk == "LINEAGE") {
            let named = contents.get(key).and_then(|found| found.get("earlier")).filter(|lives| are_lives(lives));
            item.extend(named.map(|lives| ("earlier".to_owned(), lives.clone())));
        }
        // A tombstone is allowed wherever no lineage has to be.
        for (key, item) in contents {
            if key.1 == "LINEAGE" && !wanted.contains_key(key) && self.is_tombstone(item) {
                wanted.insert(key.clone(), item.clone());
            }
        }
        let keys: BTreeSet<_> = wanted.keys().chain(contents.keys()).collect();
        let differences = keys.into_iter().filter_map(|key| match (wanted.get(key), contents.get(key)) {
            (Some(_), None) => Some(format!("missing {} | {}", key.0, key.1)),
            (None, Some(_)) => Some(format!("left over {} | {}", key.0, key.1)),
            (Some(w), Some(c)) if w != c => Some(format!("wrong {} | {}: wanted {w:?}, found {c:?}", key.0, key.1)),
            _ => None,
        });
        marked.into_iter().chain(differences).collect()
    }

    /// True if an item is exactly what a deleted node leaves in the place of its lineage.
    fn is_tombstone(&self, item: &Item) -> bool {
        let Some(M(deleting)) = item.get("deleting") else { return false };
        let Some(N(deleted)) = item.get("deleted") else { return false };
        let Ok(deleted) = deleted.parse::<u64>() else { return false };
        if item.get("earlier").is_some_and(|lives| !are_lives(lives)) {
            return false;
        }
        let names: BTreeSet<&str> = item.keys().map(String::as_str).filter(|name| *name != "earlier").collect();
        let own = BTreeSet::from([self.names[0], self.names[1], "format", "born", "deleted", "deleting", "_expires"]);
        let heir = match (deleting.get("heir"), deleting.get("heir_born")) {
            (None, None) => 0,
            (Some(S(_)), None) => 1,
            (Some(S(_)), Some(S(_))) => 2,
            _ => return false,
        };
        names == own
            && item.get("format") == Some(&N("1".to_owned()))
            && matches!(item.get("born"), Some(S(_)))
            && item.get("_expires") == Some(&N((deleted + 14 * 24 * 60 * 60).to_string()))
            && matches!(deleting.get("mode"), Some(S(mode)) if ["delete", "adopt", "detach"].contains(&mode.as_str()))
            && matches!(deleting.get("operation"), Some(S(_)))
            && matches!(deleting.get("revisions"), Some(Bool(_)))
            && deleting.get("mark").is_none_or(|mark| matches!(mark, S(_)))
            && deleting.len() == 3 + heir + usize::from(deleting.contains_key("mark"))
    }

    fn split<'a>(&self, pk: &'a str) -> Option<Place<'a>> {
        if self.tenants { pk.strip_prefix("TENANT#")?.split_once('#') } else { Some(("", pk)) }
    }

    fn pk(&self, tenant: &str, rest: &str) -> String {
        if self.tenants { format!("TENANT#{tenant}#{rest}") } else { rest.to_owned() }
    }

    fn nodes<'a>(&self, base: &'a Contents) -> BTreeMap<Place<'a>, Node<'a>> {
        let [_, _, parent, segment, node_sk] = self.names;
        let usable = |text: &str| !text.is_empty() && text.len() <= 1014;
        let mut nodes = BTreeMap::new();
        for ((pk, sk), item) in base {
            let Some(place) = self.split(pk) else { continue };
            // What a repair has put back counts as gone.
            let is_put_back = item.contains_key("_put_back");
            if sk != node_sk || is_put_back || !usable(place.1) || (self.tenants && place.0.is_empty()) {
                continue;
            }
            let read = |name: &str| match item.get(name) {
                None => Some(None),
                Some(S(text)) if usable(text) => Some(Some(text.as_str())),
                Some(_) => None,
            };
            if let (Some(parent), Some(segment)) = (read(parent), read(segment)) {
                nodes.insert(place, Node { parent, segment: segment.filter(|s| *s != place.1), item });
            }
        }
        nodes
    }

    fn add_rows(
        &self,
        table: &mut Contents,
        nodes: &BTreeMap<Place<'_>, Node<'_>>,
        tenant: &str,
        id: &str,
        node: &Node<'_>,
    ) {
        let [pk_name, sk_name, .., node_sk] = self.names;
        let mut ancestors: Vec<&str> = Vec::new();
        let mut next = node.parent;
        while let Some(at) = next
            && at != id
            && !ancestors.contains(&at)
            && ancestors.len() < 98
        {
            ancestors.push(at);
            next = nodes.get(&(tenant, at)).and_then(|n| n.parent);
        }
        let trashed = node.trashed();
        let is_below = || {
            let top = ancestors.last().and_then(|top| nodes.get(&(tenant, *top)));
            next.is_none() && top.is_some_and(|top| top.trashed().is_some())
        };
        let in_trash = trashed.is_some() || is_below();
        let segment_of = |at: &str| match nodes.get(&(tenant, at)) {
            Some(n) => n.segment.unwrap_or(at).to_owned(),
            None => at.to_owned(),
        };
        let mut path: Vec<String> = ancestors.iter().rev().skip(1).map(|at| segment_of(at)).collect();
        if ancestors.is_empty() || !self.path_rows || in_trash {
            path.clear();
        } else {
            path.push(segment_of(id));
        }
        let orphan = ancestors.first().is_some_and(|p| !nodes.contains_key(&(tenant, p)));
        let root = node.parent.is_none() && self.root_rows && !in_trash;

        let mut put = |pk: String, sk: String, own: Vec<(&str, AttributeValue)>, copies: bool| {
            if sk.len() > 1024 {
                return;
            }
            let mut item: Item = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            item.insert(pk_name.to_owned(), S(pk.clone()));
            item.insert(sk_name.to_owned(), S(sk.clone()));
            if copies {
                let copies = self.copies(node.item);
                if bytes(&item) + bytes(&copies) > 400 * 1024 {
                    item.insert("_truncated".to_owned(), Bool(true));
                } else {
                    item.extend(copies);
                }
            }
            table.insert((pk, sk), item);
        };
        let texts = |list: &mut dyn Iterator<Item = String>| L(list.map(S).collect());
        let listed = !ancestors.is_empty() || root;
        let order = self.order.as_ref().filter(|_| listed).map(|attributes| order_of(attributes, node.item));
        let links = if in_trash { BTreeMap::new() } else { self.links_of(node) };
        let has_parts = order.as_ref().is_some_and(|place| place.contains('!'));
        let format = match (has_parts, in_trash, order.is_some() || !links.is_empty()) {
            (true, ..) => "4",
            (false, true, _) => "3",
            (false, false, true) => "2",
            (false, false, false) => "1",
        };
        let mut lineage = vec![
            ("format", N(format.to_owned())),
            ("ancestors", texts(&mut ancestors.iter().map(|a| (*a).to_owned()))),
            ("path", texts(&mut path.iter().cloned())),
            ("root", Bool(root)),
        ];
        if orphan {
            lineage.push(("orphan", Bool(true)));
        }
        if let Some(place) = &order {
            lineage.push(("order", S(place.clone())));
        }
        if in_trash {
            lineage.push(("trash", trashed.as_ref().map_or(Bool(true), |(at, _)| S(at.clone()))));
        }
        if !links.is_empty() {
            let targets = links.iter().map(|(attribute, targets)| {
                ((*attribute).to_owned(), texts(&mut targets.iter().map(|target| (*target).to_owned())))
            });
            lineage.push(("links", M(targets.collect())));
        }
        if let Some(S(born)) = node.item.get("_born") {
            lineage.push(("born", S(born.clone())));
        }
        put(self.pk(tenant, id), "LINEAGE".to_owned(), lineage, false);
        let below = |depth: usize| {
            vec![
                ("_id", S(id.to_owned())),
                ("_depth", N(depth.to_string())),
                ("_parent", S(node.parent.unwrap_or_default().to_owned())),
            ]
        };
        let placed = |mut own: Vec<(&'static str, AttributeValue)>| {
            own.extend(order.iter().map(|place| ("_order", S(place.clone()))));
            own
        };
        for (index, ancestor) in ancestors.iter().enumerate() {
            put(self.pk(tenant, ancestor), format!("{node_sk}#{:04}#{id}", index + 1), placed(below(index + 1)), true);
        }
        if let Some(place) = &order {
            match ancestors.first() {
                Some(parent) => put(self.pk(tenant, parent), format!("CHILD#{place}#{id}"), placed(below(1)), true),
                None => {
                    let own = placed(vec![("_id", S(id.to_owned()))]);
                    put(self.pk(tenant, "ROOTS"), format!("ORDERED#{place}#{id}"), own, true);
                }
            }
        }
        for (attribute, targets) in &links {
            for target in targets {
                let mut own = vec![("_id", S(id.to_owned())), ("_depth", N(ancestors.len().to_string()))];
                own.extend(node.parent.map(|parent| ("_parent", S(parent.to_owned()))));
                own.push(("_ancestors", texts(&mut ancestors.iter().map(|ancestor| (*ancestor).to_owned()))));
                put(self.pk(tenant, target), format!("LINK#{attribute}#{id}"), own, true);
            }
        }
        if let (Some(farthest), false) = (ancestors.last(), path.is_empty()) {
            let encoded: Vec<String> = path.iter().map(|segment| percent_encode(segment)).collect();
            let mut sk = format!("PATH#{}", encoded.join("#"));
            if node.segment.is_some() {
                sk = format!("{sk}!{}", percent_encode(id));
            }
            put(self.pk(tenant, farthest), sk, below(ancestors.len()), true);
        }
        if root {
            put(self.pk(tenant, "ROOTS"), format!("ROOT#{id}"), vec![("_id", S(id.to_owned()))], true);
        }
        if let Some((at, value)) = trashed {
            let own = vec![("_id", S(id.to_owned())), ("_trashed", value)];
            put(self.pk(tenant, "TRASH"), format!("TRASH#{at}#{id}"), own, true);
        }
        if orphan {
            let parent = ancestors[0];
            let mut hash: u64 = 0x811c_9dc5;
            for byte in parent.bytes() {
                hash = ((hash ^ u64::from(byte)) * 0x0100_0193) % (1 << 32);
            }
            let own = vec![("_id", S(id.to_owned())), ("_parent", S(parent.to_owned()))];
            put(self.pk(tenant, &format!("ORPHANS#{:x}", hash % 16)), format!("ORPHAN#{id}"), own, false);
        }
    }

    /// The targets of a node's links, by attribute: those that can be ids, each once.
    fn links_of<'n>(&'n self, node: &Node<'n>) -> BTreeMap<&'n str, BTreeSet<&'n str>> {
        let mut links: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for attribute in &self.links {
            let targets: Vec<&str> = match node.item.get(attribute) {
                Some(S(target)) => vec![target],
                Some(AttributeValue::Ss(targets)) => targets.iter().map(String::as_str).collect(),
                Some(L(targets)) => targets
                    .iter()
                    .filter_map(|target| if let S(target) = target { Some(target.as_str()) } else { None })
                    .collect(),
                _ => Vec::new(),
            };
            let usable: BTreeSet<&str> =
                targets.into_iter().filter(|target| !target.is_empty() && target.len() <= 1014).collect();
            if !usable.is_empty() {
                links.insert(attribute, usable);
            }
        }
        links
    }

    fn copies(&self, item: &Item) -> Item {
        let [pk, sk, ..] = self.names;
        item.iter()
            .filter(|(name, _)| !name.starts_with('_') && *name != pk && *name != sk)
            .filter(|(name, _)| self.copied.as_ref().is_none_or(|list| list.contains(&name.as_str())))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn add_latest(&self, table: &mut Contents, base: &Contents) {
        let [pk_name, sk_name, ..] = self.names;
        let mut newest: BTreeMap<(&str, &str), (u32, &Item)> = BTreeMap::new();
        for ((pk, sk), item) in base {
            let Some((tenant, id)) = self.split(pk) else { continue };
            if id.is_empty() || id.len() > 1014 || (self.tenants && tenant.is_empty()) {
                continue;
            }
            if let Some((version, topic)) = revision(sk) {
                let newest = newest.entry((pk, topic)).or_insert((version, item));
                if version > newest.0 {
                    *newest = (version, item);
                }
            }
        }
        for ((pk, topic), (version, revision)) in newest {
            let mut item = self.copies(revision);
            let sk = format!("v0_{topic}");
            item.insert(pk_name.to_owned(), S(pk.to_owned()));
            item.insert(sk_name.to_owned(), S(sk.clone()));
            item.insert("_version".to_owned(), N(version.to_string()));
            table.insert((pk.to_owned(), sk), item);
        }
    }
}

/// True if a value can name the lives that an id had.
fn are_lives(value: &AttributeValue) -> bool {
    matches!(value, L(lives) if (1..=8).contains(&lives.len()) && lives.iter().all(|life| matches!(life, S(_))))
}

/// Returns the place of a node among its siblings, by these attributes. Of case folding and of Unicode's forms it has
/// what the few letters of tests need.
fn order_of(attributes: &str, item: &Item) -> String {
    let part = |attribute: &str| match attribute.strip_suffix(":caseless") {
        None => place_of(item.get(attribute)),
        Some(name) => match item.get(name) {
            Some(S(text)) => place_of(Some(&S(text.to_lowercase().replace("e\u{301}", "é")))),
            other => place_of(other),
        },
    };
    attributes.split(',').map(part).collect::<Vec<_>>().join("!")
}

/// Returns the place of a node among its siblings by one value, in the few forms that tests use: numbers of plain
/// digits, and short texts.
fn place_of(value: Option<&AttributeValue>) -> String {
    match value {
        Some(N(digits)) => {
            let negative = digits.strip_prefix('-');
            let (whole, fraction) =
                negative.unwrap_or(digits).split_once('.').unwrap_or((negative.unwrap_or(digits), ""));
            assert!(
                [whole, fraction].iter().all(|digits| digits.bytes().all(|digit| digit.is_ascii_digit())),
                "the oracle knows plain digits only: {digits}"
            );
            let all = format!("{whole}{fraction}");
            let digits = all.trim_start_matches('0');
            // The number is 0.DIGITS times ten to this power, which is 500 for 1.
            let power = 499 + digits.len() - fraction.len();
            let text = format!("{power:03}{}", digits.trim_end_matches('0'));
            let nines = || text.bytes().map(|digit| char::from(b'0' + b'9' - digit)).collect::<String>();
            match (digits, negative) {
                ("", _) => "n0".to_owned(),
                (_, None) => format!("n1{text}"),
                (_, Some(_)) => format!("n-{}~", nines()),
            }
        }
        Some(S(text)) => format!("s{}", percent_encode(text)),
        _ => "~".to_owned(),
    }
}

/// Returns version and topic of a sort key such as `v003_Audit` or `va1000_Audit`.
fn revision(sk: &str) -> Option<(u32, &str)> {
    let (version, topic) = sk.split_once('_')?;
    let digits = version.strip_prefix('v')?;
    let (letter, digits) = match digits.chars().next()? {
        c @ 'a'..='c' => (Some(c), &digits[1..]),
        _ => (None, digits),
    };
    let wanted = match letter {
        None => 3,
        Some('a') => 4,
        Some('b') => 5,
        Some(_) => 6,
    };
    let number: u32 = digits.parse().ok()?;
    let canonical = digits.len() == wanted
        && digits.bytes().all(|b| b.is_ascii_digit())
        && number > 0
        && (letter.is_none() || !digits.starts_with('0'));
    canonical.then_some((number, topic))
}

/// Returns the size of an item in bytes. Only texts are measured exactly, because only texts are large here.
fn bytes(item: &Item) -> usize {
    let value = |value: &AttributeValue| match value {
        S(text) => text.len(),
        N(digits) => digits.len() / 2 + 2,
        _ => 1,
    };
    item.iter().map(|(name, v)| name.len() + value(v)).sum()
}

fn percent_encode(text: &str) -> String {
    let mut encoded = String::new();
    for c in text.chars() {
        if u32::from(c) <= 0x25 { encoded += &format!("%{:02X}", u32::from(c)) } else { encoded.push(c) }
    }
    encoded
}
