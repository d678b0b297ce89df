use serde_json::json;

use crate::contract::docs::page;
use crate::contract::openapi::{document, members};
use crate::contract::{docs_html, routes};

/// Elements that have no end.
const VOID: [&str; 3] = ["br", "meta", "!DOCTYPE"];

/// That every element that begins ends, within the one that it began in, and that no stray `<` or `&` is there.
fn check_well_formed(html: &str) {
    let mut open = Vec::new();
    for (position, part) in html.split('<').enumerate() {
        if position == 0 {
            assert!(part.is_empty());
            continue;
        }
        let (tag, after) = part.split_once('>').expect("a tag ends");
        assert!(!after.contains('>'), "a stray > after {tag}");
        let name = tag.split_whitespace().next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "ends at {after:.60}"),
            None if VOID.contains(&name) => {}
            None => open.push(name),
        }
        for reference in after.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|known| reference.starts_with(known)));
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn the_page_has_every_call_type_and_problem() {
    let html = docs_html();
    check_well_formed(&html);
    for route in routes() {
        let heading = format!("<span class=\"method\">{}</span> <code>{}</code></h3>", route.method, route.path);
        assert_eq!(html.matches(&heading).count(), 1, "{heading}");
    }
    let document = document();
    for (kind, anchor) in [("schemas", "type-"), ("responses", "problem-")] {
        for (name, _) in members(&document["components"][kind]) {
            assert_eq!(html.matches(&format!("id=\"{anchor}{name}\"")).count(), 1, "{name}");
        }
    }
    for link in html.split("href=\"#").skip(1) {
        let anchor = link.split('"').next().unwrap();
        assert!(html.contains(&format!("id=\"{anchor}\"")), "#{anchor} leads nowhere");
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let html = docs_html();
    for outside in ["http://", "https://", "src=", "<script", "<link", "@import", "url(", "//cdn"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn the_page_has_lines_for_a_shell() {
    let html = docs_html();
    assert!(html.contains("curl &quot;$API/nodes/CUSTOMER~237/revisions/Audit/3&quot;"));
    assert!(html.contains("curl -X DELETE &quot;$API/nodes/CUSTOMER~237&quot;"));
    assert!(html.contains("-H &#39;Content-Type: application/merge-patch+json&#39;"));
}

#[test]
fn whatever_a_document_says_is_text() {
    let hostile = "</code><script>alert('1')</script>\" onload=\"x & `<b>`";
    let schema = json!({"type": hostile, "pattern": hostile, "description": hostile, "enum": [hostile],
        "properties": {hostile: {"description": hostile, "type": hostile}}});
    let call = json!({"operationId": hostile, "summary": hostile, "description": hostile, "tags": [hostile],
        "parameters": [{"name": hostile, "in": hostile, "description": hostile, "schema": schema, "example": hostile}],
        "requestBody": {"content": {hostile: {"schema": schema, "example": {hostile: hostile}}}},
        "responses": {hostile: {"description": hostile, "headers": {hostile: {}},
            "content": {hostile: {"schema": schema, "example": hostile}}}}});
    let document = json!({
        "info": {"title": hostile, "version": hostile, "description": hostile},
        "tags": [{"name": hostile, "description": hostile}],
        "paths": {hostile: {hostile: call}},
        "components": {"schemas": {hostile: schema}, "responses": {hostile: {"description": hostile}}},
    });
    let html = page(&document);
    check_well_formed(&html);
    assert!(!html.contains("<script") && !html.contains("\" onload") && !html.contains("<b>"));
}
