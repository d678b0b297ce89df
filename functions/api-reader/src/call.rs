//! What the calls of this function have in common.

use axum::http::header::{CACHE_CONTROL, ETAG};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sapwood_core::model::{ETag, Settings};
use sapwood_core::write::{Precondition, Preconditions, Refusal};
use sapwood_engine::query::Reader;
use sapwood_http::call::{self, json_response};
use sapwood_http::headers::etag_header;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::{Deadline, Table};
use serde::Serialize;

use crate::state::Shared;

/// What a request contains.
pub(crate) type Asked<'a> = call::Asked<'a, Shared>;

/// What a call needs to answer a request.
pub(crate) type At<'a, T> = call::At<'a, T, Shared>;

impl call::Shared for Shared {
    fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// Makes the reader of one call.
pub(crate) fn reader<'a, T: Table>(at: &At<'a, T>) -> Reader<'a, T, Deadline> {
    Reader::new(at.client, &at.shared.settings)
}

/// Returns an answer with the entity tag of what was read, which writes are compared with, and with what `shown` makes of it. A
/// client that has this tag already is answered with 304 and no body.
pub(crate) fn tagged<B: Serialize>(
    preconditions: &Preconditions,
    etag: &ETag,
    shown: impl FnOnce() -> B,
) -> Result<Response, Problem> {
    let mut response = match preconditions.check(Some(etag)) {
        Ok(()) => json_response(&shown())?,
        Err(Refusal::PreconditionFailed(Precondition::IfNoneMatch)) => StatusCode::NOT_MODIFIED.into_response(),
        Err(refusal) => return Err(Problem::new(Kind::PreconditionFailed, refusal.to_string()).at("if-match")),
    };
    response.headers_mut().insert(ETAG, etag_header(etag));
    // Only the client may keep the answer, and it must ask again each time.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(response)
}
