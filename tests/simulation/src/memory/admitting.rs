use sapwood_core::keys::ItemKey;
use sapwood_core::model::{Item, key_of};
use sapwood_store::{
    Action, Condition, Found, Page, Query, ReadOptions, Reply, Table, TableError, Transacted, Update, Write,
};

use super::MemoryTable;

/// What becomes of the writes of one request. What is in neither list counts as done, and isn't.
#[derive(Debug, Default)]
pub struct Admitted {
    /// The writes that are carried out.
    pub done: Vec<Write>,
    /// The writes that are left unprocessed.
    pub unprocessed: Vec<Write>,
}

/// How much a table does at a time.
pub trait Admission: Send + Sync {
    /// What becomes of the writes of one request.
    fn admit(&self, writes: &[Write]) -> Admitted;

    /// How many of these items a read answers. The others are left unprocessed.
    fn answered(&self, items: &[Item], _reading: &ReadOptions) -> usize {
        items.len()
    }
}

/// A [`MemoryTable`] whose `BatchWriteItem` and `BatchGetItem` do no more than is admitted.
#[derive(Debug)]
pub struct Admitting<'a, A>(pub &'a MemoryTable, pub &'a A);

impl<A: Admission> Table for Admitting<'_, A> {
    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        let Admitted { done, unprocessed } = self.1.admit(writes);
        if !done.is_empty() {
            self.0.write_many(&done).await?;
        }
        Ok(Reply { value: unprocessed, ..Reply::default() })
    }

    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        let mut reply = self.0.read_many(keys, reading).await?;
        let left = reply.value.items.split_off(self.1.answered(&reply.value.items, reading));
        reply.value.unprocessed.extend(left.iter().filter_map(|item| key_of(item, &self.0.1)));
        Ok(reply)
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.0.put(item, condition).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.0.delete(key, condition).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.0.update(key, update, condition).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        self.0.change_together(actions).await
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.0.transact(actions).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        self.0.query(query).await
    }
}
