//! Short ways to say what the cases write.

use sapwood_core::keys::{ItemKey, SortRange};
use sapwood_core::model::{AttributeValue, Item, text};
use sapwood_store::{
    BATCH_WRITE_ITEMS_MAX, Condition, Found, Query, ReadOptions, Reply, Table, TableError, Update, Write,
};

/// Requests as the cases make them most often.
pub(crate) trait Requests: Table {
    /// BatchGetItem, strongly consistent and with all attributes.
    async fn get_many(&self, keys: &[ItemKey]) -> Result<Reply<Found>, TableError> {
        self.read_many(keys, &ReadOptions::default()).await
    }

    /// UpdateItem of one attribute.
    async fn set(
        &self,
        key: &ItemKey,
        attribute: &str,
        value: &AttributeValue,
        condition: &Condition,
    ) -> Result<Reply<bool>, TableError> {
        self.update(key, &Update::set(attribute, value.clone()), condition).await
    }
}

impl<T: Table> Requests for T {}

pub(crate) fn key(pk: &str, sk: &str) -> ItemKey {
    ItemKey::new(pk, sk)
}

/// An item of a key and further attributes.
pub(crate) fn item<const N: usize>(key: &ItemKey, attributes: [(&str, AttributeValue); N]) -> Item {
    let keys = [("PK", text(&key.pk)), ("SK", text(&key.sk))];
    keys.into_iter().chain(attributes).map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(crate) fn put(item: Item) -> Write {
    let [AttributeValue::S(pk), AttributeValue::S(sk)] = [&item["PK"], &item["SK"]] else { panic!("no key: {item:?}") };
    Write::Put { key: key(pk, sk), item }
}

pub(crate) fn n(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

/// The item of a key.
pub(crate) async fn get(table: &impl Table, key: &ItemKey) -> Option<Item> {
    let found = table.get_many(std::slice::from_ref(key)).await.unwrap().value;
    assert!(found.unprocessed.is_empty());
    assert!(found.items.len() <= 1);
    found.items.into_iter().next()
}

/// Puts an item, whatever is there.
pub(crate) async fn put_one(table: &impl Table, item: &Item) {
    assert!(table.put(item, &Condition::Always).await.unwrap().value);
}

/// Puts items, 25 a request.
pub(crate) async fn put_all(table: &impl Table, items: impl IntoIterator<Item = Item>) {
    let writes: Vec<Write> = items.into_iter().map(put).collect();
    for chunk in writes.chunks(BATCH_WRITE_ITEMS_MAX) {
        assert_eq!(table.write_many(chunk).await.unwrap().value, []);
    }
}

/// A query of a partition from one sort key to another.
pub(crate) fn query(pk: &str, from: &str, to: &str) -> Query {
    let range = SortRange { from: from.to_owned(), to: to.to_owned() };
    Query { pk: pk.to_owned(), range, after: None, limit: 1_000, descending: false, reading: ReadOptions::default() }
}

/// The sort keys of items.
pub(crate) fn sort_keys(items: &[Item]) -> Vec<&str> {
    let sort_key = |item: &'_ Item| matches!(item["SK"], AttributeValue::S(_));
    assert!(items.iter().all(sort_key));
    items
        .iter()
        .filter_map(|item| if let AttributeValue::S(sk) = &item["SK"] { Some(sk.as_str()) } else { None })
        .collect()
}
