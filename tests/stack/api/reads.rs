//! Every read on its way to a client. What each answers in each case, its refusals and its cursors are in
//! `pure/api_reader.rs`.

use sapwood_tests::serving::Way;
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, post, read, refused, start, tree};

pub(crate) async fn every_read_is_answered(way: Way) {
    let serving = start(way).await;
    tree(&serving, &[("D", None), ("S", Some("D")), ("E", None)]).await;
    let place = json!({"id": "v", "parent": "D", "segment": "NE # 1", "attributes": {"name": "V"}});
    expect(&serving, 201, &post("/nodes", &place)).await;
    for result in ["passed", "failed"] {
        let audit = json!({"attributes": {"result": result}});
        expect(&serving, 201, &post("/nodes/v/revisions/Audit~231", &audit)).await;
    }
    serving.running.settle().await;
    let v = json!({"id": "v", "parent": "D", "depth": 1, "segment": "NE # 1", "attributes": {"name": "V"}});
    let at = |mut node: Value, member: &str, value: Value| {
        node[member] = value;
        node
    };
    let below_d = json!({"levels": 1, "top": "D", "ends": "root", "in_trash": false, "deleting": false});
    let s = json!({"id": "S", "parent": "D", "depth": 1, "attributes": {}});
    for (target, wanted) in [
        ("/nodes/v/ancestors", json!({"items": [{"id": "D", "depth": 1}]})),
        (
            "/nodes/v/inherited?attributes=name,quota",
            json!({"id": "v", "nearest": {"name": {"value": "V", "from": "v", "levels_up": 0}}, "above": below_d}),
        ),
        (
            "/nodes/v/granted?attribute=name&principal=V&principal=ada",
            json!({"id": "v", "allowed": true, "by": [{"id": "v", "levels_up": 0, "principals": ["V"]}], "above": below_d}),
        ),
        ("/nodes/D/children", json!({"items": [s, v]})),
        ("/nodes/D/descendants?min_depth=1&max_depth=1&id_prefix=v", json!({"items": [v]})),
        ("/nodes/v/tree", at(at(v.clone(), "depth", json!(0)), "children", json!([]))),
        ("/nodes/D/count", json!({"count": 2})),
        ("/paths/D/NE~20~23~201?fields=name", json!({"items": [at(v.clone(), "path", json!(["NE # 1"]))]})),
        ("/nodes/v/propagation", json!({"up_to_date": true, "ancestors": 1, "missing": 0, "stale": 0})),
    ] {
        assert_eq!(read(&serving, target).await, wanted, "{target}");
    }
    assert_eq!(ids(&read(&serving, "/roots").await), ["D", "E"]);
    assert_eq!(read(&serving, "/nodes/v").await["segment"], "NE # 1");
    for (target, wanted) in [
        ("/nodes/v/latest", "failed"),
        ("/nodes/v/revisions", "failed"),
        ("/nodes/v/revisions/Audit~231?order=asc", "passed"),
    ] {
        assert_eq!(read(&serving, target).await["items"][0]["attributes"], json!({"result": wanted}), "{target}");
    }
    for (target, version) in [("/nodes/v/latest/Audit~231", 2), ("/nodes/v/revisions/Audit~231/1", 1)] {
        assert_eq!(read(&serving, target).await["version"], version, "{target}");
    }
    assert_eq!(read(&serving, "/health").await["status"], "ok");
}

pub(crate) async fn a_list_goes_on_with_its_cursor_and_no_other(way: Way) {
    let serving = start(way).await;
    tree(&serving, &[("top", None), ("a", Some("top")), ("b", Some("top")), ("c", Some("top"))]).await;
    let first = read(&serving, "/nodes/top/children?limit=2").await;
    assert_eq!(ids(&first), ["a", "b"]);
    let cursor = first["cursor"].as_str().unwrap();
    let second = read(&serving, &format!("/nodes/top/children?limit=1&cursor={cursor}")).await;
    assert_eq!((ids(&second), second.get("cursor")), (vec!["c"], None));
    let altered = &cursor[..cursor.len() - 1];
    for target in [format!("/roots?cursor={cursor}"), format!("/nodes/top/children?cursor={altered}")] {
        let (kind, field) = refused(&serving, 400, &get(&target)).await;
        assert_eq!((kind.as_str(), field.as_deref()), ("bad-cursor", Some("cursor")));
    }
    let (kind, field) = refused(&serving, 400, &get("/roots?limit=1&limit=2")).await;
    assert_eq!((kind.as_str(), field.as_deref()), ("bad-parameter", Some("limit")));
}

pub(crate) async fn what_is_not_there_is_not_found(way: Way) {
    let serving = start(way).await;
    for request in [
        get("/nodes/nobody"),
        get("/paths/nobody/x"),
        get("/nodes/nobody/children"),
        get("/operations/nothing"),
        get("/nothing/like/this"),
        delete("/nodes/nobody"),
    ] {
        assert_eq!(refused(&serving, 404, &request).await.0, "not-found", "{request:?}");
    }
}
