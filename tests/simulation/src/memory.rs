//! A table in memory, with a stream. It is simple, and the conformance suite holds it to DynamoDB's behaviour.

mod admitting;
mod table;
mod values;
mod wire;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::{ItemKey, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX, Schema};
use sapwood_core::model::{ITEM_BYTES_MAX, Item, item_bytes, key_of};
use sapwood_store::{ErrorKind, Page, Query, TableError};

use crate::oracle::Contents;

pub use admitting::{Admission, Admitted, Admitting};
pub use table::{MemoryTable, Patient};
pub use wire::{Wire, Wired};

/// The items, and the stream of their changes.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Shared, until one of the copies is written: searches make many copies.
    items: Arc<BTreeMap<ItemKey, Item>>,
    /// The records that nobody has taken yet, in order.
    pub stream: Vec<StreamRecord>,
    /// The sequence number of the next record.
    sequence: u128,
}

/// What the sequence numbers of one stream and of the next differ by.
const STREAM: u128 = 100_000_000_000_000_000_000;

impl Default for Memory {
    fn default() -> Self {
        Self { items: Arc::default(), stream: Vec::new(), sequence: 8 * STREAM + 1 }
    }
}

impl Memory {
    /// Returns the item of a key.
    #[must_use]
    pub fn get(&self, key: &ItemKey) -> Option<&Item> {
        self.items.get(key)
    }

    /// Returns the sort keys of a partition key, in order.
    pub fn keys<'a>(&'a self, pk: &'a str) -> impl Iterator<Item = &'a str> {
        self.items
            .range(ItemKey::new(pk, "")..)
            .map(|(key, _)| key)
            .take_while(move |key| key.pk == pk)
            .map(|key| &*key.sk)
    }

    /// Puts an item, or deletes it with `None`. A write that changes nothing makes no record.
    pub fn write(&mut self, key: &ItemKey, item: Option<Item>) {
        let items = Arc::make_mut(&mut self.items);
        let old = match &item {
            Some(item) => items.insert(key.clone(), item.clone()),
            None => items.remove(key),
        };
        let event = match (&old, &item) {
            (None, None) => return,
            (Some(old), Some(new)) if old == new => return,
            (None, Some(_)) => Event::Insert,
            (Some(_), Some(_)) => Event::Modify,
            (Some(_), None) => Event::Remove,
        };
        let sequence = self.sequence.to_string();
        self.sequence += 1;
        self.stream.push(StreamRecord { key: key.clone(), sequence, event, old, new: item });
    }

    /// Returns the sequence number of the next record.
    #[must_use]
    pub fn sequence(&self) -> u128 {
        self.sequence
    }

    /// Begins a new stream. Its sequence numbers are lower, and what nobody has taken from the old one is lost.
    pub fn renew_stream(&mut self) {
        self.sequence -= STREAM;
        self.stream.clear();
    }

    /// Returns a page, as Query does.
    #[must_use]
    pub fn query(&self, query: &Query) -> Page {
        let Query { pk, range, after, limit, descending, .. } = query;
        let inside = self
            .items
            .range(ItemKey::new(pk, &range.from)..)
            .take_while(|(key, _)| key.pk == *pk && key.sk <= range.to)
            .filter(|(key, _)| {
                after.as_ref().is_none_or(|after| if *descending { key.sk < *after } else { key.sk > *after })
            });
        let mut found: Vec<(&ItemKey, &Item)> = if *descending {
            inside.collect::<Vec<_>>().into_iter().rev().take(*limit).collect()
        } else {
            inside.take(*limit).collect()
        };
        // DynamoDB returns the key of the last item as soon as the limit is reached, even if nothing follows. (It may
        // leave the key out if the last item ends the range. DynamoDB Local does.)
        let next = if found.len() == *limit { found.last().map(|(key, _)| key.sk.clone()) } else { None };
        Page { items: found.drain(..).map(|(_, item)| item.clone()).collect(), next }
    }

    /// Returns the items of a part of the table after a key, as Scan does. A partition key is in one part as a whole.
    pub fn scan(
        &self,
        segment: u32,
        segments: u32,
        after: Option<&ItemKey>,
    ) -> impl Iterator<Item = (&ItemKey, &Item)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let part = move |key: &ItemKey| key.pk.bytes().map(u32::from).sum::<u32>() % segments == segment;
        self.items.range::<ItemKey, _>((from, Bound::Unbounded)).filter(move |(key, _)| part(key))
    }

    /// Returns the whole table, for the oracle.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.items.iter().map(|(key, item)| ((key.pk.clone(), key.sk.clone()), item.clone())).collect()
    }

    /// Checks an item as DynamoDB does.
    ///
    /// # Errors
    /// [`ErrorKind::Refuse`] for a key or an item over its limit, and for an empty key.
    pub fn check(item: &Item, key: &ItemKey) -> Result<(), TableError> {
        if !is_possible(key) {
            return Err(TableError::new(ErrorKind::Refuse, "ValidationException: key size"));
        }
        if item_bytes(item) > ITEM_BYTES_MAX {
            return Err(TableError::new(ErrorKind::Refuse, "ValidationException: item size"));
        }
        Ok(())
    }
}

/// True if both parts of a key have a size that DynamoDB takes.
fn is_possible(key: &ItemKey) -> bool {
    (1..=PARTITION_KEY_BYTES_MAX).contains(&key.pk.len()) && (1..=SORT_KEY_BYTES_MAX).contains(&key.sk.len())
}

/// Returns the key of an item under the default schema.
#[must_use]
pub fn default_key(item: &Item) -> Option<ItemKey> {
    key_of(item, &Schema::default())
}
