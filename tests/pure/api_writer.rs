//! The writing function as a client sees it: every call, its answers and its errors, served as it is under Lambda and
//! locally.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sapwood_api::caller::Caller;
use sapwood_api::contract::{Function, operations};
use sapwood_api::wait::Waits;
use sapwood_api::writes::{ApiState, Moment, Source, WriterState, router};
use sapwood_core::keys::{Names, Schema, Tenant};
use sapwood_core::model::{AttributeValue, Settings, SiblingOrder, UniqueNames, text};
use sapwood_http::serve::{Options, service};
use sapwood_store::Usage;
use sapwood_tests::fixture::Fixture;
use sapwood_tests::intercept::Intercept;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::own;
use sapwood_tests::round_trips::{Counted, RoundTrips};
use sapwood_tests::seeds::seeds;
use serde_json::{Value, json};
use tower::ServiceExt;

struct Answer {
    status: u16,
    head: Response<()>,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.head.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The last word of a problem's type.
    fn problem(&self) -> (u16, &str) {
        (self.status, self.body["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or(""))
    }
}

/// A fixture, and a source of times and names that never says the same twice.
struct Api {
    fixture: Fixture,
    revisions_mutable: bool,
    trash: bool,
    ticks: Arc<AtomicU64>,
    waits: Waits,
    round_trips: Arc<RoundTrips>,
}

fn waits(ticks: &Arc<AtomicU64>) -> Waits {
    let ticks = Arc::clone(ticks);
    Waits::new(move || 1_000_000 + ticks.load(Ordering::Relaxed))
}

impl Api {
    fn new() -> Self {
        let ticks = Arc::<AtomicU64>::default();
        Self {
            fixture: Fixture::default(),
            revisions_mutable: false,
            trash: true,
            waits: waits(&ticks),
            ticks,
            round_trips: Arc::default(),
        }
    }

    fn source(&self) -> Source {
        let (now, name) = (self.ticks.clone(), self.ticks.clone());
        let tick = |ticks: &AtomicU64| ticks.fetch_add(1, Ordering::Relaxed);
        let at = move || {
            let tick = tick(&now);
            Moment {
                at: format!("2026-01-01T00:00:00.{tick:03}Z"),
                seconds: 1_000_000 + tick,
                micros: (1_000_000 + tick) * 1_000_000,
            }
        };
        Source::new(at, move || format!("made-{}", tick(&name)))
    }

    async fn send_as(&self, caller: Caller, call: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        let (method, target) = call.split_once(' ').unwrap();
        let table = self.fixture.table().clone();
        let own = WriterState { revisions_mutable: self.revisions_mutable, trash: self.trash, source: self.source() };
        let observer = Arc::clone(&self.round_trips);
        let table = move |_| Intercept { table: table.clone(), observer: Arc::clone(&observer) };
        let state = ApiState::new(table, self.fixture.settings().clone(), self.waits.clone(), own);
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(body.into()).unwrap();
        request.extensions_mut().insert(caller);
        let response = service(router(state), Options::default()).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        Answer { status: parts.status.as_u16(), head: Response::from_parts(parts, ()), body }
    }

    async fn send(&self, call: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let media = if call.starts_with("PATCH") { "application/merge-patch+json" } else { "application/json" };
        let mut all = vec![("content-type", media)];
        all.extend(headers);
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send_as(Caller::named("anna", None), call, &all, body).await
    }

    /// Sends something that must come out so.
    async fn ok(&self, status: u16, call: &str, body: Value) -> Answer {
        let answer = self.send(call, &[], &body).await;
        assert_eq!(answer.status, status, "{call}: {}", answer.body);
        answer
    }
}

/// The status and the kind of the problem that something comes to.
async fn refused(api: &Api, call: &str, body: Value) -> (u16, String) {
    let answer = api.send(call, &[], &body).await;
    (answer.status, answer.problem().1.to_owned())
}

#[tokio::test]
async fn a_copy_is_that_of_all_that_is_below_and_is_made_once() {
    let mut api = Api::new();
    let tree = [("D", json!(null)), ("V", json!("D")), ("d", json!("V")), ("e", json!("V")), ("f", json!("e"))];
    for (id, parent) in tree {
        api.ok(201, "POST /nodes", json!({ "id": id, "parent": parent, "attributes": { "name": id } })).await;
    }
    api.fixture.settle();
    let conflict = |kind: &str| (409, kind.to_owned());
    assert_eq!(refused(&api, "POST /nodes/V/copy", json!({ "ids": "e" })).await, conflict("exists"));
    assert_eq!(refused(&api, "POST /nodes/nobody/copy", Value::Null).await.0, 404);
    assert_eq!(api.send("POST /nodes/V/copy", &[("if-match", "\"x\"")], &json!({})).await.status, 412);
    let long = json!({ "ids": "x".repeat(992) });
    assert_eq!(api.send("POST /nodes/V/copy", &[], &long).await.status, 422);

    // Below itself, and twice with one key.
    let key = [("idempotency-key", "one")];
    let wanted = json!({ "parent": "e", "ids": "acme" });
    let first = api.send("POST /nodes/V/copy", &key, &wanted).await;
    assert_eq!(first.status, 202, "{}", first.body);
    assert_eq!((&first.body["mode"], &first.body["source"]), (&json!("copy"), &json!("V")));
    assert_eq!((&first.body["node"], &first.body["copied"]), (&json!("acme"), &json!(1)));
    api.fixture.settle();
    let again = api.send("POST /nodes/V/copy", &key, &wanted).await;
    assert_eq!((again.status, &again.body, again.header("idempotency-replayed")), (202, &first.body, "true"));
    api.fixture.settle();
    let names = |api: &Api| {
        let contents = api.fixture.table().0.lock().unwrap().contents();
        let mut copies: Vec<(String, String)> = Vec::new();
        let name = |item: &sapwood_core::model::Item| match item.get("name") {
            Some(AttributeValue::S(name)) => name.clone(),
            other => panic!("{other:?}"),
        };
        for ((pk, sk), item) in &contents {
            if sk == "NODE" && pk.starts_with("acme") {
                assert!(!item.contains_key("_copying"), "{item:?}");
                let parent = match item.get("parent") {
                    Some(AttributeValue::S(parent)) => &contents[&(parent.clone(), "NODE".to_owned())],
                    other => panic!("{other:?}"),
                };
                copies.push((name(item), name(parent)));
            }
        }
        copies.sort();
        copies
    };
    let pair = |of: &str, parent: &str| (of.to_owned(), parent.to_owned());
    assert_eq!(names(&api), [pair("V", "e"), pair("d", "V"), pair("e", "V"), pair("f", "e")]);

    // As a root, and the node at the top has what the source has.
    let other = api.ok(202, "POST /nodes/V/copy", json!({ "parent": null })).await;
    assert_ne!(other.body["node"], json!("acme"));
    api.fixture.settle();
    let top = api.fixture.get(other.body["node"].as_str().unwrap(), "NODE").unwrap();
    assert_eq!((top.get("name"), top.get("parent")), (Some(&text("V")), None));
}

#[tokio::test]
async fn children_that_others_gave_one_name_are_copied_in_as_many_steps_as_any() {
    let mut delivered = Vec::new();
    for segments in [["one", "two", "three"], ["same"; 3]] {
        let settings = Settings { names: UniqueNames::Exact, ..Settings::default() };
        let mut api = Api { fixture: Fixture::new(settings, Oracle::default()), ..Api::new() };
        api.ok(201, "POST /nodes", json!({ "id": "V", "parent": null })).await;
        for (id, segment) in ["a", "b", "c"].into_iter().zip(segments) {
            api.fixture.put_node(id, Some("V"), &[("segment", text(segment))]);
        }
        api.fixture.settle();
        let before = api.fixture.delivered;
        api.ok(202, "POST /nodes/V/copy", json!({ "ids": "W", "segment": "a copy" })).await;
        api.fixture.settle();
        delivered.push(api.fixture.delivered - before);
        let contents = api.fixture.table().0.lock().unwrap().contents();
        let copies = contents.iter().filter(|((_, sk), item)| sk == "NODE" && item.contains_key("_copy_of"));
        let claims = contents.keys().filter(|(pk, sk)| pk == "W" && sk.starts_with("NAME#"));
        let names: Vec<&AttributeValue> = copies.clone().filter_map(|(_, item)| item.get("segment")).collect();
        assert_eq!((copies.count(), claims.count()), (4, 3), "{segments:?}");
        let other = if segments[0] == "same" { ["same", "same (2)", "same (3)"] } else { segments };
        assert!(other.iter().all(|name| names.contains(&&text(*name))), "{names:?}");
        let renamed = contents.values().find_map(|item| item.get("_renamed"));
        assert_eq!(renamed, (segments[0] == "same").then(|| AttributeValue::N("2".to_owned())).as_ref());
    }
    assert_eq!(delivered[0], delivered[1], "one name more or less is no step more");
}

#[tokio::test]
async fn what_goes_into_the_trash_comes_back_where_it_was_or_says_why_not() {
    let mut api = Api::new();
    for (id, parent) in [("D", json!(null)), ("V", json!("D")), ("d", json!("V")), ("W", json!("D"))] {
        api.ok(201, "POST /nodes", json!({ "id": id, "parent": parent, "attributes": { "name": id } })).await;
    }
    api.fixture.settle();
    let trashed = api.ok(200, "POST /nodes/V/trash", Value::Null).await;
    assert_eq!((&trashed.body["trashed"]["by"], &trashed.body["trashed"]["parent"]), (&json!("anna"), &json!("D")));
    assert_eq!((trashed.body.get("parent"), trashed.header("location")), (None, "/nodes/V/propagation?below=true"));
    // Once more, nothing changes.
    let again = api.ok(200, "POST /nodes/V/trash", Value::Null).await;
    assert_eq!(again.header("etag"), trashed.header("etag"));
    let conflict = |kind: &str| (409, kind.to_owned());
    assert_eq!(refused(&api, "PATCH /nodes/V", json!({ "parent": "W" })).await, conflict("in-trash"));
    assert_eq!(refused(&api, "PUT /nodes/V", json!({ "parent": "W" })).await, conflict("in-trash"));
    assert_eq!(refused(&api, "PATCH /nodes/W", json!({ "parent": "V" })).await, conflict("in-trash"));
    assert_eq!(refused(&api, "PATCH /nodes/W", json!({ "parent": "d" })).await, conflict("in-trash"));
    assert_eq!(refused(&api, "POST /nodes", json!({ "id": "x", "parent": "V" })).await, conflict("in-trash"));
    assert_eq!(refused(&api, "POST /nodes", json!({ "id": "V" })).await, conflict("exists"));
    assert_eq!(refused(&api, "DELETE /nodes/V?children=adopt", Value::Null).await, conflict("in-trash"));
    assert_eq!(refused(&api, "POST /nodes/W/restore", Value::Null).await, conflict("not-in-trash"));
    assert_eq!(refused(&api, "POST /nodes/d/restore", json!({})).await, conflict("not-in-trash"));
    api.ok(200, "PATCH /nodes/V", json!({ "attributes": { "name": "old" } })).await;
    api.fixture.settle();
    assert_eq!(refused(&api, "POST /nodes", json!({ "id": "x", "parent": "d" })).await, conflict("in-trash"));
    let back = api.ok(200, "POST /nodes/V/restore", Value::Null).await;
    assert_eq!((&back.body["parent"], back.body.get("trashed")), (&json!("D"), None));
    api.fixture.settle();

    // Its parent goes into the trash as well, and is deleted, and made anew.
    api.ok(200, "POST /nodes/V/trash", Value::Null).await;
    api.ok(200, "POST /nodes/D/trash", Value::Null).await;
    api.fixture.settle();
    assert_eq!(refused(&api, "POST /nodes/V/restore", json!({})).await, conflict("no-way-back"));
    api.ok(202, "DELETE /nodes/D?children=delete", Value::Null).await;
    api.fixture.settle();
    assert_eq!(refused(&api, "POST /nodes/V/restore", json!({})).await, conflict("no-way-back"));
    api.ok(201, "POST /nodes", json!({ "id": "D" })).await;
    api.fixture.settle();
    assert_eq!(refused(&api, "POST /nodes/V/restore", json!({})).await, conflict("no-way-back"));
    assert_eq!(api.ok(200, "POST /nodes/V/restore", json!({ "parent": null })).await.body.get("parent"), None);
    let operations = json!([{ "trash": { "id": "V" } }, { "restore": { "id": "V", "parent": "D" } }]);
    let batch = api.ok(200, "POST /batch", json!({ "operations": operations })).await;
    assert_eq!(batch.body["results"][1]["body"]["parent"], "D");
    api.fixture.settle();

    api.trash = false;
    assert_eq!(api.send("POST /nodes/V/trash", &[], &Value::Null).await.problem(), (403, "no-trash"));
}

/// The tag that a client has seen of a node in the trash is another one once the node is out, whoever took it out.
#[tokio::test]
async fn what_another_client_has_taken_out_of_the_trash_is_not_deleted_for_good() {
    let mut api = Api::new();
    for (id, parent) in [("D", json!(null)), ("V", json!("D")), ("d", json!("V"))] {
        api.ok(201, "POST /nodes", json!({ "id": id, "parent": parent })).await;
    }
    for (name, value) in [("_trashed", None), ("parent", Some(text("D")))] {
        let trashed = api.ok(200, "POST /nodes/V/trash", Value::Null).await;
        api.fixture.settle();
        let tag = trashed.header("etag").to_owned();
        // The row of the trash is there until the stream comes.
        api.fixture.update("V", "NODE", name, value);
        let purge = api.send("DELETE /nodes/V?children=delete", &[("if-match", &tag)], &Value::Null).await;
        assert_eq!(purge.problem(), (412, "precondition-failed"), "{name}");
        api.fixture.settle();
        assert!(api.fixture.get("d", "NODE").is_some());
    }
    // What the handler removes of it from a live node is seen by no client, and changes no tag.
    let record = api.fixture.get("V", "NODE").unwrap();
    assert!(!record.contains_key("_trashed") && record.contains_key("parent"), "{record:?}");
}

#[tokio::test]
async fn a_batch_puts_into_the_trash_and_takes_out_in_its_order_and_once() {
    let mut api = Api::new();
    for (id, parent) in [("D", json!(null)), ("V", json!("D")), ("W", json!("D")), ("d", json!("V"))] {
        api.ok(201, "POST /nodes", json!({ "id": id, "parent": parent })).await;
    }
    api.fixture.settle();
    let operations = json!([
        { "trash": { "id": "V" } },
        { "patch": { "id": "W", "parent": "V" } },
        { "trash": { "id": "W" } },
        { "restore": { "id": "V" } },
        { "restore": { "id": "W", "parent": "V" } },
        { "trash": { "id": "d", "if_match": "\"another\"" } },
        { "trash": { "id": "nobody" } },
        { "restore": { "id": "d" } },
    ]);
    let wanted = [200, 409, 200, 200, 200, 412, 404, 409];
    let body = json!({ "operations": operations });
    let first = api.send("POST /batch", &[("idempotency-key", "once")], &body).await;
    let statuses = |answer: &Answer| -> Vec<u64> {
        answer.body["results"].as_array().unwrap().iter().map(|one| one["status"].as_u64().unwrap()).collect()
    };
    assert_eq!(statuses(&first), wanted, "{}", first.body);
    // Sent again after others have written, it is answered as it was, and does nothing.
    api.fixture.settle();
    api.ok(200, "POST /nodes/V/trash", Value::Null).await;
    let again = api.send("POST /batch", &[("idempotency-key", "once")], &body).await;
    assert_eq!((statuses(&again), again.header("idempotency-replayed")), (wanted.to_vec(), "true"));
    api.fixture.settle();
    let said = api.fixture.get("V", "NODE").unwrap();
    assert!(said.contains_key("_trashed") && !said.contains_key("parent"), "{said:?}");
    assert_eq!(api.fixture.get("W", "NODE").unwrap()["parent"], text("V"));

    // So is a single call.
    let key = &[("idempotency-key", "back")][..];
    assert_eq!(api.send("POST /nodes/V/restore", key, &json!({})).await.status, 200);
    api.ok(200, "POST /nodes/V/trash", Value::Null).await;
    let again = api.send("POST /nodes/V/restore", key, &json!({})).await;
    assert_eq!((again.status, &again.body["parent"]), (200, &json!("D")));
    api.fixture.settle();
    assert!(api.fixture.get("V", "NODE").unwrap().contains_key("_trashed"));
}

#[tokio::test]
async fn a_name_that_a_sibling_has_is_refused_and_the_answer_says_who_has_it() {
    let settings = Settings { names: UniqueNames::Caseless, ..Settings::default() };
    let mut api = Api { fixture: Fixture::new(settings, Oracle::default()), ..Api::new() };
    api.ok(201, "POST /nodes", json!({ "id": "D" })).await;
    api.ok(201, "POST /nodes", json!({ "id": "F#1", "parent": "D", "segment": "same.txt" })).await;
    let file = json!({ "parent": "D", "segment": "Same.TXT" });
    let taken = api.send("POST /nodes", &[], &file).await;
    assert_eq!((taken.problem(), taken.header("location")), ((409, "name-taken"), "/nodes/F~231"));
    assert_eq!((&taken.body["node"], &taken.body["field"]), (&json!("F#1"), &json!("segment")));
    let new = json!({ "parent": "D", "segment": "new.txt" });
    let created = api.ok(201, "PUT /nodes/F2", new.clone()).await;
    assert_eq!(created.body["segment"], "new.txt");
    let taken = (409, "name-taken".to_owned());
    assert_eq!(refused(&api, "PUT /nodes/F3", file.clone()).await, taken);
    assert_eq!(refused(&api, "PATCH /nodes/F2", json!({ "segment": "SAME.txt" })).await, taken);
    assert_eq!(refused(&api, "POST /nodes", json!({ "id": "d" })).await, taken);
    let operations = json!([
        { "put": { "id": "F4", "parent": "D", "segment": "four" } },
        { "patch": { "id": "F2", "segment": "FOUR" } },
        { "patch": { "id": "F4", "segment": "five" } },
        { "patch": { "id": "F2", "segment": "FOUR" } },
    ]);
    let batch = api.ok(200, "POST /batch", json!({ "operations": operations })).await;
    let results = &batch.body["results"];
    assert_eq!((&results[1]["status"], &results[1]["problem"]["node"]), (&json!(409), &json!("F4")));
    assert_eq!(
        (&results[0]["status"], &results[2]["status"], &results[3]["status"]),
        (&json!(201), &json!(200), &json!(200))
    );
    api.fixture.settle();
    // What is on its way out has no name, and a new node of that name isn't its.
    api.ok(202, "DELETE /nodes/F~231?children=delete", Value::Null).await;
    api.ok(201, "POST /nodes", file).await;
    api.ok(200, "POST /nodes/F2/trash", Value::Null).await;
    api.ok(201, "POST /nodes", json!({ "id": "F5", "parent": "D", "segment": "four" })).await;
    assert_eq!(refused(&api, "POST /nodes/F2/restore", Value::Null).await, taken);
    api.ok(200, "PATCH /nodes/F2", json!({ "segment": "two" })).await;
    api.ok(200, "POST /nodes/F2/restore", Value::Null).await;
    api.fixture.settle();
}

#[tokio::test]
async fn a_node_gets_a_name_with_a_number_where_its_own_is_taken_and_it_asks_for_that() {
    let settings = Settings { names: UniqueNames::Caseless, ..Settings::default() };
    let mut api = Api { fixture: Fixture::new(settings, Oracle::default()), ..Api::new() };
    api.ok(201, "POST /nodes", json!({ "id": "D" })).await;
    api.ok(201, "POST /nodes", json!({ "id": "a", "parent": "D", "segment": "Report" })).await;
    let put = |id: &str| json!({ "id": id, "parent": "D", "segment": "report", "on_conflict": "rename" });
    let segment = |answer: &Answer| answer.body["segment"].as_str().unwrap_or_default().to_owned();
    assert_eq!(segment(&api.ok(201, "POST /nodes", put("b")).await), "report (2)");
    api.ok(201, "POST /nodes", json!({ "id": "c", "segment": "Report" })).await;
    let moved = api.ok(200, "PATCH /nodes/c", json!({ "parent": "D", "on_conflict": "rename" })).await;
    assert_eq!(segment(&moved), "Report (3)");
    let operations = json!([
        { "put": put("d") },
        { "put": { "id": "e", "parent": "D", "segment": "report" } },
        { "trash": { "id": "a" } },
        { "put": { "id": "f", "parent": "D", "segment": "report" } },
        { "restore": { "id": "a", "on_conflict": "rename" } },
        { "patch": { "id": "a", "segment": "REPORT", "on_conflict": "rename" } },
    ]);
    let batch = api.ok(200, "POST /batch", json!({ "operations": operations })).await;
    let results = batch.body["results"].as_array().unwrap();
    let statuses: Vec<u64> = results.iter().map(|result| result["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [201, 409, 200, 201, 200, 200], "{}", batch.body);
    let named = |at: usize| results[at]["body"]["segment"].clone();
    assert_eq!((named(0), named(4), named(5)), (json!("report (4)"), json!("Report (5)"), json!("REPORT (5)")));
    let taken = api.send("POST /nodes", &[], &json!({ "id": "g", "parent": "D", "segment": "REPORT" })).await;
    assert!(taken.body["detail"].as_str().unwrap().starts_with("`f` is named `report` there"), "{}", taken.body);
    api.fixture.settle();
    api.ok(202, "POST /nodes/f/copy", json!({ "ids": "copy", "on_conflict": "rename" })).await;
    let copied = api.fixture.get("copy", "NODE").unwrap();
    assert_eq!(copied["segment"], text("report (6)"));
    // A node comes back with a name that is given.
    api.ok(200, "POST /nodes/b/trash", Value::Null).await;
    assert_eq!(segment(&api.ok(200, "POST /nodes/b/restore", json!({ "segment": "other" })).await), "other");
    let wrong = json!({ "id": "g", "on_conflict": "replace" });
    assert_eq!(api.send("POST /nodes", &[], &wrong).await.body["field"], "on_conflict");
    let off = Api::new();
    let refused = off.send("POST /nodes", &[], &json!({ "id": "g", "on_conflict": "rename" })).await;
    assert_eq!((refused.problem(), &refused.body["field"]), ((422, "bad-value"), &json!("on_conflict")));
    off.ok(201, "POST /nodes", json!({ "id": "g", "on_conflict": "fail" })).await;
    api.fixture.settle();
}

#[tokio::test]
async fn a_problem_of_a_write_names_what_it_is_about() {
    let mut api = Api::new();
    api.ok(201, "POST /nodes", json!({ "id": "p" })).await;
    api.ok(201, "POST /nodes", json!({ "id": "c", "parent": "p" })).await;
    api.fixture.settle();
    for (call, body, said) in [
        ("POST /nodes", json!({ "id": "p" }), "the id `p` exists already"),
        ("PATCH /nodes/no", json!({ "parent": null }), "there is no node `no`"),
        ("DELETE /nodes/no", Value::Null, "there is no node `no`"),
        ("POST /nodes/no/copy", Value::Null, "there is no node `no`"),
        ("DELETE /nodes/p", Value::Null, "set `children` to `delete`, `adopt` or `detach`"),
    ] {
        let problem = api.send(call, &[], &body).await;
        assert!(problem.body["detail"].as_str().unwrap().contains(said), "{call}: {}", problem.body);
    }
}

#[tokio::test]
async fn a_node_is_created_replaced_patched_moved_and_deleted() {
    let mut api = Api::new();
    let created = api.ok(201, "POST /nodes", json!({ "id": "C#7", "attributes": { "name": "seven" } })).await;
    assert_eq!(created.header("location"), "/nodes/C~237");
    assert_eq!(created.body["id"], "C#7");
    assert_eq!(created.body["created_by"], "anna");
    let taken = api.send("POST /nodes", &[], &json!({ "id": "C#7" })).await;
    assert_eq!((taken.problem(), taken.header("location")), ((409, "exists"), "/nodes/C~237"));
    let made = api.ok(201, "POST /nodes", json!({ "parent": "C#7", "segment": "first" })).await;
    let id = made.body["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("made-"));
    assert_eq!(made.header("location"), format!("/nodes/{id}"));
    assert_eq!((&made.body["parent"], &made.body["segment"]), (&json!("C#7"), &json!("first")));
    let put = json!({ "parent": null, "attributes": { "digits": 1, "set": { "$set": ["a"] } } });
    assert_eq!(api.ok(201, "PUT /nodes/x", put.clone()).await.header("location"), "/nodes/x");
    let replaced = api.ok(200, "PUT /nodes/x", put).await;
    assert_eq!(replaced.header("location"), "");
    let patch = json!({ "parent": "C#7", "attributes": { "digits": null, "more": [null, { "a": 1 }] } });
    let patched = api.ok(200, "PATCH /nodes/x", patch).await;
    assert_eq!(patched.body["attributes"], json!({ "set": { "$set": ["a"] }, "more": [null, { "a": 1 }] }));
    assert_ne!(patched.header("etag"), replaced.header("etag"));
    let rooted = api.ok(200, "PATCH /nodes/x", json!({ "parent": null })).await;
    assert_eq!(rooted.body.get("parent"), None);
    let unknown = api.send("DELETE /nodes/x", &[], &Value::Null).await;
    assert_eq!(unknown.problem(), (409, "not-up-to-date"), "no row can show yet whether it has children");
    api.fixture.settle();
    let deleted = api.ok(204, "DELETE /nodes/x", Value::Null).await;
    assert_eq!(deleted.body, Value::Null);
    assert_eq!(api.send("DELETE /nodes/x", &[], &Value::Null).await.problem(), (404, "not-found"));
}

#[tokio::test]
async fn a_node_and_a_revision_are_saved_together() {
    let mut api = Api::new();
    let text = |text: &str| json!({ "topic": "Text", "attributes": { "text": text } });
    let created = api.ok(201, "POST /nodes", json!({ "id": "m", "revision": text("one") })).await;
    let appended = &created.body["revision"];
    assert_eq!((&appended["topic"], &appended["version"]), (&json!("Text"), &json!(1)));
    assert_eq!(appended.get("attributes"), None);
    let put = json!({ "parent": null, "attributes": { "pages": 2 }, "revision": text("two") });
    assert_eq!(api.ok(200, "PUT /nodes/m", put).await.body["revision"]["version"], 2);
    let only = api.ok(200, "PATCH /nodes/m", json!({ "revision": text("three") })).await;
    assert_eq!((&only.body["revision"]["version"], &only.body["attributes"]["pages"]), (&json!(3), &json!(2)));
    let put = json!({ "id": "m", "parent": null, "revision": text("four") });
    let patch = json!({ "id": "m", "attributes": { "pages": 3 }, "revision": text("five") });
    let batch = json!({ "operations": [{ "put": put }, { "patch": patch }] });
    let batch = api.ok(200, "POST /batch", batch).await;
    let versions = [0, 1].map(|at| batch.body["results"][at]["body"]["revision"]["version"].as_u64());
    assert_eq!(versions, [Some(4), Some(5)]);
    assert_eq!(api.ok(200, "PATCH /nodes/m", json!({ "attributes": { "pages": 4 } })).await.body.get("revision"), None);
    assert_eq!(api.fixture.get("m", "v003_Text").unwrap()["text"], AttributeValue::S("three".to_owned()));

    // Without the other neither is there.
    let before = contents(&api);
    let refused = |status: u16, call: &'static str, body: Value| {
        let api = &api;
        async move {
            let answer = api.send(call, &[], &body).await;
            assert_eq!(answer.status, status, "{:?}", answer.body);
            (answer.body["type"].to_string(), answer.body["field"].clone())
        }
    };
    let stale = json!({ "topic": "Text", "attributes": {}, "if_match": "\"x\"" });
    let stale = json!({ "attributes": { "pages": 9 }, "revision": stale });
    assert_eq!(refused(412, "PATCH /nodes/m", stale).await.1, "revision.if_match");
    let missing = json!({ "attributes": { "pages": 9 }, "revision": { "attributes": {} } });
    assert_eq!(refused(400, "PATCH /nodes/m", missing).await.1, "revision.topic");
    let long = json!({ "revision": { "topic": "x".repeat(1_016), "attributes": {} } });
    assert_eq!(refused(422, "PATCH /nodes/m", long).await.1, "revision.topic");
    let reserved = json!({ "attributes": { "pages": 9 }, "revision": { "topic": "Text", "attributes": { "_x": 1 } } });
    assert!(refused(422, "PATCH /nodes/m", reserved).await.0.contains("reserved-name"));
    let orphan = json!({ "parent": "nobody", "revision": text("never") });
    assert!(refused(422, "PATCH /nodes/m", orphan).await.0.contains("parent-missing"));
    refused(404, "PATCH /nodes/nobody", json!({ "revision": text("never") })).await;
    refused(409, "POST /nodes", json!({ "id": "m", "revision": text("never") })).await;
    refused(400, "POST /nodes/m/restore", json!({ "revision": text("never") })).await;
    assert_eq!(contents(&api), before);
    let etag = batch.body["results"][1]["body"]["revision"]["etag"].clone();
    let next = json!({ "topic": "Text", "attributes": {}, "if_match": etag });
    assert_eq!(api.ok(200, "PATCH /nodes/m", json!({ "revision": next })).await.body["revision"]["version"], 6);
    api.fixture.settle();
}

#[tokio::test]
async fn a_key_makes_one_revision_of_a_put_or_a_patch() {
    let api = Api::new();
    api.ok(201, "POST /nodes", json!({ "id": "m" })).await;
    let revision = json!({ "topic": "Text", "attributes": { "text": "one" } });
    let key = [("idempotency-key", "\"k\"")];
    for (call, body, version) in [
        ("PATCH /nodes/m", json!({ "revision": revision }), 1),
        ("PUT /nodes/m", json!({ "parent": null, "revision": revision }), 2),
    ] {
        let first = api.send(call, &key, &body).await;
        let again = api.send(call, &key, &body).await;
        if version == 2 {
            assert_eq!(first.problem(), (422, "idempotency-mismatch"), "the key is the other request's");
            continue;
        }
        assert_eq!((first.status, &first.body["revision"]["version"]), (200, &json!(version)));
        assert_eq!((again.status, &again.body), (200, &first.body));
        assert_eq!((first.header("idempotency-replayed"), again.header("idempotency-replayed")), ("", "true"));
    }
    // Without a revision a PATCH can be repeated by itself, and no key is kept.
    let other = [("idempotency-key", "\"other\"")];
    let before = contents(&api).len();
    for _ in 0..2 {
        let renamed = api.send("PATCH /nodes/m", &other, &json!({ "attributes": { "name": "x" } })).await;
        assert_eq!((renamed.status, renamed.header("idempotency-replayed")), (200, ""));
    }
    assert_eq!(contents(&api).len(), before);
}

/// All items of the table.
fn contents(api: &Api) -> sapwood_tests::oracle::Contents {
    api.fixture.table().0.lock().unwrap().contents()
}

/// An API whose table is ordered by hand.
fn by_hand() -> Api {
    let order = SiblingOrder::by("order").written_by_hand().unwrap();
    let settings = Settings { order: Some(order), ..Settings::default() };
    Api {
        fixture: Fixture::new(settings, Oracle { order: Some("order".to_owned()), ..Oracle::default() }),
        ..Api::new()
    }
}

/// The children of a node, in the order of their rows.
fn children(api: &mut Api, of: &str) -> Vec<String> {
    api.fixture.settle();
    let rows = api.fixture.query_begins_with(of, "CHILD#");
    api.fixture.sort_keys(&rows).iter().map(|sk| sk.rsplit('#').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_copy_beside_a_node_gets_its_parent_whatever_the_source_has() {
    let mut api = by_hand();
    api.ok(201, "POST /nodes", json!({ "id": "p", "parent": null })).await;
    api.ok(201, "POST /nodes", json!({ "id": "x", "parent": "p", "position": "last" })).await;
    // Another client's: its parent has yet to come, and the copy is to have that id.
    api.fixture.put_node("s", Some("c"), &[]);
    api.fixture.settle();
    let below_itself = refused(&api, "POST /nodes/s/copy", json!({ "ids": "c" })).await;
    assert_eq!(below_itself, (409, "cycle".to_owned()));
    api.ok(202, "POST /nodes/s/copy", json!({ "ids": "c", "position": { "after": "x" } })).await;
    api.fixture.settle();
    assert_eq!(api.fixture.get("c", "NODE").unwrap().get("parent"), Some(&text("p")));
}

#[tokio::test]
async fn siblings_are_ordered_by_hand() {
    let mut api = by_hand();
    api.ok(201, "POST /nodes", json!({ "id": "p" })).await;
    api.ok(201, "POST /nodes", json!({ "id": "a", "parent": "p", "position": "last" })).await;
    // Its row isn't there yet.
    api.ok(201, "PUT /nodes/b", json!({ "parent": "p", "position": "last" })).await;
    api.ok(201, "POST /nodes", json!({ "id": "c", "parent": "p", "position": "first" })).await;
    assert_eq!(children(&mut api, "p"), ["c", "a", "b"]);
    let put = |id: &str, place: Value| json!({ "put": { "id": id, "parent": "p", "position": place } });
    let operations = [put("d", json!({ "after": "a" })), put("e", json!({ "after": "a" })), put("f", json!("last"))];
    let batch = json!({ "operations": operations });
    let key = [("idempotency-key", "\"k\"")];
    let first = api.send("POST /batch", &key, &batch).await;
    assert_eq!(
        first.body["results"].as_array().unwrap().iter().map(|one| one["status"].as_u64()).max(),
        Some(Some(201))
    );
    let again = api.send("POST /batch", &key, &batch).await;
    assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &first.body));
    assert_eq!(children(&mut api, "p"), ["c", "a", "e", "d", "b", "f"]);
    let moved = api.ok(200, "PATCH /nodes/c", json!({ "position": { "before": "b" } })).await;
    assert_eq!(children(&mut api, "p"), ["a", "e", "d", "c", "b", "f"]);
    let again = api.ok(200, "PATCH /nodes/c", json!({ "position": { "before": "b" } })).await;
    assert_eq!(again.header("etag"), moved.header("etag"), "it is in its place already");
    // A move keeps the value, and a place with it is drag and drop.
    api.ok(200, "PATCH /nodes/c", json!({ "parent": "a" })).await;
    api.ok(200, "PATCH /nodes/c", json!({ "parent": "p", "position": { "after": "a" } })).await;
    assert_eq!(children(&mut api, "p"), ["a", "c", "e", "d", "b", "f"]);
    for (place, wanted) in
        [(json!({ "after": "nobody" }), (409, "not-a-sibling")), (json!("middle"), (400, "bad-json"))]
    {
        let answer = api.send("PATCH /nodes/a", &[], &json!({ "position": place })).await;
        assert_eq!((answer.problem(), answer.body["field"].as_str()), (wanted, Some("position")), "{place}");
    }
    api.fixture.put_node("n", Some("p"), &[("order", AttributeValue::N("1".to_owned()))]);
    assert_eq!(
        api.send("PATCH /nodes/a", &[], &json!({ "position": { "after": "n" } })).await.problem(),
        (422, "bad-value")
    );
    let off = Api::new();
    let refused = off.send("POST /nodes", &[], &json!({ "position": "first" })).await;
    assert_eq!((refused.problem(), refused.body["field"].as_str()), ((422, "bad-value"), Some("position")));
    assert!(refused.body["detail"].as_str().unwrap().contains("OrderByHand=on"), "{}", refused.body);
}

#[tokio::test]
async fn a_node_that_is_put_next_to_another_comes_under_its_parent_and_next_to_itself_stays() {
    let mut api = by_hand();
    for (id, parent) in
        [("p", Value::Null), ("q", Value::Null), ("a", json!("p")), ("b", json!("p")), ("c", json!("q"))]
    {
        api.ok(201, "POST /nodes", json!({ "id": id, "parent": parent, "position": "last" })).await;
    }
    assert_eq!(children(&mut api, "p"), ["a", "b"]);
    // Neither a `PATCH` nor a `POST` names the parent.
    let moved = api.ok(200, "PATCH /nodes/c", json!({ "position": { "before": "b" } })).await;
    assert_eq!(moved.body["parent"], "p");
    let made = api.ok(201, "POST /nodes", json!({ "id": "d", "position": { "after": "b" } })).await;
    assert_eq!(made.body["parent"], "p");
    assert_eq!(
        (children(&mut api, "p"), children(&mut api, "q")),
        (["a", "c", "b", "d"].map(str::to_owned).to_vec(), vec![])
    );
    // Next to a root it becomes one.
    assert_eq!(api.ok(200, "PATCH /nodes/d", json!({ "position": { "after": "q" } })).await.body.get("parent"), None);
    assert_eq!(children(&mut api, "p"), ["a", "c", "b"]);
    // A `PUT` names its parent always, and a parent that is named must be that of the sibling.
    let missing = api.send("PUT /nodes/d", &[], &json!({ "position": { "before": "b" } })).await;
    assert_eq!(missing.status, 400, "{}", missing.body);
    let elsewhere = api.send("PATCH /nodes/d", &[], &json!({ "parent": "q", "position": { "before": "b" } })).await;
    assert_eq!(elsewhere.problem(), (409, "not-a-sibling"));
    // Next to itself: nothing is written, and nothing refused.
    for place in [json!({ "before": "c" }), json!({ "after": "c" })] {
        let stays = api.ok(200, "PATCH /nodes/c", json!({ "position": place })).await;
        assert_eq!(stays.header("etag"), moved.header("etag"), "{place}");
    }
    let renamed =
        api.ok(200, "PATCH /nodes/c", json!({ "position": { "before": "c" }, "attributes": { "name": "new" } })).await;
    assert_eq!(renamed.body["attributes"]["name"], "new");
    assert_eq!(children(&mut api, "p"), ["a", "c", "b"]);
    // One that isn't there is next to nobody.
    let absent = api.send("POST /nodes", &[], &json!({ "id": "e", "position": { "before": "e" } })).await;
    assert_eq!((absent.problem(), absent.body["field"].as_str()), ((409, "not-a-sibling"), Some("position")));
}

#[tokio::test]
async fn links_that_cannot_be_kept_are_refused() {
    let api = Api { fixture: Fixture::new(own::settings(), own::oracle()), ..Api::new() };
    let many = |count: usize, bytes: usize| json!((0..count).map(|n| format!("{n:0bytes$}")).collect::<Vec<_>>());
    let faults = [
        ("the 101st link", many(101, 3), "101 links"),
        ("a number", json!(7), "can't be a link"),
        ("a number in a list", json!(["a", 7]), "can't be a link"),
        ("an id of 1,015 bytes", many(1, 1_015), "1 to 1,014 bytes"),
        ("more than 16 KB", many(17, 1_000), "17000 bytes together"),
    ];
    api.ok(201, "PUT /nodes/there", json!({ "parent": null, "attributes": { "tags": "a" } })).await;
    for (what, tags, detail) in &faults {
        let attributes = json!({ "tags": tags });
        let at = |id: &str| json!({ "id": id, "attributes": attributes });
        let create = api.send("POST /nodes", &[], &at("new")).await;
        let put = api.send("PUT /nodes/new", &[], &json!({ "parent": null, "attributes": attributes })).await;
        let patch = api.send("PATCH /nodes/there", &[], &json!({ "attributes": attributes })).await;
        let batch = json!({ "operations": [{ "patch": { "id": "there", "attributes": attributes } }] });
        let in_batch = api.ok(200, "POST /batch", batch).await.body["results"][0].clone();
        assert_eq!(in_batch["status"], 422, "{what}: {in_batch}");
        for answer in [create, put, patch] {
            assert_eq!(answer.problem(), (422, "bad-value"), "{what}: {}", answer.body);
            assert!(answer.body["detail"].as_str().unwrap().contains(detail), "{what}: {}", answer.body);
        }
    }
    // What just fits is kept.
    for (number, tags) in [many(100, 3), many(1, 1_014), many(16, 1_000), json!({ "$set": ["a", "b"] }), Value::Null]
        .into_iter()
        .enumerate()
    {
        api.ok(201, &format!("PUT /nodes/fits{number}"), json!({ "parent": null, "attributes": { "tags": tags } }))
            .await;
    }
}

#[tokio::test]
async fn a_link_that_was_wrong_before_is_no_fault_of_this_write() {
    let mut api = Api { fixture: Fixture::new(own::settings(), own::oracle()), ..Api::new() };
    let many = AttributeValue::L((0..101).map(|n| text(format!("{n}"))).collect());
    for (id, value) in [("number", AttributeValue::N("7".to_owned())), ("many", many)] {
        api.fixture.put_node(id, None, &[("tags", value)]);
        let body = api.ok(200, &format!("PATCH /nodes/{id}"), json!({ "attributes": { "name": "new" } })).await.body;
        let kept = json!({ "parent": null, "attributes": { "tags": body["attributes"]["tags"], "name": "newer" } });
        api.ok(200, &format!("PUT /nodes/{id}"), kept).await;
        // Another attribute's links count with them, if it changes.
        let more = api.send(&format!("PATCH /nodes/{id}"), &[], &json!({ "attributes": { "seen": "a" } })).await;
        assert_eq!(more.status, if id == "many" { 422 } else { 200 }, "{id}: {}", more.body);
        let worse = api.send(&format!("PATCH /nodes/{id}"), &[], &json!({ "attributes": { "tags": 8 } })).await;
        assert_eq!(worse.problem(), (422, "bad-value"), "{id}");
        api.ok(200, &format!("PATCH /nodes/{id}"), json!({ "attributes": { "tags": null } })).await;
    }
}

#[tokio::test]
async fn numbers_keep_38_digits() {
    let api = Api::new();
    let digits = "12345678901234567890.123456789012345678";
    let body = format!("{{\"parent\":null,\"attributes\":{{\"n\":{digits}}}}}");
    let caller = Caller::named("anna", None);
    let answer = api.send_as(caller, "PUT /nodes/a", &[("content-type", "application/json")], body).await;
    assert_eq!(answer.status, 201);
    let stored = api.fixture.table().0.lock().unwrap().contents();
    let item = &stored[&("a".to_owned(), "NODE".to_owned())];
    assert_eq!(item["n"], sapwood_core::model::AttributeValue::N(digits.to_owned()));
}

#[tokio::test]
async fn what_is_refused_says_why() {
    let mut api = Api::new();
    api.ok(201, "POST /nodes", json!({ "id": "a" })).await;
    api.ok(201, "POST /nodes", json!({ "id": "b", "parent": "a" })).await;
    api.fixture.settle();
    let long = "x".repeat(1_015);
    for (call, body, wanted, field) in [
        ("POST /nodes", json!({ "id": "a" }), (409, "exists"), "id"),
        ("POST /nodes", json!({ "parent": "nowhere" }), (422, "parent-missing"), "parent"),
        ("POST /nodes", json!({ "id": "" }), (422, "bad-key"), "id"),
        ("POST /nodes", json!({ "id": long }), (422, "bad-key"), "id"),
        ("POST /nodes", json!({ "id": 1 }), (400, "bad-json"), "id"),
        ("POST /nodes", json!({ "what": 1 }), (400, "bad-json"), "what"),
        ("POST /nodes", json!({ "attributes": { "_rev": 1 } }), (422, "reserved-name"), "attributes._rev"),
        ("POST /nodes", json!({ "attributes": { "PK": 1 } }), (422, "reserved-name"), "attributes.PK"),
        ("POST /nodes", json!({ "attributes": { "t": "x".repeat(420_000) } }), (422, "item-too-large"), "attributes"),
        ("POST /nodes", json!({ "attributes": { "s": { "$set": [] } } }), (422, "bad-value"), "attributes.s.$set"),
        ("POST /nodes", json!({ "attributes": { "t": "x".repeat(1_100_000) } }), (413, "body-too-large"), ""),
        ("PUT /nodes/c", json!({ "attributes": {} }), (400, "bad-json"), "parent"),
        ("PATCH /nodes/a", json!({ "id": "c" }), (400, "bad-json"), "id"),
        ("PATCH /nodes/a", json!({ "parent": "b" }), (409, "cycle"), "parent"),
        ("PATCH /nodes/a", json!({ "parent": "a" }), (409, "cycle"), "parent"),
        ("PATCH /nodes/nowhere", json!({}), (404, "not-found"), ""),
        ("DELETE /nodes/a", Value::Null, (409, "has-children"), "children"),
        ("DELETE /nodes/a?children=kill", Value::Null, (400, "bad-parameter"), "children"),
        ("DELETE /nodes/a?child=1", Value::Null, (400, "bad-parameter"), "child"),
        ("DELETE /nodes/a?revisions=delete", Value::Null, (403, "revisions-kept"), "revisions"),
        ("PUT /nodes/a/revisions/T/1", json!({ "attributes": {} }), (403, "revisions-kept"), ""),
        ("DELETE /nodes/a/revisions/T/1", Value::Null, (403, "revisions-kept"), ""),
        ("DELETE /nodes/a/revisions/T/0", Value::Null, (404, "not-found"), "version"),
        ("POST /nodes/a/revisions/T", json!({}), (400, "bad-json"), "attributes"),
        ("POST /batch", json!({ "operations": [] }), (400, "bad-json"), "operations"),
        ("POST /nodes/a", json!({}), (405, "method-not-allowed"), ""),
    ] {
        let answer = api.send(call, &[], &body).await;
        assert_eq!(answer.problem(), wanted, "{call} {}", answer.body["detail"]);
        assert_eq!(answer.body["field"].as_str().unwrap_or(""), field, "{call}: {}", answer.body["detail"]);
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    let caller = || Caller::named("anna", None);
    for (call, media, body, status) in [
        ("PATCH /nodes/a", "application/json", "{}", 415),
        ("POST /nodes", "text/plain", "{}", 415),
        ("POST /nodes", "application/json", "{", 400),
        ("POST /nodes", "application/json", "", 400),
    ] {
        assert_eq!(
            api.send_as(caller(), call, &[("content-type", media)], body).await.status,
            status,
            "{call} {media}"
        );
    }
}

#[tokio::test]
async fn preconditions_hold_on_every_write() {
    let mut api = Api::new();
    api.revisions_mutable = true;
    let first = api.ok(201, "PUT /nodes/a", json!({ "parent": null, "attributes": { "n": 1 } })).await;
    let tag = first.header("etag").to_owned();
    let revision = api.ok(201, "POST /nodes/a/revisions/T", json!({ "attributes": {} })).await;
    let revision_tag = revision.header("etag").to_owned();
    let put = json!({ "parent": null });
    for (call, body, name, value) in [
        ("PUT /nodes/a", put.clone(), "if-none-match", "*"),
        ("PUT /nodes/a", put.clone(), "if-match", "\"other\""),
        ("PUT /nodes/b", put.clone(), "if-match", "*"),
        ("POST /nodes", json!({}), "if-match", "*"),
        ("POST /nodes", json!({ "id": "a" }), "if-none-match", "*"),
        ("PATCH /nodes/a", json!({}), "if-match", "\"other\""),
        ("DELETE /nodes/a", Value::Null, "if-match", "\"other\""),
        ("POST /nodes/a/revisions/U", json!({ "attributes": {} }), "if-match", "*"),
        ("POST /nodes/a/revisions/T", json!({ "attributes": {} }), "if-match", "\"other\""),
        ("POST /nodes/a/revisions/T", json!({ "attributes": {} }), "if-none-match", "*"),
        ("PUT /nodes/a/revisions/T/1", json!({ "attributes": {} }), "if-match", "\"other\""),
        ("DELETE /nodes/a/revisions/T/1", Value::Null, "if-none-match", "*"),
    ] {
        let answer = api.send(call, &[(name, value)], &body).await;
        assert_eq!(answer.problem(), (412, "precondition-failed"), "{call} {name}: {}", answer.body);
        assert_eq!(answer.body["field"], name, "{call}");
    }
    let changed = api.send("PATCH /nodes/a", &[("if-match", &tag)], &json!({ "attributes": { "n": 2 } })).await;
    assert_eq!(changed.status, 200);
    assert_eq!(api.send("DELETE /nodes/a", &[("if-match", &tag)], &Value::Null).await.status, 412);
    assert_eq!(api.send("PUT /nodes/b", &[("if-none-match", "*")], &put).await.status, 201);
    let amend = json!({ "attributes": { "m": 1 } });
    assert_eq!(api.send("PUT /nodes/a/revisions/T/1", &[("if-match", &revision_tag)], &amend).await.status, 200);
    // The tag of a topic is that of its newest revision.
    let append = async |topic: &str, name: &str, value: &str| {
        api.send(&format!("POST /nodes/a/revisions/{topic}"), &[(name, value)], &json!({ "attributes": {} })).await
    };
    assert_eq!(append("T", "if-match", &revision_tag).await.status, 412, "it was amended");
    assert_eq!(append("T", "if-match", "*").await.body["version"], 2);
    assert_eq!(append("U", "if-none-match", "*").await.body["version"], 1);
    assert_eq!(append("U", "if-none-match", "*").await.status, 412);
    let now = changed.header("etag");
    api.fixture.settle();
    assert_eq!(api.send("DELETE /nodes/a", &[("if-match", now)], &Value::Null).await.status, 204);
}

#[tokio::test]
async fn revisions_are_appended_and_changed_where_that_is_allowed() {
    let mut api = Api::new();
    let call = "POST /nodes/ORDER~231/revisions/Audit~23wheel-2";
    let first = api.ok(201, call, json!({ "attributes": { "parent": "any name" } })).await;
    assert_eq!(first.header("location"), "/nodes/ORDER~231/revisions/Audit~23wheel-2/1");
    assert_eq!((&first.body["version"], &first.body["topic"]), (&json!(1), &json!("Audit#wheel-2")));
    assert_eq!(api.ok(201, call, json!({ "attributes": {} })).await.body["version"], 2);
    api.revisions_mutable = true;
    let one = "/nodes/ORDER~231/revisions/Audit~23wheel-2/1";
    let amended = api.ok(200, &format!("PUT {one}"), json!({ "attributes": { "n": 1 } })).await;
    assert_eq!(amended.body["created_at"], first.body["created_at"]);
    api.ok(204, &format!("DELETE {one}"), Value::Null).await;
    api.ok(404, &format!("DELETE {one}"), Value::Null).await;
    api.ok(404, &format!("PUT {one}"), json!({ "attributes": {} })).await;
}

#[tokio::test]
async fn a_batch_is_done_in_order_each_on_its_own() {
    let mut api = Api::new();
    api.revisions_mutable = true;
    let operations = json!({ "operations": [
        { "put": { "id": "p", "parent": null } },
        { "put": { "id": "c", "parent": "p", "attributes": { "n": 1 } } },
        { "put": { "parent": "c" } },
        { "put": { "id": "lost", "parent": "nowhere" } },
        { "patch": { "id": "c", "attributes": { "n": 2 } } },
        { "put": { "id": "odd", "parent": null, "attributes": { "_x": 1 } } },
        { "revision": { "id": "c", "topic": "T", "attributes": {} } },
        { "delete": { "id": "p", "children": "delete", "revisions": "delete" } },
        { "put": { "id": "p", "parent": null } },
        { "delete": { "id": "nobody" } },
    ] });
    let results = api.ok(200, "POST /batch", operations).await.body;
    let statuses: Vec<u64> =
        results["results"].as_array().unwrap().iter().map(|result| result["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [201, 201, 201, 422, 200, 422, 201, 202, 409, 404]);
    let result = |at: usize| &results["results"][at];
    assert_eq!(result(1)["location"], "/nodes/c");
    assert!(result(1)["etag"].is_string());
    assert_eq!(result(4)["body"]["attributes"]["n"], 2);
    assert_eq!(result(6)["body"]["version"], 1);
    assert_eq!(result(5)["problem"]["field"], "attributes._x");
    assert_eq!(result(3)["problem"]["status"], 422);
    assert!(result(7)["location"].as_str().unwrap().starts_with("/operations/made-"));
}

/// Sends operations as one batch, or each as a batch of its own. Returns what that took.
async fn batches(operations: &[Value], size: usize) -> Counted {
    let mut api = Api::new();
    api.ok(201, "PUT /nodes/p", json!({ "parent": null })).await;
    for n in 0..100 {
        api.ok(201, &format!("PUT /nodes/n{n}"), json!({ "parent": "p", "attributes": { "n": n } })).await;
    }
    api.fixture.settle();
    api.round_trips.take();
    for operations in operations.chunks(size) {
        let results = api.ok(200, "POST /batch", json!({ "operations": operations })).await.body;
        for result in results["results"].as_array().unwrap() {
            assert!(result["status"].as_u64().unwrap() < 300, "{result}");
        }
    }
    api.round_trips.take()
}

#[tokio::test]
async fn a_batch_reads_for_25_operations_at_once_and_then_only_writes() {
    type Of = fn(usize) -> Value;
    // With true each asks for rows as well: a Query each, eight at a time.
    let kinds: [(&str, Of, bool); 6] = [
        ("creates below one parent, ids of the API", |_| json!({ "put": { "parent": "p" } }), false),
        ("creates, ids of the caller", |n| json!({ "put": { "id": format!("o{n}"), "parent": "p" } }), true),
        ("creates below as many parents", |n| json!({ "put": { "parent": format!("n{n}") } }), false),
        ("nodes put again", |n| json!({ "put": { "id": format!("n{n}"), "parent": "p" } }), true),
        ("patches", |n| json!({ "patch": { "id": format!("n{n}"), "attributes": { "n": "new" } } }), false),
        ("revisions", |n| json!({ "revision": { "id": format!("n{n}"), "topic": "T", "attributes": {} } }), true),
    ];
    for (what, operation, asks_rows) in kinds {
        for count in [1, 10, 100] {
            let operations: Vec<Value> = (0..count).map(operation).collect();
            let (together, apart) = (batches(&operations, 100).await, batches(&operations, 1).await);
            println!(
                "{count} {what}: {} round trips and {:?}; each by itself {} and {:?}",
                together.round_trips, together.requests, apart.round_trips, apart.requests
            );
            assert_eq!(apart.round_trips, count * 2, "{what}");
            let reads = [0, 25, 50, 75].map(|before| count.saturating_sub(before).min(25));
            let reads = reads.map(|some| if asks_rows { some.div_ceil(8) } else { some.min(1) });
            assert_eq!(together.round_trips, count + reads.iter().sum::<usize>(), "{what}");
            assert_eq!(together.writes(), count, "{what}");
            assert!(together.requests["BatchGetItem"] <= count.div_ceil(25) * 2, "{what}: {:?}", together.requests);
        }
    }
}

#[tokio::test]
async fn a_tree_is_created_in_one_batch_without_reading_what_the_batch_has_written() {
    // Each node below the one that is a tenth of its number: ids of the caller, parents first.
    let tree = |n: usize| match n {
        0 => json!({ "put": { "id": "t0", "parent": null } }),
        _ => json!({ "put": { "id": format!("t{n}"), "parent": format!("t{}", n / 10) } }),
    };
    for (count, round_trips) in [(10, 12), (25, 28), (100, 115)] {
        let operations: Vec<Value> = (0..count).map(tree).collect();
        let (together, apart) = (batches(&operations, 100).await, batches(&operations, 1).await);
        println!(
            "a tree of {count}: {} round trips and {:?}; each by itself {} and {:?}",
            together.round_trips, together.requests, apart.round_trips, apart.requests
        );
        assert!(apart.round_trips >= 2 * count);
        assert_eq!(together.round_trips, round_trips);
    }
}

#[tokio::test]
async fn a_batch_does_the_same_as_its_operations_one_by_one() {
    for seed in seeds(40) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let size = rng.random_range(2..60);
        let operations: Vec<Value> = (0..size).map(|_| any_operation(&mut rng)).collect();
        let mut ends = Vec::new();
        for size in [100, 1] {
            let mut api = Api::new();
            for (id, parent) in [("a", Value::Null), ("b", json!("a")), ("c", json!("b")), ("d", json!("a"))] {
                api.ok(201, &format!("PUT /nodes/{id}"), json!({ "parent": parent })).await;
            }
            api.fixture.settle();
            let mut results = Vec::new();
            for operations in operations.chunks(size) {
                let answer = api.ok(200, "POST /batch", json!({ "operations": operations })).await.body;
                results.extend(answer["results"].as_array().unwrap().iter().map(plain));
            }
            api.fixture.settle();
            let table = api.fixture.table().0.lock().unwrap().contents();
            let rows: Vec<_> = table.into_keys().filter(|(pk, _)| !pk.starts_with("OPERATIONS")).collect();
            ends.push((results, rows));
        }
        for (n, (together, apart)) in ends[0].0.iter().zip(&ends[1].0).enumerate() {
            assert_eq!(together, apart, "seed {seed}, operation {n} of {operations:#?}");
        }
        assert_eq!(ends[0].1, ends[1].1, "seed {seed}: {operations:#?}");
    }
}

/// An operation on a few nodes, some of which don't exist. None of them waits for rows.
fn any_operation(rng: &mut SmallRng) -> Value {
    let id = |rng: &mut SmallRng| ["a", "b", "c", "d", "e", "f", "g"][rng.random_range(0..7)];
    let (of, other, number) = (id(rng), id(rng), rng.random_range(0..3));
    match rng.random_range(0..11) {
        0..=2 => json!({ "put": { "id": of, "parent": other, "attributes": { "n": number } } }),
        3 => json!({ "put": { "id": of, "parent": null, "attributes": { "n": number } } }),
        4 | 5 => json!({ "patch": { "id": of, "attributes": { "n": number, "m": null } } }),
        6 => json!({ "patch": { "id": of, "parent": other } }),
        7 => json!({ "patch": { "id": of, "parent": null, "attributes": null } }),
        8 => json!({ "revision": { "id": of, "topic": (["T", "U"][number % 2]), "attributes": { "n": number } } }),
        9 => json!({ "delete": { "id": of, "children": (["delete", "adopt", "detach"][number]) } }),
        _ => json!({ "patch": { "id": of, "if_match": "\"stale\"", "attributes": { "n": number } } }),
    }
}

/// A result without what differs from one run to the next: times, and names that are made.
fn plain(result: &Value) -> Value {
    let body = &result["body"];
    let problem = &result["problem"];
    json!([
        result["status"],
        // An operation's id is made anew each time.
        if result["status"] == 202 { &Value::Null } else { &body["id"] },
        body["parent"],
        body["attributes"],
        body["version"],
        problem["type"],
        problem["field"]
    ])
}

#[tokio::test]
async fn a_deletion_of_a_subtree_answers_with_its_operation() {
    let mut api = Api::new();
    api.ok(201, "POST /nodes", json!({ "id": "a" })).await;
    api.ok(201, "POST /nodes", json!({ "id": "b", "parent": "a" })).await;
    api.fixture.settle();
    let begun = api.ok(202, "DELETE /nodes/a?children=delete", Value::Null).await;
    let place = begun.header("location").to_owned();
    assert_eq!(
        (&begun.body["status"], &begun.body["mode"], &begun.body["node"]),
        (&json!("running"), &json!("delete"), &json!("a"))
    );
    let id = place.strip_prefix("/operations/").unwrap();
    assert!(begun.body["id"] == id && api.fixture.get("OPERATIONS", &format!("OPERATION#{id}")).is_some());
    api.ok(409, "PATCH /nodes/a", json!({ "attributes": { "n": 1 } })).await;
    api.ok(409, "POST /nodes", json!({ "parent": "a" })).await;
}

#[tokio::test]
async fn the_same_key_and_body_give_the_same_answer_and_do_it_once() {
    let api = Api::new();
    let key = [("idempotency-key", "one")];
    let body = json!({ "attributes": { "n": 1 } });
    let first = api.send("POST /nodes", &key, &body).await;
    assert_eq!(first.status, 201);
    let again = api.send("POST /nodes", &key, &body).await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    for name in ["location", "etag"] {
        assert_eq!(again.header(name), first.header(name));
    }
    let other = api.send("POST /nodes", &key, &json!({})).await;
    assert_eq!(other.problem(), (422, "idempotency-mismatch"));
    let elsewhere = api.send("POST /nodes/a/revisions/T", &key, &body).await;
    assert_eq!(elsewhere.problem(), (422, "idempotency-mismatch"));
    let caller = Caller::named("bert", None);
    let headers = [("content-type", "application/json"), key[0]];
    let his = api.send_as(caller, "POST /nodes", &headers, body.to_string()).await;
    assert_eq!(his.status, 201);
    assert_ne!(his.body["id"], first.body["id"], "another caller's key");
    let key = [("idempotency-key", "two")];
    for _ in 0..2 {
        let revision = api.send("POST /nodes/a/revisions/T", &key, &body).await;
        assert_eq!((revision.status, &revision.body["version"]), (201, &json!(1)));
    }
    // What was refused may come again with the same key.
    let key = [("idempotency-key", "three")];
    let orphan = json!({ "id": "c", "parent": "p" });
    assert_eq!(api.send("POST /nodes", &key, &orphan).await.status, 422);
    api.ok(201, "POST /nodes", json!({ "id": "p" })).await;
    assert_eq!(api.send("POST /nodes", &key, &orphan).await.status, 201);
}

#[tokio::test]
async fn a_batch_with_a_key_is_done_once_even_where_it_was_cut_in_the_middle() {
    let api = Api::new();
    let key = [("idempotency-key", "one")];
    let revision = json!({ "revision": { "id": "a", "topic": "T", "attributes": {} } });
    let body = json!({ "operations": [revision, revision, { "put": { "parent": null } }] });
    let first = api.send("POST /batch", &key, &body).await;
    assert_eq!(first.status, 200);
    // As if the function had died before it could keep the answer as a whole.
    let memory = api.fixture.table().0.clone();
    let whole = memory.lock().unwrap().contents().into_iter().find(|((pk, _), item)| {
        pk.starts_with("IDEMPOTENCY#") && matches!(item.get("_outcome"), Some(sapwood_core::model::AttributeValue::B(answer)) if answer.starts_with(b"{\"results\""))
    });
    let ((pk, sk), _) = whole.unwrap();
    memory.lock().unwrap().write(&sapwood_core::keys::ItemKey::new(pk, sk), None);
    let again = api.send("POST /batch", &key, &body).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(api.send("POST /batch", &key, &body).await.body, first.body);
    assert_eq!(api.ok(201, "POST /nodes/a/revisions/T", json!({ "attributes": {} })).await.body["version"], 3);
}

#[tokio::test]
async fn an_answer_is_held_until_the_rows_are_right_or_the_time_is_up() {
    let mut api = Api::new();
    let wait = [("prefer", "wait=1")];
    let early = api.send("PUT /nodes/a", &wait, &json!({ "parent": null })).await;
    assert_eq!((early.status, early.header("preference-applied")), (202, "wait=1"));
    assert_eq!(early.body["id"], "a");
    let requests = |answer: &Answer| answer.head.extensions().get::<Usage>().unwrap().requests;
    // A look at a node that isn't placed is one request.
    assert!((6..15).contains(&requests(&early)), "{} requests", requests(&early));
    // The fan-out is behind: nobody waits for it in vain for a while, and there is one look.
    let soon = api.send("PATCH /nodes/a", &wait, &json!({ "attributes": { "n": 1 } })).await;
    assert_eq!((soon.status, requests(&soon)), (202, 3));
    api.ticks.fetch_add(10, Ordering::Relaxed);
    let later = api.send("PATCH /nodes/a", &wait, &json!({ "attributes": { "n": 2 } })).await;
    assert!(later.status == 202 && requests(&later) >= 6, "{} requests", requests(&later));
    assert_eq!(api.ok(200, "PATCH /nodes/a", json!({})).await.header("preference-applied"), "");
    api.fixture.settle();
    let same = api.send("PATCH /nodes/a", &wait, &json!({})).await;
    assert_eq!((same.status, same.header("preference-applied")), (200, "wait=1"));
    let late = api.send("POST /nodes/a/revisions/T", &wait, &json!({ "attributes": {} })).await;
    assert_eq!(late.status, 202);
    let batch = json!({ "operations": [{ "patch": { "id": "a" } }] });
    assert_eq!(api.send("POST /batch", &wait, &batch).await.status, 200);
}

#[tokio::test]
async fn a_tenant_reaches_nothing_of_another() {
    let settings = Settings { schema: Schema::new(Names::default(), true).unwrap(), ..Settings::default() };
    let api = Api {
        fixture: Fixture::new(settings, Oracle { tenants: true, ..Oracle::default() }),
        revisions_mutable: true,
        trash: true,
        ..Api::new()
    };
    let send = async |tenant: &str, call: &str, headers: &[(&str, &str)], body: Value| {
        let caller = Caller::named("anna", Some(Tenant::new(tenant).unwrap()));
        let media = if call.starts_with("PATCH") { "application/merge-patch+json" } else { "application/json" };
        let mut all = vec![("content-type", media)];
        all.extend(headers);
        api.send_as(caller, call, &all, if body.is_null() { String::new() } else { body.to_string() }).await.status
    };
    let key = [("idempotency-key", "one")];
    assert_eq!(send("x", "POST /nodes", &key, json!({ "id": "a" })).await, 201);
    assert_eq!(send("y", "POST /nodes", &key, json!({ "id": "b" })).await, 201, "a key of another tenant's");
    assert_eq!(send("y", "PATCH /nodes/a", &[], json!({})).await, 404);
    assert_eq!(send("y", "DELETE /nodes/a", &[], Value::Null).await, 404);
    for parent in ["a", "TENANT#x#a"] {
        assert_eq!(send("y", "POST /nodes", &[], json!({ "parent": parent })).await, 422);
        let batch = json!({ "operations": [{ "put": { "id": "c", "parent": parent } }] });
        assert_eq!(send("y", "POST /batch", &[], batch).await, 200);
    }
    let contents = api.fixture.table().0.lock().unwrap().contents();
    let bases: Vec<&str> = contents.keys().filter(|(_, sk)| sk == "NODE").map(|(pk, _)| pk.as_str()).collect();
    assert_eq!(bases, ["TENANT#x#a", "TENANT#y#b"]);
    assert_eq!(contents[&("TENANT#x#a".to_owned(), "NODE".to_owned())]["_created_by"], text("anna"));
}

/// A node that isn't placed holds up those who wait in its tenant, and nobody else.
#[tokio::test]
async fn a_wait_in_vain_keeps_no_other_tenant_from_waiting() {
    let settings = Settings { schema: Schema::new(Names::default(), true).unwrap(), ..Settings::default() };
    let api = Api { fixture: Fixture::new(settings, Oracle { tenants: true, ..Oracle::default() }), ..Api::new() };
    let requests = async |tenant: &str, id: &str| {
        let caller = Caller::named("anna", Some(Tenant::new(tenant).unwrap()));
        let headers = [("content-type", "application/json"), ("prefer", "wait=1")];
        let answer = api.send_as(caller, &format!("PUT /nodes/{id}"), &headers, r#"{"parent": null}"#).await;
        assert_eq!(answer.status, 202);
        answer.head.extensions().get::<Usage>().unwrap().requests
    };
    assert!(requests("x", "a").await >= 6);
    assert!(requests("x", "b").await < 6, "there is one look");
    assert!(requests("y", "a").await >= 6, "this one waits");
}

#[tokio::test]
async fn a_batch_whose_results_are_too_long_leaves_out_what_was_written() {
    const LARGE: usize = 20;
    let api = Api::new();
    for n in 0..LARGE {
        api.ok(201, &format!("PUT /nodes/n{n}"), json!({ "parent": null, "attributes": { "a": "x".repeat(390_000) } }))
            .await;
    }
    let patches: Vec<Value> =
        (0..LARGE).map(|n| json!({ "patch": { "id": format!("n{n}"), "attributes": { "b": 1 } } })).collect();
    let last = json!({ "delete": { "id": "n0", "children": "delete" } });
    let operations = [&patches[..], &[last]].concat();
    let body = json!({ "operations": operations });
    let key = [("idempotency-key", "large")];
    let first = api.send("POST /batch", &key, &body).await;
    assert_eq!(first.status, 200);
    let length = first.body.to_string().len();
    assert!((1_500_000..3_000_000).contains(&length), "{length} bytes");
    let results = first.body["results"].as_array().unwrap();
    let (patched, deleted) = results.split_at(LARGE);
    assert!(patched.iter().all(|result| result["status"] == 200 && result["etag"].is_string()));
    let with_body = patched.iter().filter(|result| result.get("body").is_some()).count();
    assert_eq!(with_body, 2_500_000 / 390_200);
    // An operation can't be asked for without its id.
    assert_eq!((&deleted[0]["status"], &deleted[0]["body"]["status"]), (&json!(202), &json!("running")));
    assert_eq!(api.send("POST /batch", &key, &body).await.body, first.body);

    let minimal = [("prefer", "return=minimal")];
    let answer = api
        .send(
            "POST /batch",
            &minimal,
            &json!({ "operations": [&patches[1], { "put": { "id": "new", "parent": null } }] }),
        )
        .await;
    assert_eq!((answer.status, answer.header("preference-applied")), (200, "return=minimal"));
    let [patched, put] = &answer.body["results"].as_array().unwrap()[..] else { panic!("{}", answer.body) };
    assert!(patched["etag"].is_string() && patched.get("body").is_none() && patched["status"] == 200);
    assert!(put["location"] == "/nodes/new" && put.get("body").is_none() && put["status"] == 201);
}

#[tokio::test]
async fn a_minimal_answer_has_no_body() {
    let mut api = Api::new();
    let minimal = [("prefer", "return=minimal")];
    let created = api.send("PUT /nodes/a", &minimal, &json!({ "parent": null })).await;
    assert_eq!((created.status, created.header("location"), &created.body), (204, "/nodes/a", &Value::Null));
    let patched = api.send("PATCH /nodes/a", &minimal, &json!({ "attributes": { "n": 1 } })).await;
    assert_eq!(
        (patched.status, patched.header("preference-applied"), &patched.body),
        (204, "return=minimal", &Value::Null)
    );
    assert!(!patched.header("etag").is_empty());
    let both = [("prefer", "return=minimal, wait=1")];
    // Generated clients expect a body with 202.
    let early = api.send("PATCH /nodes/a", &both, &json!({ "attributes": { "n": 2 } })).await;
    assert_eq!((early.status, early.header("preference-applied"), &early.body["id"]), (202, "wait=1", &json!("a")));
    api.fixture.settle();
    let going = api.send("DELETE /nodes/a?children=delete", &minimal, &Value::Null).await;
    assert_eq!((going.status, &going.body["status"]), (202, &json!("running")));
}

#[tokio::test]
async fn a_node_whose_json_could_not_be_answered_is_refused() {
    let api = Api::new();
    let caller = || Caller::named("anna", None);
    let media = [("content-type", "application/merge-patch+json")];
    // DynamoDB keeps such a number in two bytes.
    let numbers = format!("{{\"attributes\":{{\"n\":[{}1]}}}}", "1e125,".repeat(20_000));
    api.ok(201, "PUT /nodes/a", json!({ "parent": null })).await;
    let answer = api.send_as(caller(), "PATCH /nodes/a", &media, numbers.clone()).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.to_string().len() < 2 * numbers.len());

    // Each is a byte there, and 15 in JSON: one request's fit into a node, and not those of all.
    let empty = format!("[{}null]", "{\"$binary\":\"\"},".repeat(60_000));
    let mut answers = Vec::new();
    for n in 0..5 {
        let body = format!("{{\"attributes\":{{\"n\":null,\"b{n}\":{empty}}}}}");
        answers.push(api.send_as(caller(), "PATCH /nodes/a", &media, body).await);
    }
    assert_eq!(answers[0].status, 200);
    let refused = answers.iter().find(|answer| answer.status != 200).unwrap();
    assert_eq!(refused.problem(), (422, "item-too-large"));
    assert!(refused.body["detail"].as_str().unwrap().contains("as JSON"), "{}", refused.body);
}

#[tokio::test]
async fn a_deletion_with_a_key_is_answered_again_and_one_without_is_led_to_the_operation() {
    let mut api = Api::new();
    for id in ["a", "b", "leaf"] {
        api.ok(201, &format!("PUT /nodes/{id}"), json!({ "parent": null })).await;
    }
    api.fixture.settle();
    let key = [("idempotency-key", "one")];
    let first = api.send("DELETE /nodes/a?children=delete", &key, &Value::Null).await;
    assert_eq!(first.status, 202);
    let again = api.send("DELETE /nodes/a?children=delete", &key, &Value::Null).await;
    assert_eq!((again.status, &again.body, again.header("location")), (202, &first.body, first.header("location")));
    let other = api.send("DELETE /nodes/a?children=adopt", &key, &Value::Null).await;
    assert_eq!(other.problem(), (422, "idempotency-mismatch"));
    let without = api.send("DELETE /nodes/a?children=delete", &[], &Value::Null).await;
    assert_eq!((without.problem(), without.header("location")), ((409, "deleting"), first.header("location")));
    let below = api.send("PUT /nodes/c", &[], &json!({ "parent": "a" })).await;
    assert_eq!((below.problem(), below.header("location")), ((409, "deleting"), first.header("location")));
    let key = [("idempotency-key", "two")];
    for _ in 0..2 {
        assert_eq!(api.send("DELETE /nodes/leaf", &key, &Value::Null).await.status, 204);
    }
}

#[tokio::test]
async fn a_key_holds_for_a_role_whatever_its_session_and_not_for_another() {
    let api = Api::new();
    let create = async |name: &str| {
        let caller = Caller::named(name, None);
        let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
        let answer = api.send_as(caller, "POST /nodes", &headers, "{}").await;
        assert_eq!(answer.status, 201);
        answer.body["id"].as_str().unwrap().to_owned()
    };
    let role = |session: &str| format!("arn:aws:sts::111122223333:assumed-role/importer/{session}");
    let first = create(&role("task-1")).await;
    assert_eq!(create(&role("task-2")).await, first);
    for other in
        ["arn:aws:sts::111122223333:assumed-role/other/task-1", "arn:aws:iam::111122223333:user/task-1", "anna"]
    {
        assert_ne!(create(other).await, first, "{other}");
    }
}

#[tokio::test]
async fn a_batch_keeps_no_refusal_that_may_pass() {
    let mut api = Api::new();
    api.ok(201, "PUT /nodes/a", json!({ "parent": null })).await;
    let batch = json!({ "operations": [{ "delete": { "id": "a" } }] });
    let key = [("idempotency-key", "one")];
    let early = api.send("POST /batch", &key, &batch).await;
    assert_eq!(early.body["results"][0]["problem"]["type"], "urn:sapwood:problem:not-up-to-date");
    api.fixture.settle();
    let later = api.send("POST /batch", &key, &batch).await;
    assert_eq!((later.header("idempotency-replayed"), &later.body["results"][0]["status"]), ("", &json!(204)));
    let again = api.send("POST /batch", &key, &batch).await;
    assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &later.body));
}

#[test]
fn names_of_operations_sort_by_time_and_differ() {
    let at = |micros| {
        let moment = Moment { at: String::new(), seconds: 0, micros };
        let name = || Source::system().name();
        Source::new(move || moment.clone(), name).operation()
    };
    let begun = 1_795_251_900_123_456;
    let times = [0, begun, begun + 1, begun + 543, begun + 544, begun + 1_000_000];
    let names: Vec<String> = times.into_iter().map(at).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(names.iter().all(|name| name.len() == 36 && &name[14..15] == "7"), "{names:?}");
    assert_ne!(at(begun), at(begun));
    let named = Source::new(|| Moment { at: String::new(), seconds: 0, micros: 0 }, || "o1".to_owned());
    assert_eq!(named.operation(), "o1");
}

#[test]
fn every_operation_has_a_route_to_its_function_in_the_template() {
    let template = sapwood_tests::running::TEMPLATE;
    let mut routes = Vec::new();
    for resource in template.split("\n\n").filter(|resource| resource.contains("Type: AWS::ApiGatewayV2::Route\n")) {
        let value = |name: &str| resource.split_once(name).unwrap().1.lines().next().unwrap().trim().to_owned();
        let (method, path) = value("RouteKey: ").split_once(' ').map(|(m, p)| (m.to_owned(), p.to_owned())).unwrap();
        routes.push((method, path, value("Target: !Sub integrations/${").contains("Reader")));
    }
    for operation in operations() {
        // `{proxy+}` takes a segment or more, so it isn't the root.
        let is_taken = |path: &str| if path == "/{proxy+}" { operation.path != "/" } else { path == operation.path };
        let is_read = matches!(operation.function, Function::Reader(_));
        let mut found =
            routes.iter().filter(|(method, path, _)| *method == *operation.method.as_str() && is_taken(path));
        assert!(found.any(|(_, _, reads)| *reads == is_read), "{} {}", operation.method, operation.path);
    }
}
