use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, answered_bytes, item_bytes, sent_bytes};
use sapwood_store::{
    Action, Condition, ErrorKind, Found, Page, Query, ReadOptions, Reply, Table, TableError, Transacted, Update, Write,
};

use super::MemoryTable;

/// What goes through the wire to a table. It is measured in JSON and not as DynamoDB counts items.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// A request of more bytes is answered with status 413.
    pub request_bytes_max: usize,
    /// A transaction whose items have more bytes, as DynamoDB counts them, is refused.
    pub transaction_bytes_max: usize,
    /// An answer of more bytes comes too late.
    pub answer_bytes_max: usize,
}

impl Wire {
    /// The wire to DynamoDB: 16 MB in a request, and what DynamoDB Local answers in some seconds.
    pub const DYNAMODB: Self = Self {
        request_bytes_max: 16 * 1_024 * 1_024,
        transaction_bytes_max: 4 * 1_024 * 1_024,
        answer_bytes_max: 20_000_000,
    };

    /// The same with a limit that is so many times as low, for a table whose items are.
    #[must_use]
    pub fn scaled(self, by: usize) -> Self {
        let Self { request_bytes_max, transaction_bytes_max, answer_bytes_max } = self;
        Self {
            request_bytes_max: request_bytes_max / by,
            transaction_bytes_max: transaction_bytes_max / by,
            answer_bytes_max: answer_bytes_max / by,
        }
    }

    /// Checks a BatchWriteItem.
    ///
    /// # Errors
    /// What a 413 is to a client.
    pub fn check_writes(self, writes: &[Write], schema: &Schema) -> Result<(), TableError> {
        let items: Vec<Option<Item>> = writes.iter().map(|write| write.item(schema)).collect();
        self.check_items(items.iter().map(Option::as_ref))
    }

    /// Checks a BatchWriteItem of these items, where each deletion has none.
    ///
    /// # Errors
    /// What a 413 is to a client.
    pub fn check_items<'a>(self, items: impl Iterator<Item = Option<&'a Item>>) -> Result<(), TableError> {
        self.check_request(items.map(|item| item.map_or(100, sent_bytes)))
    }

    /// Checks a transaction.
    ///
    /// # Errors
    /// Its refusal, or what a 413 is to a client.
    pub fn check_actions(self, actions: &[Action]) -> Result<(), TableError> {
        let put = |action: &Action| if let Action::Put { item, .. } = action { item_bytes(item) } else { 0 };
        if actions.iter().map(put).sum::<usize>() > self.transaction_bytes_max {
            return Err(TableError::new(ErrorKind::Refuse, "ValidationException: transaction size"));
        }
        self.check_request(actions.iter().map(|action| match action {
            Action::Put { item, condition, .. } => sent_bytes(item) + condition_bytes(condition),
            Action::Update { update, condition, .. } => sent_bytes(&update.set) + condition_bytes(condition),
            Action::Delete { condition, .. } | Action::Check { condition, .. } => condition_bytes(condition),
        }))
    }

    /// Checks a put, an update or a deletion that sets these attributes on a condition.
    ///
    /// # Errors
    /// What a 413 is to a client.
    pub fn check_write(self, set: &Item, condition: &Condition) -> Result<(), TableError> {
        self.check_request([sent_bytes(set) + condition_bytes(condition)].into_iter())
    }

    /// Checks actions that share a request.
    ///
    /// # Errors
    /// What a 413 is to a client.
    pub fn check_together(self, actions: &[Action]) -> Result<(), TableError> {
        self.check_request(actions.iter().map(|action| match action {
            Action::Update { update, .. } => sent_bytes(&update.set),
            action => condition_bytes(action.condition()),
        }))
    }

    fn check_request(self, sizes: impl Iterator<Item = usize>) -> Result<(), TableError> {
        match sizes.sum::<usize>() {
            bytes if bytes > self.request_bytes_max => Err(TableError::too_large("the request is too large")),
            _ => Ok(()),
        }
    }

    /// Checks the items of an answer.
    ///
    /// # Errors
    /// What an answer that comes too late is to a client.
    pub fn check_answer<'a>(self, items: impl IntoIterator<Item = &'a Item>) -> Result<(), TableError> {
        match items.into_iter().map(answered_bytes).sum::<usize>() {
            bytes if bytes > self.answer_bytes_max => Err(TableError::unanswered("no answer in time")),
            _ => Ok(()),
        }
    }
}

/// What a condition's values take in a request.
fn condition_bytes(condition: &Condition) -> usize {
    match condition {
        Condition::Is { name, value: Some(value) } => sent_bytes(&Item::from([(name.clone(), value.clone())])),
        Condition::All(conditions) => conditions.iter().map(condition_bytes).sum(),
        _ => 0,
    }
}

/// A [`MemoryTable`] at the end of a wire.
#[derive(Debug)]
pub struct Wired<'a>(pub &'a MemoryTable, pub Wire);

impl Table for Wired<'_> {
    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        self.1.check_writes(writes, &self.0.1)?;
        self.0.write_many(writes).await
    }

    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        let reply = self.0.read_many(keys, reading).await?;
        self.1.check_answer(&reply.value.items)?;
        Ok(reply)
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.1.check_write(item, condition)?;
        self.0.put(item, condition).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.1.check_write(&Item::new(), condition)?;
        self.0.delete(key, condition).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.1.check_write(&update.set, condition)?;
        self.0.update(key, update, condition).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        self.1.check_together(actions)?;
        self.0.change_together(actions).await
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.1.check_actions(actions)?;
        self.0.transact(actions).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        let reply = self.0.query(query).await?;
        self.1.check_answer(&reply.value.items)?;
        Ok(reply)
    }
}
