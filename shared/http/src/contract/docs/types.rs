//! The types of what is sent and answered, and the problems, on the page.

use serde_json::Value;

use super::html::{Html, line, prose};
use super::{list, members, resolved, text};

/// All that calls refer to by name.
pub(super) fn write_all(html: &mut Html, document: &Value) {
    html.open("section").element("h2", "Problems");
    for (name, problem) in members(&document["components"]["responses"]) {
        html.raw("<article id=\"problem-").text(name).raw("\">\n").element("h3", name);
        prose(html, text(&problem["description"]));
        for (header, described) in members(&problem["headers"]) {
            html.raw("<p><code>").text(header).raw("</code>: ");
            line(html, text(&described["description"]));
            html.raw("</p>\n");
        }
        html.close("article");
    }
    html.close("section").open("section").element("h2", "Types");
    for (name, schema) in members(&document["components"]["schemas"]) {
        html.raw("<article id=\"type-").text(name).raw("\">\n").element("h3", name);
        prose(html, text(&schema["description"]));
        html.raw("<p>");
        type_of(html, document, schema);
        html.raw("</p>\n");
        write_fields(html, document, schema);
        html.close("article");
    }
    html.close("section");
}

/// The fields of an object; nothing for other types.
pub(super) fn write_fields(html: &mut Html, document: &Value, schema: &Value) {
    if members(&schema["properties"]).next().is_none() {
        return;
    }
    html.open("table").raw("<tr><th>Field</th><th>Type</th><th>What it says</th></tr>\n");
    for (name, field) in members(&schema["properties"]) {
        let is_required = list(&schema["required"]).iter().any(|required| text(required) == name);
        html.raw("<tr><td><code>").text(name).raw("</code>").raw(if is_required { "" } else { "?" }).raw("</td><td>");
        type_of(html, document, field);
        html.raw("</td><td>");
        line(html, text(&field["description"]));
        html.raw("</td></tr>\n");
    }
    html.close("table");
}

/// A type and its limits, in a few words.
pub(super) fn type_of(html: &mut Html, document: &Value, schema: &Value) {
    if let (_, Some(name)) = resolved(document, schema) {
        html.raw("<a href=\"#type-").text(name).raw("\">").text(name).raw("</a>");
    } else if let Some(items) = schema.get("items") {
        html.raw("list of ");
        type_of(html, document, items);
    } else if let Some(choices) = schema.get("anyOf") {
        for (position, choice) in list(choices).iter().enumerate() {
            html.raw(if position == 0 { "" } else { " or " });
            type_of(html, document, choice);
        }
    } else if let Some(words) = schema.get("enum") {
        for (position, word) in list(words).iter().enumerate() {
            html.raw(if position == 0 { "" } else { " or " }).raw("<code>").text(text(word)).raw("</code>");
        }
    } else {
        match &schema["type"] {
            Value::Array(types) => html.text(&types.iter().map(text).collect::<Vec<_>>().join(" or ")),
            one => html.text(text(one)),
        };
    }
    limits(html, schema);
}

const LIMITS: [(&str, &str); 10] = [
    ("minimum", "from"),
    ("maximum", "to"),
    ("minLength", "at least"),
    ("maxLength", "at most"),
    ("minItems", "at least"),
    ("maxItems", "at most"),
    ("minProperties", "fields at least"),
    ("maxProperties", "fields at most"),
    ("pattern", "matches"),
    ("default", "default"),
];

fn limits(html: &mut Html, schema: &Value) {
    for (name, words) in LIMITS {
        let Some(limit) = schema.get(name) else { continue };
        let limit = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
        html.raw("<br><small>").raw(words).raw(" <code>").text(&limit).raw("</code></small>");
    }
}
