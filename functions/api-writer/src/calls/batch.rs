//! Batches: writes in order, each on its own.

use axum::response::Response;
use sapwood_core::keys::{Id, NodeRef, Schema};
use sapwood_core::model::Latest;
use sapwood_engine::write::StoredAnswer;
use sapwood_http::contract::{self, BatchOperation, BatchResult, BatchResults, ReplaceNode};
use sapwood_http::headers::Preconditions;
use sapwood_http::json::JsonError;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::Table;

use super::mutable_revisions;
use crate::answer::{failed, json};
use crate::call::{Asked, At, Call};
use crate::once::{Once, begin, carry_out, keep, part, release};
use crate::problem::unfit;
use crate::write::{Derived, Write, content, patch};

/// `POST /batch`
pub(crate) struct Batch(Vec<Result<Write, Problem>>);

impl Call for Batch {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let body: contract::Batch = asked.body()?;
        Ok(Self(body.operations.into_iter().map(|operation| write(operation, asked)).collect()))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        if at.preconditions != Preconditions::default() {
            let detail =
                "a batch has no state of its own that could be compared; leave `If-Match` and `If-None-Match` out";
            return Err(Problem::new(Kind::PreconditionFailed, detail));
        }
        let writer = at.writer();
        let Some(key) = &at.key else {
            return self.results(at).await.and_then(|(results, held)| held.answer(at, &results));
        };
        let claim = match begin(&writer, key, &at.stamp()).await? {
            Once::Said(StoredAnswer(body)) => return Held(true).stored(at, body),
            Once::Do(claim) => claim,
        };
        let (results, held) = self.results(at).await?;
        if !is_final(&results) {
            // The same request may come again: what is done is known by the keys of the parts.
            release(&writer, &claim).await;
            return held.answer(at, &results);
        }
        let body = serde_json::to_vec(&results).map_err(|_| Problem::internal())?;
        keep(&writer, &claim, &StoredAnswer(body)).await?;
        held.answer(at, &results)
    }
}

/// Whether everything was derived in the time that the client waits.
struct Held(bool);

impl Held {
    fn answer<T: Table>(&self, at: &At<'_, T>, results: &BatchResults) -> Result<Response, Problem> {
        json(results).map(|response| self.marked(at, response))
    }

    fn stored<T: Table>(&self, at: &At<'_, T>, body: Vec<u8>) -> Result<Response, Problem> {
        let raw: Box<serde_json::value::RawValue> = serde_json::from_slice(&body).map_err(|_| Problem::internal())?;
        json(&raw).map(|response| self.marked(at, response))
    }

    fn marked<T: Table>(&self, at: &At<'_, T>, mut response: Response) -> Response {
        if !self.0 {
            *response.status_mut() = axum::http::StatusCode::ACCEPTED;
        }
        at.waited(response)
    }
}

impl Batch {
    async fn results<T: Table>(self, at: &At<'_, T>) -> Result<(BatchResults, Held), Problem> {
        let writer = at.writer();
        let none = Preconditions::default();
        let mut results: Vec<BatchResult> = Vec::with_capacity(self.0.len());
        let mut derived: Vec<Derived> = Vec::new();
        for (position, write) in self.0.into_iter().enumerate() {
            let key = at.key.as_ref().map(|key| part(key, position));
            let answered = match &write {
                Ok(write) => carry_out(&writer, write, &at.stamp(), &none, at.shared, key.as_ref()).await,
                Err(problem) => Err(problem.clone()),
            };
            results.push(match answered {
                Ok(answer) => {
                    derived.extend(write.ok().and_then(|write| write.derived(&answer)));
                    answer.result()
                }
                Err(problem) => failed(&problem),
            });
        }
        let held = Held(at.wait(&derived).await);
        Ok((BatchResults { results }, held))
    }
}

/// Whether each operation would come out the same the next time.
fn is_final(results: &BatchResults) -> bool {
    let passing = [Kind::InProgress, Kind::Contended, Kind::Unavailable, Kind::Internal].map(Kind::uri);
    let mut problems = results.results.iter().filter_map(|result| result.problem.as_ref());
    !problems.any(|problem| passing.contains(&problem.kind))
}

/// One operation as a write.
fn write(operation: Result<BatchOperation, JsonError>, asked: &Asked<'_>) -> Result<Write, Problem> {
    let schema = &asked.shared.settings.schema;
    let node = |id: Id| NodeRef { tenant: asked.caller.tenant.clone(), id };
    match operation.map_err(unfit)? {
        BatchOperation::Put(put) => {
            let ReplaceNode { parent, segment, attributes } = put.node;
            attributes.check_node(schema).map_err(unfit)?;
            let content = content(parent, segment, attributes);
            match put.id {
                Some(id) => Ok(Write::Replace { node: node(id), content }),
                None => {
                    let made = node(Id::new(asked.shared.source.name())?);
                    Ok(Write::Create { node: made, is_made_id: true, content })
                }
            }
        }
        BatchOperation::Patch(of) => {
            of.patch.attributes.check(schema).map_err(unfit)?;
            Ok(Write::Patch { node: node(of.id), patch: patch(of.patch) })
        }
        BatchOperation::Delete(delete) => {
            if delete.revisions == contract::Revisions::Delete {
                mutable_revisions(asked.shared).map_err(|problem| problem.at("revisions"))?;
            }
            let operation = asked.shared.source.name();
            let (children, revisions) = (delete.children, delete.revisions);
            Ok(Write::Delete { node: node(delete.id), children, revisions, operation })
        }
        BatchOperation::Revision(revision) => appended(node(revision.id), revision.topic, revision.attributes, schema),
    }
}

fn appended(
    node: NodeRef,
    topic: String,
    attributes: sapwood_http::json::Attributes,
    schema: &Schema,
) -> Result<Write, Problem> {
    attributes.check_revision(schema).map_err(unfit)?;
    contract::check_topic(&topic, schema).map_err(|error| Problem::from(error).at("topic"))?;
    Ok(Write::Append { topic: Latest { node, topic }, attributes: attributes.0 })
}
