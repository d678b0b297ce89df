//! Siblings in the order of an attribute, on their way to a client.

use sapwood_tests::oracle::Oracle;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

use super::support::{expect, get, ids, patch, post, read, refused, start, waiting};

pub(crate) async fn children_and_roots_come_in_their_order(way: Way) {
    let serving = Serving::start(way, &[("OrderAttribute", "rank")], &[]).await;
    let node = |id: &str, parent: Option<&str>, rank: Value| {
        let attributes = if rank.is_null() { json!({}) } else { json!({"rank": rank}) };
        json!({"put": {"id": id, "parent": parent, "attributes": attributes}})
    };
    let ranks = [json!("b c"), json!(10), json!(-2), json!("a"), json!(9), json!(null), json!(true), json!("B#")];
    let children = ranks.into_iter().zip('a'..).map(|(rank, id)| node(&id.to_string(), Some("D"), rank));
    let nodes: Vec<Value> =
        [node("D", None, json!(2)), node("E", None, json!(1))].into_iter().chain(children).collect();
    expect(&serving, 200, &post("/batch", &json!({"operations": nodes}))).await;
    serving.running.settle().await;
    for (query, wanted) in [
        ("", "a b c d e f g h"),
        ("?order=asc", "c e b h d a f g"),
        ("?order=desc", "g f a d h b e c"),
        ("?order=asc&values=number", "c e b"),
        ("?order=desc&values=number&from=-1.5&to=1e1", "b e"),
        ("?order=asc&from=a", "d a"),
        ("?order=asc&to=a", "h d"),
        ("?order=desc&value_prefix=b%20", "a"),
        ("?order=asc&value_prefix=9", ""),
    ] {
        let list = read(&serving, &format!("/nodes/D/children{query}")).await;
        assert_eq!(ids(&list).join(" "), wanted, "{query}");
    }
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = read(&serving, &format!("/nodes/D/children?order=desc&limit=3{cursor}")).await;
        found.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(next) = page["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found.join(" "), "g f a d h b e c");
    assert_eq!(ids(&read(&serving, "/roots").await), ["D", "E"]);
    assert_eq!(ids(&read(&serving, "/roots?order=asc").await), ["E", "D"]);
    assert_eq!(ids(&read(&serving, "/roots?order=asc&values=number&from=2").await), ["D"]);

    // A value that changes moves the node among its siblings, in the tree as well.
    expect(&serving, 200, &waiting(patch("/nodes/c", &json!({"attributes": {"rank": "z"}})))).await;
    expect(&serving, 200, &waiting(patch("/nodes/f", &json!({"parent": null})))).await;
    serving.running.settle().await;
    let tree = read(&serving, "/nodes/D/tree").await;
    let drawn: Vec<&str> =
        tree["children"].as_array().unwrap().iter().map(|child| child["id"].as_str().unwrap()).collect();
    assert_eq!(drawn.join(" "), "e b h d a c g");
    assert_eq!(ids(&read(&serving, "/roots?order=asc").await), ["E", "D", "f"]);
    serving.running.assert_right(&Oracle { order: Some("rank".to_owned()), ..Oracle::default() }).await;
}

pub(crate) async fn an_order_that_is_switched_off_is_not_found(way: Way) {
    let serving = start(way).await;
    for target in ["/nodes/D/children?order=asc", "/roots?order=desc"] {
        assert_eq!(refused(&serving, 404, &get(target)).await, ("not-found".to_owned(), None), "{target}");
    }
    assert_eq!(ids(&read(&serving, "/roots").await), [""; 0]);
}
