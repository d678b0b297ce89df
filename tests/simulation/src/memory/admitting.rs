use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;
use sapwood_table::{
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

/// A [`MemoryTable`] whose `BatchWriteItem` admits what the function says.
#[derive(Debug)]
pub struct Admitting<'a, F>(pub &'a MemoryTable, pub F);

impl<F: Fn(&[Write]) -> Admitted + Send + Sync> Table for Admitting<'_, F> {
    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        let Admitted { done, unprocessed } = (self.1)(writes);
        if !done.is_empty() {
            self.0.write_many(&done).await?;
        }
        Ok(Reply { value: unprocessed, ..Reply::default() })
    }

    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        self.0.read_many(keys, reading).await
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

    async fn update_existing(
        &self,
        updates: &[(ItemKey, Update)],
    ) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        self.0.update_existing(updates).await
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.0.transact(actions).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        self.0.query(query).await
    }
}
