use crate::contract::{docs_html, docs_policy};

#[test]
fn the_page_reads_the_document_beside_it_and_nothing_from_elsewhere() {
    let html = docs_html();
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("fetch(\"openapi.json\")"));
    assert_eq!(html.matches("fetch(").count(), 1);
    for outside in ["http://", "https://", "src=", "<link", "@import", "import(", "url(", "//cdn"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn the_page_shows_every_kind_of_schema_that_the_document_has_with_its_example() {
    for kind in ["$ref", "items", "anyOf", "oneOf", "enum", "type", "examples"] {
        assert!(docs_html().contains(&format!("schema.{kind}")), "{kind}");
    }
}

#[test]
fn whatever_a_document_says_is_text() {
    for markup in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser", "srcdoc"] {
        assert!(!docs_html().contains(markup), "{markup} would read text as markup");
    }
}

#[test]
fn the_policy_lets_the_pages_own_script_and_style_run_and_nothing_else() {
    for element in ["<script", "<style"] {
        assert_eq!(docs_html().matches(element).count(), 1, "{element}");
        assert_eq!(docs_html().matches(&format!("{element}>")).count(), 1, "{element} has no attributes");
    }
    for inline in [" style=", " onclick=", "javascript:"] {
        assert!(!docs_html().contains(inline), "{inline}");
    }
    assert_eq!(docs_policy().matches("'sha256-").count(), 2);
    assert!(docs_policy().contains("frame-ancestors 'none'") && !docs_policy().contains("unsafe"));
}
