//! Tokens: the scopes that they need, for the operations of a batch as well.

use sapwood_tests::api::Asked;
use sapwood_tests::serving::{Serving, Way};
use serde_json::json;

use super::support::{delete, expect, get, patch, post, put};

pub(crate) async fn a_token_needs_its_scope_and_so_do_the_operations_of_a_batch(way: Way) {
    let scopes = [("JwtScopes", "read=t/read,write=t/write,delete=t/delete")];
    let all = Serving::start(way, &scopes, &[("scope", "openid t/read t/write t/delete")]).await;
    let with = async |claims: &[(&str, &str)]| all.for_others(way, &scopes, claims).await;
    for id in ["a", "b"] {
        expect(&all, 201, &put(&format!("/nodes/{id}"), &json!({"parent": null}))).await;
    }
    all.running.settle().await;
    // API Gateway writes a list as `[a b]`.
    let (reader, writer) = (with(&[("scp", "[t/read]")]).await, with(&[("scope", "t/read t/write")]).await);
    let nobody = with(&[("scope", "t/reading xt/read T/READ")]).await;
    let remove = delete("/nodes/a");
    for (api, asked, status) in [
        (&nobody, get("/nodes/a"), 403),
        (&nobody, Asked::new("HEAD", "/nodes/a"), 403),
        (&nobody, get("/health"), 200),
        (&reader, get("/nodes/a"), 200),
        (&reader, patch("/nodes/a", &json!({"attributes": {"n": 1}})), 403),
        (&reader, remove.clone(), 403),
        (&writer, patch("/nodes/a", &json!({"attributes": {"n": 1}})), 200),
        (&writer, remove.clone(), 403),
    ] {
        let answered = api.send(&asked).await;
        assert_eq!(answered.status, status, "{asked:?}");
        if status == 403 {
            let wanted = match asked.method.as_str() {
                "GET" | "HEAD" => "t/read",
                "DELETE" => "t/delete",
                _ => "t/write",
            };
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{wanted}\"");
            assert_eq!(answered.header("www-authenticate"), Some(challenge.as_str()));
        }
    }
    let batch = post("/batch", &json!({"operations": [{"put": {"id": "c", "parent": null}}, {"delete": {"id": "b"}}]}));
    let statuses = |answered: sapwood_tests::api::Answered| {
        assert_eq!(answered.status, 200);
        let results = answered.json()["results"].as_array().unwrap().clone();
        results.iter().map(|result| result["status"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(statuses(reader.send(&batch).await), [403, 403]);
    assert_eq!(statuses(writer.send(&batch).await), [201, 403]);
    assert_eq!(statuses(all.send(&batch).await), [200, 204]);
    expect(&all, 204, &remove).await;
}

pub(crate) async fn who_may_not_read_is_told_nothing_by_a_write(way: Way) {
    let scopes = [("JwtScopes", "read=t/read,write=t/write,delete=t/delete")];
    let all = Serving::start(way, &scopes, &[("sub", "ada"), ("scope", "t/read t/write t/delete")]).await;
    let writer = all.for_others(way, &scopes, &[("sub", "ada"), ("scope", "t/write")]).await;
    expect(&all, 201, &put("/nodes/n", &json!({"parent": null, "attributes": {"secret": "hunter2"}}))).await;
    let batch = post("/batch", &json!({"operations": [{"patch": {"id": "n"}}]}));
    for asked in [
        patch("/nodes/n", &json!({})),
        patch("/nodes/n", &json!({})).header("prefer", "wait=1"),
        batch.clone(),
        batch.clone().header("idempotency-key", "one"),
        batch.clone().header("idempotency-key", "one"),
    ] {
        let answered = writer.send(&asked).await;
        assert!((200..300).contains(&answered.status), "{answered:?}");
        assert!(!String::from_utf8_lossy(&answered.body).contains("hunter2"), "{asked:?}");
    }
    for (asked, status) in [
        (post("/nodes/n/copy", &json!({})), 202),
        (post("/nodes/n/copy", &json!({})).header("prefer", "wait=10"), 204),
        (delete("/nodes/n?children=restrict"), 403),
    ] {
        let answered = writer.send(&asked).await;
        assert_eq!((answered.status, answered.body.is_empty()), (status, status != 403), "{asked:?}: {answered:?}");
    }
    // What was kept for the writer is whole: another token of the same caller's sees it.
    let whole = expect(&all, 200, &batch.clone().header("idempotency-key", "one")).await;
    assert_eq!(whole.header("idempotency-replayed"), Some("true"));
    assert_eq!(whole.json()["results"][0]["body"]["attributes"], json!({"secret": "hunter2"}));
    // A refusal for want of a scope isn't kept, and nothing that is kept is answered to who lacks one.
    let deletion = json!({"operations": [{"patch": {"id": "n"}}, {"delete": {"id": "n", "children": "detach"}}]});
    let deletion = post("/batch", &deletion).header("idempotency-key", "two");
    let refused = writer.send(&deletion).await.json();
    assert_eq!(refused["results"][1]["status"], 403);
    assert!(refused["results"][1]["problem"]["detail"].as_str().unwrap().contains("`t/delete`"), "{refused}");
    let done = expect(&all, 200, &deletion).await;
    assert_eq!((done.header("idempotency-replayed"), &done.json()["results"][1]["status"]), (None, &json!(202)));
    let nobody = all.for_others(way, &scopes, &[("sub", "ada"), ("scope", "none")]).await;
    let refused = nobody.send(&deletion).await.json();
    assert_eq!([&refused["results"][0]["status"], &refused["results"][1]["status"]], [403, 403]);
}
