//! Entity tags in headers.

use axum::http::HeaderValue;
use sapwood_core::model::ETag;
use sapwood_json::Numbers;

/// The endings of the tags of other representations, since a strong tag names the bytes ([RFC 9110, 8.8.3]).
///
/// [RFC 9110, 8.8.3]: https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3
const GZIP: &str = ";gzip";
const STRINGS: &str = ";strings";

/// Returns the tag of the compressed form of what has this tag.
#[must_use]
pub fn gzip_tag(tag: &HeaderValue) -> Option<HeaderValue> {
    let opaque = tag.to_str().ok()?.strip_suffix('"')?;
    HeaderValue::try_from(format!("{opaque}{GZIP}\"")).ok()
}

/// Returns the tag of a record's representation with its numbers written like this.
#[must_use]
pub fn tag_of(etag: &ETag, numbers: Numbers) -> ETag {
    match numbers {
        Numbers::Plain => etag.clone(),
        Numbers::Strings => ETag::named(format!("{}{STRINGS}", etag.opaque())),
    }
}

/// Returns a representation's tag without the suffix of its encoding. A client may have either.
pub(super) fn of_representation(opaque: &str) -> &str {
    opaque.strip_suffix(GZIP).unwrap_or(opaque)
}

/// Returns the tag of a record, whatever representation its tag was sent for.
pub(super) fn of_record(opaque: &str) -> &str {
    let representation = of_representation(opaque);
    representation.strip_suffix(STRINGS).unwrap_or(representation)
}

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
