//! `If-Match` and `If-None-Match` ([RFC 9110, 13.1](https://www.rfc-editor.org/rfc/rfc9110#section-13.1)).

use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, Method};
use sapwood_core::model::ETag;
use sapwood_core::write::{Preconditions, Tags};

use super::etag::{of_record, of_representation};
use super::{bad_header, joined};
use crate::problem::Problem;

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    /// A weak tag matches nothing.
    Strong,
    /// A weak tag matches the strong tag of the same text.
    Weak,
}

/// Reads a request's preconditions. `If-None-Match` of a read is about a representation, the others about the record.
///
/// # Errors
/// [`Kind::BadHeader`](crate::problem::Kind::BadHeader) for a header that is neither `*` nor a list of entity tags.
pub fn preconditions(method: &Method, headers: &HeaderMap) -> Result<Preconditions, Problem> {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let known: fn(&str) -> &str = if is_read { of_representation } else { of_record };
    let read = |name: &HeaderName, comparison, named| {
        let tags = |text: String| tags(&text, comparison, named).map_err(|detail| bad_header(name, detail));
        joined(headers, name)?.map(tags).transpose()
    };
    Ok(Preconditions {
        if_match: read(&IF_MATCH, Comparison::Strong, of_record)?,
        if_none_match: read(&IF_NONE_MATCH, Comparison::Weak, known)?,
    })
}

/// Reads what `If-Match` holds, from elsewhere: an operation of a batch has its own.
///
/// # Errors
/// The form that a text of tags must have.
pub fn if_match(text: &str) -> Result<Tags, &'static str> {
    tags(text, Comparison::Strong, of_record)
}

fn tags(text: &str, comparison: Comparison, named: fn(&str) -> &str) -> Result<Tags, &'static str> {
    // Empty elements of a list say nothing (RFC 9110, 5.6.1). A gateway may leave them out, and the header with them.
    let mut rest = text.trim_matches([' ', '\t', ',']);
    if rest == "*" {
        return Ok(Tags::Any);
    }
    if rest.is_empty() {
        return Err("it is empty; give an entity tag, or leave it out");
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (weak, quoted) = rest.strip_prefix("W/").map_or((false, rest), |quoted| (true, quoted));
        // A backslash isn't an escape in an entity tag.
        let (opaque, after) = quoted
            .strip_prefix('"')
            .and_then(|open| open.split_once('"'))
            .filter(|(opaque, after)| {
                !opaque.contains([' ', '\t']) && (after.is_empty() || after.starts_with([' ', '\t', ',']))
            })
            .ok_or("it must be `*` or entity tags in quotes, with commas between them")?;
        if !weak || comparison == Comparison::Weak {
            found.push(ETag::named(named(opaque)));
        }
        rest = after.trim_start_matches([' ', '\t', ',']);
    }
    Ok(Tags::These(found))
}
