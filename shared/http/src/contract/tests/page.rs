use crate::contract::docs_html;

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
fn whatever_a_document_says_is_text() {
    for markup in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser", "srcdoc"] {
        assert!(!docs_html().contains(markup), "{markup} would read text as markup");
    }
}
