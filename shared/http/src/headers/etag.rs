//! Entity tags as headers spell them.

use axum::http::HeaderValue;
use sapwood_core::model::ETag;

/// An entity tag between quotes: the strong kind.
#[must_use]
pub fn etag_text(etag: &ETag) -> String {
    format!("\"{}\"", etag.opaque())
}

/// The value of the header `ETag`.
#[must_use]
pub fn etag_header(etag: &ETag) -> HeaderValue {
    // The tag of a record is base64, of which a header can hold every character.
    HeaderValue::try_from(etag_text(etag)).unwrap_or(HeaderValue::from_static("\"\""))
}
