//! The table that plans run on.

mod condition;
#[cfg(feature = "dynamodb")]
mod deadline;
#[cfg(feature = "dynamodb")]
mod dynamodb;
mod error;
#[cfg(feature = "dynamodb")]
mod https;
mod session;
mod transaction;

use std::collections::BTreeSet;
use std::future::Future;

pub use condition::Condition;
#[cfg(feature = "dynamodb")]
pub use deadline::Deadline;
#[cfg(feature = "dynamodb")]
pub use dynamodb::DynamoTable;
pub use error::{ErrorKind, TableError};
#[cfg(feature = "dynamodb")]
pub use https::https_client;
pub use session::{Session, Usage};
pub use transaction::{Action, TRANSACTION_ACTIONS_MAX, Transacted};

use crate::keys::{ItemKey, SortRange};
use crate::model::{AttributeValue, Item};

/// Most keys in one BatchGetItem ([AWS: API reference][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
pub const BATCH_GET_KEYS_MAX: usize = 100;

/// Most writes in one BatchWriteItem ([AWS: API reference][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
pub const BATCH_WRITE_ITEMS_MAX: usize = 25;

/// One DynamoDB table: one method is one request. Nothing is retried here; what is left undone is returned, and an error
/// says what the caller should do about it ([`ErrorKind`]).
pub trait Table: Send + Sync {
    /// BatchGetItem, at most [`BATCH_GET_KEYS_MAX`] distinct keys.
    fn read_many(
        &self,
        keys: &[ItemKey],
        reading: &Reading,
    ) -> impl Future<Output = Result<Reply<Found>, TableError>> + Send;

    /// The same, strongly consistent and whole.
    fn get_many(&self, keys: &[ItemKey]) -> impl Future<Output = Result<Reply<Found>, TableError>> + Send {
        async { self.read_many(keys, &Reading::default()).await }
    }

    /// BatchWriteItem, at most [`BATCH_WRITE_ITEMS_MAX`] writes of distinct keys. Returns those left unprocessed.
    fn write_many(&self, writes: &[Write]) -> impl Future<Output = Result<Reply<Vec<Write>>, TableError>> + Send;

    /// PutItem; false where the condition doesn't hold.
    fn put(&self, item: &Item, condition: &Condition) -> impl Future<Output = Result<Reply<bool>, TableError>> + Send;

    /// DeleteItem; false where the condition doesn't hold.
    fn delete(
        &self,
        key: &ItemKey,
        condition: &Condition,
    ) -> impl Future<Output = Result<Reply<bool>, TableError>> + Send;

    /// UpdateItem; false where the condition doesn't hold. It makes an item where none is.
    fn update(
        &self,
        key: &ItemKey,
        update: &Update,
        condition: &Condition,
    ) -> impl Future<Output = Result<Reply<bool>, TableError>> + Send;

    /// UpdateItem that sets one attribute.
    fn set(
        &self,
        key: &ItemKey,
        attribute: &str,
        value: &AttributeValue,
        condition: &Condition,
    ) -> impl Future<Output = Result<Reply<bool>, TableError>> + Send {
        async move { self.update(key, &Update::set(attribute, value.clone()), condition).await }
    }

    /// TransactWriteItems, at most [`TRANSACTION_ACTIONS_MAX`] actions on distinct items: all of them or none. A conflict
    /// with another request that holds one of the items is an error of the kind [`ErrorKind::Retry`].
    fn transact(&self, actions: &[Action]) -> impl Future<Output = Result<Reply<Transacted>, TableError>> + Send;

    /// Query, one page.
    fn query(&self, query: &Query) -> impl Future<Output = Result<Reply<Page>, TableError>> + Send;
}

/// What a request answered, and the capacity units it consumed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply<T> {
    /// The answer.
    pub value: T,
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
}

/// The answer of [`Table::get_many`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The items that are there, in no order.
    pub items: Vec<Item>,
    /// The keys that weren't looked up: ask again.
    pub unprocessed: Vec<ItemKey>,
}

/// A write without a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Put an item in the place of whatever is there.
    Put {
        /// Its key.
        key: ItemKey,
        /// The item, key attributes included.
        item: Item,
    },
    /// Delete an item if it is there.
    Delete(ItemKey),
}

impl Write {
    /// The key that is written.
    #[must_use]
    pub fn key(&self) -> &ItemKey {
        match self {
            Self::Put { key, .. } | Self::Delete(key) => key,
        }
    }
}

/// How items are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Strongly consistent, at twice the read units.
    pub strong: bool,
    /// Only these attributes, and the key attributes always; the read units stay the same. None: all.
    pub attributes: Option<BTreeSet<String>>,
}

impl Default for Reading {
    fn default() -> Self {
        Self { strong: true, attributes: None }
    }
}

/// What UpdateItem changes: attributes by name, each named once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Set to these values.
    pub set: Item,
    /// Removed, whether they are there or not.
    pub remove: BTreeSet<String>,
}

impl Update {
    /// One that sets one attribute.
    pub fn set(attribute: impl Into<String>, value: AttributeValue) -> Self {
        Self { set: Item::from([(attribute.into(), value)]), remove: BTreeSet::new() }
    }

    /// What becomes of an item.
    #[must_use]
    pub fn of(&self, mut item: Item) -> Item {
        item.retain(|name, _| !self.remove.contains(name));
        item.extend(self.set.clone());
        item
    }
}

/// A range of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The partition.
    pub pk: String,
    /// The sort keys.
    pub range: SortRange,
    /// Go on after this sort key.
    pub after: Option<String>,
    /// At most so many items.
    pub limit: usize,
    /// From the high end down.
    pub descending: bool,
    /// How the items are read.
    pub reading: Reading,
}

/// One page of a [`Query`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The items, in the order of their sort keys.
    pub items: Vec<Item>,
    /// The sort key to go on after; none on the last page.
    pub next: Option<String>,
}

/// How long to go on trying.
pub trait Patience: Send + Sync {
    /// Waits before trying again, the longer the higher `attempt` (from 0). False: no time is left, give up now.
    fn wait(&self, attempt: u32) -> impl Future<Output = bool> + Send;
}
