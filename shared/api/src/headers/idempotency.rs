//! `Idempotency-Key` ([IETF draft](https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/)).

use axum::http::{HeaderMap, HeaderName};

use super::{bad_header, unquote};
use crate::problem::Problem;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest key, in characters.
pub const KEY_CHARS_MAX: usize = 255;

/// Reads the key that a client gives to a request, so that the request is carried out once however often it is sent: a
/// string in quotes, or without them as most clients write it.
///
/// # Errors
/// [`Kind::BadHeader`](crate::problem::Kind::BadHeader) if there are several keys, or a key isn't 1 to 255 visible
/// ASCII characters.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let bad = |detail: &str| bad_header(&IDEMPOTENCY_KEY, detail);
    let mut values = headers.get_all(&IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(bad("it is given more than once"));
    }
    let text = value.to_str().map_err(|_| bad("it takes visible ASCII characters"))?.trim();
    let key = match text.starts_with('"') {
        true => unquote(text).ok_or_else(|| bad("its quotes don't match; in quotes, write \\\" and \\\\"))?,
        // API Gateway joins repeated headers with commas, so an unquoted comma means that.
        false if text.contains(',') => {
            return Err(bad("it is given more than once; write a key with a comma in quotes"));
        }
        false => text.to_owned(),
    };
    match key.len() {
        1..=KEY_CHARS_MAX if key.bytes().all(|b| b.is_ascii_graphic()) => Ok(Some(key)),
        1..=KEY_CHARS_MAX => Err(bad("it takes visible ASCII characters, without spaces")),
        _ => Err(bad("it takes 1 to 255 characters")),
    }
}
