//! The table that plans run on: the [`Table`] trait, and one [`Client`] that retries and counts. No SDK is named here:
//! DynamoDB is a table of `sapwood-dynamodb`, and tests have one in memory.

mod client;
pub mod clock;
mod deadline;

use std::future::Future;

pub use client::{Backoff, BatchBytes, CarriedOut, Client, Items, NoRetries, RetryPolicy, Usage};
pub use deadline::{Deadline, LATE};
pub use sapwood_core::request::{
    Action, Condition, ErrorKind, Page, Query, ReadOptions, Scan, Scanned, TRANSACTION_ACTIONS_MAX, TableError,
    Transacted, Update, Write,
};

use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;

/// Most keys in one BatchGetItem ([AWS: API reference][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
pub const BATCH_GET_KEYS_MAX: usize = 100;

/// Most writes in one BatchWriteItem ([AWS: API reference][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
pub const BATCH_WRITE_ITEMS_MAX: usize = 25;

/// Most bytes of one BatchWriteItem, unless a single item has more. It is a choice: DynamoDB takes 16 MB, and answers
/// this much within the time for a request wherever it runs. No item has many more bytes in a request.
pub const BATCH_WRITE_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// Most bytes of an answer to a read of several items. A choice: an invocation reads several answers at a time, each
/// takes several times as many bytes in memory, and 16 MB of items can be 700 MB of JSON. A larger answer isn't read,
/// and the client asks for fewer items. An item read alone has at most 18 MB, and is always read.
pub const ANSWER_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// Most statements in one BatchExecuteStatement ([AWS: API reference][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
pub const BATCH_UPDATES_MAX: usize = 25;

/// A DynamoDB table. Each method is one request. Nothing is retried here: a method returns what DynamoDB left undone,
/// and an error says what the caller should do about it ([`ErrorKind`]).
pub trait Table: Send + Sync {
    /// BatchGetItem of at most [`BATCH_GET_KEYS_MAX`] distinct keys. An answer of more than [`ANSWER_BYTES_MAX`] to
    /// several keys counts as none ([`TableError::unanswered`]), as it does to a query or a scan of several items.
    fn read_many(
        &self,
        keys: &[ItemKey],
        reading: &ReadOptions,
    ) -> impl Future<Output = Result<Reply<Found>, TableError>> + Send;

    /// BatchWriteItem of at most [`BATCH_WRITE_ITEMS_MAX`] unconditional writes. Returns the unprocessed ones.
    fn write_many(&self, writes: &[Write]) -> impl Future<Output = Result<Reply<Vec<Write>>, TableError>> + Send;

    /// PutItem. Returns false if the condition doesn't hold.
    fn put(&self, item: &Item, condition: &Condition) -> impl Future<Output = Result<Reply<bool>, TableError>> + Send;

    /// DeleteItem. Returns false if the condition doesn't hold.
    fn delete(
        &self,
        key: &ItemKey,
        condition: &Condition,
    ) -> impl Future<Output = Result<Reply<bool>, TableError>> + Send;

    /// UpdateItem. Returns false if the condition doesn't hold. An item that doesn't exist is made.
    fn update(
        &self,
        key: &ItemKey,
        update: &Update,
        condition: &Condition,
    ) -> impl Future<Output = Result<Reply<bool>, TableError>> + Send;

    /// BatchExecuteStatement of at most [`BATCH_UPDATES_MAX`] actions on distinct items, each on its own condition:
    /// those of [`Task::shared`](sapwood_core::plan::Task::shared). Returns what came of each, in the same order: false
    /// where the condition doesn't hold. Where there is no item, an update makes none, and a deletion counts as done.
    fn change_together(
        &self,
        actions: &[Action],
    ) -> impl Future<Output = Result<Reply<Vec<Result<bool, TableError>>>, TableError>> + Send;

    /// TransactWriteItems of at most [`TRANSACTION_ACTIONS_MAX`] actions on distinct items: all of them are carried out
    /// or none. If another request holds one of the items, the error is of the kind [`ErrorKind::Retry`].
    fn transact(&self, actions: &[Action]) -> impl Future<Output = Result<Reply<Transacted>, TableError>> + Send;

    /// Query of one page.
    fn query(&self, query: &Query) -> impl Future<Output = Result<Reply<Page>, TableError>> + Send;
}

/// A table that can be read as a whole. The functions of a stack neither need this nor have the permission.
pub trait Scannable: Table {
    /// Scan of one page.
    fn scan(&self, scan: &Scan) -> impl Future<Output = Result<Reply<Scanned>, TableError>> + Send;
}

/// The answer to a request, and the capacity units that it consumed.
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
    /// Turns the answer into another and keeps the units.
    pub fn map<V>(self, of: impl FnOnce(T) -> V) -> Reply<V> {
        Reply { value: of(self.value), read_units: self.read_units, write_units: self.write_units }
    }
}

/// The answer of [`Table::read_many`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The items that exist, in no order.
    pub items: Vec<Item>,
    /// The keys that DynamoDB left unprocessed. They have to be read again.
    pub unprocessed: Vec<ItemKey>,
}
