//! Deleting nodes, and what becomes of what is below them.

use sapwood_tests::oracle::Oracle;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, json as body_of, patch, post, read, refused, start, tree, waiting};

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

pub(crate) async fn a_deletion_that_is_waited_for_has_ended(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    let below = async |id: &str| ids(&read(&serving, &format!("/nodes/{id}/descendants")).await).join(" ");
    let answered = expect(&serving, 204, &waiting(delete("/nodes/b?children=delete"))).await;
    assert_eq!((answered.header("location"), answered.header("preference-applied")), (None, Some("wait=10")));
    assert_eq!(below("top").await, "a c", "no row of b is left, not even its own");
    for gone in ["b", "d", "e"] {
        expect(&serving, 404, &get(&format!("/nodes/{gone}"))).await;
    }
    let keyed = || waiting(delete("/nodes/a?children=adopt")).header("idempotency-key", "one");
    for _ in 0..2 {
        expect(&serving, 204, &keyed()).await;
    }
    let batch = json!({"operations": [
        {"delete": {"id": "top", "children": "delete"}},
        {"put": {"id": "y", "parent": null}},
    ]});
    let batch = || post("/batch", &batch).header("idempotency-key", "two");
    let results = json!({"results": body_of(&serving, 200, &waiting(batch())).await["results"]});
    assert_eq!(results["results"][0], json!({"status": 204}));
    assert_eq!(results["results"][1]["status"], 201);
    // Who repeats it and waits is told the same. Who doesn't wait is told what was known then.
    assert_eq!(body_of(&serving, 200, &waiting(batch())).await["results"][0], json!({"status": 204}));
    let known = body_of(&serving, 200, &batch()).await["results"][0].clone();
    assert_eq!((&known["status"], &known["body"]["node"]), (&json!(202), &json!("top")));
    assert_eq!(ids(&read(&serving, "/roots").await), ["x", "y"]);
    serving.running.assert_right(&Oracle::default()).await;
}

pub(crate) async fn a_node_that_is_being_deleted_says_so(way: Way) {
    let mut serving = start(way).await;
    tree(&serving, &TREE).await;
    assert_eq!(read(&serving, "/nodes/a").await.get("deleting"), None);
    let etag = expect(&serving, 200, &get("/nodes/a")).await.header("etag").unwrap().to_owned();
    serving.running.pause().await;
    let waited = std::time::Instant::now();
    let answered = expect(&serving, 202, &delete("/nodes/a?children=delete").header("prefer", "wait=1")).await;
    assert!(waited.elapsed() >= std::time::Duration::from_secs(1));
    assert_eq!(answered.header("preference-applied"), Some("wait=1"));
    let operation = answered.header("location").unwrap().strip_prefix("/operations/").unwrap();
    assert_eq!(answered.json()["id"], operation);
    assert_eq!(read(&serving, "/nodes/a").await["deleting"], operation);
    assert_eq!(read(&serving, "/nodes/a?expand=ancestors").await["deleting"], operation);
    assert_eq!(read(&serving, "/nodes?ids=a&ids=x").await["items"][0]["deleting"], operation);
    // The tag is the same as before, so it doesn't stand for what has changed.
    let known = expect(&serving, 200, &get("/nodes/a").header("if-none-match", &etag)).await;
    assert_eq!(known.json()["deleting"], operation);
    let (kind, _) = refused(&serving, 409, &delete("/nodes/a?children=delete")).await;
    assert_eq!(kind, "deleting");
    // A wait for rows isn't in vain because a deletion takes long: this one is.
    let late = std::time::Instant::now();
    let patch = patch("/nodes/x", &json!({"attributes": {"n": 1}})).header("prefer", "wait=1");
    expect(&serving, 202, &patch).await;
    assert!(late.elapsed() >= std::time::Duration::from_secs(1));
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
