//! The OpenAPI document as a page to read: made of the document alone, with nothing from elsewhere and no script.

mod calls;
mod html;
mod types;

use serde_json::Value;

use super::openapi::{document, members};
use html::{Html, prose};

const STYLE: &str = include_str!("style.css");

/// A page that says what the OpenAPI document says.
#[must_use]
pub fn docs_html() -> String {
    page(&document())
}

/// The page of a document.
pub(super) fn page(document: &Value) -> String {
    let title = text(&document["info"]["title"]);
    let mut html = Html::default();
    html.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.element("title", title);
    html.raw("<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n<header>\n");
    html.element("h1", &format!("{title} {}", text(&document["info"]["version"])));
    prose(&mut html, text(&document["info"]["description"]));
    html.raw("<p>For machines: <a href=\"openapi.json\">openapi.json</a>.</p>\n</header>\n");
    contents(&mut html, document);
    html.raw("<main>\n");
    for tag in list(&document["tags"]) {
        html.open("section").element("h2", text(&tag["name"]));
        prose(&mut html, text(&tag["description"]));
        for call in calls::of_tag(document, text(&tag["name"])) {
            calls::write(&mut html, document, &call);
        }
        html.close("section");
    }
    types::write_all(&mut html, document);
    html.raw("</main>\n</body>\n</html>\n");
    html.finish()
}

fn contents(html: &mut Html, document: &Value) {
    html.open("nav");
    for tag in list(&document["tags"]) {
        let name = text(&tag["name"]);
        html.element("h2", name).open("ul");
        for call in calls::of_tag(document, name) {
            html.raw("<li><a href=\"#").text(call.anchor()).raw("\"><code>");
            html.text(&call.method).text(" ").text(call.path).raw("</code></a> ").text(call.summary()).raw("</li>\n");
        }
        html.close("ul");
    }
    html.close("nav");
}

/// A text; empty where there is none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A list; empty where there is none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What a `$ref` stands for, and its name; the thing itself where it is none.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> (&'a Value, Option<&'a str>) {
    let Some(reference) = value["$ref"].as_str() else { return (value, None) };
    let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
    (target.unwrap_or(value), reference.rsplit('/').next())
}
