//! The writes of the HTTP API: runs the plans of `sapwood_core::write`.

pub use sapwood_core::write::{
    ABOVE_ATTRIBUTES, Above, Answered, Appended, Begun, Children, Claim, Command, Content, Idempotency, Imported,
    ImportedRecord, LOOKS_MAX, Limits, NewRevision, NoWayBack, OnConflict, Outcome, Patch, Precondition, Preconditions,
    Prefetched, Refusal, Request, Spot, Stamp, Tags, Tiebreak, Unknown, ValueChange, deletes_revisions,
};

use sapwood_core::model::Settings;
use sapwood_core::plan::{Read, Rules, Task};
use sapwood_core::write::{Context, FirstReads, begin, import_record, write_once};
use sapwood_store::{ANSWER_BYTES_MAX, Client, Items, ReadOptions, RetryPolicy, Table, TableError};
use thiserror::Error;

use crate::run::{run, run_telling, shared};

/// Why a write wasn't done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The write is refused: nothing of it was done, unless this is [`Refusal::OutcomeUnknown`].
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The table failed, and nothing was done.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Writes base records of one table.
#[derive(Debug)]
pub struct Writer<'a, T, P> {
    client: &'a Client<'a, T, P>,
    context: Context<'a>,
}

impl<'a, T: Table, P: RetryPolicy> Writer<'a, T, P> {
    /// A writer on a client.
    pub fn new(client: &'a Client<'a, T, P>, settings: &'a Settings) -> Self {
        Self { client, context: Context { settings, limits: Limits::default(), rules: Rules::default() } }
    }

    /// The same writer with other bounds, or other rules.
    #[must_use]
    pub fn with(self, limits: Limits, rules: Rules) -> Self {
        Self { context: Context { limits, rules, ..self.context }, ..self }
    }

    /// Carries out a command: once, where the request has an idempotency key.
    pub async fn write(&self, command: &Command, request: &Request) -> Result<Outcome, WriteError> {
        self.write_once(command, request, None).await.map(|answered| answered.outcome)
    }

    /// Carries out a command, by prefetched reads if given, and says whether an earlier request has done so.
    pub async fn write_once(
        &self,
        command: &Command,
        request: &Request,
        prefetched: Option<&mut Prefetched>,
    ) -> Result<Answered, WriteError> {
        let mut plan = write_once(self.context, command, request, prefetched);
        match run_telling(self.client, &mut plan).await {
            Ok((done, _)) => Ok(done?),
            Err(_) if plan.is_unanswered() => Err(Refusal::OutcomeUnknown.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads what these commands need at once, up to a limit of bytes. A command reads the rest itself.
    pub async fn read_ahead(&self, commands: &[&Command], prefetched: &mut Prefetched) {
        let wanted = FirstReads::of(self.context, commands);
        let reading = ReadOptions::default();
        let (items, pages) = futures::join!(
            self.client.get_some(wanted.keys.clone(), &reading, ANSWER_BYTES_MAX),
            self.client.all(wanted.queries.iter().map(|query| self.client.query(query)).collect()),
        );
        let Items { items, failed, left } = items;
        let unread = failed.into_keys().chain(left).collect();
        let read = Read { items: shared(items), unread, ..Read::default() };
        let pages = pages.into_iter().map(Result::ok).collect();
        prefetched.learn(commands, wanted, read, pages, &self.context.settings.schema);
    }

    /// Begins a request with an idempotency key, of which each part is done on its own.
    ///
    /// # Errors
    /// [`Refusal::InProgress`], [`Refusal::IdempotencyMismatch`] and [`WriteError::Table`].
    pub async fn begin(&self, key: &Idempotency, stamp: &Stamp) -> Result<Begun, WriteError> {
        Ok(run(self.client, begin(self.context, key, stamp)).await??)
    }

    /// Completes such a request with what is to be kept of it.
    pub async fn complete(&self, claim: &Claim, kept: &[u8]) -> Result<(), TableError> {
        self.carry_out(claim.complete(kept, self.context.settings)).await
    }

    /// Gives a claim back: nothing was done, and the same request may come again.
    pub async fn release(&self, claim: &Claim) -> Result<(), TableError> {
        self.carry_out(claim.release(self.context.settings)).await
    }

    /// Puts a record of an import.
    ///
    /// # Errors
    /// [`TableError`] where the table fails, and no write was left without an answer; of kind
    /// [`ErrorKind::Refuse`](sapwood_store::ErrorKind::Refuse) where it refuses the record.
    pub async fn import(&self, record: ImportedRecord<'_>) -> Result<Imported, TableError> {
        let mut plan = import_record(self.context, record);
        match run_telling(self.client, &mut plan).await {
            Err(_) if plan.is_unanswered() => Ok(Imported::OutOfTime),
            done => done.map(|(done, _)| done),
        }
    }

    async fn carry_out(&self, task: Task) -> Result<(), TableError> {
        self.client.carry_out(&task).await.outcome.map(drop)
    }
}
