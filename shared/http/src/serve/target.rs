//! The target of a request, as the router sees it.

use axum::http::Uri;

use sapwood_api::path::{as_the_gateway_decodes, normalise};
use sapwood_api::problem::{Kind, Problem};

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

/// Returns the target of a request on a local port. It is refused where API Gateway would hand the function another
/// path than the client has written: what works here works in a deployment.
///
/// # Errors
/// Those of [`target`]; [`Kind::BadPath`] for percent-encoding that a deployment refuses.
pub(super) fn local_target(path: &str, query: Option<&str>) -> Result<Uri, Problem> {
    target(&as_the_gateway_decodes(path)?, query)
}
