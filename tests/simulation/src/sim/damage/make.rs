//! The damage itself.

use std::collections::{BTreeMap, HashMap};

use rand::RngExt;
use rand::seq::IndexedRandom;
use sapwood_core::audit::Class;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, FORMAT_MAX, Item, text, with_key};

use super::{Damage, IDS, World};

impl World {
    /// Damages the table. Returns the key of what is wrong then; none where there is nothing to damage.
    pub(in crate::sim) fn damage(&mut self, damage: Damage) -> Option<ItemKey> {
        let schema = self.schema();
        let one_of = |world: &mut Self, is_one: &dyn Fn(&str) -> bool| {
            let mut items = world.items(is_one);
            // What the table's owner has under such a key is nobody's to damage.
            items.retain(|(key, item)| !item.contains_key("deleted") && !world.owners.contains_key(key));
            items.choose(&mut world.rng).cloned()
        };
        match damage {
            Damage::RowLost => {
                let (key, _) = one_of(self, &is_row)?;
                self.plant(&key, None);
                Some(key)
            }
            Damage::RowChanged => {
                let (key, mut item) = one_of(self, &|sk| is_row(sk) && !sk.starts_with("ORPHAN#"))?;
                item.insert("name".into(), text("changed"));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::RowInvented => {
                let (row, item) = one_of(self, &|sk| sk.starts_with("NODE#"))?;
                let id = self.pick(&IDS);
                let pk = if schema.has_tenants() { format!("{}#{id}", tenant_of(&row.pk)) } else { id.to_owned() };
                let key = ItemKey { pk, ..row };
                if self.table.0.lock().unwrap().get(&key).is_some() {
                    return None;
                }
                let item = item.into_iter().chain(with_key(&key, &schema)).collect();
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageLost => {
                let (key, _) = one_of(self, &|sk| sk == "LINEAGE")?;
                self.plant(&key, None);
                Some(key)
            }
            Damage::LineageChanged => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                let others = AttributeValue::L(vec![text("x"), text("y")]);
                item.insert("ancestors".into(), others);
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageUnsettled => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                item.insert("rows_pending".into(), AttributeValue::Bool(true));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageLies => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                // Anything at all, its owner's items among them.
                let others = self.items(|_| true);
                let other = others.choose(&mut self.rng).map(|(other, _)| other.clone());
                let other = other.filter(|other| !other.sk.ends_with(id_of(&key.pk)))?;
                let named = with_key(&other, &schema).into_iter().collect();
                item.insert("stale_rows".into(), AttributeValue::L(vec![AttributeValue::M(named)]));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageBuried => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                for name in
                    ["ancestors", "path", "root", "orphan", "order", "links", "trash", "rows_pending", "stale_rows"]
                {
                    item.remove(name);
                }
                let deleting = [
                    ("mode", text("delete")),
                    ("operation", text("an old one")),
                    ("revisions", AttributeValue::Bool(false)),
                ];
                let deleting = deleting.map(|(name, value)| (name.to_owned(), value)).into();
                item.insert("format".into(), AttributeValue::N("1".into()));
                item.insert("deleting".into(), AttributeValue::M(deleting));
                item.insert("deleted".into(), AttributeValue::N("1000000".into()));
                item.insert("_expires".into(), AttributeValue::N("2209600".into()));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::RecordLost => {
                let (key, _) = one_of(self, &|sk| sk == "NODE")?;
                self.plant(&key, None);
                Some(ItemKey { sk: "LINEAGE".into(), ..key })
            }
            Damage::CopyLost => {
                let (key, _) = one_of(self, &|sk| sk.starts_with("v0_"))?;
                self.plant(&key, None);
                Some(key)
            }
            Damage::CopyChanged => {
                let (key, mut item) = one_of(self, &|sk| sk.starts_with("v0_"))?;
                item.insert("_version".into(), AttributeValue::N(self.pick(&["0", "9"]).into()));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::CopyInvented => {
                let id = self.pick(&IDS);
                let key = ItemKey::new(self.partition(id), "v0_Nothing");
                let mut item = with_key(&key, &schema);
                item.insert("_version".into(), AttributeValue::N("3".into()));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::CursorLeft => {
                let (lineage, _) = one_of(self, &|sk| sk == "LINEAGE")?;
                let key = ItemKey { sk: "CASCADE".into(), ..lineage };
                let mut item = with_key(&key, &schema);
                item.insert("format".into(), AttributeValue::N("1".into()));
                item.insert("sequence".into(), text(format!("{:0>40}", 7)));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::MarkLeft => {
                let (key, mut item) = one_of(self, &|sk| sk == "NODE")?;
                let cursor = ItemKey { sk: "CASCADE".into(), ..key.clone() };
                if self.table.0.lock().unwrap().get(&cursor).is_some_and(|cursor| cursor.contains_key("blocked")) {
                    return None;
                }
                let mark = [
                    ("mode", text(self.pick(&["delete", "adopt", "detach"]))),
                    ("operation", text("lost")),
                    ("revisions", AttributeValue::Bool(self.rng.random_bool(0.5))),
                ];
                let mark: std::collections::HashMap<String, AttributeValue> =
                    mark.map(|(name, value)| (name.to_owned(), value)).into();
                let heir = item.get("parent").filter(|parent| **parent != text(id_of(&key.pk))).cloned();
                item.insert("_deleting".into(), AttributeValue::M(mark.clone()));
                self.plant(&key, Some(item));
                let lineage_key = ItemKey { sk: "LINEAGE".into(), ..key.clone() };
                let lineage = self.table.0.lock().unwrap().get(&lineage_key).cloned();
                if let (Some(mut lineage), true) = (lineage, self.rng.random_bool(0.5)) {
                    let heir = heir.map(|heir| ("heir".to_owned(), heir));
                    lineage.insert("deleting".into(), AttributeValue::M(mark.into_iter().chain(heir).collect()));
                    self.plant(&lineage_key, Some(lineage));
                }
                Some(key)
            }
            Damage::RowForged => {
                let (key, id) = self.forged_key();
                if self.table.0.lock().unwrap().get(&key).is_some() {
                    return None;
                }
                let mut item = with_key(&key, &schema);
                item.insert("_id".into(), text(id));
                for name in ["_depth", "_parent", "_order", "_ancestors", "_trashed", "_truncated", "name"] {
                    if self.rng.random_bool(0.5) {
                        item.insert(name.into(), self.junk());
                    }
                }
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::RowGarbled => {
                let (key, mut item) = one_of(self, &is_row)?;
                if self.rng.random_ratio(1, 4) {
                    let (_, other) = one_of(self, &is_row)?;
                    item = other.into_iter().chain(with_key(&key, &schema)).collect();
                } else {
                    self.garble(
                        &mut item,
                        &["_id", "_depth", "_parent", "_order", "_ancestors", "_trashed", "_truncated"],
                    );
                }
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageGarbled => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                self.garble(&mut item, &LINEAGE);
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageStolen => {
                let (key, _) = one_of(self, &|sk| sk == "LINEAGE")?;
                let (_, other) = one_of(self, &|sk| sk == "LINEAGE")?;
                self.plant(&key, Some(other.into_iter().chain(with_key(&key, &schema)).collect()));
                Some(key)
            }
            Damage::LineageNewer | Damage::CursorNewer => {
                let (mut key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                if damage == Damage::CursorNewer {
                    key.sk = "CASCADE".to_owned();
                    item = with_key(&key, &schema);
                }
                item.insert("format".into(), number(self.pick(&NEWER)));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::CopyGarbled => {
                let (key, mut item) = one_of(self, &|sk| sk.starts_with("v0_"))?;
                self.garble(&mut item, &["_version", "_truncated", "name"]);
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::CursorBlocked | Damage::CursorGarbled => {
                let id = self.pick(&IDS);
                let key = ItemKey::new(self.partition(id), "CASCADE");
                // A deletion that is blocked waits for whoever asked for it: that is no damage.
                if self.is_marked(&key.pk) {
                    return None;
                }
                let sequence = text(format!("{:0>40}", self.rng.random_range(0..100)));
                let cursor = [("format", number("1")), ("sequence", sequence), ("blocked", AttributeValue::Bool(true))];
                let cursor = cursor.map(|(name, value)| (name.to_owned(), value));
                let mut item: Item = with_key(&key, &schema).into_iter().chain(cursor).collect();
                if self.rng.random_bool(0.5) {
                    let position = self.pick(&["children", "revisions"]);
                    item.insert(position.into(), text("of an old mark"));
                }
                if damage == Damage::CursorGarbled {
                    let names = ["sequence", "after", "remaining", "children", "revisions", "blocked", "_redriven"];
                    self.garble(&mut item, &names);
                }
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::RecordGarbled => {
                let (key, mut item) = one_of(self, &|sk| sk == "NODE")?;
                let was_in_trash = item.contains_key("_trashed");
                self.garble(&mut item, &["_deleting", "_trashed", "_touched", "_redriven", "_under", "_born"]);
                self.plant(&key, Some(item));
                let is_told_by_lineage = |item: &Item| {
                    let has_life = matches!(item.get("_born"), Some(AttributeValue::S(_)));
                    has_life || was_in_trash && !item.contains_key("_trashed")
                };
                let lineage = ItemKey { sk: "LINEAGE".into(), ..key.clone() };
                Some(if self.table.0.lock().unwrap().get(&key).is_some_and(is_told_by_lineage) { lineage } else { key })
            }
            Damage::RecordPutBack => {
                let record = one_of(self, &|sk| sk == "NODE").filter(|_| self.rng.random_bool(0.5));
                let (key, mut item) = record.unwrap_or_else(|| {
                    let key = ItemKey::new(self.partition("ghost"), "NODE");
                    (key.clone(), with_key(&key, &schema))
                });
                item.insert("_put_back".into(), text("17"));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::RowOfOwner => {
                let (lineage, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                let key = beside(&lineage, "mine", &format!("NODE#0001#{}", id_of(&lineage.pk)));
                self.plant_owners_at(&key)?;
                if self.rng.random_bool(0.5) {
                    let named = with_key(&key, &schema).into_iter().collect();
                    item.insert("stale_rows".into(), AttributeValue::L(vec![AttributeValue::M(named)]));
                } else {
                    item.insert("ancestors".into(), AttributeValue::L(vec![text("mine")]));
                }
                self.plant(&lineage, Some(item));
                Some(lineage)
            }
            Damage::LineageOfOwner => {
                let key = ItemKey::new(self.partition("mine"), "LINEAGE");
                self.plant_owners_at(&key)
            }
            Damage::ClaimOfOwner => {
                let (record, item) = one_of(self, &|sk| sk == "NODE")?;
                let has_none = ["_trashed", "_deleting", "_put_back"].iter().any(|name| item.contains_key(*name));
                if !self.fanout.settings.names.is_on() || has_none {
                    return None;
                }
                let name = match item.get("segment") {
                    Some(AttributeValue::S(segment)) => segment.as_str(),
                    _ => id_of(&record.pk),
                };
                let key = match item.get("parent") {
                    Some(AttributeValue::S(parent)) => beside(&record, parent, &format!("NAME#{name}")),
                    _ => beside(&record, "ROOTS", &format!("ROOTNAME#{name}")),
                };
                self.plant_owners_at(&key)
            }
            Damage::TrashLeft | Damage::CopyMarkGarbled => {
                let (key, mut item) = one_of(self, &|sk| sk == "NODE")?;
                let name = if damage == Damage::TrashLeft { "_trashed" } else { "_copying" };
                let is_other = ["_trashed", "_deleting", "_put_back"].iter().any(|name| item.contains_key(*name));
                if is_other || damage == Damage::TrashLeft && !item.contains_key("parent") {
                    return None;
                }
                let at = [("at".to_owned(), text("2026-02-03T04:05:06.789Z"))];
                let value = if self.rng.random_bool(0.5) { self.junk() } else { AttributeValue::M(at.into()) };
                item.insert(name.into(), value);
                self.plant(&key, Some(item));
                Some(key)
            }
        }
    }

    /// Plants an item of the table's owner, if there is none. Returns its key.
    fn plant_owners_at(&mut self, key: &ItemKey) -> Option<ItemKey> {
        if self.table.0.lock().unwrap().get(key).is_some() {
            return None;
        }
        let mut item = with_key(key, &self.schema());
        item.insert("theirs".into(), self.junk());
        if self.rng.random_bool(0.5) {
            item.insert("_id".into(), if self.rng.random_bool(0.5) { text("64af00") } else { number("7") });
            item.insert("format".into(), text("theirs"));
        }
        self.plant(key, Some(item.clone()));
        self.owners.insert(key.clone(), item);
        Some(key.clone())
    }

    /// Plants items of the table's owner under keys that look like ours, in places that no lineage names.
    pub(super) fn plant_owners(&mut self) {
        let keys = [
            "NODE#0001#mine",
            "PATH#mine",
            "CHILD#sx#mine",
            "LINK#tags#mine",
            "ROOT#mine",
            "ORDERED#~#mine",
            "ORPHAN#mine",
            "TRASH#-#mine",
            "v0_Mine",
            "ORDER#1",
            "CASCADE",
            "SETTINGS",
            "AUDIT",
        ];
        for sk in keys {
            if self.rng.random_ratio(3, 4) {
                continue;
            }
            let id =
                if sk == "CASCADE" { "mine" } else { self.pick(&["a", "b", "ROOTS", "ORPHANS#3", "TRASH", "mine"]) };
            let key = ItemKey::new(self.partition(id), sk);
            let mut item = with_key(&key, &self.schema());
            item.insert("theirs".into(), self.junk());
            // An `_id` of their own, say of another database.
            if self.rng.random_bool(0.5) {
                let id = if self.rng.random_bool(0.5) { text("64af00") } else { number("7") };
                item.insert("_id".into(), id);
            }
            self.log.push(format!("theirs: {item:?}"));
            self.write(&key, Some(item.clone()));
            self.table.0.lock().unwrap().stream.clear();
            self.owners.insert(key, item);
        }
    }

    /// A key of a row's form, which no handler would give a row of this node, or which it might.
    fn forged_key(&mut self) -> (ItemKey, &'static str) {
        let (id, above) = (self.pick(&[IDS[0], IDS[3], "ghost"]), self.pick(&IDS));
        let spelled = |id: &str| id.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let time = self.pick(&["-", "2026-02-03T04:05:06.789Z", "2025-12-24T00:00:00.000Z"]);
        let sk = match self.rng.random_range(0..10) {
            0 => format!("NODE#{:04}#{id}", self.rng.random_range(1..=98)),
            1 => format!("PATH#x#{id}"),
            2 => format!("PATH#{above}#{}", spelled(id)),
            3 => format!("PATH#{above}!{id}"),
            4 => format!("ROOT#{id}"),
            5 => format!("ORPHAN#{id}"),
            6 => format!("CHILD#{}#{id}", self.pick(&["~", "sx", "n15001"])),
            7 => format!("ORDERED#~#{id}"),
            8 => format!("TRASH#{time}#{id}"),
            _ => format!("LINK#{}#{id}", self.pick(&["tags", "other"])),
        };
        let shard = self.pick(&["ORPHANS#0", "ORPHANS#3", "ORPHANS#z"]);
        let partition = self.pick(&[above, above, "ROOTS", shard, "TRASH"]);
        (ItemKey::new(self.partition(partition), sk), id)
    }

    /// Takes one of these attributes away, or gives it an impossible value.
    fn garble(&mut self, item: &mut Item, names: &[&'static str]) {
        let name = self.pick(names);
        if self.rng.random_ratio(1, 3) && item.contains_key(name) {
            item.remove(name);
            return;
        }
        let value = match name {
            "format" => number(self.pick(&["0", "1", "2"])),
            "trash" if self.rng.random_bool(0.5) => text(self.pick(&["-", "2026-02-03T04:05:06.789Z", "yesterday"])),
            "trash" => AttributeValue::Bool(self.rng.random_bool(0.5)),
            "orphan" | "root" | "rows_pending" => AttributeValue::Bool(self.rng.random_bool(0.5)),
            "restarted" | "born" | "order" => text(self.pick(&["7", "sx", "~"])),
            _ => self.junk(),
        };
        item.insert(name.into(), value);
    }

    /// A value that is none of ours in most places.
    fn junk(&mut self) -> AttributeValue {
        match self.rng.random_range(0..9) {
            0 => AttributeValue::Null(true),
            1 => AttributeValue::Bool(true),
            2 => number(self.pick(&["0", "2", "-1", "0.5", "1000000000000000000000000000000"])),
            3 => AttributeValue::L(Vec::new()),
            4 => AttributeValue::M(HashMap::default()),
            5 => AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()]),
            6 => AttributeValue::B(vec![0; 3]),
            7 => AttributeValue::L(vec![AttributeValue::Bool(false), text("a")]),
            _ => text(self.pick(&["", "a", "b", "x#y", "NODE#0001#a"])),
        }
    }

    /// How many items of each class there are, counted without the product's code.
    pub(super) fn counted(&self) -> BTreeMap<Class, u64> {
        let mut counted = BTreeMap::new();
        for ((pk, sk), item) in self.contents() {
            *counted.entry(self.class_of(&pk, &sk, &item)).or_default() += 1;
        }
        counted
    }

    fn class_of(&self, pk: &str, sk: &str, item: &crate::oracle::Item) -> Class {
        let digits = sk.strip_prefix('v').and_then(|rest| rest.split_once('_')).map(|(digits, _)| digits);
        let is_version = |digits: &str| digits.len() == 3 && digits != "000" && digits.parse::<u32>().is_ok();
        let shown = sk.rsplit(['#', '!']).next().unwrap_or_default();
        let shown = if shown.starts_with('%') { unspelled(shown) } else { shown.to_owned() };
        match sk {
            "SETTINGS" | "AUDIT" | "EPOCH" | "EPOCH#COPY" if pk == "SAPWOOD" => Class::Own,
            _ if self.schema().has_tenants() && !pk.starts_with("TENANT#") => Class::Foreign,
            "NODE" => Class::Node,
            "LINEAGE" => Class::Lineage,
            "COUNTED" => Class::Own,
            _ if sk.starts_with("TOTALS#") => Class::Own,
            "CASCADE" => Class::Cursor,
            _ if is_claim(sk) && item.contains_key("_node") => Class::Own,
            _ if sk.starts_with("v0_") => Class::Copy,
            _ if digits.is_some_and(is_version) => Class::Revision,
            _ if is_row(sk) && item.get("_id") == Some(&text(shown)) => Class::Row,
            _ => Class::Foreign,
        }
    }

    /// True if an item only has the key of a row, a copy or a lineage: without the attribute that makes it one it is
    /// the table owner's. Where a lineage names a row there, or a topic has revisions, the row or the copy is missing.
    pub(super) fn only_looks_like_ours(&self, pk: &str, sk: &str, item: &crate::oracle::Item) -> bool {
        match self.class_of(pk, sk, item) {
            Class::Foreign => is_row(sk),
            Class::Copy => !item.contains_key("_version"),
            // Without a node such a lineage is the table owner's as well.
            Class::Lineage => {
                let is_format = |digits: &String| digits.parse().is_ok_and(|format: u64| format > 0);
                let has_format = matches!(item.get("format"), Some(AttributeValue::N(digits)) if is_format(digits));
                !has_format && self.table.0.lock().unwrap().get(&ItemKey::new(pk, "NODE")).is_none()
            }
            Class::Own => is_claim(sk),
            _ => false,
        }
    }

    /// True if a node is marked for deletion.
    fn is_marked(&self, pk: &str) -> bool {
        let record = self.table.0.lock().unwrap().get(&ItemKey::new(pk, "NODE")).cloned();
        record.is_some_and(|record| record.contains_key("_deleting"))
    }
}

const LINEAGE: [&str; 15] = [
    "format",
    "ancestors",
    "path",
    "root",
    "orphan",
    "order",
    "links",
    "trash",
    "stale_rows",
    "born",
    "rows_pending",
    "deleting",
    "restarted",
    "_expires",
    "format",
];

fn is_claim(sk: &str) -> bool {
    sk.starts_with("NAME#") || sk.starts_with("ROOTNAME#")
}

/// A key in the partition of another node of the same tenant.
fn beside(key: &ItemKey, id: &str, sk: &str) -> ItemKey {
    let pk = if key.pk.starts_with("TENANT#") { format!("{}#{id}", tenant_of(&key.pk)) } else { id.to_owned() };
    ItemKey::new(pk, sk)
}

fn is_row(sk: &str) -> bool {
    let prefixes = ["NODE#", "PATH#", "ROOT#", "ORPHAN#", "CHILD#", "ORDERED#", "LINK#", "TRASH#"];
    prefixes.iter().any(|prefix| sk.starts_with(prefix))
}

/// True if a newer handler has written an item.
pub(super) fn is_newer(item: &Item) -> bool {
    matches!(item.get("format"), Some(AttributeValue::N(digits)) if NEWER.contains(&digits.as_str()))
}

/// Formats of newer handlers: the next one, and one that is far away.
const NEWER: [&str; 2] = ["6", "99"];
const _: () = assert!(FORMAT_MAX == 5, "the next format is another one");

/// What is written as `%61%62`.
fn unspelled(text: &str) -> String {
    text.split('%').skip(1).map(|hex| char::from(u8::from_str_radix(hex, 16).unwrap())).collect()
}

fn number(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

fn id_of(pk: &str) -> &str {
    pk.rsplit('#').next().unwrap_or(pk)
}

fn tenant_of(pk: &str) -> &str {
    pk.rsplit_once('#').map_or(pk, |(tenant, _)| tenant)
}
