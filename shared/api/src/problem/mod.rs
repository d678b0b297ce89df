//! The answer to a request that can't be carried out: `application/problem+json` ([RFC 9457]).
//!
//! [RFC 9457]: https://www.rfc-editor.org/rfc/rfc9457

mod kind;
mod sources;
#[cfg(test)]
mod tests;

use std::fmt;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
pub use kind::Kind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of problems.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request isn't carried out. The text says what to do, and contains nothing that the caller may not see.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Problem {
    kind: Kind,
    detail: String,
    field: Option<String>,
    node: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// Makes a problem. `detail` says what to do about it.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), field: None, node: None, headers: Vec::new() }
    }

    /// The rows don't have the writes yet whose tokens the request names.
    pub fn not_yet_written() -> Self {
        let detail = "the rows don't have what `written` names yet; ask again, or wait longer with `Prefer: wait=10`";
        Self::new(Kind::NotUpToDate, detail).at("written")
    }

    /// Names the field, parameter or header at fault.
    pub fn at(self, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..self }
    }

    /// Names the node that is in the way.
    pub fn because_of(self, node: impl Into<String>) -> Self {
        Self { node: Some(node.into()), ..self }
    }

    /// Adds a header to the answer.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The kind of the problem.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Says what to do about the problem.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The field, parameter or header that caused the problem.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// Returns the body of the answer. In the answer to a batch it is a part of one result.
    #[must_use]
    pub fn body(&self) -> ProblemBody {
        ProblemBody {
            kind: self.kind.uri(),
            title: self.kind.title().to_owned(),
            status: self.kind.status().as_u16(),
            detail: self.detail.clone(),
            field: self.field.clone(),
            node: self.node.clone(),
        }
    }
}

/// Why a request wasn't carried out (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// The problem's type, as a URI that never changes.
    #[serde(rename = "type")]
    #[schema(format = "uri-reference", examples("urn:sapwood:problem:cycle"))]
    pub kind: String,
    /// The title of all problems of this type.
    #[schema(examples("A node can't be its own ancestor"))]
    pub title: String,
    /// The status code of the answer.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What the client can do about the problem.
    pub detail: String,
    /// The field, parameter or header that caused the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("attributes.dimensions.width"))]
    pub field: Option<String>,
    /// The id of the node that has the name already (`name-taken`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("FILE#17"))]
    pub node: Option<String>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // The body is made of text and a number, so it can't fail. Even without a body a client would read the status.
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        let mut response = (self.kind.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        let is_told = self.headers.iter().any(|(name, _)| name == RETRY_AFTER);
        if let Some(seconds) = self.kind.retry_after().filter(|_| !is_told) {
            headers.insert(RETRY_AFTER, HeaderValue::from(u16::from(seconds)));
        }
        headers.extend(self.headers);
        response
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.title(), self.detail)
    }
}

impl std::error::Error for Problem {}
