//! `Idempotency-Key` ([IETF draft](https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/)).

use axum::http::{HeaderMap, HeaderName};

use super::{bad_header, unquote};
use crate::problem::Problem;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longest key, in characters.
const KEY_CHARS_MAX: usize = 255;

/// The name that a client gave to a request, so that it is done once however often it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdempotencyKey(pub Option<String>);

impl IdempotencyKey {
    /// Of these headers: a string in quotes as the draft has it, or the same without quotes, as most clients write it.
    ///
    /// # Errors
    /// [`Kind::BadHeader`](crate::problem::Kind::BadHeader) for several, for none of 1 to 255 visible ASCII characters.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let bad = |detail: &str| bad_header(&IDEMPOTENCY_KEY, detail);
        let mut values = headers.get_all(&IDEMPOTENCY_KEY).iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        if values.next().is_some() {
            return Err(bad("it is given more than once"));
        }
        let text = value.to_str().map_err(|_| bad("it takes visible ASCII characters"))?.trim();
        let key = match text.starts_with('"') {
            true => unquote(text).ok_or_else(|| bad("its quotes don't match; in quotes, write \\\" and \\\\"))?,
            // API Gateway joins several lines of a header by commas: a comma is read as that, on any server.
            false if text.contains(',') => {
                return Err(bad("it is given more than once; write a key with a comma in quotes"));
            }
            false => text.to_owned(),
        };
        match key.len() {
            1..=KEY_CHARS_MAX if key.bytes().all(|b| b.is_ascii_graphic()) => Ok(Self(Some(key))),
            1..=KEY_CHARS_MAX => Err(bad("it takes visible ASCII characters, without spaces")),
            _ => Err(bad("it takes 1 to 255 characters")),
        }
    }
}
