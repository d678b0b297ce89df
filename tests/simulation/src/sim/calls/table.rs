//! The simulated table, as one invocation sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rand::RngExt;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{AttributeValue, FORMAT_ATTRIBUTE, FORMAT_MAX, FORMAT_WITH_LEFT, Item};
use sapwood_core::plan::WritesKind;
use sapwood_store::{
    Action, Condition, ErrorKind, Found, Page, Query, ReadOptions, Reply, RetryPolicy, Scan, Scannable, Scanned, Table,
    TableError, Transacted, Update, Write,
};

use super::{Answer, Ask, Call, Shared};
use crate::memory::Wire;

/// The simulated table, as one invocation sees it.
pub(in crate::sim) struct SimTable {
    pub(in crate::sim) calls: Shared,
    pub(in crate::sim) invocation: u64,
}

struct Turn<'a> {
    table: &'a SimTable,
    ask: Option<Ask>,
    id: u64,
}

impl Future for Turn<'_> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let calls = Arc::clone(&self.table.calls);
        let mut calls = calls.lock().unwrap();
        if let Some(ask) = self.ask.take() {
            self.id = calls.next;
            calls.next += 1;
            let call = Call {
                invocation: self.table.invocation,
                asked: calls.history.newest(self.table.invocation),
                ask,
                done: 0,
                found: Found::default(),
                unprocessed: Vec::new(),
                updated: Vec::new(),
                waker: context.waker().clone(),
            };
            calls.waiting.insert(self.id, call);
            return Poll::Pending;
        }
        if let Some(answer) = calls.answers.remove(&self.id) {
            return Poll::Ready(answer);
        }
        if let Some(call) = calls.waiting.get_mut(&self.id) {
            call.waker.clone_from(context.waker());
        }
        Poll::Pending
    }
}

impl SimTable {
    async fn ask(&self, ask: Ask) -> Answer {
        Turn { table: self, ask: Some(ask), id: 0 }.await
    }

    async fn ask_held(&self, ask: Ask) -> Result<Reply<bool>, TableError> {
        match self.ask(ask).await {
            Answer::Held(value) => reply(value),
            Answer::Failed(error) => Err(error),
            _ => unreachable!("another answer"),
        }
    }
}

fn reply<T>(value: T) -> Result<Reply<T>, TableError> {
    Ok(Reply { value, read_units: 0.0, write_units: 0.0 })
}

/// Makes the format with feeds one that isn't known.
fn newer_than_known(item: &mut Item) {
    let known = |format: u64| AttributeValue::N(format.to_string());
    if item.get(FORMAT_ATTRIBUTE) == Some(&known(FORMAT_WITH_LEFT)) {
        item.insert(FORMAT_ATTRIBUTE.to_owned(), known(FORMAT_MAX + 1));
    }
}

impl SimTable {
    /// Checks what goes through the wire.
    fn check(&self, check: impl FnOnce(Wire) -> Result<(), TableError>) -> Result<(), TableError> {
        let calls = self.calls.lock().unwrap();
        let Some(wire) = calls.wire else { return Ok(()) };
        let silent = |_| TableError::new(ErrorKind::GiveUp, "an error without a code");
        if calls.is_silent { check(wire).map_err(silent) } else { check(wire) }
    }

    /// Checks the size of an answer, of which these attributes are asked for.
    fn check_answer(&self, items: &[Item], reading: &ReadOptions) -> Result<(), TableError> {
        let Some(wire) = self.calls.lock().unwrap().wire else { return Ok(()) };
        let is_asked = |name: &str| reading.attributes.as_ref().is_none_or(|asked| asked.contains(name));
        let asked = |item: &Item| -> Item {
            let attributes = item.iter().filter(|(name, _)| is_asked(name));
            attributes.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        wire.check_answer(&items.iter().map(asked).collect::<Vec<_>>())
    }
}

impl Table for SimTable {
    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        match self.ask(Ask::Get(keys.to_vec())).await {
            Answer::Found(mut found) => {
                self.check_answer(&found.items, reading)?;
                if self.calls.lock().unwrap().older.contains(&self.invocation) {
                    found.items.iter_mut().for_each(newer_than_known);
                }
                reply(found)
            }
            Answer::Failed(error) => Err(error),
            _ => unreachable!("another answer"),
        }
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        let put = |write: &Write| (write.clone(), write.item(&Schema::default()));
        let writes: Vec<(Write, Option<Item>)> = writes.iter().map(put).collect();
        let items = || writes.iter().map(|(_, item)| item.as_ref());
        let request_bytes_max = self.calls.lock().unwrap().request_bytes_max;
        if writes.len() > 1 && request_bytes_max < usize::MAX {
            Wire { request_bytes_max, ..Wire::DYNAMODB }.check_items(items())?;
        }
        self.check(|wire| wire.check_items(items()))?;
        match self.ask(Ask::Write(writes)).await {
            Answer::Unprocessed(writes) => reply(writes),
            Answer::Failed(error) => Err(error),
            _ => unreachable!("another answer"),
        }
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.check(|wire| wire.check_write(item, condition))?;
        self.ask_held(Ask::Put(item.clone(), condition.clone())).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.check(|wire| wire.check_write(&Item::new(), condition))?;
        self.ask_held(Ask::Delete(key.clone(), condition.clone())).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.check(|wire| wire.check_write(&update.set, condition))?;
        self.ask_held(Ask::Update(key.clone(), update.clone(), condition.clone())).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        self.check(|wire| wire.check_together(actions))?;
        match self.ask(Ask::Together(actions.to_vec())).await {
            Answer::Updated(answers) => reply(answers),
            Answer::Failed(error) => Err(error),
            _ => unreachable!("another answer"),
        }
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.check(|wire| wire.check_actions(actions))?;
        match self.ask(Ask::Transact(actions.to_vec())).await {
            Answer::Transacted(transacted) => reply(transacted),
            Answer::Failed(error) => Err(error),
            _ => unreachable!("another answer"),
        }
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        match self.ask(Ask::Query(query.clone())).await {
            Answer::Page(page) => {
                self.check_answer(&page.items, &query.reading)?;
                reply(page)
            }
            Answer::Failed(error) => Err(error),
            _ => unreachable!("another answer"),
        }
    }
}

impl Scannable for SimTable {
    async fn scan(&self, scan: &Scan) -> Result<Reply<Scanned>, TableError> {
        match self.ask(Ask::Scan(scan.clone())).await {
            Answer::Scanned(scanned) => {
                self.check_answer(&scanned.items, &scan.reading)?;
                reply(scanned)
            }
            Answer::Failed(error) => Err(error),
            _ => unreachable!("another answer"),
        }
    }
}

/// A retry policy that gives up at random.
pub(in crate::sim) struct SimRetryPolicy(pub(in crate::sim) Shared);

impl RetryPolicy for SimRetryPolicy {
    async fn wait(&self, attempt: u32) -> bool {
        let mut calls = self.0.lock().unwrap();
        let patience = calls.patience;
        attempt < calls.waits_max && calls.rng.random_bool(patience)
    }

    /// Where rows are looked at, time for that is over now and then.
    fn has_time_for(&self, kind: WritesKind) -> bool {
        let mut calls = self.0.lock().unwrap();
        !(calls.looks_end && matches!(kind, WritesKind::Meanwhile { .. }) && calls.rng.random_ratio(1, 8))
    }
}

/// The same policy, by the clock of this invocation.
pub(in crate::sim) struct Skewed(pub(in crate::sim) SimRetryPolicy, pub(in crate::sim) u64);

impl RetryPolicy for Skewed {
    async fn wait(&self, attempt: u32) -> bool {
        self.0.wait(attempt).await
    }

    fn has_time_for(&self, kind: WritesKind) -> bool {
        self.0.has_time_for(kind)
    }

    fn now_ms(&self) -> u64 {
        self.0.0.lock().unwrap().now_ms(self.1)
    }
}
