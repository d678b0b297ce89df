//! The headers that say how a request is to be carried out.

mod content;
mod etag;
mod idempotency;
mod preconditions;
mod prefer;
#[cfg(test)]
mod tests;

use axum::http::{HeaderMap, HeaderName};
pub use content::{demand_json, demand_merge_patch};
pub use etag::{etag_header, etag_text, gzip_tag, tag_of};
pub use idempotency::{KEY_CHARS_MAX, idempotency_key};
pub use preconditions::{if_match, preconditions};
pub use prefer::{Prefer, WAIT_SECONDS_MAX};

use crate::problem::{Kind, Problem};

/// The header of a write's answer that has the token of what the stream derives from the write.
pub const WRITTEN: HeaderName = HeaderName::from_static("sapwood-consistency-token");

fn bad_header(name: &HeaderName, detail: &str) -> Problem {
    Problem::new(Kind::BadHeader, detail).at(name.as_str())
}

/// Joins the values of a header to one list, as HTTP defines it; `None` if the header is absent.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    let values: Result<Vec<&str>, _> = headers.get_all(name).iter().map(|value| value.to_str()).collect();
    let values = values.map_err(|_| bad_header(name, "it holds characters other than visible ASCII"))?;
    Ok((!values.is_empty()).then(|| values.join(", ")))
}

/// Splits a text at a separator that isn't within quotes.
fn split_quoted(text: &str, separator: char) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = text.split(move |c: char| {
        let cut = c == separator && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        cut
    });
    parts.map(str::trim).collect()
}

/// Returns the text between quotes with its escapes resolved; `None` if the text isn't a well-formed quoted string.
fn unquote(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('"')?.strip_suffix('"').filter(|_| text.len() > 1)?.chars();
    let mut found = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => return None,
            '\\' => found.push(rest.next().filter(|c| matches!(c, '"' | '\\'))?),
            c => found.push(c),
        }
    }
    Some(found)
}
