//! Ids, segments and topics in the path of a URL: `ORDER#98765` is written `ORDER~2398765`.
//!
//! Letters, digits, `-`, `_` and `.` stand for themselves; every other byte is written `~XX`. No proxy decodes, cuts or
//! normalises this spelling. API Gateway decodes percent-encoding, and a decoded byte can't be told from a separator,
//! so a path with such a byte is refused: `DELETE /nodes/ORDER#98765` must never reach the node `ORDER`.

mod params;
mod segment;
#[cfg(test)]
mod tests;

pub use params::PathParams;
pub use segment::{SegmentError, decode_segment, encode_segment, percent_decode};

use crate::problem::{Kind, Problem};

/// Returns the path for the router, with each segment as [`encode_segment`] writes it. Bytes escaped with `%XX` or
/// `~XX` stay in their segment, even a slash. `~XX` has one spelling: upper-case digits, for bytes that need it.
///
/// # Errors
/// [`Kind::BadPath`] for a byte that must be written `~XX` or needn't be, a bad escape, `.`, `..`, or an empty segment.
/// The last segment may be empty: such a path has no route.
pub fn normalise(path: &str) -> Result<String, Problem> {
    let Some(segments) = path.strip_prefix('/') else {
        return Err(bad_path("a path begins with `/`"));
    };
    let count = segments.split('/').count();
    let mut normal = String::with_capacity(path.len());
    for (at, segment) in segments.split('/').enumerate() {
        if segment.is_empty() && at + 1 < count {
            return Err(bad_path("a segment of a path can't be empty (`//`)"));
        }
        normal.push('/');
        normal.push_str(&normal_segment(segment)?);
    }
    Ok(normal)
}

/// Decodes a path as API Gateway does before a function sees it.
///
/// # Errors
/// [`Kind::BadPath`] for a `%` that remains, which a function refuses, a `/`, which would separate segments, and what
/// isn't percent-encoded UTF-8.
pub fn as_the_gateway_decodes(path: &str) -> Result<String, Problem> {
    if !path.contains('%') {
        return Ok(path.to_owned());
    }
    let decoded = percent_decode(path).map_err(|error| bad_path(&error.to_string()))?;
    if path.to_ascii_uppercase().contains("%2F") {
        return Err(bad_path("API Gateway makes a separator of `%2F`; write it as ~2F"));
    }
    match String::from_utf8(decoded) {
        Ok(decoded) if decoded.contains('%') => Err(percent_sign()),
        Ok(decoded) => Ok(decoded),
        Err(_) => Err(bad_path(&SegmentError::NotUtf8.to_string())),
    }
}

/// The problem of a path that has a `%` behind API Gateway.
pub fn percent_sign() -> Problem {
    bad_path("API Gateway doesn't pass percent-encoding on; write ~XX, and ~25 for a `%`")
}

fn normal_segment(segment: &str) -> Result<String, Problem> {
    if let Some(other) = segment.chars().find(|c| !(c.is_ascii_alphanumeric() || "-_.~%".contains(*c))) {
        return Err(not_in_a_path(other));
    }
    let escaped = percent_decode(segment).map_err(|error| bad_path(&error.to_string()))?;
    if escaped == b"." || escaped == b".." {
        return Err(bad_path("`.` and `..` aren't resolved; an id of dots is written `~2E` or `~2E~2E`"));
    }
    let text = segment::tilde_decode(&escaped).map_err(|error| bad_path(&error.to_string()))?;
    let normal = encode_segment(&text);
    // A rule of IAM forbids a path in one spelling. In another spelling the caller would get past the rule.
    if segment::encode_but_tildes(&escaped) == normal {
        Ok(normal)
    } else {
        Err(bad_path(&format!("write it as {normal}")))
    }
}

fn not_in_a_path(c: char) -> Problem {
    let spelt = encode_segment(c.encode_utf8(&mut [0; 4]));
    bad_path(&format!("this character must be escaped in a path; write it as {spelt}"))
}

fn bad_path(detail: &str) -> Problem {
    Problem::new(Kind::BadPath, detail)
}
