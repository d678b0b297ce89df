//! A sample of what was written lately. Handlers leave it, and the auditor looks there first.
//!
//! A pass over a large table takes days, and what is wrong most likely comes from a recent write. A second reader of
//! the stream would see all writes, but a shard has two readers at most, and the other one is for the table's owner. So
//! a handler notes keys as it goes, and writes them now and then: at most one write unit every five minutes for each
//! process, however much is written.

use std::collections::BTreeSet;

use super::Subject;
use crate::keys::{ItemKey, NodeRef, Schema, SortKey};
use crate::model::{AttributeValue, Item, Settings, text, whole_of, with_key};

/// The number of trails in a table. Handlers that share one overwrite each other's: a trail is a sample.
pub const TRAILS: u8 = 32;

/// How often a handler leaves its trail, in seconds: as often as the auditor runs.
const EVERY_SECONDS: u64 = 300;

/// How long a trail is kept, in seconds: it has ids, and an auditor looks at it within a run or two.
const KEPT_SECONDS: u64 = 24 * 60 * 60;

/// Most bytes of a trail's keys, so that the item takes one write unit. A single key may be longer.
const BYTES_MAX: usize = 850;

/// The bytes of a key besides its two texts.
const BYTES_OF_KEY: usize = 16;

/// The first keys of base records handled since the last trail was left: these have had the most time to settle.
#[derive(Debug, Default)]
pub struct Trail {
    number: u8,
    keys: BTreeSet<ItemKey>,
    bytes: usize,
    left_at: u64,
}

impl Trail {
    const AT: &str = "at";
    const KEYS: &str = "keys";

    /// An empty trail with any number, which it keeps.
    #[must_use]
    pub fn new(number: u8) -> Self {
        Self { number: number % TRAILS, ..Self::default() }
    }

    /// Notes that a record with this key was handled.
    pub fn note(&mut self, key: &ItemKey, schema: &Schema) {
        let bytes = key.pk.len() + key.sk.len() + BYTES_OF_KEY;
        let has_room = self.keys.is_empty() || self.bytes + bytes <= BYTES_MAX;
        if has_room && subject(key, schema).is_some() && self.keys.insert(key.clone()) {
            self.bytes += bytes;
        }
    }

    /// Returns the item that is to be written, with its key, and begins anew, if a trail is due at this time, in
    /// seconds since 1970.
    ///
    /// ```
    /// # use sapwood_core::{audit::Trail, keys::ItemKey, model::Settings};
    /// let (mut trail, settings) = (Trail::new(7), Settings::default());
    /// trail.note(&ItemKey::new("D", "NODE"), &settings.schema);
    /// assert!(trail.take(1_795_251_900, &settings).is_some());
    /// trail.note(&ItemKey::new("V", "NODE"), &settings.schema);
    /// assert!(trail.take(1_795_252_199, &settings).is_none(), "not five minutes later");
    /// assert!(trail.take(1_795_252_200, &settings).is_some());
    /// ```
    #[must_use]
    pub fn take(&mut self, now: u64, settings: &Settings) -> Option<(ItemKey, Item)> {
        if self.keys.is_empty() || now.saturating_sub(self.left_at) < EVERY_SECONDS {
            return None;
        }
        let next = Self { left_at: now, ..Self::new(self.number) };
        let Self { number, keys, .. } = std::mem::replace(self, next);
        let key_value = |key: ItemKey| {
            AttributeValue::M([("pk".to_owned(), text(&key.pk)), ("sk".to_owned(), text(&key.sk))].into())
        };
        let key = settings.schema.trail_key(number);
        let mut item = with_key(&key, &settings.schema);
        item.insert(Self::AT.to_owned(), AttributeValue::N(now.to_string()));
        item.insert(Self::KEYS.to_owned(), AttributeValue::L(keys.into_iter().map(key_value).collect()));
        let expires = AttributeValue::N((now + KEPT_SECONDS).to_string());
        item.insert(settings.expires().to_owned(), expires);
        Some((key, item))
    }

    /// Reads a trail: when it was left, and what there is to look at. `None` for what is no trail.
    #[must_use]
    pub fn read(item: &Item, schema: &Schema) -> Option<(u64, Vec<Subject>)> {
        let Some(AttributeValue::L(keys)) = item.get(Self::KEYS) else { return None };
        let read_key = |value: &AttributeValue| {
            let AttributeValue::M(map) = value else { return None };
            let (AttributeValue::S(pk), AttributeValue::S(sk)) = (map.get("pk")?, map.get("sk")?) else { return None };
            subject(&ItemKey::new(pk, sk), schema)
        };
        Some((whole_of(item, Self::AT)?, keys.iter().filter_map(read_key).collect()))
    }
}

/// The subject that is derived from a base record with this key.
fn subject(key: &ItemKey, schema: &Schema) -> Option<Subject> {
    let node: NodeRef = schema.parse_partition(&key.pk).ok()?;
    match schema.parse_sort_key(&key.sk)? {
        SortKey::Node => Some(Subject::Node(node)),
        SortKey::Revision { .. } => Some(Subject::History(node)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::keys::Id;

    #[test]
    fn a_trail_names_what_was_handled_first_and_takes_one_write_unit() {
        let (mut trail, settings) = (Trail::new(33), Settings::default());
        let schema = settings.schema.clone();
        for key in ["LINEAGE", "CASCADE", "NODE#0001#x", "v0_Audit"] {
            trail.note(&ItemKey::new("a", key), &schema);
        }
        assert_eq!(trail.take(EVERY_SECONDS, &settings), None, "these aren't base records");
        trail.note(&ItemKey::new("a", "v001_Audit"), &schema);
        for number in 0..1_000 {
            trail.note(&ItemKey::new(format!("node-{number:020}"), "NODE"), &schema);
        }
        let (_, item) = trail.take(EVERY_SECONDS, &settings).unwrap();
        assert_eq!(item.get("SK"), Some(&text("TRAIL#01")));
        assert!(crate::model::item_bytes(&item) <= 1_024);
        let (at, subjects) = Trail::read(&item, &schema).unwrap();
        assert_eq!((at, subjects.len()), (EVERY_SECONDS, 19));
        let node = |id: &str| NodeRef::from(Id::new(id).unwrap());
        assert!(subjects.contains(&Subject::History(node("a"))));
        assert!(subjects.contains(&Subject::Node(node("node-00000000000000000017"))), "{subjects:?}");
    }

    #[test]
    fn a_key_that_is_long_has_a_trail_all_the_same() {
        let (mut trail, settings) = (Trail::default(), Settings::default());
        let schema = settings.schema.clone();
        trail.note(&ItemKey::new("a".repeat(1_000), "NODE"), &schema);
        trail.note(&ItemKey::new("b", "NODE"), &schema);
        let (_, item) = trail.take(EVERY_SECONDS, &settings).unwrap();
        assert_eq!(Trail::read(&item, &schema).unwrap().1.len(), 1);
    }
}
