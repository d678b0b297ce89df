//! The files of the page, which are in the binary as they are in the repository.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse;
use sapwood_api::problem::{Kind, Problem};

struct Asset {
    name: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

const ASSETS: [Asset; 13] = [
    Asset { name: "index.html", media_type: "text/html; charset=utf-8", bytes: include_bytes!("page/index.html") },
    Asset { name: "style.css", media_type: STYLE, bytes: include_bytes!("page/style.css") },
    Asset { name: "app.js", media_type: SCRIPT, bytes: include_bytes!("page/app.js") },
    Asset { name: "tree.js", media_type: SCRIPT, bytes: include_bytes!("page/tree.js") },
    Asset { name: "find.js", media_type: SCRIPT, bytes: include_bytes!("page/find.js") },
    Asset { name: "base.js", media_type: SCRIPT, bytes: include_bytes!("page/base.js") },
    Asset { name: "node.js", media_type: SCRIPT, bytes: include_bytes!("page/node.js") },
    Asset { name: "change.js", media_type: SCRIPT, bytes: include_bytes!("page/change.js") },
    Asset { name: "live.js", media_type: SCRIPT, bytes: include_bytes!("page/live.js") },
    Asset { name: "trust.js", media_type: SCRIPT, bytes: include_bytes!("page/trust.js") },
    Asset { name: "watch.js", media_type: SCRIPT, bytes: include_bytes!("page/watch.js") },
    Asset { name: "ask.js", media_type: SCRIPT, bytes: include_bytes!("page/ask.js") },
    Asset { name: "code.js", media_type: SCRIPT, bytes: include_bytes!("page/code.js") },
];

/// Only the page's own files, no text as HTML or script, and no page around it. The icon is in the page itself.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Answers with a file of the page.
pub(crate) fn answer(name: &str) -> Response<Body> {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return Problem::new(Kind::NotFound, "the explorer has no such file").into_response();
    };
    finished(asset.served().into(), asset.media_type)
}

/// Returns a text of the page, as it is served.
#[must_use]
pub fn text(name: &str) -> Option<String> {
    let asset = ASSETS.iter().find(|asset| asset.name == name)?;
    Some(String::from_utf8_lossy(&asset.served()).into_owned())
}

/// Returns the page's scripts by their names, as they are served.
pub fn scripts() -> impl Iterator<Item = (&'static str, String)> {
    let scripts = ASSETS.iter().filter(|asset| asset.media_type == SCRIPT);
    scripts.filter_map(|asset| Some((asset.name, text(asset.name)?)))
}

impl Asset {
    /// The file without its comments and indentation (lines keep their numbers), a style without most spaces.
    fn served(&self) -> Vec<u8> {
        let text = String::from_utf8_lossy(self.bytes);
        let comments = if self.media_type == SCRIPT { &["//", "/*", "* ", "*/"][..] } else { &["/*"] };
        let is_comment = |line: &str| comments.iter().any(|begins| line.starts_with(begins));
        let tighter = [("; ", ";"), (": ", ":"), (" { ", "{"), (" }", "}"), (", ", ",")];
        let lines = text.lines().map(str::trim_start).map(|line| if is_comment(line) { "" } else { line });
        let lines = lines.flat_map(|line| [line, "\n"]).collect::<String>();
        match self.media_type {
            SCRIPT => lines.into(),
            STYLE => tighter.iter().fold(lines, |text, (from, to)| text.replace(from, to)).into(),
            _ => self.bytes.to_vec(),
        }
    }
}

/// Answers the page with this.
pub(crate) fn finished(body: Body, media_type: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most bytes of the page in all.
    const BYTES_MAX: usize = 180_000;

    #[test]
    fn the_page_is_small() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.served().len()).sum();
        println!("the explorer's files have {bytes} bytes");
        assert!(bytes < BYTES_MAX, "{bytes}");
    }

    #[test]
    fn no_script_makes_html_of_text() {
        for asset in ASSETS.iter().filter(|asset| asset.media_type == SCRIPT) {
            let text = String::from_utf8_lossy(asset.bytes);
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                assert!(!text.contains(word), "{} has {word}", asset.name);
            }
        }
    }
}
