//! What clients have besides single calls: several nodes at once, lists that link to their next page, conditions in a
//! batch.

use sapwood_tests::api::Asked;
use sapwood_tests::serving::Way;
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, patch, post, put, read, refused, start, tree};

const TREE: [(&str, Option<&str>); 4] = [("top", None), ("a", Some("top")), ("b", Some("top")), ("c", Some("a"))];

pub(crate) async fn several_nodes_are_read_at_once(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    expect(&serving, 201, &post("/nodes", &json!({"id": "x,y#é", "attributes": {"n": 1, "m": 2}}))).await;
    let etag = expect(&serving, 200, &get("/nodes/x~2Cy~23~C3~A9")).await.header("etag").unwrap().to_owned();
    let found = read(&serving, "/nodes?ids=x%2Cy%23%C3%A9&ids=none&ids=c&fields=n").await;
    assert_eq!(ids(&found), ["x,y#é", "c"], "in the order of the ids");
    assert_eq!(found["items"][0]["attributes"], json!({"n": 1}));
    assert_eq!(found["items"][0]["etag"], json!(etag));
    assert_eq!(found["items"][1]["parent"], "a");
    assert_eq!(read(&serving, "/nodes?ids=none").await, json!({"items": [], "missing": ["none"]}));
    // Of what is too large for one page the rest is on the next.
    let large = json!({"parent": null, "attributes": {"text": "x".repeat(390_000)}});
    let many: Vec<String> = (0..15).map(|n| format!("large{n}")).collect();
    for id in &many {
        expect(&serving, 201, &put(&format!("/nodes/{id}"), &large)).await;
    }
    let query: Vec<String> = many.iter().map(|id| format!("ids={id}")).collect();
    let first = expect(&serving, 200, &get(&format!("/nodes?{}", query.join("&")))).await;
    let cursor = first.json()["cursor"].as_str().unwrap().to_owned();
    let second = read(&serving, &format!("/nodes?{}&cursor={cursor}", query.join("&"))).await;
    assert_eq!([ids(&first.json()), ids(&second)].concat(), many);
    assert_eq!(second.get("cursor"), None);
    for (target, field) in [
        ("/nodes", "ids"),
        ("/nodes?ids=a&ids=a", "ids"),
        ("/nodes?ids=", "ids"),
        (&format!("/nodes?{}", vec!["ids=x"; 101].join("&")), "ids"),
        (&format!("/nodes?ids=a&cursor={cursor}"), "cursor"),
        ("/nodes?ids=a&fields=a&fields=b", "fields"),
    ] {
        assert_eq!(refused(&serving, 400, &get(target)).await.1.as_deref(), Some(field), "{target}");
    }
}

pub(crate) async fn a_node_comes_with_its_ancestors_and_newest_revisions(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    expect(&serving, 200, &patch("/nodes/top", &json!({"attributes": {"name": "Top"}}))).await;
    for topic in ["Audit", "State"] {
        expect(&serving, 201, &post(&format!("/nodes/c/revisions/{topic}"), &json!({"attributes": {"n": 1}}))).await;
    }
    serving.running.settle().await;
    let plain = expect(&serving, 200, &get("/nodes/c")).await;
    let etag = plain.header("etag").unwrap();
    let whole = expect(&serving, 200, &get("/nodes/c?expand=ancestors,latest")).await;
    assert_eq!((whole.header("etag"), &whole.json()["etag"]), (None, &json!(etag)));
    assert_eq!(whole.json()["ancestors"], read(&serving, "/nodes/c/ancestors").await);
    assert_eq!(whole.json()["latest"], read(&serving, "/nodes/c/latest").await);
    assert_eq!(whole.json()["parent"], "a");
    // The tag names the node alone, so it can't say that all of the answer is known.
    expect(&serving, 200, &get("/nodes/c?expand=latest").header("if-none-match", etag)).await;
    expect(&serving, 304, &get("/nodes/c").header("if-none-match", etag)).await;
    assert_eq!(
        refused(&serving, 412, &get("/nodes/c?expand=latest").header("if-match", "\"x\"")).await.0,
        "precondition-failed"
    );
    let named = read(&serving, "/nodes/c?expand=ancestors&fields=name").await;
    assert_eq!(named["ancestors"]["items"][1], json!({"id": "top", "depth": 2, "attributes": {"name": "Top"}}));
    assert_eq!(named.get("latest"), None);
    for wrong in ["children", "ancestors,all", ""] {
        let asked = get(&format!("/nodes/c?expand={wrong}"));
        assert_eq!(refused(&serving, 400, &asked).await.1.as_deref(), Some("expand"), "{wrong}");
    }
}

pub(crate) async fn a_list_links_to_its_next_page(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    let mut target = "/nodes/top/descendants?limit=1&fields=a%26b&min_depth=0".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = expect(&serving, 200, &get(&target)).await;
        seen.extend(ids(&page.json()).into_iter().map(str::to_owned));
        assert_eq!(page.header("link").is_some(), page.json().get("cursor").is_some());
        let Some(link) = page.header("link") else { break };
        let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
        // A reference that begins with `?` holds below any path.
        assert!(next.starts_with("?limit=1&fields=a%26b&min_depth=0&cursor="), "{next}");
        target = format!("/nodes/top/descendants{next}");
    }
    assert_eq!(seen, ["top", "a", "b", "c"]);
}

pub(crate) async fn a_path_is_a_parameter_too(way: Way) {
    let serving = start(way).await;
    for (id, parent, segment) in
        [("usa", None, None), ("ne", Some("usa"), Some("NE/West")), ("om", Some("ne"), Some("OMAHA, é"))]
    {
        expect(&serving, 201, &post("/nodes", &json!({"id": id, "parent": parent, "segment": segment}))).await;
    }
    serving.running.settle().await;
    let of = async |target: &str| ids(&read(&serving, target).await).join(" ");
    assert_eq!(of("/paths/usa?path=NE%2FWest&path=OMAHA,+%C3%A9").await, "om");
    assert_eq!(of("/paths/usa/NE~2FWest/OMAHA~2C~20~C3~A9").await, "om");
    assert_eq!(of("/paths/usa?path=NE%2FWest").await, "ne om");
    assert_eq!(of("/paths/usa").await, "ne om");
    // A segment is one parameter, whatever is in it.
    assert_eq!(refused(&serving, 404, &get("/paths/usa?path=NE")).await.0, "not-found");
    assert_eq!(refused(&serving, 422, &get("/paths/usa?path=")).await.1.as_deref(), Some("path"));
}

pub(crate) async fn an_operation_of_a_batch_has_a_condition_of_its_own(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    let etag = expect(&serving, 200, &get("/nodes/b")).await.header("etag").unwrap().to_owned();
    let operations = |etag: &str| {
        json!({"operations": [
            {"patch": {"id": "b", "attributes": {"n": 1}, "if_match": etag}},
            {"patch": {"id": "b", "attributes": {"n": 2}, "if_match": etag}},
            {"put": {"id": "b", "parent": null, "if_match": etag}},
            {"put": {"id": "new", "parent": null, "if_match": "*"}},
            {"delete": {"id": "b", "if_match": etag}},
            {"delete": {"id": "b", "if_match": "\"x\", *"}},
        ]})
    };
    let malformed = serving.send(&post("/batch", &operations(&etag))).await;
    assert_eq!((malformed.status, &malformed.json()["field"]), (400, &json!("operations[5].delete.if_match")));
    let mut well_formed = operations(&etag);
    well_formed["operations"][5]["delete"]["if_match"] = json!(format!("\"x\", {etag}"));
    let results = expect(&serving, 200, &post("/batch", &well_formed)).await.json();
    let statuses: Vec<&Value> = results["results"].as_array().unwrap().iter().map(|result| &result["status"]).collect();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412]);
    assert_eq!(read(&serving, "/nodes/b").await["attributes"], json!({"n": 1}));
}

pub(crate) async fn a_repeated_answer_says_so(way: Way) {
    let serving = start(way).await;
    let batch = json!({"operations": [{"put": {"id": "n", "parent": null}}]});
    for asked in [
        post("/nodes", &json!({"attributes": {"a": 1}})).header("idempotency-key", "one"),
        post("/nodes/n/revisions/Audit", &json!({"attributes": {}})).header("idempotency-key", "two"),
        post("/batch", &batch).header("idempotency-key", "three"),
        delete("/nodes/n?children=delete").header("idempotency-key", "four"),
    ] {
        let first = serving.send(&asked).await;
        assert!((200..300).contains(&first.status), "{first:?}");
        assert_eq!(first.header("idempotency-replayed"), None);
        let second = serving.send(&asked).await;
        assert_eq!((second.status, &second.body), (first.status, &first.body));
        assert_eq!(second.header("idempotency-replayed"), Some("true"), "{asked:?}");
    }
}

pub(crate) async fn operations_are_listed(way: Way) {
    let serving = start(way).await;
    assert_eq!(read(&serving, "/operations").await, json!({"items": []}));
    tree(&serving, &TREE).await;
    let begin =
        async |target: &str| expect(&serving, 202, &delete(target)).await.header("location").unwrap().to_owned();
    let mut begun = vec![begin("/nodes/a?children=delete").await];
    serving.running.settle().await;
    begun.push(begin("/nodes/top?children=detach").await);
    serving.running.settle().await;
    begun.push(begin("/nodes/b?children=adopt").await);
    // The newest first.
    begun.reverse();
    let listed = async |target: &str| {
        let page = read(&serving, target).await;
        let places: Vec<String> = ids(&page).iter().map(|id| format!("/operations/{id}")).collect();
        (page, places)
    };
    let (page, places) = listed("/operations").await;
    assert_eq!(places, begun);
    for (operation, place) in page["items"].as_array().unwrap().iter().zip(&places) {
        let alone = read(&serving, place).await;
        assert_eq!(
            (&alone["node"], &alone["mode"], &alone["created_at"]),
            (&operation["node"], &operation["mode"], &operation["created_at"])
        );
    }
    serving.running.settle().await;
    assert_eq!(listed("/operations?status=done").await.1, begun);
    assert_eq!(listed("/operations?status=running").await.1, [""; 0]);
    let (first, places) = listed("/operations?limit=1").await;
    let (_, rest) = listed(&format!("/operations?limit=2&cursor={}", first["cursor"].as_str().unwrap())).await;
    assert_eq!([places, rest].concat(), begun);
    for (target, field) in
        [("/operations?limit=101", "limit"), ("/operations?status=over", "status"), ("/operations?fields=a", "fields")]
    {
        assert_eq!(refused(&serving, 400, &get(target)).await.1.as_deref(), Some(field));
    }
}

pub(crate) async fn a_repeated_batch_is_answered_as_this_client_prefers(way: Way) {
    let serving = start(way).await;
    let digits = "12345678901234567890";
    let body = format!(
        "{{\"operations\": [{{\"put\": {{\"id\": \"n\", \"parent\": null, \"attributes\": {{\"n\": {digits}}}}}}}]}}"
    );
    let batch = Asked::new("POST", "/batch")
        .header("content-type", "application/json")
        .bytes(body)
        .header("idempotency-key", "one");
    let first = expect(&serving, 200, &batch.clone().header("prefer", "return=minimal")).await;
    assert_eq!(
        (first.header("preference-applied"), first.json()["results"][0].get("body")),
        (Some("return=minimal"), None)
    );
    let second = expect(&serving, 200, &batch.clone().header("prefer", "numbers=strings, wait=5")).await;
    assert_eq!(second.header("preference-applied"), Some("wait=5, numbers=strings"));
    assert_eq!(second.json()["results"][0]["body"]["attributes"], json!({"n": {"$number": digits}}));
    assert_eq!(read(&serving, "/nodes/n/propagation").await["up_to_date"], true, "it has waited");
    let third = expect(&serving, 200, &batch).await;
    assert!(String::from_utf8_lossy(&third.body).contains(&format!("\"n\":{digits}")));
    assert_eq!(third.header("idempotency-replayed"), Some("true"));
}

pub(crate) async fn null_in_the_place_of_the_attributes_removes_all(way: Way) {
    let serving = start(way).await;
    let body = json!({"parent": null, "segment": "s", "attributes": {"a": 1, "b": {"c": 2}}});
    let before = expect(&serving, 201, &put("/nodes/n", &body)).await.json();
    let after = expect(&serving, 200, &patch("/nodes/n", &json!({"attributes": null}))).await.json();
    assert_eq!(
        (&after["attributes"], &after["segment"], &after["created_at"]),
        (&json!({}), &json!("s"), &before["created_at"])
    );
    assert_eq!(read(&serving, "/nodes/n").await["attributes"], json!({}));
    serving.running.settle().await;
    assert_eq!(read(&serving, "/roots").await["items"][0]["attributes"], json!({}));
    // An update with 700 names would be too long for DynamoDB.
    let many: serde_json::Map<String, Value> = (0..700).map(|n| (format!("attribute{n}"), json!(n))).collect();
    expect(&serving, 201, &put("/nodes/many", &json!({"parent": "n", "segment": "m", "attributes": many}))).await;
    let cleared = expect(&serving, 200, &patch("/nodes/many", &json!({"attributes": null}))).await.json();
    assert_eq!(
        (&cleared["attributes"], &cleared["parent"], &cleared["segment"]),
        (&json!({}), &json!("n"), &json!("m"))
    );
    serving.running.settle().await;
    serving.running.assert_right(&sapwood_tests::oracle::Oracle::default()).await;
    // Nothing is left to remove.
    let again = expect(&serving, 200, &patch("/nodes/n", &json!({"attributes": null}))).await.json();
    assert_eq!(again["updated_at"], after["updated_at"]);
    // A whole node isn't a patch.
    assert_eq!(
        refused(&serving, 400, &put("/nodes/n", &json!({"parent": null, "attributes": null}))).await.0,
        "bad-json"
    );
    let as_patch =
        Asked::new("PUT", "/nodes/n").header("content-type", "application/merge-patch+json").bytes("{\"parent\":null}");
    assert_eq!(refused(&serving, 415, &as_patch).await.0, "unsupported-media-type");
}

pub(crate) async fn what_is_below_a_node_that_is_not_there_is_not_found(way: Way) {
    let serving = start(way).await;
    tree(&serving, &TREE).await;
    for below in ["children", "descendants", "descendants?min_depth=0", "tree", "count", "ancestors"] {
        assert_eq!(refused(&serving, 404, &get(&format!("/nodes/none/{below}"))).await.0, "not-found", "{below}");
        expect(&serving, 200, &get(&format!("/nodes/c/{below}"))).await;
    }
    // A node that orphans wait for has them below it.
    sapwood_tests::client::put(
        &serving.running.client,
        sapwood_tests::running::TABLE,
        sapwood_tests::client::node("orphan", Some("none"), "x"),
    )
    .await;
    serving.running.settle().await;
    assert_eq!(ids(&read(&serving, "/nodes/none/children").await), ["orphan"]);
}
