//! A table in memory, with a stream: simple enough to be right, and held to DynamoDB's behaviour by the conformance
//! suite.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sapwood::keys::{ItemKey, Schema};
use sapwood::model::{AttributeValue, ITEM_BYTES_MAX, Item, item_bytes, key_of};
use sapwood::plan::{Change, Event};
use sapwood::table::{
    BATCH_GET_KEYS_MAX, BATCH_WRITE_ITEMS_MAX, Condition, ErrorKind, Found, Page, Query, Reply, Table, TableError,
    Write,
};

use crate::oracle::Contents;

/// Items, and the stream of their changes.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    items: BTreeMap<ItemKey, Item>,
    /// Records of changes not yet taken, in order.
    pub stream: Vec<Change>,
    changes: u64,
}

impl Memory {
    /// The item of a key.
    #[must_use]
    pub fn get(&self, key: &ItemKey) -> Option<&Item> {
        self.items.get(key)
    }

    /// Puts or, with none, deletes an item. A write that changes nothing makes no record.
    pub fn write(&mut self, key: &ItemKey, item: Option<Item>) {
        let old = match &item {
            Some(item) => self.items.insert(key.clone(), item.clone()),
            None => self.items.remove(key),
        };
        let event = match (&old, &item) {
            (None, None) => return,
            (Some(old), Some(new)) if old == new => return,
            (None, Some(_)) => Event::Insert,
            (Some(_), Some(_)) => Event::Modify,
            (Some(_), None) => Event::Remove,
        };
        self.changes += 1;
        let sequence = format!("{}", 100_000_000_000_000_000_000_u128 + u128::from(self.changes));
        self.stream.push(Change { key: key.clone(), sequence, event, old, new: item });
    }

    /// A page, as Query answers it.
    #[must_use]
    pub fn query(&self, query: &Query) -> Page {
        let Query { pk, range, after, limit, descending } = query;
        let inside = self
            .items
            .range(ItemKey::new(pk, &range.from)..)
            .take_while(|(key, _)| key.pk == *pk && key.sk <= range.to)
            .filter(|(key, _)| after.as_ref().is_none_or(|after| if *descending { key.sk < *after } else { key.sk > *after }));
        let mut found: Vec<(&ItemKey, &Item)> =
            if *descending { inside.collect::<Vec<_>>().into_iter().rev().take(*limit).collect() } else { inside.take(*limit).collect() };
        // DynamoDB says where to go on as soon as the limit is reached, even where nothing follows.
        let next = if found.len() == *limit { found.last().map(|(key, _)| key.sk.clone()) } else { None };
        Page { items: found.drain(..).map(|(_, item)| item.clone()).collect(), next }
    }

    /// The whole table, for the oracle.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.items.iter().map(|(key, item)| ((key.pk.clone(), key.sk.clone()), item.clone())).collect()
    }

    /// What DynamoDB refuses.
    ///
    /// # Errors
    /// [`ErrorKind::Refuse`] for a key or an item over its limit, or a key without text.
    pub fn check(item: &Item, key: &ItemKey) -> Result<(), TableError> {
        let refuse = |message: &str| Err(TableError::new(ErrorKind::Refuse, message));
        if !(1..=2048).contains(&key.pk.len()) || !(1..=1024).contains(&key.sk.len()) {
            return refuse("ValidationException: key size");
        }
        if item_bytes(item) > ITEM_BYTES_MAX {
            return refuse("ValidationException: item size");
        }
        Ok(())
    }
}

/// A [`Table`] on it that answers at once, for suites that need no scheduler. The schema says how its key attributes
/// are called.
#[derive(Clone, Debug, Default)]
pub struct MemoryTable(pub Arc<Mutex<Memory>>, pub Schema);

fn reply<T>(value: T) -> Result<Reply<T>, TableError> {
    Ok(Reply { value, read_units: 0.0, write_units: 0.0 })
}

fn refuse<T>(message: &str) -> Result<T, TableError> {
    Err(TableError::new(ErrorKind::Refuse, message))
}

impl MemoryTable {
    fn conditional(&self, key: &ItemKey, new: Option<Item>, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let mut memory = self.0.lock().unwrap();
        if let Some(item) = &new {
            Memory::check(item, key)?;
        }
        let holds = condition.holds(memory.get(key));
        if holds {
            memory.write(key, new);
        }
        reply(holds)
    }
}

/// The key of an item under the default schema.
#[must_use]
pub fn default_key(item: &Item) -> Option<ItemKey> {
    key_of(item, &Schema::default())
}

impl Table for MemoryTable {
    async fn get_many(&self, keys: &[ItemKey]) -> Result<Reply<Found>, TableError> {
        if keys.is_empty() || keys.len() > BATCH_GET_KEYS_MAX {
            return refuse("ValidationException: number of keys");
        }
        let memory = self.0.lock().unwrap();
        reply(Found { items: keys.iter().filter_map(|key| memory.get(key).cloned()).collect(), unprocessed: Vec::new() })
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        if writes.is_empty() || writes.len() > BATCH_WRITE_ITEMS_MAX {
            return refuse("ValidationException: number of writes");
        }
        let mut memory = self.0.lock().unwrap();
        for write in writes {
            if let Write::Put { key, item } = write {
                Memory::check(item, key)?;
            }
        }
        for write in writes {
            match write {
                Write::Put { key, item } => memory.write(key, Some(item.clone())),
                Write::Delete(key) => memory.write(key, None),
            }
        }
        reply(Vec::new())
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        match key_of(item, &self.1) {
            Some(key) => self.conditional(&key, Some(item.clone()), condition),
            None => refuse("ValidationException: no key"),
        }
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.conditional(key, None, condition)
    }

    async fn set(
        &self,
        key: &ItemKey,
        attribute: &str,
        value: &AttributeValue,
        condition: &Condition,
    ) -> Result<Reply<bool>, TableError> {
        let item = self.0.lock().unwrap().get(key).cloned();
        let mut item = item.unwrap_or_else(|| {
            let names = self.1.names();
            Item::from([
                (names.partition_key.clone(), AttributeValue::S(key.pk.clone())),
                (names.sort_key.clone(), AttributeValue::S(key.sk.clone())),
            ])
        });
        item.insert(attribute.to_owned(), value.clone());
        self.conditional(key, Some(item), condition)
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        reply(self.0.lock().unwrap().query(query))
    }
}
