//! Creating, replacing, patching and moving nodes, one by one and in batches.

use sapwood_tests::oracle::Oracle;
use sapwood_tests::serving::Way;
use serde_json::{Value, json};

use super::support::{
    delete, expect, get, ids, json as body_of, patch, post, put, read, refused, start, tree, waiting,
};

pub(crate) async fn a_node_is_created_read_replaced_patched_moved_and_deleted(way: Way) {
    let serving = start(way).await;
    let created =
        expect(&serving, 201, &post("/nodes", &json!({"id": "ORDER#1", "attributes": {"total": 12.5}}))).await;
    assert_eq!(created.header("location"), Some("/nodes/ORDER~231"));
    let etag = created.header("etag").unwrap().to_owned();
    let node = created.json();
    assert_eq!((&node["id"], &node["attributes"]), (&json!("ORDER#1"), &json!({"total": 12.5})));
    assert!(node.get("parent").is_none());
    for own in ["created_at", "created_by", "updated_at", "updated_by"] {
        assert!(node[own].is_string(), "{own}");
    }
    let again = expect(&serving, 200, &get("/nodes/ORDER~231")).await;
    assert_eq!((again.json(), again.header("etag")), (node.clone(), Some(etag.as_str())));
    assert_eq!(refused(&serving, 409, &post("/nodes", &json!({"id": "ORDER#1"}))).await.0, "exists");

    expect(&serving, 201, &put("/nodes/shop", &json!({"parent": null}))).await;
    let moved = body_of(&serving, 200, &patch("/nodes/ORDER~231", &json!({"parent": "shop"}))).await;
    assert_eq!((&moved["parent"], &moved["attributes"]), (&json!("shop"), &json!({"total": 12.5})));
    assert_eq!(moved["created_at"], node["created_at"]);
    let replaced =
        put("/nodes/ORDER~231", &json!({"parent": "shop", "segment": "first", "attributes": {"paid": true}}));
    let replaced = body_of(&serving, 200, &waiting(replaced)).await;
    assert_eq!((&replaced["segment"], &replaced["attributes"]), (&json!("first"), &json!({"paid": true})));
    assert_eq!(replaced["created_at"], node["created_at"]);
    assert_eq!(ids(&read(&serving, "/nodes/shop/children").await), ["ORDER#1"]);

    let root =
        body_of(&serving, 200, &waiting(patch("/nodes/ORDER~231", &json!({"parent": null, "segment": null})))).await;
    assert!(root.get("parent").is_none() && root.get("segment").is_none());
    assert_eq!(ids(&read(&serving, "/nodes/shop/children").await), [""; 0]);
    assert_eq!(ids(&read(&serving, "/roots").await), ["ORDER#1", "shop"]);

    expect(&serving, 204, &delete("/nodes/ORDER~231")).await;
    expect(&serving, 404, &get("/nodes/ORDER~231")).await;
    expect(&serving, 404, &delete("/nodes/ORDER~231")).await;
    serving.running.settle().await;
    serving.running.assert_right(&Oracle::default()).await;
}

pub(crate) async fn a_node_without_an_id_gets_one(way: Way) {
    let serving = start(way).await;
    let created = expect(&serving, 201, &post("/nodes", &json!({}))).await;
    let id = created.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 36);
    assert_eq!(created.header("location"), Some(format!("/nodes/{id}").as_str()));
    let child = body_of(&serving, 201, &post("/nodes", &json!({"parent": id, "attributes": {}}))).await;
    assert_eq!(child["parent"], id.as_str());
    assert_ne!(child["id"], id.as_str());
}

pub(crate) async fn a_patch_leaves_what_it_does_not_name_as_it_is(way: Way) {
    let serving = start(way).await;
    let attributes =
        json!({"name": "V", "sizes": {"width": 1, "depth": {"upper": 2, "lower": 3}}, "gone": 1, "list": [1, null]});
    expect(&serving, 201, &post("/nodes", &json!({"id": "V", "attributes": attributes}))).await;
    let change = json!({"attributes": {"sizes": {"depth": {"lower": null, "middle": 4}}, "gone": null, "never": null, "new": ""}});
    let patched = body_of(&serving, 200, &patch("/nodes/V", &change)).await;
    let wanted =
        json!({"name": "V", "sizes": {"width": 1, "depth": {"upper": 2, "middle": 4}}, "list": [1, null], "new": ""});
    assert_eq!(patched["attributes"], wanted);
    assert_eq!(read(&serving, "/nodes/V").await, patched);
    expect(&serving, 404, &patch("/nodes/nobody", &change)).await;
}

pub(crate) async fn a_write_that_waits_is_answered_when_its_rows_are_right(way: Way) {
    let serving = start(way).await;
    tree(&serving, &[("a", None), ("b", Some("a")), ("c", Some("b")), ("x", None)]).await;
    for round in 0..5 {
        let parent = if round % 2 == 0 { "x" } else { "a" };
        let asked = waiting(patch("/nodes/b", &json!({"parent": parent})));
        let answered = expect(&serving, 200, &asked).await;
        assert!(answered.header("preference-applied").unwrap().starts_with("wait"), "{answered:?}");
        assert_eq!(ids(&read(&serving, &format!("/nodes/{parent}/children?consistent=true")).await), ["b"]);
        let status = read(&serving, "/nodes/b/propagation").await;
        assert_eq!(status, json!({"up_to_date": true, "ancestors": 1, "missing": 0, "stale": 0}));
    }
    serving.running.settle().await;
    assert_eq!(read(&serving, "/nodes/c/propagation").await["up_to_date"], true);
}

pub(crate) async fn a_move_that_waits_for_all_below_is_answered_when_they_are_placed(way: Way) {
    let serving = start(way).await;
    tree(&serving, &[("a", None), ("x", None), ("V", Some("a"))]).await;
    // Four levels: 3, 9, 27 and 81 nodes.
    let mut deepest = vec!["V".to_owned()];
    for _ in 0..4 {
        let node = |above: &String, n| json!({"put": {"id": format!("{above}{n}"), "parent": above}});
        let operations: Vec<Value> = deepest.iter().flat_map(|above| (0..3).map(move |n| node(above, n))).collect();
        expect(&serving, 200, &post("/batch", &json!({"operations": operations}))).await;
        deepest = deepest.iter().flat_map(|above| (0..3).map(move |n| format!("{above}{n}"))).collect();
    }
    serving.running.settle().await;
    let count = 3 + 9 + 27 + 81;
    for (round, parent) in ["x", "a", "x"].into_iter().enumerate() {
        let asked = patch("/nodes/V", &json!({"parent": parent})).header("prefer", "wait=10, below=true");
        let answered = serving.send(&asked).await;
        assert!([200, 202].contains(&answered.status), "{answered:?}");
        assert_eq!(answered.header("preference-applied"), Some("wait=10, below=true"), "{answered:?}");
        assert_eq!(answered.header("location"), Some("/nodes/V/propagation?below=true"));
        // On a busy machine the wait may end first.
        serving.ended(answered).await;
        for id in deepest.iter().skip(round).step_by(7) {
            let above = read(&serving, &format!("/nodes/{id}/ancestors")).await;
            assert_eq!(ids(&above).last(), Some(&parent), "{id} isn't below {parent}");
        }
        let rows = read(&serving, &format!("/nodes/{parent}/count?consistent=true")).await;
        assert_eq!(rows["count"].as_u64(), Some(count + 1), "rows below {parent}");
        let progress = read(&serving, "/nodes/V/propagation?below=true").await;
        assert_eq!(progress["below"], json!({"up_to_date": true, "placed": count, "deepest": 4}));
    }
    // Looks without a wait go on from one another.
    expect(&serving, 200, &patch("/nodes/V", &json!({"parent": null}))).await;
    let (mut cursor, mut placed) = (String::new(), 0);
    loop {
        let target = format!("/nodes/V/propagation?below=true{cursor}");
        let below = read(&serving, &target).await["below"].clone();
        assert!(below["placed"].as_u64() >= Some(placed), "{below} after {placed}");
        placed = below["placed"].as_u64().unwrap();
        match below["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(placed, count);
    assert_eq!(ids(&read(&serving, &format!("/nodes/{}/ancestors", deepest[0])).await).last(), Some(&"V"));
    refused(&serving, 400, &get("/nodes/x/propagation?cursor=abc")).await;
    assert_eq!(refused(&serving, 400, &get("/nodes/x/propagation?below=true&cursor=abc")).await.0, "bad-cursor");
}

pub(crate) async fn a_read_with_a_token_shows_what_was_written(way: Way) {
    let serving = start(way).await;
    tree(&serving, &[("a", None), ("x", None), ("b", Some("a")), ("c", Some("b"))]).await;
    for round in 0..5 {
        let parent = if round % 2 == 0 { "x" } else { "a" };
        let moved = expect(&serving, 200, &patch("/nodes/b", &json!({"parent": parent}))).await;
        let token = moved.header("sapwood-consistency-token").unwrap().to_owned();
        // Another reader has the token, and waits.
        let asked = waiting(get(&format!("/nodes/{parent}/children?written={token}")));
        let answered = expect(&serving, 200, &asked).await;
        assert_eq!(ids(&answered.json()), ["b"]);
        assert_eq!(answered.header("preference-applied"), Some("wait=10"));
        let appended = expect(&serving, 201, &post("/nodes/b/revisions/T", &json!({"attributes": {"n": round}}))).await;
        let token = appended.header("sapwood-consistency-token").unwrap().to_owned();
        let latest = expect(&serving, 200, &waiting(get(&format!("/nodes/b/latest/T?written={token}")))).await;
        assert_eq!(latest.json()["attributes"]["n"], round);
    }
    let batch = json!({"operations": [{"put": {"id": "d", "parent": "a"}}, {"put": {"id": "e", "parent": "a"}}]});
    let results = body_of(&serving, 200, &post("/batch", &batch)).await;
    let tokens: Vec<String> = results["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("&written={}", one["written"].as_str().unwrap()))
        .collect();
    let asked = waiting(get(&format!("/nodes/a/children?limit=10{}", tokens.concat())));
    let found = expect(&serving, 200, &asked).await.json();
    assert!(ids(&found).ends_with(&["d", "e"]), "{found}");
    assert_eq!(
        refused(&serving, 400, &get("/nodes/a/children?written=x")).await,
        ("bad-parameter".to_owned(), Some("written".to_owned()))
    );
}

pub(crate) async fn a_batch_is_done_in_order_each_on_its_own(way: Way) {
    let serving = start(way).await;
    let batch = json!({"operations": [
        {"put": {"id": "top", "parent": null}},
        {"put": {"id": "below", "parent": "top", "attributes": {"n": 1}}},
        {"put": {"id": "lost", "parent": "nobody"}},
        {"patch": {"id": "below", "attributes": {"n": 2}}},
        {"patch": {"id": "top", "parent": "below"}},
        {"put": {"parent": "below"}},
        {"revision": {"id": "below", "topic": "Audit", "attributes": {"by": "Rick"}}},
        {"delete": {"id": "nobody"}},
        {"put": {"id": "_", "parent": null, "attributes": {"_rev": 1}}},
    ]});
    let results = body_of(&serving, 200, &waiting(post("/batch", &batch))).await;
    let results = results["results"].as_array().unwrap();
    let statuses: Vec<u64> = results.iter().map(|result| result["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [201, 201, 422, 200, 409, 201, 201, 404, 422]);
    assert_eq!(results[3]["body"]["attributes"], json!({"n": 2}));
    assert_eq!(results[6]["body"]["version"], 1);
    assert!(results[4]["problem"]["type"].as_str().unwrap().ends_with("cycle"));
    assert!(results[8]["problem"]["detail"].as_str().unwrap().contains("_rev"));
    serving.running.settle().await;
    serving.running.assert_right(&Oracle::default()).await;
    assert_eq!(read(&serving, "/nodes/top/count").await, json!({"count": 2}));
}
