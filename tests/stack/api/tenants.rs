//! Tenants: the authorizer names them, and nothing in a request can.

use sapwood_tests::api::Asked;
use sapwood_tests::serving::{Serving, Way};
use serde_json::json;

use super::support::{delete, expect, get, ids, patch, post, put, read, refused};

const PARAMETERS: [(&str, &str); 1] = [("TenantClaim", "tenant")];

pub(crate) async fn nothing_in_a_request_reaches_another_tenant(way: Way) {
    let acme = Serving::start(way, &PARAMETERS, &[("tenant", "acme"), ("sub", "ada")]).await;
    let other = acme.for_others(way, &PARAMETERS, &[("tenant", "globex"), ("sub", "eve")]).await;
    let created = expect(&acme, 201, &post("/nodes", &json!({"id": "top", "attributes": {"secret": 1}}))).await;
    assert_eq!(created.json()["created_by"], "ada");
    for n in 0..3 {
        expect(&acme, 201, &post("/nodes", &json!({"id": format!("n{n}"), "parent": "top"}))).await;
    }
    expect(&acme, 201, &post("/nodes/top/revisions/Audit", &json!({"attributes": {"secret": 1}}))).await;
    acme.running.settle().await;
    let cursor = read(&acme, "/nodes/top/children?limit=1").await["cursor"].as_str().unwrap().to_owned();

    let disguises = ["top", "TENANT~23acme~23top", "acme~23top", "..~2Facme~2Ftop", "~23top"];
    for id in disguises {
        for below in [
            "",
            "/children",
            "/descendants",
            "/tree",
            "/ancestors",
            "/inherited?attributes=secret",
            "/granted?attribute=secret&principal=eve",
            "/revisions",
            "/revisions/Audit/1",
            "/latest/Audit",
            "/propagation",
            "/count",
        ] {
            let answered = other.send(&get(&format!("/nodes/{id}{below}"))).await;
            assert_eq!(answered.status, 404, "{id}{below}");
        }
        for asked in
            [delete(&format!("/nodes/{id}?children=delete")), patch(&format!("/nodes/{id}"), &json!({"parent": null}))]
        {
            assert_eq!(other.send(&asked).await.status, 404, "{id}");
        }
        assert_eq!(other.send(&get(&format!("/nodes?ids={}", id.replace('~', "%")))).await.json()["items"], json!([]));
        assert!((400..500).contains(&other.send(&get(&format!("/paths/{id}/n0"))).await.status));
    }
    for parent in ["top", "TENANT#acme#top", "acme#top"] {
        let asked = post("/nodes", &json!({"parent": parent}));
        assert_eq!(other.send(&asked).await.status, 422, "{parent}");
        let batch = json!({"operations": [{"put": {"parent": parent}}, {"patch": {"id": parent, "attributes": {"x": 1}}}, {"delete": {"id": parent}}]});
        let results = other.send(&post("/batch", &batch)).await.json();
        let statuses: Vec<u64> =
            results["results"].as_array().unwrap().iter().map(|result| result["status"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [422, 404, 404]);
    }
    assert_eq!(other.send(&get(&format!("/nodes/top/children?cursor={cursor}"))).await.status, 400);
    // Neither headers nor parameters nor fields name a tenant.
    for asked in [
        get("/nodes/top").header("x-tenant", "acme").header("tenant", "acme"),
        get("/nodes/top").header("authorization", "Bearer acme"),
    ] {
        assert_eq!(other.send(&asked).await.status, 404);
    }
    assert_eq!(other.send(&get("/nodes/top?tenant=acme")).await.status, 400);
    assert_eq!(other.send(&post("/nodes", &json!({"id": "x", "tenant": "acme"}))).await.status, 400);
    // The same ids are other nodes.
    assert_eq!(other.send(&put("/nodes/top", &json!({"parent": null, "attributes": {"mine": 1}}))).await.status, 201);
    let topic = post("/nodes/top/revisions/Audit~23..~2Facme", &json!({"attributes": {}}));
    assert_eq!(other.send(&topic).await.status, 201);
    let same_key = |id: &str| post("/nodes", &json!({"id": id})).header("idempotency-key", "k");
    expect(&acme, 201, &same_key("keyed")).await;
    assert_eq!(other.send(&same_key("keyed too")).await.status, 201);
    let operation = expect(&acme, 202, &delete("/nodes/n2?children=delete")).await;
    assert_eq!(other.send(&get(operation.header("location").unwrap())).await.status, 404);
    acme.running.settle().await;
    assert_eq!(read(&acme, "/nodes/top").await["attributes"], json!({"secret": 1}));
    assert_eq!(ids(&read(&acme, "/nodes/top/children").await), ["n0", "n1"]);
    assert_eq!(ids(&read(&acme, "/roots").await), ["keyed", "top"]);
    let oracle = sapwood_tests::oracle::Oracle { tenants: true, ..sapwood_tests::oracle::Oracle::default() };
    acme.running.assert_right(&oracle).await;
}

pub(crate) async fn a_caller_without_a_tenant_is_refused(way: Way) {
    for claims in [&[("sub", "ada")][..], &[("tenant", "")], &[("tenant", "a#b")], &[("Tenant", "acme")]] {
        let serving = Serving::start(way, &PARAMETERS, claims).await;
        for asked in [
            get("/roots"),
            get("/nodes/top"),
            post("/nodes", &json!({"id": "x"})),
            post("/batch", &json!({"operations": [{"delete": {"id": "x"}}]})),
            Asked::new("DELETE", "/nodes/x"),
        ] {
            assert_eq!(refused(&serving, 403, &asked).await.0, "forbidden");
        }
        expect(&serving, 200, &get("/health")).await;
    }
}
