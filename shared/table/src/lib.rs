//! The DynamoDB table that plans run on: the [`Table`] trait, one [`Client`] that retries and counts, and DynamoDB
//! itself ([`DynamoTable`]), the only file of the workspace's product that names its SDK.

mod client;
mod connection;
mod deadline;
mod dynamodb;
mod https;

use std::future::Future;

pub use client::{Client, Items, RetryPolicy, Usage};
pub use connection::Connection;
pub use deadline::Deadline;
pub use dynamodb::DynamoTable;
pub use sapwood_core::request::{
    Action, Condition, ErrorKind, Page, Query, ReadOptions, TRANSACTION_ACTIONS_MAX, TableError, Transacted, Update,
    Write,
};

use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, Item};

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
        reading: &ReadOptions,
    ) -> impl Future<Output = Result<Reply<Found>, TableError>> + Send;

    /// The same, strongly consistent and whole.
    fn get_many(&self, keys: &[ItemKey]) -> impl Future<Output = Result<Reply<Found>, TableError>> + Send {
        async { self.read_many(keys, &ReadOptions::default()).await }
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

impl<T> Reply<T> {
    /// The same reply with another answer.
    pub fn map<V>(self, of: impl FnOnce(T) -> V) -> Reply<V> {
        Reply { value: of(self.value), read_units: self.read_units, write_units: self.write_units }
    }
}

/// The answer of [`Table::read_many`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The items that are there, in no order.
    pub items: Vec<Item>,
    /// The keys that weren't looked up: ask again.
    pub unprocessed: Vec<ItemKey>,
}
