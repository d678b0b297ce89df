//! The reference for people: a page that shows the OpenAPI document beside it, and needs nothing else.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Returns the HTML page that shows `openapi.json`, with its script and its style. It is the same text for every
/// deployment.
#[must_use]
pub fn docs_html() -> &'static str {
    include_str!("docs.html")
}

/// Returns the page's content security policy ([CSP Level 3](https://www.w3.org/TR/CSP3/)): its own script and style
/// run and no others, the script reads the document beside it, and no other site shows the page in a frame.
pub fn docs_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let hash = |element: &str| {
            let (open, close) = (format!("<{element}>"), format!("</{element}>"));
            let content = docs_html().split_once(&open).and_then(|(_, rest)| rest.split_once(&close));
            STANDARD.encode(Sha256::digest(content.map_or("", |(content, _)| content)))
        };
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'",
            hash("script"),
            hash("style"),
        )
    });
    &POLICY
}
