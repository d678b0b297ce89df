//! Batches: writes in order, each on its own.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use sapwood_core::keys::{Id, NodeRef};
use sapwood_core::write::{Answered, Begun, Claim, Command, Content, Idempotency, Preconditions, Prefetched, Tiebreak};
use sapwood_engine::query::Derived;
use sapwood_json::JsonError;
use sapwood_store::{ErrorKind, Table};

use super::answer::{Answer, failed};
use super::call::{Asked, At, WriterState, replayed};
use super::nodes::{content, delete, patch, restore, trash};
use super::revisions::{attributes, checked};
use super::stored_batch::StoredBatch;
use crate::call::{Call, Prefix, json_response};
use crate::caller::Right;
use crate::contract::{self, BatchBody, BatchOperation, BatchResult, BatchResults, CreateRevision};
use crate::idempotency::part;
use crate::problem::{Kind, Problem};

/// Most bytes of what was written, as JSON, in the results of a batch. Lambda's answers have 6 MB, of which escaping
/// can take half, and a transaction that keeps results has 4 MB.
pub const BODIES_BYTES_MAX: usize = 2_500_000;

/// The operations that a batch reads ahead for. Unguarded facts, as that a parent is there, are as old as that.
const OPERATIONS_AHEAD: usize = 25;

/// `POST /batch`
pub(super) struct Batch {
    operations: Vec<Result<Conditioned, Problem>>,
    prefix: Prefix,
}

struct Conditioned {
    command: Command,
    preconditions: Preconditions,
}

impl Call<WriterState> for Batch {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let body: contract::Batch = asked.body()?;
        let operations = body.operations.into_iter().map(|operation| conditioned(operation, asked)).collect();
        Ok(Self { operations, prefix: asked.prefix.clone() })
    }

    /// Each operation needs the right of its own call.
    fn right(_: &Method) -> Option<Right> {
        None
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        if at.preconditions.are_given() {
            let detail = "a batch has no state of its own that could be compared; give its operations an `if_match`, and leave the headers out";
            return Err(Problem::new(Kind::PreconditionFailed, detail));
        }
        match &at.key {
            // A caller who may not do all of it neither keeps results nor gets kept ones: another token may.
            Some(key) if !self.is_forbidden() => self.answer_once(at, key).await,
            _ => {
                let prefix = self.prefix.clone();
                self.results(at).await.response(&prefix, at).await
            }
        }
    }
}

struct Results {
    results: Vec<BatchResult>,
    derived: Vec<Derived>,
}

impl Results {
    async fn response<T: Table>(self, prefix: &Prefix, at: &At<'_, T>) -> Result<Response, Problem> {
        let is_derived = at.wait(&self.derived).await;
        let minimal = at.leaves_out(is_derived);
        let may_read = at.caller.may(Right::Read);
        let is_carried_out = is_derived && at.waits();
        let shown = |result: BatchResult| match &result.body {
            Some(BatchBody::Operation(_)) if is_carried_out => {
                BatchResult { status: StatusCode::NO_CONTENT.as_u16(), ..BatchResult::default() }
            }
            _ => BatchResult {
                location: result.location.map(|location| format!("{}{location}", prefix.0)),
                body: result.body.filter(|body| !minimal || (may_read && matches!(body, BatchBody::Operation(_)))),
                ..result
            },
        };
        let results = BatchResults { results: self.results.into_iter().map(shown).collect() };
        let mut response = json_response(&results, at.prefer.numbers)?;
        if !is_derived {
            *response.status_mut() = StatusCode::ACCEPTED;
        }
        Ok(at.applied(response, minimal))
    }

    /// True if each operation would come out the same the next time, whoever asks.
    fn are_final(&self) -> bool {
        let is_passing =
            |kind: &Kind| kind.retry_after().is_some() || matches!(kind, Kind::Forbidden | Kind::OutcomeUnknown);
        let passing: Vec<String> = Kind::ALL.iter().filter(|kind| is_passing(kind)).map(|kind| kind.uri()).collect();
        let mut problems = self.results.iter().filter_map(|result| result.problem.as_ref());
        !problems.any(|problem| passing.contains(&problem.kind))
    }
}

impl Batch {
    async fn answer_once<T: Table>(self, at: &At<'_, T>, key: &Idempotency) -> Result<Response, Problem> {
        let writer = at.writer();
        let claim = match writer.begin(key, &at.stamp()).await? {
            Begun::Claimed(claim) => claim,
            Begun::Kept(kept) => {
                let kept: StoredBatch = serde_json::from_slice(&kept).map_err(|_| Problem::internal())?;
                let (results, derived) = kept.into_parts();
                return Ok(replayed(true, Results { results, derived }.response(&self.prefix, at).await?));
            }
        };
        let prefix = self.prefix.clone();
        let results = self.results(at).await;
        if results.are_final() {
            let kept = StoredBatch::new(&results.results, &results.derived);
            let kept = serde_json::to_vec(&kept).map_err(|_| Problem::internal())?;
            // All of it is done. Where the claim can't be completed, it ends with its lease, and the parts' keys tell.
            if let Err(error) = writer.complete(&claim, &kept).await {
                tracing::warn!(%error, "the lease of a batch can't be completed");
            }
        } else {
            // The same request may come again: what is done is known by the keys of the parts.
            release(at, &claim).await;
        }
        results.response(&prefix, at).await
    }

    async fn results<T: Table>(self, at: &At<'_, T>) -> Results {
        let mut results: Vec<BatchResult> = Vec::with_capacity(self.operations.len());
        let mut derived: Vec<Derived> = Vec::new();
        let mut bytes_left = BODIES_BYTES_MAX;
        let (mut prefetched, tiebreak) = (Prefetched::default(), at.shared.own.source.tiebreak());
        let mut operations = self.operations.into_iter();
        while operations.len() > 0 {
            let some: Vec<_> = operations.by_ref().take(OPERATIONS_AHEAD).collect();
            let commands: Vec<&Command> = some.iter().flatten().map(|operation| &operation.command).collect();
            at.writer().read_ahead(&commands, &mut prefetched).await;
            for operation in some {
                let key = at.key.as_ref().map(|key| part(key, results.len()));
                let tiebreak = Tiebreak { part: u16::try_from(results.len()).unwrap_or(u16::MAX), ..tiebreak };
                let written = match operation {
                    Ok(Conditioned { command, preconditions }) => at
                        .write(&command, preconditions, key, Some((&mut prefetched, tiebreak)))
                        .await
                        .map(|Answered { outcome, .. }| {
                            let of = Derived::of(&command, &outcome, at.prefer.below);
                            let answer = Answer::of(&command, &outcome, of.as_ref(), &at.shared.settings);
                            derived.extend(of);
                            derived.extend(Derived::of_revision(&outcome));
                            within(&mut bytes_left, answer)
                        }),
                    Err(problem) => Err(problem),
                };
                results.push(written.unwrap_or_else(|problem| failed(&problem)));
            }
        }
        Results { results, derived }
    }

    fn is_forbidden(&self) -> bool {
        self.operations
            .iter()
            .any(|operation| operation.as_ref().is_err_and(|problem| problem.kind() == Kind::Forbidden))
    }
}

/// Makes an operation's result, without the body if that has more bytes than are left for all bodies.
fn within(bytes_left: &mut usize, answer: Answer) -> BatchResult {
    match answer.body_bytes() {
        bytes if bytes <= *bytes_left => {
            *bytes_left -= bytes;
            answer.result()
        }
        _ => answer.minimal().result(),
    }
}

/// Gives a claim back. Where this fails the claim runs out by itself.
async fn release<T: Table>(at: &At<'_, T>, claim: &Claim) {
    if let Err(error) = at.writer().release(claim).await
        && error.kind == ErrorKind::GiveUp
    {
        tracing::warn!(%error, "the lease of a batch can't be given back");
    }
}

fn conditioned(operation: Result<BatchOperation, JsonError>, asked: &Asked<'_>) -> Result<Conditioned, Problem> {
    let operation = operation?;
    let deletes = matches!(operation, BatchOperation::Delete(_) | BatchOperation::Trash(_));
    let right = if deletes { Right::Delete } else { Right::Write };
    asked.caller.demand(right)?;
    let node = |id: Id| NodeRef { tenant: asked.caller.tenant.clone(), id };
    let (command, if_match) = match operation {
        BatchOperation::Put(put) => {
            let content: Content = content(put.node, asked)?;
            let command = match put.id {
                Some(id) => Command::Replace { node: node(id), content },
                None => {
                    Command::Create { node: node(Id::new(asked.shared.own.source.name())?), is_made_id: true, content }
                }
            };
            (command, put.if_match)
        }
        BatchOperation::Patch(of) => {
            (Command::Patch { node: node(of.id), patch: patch(of.patch, asked)? }, of.if_match)
        }
        BatchOperation::Delete(of) => (delete(node(of.id), of.children, of.revisions, asked)?, of.if_match),
        BatchOperation::Trash(of) => (trash(node(of.id), asked)?, of.if_match),
        BatchOperation::Restore(of) => (restore(node(of.id), of.restore), of.if_match),
        BatchOperation::Revision(revision) => {
            let attributes = attributes(CreateRevision { attributes: revision.attributes }, asked)?;
            let topic = checked(node(revision.id), revision.topic, asked)?;
            (Command::Append { topic, attributes }, revision.if_match)
        }
    };
    Ok(Conditioned { command, preconditions: Preconditions { if_match, if_none_match: None } })
}
