//! `Content-Type`: the media types of bodies that are read.

use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{split_quoted, unquote};
use crate::problem::{Kind, Problem};

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// Checks that the body is `application/json`. A patch, read as the whole of a node, would delete what it doesn't name.
///
/// # Errors
/// [`Kind::UnsupportedMediaType`].
pub fn demand_json(headers: &HeaderMap) -> Result<(), Problem> {
    demand(headers, JSON).map_err(|()| {
        let detail = "send JSON in UTF-8, with `Content-Type: application/json`, and not compressed";
        unsupported(detail).header(ACCEPT, HeaderValue::from_static(JSON))
    })
}

/// Checks that the body is a merge patch. Another kind of patch, read as a merge patch, would change something else.
///
/// # Errors
/// [`Kind::UnsupportedMediaType`].
pub fn demand_merge_patch(headers: &HeaderMap) -> Result<(), Problem> {
    demand(headers, MERGE_PATCH).map_err(|()| {
        let detail =
            "send a JSON merge patch in UTF-8, with `Content-Type: application/merge-patch+json`, and not compressed";
        unsupported(detail).header(ACCEPT_PATCH, HeaderValue::from_static(MERGE_PATCH))
    })
}

fn unsupported(detail: &str) -> Problem {
    Problem::new(Kind::UnsupportedMediaType, detail).at(CONTENT_TYPE.as_str())
}

fn demand(headers: &HeaderMap, wanted: &str) -> Result<(), ()> {
    let one = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        let value = values.next().map(|value| value.to_str().unwrap_or("?").to_ascii_lowercase());
        (value, values.next().is_some())
    };
    let (Some(value), false) = one(CONTENT_TYPE) else { return Err(()) };
    let mut parts = split_quoted(&value, ';').into_iter();
    let media = parts.next().unwrap_or_default();
    let is_utf8 = |parameter: &str| match parameter.split_once('=') {
        Some(("charset", charset)) => unquote(charset).as_deref().unwrap_or(charset) == "utf-8",
        _ => true,
    };
    let plain =
        matches!(one(CONTENT_ENCODING), (None, _)) || one(CONTENT_ENCODING) == (Some("identity".to_owned()), false);
    (media == wanted && parts.all(is_utf8) && plain).then_some(()).ok_or(())
}
