//! One call on the page.

use serde_json::Value;

use super::html::{Html, line, prose};
use super::types::{type_of, write_fields};
use super::{list, members, resolved, text};

/// A call.
pub(super) struct Call<'a> {
    pub(super) method: String,
    pub(super) path: &'a str,
    call: &'a Value,
}

impl<'a> Call<'a> {
    /// Its anchor on the page.
    pub(super) fn anchor(&self) -> &'a str {
        text(&self.call["operationId"])
    }

    pub(super) fn summary(&self) -> &'a str {
        text(&self.call["summary"])
    }
}

/// The calls of a tag, by path.
pub(super) fn of_tag<'a>(document: &'a Value, tag: &'a str) -> impl Iterator<Item = Call<'a>> {
    let calls = members(&document["paths"]).flat_map(|(path, calls)| {
        members(calls).map(move |(method, call)| Call { method: method.to_uppercase(), path, call })
    });
    calls.filter(move |call| list(&call.call["tags"]).iter().any(|of| text(of) == tag))
}

pub(super) fn write(html: &mut Html, document: &Value, call: &Call<'_>) {
    html.raw("<article id=\"").text(call.anchor()).raw("\">\n<h3><span class=\"method\">").text(&call.method);
    html.raw("</span> <code>").text(call.path).raw("</code></h3>\n<p class=\"summary\">");
    html.text(call.summary()).raw("</p>\n");
    prose(html, text(&call.call["description"]));
    parameters(html, document, &call.call["parameters"]);
    bodies(html, document, &call.call["requestBody"]);
    html.element("h4", "With curl").code_block(&curl(call));
    answers(html, document, &call.call["responses"]);
    html.close("article");
}

fn parameters(html: &mut Html, document: &Value, parameters: &Value) {
    if list(parameters).is_empty() {
        return;
    }
    html.element("h4", "Parameters").open("table");
    html.raw("<tr><th>Name</th><th>In</th><th>Type</th><th>What it says</th></tr>\n");
    for parameter in list(parameters) {
        html.raw("<tr><td><code>").text(text(&parameter["name"])).raw("</code></td><td>");
        html.text(text(&parameter["in"])).raw("</td><td>");
        type_of(html, document, &parameter["schema"]);
        html.raw("</td><td>");
        line(html, text(&parameter["description"]));
        html.raw("</td></tr>\n");
    }
    html.close("table");
}

fn bodies(html: &mut Html, document: &Value, body: &Value) {
    for (media_type, content) in members(&body["content"]) {
        html.raw("<h4>Body: <code>").text(media_type).raw("</code></h4>\n");
        html.raw("<p>");
        type_of(html, document, &content["schema"]);
        html.raw("</p>\n");
        write_fields(html, document, resolved(document, &content["schema"]).0);
        for (summary, example) in examples(content) {
            if !summary.is_empty() {
                html.element("p", summary);
            }
            html.code_block(&pretty(example));
        }
    }
}

/// The examples of a content, with what they are of where there are several.
fn examples(content: &Value) -> Vec<(&str, &Value)> {
    let several = members(&content["examples"]).map(|(_, example)| (text(&example["summary"]), &example["value"]));
    content.get("example").map(|example| ("", example)).into_iter().chain(several).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

fn answers(html: &mut Html, document: &Value, answers: &Value) {
    html.element("h4", "Answers").open("table");
    html.raw("<tr><th>Status</th><th>When</th><th>Body</th><th>Headers</th></tr>\n");
    for (status, answer) in members(answers) {
        let (answer, name) = resolved(document, answer);
        html.raw("<tr><td><code>").text(status).raw("</code></td><td>");
        match name {
            // What all calls have in common is described once.
            Some(name) => html.raw("<a href=\"#problem-").text(name).raw("\">").text(name).raw("</a>"),
            None => html.text(text(&answer["description"])),
        };
        html.raw("</td><td>");
        for (media_type, content) in members(&answer["content"]) {
            html.raw("<code>").text(media_type).raw("</code>: ");
            type_of(html, document, &content["schema"]);
        }
        html.raw("</td><td>");
        for (header, _) in members(&answer["headers"]) {
            html.raw("<code>").text(header).raw("</code> ");
        }
        html.raw("</td></tr>\n");
    }
    html.close("table");
    let contents =
        members(answers).flat_map(|(status, answer)| members(&answer["content"]).map(move |c| (status, c.1)));
    for (status, content) in contents {
        for (_, example) in examples(content) {
            html.raw("<p>").text(status).raw(":</p>\n").code_block(&pretty(example));
        }
    }
}

/// The call as a line of a shell, with the first of its examples.
fn curl(call: &Call<'_>) -> String {
    let mut path = call.path.to_owned();
    for parameter in list(&call.call["parameters"]) {
        let example = &parameter["example"];
        let value = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        path = path.replace(&format!("{{{}}}", text(&parameter["name"])), &value);
    }
    let mut line = match call.method.as_str() {
        "GET" => format!("curl \"$API{path}\""),
        method => format!("curl -X {method} \"$API{path}\""),
    };
    for (media_type, content) in members(&call.call["requestBody"]["content"]).take(1) {
        line += &format!(" -H 'Content-Type: {media_type}'");
        for (_, example) in examples(content).into_iter().take(1) {
            line += &format!(" -d '{}'", example.to_string().replace('\'', r"'\''"));
        }
    }
    line
}
