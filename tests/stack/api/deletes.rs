//! Deleting nodes, and what becomes of what is below them.

use sapwood_tests::oracle::Oracle;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, json as body_of, patch, post, read, refused, start, tree};

const TREE: [(&str, Option<&str>); 7] = [
    ("top", None),
    ("a", Some("top")),
    ("b", Some("a")),
    ("c", Some("a")),
    ("d", Some("b")),
    ("e", Some("d")),
    ("x", None),
];

/// Deletes by an operation, and asks it once it is done.
async fn delete_by_operation(serving: &Serving, target: &str) -> Value {
    let answered = expect(serving, 202, &delete(target)).await;
    let location = answered.header("location").unwrap().to_owned();
    assert!(location.starts_with("/operations/"), "{location}");
    let status = read(serving, &location).await["status"].clone();
    assert!(status == "running" || status == "done", "{status}");
    serving.running.settle().await;
    serving.running.assert_right(&Oracle::default()).await;
    let operation = read(serving, &location).await;
    assert_eq!(operation["status"], "done");
    operation
}

pub(crate) async fn a_node_with_children_is_not_deleted_unless_it_is_said_what_becomes_of_them(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    for target in ["/nodes/a", "/nodes/a?children=restrict"] {
        assert_eq!(refused(&serving, 409, &delete(target)).await.0, "has-children");
    }
    assert_eq!(refused(&serving, 400, &delete("/nodes/a?children=all")).await.1.as_deref(), Some("children"));
    expect(&serving, 204, &delete("/nodes/e")).await;
    expect(&serving, 404, &get("/nodes/e")).await;
    expect(&serving, 200, &get("/nodes/a")).await;
}

pub(crate) async fn a_subtree_is_deleted_by_an_operation(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    let operation = delete_by_operation(&serving, "/nodes/a?children=delete").await;
    assert_eq!((&operation["mode"], &operation["node"]), (&json!("delete"), &json!("a")));
    for gone in ["a", "b", "c", "d", "e"] {
        expect(&serving, 404, &get(&format!("/nodes/{gone}"))).await;
    }
    assert_eq!(ids(&read(&serving, "/nodes/top/descendants").await), [""; 0]);
    // Its ids are free again.
    tree(&serving, &[("a", Some("top")), ("b", Some("a"))]).await;
    assert_eq!(ids(&read(&serving, "/nodes/top/descendants").await), ["a", "b"]);
    serving.running.assert_right(&Oracle::default()).await;
    expect(&serving, 404, &get("/operations/none")).await;
}

pub(crate) async fn children_are_adopted(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    delete_by_operation(&serving, "/nodes/a?children=adopt").await;
    assert_eq!(ids(&read(&serving, "/nodes/top/children").await), ["b", "c"]);
    assert_eq!(ids(&read(&serving, "/nodes/e/ancestors").await), ["d", "b", "top"]);
    // A root's children have nobody to go to.
    delete_by_operation(&serving, "/nodes/top?children=adopt").await;
    assert_eq!(ids(&read(&serving, "/roots").await), ["b", "c", "x"]);
}

pub(crate) async fn children_are_detached(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    delete_by_operation(&serving, "/nodes/a?children=detach").await;
    assert_eq!(ids(&read(&serving, "/roots").await), ["b", "c", "top", "x"]);
    assert_eq!(ids(&read(&serving, "/nodes/b/descendants").await), ["d", "e"]);
    assert_eq!(body_of(&serving, 200, &patch("/nodes/c", &json!({"parent": "e"}))).await["parent"], "e");
}

pub(crate) async fn revisions_stay_unless_they_are_to_go(way: Way) {
    let serving = Serving::start(way, &[("RevisionsMutable", "on")], &[]).await;
    for id in ["kept", "gone"] {
        expect(&serving, 201, &post("/nodes", &json!({"id": id}))).await;
        for topic in ["Audit", "Inspection"] {
            for _ in 0..3 {
                expect(&serving, 201, &post(&format!("/nodes/{id}/revisions/{topic}"), &json!({"attributes": {}})))
                    .await;
            }
        }
    }
    serving.running.settle().await;
    expect(&serving, 204, &delete("/nodes/kept")).await;
    delete_by_operation(&serving, "/nodes/gone?revisions=delete").await;
    assert_eq!(read(&serving, "/nodes/kept/revisions").await["items"].as_array().unwrap().len(), 6);
    expect(&serving, 404, &get("/nodes/gone/revisions")).await;
    expect(&serving, 404, &get("/nodes/gone/latest/Audit")).await;
    let audits_are_kept = start(way).await;
    expect(&audits_are_kept, 201, &post("/nodes", &json!({"id": "n"}))).await;
    assert_eq!(refused(&audits_are_kept, 403, &delete("/nodes/n?revisions=delete")).await.0, "revisions-kept");
}
