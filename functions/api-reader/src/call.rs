//! What the calls of this function have in common.

use axum::http::header::{CACHE_CONTROL, ETAG, VARY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sapwood_core::model::{ETag, Settings};
use sapwood_core::write::{Preconditions, Refusal};
use sapwood_engine::query::Reader;
use sapwood_http::call;
use sapwood_http::headers::{etag_header, tag_of};
use sapwood_http::problem::{Kind, Problem};
use sapwood_store::{Deadline, Table};
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

/// Returns an answer with the entity tag of what was read, which writes are compared with, and with what `shown` makes
/// of it. A client that has this tag already is answered with 304 and no body.
pub(crate) fn tagged<B: Serialize, T>(
    at: &At<'_, T>,
    preconditions: &Preconditions,
    etag: &ETag,
    shown: impl FnOnce() -> B,
) -> Result<Response, Problem> {
    let own = tag_of(etag, at.prefer.numbers);
    demand(preconditions, etag)?;
    let is_known = preconditions.if_none_match.as_ref().is_some_and(|known| known.include(Some(&own)));
    let mut response = match is_known {
        true => (StatusCode::NOT_MODIFIED, [(VARY, HeaderValue::from_static("prefer"))]).into_response(),
        false => at.json(&shown())?,
    };
    response.headers_mut().insert(ETAG, etag_header(&own));
    // Only the client may keep the answer, and it must ask again each time.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(response)
}

/// Checks that what was read is what the client wants, by `If-Match`.
pub(crate) fn demand(preconditions: &Preconditions, etag: &ETag) -> Result<(), Problem> {
    let wanted = Preconditions { if_none_match: None, ..preconditions.clone() };
    let refused = |refusal: Refusal| Problem::new(Kind::PreconditionFailed, refusal.to_string()).at("if-match");
    wanted.check(Some(etag)).map_err(refused)
}
