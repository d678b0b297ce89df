//! Entity tags in headers.

use axum::http::HeaderValue;
use sapwood_core::model::ETag;

/// Returns a strong entity tag: the tag between quotes.
#[must_use]
pub fn etag_text(etag: &ETag) -> String {
    format!("\"{}\"", etag.opaque())
}

/// Returns the value of the header `ETag`.
#[must_use]
pub fn etag_header(etag: &ETag) -> HeaderValue {
    // The tag of a record is base64, and a header can hold each of its characters.
    HeaderValue::try_from(etag_text(etag)).unwrap_or(HeaderValue::from_static("\"\""))
}
