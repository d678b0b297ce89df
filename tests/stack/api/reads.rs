//! Every read.

use sapwood_tests::serving::Way;
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, post, read, refused, start, tree};

/// A list as a whole, page by page.
async fn pages(serving: &sapwood_tests::serving::Serving, target: &str, limit: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let sign = if target.contains('?') { '&' } else { '?' };
        let page = read(serving, &format!("{target}{sign}limit={limit}{cursor}")).await;
        let found = page["items"].as_array().unwrap();
        assert!(!found.is_empty() && found.len() <= limit, "{target}");
        items.extend(found.iter().cloned());
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

pub(crate) async fn every_read_of_a_tree(way: Way) {
    let serving = start(way).await;
    tree(
        &serving,
        &[("D", None), ("V", Some("D")), ("S", Some("D")), ("d", Some("V")), ("e", Some("V")), ("f", Some("d"))],
    )
    .await;
    tree(&serving, &[("E", None)]).await;
    assert_eq!(ids(&read(&serving, "/roots").await), ["D", "E"]);
    assert_eq!(ids(&read(&serving, "/nodes/D/children").await), ["S", "V"]);
    let ancestors = read(&serving, "/nodes/f/ancestors").await;
    let depths: Vec<(&str, u64)> = ancestors["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["id"].as_str().unwrap(), item["depth"].as_u64().unwrap()))
        .collect();
    assert_eq!(depths, [("d", 1), ("V", 2), ("D", 3)]);
    for (window, wanted) in [
        ("", vec!["S", "V", "d", "e", "f"]),
        ("?min_depth=0", vec!["D", "S", "V", "d", "e", "f"]),
        ("?min_depth=2&max_depth=2", vec!["d", "e"]),
        ("?min_depth=3", vec!["f"]),
        ("?max_depth=1", vec!["S", "V"]),
        ("?min_depth=2&max_depth=2&id_prefix=e", vec!["e"]),
        ("?min_depth=4&max_depth=98", vec![]),
    ] {
        assert_eq!(ids(&read(&serving, &format!("/nodes/D/descendants{window}")).await), wanted, "{window}");
    }
    let first = &read(&serving, "/nodes/D/descendants?min_depth=2").await["items"][0];
    assert_eq!(first, &json!({"id": "d", "parent": "V", "depth": 2, "attributes": {}}));
    let whole = read(&serving, "/nodes/D/tree").await;
    assert_eq!((&whole["id"], whole.get("truncated")), (&json!("D"), None));
    let v = whole["children"].as_array().unwrap().iter().find(|child| child["id"] == "V").unwrap();
    assert_eq!(v["children"][0]["children"][0]["id"], "f");
    let cut = read(&serving, "/nodes/D/tree?max_depth=1").await;
    assert_eq!(cut["children"][1]["children"], json!([]));
    assert_eq!(read(&serving, "/nodes/D/count").await, json!({"count": 5}));
    assert_eq!(read(&serving, "/nodes/D/count?min_depth=2&max_depth=3").await, json!({"count": 3}));
    assert_eq!(read(&serving, "/health").await["status"], "ok");
    for (target, parameter) in [
        ("/nodes/D/descendants?min_depth=3&max_depth=2", None),
        ("/nodes/D/descendants?max_depth=99", Some("max_depth")),
        ("/nodes/D/descendants?id_prefix=e", Some("id_prefix")),
        ("/nodes/D/children?limit=0", Some("limit")),
        ("/nodes/D/children?limit=1001", Some("limit")),
        ("/nodes/D/children?limit=x", Some("limit")),
        ("/nodes/D/children?cursor=x", Some("cursor")),
        ("/nodes/D?consistent=maybe", Some("consistent")),
        ("/nodes/D?unknown=1", Some("unknown")),
        ("/roots?limit=1&limit=2", Some("limit")),
    ] {
        let field = refused(&serving, 400, &get(target)).await.1;
        assert!(parameter.is_none() || field.as_deref() == parameter, "{target}: {field:?}");
    }
}

pub(crate) async fn every_read_by_path(way: Way) {
    let serving = start(way).await;
    let place = |id: &str, parent: Option<&str>, segment: &str| {
        post("/nodes", &json!({"id": id, "parent": parent, "segment": segment, "attributes": {"name": segment}}))
    };
    expect(&serving, 201, &post("/nodes", &json!({"id": "USA"}))).await;
    for (id, parent, segment) in [
        ("ne", "USA", "NE"),
        ("omaha", "ne", "OMAHA"),
        ("omaha2", "ne", "OMAHA2"),
        ("a", "omaha", "68118"),
        ("b", "omaha", "68154"),
        ("c", "omaha", "68200"),
    ] {
        expect(&serving, 201, &place(id, Some(parent), segment)).await;
    }
    serving.running.settle().await;
    let paths = |list: &Value| -> Vec<String> {
        let item = |item: &Value| {
            let path = item["path"].as_array().unwrap();
            path.iter().map(|segment| segment.as_str().unwrap()).collect::<Vec<_>>().join("/")
        };
        list["items"].as_array().unwrap().iter().map(item).collect()
    };
    let under = read(&serving, "/paths/USA/NE/OMAHA").await;
    assert_eq!(paths(&under), ["NE/OMAHA", "NE/OMAHA/68118", "NE/OMAHA/68154", "NE/OMAHA/68200"]);
    assert_eq!(
        (&under["items"][0]["id"], &under["items"][0]["depth"], &under["items"][0]["parent"]),
        (&json!("omaha"), &json!(2), &json!("ne"))
    );
    let range = read(&serving, "/paths/USA/NE/OMAHA?from=68100&to=68199").await;
    assert_eq!(paths(&range), ["NE/OMAHA/68118", "NE/OMAHA/68154"]);
    assert_eq!(paths(&read(&serving, "/paths/USA/NE?max_depth=1").await), ["NE", "NE/OMAHA", "NE/OMAHA2"]);
    assert_eq!(pages(&serving, "/paths/USA/NE", 2).await.len(), 6);
}

pub(crate) async fn lists_go_on_with_their_cursor_and_no_other(way: Way) {
    let serving = start(way).await;
    expect(&serving, 201, &post("/nodes", &json!({"id": "top"}))).await;
    let puts: Vec<Value> = (0..45).map(|n| json!({"put": {"id": format!("n{n:02}"), "parent": "top"}})).collect();
    expect(&serving, 200, &post("/batch", &json!({"operations": puts}))).await;
    serving.running.settle().await;
    for target in ["/nodes/top/children", "/nodes/top/descendants?min_depth=0"] {
        let whole = read(&serving, target).await;
        for limit in [1, 7, 45, 46, 1_000] {
            assert_eq!(pages(&serving, target, limit).await, *whole["items"].as_array().unwrap(), "{target} {limit}");
        }
    }
    let cursor = read(&serving, "/nodes/top/children?limit=7").await["cursor"].as_str().unwrap().to_owned();
    // For another limit it holds, for another question it doesn't, nor when it was altered.
    assert_eq!(ids(&read(&serving, &format!("/nodes/top/children?limit=2&cursor={cursor}")).await), ["n07", "n08"]);
    for other in ["/nodes/n00/children", "/nodes/top/descendants", "/roots"] {
        let (kind, field) = refused(&serving, 400, &get(&format!("{other}?cursor={cursor}"))).await;
        assert_eq!((kind.as_str(), field.as_deref()), ("bad-cursor", Some("cursor")));
    }
    for position in 0..cursor.len() {
        let mut altered = cursor.clone().into_bytes();
        altered[position] = if altered[position] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(altered).unwrap();
        assert_eq!(
            refused(&serving, 400, &get(&format!("/nodes/top/children?cursor={altered}"))).await.0,
            "bad-cursor"
        );
    }
    let named = read(&serving, "/nodes/top/children?limit=1&fields=name,other").await;
    assert_eq!(named["items"][0], json!({"id": "n00", "parent": "top", "depth": 1, "attributes": {}}));
}

pub(crate) async fn what_is_not_there_is_not_found(way: Way) {
    let serving = start(way).await;
    for target in [
        "",
        "/ancestors",
        "/tree",
        "/count",
        "/latest",
        "/revisions",
        "/fanout",
        "/latest/x",
        "/revisions/x",
        "/revisions/x/1",
    ] {
        let (kind, _) = refused(&serving, 404, &get(&format!("/nodes/nobody{target}"))).await;
        assert_eq!(kind, "not-found", "{target}");
    }
    // Orphans may hang under an id that isn't there.
    for target in ["/children", "/descendants"] {
        assert_eq!(read(&serving, &format!("/nodes/nobody{target}")).await, json!({"items": []}), "{target}");
    }
    expect(&serving, 404, &get("/operations/nothing")).await;
    expect(&serving, 404, &delete("/nodes/nobody")).await;
    expect(&serving, 404, &get("/nothing/like/this")).await;
    expect(&serving, 404, &get("/paths/nobody/x")).await;
}
