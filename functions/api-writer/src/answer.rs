//! What a write is answered, and how that is kept for the next request with the same `Idempotency-Key`.

use axum::http::header::{CONTENT_TYPE, ETAG, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sapwood_engine::write::StoredAnswer;
use sapwood_http::contract::{BatchBody, BatchResult, NodeBody, OperationBody, RevisionBody};
use sapwood_http::problem::Problem;
use serde::{Deserialize, Serialize};

/// What a write is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) body: Option<Body>,
}

/// The body of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Body {
    Node(NodeBody),
    Revision(RevisionBody),
    Operation(OperationBody),
}

impl Answer {
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status: status.as_u16(), location: None, etag: None, body: None }
    }

    /// As it is kept.
    pub(crate) fn stored(&self) -> Result<StoredAnswer, Problem> {
        serde_json::to_vec(self).map(StoredAnswer).map_err(unwritable)
    }

    /// As it was kept.
    pub(crate) fn of(stored: &StoredAnswer) -> Result<Self, Problem> {
        serde_json::from_slice(&stored.0).map_err(unwritable)
    }

    /// The same where the fan-out takes longer than the client waits.
    pub(crate) fn accepted(mut self) -> Self {
        if self.status == StatusCode::OK || self.status == StatusCode::CREATED {
            self.status = StatusCode::ACCEPTED.as_u16();
        }
        self
    }

    pub(crate) fn response(self) -> Result<Response, Problem> {
        let mut response = match &self.body {
            None => ().into_response(),
            Some(Body::Node(body)) => json(body)?,
            Some(Body::Revision(body)) => json(body)?,
            Some(Body::Operation(body)) => json(body)?,
        };
        *response.status_mut() = StatusCode::from_u16(self.status).map_err(|_| Problem::internal())?;
        for (name, value) in [(LOCATION, self.location), (ETAG, self.etag)] {
            if let Some(value) = value {
                response.headers_mut().insert(name, HeaderValue::try_from(value).map_err(|_| Problem::internal())?);
            }
        }
        Ok(response)
    }

    /// As one result of a batch.
    pub(crate) fn result(self) -> BatchResult {
        let body = self.body.map(|body| match body {
            Body::Node(body) => BatchBody::Node(body),
            Body::Revision(body) => BatchBody::Revision(body),
            Body::Operation(body) => BatchBody::Operation(body),
        });
        BatchResult { status: self.status, body, problem: None, location: self.location, etag: self.etag }
    }
}

/// A problem as one result of a batch.
pub(crate) fn failed(problem: &Problem) -> BatchResult {
    let problem = problem.body();
    BatchResult { status: problem.status, body: None, problem: Some(problem), location: None, etag: None }
}

/// An answer in JSON.
pub(crate) fn json(body: &impl Serialize) -> Result<Response, Problem> {
    let written = serde_json::to_vec(body).map_err(unwritable)?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], written).into_response())
}

fn unwritable(error: serde_json::Error) -> Problem {
    tracing::error!(category = ?error.classify(), "an answer can't be written, or one that was kept can't be read");
    Problem::internal()
}
