//! What the calls that read have in common.

use axum::http::header::{CACHE_CONTROL, ETAG, VARY};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use sapwood_core::model::ETag;
use sapwood_core::write::{Preconditions, Refusal};
use sapwood_engine::query::{Derived, ReadError};
use sapwood_store::Table;
use serde::Serialize;

use crate::call::{self, Call};
use crate::caller::Right;
use crate::cursor::CursorKey;
use crate::feed::KnownFeed;
use crate::headers::{Prefer, etag_header, tag_of};
use crate::problem::{Kind, Problem};

/// Makes a table for each request, and holds what is the same for all requests.
pub type ApiState<T> = call::ApiState<T, ReaderState>;

/// The state that the calls that read share.
pub struct ReaderState {
    /// The key that makes and checks cursors.
    pub cursors: CursorKey,
    /// The name of the table's feeds.
    pub feed: KnownFeed,
}

pub(super) type Shared = call::Shared<ReaderState>;

pub(super) type Asked<'a> = call::Asked<'a, ReaderState>;

pub(super) type At<'a, T> = call::At<'a, T, ReaderState>;

/// A call that is answered once the rows have what its parameter `written` names.
pub(super) struct Showing<C> {
    call: C,
    written: Vec<Derived>,
}

impl<C: Call<ReaderState>> Call<ReaderState> for Showing<C> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let written = asked.written()?;
        if !written.is_empty() {
            // A read that isn't strong could show the rows as they were before.
            asked.is_strong = true;
            asked.prefer.wait = Prefer::read(&asked.parts.headers)?.wait;
        }
        Ok(Self { written, call: C::read(asked)? })
    }

    fn right(method: &Method) -> Option<Right> {
        C::right(method)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        at.demand(&self.written).await?;
        self.call.answer(at).await
    }
}

/// Answers with the record's entity tag and what `shown` makes; a client with that tag gets 304 and no body.
pub(super) fn tagged<B: Serialize, T: Table>(
    at: &At<'_, T>,
    known: bool,
    etag: &ETag,
    shown: impl FnOnce() -> B,
) -> Result<Response, Problem> {
    let own = tag_of(etag, at.prefer.numbers);
    demand(&at.preconditions, etag)?;
    let is_known = at.preconditions.if_none_match.as_ref().is_some_and(|tags| known && tags.include(Some(&own)));
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
pub(super) fn demand(preconditions: &Preconditions, etag: &ETag) -> Result<(), Problem> {
    let wanted = Preconditions { if_none_match: None, ..preconditions.clone() };
    let refused = |refusal: Refusal| Problem::new(Kind::PreconditionFailed, refusal.to_string()).at("if-match");
    wanted.check(Some(etag)).map_err(refused)
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let detail = error.to_string();
        match error {
            ReadError::Table(error) => error.into(),
            // The path names a thing, so a bad segment is a bad key. A parameter is only a question.
            ReadError::Key { parameter: at @ ("path" | "topic"), source } => Self::from(source).at(at),
            ReadError::Key { parameter, .. } | ReadError::Parameter { parameter, .. } => {
                Self::new(Kind::BadParameter, detail).at(parameter)
            }
            ReadError::Reserved { parameter, .. } => Self::new(Kind::ReservedName, detail).at(parameter),
            ReadError::TooLarge { .. } => Self::new(Kind::ItemTooLarge, detail),
            ReadError::NewerAudit { .. } => {
                tracing::error!(detail, "the auditor's state can't be read");
                Self::new(Kind::Unavailable, detail)
            }
            ReadError::Position => Self::new(Kind::BadCursor, detail).at("cursor"),
            ReadError::Absent { .. }
            | ReadError::Unreadable(_)
            | ReadError::SwitchedOff { .. }
            | ReadError::NotBackfilled { .. } => Self::new(Kind::NotFound, detail),
            _ => {
                tracing::error!(detail, "unmapped read error");
                Self::internal()
            }
        }
    }
}
