//! The reference as a page: it reads the OpenAPI document beside it, and needs nothing else.

/// The HTML page that shows `openapi.json`, with its script and its style. The same text for every deployment.
#[must_use]
pub fn docs_html() -> &'static str {
    include_str!("docs.html")
}
