//! The target of a request, as the router sees it.

use axum::http::Uri;

use crate::path::normalise;
use crate::problem::{Kind, Problem};

/// Returns the normalised path with the query string as it arrived.
///
/// # Errors
/// The errors of [`normalise`]; [`Kind::BadParameter`] if the query string isn't percent-encoded.
pub(super) fn target(path: &str, query: Option<&str>) -> Result<Uri, Problem> {
    let path = normalise(path)?;
    let refused = || Problem::new(Kind::BadParameter, "the query string has characters that must be percent-encoded");
    let target = match query.filter(|query| !query.is_empty()) {
        Some(query) if !query.bytes().all(|b| b.is_ascii_graphic() && b != b'#') => return Err(refused()),
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    target.parse().map_err(|_| refused())
}
