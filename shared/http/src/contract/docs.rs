//! The reference for people: a page that shows the OpenAPI document beside it, and needs nothing else.

/// Returns the HTML page that shows `openapi.json`, with its script and its style. It is the same text for every deployment.
#[must_use]
pub fn docs_html() -> &'static str {
    include_str!("docs.html")
}
