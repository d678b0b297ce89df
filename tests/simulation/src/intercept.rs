//! A table in front of another table. It tells an observer of every request.

use std::pin::Pin;
use std::sync::Arc;

use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;
use sapwood_store::{
    Action, Condition, Found, Page, Query, ReadOptions, Reply, Scan, Scannable, Scanned, Table, TableError, Transacted,
    Update, Write,
};

/// A request to a table, as its observer sees it.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// BatchGetItem of these keys.
    BatchGet(&'a [ItemKey]),
    /// BatchWriteItem.
    BatchWrite(&'a [Write]),
    /// PutItem.
    Put(&'a Item),
    /// DeleteItem.
    Delete(&'a ItemKey),
    /// UpdateItem.
    Update(&'a ItemKey),
    /// BatchExecuteStatement.
    Together(&'a [Action]),
    /// TransactWriteItems.
    Transact(&'a [Action]),
    /// Query, one page.
    Query(&'a Query),
    /// Scan, one page.
    Scan(&'a Scan),
}

impl Request<'_> {
    /// The request's name in DynamoDB's API.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::BatchGet(_) => "BatchGetItem",
            Self::BatchWrite(_) => "BatchWriteItem",
            Self::Put(_) => "PutItem",
            Self::Delete(_) => "DeleteItem",
            Self::Update(_) => "UpdateItem",
            Self::Together(_) => "BatchExecuteStatement",
            Self::Transact(_) => "TransactWriteItems",
            Self::Query(_) => "Query",
            Self::Scan(_) => "Scan",
        }
    }

    /// True for a request that only reads.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Self::BatchGet(_) | Self::Query(_) | Self::Scan(_))
    }
}

/// An observer of requests.
pub trait Observer: Send + Sync {
    /// Is called before a request is sent. The request waits for the observer.
    fn before(&self, request: &Request<'_>) -> impl Future<Output = ()> + Send;

    /// The error that the request ends with in place of its answer. The default is none.
    fn refuses(&self, _request: &Request<'_>) -> Option<TableError> {
        None
    }

    /// Is called after the request was answered.
    fn after(&self, _request: &Request<'_>) {}
}

impl<O: Observer> Observer for Arc<O> {
    async fn before(&self, request: &Request<'_>) {
        (**self).before(request).await;
    }

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        (**self).refuses(request)
    }

    fn after(&self, request: &Request<'_>) {
        (**self).after(request);
    }
}

/// A table whose requests are observed.
#[derive(Clone, Debug, Default)]
pub struct Intercept<T, O> {
    /// The table that answers.
    pub table: T,
    /// The observer.
    pub observer: O,
}

impl<T: Table, O: Observer> Intercept<T, O> {
    /// The answer is boxed, because the futures of the SDK are large.
    async fn observed<V>(
        &self,
        request: Request<'_>,
        answer: Pin<Box<dyn Future<Output = Result<V, TableError>> + Send + '_>>,
    ) -> Result<V, TableError> {
        self.observer.before(&request).await;
        if let Some(error) = self.observer.refuses(&request) {
            return Err(error);
        }
        let answer = answer.await;
        self.observer.after(&request);
        answer
    }
}

impl<T: Table, O: Observer> Table for Intercept<T, O> {
    async fn read_many(&self, keys: &[ItemKey], options: &ReadOptions) -> Result<Reply<Found>, TableError> {
        self.observed(Request::BatchGet(keys), Box::pin(self.table.read_many(keys, options))).await
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        self.observed(Request::BatchWrite(writes), Box::pin(self.table.write_many(writes))).await
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.observed(Request::Put(item), Box::pin(self.table.put(item, condition))).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.observed(Request::Delete(key), Box::pin(self.table.delete(key, condition))).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.observed(Request::Update(key), Box::pin(self.table.update(key, update, condition))).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        self.observed(Request::Together(actions), Box::pin(self.table.change_together(actions))).await
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.observed(Request::Transact(actions), Box::pin(self.table.transact(actions))).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        self.observed(Request::Query(query), Box::pin(self.table.query(query))).await
    }
}

impl<T: Scannable, O: Observer> Scannable for Intercept<T, O> {
    async fn scan(&self, scan: &Scan) -> Result<Reply<Scanned>, TableError> {
        self.observed(Request::Scan(scan), Box::pin(self.table.scan(scan))).await
    }
}
