//! What a write is answered: the same for its first request and for another one with the same `Idempotency-Key`.

use axum::http::header::{ETAG, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sapwood_core::keys::{Id, Version};
use sapwood_core::model::{ETag, Latest, Settings};
use sapwood_core::write::{Appended, Command, Operation, Outcome};
use sapwood_engine::query::Derived;
use sapwood_json::{Numbers, to_vec};

use crate::call::json_response;
use crate::contract::{AppendedBody, BatchBody, BatchResult, NodeBody, OperationBody, OperationMode, RevisionBody};
use crate::headers::{WRITTEN, etag_header, etag_text};
use crate::path::encode_segment;
use crate::problem::Problem;

pub(super) struct Answer {
    status: StatusCode,
    location: Option<String>,
    etag: Option<ETag>,
    body: Option<BatchBody>,
    written: Option<String>,
}

impl Answer {
    pub(super) fn of(command: &Command, outcome: &Outcome, derived: Option<&Derived>, settings: &Settings) -> Self {
        let (status, location, tagged) = match outcome {
            Outcome::Deleted => (StatusCode::NO_CONTENT, None, None),
            Outcome::Deleting { operation, .. } | Outcome::Copying { operation, .. } => {
                (StatusCode::ACCEPTED, Some(operation_url(operation)), None)
            }
            Outcome::Node { node, item, created: true, .. } => {
                (StatusCode::CREATED, Some(node_url(&node.id)), Some(item))
            }
            Outcome::Node { node, item, .. } => {
                // A PUT names the parent each time, so it doesn't tell a move from another change.
                let may_move = command.may_move() && !matches!(command, Command::Replace { .. });
                (StatusCode::OK, may_move.then(|| progress_url(&node.id)), Some(item))
            }
            Outcome::Revision { topic, version, item, created: true } => {
                (StatusCode::CREATED, Some(revision_url(topic, *version)), Some(item))
            }
            Outcome::Revision { item, .. } => (StatusCode::OK, None, Some(item)),
        };
        let etag = tagged.map(|item| ETag::of(item, &settings.schema));
        Self { status, location, etag, body: body(outcome, settings), written: derived.map(Derived::token) }
    }

    /// The same answer where the fan-out takes longer than the client waits.
    pub(super) fn accepted(self) -> Self {
        let is_done = self.status == StatusCode::OK || self.status == StatusCode::CREATED;
        Self { status: if is_done { StatusCode::ACCEPTED } else { self.status }, ..self }
    }

    /// The same answer where the client has waited until the stream has carried the deletion or the copy out.
    pub(super) fn carried_out(self, copy: Option<Operation>) -> Self {
        match self.body {
            Some(BatchBody::Operation(operation)) if operation.mode == OperationMode::Copy => {
                let location = Some(url_of_id(&operation.node));
                // A week later nobody knows how it has ended.
                let body = match copy {
                    Some(copy) => OperationBody::of(operation.id, copy),
                    None => operation,
                };
                Self { status: StatusCode::CREATED, location, body: Some(BatchBody::Operation(body)), ..self }
            }
            Some(BatchBody::Operation(_)) => {
                Self { status: StatusCode::NO_CONTENT, location: None, etag: None, body: None, written: None }
            }
            _ => self,
        }
    }

    /// The same answer without what was written. A deletion or a copy that goes on keeps its operation.
    pub(super) fn minimal(self) -> Self {
        Self { body: self.body.filter(|body| matches!(body, BatchBody::Operation(_))), ..self }
    }

    pub(super) fn unread(self) -> Self {
        Self { body: None, ..self }
    }

    pub(super) fn response(self, numbers: Numbers) -> Result<Response, Problem> {
        let body = self.body.as_ref().map(|body| json_response(body, numbers));
        let mut response = body.unwrap_or_else(|| Ok(().into_response()))?;
        let is_done = self.status == StatusCode::OK || self.status == StatusCode::CREATED;
        *response.status_mut() = if is_done && self.body.is_none() { StatusCode::NO_CONTENT } else { self.status };
        if let Some(place) = self.location {
            let value = HeaderValue::try_from(place).map_err(|_| Problem::internal())?;
            response.headers_mut().insert(LOCATION, value);
        }
        if let Some(etag) = &self.etag {
            response.headers_mut().insert(ETAG, etag_header(etag));
        }
        if let Some(written) = self.written.and_then(|token| HeaderValue::try_from(token).ok()) {
            response.headers_mut().insert(WRITTEN, written);
        }
        Ok(response)
    }

    /// The bytes of what was written, as JSON.
    pub(super) fn body_bytes(&self) -> usize {
        // Numbers as text take more.
        self.body.as_ref().and_then(|body| to_vec(body, Numbers::Strings).ok()).map_or(0, |json| json.len())
    }

    pub(super) fn result(self) -> BatchResult {
        let etag = self.etag.as_ref().map(etag_text);
        let Self { status, body, location, written, .. } = self;
        BatchResult { status: status.as_u16(), body, problem: None, location, etag, written }
    }
}

/// The body of the answer to a write with this outcome; `None` where the node or the revision is deleted.
#[must_use]
pub fn body(outcome: &Outcome, settings: &Settings) -> Option<BatchBody> {
    match outcome {
        Outcome::Deleted => None,
        Outcome::Deleting { operation, node, mode, created_at } => {
            Some(BatchBody::Operation(OperationBody::begun(operation, (*mode).into(), node, None, created_at)))
        }
        Outcome::Copying { operation, node, source, created_at } => {
            let body = OperationBody::begun(operation, OperationMode::Copy, node, Some(source), created_at);
            Some(BatchBody::Operation(body))
        }
        Outcome::Node { node, item, revision, .. } => {
            let written = Derived::of_revision(outcome).map(|derived| derived.token());
            let appended = revision.as_ref().zip(written).map(|(Appended { topic, version, etag }, written)| {
                let (topic, version, etag) = (topic.clone(), version.number(), etag_text(etag));
                Box::new(AppendedBody { topic, version, etag, written })
            });
            Some(BatchBody::Node(NodeBody { revision: appended, ..NodeBody::of(&node.id, item, settings) }))
        }
        Outcome::Revision { topic, version, item, .. } => {
            let body = RevisionBody::of(&topic.node.id, &topic.topic, *version, item, settings);
            Some(BatchBody::Revision(body))
        }
    }
}

pub(super) fn node_url(id: &Id) -> String {
    url_of_id(id.as_str())
}

fn url_of_id(id: &str) -> String {
    format!("/nodes/{}", encode_segment(id))
}

/// Where a client sees how far a move is handed down.
fn progress_url(id: &Id) -> String {
    format!("{}/propagation?below=true", node_url(id))
}

fn topic_url(topic: &Latest) -> String {
    format!("{}/revisions/{}", node_url(&topic.node.id), encode_segment(&topic.topic))
}

fn revision_url(topic: &Latest, version: Version) -> String {
    format!("{}/{}", topic_url(topic), version.number())
}

/// Where a client reads what a command is about.
pub(super) fn url_of(command: &Command) -> String {
    match command {
        Command::Create { node, .. }
        | Command::Replace { node, .. }
        | Command::Patch { node, .. }
        | Command::Trash { node }
        | Command::Restore { node, .. }
        | Command::Copy { node, .. }
        | Command::Delete { node, .. } => node_url(&node.id),
        Command::Append { topic, .. } => topic_url(topic),
        Command::Amend { topic, version, .. } | Command::DeleteRevision { topic, version } => {
            revision_url(topic, *version)
        }
    }
}

/// Names the node, topic or revision of a command.
pub(super) fn called(command: &Command) -> String {
    match command {
        Command::Copy { source: node, .. }
        | Command::Create { node, .. }
        | Command::Replace { node, .. }
        | Command::Patch { node, .. }
        | Command::Trash { node }
        | Command::Restore { node, .. }
        | Command::Delete { node, .. } => format!("node `{}`", node.id),
        Command::Append { topic, .. } => format!("topic `{}` of `{}`", topic.topic, topic.node.id),
        Command::Amend { topic, version, .. } | Command::DeleteRevision { topic, version } => {
            format!("revision {} of `{}` in topic `{}`", version.number(), topic.node.id, topic.topic)
        }
    }
}

pub(super) fn operation_url(operation: &str) -> String {
    format!("/operations/{}", encode_segment(operation))
}

pub(super) fn located(problem: Problem, place: String) -> Problem {
    match HeaderValue::try_from(place) {
        Ok(place) => problem.header(LOCATION, place),
        Err(_) => problem,
    }
}

pub(super) fn failed(problem: &Problem) -> BatchResult {
    let problem = problem.body();
    BatchResult { status: problem.status, problem: Some(problem), ..BatchResult::default() }
}
