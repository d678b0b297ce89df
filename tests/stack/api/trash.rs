//! The trash, on its way to a client.

use sapwood_tests::api::Asked;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, json as answered, patch, post, put, read, refused, tree, waiting};

const ON: [(&str, &str); 2] = [("Trash", "on"), ("LinkAttributes", "tags")];

/// Puts a node into the trash. It takes no body.
fn put_into_trash(id: &str) -> Asked {
    Asked::new("POST", format!("/nodes/{id}/trash"))
}

fn trash(id: &str) -> Asked {
    put_into_trash(id).header("prefer", "wait=20, below=true")
}

fn restore(id: &str, body: &Value) -> Asked {
    post(&format!("/nodes/{id}/restore"), body).header("prefer", "wait=20, below=true")
}

async fn right(serving: &Serving) {
    serving.running.settle().await;
    serving.running.assert_right(&serving.running.oracle()).await;
}

pub(crate) async fn what_is_put_into_the_trash_is_in_no_list_of_live_nodes_and_comes_back_as_it_was(way: Way) {
    let serving = Serving::start(way, &ON, &[]).await;
    tree(&serving, &[("D", None), ("V", Some("D")), ("d", Some("V")), ("e", Some("d")), ("W", None)]).await;
    expect(&serving, 200, &waiting(patch("/nodes/e", &json!({"attributes": {"tags": "red"}})))).await;
    let before = read(&serving, "/nodes/D/tree").await;
    assert_eq!(ids(&read(&serving, "/nodes/red/links/tags").await), ["e"]);

    let trashed = expect(&serving, 200, &trash("V")).await;
    assert_eq!(trashed.header("location"), Some("/nodes/V/propagation?below=true"));
    let said = trashed.json()["trashed"].clone();
    assert_eq!((&said["parent"], said["at"].as_str().map(str::len)), (&json!("D"), Some(24)));
    // It was waited for: nobody finds it, or what is below it, among live nodes.
    assert_eq!(ids(&read(&serving, "/nodes/D/descendants").await), [] as [&str; 0]);
    assert_eq!(ids(&read(&serving, "/roots").await), ["D", "W"]);
    assert_eq!(read(&serving, "/nodes/red/links/tags").await, json!({"items": []}));
    assert_eq!(ids(&read(&serving, "/nodes/V/descendants").await), ["d", "e"], "it can be looked into");
    assert_eq!(read(&serving, "/nodes/V").await["trashed"], said);
    let listed = read(&serving, "/trash").await;
    assert_eq!((ids(&listed), &listed["items"][0]["trashed"]), (vec!["V"], &said));
    right(&serving).await;

    // Nothing comes in, and its id is taken.
    for (status, asked, kind) in [
        (409, post("/nodes", &json!({"id": "x", "parent": "e"})), "in-trash"),
        (409, patch("/nodes/W", &json!({"parent": "e"})), "in-trash"),
        (409, put("/nodes/V", &json!({"parent": "D"})), "in-trash"),
        (409, post("/nodes", &json!({"id": "V"})), "exists"),
        (409, delete("/nodes/V?children=detach"), "in-trash"),
        (409, post("/nodes/d/restore", &json!({})), "not-in-trash"),
        (409, post("/nodes/W/restore", &json!({"parent": null})), "not-in-trash"),
        (404, put_into_trash("nobody"), "not-found"),
        (404, post("/nodes/nobody/restore", &json!({})), "not-found"),
        (400, post("/nodes/V/restore", &json!({"parents": "D"})), "bad-json"),
    ] {
        assert_eq!(refused(&serving, status, &asked).await.0, kind, "{} {}", asked.method, asked.target);
    }
    let back = answered(&serving, 200, &restore("V", &json!({}))).await;
    assert_eq!((&back["parent"], back.get("trashed")), (&json!("D"), None));
    assert_eq!(read(&serving, "/nodes/D/tree").await, before);
    assert_eq!(ids(&read(&serving, "/nodes/red/links/tags").await), ["e"]);
    assert_eq!(read(&serving, "/trash").await, json!({"items": []}));
    right(&serving).await;
}

pub(crate) async fn the_trash_is_listed_newest_first_by_pages_and_emptied_for_good(way: Way) {
    let serving = Serving::start(way, &ON, &[]).await;
    let nodes = ["a", "b", "c", "d"].map(|id| (id, Some("top")));
    tree(&serving, &[&[("top", None)][..], &nodes, &[("below", Some("a"))]].concat()).await;
    // In a batch, each at its own time.
    let operations = json!(["b", "d", "a"].map(|id| json!({"trash": {"id": id}})));
    let results = answered(&serving, 200, &post("/batch", &json!({"operations": operations}))).await;
    assert!(results["results"].as_array().unwrap().iter().all(|result| result["status"] == 200), "{results}");
    expect(&serving, 200, &trash("c")).await;
    serving.running.settle().await;
    let mut found: Vec<String> = Vec::new();
    let mut next = "/trash?limit=1&expand=record".to_owned();
    loop {
        let page = read(&serving, &next).await;
        found.extend(ids(&page).into_iter().map(str::to_owned));
        assert!(page["items"].as_array().unwrap().iter().all(|item| item["record"]["etag"].is_string()), "{page}");
        let Some(cursor) = page["cursor"].as_str() else { break };
        next = format!("/trash?limit=1&expand=record&cursor={cursor}");
    }
    assert_eq!((found.len(), found[0].as_str()), (4, "c"), "{found:?}");
    let oldest = read(&serving, "/trash?order=asc").await;
    assert!(ids(&oldest).iter().rev().eq(found.iter()), "{oldest} and {found:?}");
    assert_eq!(refused(&serving, 400, &get("/trash?order=up")).await.0, "bad-parameter");

    // What was in the trash when it was looked at, and has come back since, isn't deleted for good.
    let tag = expect(&serving, 200, &get("/nodes/a")).await.header("etag").unwrap().to_owned();
    expect(&serving, 200, &restore("a", &json!({}))).await;
    let purge = delete("/nodes/a?children=delete").header("if-match", &tag);
    assert_eq!(refused(&serving, 412, &purge).await.0, "precondition-failed");
    expect(&serving, 200, &trash("a")).await;
    expect(&serving, 204, &waiting(delete("/nodes/a?children=delete"))).await;
    expect(&serving, 404, &get("/nodes/below")).await;
    expect(&serving, 204, &waiting(delete("/nodes/b"))).await;
    assert_eq!(ids(&read(&serving, "/trash").await), ["c", "d"]);
    right(&serving).await;
}

pub(crate) async fn a_restoration_that_has_no_way_back_says_which_and_takes_another_parent(way: Way) {
    let serving = Serving::start(way, &ON, &[]).await;
    let nodes = [("D", None), ("V", Some("D")), ("d", Some("V")), ("e", Some("V")), ("f", Some("V")), ("g", Some("f"))];
    tree(&serving, &nodes).await;
    for id in ["d", "e", "f"] {
        expect(&serving, 200, &trash(id)).await;
    }
    // The parent is in the trash as well.
    expect(&serving, 200, &trash("V")).await;
    let why = async |id: &str| answered(&serving, 409, &restore(id, &json!({}))).await["detail"].to_string();
    assert!(why("d").await.contains("trash"), "{}", why("d").await);
    assert_eq!(refused(&serving, 409, &restore("d", &json!({"parent": "V"}))).await.0, "in-trash");
    // What is below it comes out by a move.
    expect(&serving, 200, &restore("V", &json!({}))).await;
    expect(&serving, 200, &restore("d", &json!({}))).await;
    // The parent is gone, and another has its id.
    expect(&serving, 204, &waiting(delete("/nodes/d"))).await;
    expect(&serving, 204, &waiting(delete("/nodes/V"))).await;
    assert_eq!(refused(&serving, 409, &restore("e", &json!({}))).await.0, "no-way-back");
    expect(&serving, 201, &waiting(post("/nodes", &json!({"id": "V"})))).await;
    let another = why("e").await;
    assert_eq!(refused(&serving, 409, &restore("e", &json!({}))).await.0, "no-way-back", "{another}");
    assert_eq!(refused(&serving, 422, &restore("e", &json!({"parent": "nobody"}))).await.0, "parent-missing");
    assert_eq!(answered(&serving, 200, &restore("e", &json!({"parent": "V"}))).await["parent"], "V");
    expect(&serving, 200, &waiting(patch("/nodes/g", &json!({"parent": "e"})))).await;
    assert_eq!(answered(&serving, 200, &restore("f", &json!({"parent": null}))).await.get("parent"), None);
    assert_eq!(ids(&read(&serving, "/nodes/V/descendants").await), ["e", "g"]);
    right(&serving).await;
}

pub(crate) async fn without_the_parameter_nothing_goes_into_the_trash_and_what_is_there_comes_out(way: Way) {
    let serving = Serving::start(way, &ON, &[]).await;
    tree(&serving, &[("D", None), ("V", Some("D"))]).await;
    expect(&serving, 200, &trash("V")).await;
    let off = serving.for_others(way, &[("LinkAttributes", "tags")], &[]).await;
    let refused = off.send(&put_into_trash("D")).await;
    assert_eq!((refused.status, &refused.json()["type"]), (403, &json!("urn:sapwood:problem:no-trash")));
    assert_eq!(ids(&off.send(&get("/trash")).await.json()), ["V"]);
    let back = off.send(&post("/nodes/V/restore", &json!({}))).await;
    assert_eq!((back.status, &back.json()["parent"]), (200, &json!("D")));
    right(&serving).await;
}

pub(crate) async fn each_tenant_has_a_trash_of_its_own(way: Way) {
    let parameters = [("TenantClaim", "tenant"), ("Trash", "on")];
    let acme = Serving::start(way, &parameters, &[("tenant", "acme"), ("sub", "ada")]).await;
    let other = acme.for_others(way, &parameters, &[("tenant", "globex"), ("sub", "eve")]).await;
    for (id, parent) in [("top", None), ("n", Some("top"))] {
        let created = post("/nodes", &json!({"id": id, "parent": parent}));
        assert_eq!((acme.send(&created).await.status, other.send(&created).await.status), (201, 201));
    }
    expect(&acme, 200, &trash("n")).await;
    acme.running.settle().await;
    let listed = read(&acme, "/trash").await;
    assert_eq!((ids(&listed), &listed["items"][0]["trashed"]["by"]), (vec!["n"], &json!("ada")));
    assert_eq!(other.send(&get("/trash")).await.json(), json!({"items": []}));
    assert_eq!(other.send(&post("/nodes/n/restore", &json!({}))).await.status, 409);
    assert_eq!(ids(&other.send(&get("/nodes/top/children")).await.json()), ["n"]);
    expect(&acme, 200, &trash("top")).await;
    acme.running.settle().await;
    let cursor = read(&acme, "/trash?limit=1").await["cursor"].as_str().unwrap().to_owned();
    assert_eq!(other.send(&get(&format!("/trash?cursor={cursor}"))).await.status, 400);
}
