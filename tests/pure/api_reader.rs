//! The reading function as a client sees it: every call, its parameters, its cursors and its errors, over rows that the
//! real fan-out has written.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::response::Parts;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use proptest::prelude::*;
use sapwood_api::caller::Caller;
use sapwood_api::contract::{Function, operations};
use sapwood_api::cursor::CursorKey;
use sapwood_api::feed::KnownFeed;
use sapwood_api::reads;
use sapwood_api::wait::Waits;
use sapwood_core::keys::{Names, Schema, Tenant};
use sapwood_core::model::{AttributeValue, Item, Settings, Totals, UniqueNames, number, size_estimate, text};
use sapwood_engine::query::Derived;
use sapwood_http::serve::{Options, service};
use sapwood_json::Attributes;
use sapwood_store::Usage;
use sapwood_tests::fixture::Fixture;
use sapwood_tests::intercept::{self, Intercept, Observer};
use sapwood_tests::lines::Lines;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::own;
use serde_json::{Value, json};
use tower::ServiceExt;

struct Answer {
    status: StatusCode,
    response: Response<()>,
    body: Value,
}

/// Asks a function over this fixture's table, made anew each time: nothing is kept between requests.
async fn send(fixture: &Fixture, tenant: Option<&str>, target: &str, headers: &[(&str, &str)]) -> Answer {
    answer_of(send_raw(fixture, fixture.settings(), tenant, target, headers).await)
}

/// The same with other settings than those that the rows were made with.
async fn send_with(fixture: &Fixture, settings: &Settings, target: &str) -> Answer {
    answer_of(send_raw(fixture, settings, None, target, &[]).await)
}

fn answer_of((parts, bytes): (Parts, Vec<u8>)) -> Answer {
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
    Answer { status: parts.status, response: Response::from_parts(parts, ()), body }
}

async fn send_raw(
    fixture: &Fixture,
    settings: &Settings,
    tenant: Option<&str>,
    target: &str,
    headers: &[(&str, &str)],
) -> (Parts, Vec<u8>) {
    let table = fixture.table().clone();
    let cursors = CursorKey::new(b"the secret of these tests").unwrap();
    let own = reads::ReaderState { cursors, feed: KnownFeed::default() };
    let state = reads::ApiState::new(move |_| table.clone(), settings.clone(), Waits::system(), own);
    let mut request = Request::builder().uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    let tenant = tenant.map(|tenant| Tenant::new(tenant).unwrap());
    request.extensions_mut().insert(Caller::named("anna", tenant));
    let response = service(reads::router(state), Options::default()).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    (parts, body.collect().await.unwrap().to_bytes().to_vec())
}

async fn get(fixture: &Fixture, target: &str) -> Answer {
    send(fixture, None, target, &[]).await
}

async fn body(fixture: &Fixture, target: &str) -> Value {
    let answer = get(fixture, target).await;
    assert_eq!(answer.status, StatusCode::OK, "{target}: {}", answer.body);
    answer.body
}

#[tokio::test]
async fn a_list_shows_what_records_say_where_it_is_asked_to() {
    let fixture = fixture();
    // Each list, with the path of one of its items and the id or the topic of that.
    for (list, of, name) in [
        ("/roots", "/nodes/D", "D"),
        ("/nodes/D/children", "/nodes/ORDER~231", "ORDER#1"),
        ("/nodes/D/children?order=asc", "/nodes/ORDER~231", "ORDER#1"),
        ("/nodes/D/descendants", "/nodes/ITEM~232", "ITEM#2"),
        ("/nodes/ITEM~231/ancestors", "/nodes/D", "D"),
        ("/nodes/t/links/tags", "/nodes/ITEM~231", "ITEM#1"),
        ("/paths/D", "/nodes/ORDER~231", "ORDER#1"),
        ("/paths/D/first~20order", "/nodes/ITEM~231", "ITEM#1"),
        ("/nodes/D/latest", "/nodes/D/revisions/Audit~23a/2", "Audit#a"),
    ] {
        let joint = if list.contains('?') { '&' } else { '?' };
        let plain = body(&fixture, list).await;
        let expanded = body(&fixture, &format!("{list}{joint}expand=record")).await;
        let one = |list: &Value| -> Value {
            let items = list["items"].as_array().unwrap().iter();
            items.clone().find(|item| item["id"] == name || item["topic"] == name).unwrap().clone()
        };
        assert_eq!(one(&plain)["record"], Value::Null, "{list}");
        let whole = get(&fixture, of).await;
        let mut wanted = json!({"etag": whole.response.headers()["etag"].to_str().unwrap()});
        for field in ["segment", "created_at", "created_by", "updated_at", "updated_by"] {
            if let Some(value) = whole.body.get(field) {
                wanted[field] = value.clone();
            }
        }
        let mut found = one(&expanded);
        assert_eq!(found["record"], wanted, "{list}");
        found.as_object_mut().unwrap().remove("record");
        assert_eq!(found, one(&plain), "{list}");
    }
    let latest = body(&fixture, "/nodes/D/latest/Audit~23a?expand=record").await;
    assert_eq!(latest["record"]["created_at"], "2026-02-03T04:05:06.789Z");
    assert_eq!(get(&fixture, "/nodes/D/children?expand=latest").await.status.as_u16(), 400);
}

#[tokio::test]
async fn a_list_shows_what_meets_its_conditions_and_goes_on_where_it_stopped() {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    fixture.put_node("D", None, &[("kind", text("drive"))]);
    for n in 0..60 {
        let kind = if n % 20 == 7 { "folder" } else { "file" };
        let attributes = [("kind", text(kind)), ("size", number(n)), ("tags", text("t"))];
        fixture.put_node(&format!("n{n:02}"), Some("D"), &attributes);
    }
    fixture.settle();
    let all = async |list: &str| {
        let (mut ids, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = body(&fixture, &format!("{list}{cursor}")).await;
            pages += 1;
            ids.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
            match page["cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return (ids, pages),
            }
        }
    };
    for list in [
        "/nodes/D/children?where=kind:eq:folder&limit=1",
        "/nodes/D/children?order=asc&where=kind:eq:folder",
        "/nodes/D/descendants?where=kind:ne:file&fields=size",
        "/nodes/t/links/tags?where=kind:eq:folder&limit=2",
    ] {
        assert_eq!(all(list).await.0, ["n07", "n27", "n47"], "{list}");
    }
    assert_eq!(all("/nodes/D/children?where=kind:eq:folder&where=size:gt:7&where=size:lt:47").await.0, ["n27"]);
    assert_eq!(all("/roots?where=kind:eq:drive").await.0, ["D"]);
    assert_eq!(all("/roots?where=kind:missing").await.0, Vec::<String>::new());
    let shown = body(&fixture, "/nodes/D/children?where=kind:eq:folder&fields=size").await;
    assert_eq!(shown["items"][0]["attributes"], json!({"size": 7}), "what a condition is about needn't be shown");
    // The conditions are a part of the query.
    let first = body(&fixture, "/nodes/D/children?where=kind:eq:file&limit=1").await;
    let target = format!("/nodes/D/children?limit=1&cursor={}", first["cursor"].as_str().unwrap());
    assert_eq!(get(&fixture, &target).await.body["type"], "urn:sapwood:problem:bad-cursor");
    // Rows have neither.
    let of_records = ["where=updated_at:gt:2026", "where=_rev:eq:1"];
    for wrong in ["where=kind", "where=", "where=kind:like:x", "where=:eq:x"].into_iter().chain(of_records) {
        let refused = get(&fixture, &format!("/nodes/D/children?{wrong}")).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.body["field"]),
            (400, &json!("where")),
            "{wrong}: {}",
            refused.body
        );
    }
}

/// A folder with files of several kinds, of which one has neither a name nor a size.
fn folder(settings: Settings) -> Fixture {
    let mut fixture = Fixture::new(settings, own::oracle());
    fixture.put_node("D", None, &[("kind", text("drive"))]);
    fixture.put_node("E", None, &[("kind", text("archive"))]);
    for (id, kind, name, size) in [
        ("a", "file", "beta", "3"),
        ("b", "folder", "Alpha", "20"),
        ("c", "file", "alpha", "100"),
        ("d", "folder", "Beta", "-4"),
    ] {
        let attributes = [("kind", text(kind)), ("name", text(name)), ("size", AttributeValue::N(size.to_owned()))];
        fixture.put_node(id, Some("D"), &attributes);
    }
    fixture.put_node("e", Some("D"), &[("kind", text("file"))]);
    fixture.settle();
    fixture
}

#[tokio::test]
async fn siblings_are_sorted_as_they_are_asked_for_whatever_order_is_kept() {
    for settings in [own::settings(), Settings { order: None, ..own::settings() }] {
        let keeps = settings.order.clone();
        let fixture = folder(own::settings());
        for (list, wanted) in [
            ("/nodes/D/children?order_by=size", "d a b c e"),
            ("/nodes/D/children?order_by=size&order=desc", "e c b a d"),
            ("/nodes/D/children?order_by=name", "b d c a e"),
            ("/nodes/D/children?order_by=name:caseless", "b c a d e"),
            ("/nodes/D/children?order_by=kind,name:caseless", "c a e b d"),
            ("/nodes/D/children?order_by=kind,name:caseless&order=desc", "d b e a c"),
            ("/nodes/D/children?order_by=size&where=kind:eq:file", "a c e"),
            ("/nodes/D/children?order_by=size&fields=kind&consistent=true", "d a b c e"),
            ("/nodes/D/children?order_by=size&expand=record", "d a b c e"),
            ("/nodes/D/children?order_by=nothing", "a b c d e"),
            ("/nodes/a/children?order_by=size", ""),
            ("/roots?order_by=kind", "E D"),
            ("/roots?order_by=kind&order=desc", "D E"),
        ] {
            for limit in [1, 2, 1_000] {
                let (mut ids, mut cursor) = (Vec::new(), String::new());
                loop {
                    let page = send_with(&fixture, &settings, &format!("{list}&limit={limit}{cursor}")).await;
                    assert_eq!(page.status.as_u16(), 200, "{list}: {}", page.body);
                    let items = page.body["items"].as_array().unwrap();
                    assert!(items.len() <= limit && (cursor.is_empty() || !items.is_empty()), "{list}");
                    ids.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
                    match page.body["cursor"].as_str() {
                        Some(next) => cursor = format!("&cursor={next}"),
                        None => break,
                    }
                }
                assert_eq!(ids.join(" "), wanted, "{list} by {limit}, with {keeps:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_order_that_is_kept_is_read_from_its_rows() {
    let fixture = folder(own::settings());
    for (asked, same) in [
        ("order_by=name", "order=asc"),
        ("order_by=name&order=desc", "order=desc"),
        ("order_by=name&from=B&to=a", "order=asc&from=B&to=a"),
    ] {
        let page = |of: &str| format!("/nodes/D/children?{of}&limit=2");
        let first = body(&fixture, &page(asked)).await;
        assert_eq!(first["items"], body(&fixture, &page(same)).await["items"]);
        // It is the same list, so either goes on.
        let Some(cursor) = first["cursor"].as_str() else { continue };
        body(&fixture, &format!("{}&cursor={cursor}", page(same))).await;
    }
}

#[tokio::test]
async fn what_cannot_be_sorted_is_refused() {
    let mut fixture = folder(Settings { never_copied: ["secret".to_owned()].into(), ..own::settings() });
    for (asked, field) in [
        ("order_by=", "order_by"),
        ("order_by=_id", "order_by"),
        ("order_by=parent", "order_by"),
        ("order_by=a,b,c,d,e", "order_by"),
        ("order_by=secret", "order_by"),
        ("order_by=size&from=3", "from"),
        ("order_by=size&values=number", "values"),
        ("order_by=size&order=up", "order"),
        ("order_by=size&cursor=x", "cursor"),
    ] {
        for list in ["/nodes/D/children", "/roots"] {
            let refused = get(&fixture, &format!("{list}?{asked}")).await;
            assert_eq!(
                (refused.status.as_u16(), &refused.body["field"]),
                (400, &json!(field)),
                "{asked}: {}",
                refused.body
            );
        }
    }
    assert_eq!(get(&fixture, "/nodes/nobody/children?order_by=size").await.status.as_u16(), 404);
    // With the last of these rows there are 5,000 children.
    for n in 5..5_000 {
        let own = [("_id", text("D")), ("size", number(n))];
        fixture.put("D", &format!("NODE#0001#n{n:04}"), &own);
    }
    let last = body(&fixture, "/nodes/D/children?order_by=size&order=desc&limit=2").await;
    assert_eq!(last["items"][1]["id"], "n4999");
    fixture.put("D", "NODE#0001#n5000", &[("_id", text("D"))]);
    let refused = get(&fixture, "/nodes/D/children?order_by=size").await;
    assert_eq!((refused.status.as_u16(), &refused.body["field"]), (400, &json!("order_by")), "{}", refused.body);
    // The order that is kept has no such bound.
    body(&fixture, "/nodes/D/children?order_by=name").await;
}

#[tokio::test]
async fn a_list_whose_rows_were_never_made_says_so() {
    let mut fixture = Fixture::new(
        Settings { path_rows: false, ..Settings::default() },
        Oracle { path_rows: false, ..Oracle::default() },
    );
    for (id, parent) in [("D", None), ("V", Some("D"))] {
        fixture.put_node(id, parent, &[("name", text(id))]);
    }
    fixture.settle();
    // The parameters are set, and nothing is written since.
    let settings = own::settings();
    for list in ["/nodes/D/children?order=asc", "/paths/D"] {
        let answer = send_with(&fixture, &settings, list).await;
        assert_eq!(answer.status.as_u16(), 404, "{list}: {}", answer.body);
        assert!(answer.body["detail"].as_str().unwrap().contains("sapwood backfill"), "{}", answer.body);
        // A node without children has an empty list.
        let empty = send_with(&fixture, &settings, &list.replace("/D", "/V")).await;
        assert_eq!((empty.status.as_u16(), &empty.body["items"]), (200, &json!([])), "{list}");
    }
}

#[tokio::test]
async fn ids_without_a_node_are_named() {
    let fixture = fixture();
    let found = body(&fixture, "/nodes?ids=nobody&ids=D&ids=ITEM%231&ids=none").await;
    let ids: Vec<&str> = found["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!((ids, &found["missing"]), (vec!["D", "ITEM#1"], &json!(["nobody", "none"])));
}

#[tokio::test]
async fn a_read_is_refused_while_the_rows_do_not_have_what_it_must_show() {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    fixture.settle();
    fixture.put_node("V", Some("D"), &[]);
    let token = Derived::Node("V".to_owned()).token();
    let target = format!("/nodes/D/children?written={token}");
    let early = get(&fixture, &target).await;
    assert_eq!((early.status.as_u16(), &early.body["field"]), (409, &json!("written")), "{}", early.body);
    assert_eq!(early.body["type"], "urn:sapwood:problem:not-up-to-date");
    assert_eq!(early.response.headers()["retry-after"], "1");
    assert_eq!(body(&fixture, "/nodes/D/children?consistent=true").await["items"], json!([]), "it promises nothing");
    fixture.settle();
    assert_eq!(body(&fixture, &target).await["items"][0]["id"], "V");
    // Nothing of another tenant is looked at, and nothing that can't be is waited for.
    let nobody = Derived::Node("nobody".to_owned()).token();
    assert_eq!(get(&fixture, &format!("/nodes/D/children?written={nobody}")).await.status.as_u16(), 200);
    let all: String = (0..11).map(|_| format!("&written={token}")).collect();
    for wrong in ["written=", "written=e30", "written=%00", &all[1..]] {
        let refused = get(&fixture, &format!("/nodes/D/children?{wrong}")).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.body["field"]),
            (400, &json!("written")),
            "{wrong}: {}",
            refused.body
        );
    }
}

/// A tree with a history and paths, whose siblings are in the order of their names, and whose tags are links.
fn fixture() -> Fixture {
    let totals = Some(Totals::of(["price".to_owned()]));
    let mut fixture = Fixture::new(Settings { totals, ..own::settings() }, own::oracle());
    fixture.put_node("D", None, &[("name", text("d")), ("_created_by", text("anna"))]);
    fixture.put_node("ORDER#1", Some("D"), &[("name", text("o")), ("segment", text("first order"))]);
    fixture.put_node(
        "ITEM#1",
        Some("ORDER#1"),
        &[("price", AttributeValue::N("1.50".to_owned())), ("tags", text("t"))],
    );
    fixture.put_node("ITEM#2", Some("ORDER#1"), &[("name", text("i")), ("tags", text("t"))]);
    for (sk, of) in [("v001_Audit#a", 1), ("v002_Audit#a", 2), ("v001_State", 3)] {
        fixture.put("D", sk, &[("of", number(of)), ("_created_at", text("2026-02-03T04:05:06.789Z"))]);
    }
    fixture.settle();
    fixture
}

#[tokio::test]
async fn every_call_answers_as_the_contract_says() {
    let fixture = fixture();
    let order =
        json!({ "id": "ORDER#1", "parent": "D", "depth": 1, "segment": "first order", "attributes": { "name": "o" } });
    let item_1 =
        json!({ "id": "ITEM#1", "parent": "ORDER#1", "depth": 2, "attributes": { "price": 1.5, "tags": "t" } });
    let item_2 = json!({ "id": "ITEM#2", "parent": "ORDER#1", "depth": 2, "attributes": { "name": "i", "tags": "t" } });
    let linking = |id: &str, ancestors: Value, attributes: Value| json!({ "id": id, "parent": "ORDER#1", "ancestors": ancestors, "attributes": attributes });
    let above = |levels: usize, top: &str| json!({ "levels": levels, "top": top, "ends": "root", "in_trash": false, "deleting": false });
    let revision = |topic: &str, version: u32, of: u32| {
        json!({ "id": "D", "topic": topic, "version": version, "attributes": { "of": of },
            "created_at": "2026-02-03T04:05:06.789Z" })
    };
    let copy =
        |topic: &str, version: u32, of: u32| json!({ "topic": topic, "version": version, "attributes": { "of": of } });
    let with = |node: &Value, children: Value| {
        let mut node = node.clone();
        node["children"] = children;
        node
    };
    let child = |item: &Value| {
        let mut item = item.clone();
        item["depth"] = json!(1);
        item
    };
    let with_totals = |node: &Value, count: u32, children: u32, price: &Value| {
        let mut node = node.clone();
        node["totals"] = json!({ "count": count, "children": children, "sums": { "price": price }, "left_out": 0 });
        node
    };
    // By name; the one without comes last.
    let leaves = json!([with(&item_2, json!([])), with(&item_1, json!([]))]);
    let at = |node: &Value, path: Value| {
        let mut node = node.clone();
        node["path"] = path;
        node
    };
    for (target, calls, wanted) in [
        ("/roots", 1, json!({ "items": [{ "id": "D", "attributes": { "name": "d" } }] })),
        ("/nodes/D", 1, json!({ "id": "D", "attributes": { "name": "d" }, "created_by": "anna" })),
        (
            "/nodes/ORDER~231?fields=no&consistent=true",
            1,
            json!({ "id": "ORDER#1", "parent": "D", "segment": "first order", "attributes": {} }),
        ),
        (
            "/nodes/ITEM~231/ancestors",
            1,
            json!({ "items": [{ "id": "ORDER#1", "depth": 1 }, { "id": "D", "depth": 2 }] }),
        ),
        (
            "/nodes/ORDER~231/ancestors?fields=name",
            2,
            json!({ "items": [{ "id": "D", "depth": 1, "attributes": { "name": "d" } }] }),
        ),
        (
            "/nodes/ITEM~231/inherited?attributes=name,price,nothing",
            2,
            json!({
                "id": "ITEM#1",
                "nearest": {
                    "name": { "value": "o", "from": "ORDER#1", "levels_up": 1 },
                    "price": { "value": 1.5, "from": "ITEM#1", "levels_up": 0 },
                },
                "above": above(2, "D"),
            }),
        ),
        (
            "/nodes/ITEM~231/inherited?attributes=name&mode=all",
            2,
            json!({
                "id": "ITEM#1",
                "all": { "name": [
                    { "value": "d", "from": "D", "levels_up": 2 },
                    { "value": "o", "from": "ORDER#1", "levels_up": 1 },
                ] },
                "above": above(2, "D"),
            }),
        ),
        ("/nodes/D/totals", 2, json!({ "count": 3, "children": 1, "sums": { "price": 1.5 }, "left_out": 0 })),
        (
            "/nodes/ITEM~231/totals?consistent=true",
            2,
            json!({ "count": 0, "children": 0, "sums": { "price": 0 }, "left_out": 0 }),
        ),
        ("/nodes/D/children?totals=true&fields=name", 3, json!({ "items": [with_totals(&order, 2, 2, &json!(1.5))] })),
        (
            "/nodes/ORDER~231/children?order=asc&totals=true",
            3,
            json!({ "items": [
                with_totals(&child(&item_2), 0, 0, &json!(0)),
                with_totals(&child(&item_1), 0, 0, &json!(0)),
            ] }),
        ),
        (
            "/roots?totals=true&fields=no&consistent=true",
            3,
            json!({ "items": [with_totals(&json!({ "id": "D", "attributes": {} }), 3, 1, &json!(1.5))] }),
        ),
        ("/nodes/ITEM~231/children?totals=true", 2, json!({ "items": [] })),
        ("/nodes/D/children?totals=false", 1, json!({ "items": [order] })),
        ("/nodes/D/inherited?attributes=nothing", 1, json!({ "id": "D", "nearest": {}, "above": above(0, "D") })),
        (
            "/nodes/ITEM~231/granted?attribute=name&principal=o&principal=GROUP%23x&principal=d",
            2,
            json!({
                "id": "ITEM#1", "allowed": true, "above": above(2, "D"),
                "by": [
                    { "id": "ORDER#1", "levels_up": 1, "principals": ["o"] },
                    { "id": "D", "levels_up": 2, "principals": ["d"] },
                ],
            }),
        ),
        (
            "/nodes/ITEM~231/granted?attribute=tags&principal=u",
            2,
            json!({ "id": "ITEM#1", "allowed": false, "by": [], "above": above(2, "D") }),
        ),
        (
            "/nodes/t/links/tags?ancestors=true&below=ITEM%232&fields=no",
            3,
            json!({ "items": [linking("ITEM#2", json!(["ORDER#1", "D"]), json!({}))] }),
        ),
        ("/nodes/D/children", 1, json!({ "items": [order] })),
        ("/nodes/ORDER~231/children?order=asc", 1, json!({ "items": [child(&item_2), child(&item_1)] })),
        ("/nodes/ORDER~231/children?order=desc&value_prefix=i", 1, json!({ "items": [child(&item_2)] })),
        ("/nodes/ORDER~231/children?order=asc&from=a&to=i&consistent=true", 1, json!({ "items": [child(&item_2)] })),
        ("/nodes/ORDER~231/children?order=asc&values=number", 2, json!({ "items": [] })),
        ("/roots?order=desc&from=d", 1, json!({ "items": [{ "id": "D", "attributes": { "name": "d" } }] })),
        ("/roots?order=desc&to=c", 1, json!({ "items": [] })),
        (
            "/nodes/t/links/tags?ancestors=true&fields=price",
            1,
            json!({ "items": [
                linking("ITEM#1", json!(["ORDER#1", "D"]), json!({ "price": 1.5 })),
                linking("ITEM#2", json!(["ORDER#1", "D"]), json!({})),
            ] }),
        ),
        (
            "/nodes/t/links/tags?ancestor_prefix=D&distinct=ancestor&fields=price",
            1,
            json!({ "items": [linking("ITEM#1", json!(["D"]), json!({ "price": 1.5 }))] }),
        ),
        (
            "/nodes/t/links/tags?id_prefix=ITEM%232&fields=no",
            1,
            json!({ "items": [{ "id": "ITEM#2", "parent": "ORDER#1", "attributes": {} }] }),
        ),
        ("/nodes/no/links/tags", 1, json!({ "items": [] })),
        ("/nodes/D/descendants?consistent=true", 1, json!({ "items": [order, item_1, item_2] })),
        ("/nodes/D/descendants?min_depth=2&max_depth=2&id_prefix=ITEM%232", 1, json!({ "items": [item_2] })),
        (
            "/nodes/D/descendants?min_depth=0&max_depth=0",
            1,
            json!({ "items": [{ "id": "D", "depth": 0, "attributes": { "name": "d" } }] }),
        ),
        ("/nodes/D/descendants?min_depth=2", 1, json!({ "items": [item_1, item_2] })),
        ("/nodes/D/descendants?max_depth=1", 1, json!({ "items": [order] })),
        ("/nodes/D/descendants?min_depth=4&max_depth=98", 2, json!({ "items": [] })),
        ("/operations", 1, json!({ "items": [] })),
        (
            "/nodes/D/tree",
            1,
            json!({ "id": "D", "depth": 0, "attributes": { "name": "d" }, "children": [with(&order, leaves)] }),
        ),
        (
            "/nodes/ORDER~231/tree?max_depth=0&fields=name",
            1,
            json!({ "id": "ORDER#1", "parent": "D", "depth": 0, "segment": "first order", "attributes": { "name": "o" }, "children": [] }),
        ),
        ("/nodes/D/count", 1, json!({ "count": 3 })),
        ("/nodes/D/count?min_depth=0&max_depth=1", 1, json!({ "count": 2 })),
        (
            "/paths/D/first~20order",
            1,
            json!({ "items": [
                at(&order, json!(["first order"])),
                at(&item_1, json!(["first order", "ITEM#1"])),
                at(&item_2, json!(["first order", "ITEM#2"])),
            ] }),
        ),
        (
            "/paths/D/first~20order?from=ITEM%232&to=ITEM%239",
            1,
            json!({ "items": [at(&item_2, json!(["first order", "ITEM#2"]))] }),
        ),
        ("/paths/D?max_depth=1&to=first%20order", 1, json!({ "items": [at(&order, json!(["first order"]))] })),
        ("/paths/D/first~20order?max_depth=0", 1, json!({ "items": [at(&order, json!(["first order"]))] })),
        ("/nodes/D/latest", 1, json!({ "items": [copy("Audit#a", 2, 2), copy("State", 1, 3)] })),
        ("/nodes/D/latest?topic_prefix=S", 1, json!({ "items": [copy("State", 1, 3)] })),
        ("/nodes/D/latest/Audit~23a", 1, copy("Audit#a", 2, 2)),
        (
            "/nodes/D/revisions",
            1,
            json!({ "items": [revision("Audit#a", 2, 2), revision("State", 1, 3), revision("Audit#a", 1, 1)] }),
        ),
        (
            "/nodes/D/revisions/Audit~23a?order=asc",
            1,
            json!({ "items": [revision("Audit#a", 1, 1), revision("Audit#a", 2, 2)] }),
        ),
        ("/nodes/D/revisions/Audit~23a/1", 1, revision("Audit#a", 1, 1)),
        ("/nodes/ITEM~231/propagation", 3, json!({ "up_to_date": true, "ancestors": 2, "missing": 0, "stale": 0 })),
    ] {
        let answer = get(&fixture, target).await;
        assert_eq!((answer.status, &answer.body), (StatusCode::OK, &wanted), "{target}");
        let usage: &Usage = answer.response.extensions().get().unwrap();
        assert_eq!(usage.requests, calls, "{target}");
        assert_eq!(answer.response.headers()["content-type"], "application/json");
    }
    assert_eq!(body(&fixture, "/health").await["status"], "ok");
}

#[tokio::test]
async fn a_node_has_an_entity_tag_that_changes_with_it_alone() {
    let mut fixture = fixture();
    let first = get(&fixture, "/nodes/D").await;
    let etag = first.response.headers()["etag"].to_str().unwrap().to_owned();
    for (target, known, status) in [
        ("/nodes/D", etag.as_str(), 304),
        ("/nodes/D?fields=no&consistent=true", etag.as_str(), 304),
        ("/nodes/D", "\"other\", *", 400),
        ("/nodes/D", "*", 304),
        ("/nodes/D", "\"other\"", 200),
    ] {
        let answer = send(&fixture, None, target, &[("if-none-match", known)]).await;
        assert_eq!(answer.status.as_u16(), status, "{target} {known}");
        assert!(status != 304 || (answer.body.is_null() && answer.response.headers()["etag"] == etag.as_str()));
    }
    for (wanted, status) in [(etag.as_str(), 200), ("*", 200), ("\"other\"", 412), ("W/\"other\"", 412)] {
        let answer = send(&fixture, None, "/nodes/D", &[("if-match", wanted), ("if-none-match", "\"x\"")]).await;
        assert_eq!(answer.status.as_u16(), status, "{wanted}");
    }
    assert_eq!(first.response.headers()["cache-control"], "private, no-cache");
    fixture.update("D", "NODE", "_touched", Some(text("1#x")));
    assert_eq!(get(&fixture, "/nodes/D").await.response.headers()["etag"], etag.as_str());
    fixture.update("D", "NODE", "name", Some(text("e")));
    let changed = send(&fixture, None, "/nodes/D", &[("if-none-match", &etag)]).await;
    assert!(changed.status == 200 && changed.response.headers()["etag"] != etag.as_str());
}

#[tokio::test]
async fn a_revision_has_an_entity_tag_as_well() {
    let fixture = fixture();
    let first = get(&fixture, "/nodes/D/revisions/State/1?fields=no").await;
    assert_eq!(first.body["attributes"], json!({}));
    let etag = first.response.headers()["etag"].to_str().unwrap();
    let again = send(&fixture, None, "/nodes/D/revisions/State/1", &[("if-none-match", etag)]).await;
    assert_eq!((again.status.as_u16(), again.body), (304, Value::Null));
    let other = send(&fixture, None, "/nodes/D/revisions/Audit~23a/1", &[("if-none-match", etag)]).await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn every_read_of_the_document_is_served_and_answers_what_it_says() {
    let fixture = fixture();
    let mut served = 0;
    for operation in operations().filter(|operation| matches!(operation.function, Function::Reader(_))) {
        let fill = |id: &str| {
            let filled = operation.path.replace("{id}", id).replace("{root}", id).replace("{topic}", "State");
            filled.replace("{version}", "1").replace("{path}", "first~20order").replace("{attribute}", "tags")
        };
        assert!(!fill("D").contains('{'), "{operation:?}");
        // Besides what is in its path, a call needs nothing but what it is asked for; there is no operation, and no
        // audit, and no feed.
        let needed = match operation.id {
            "get_nodes" => "?ids=D",
            "get_inherited" => "?attributes=name",
            "get_granted" => "?attribute=tags&principal=t",
            _ => "",
        };
        let found = match operation.id {
            "get_operation" | "get_audit" => 404,
            "list_changes" | "list_recent" => 409,
            _ => 200,
        };
        for (target, status) in [(fill("D") + needed, found), (format!("{}?nothing=1", fill("D")), 400)] {
            let answer = send_raw(&fixture, fixture.settings(), None, &target, &[]).await;
            assert_eq!(answer.0.status.as_u16(), status, "{target}");
            assert!(operation.statuses().contains(&status), "{target}: {status} isn't in the document");
        }
        let absent = send_raw(&fixture, fixture.settings(), None, &fill("no"), &[]).await.0.status.as_u16();
        assert!(operation.statuses().contains(&absent), "{}: {absent} isn't in the document", operation.path);
        served += 1;
    }
    assert!(served >= 16, "{served}");
    let docs = send_raw(&fixture, fixture.settings(), None, "/docs", &[]).await;
    assert!(docs.0.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(std::str::from_utf8(&docs.1).unwrap().starts_with("<!DOCTYPE html>"));
}

#[tokio::test]
async fn a_deployment_without_totals_says_so() {
    let fixture = fixture();
    let settings = Settings { totals: None, ..fixture.settings().clone() };
    for target in [
        "/nodes/D/totals",
        "/nodes/D/children?totals=true",
        "/nodes/ITEM~231/children?totals=true",
        "/roots?totals=true",
    ] {
        let (answer, body) = send_raw(&fixture, &settings, None, target, &[]).await;
        assert_eq!(answer.status, 404, "{target}");
        assert!(
            String::from_utf8_lossy(&body).contains("--parameter Totals=count"),
            "{}",
            String::from_utf8_lossy(&body)
        );
    }
    let (answer, _) = send_raw(&fixture, fixture.settings(), None, "/nodes/D/descendants?totals=true", &[]).await;
    assert_eq!(answer.status, 400, "only siblings show theirs");
}

#[tokio::test]
async fn a_problem_names_what_it_is_about_and_what_was_meant() {
    let fixture = fixture();
    for (target, said) in [
        ("/nodes/no", "there is no node `no`"),
        ("/nodes/no/granted?attribute=name&principal=ada", "there is no node `no`"),
        ("/nodes/D/revisions/State/2", "there is no revision 2 of `D` in topic `State`"),
        ("/nodes/D/latest/no", "there is no topic `no` of `D`"),
        ("/operations/no", "there is no operation `no`"),
        ("/paths/D/no/such", "there is no node at the path `no/such` below `D`"),
        ("/nodes/D/children?limt=1", "this call has no parameter `limt`; did you mean `limit`? It takes "),
        ("/nodes/D/descendants?maxdepth=1", "did you mean `max_depth`?"),
        ("/nodes/D?unknown=1", "this call has no parameter `unknown`; it takes "),
        ("/nodes/D/links/price", "`--parameter LinkAttributes="),
    ] {
        let detail = get(&fixture, target).await.body["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(said), "{target}: {detail}");
    }
}

#[tokio::test]
async fn every_list_of_nodes_shows_their_segments_whatever_fields_it_shows() {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    fixture.put_node("D", None, &[("segment", text("root"))]);
    fixture.put_node("V", Some("D"), &[("segment", text("docs")), ("tags", text("t")), ("name", text("v"))]);
    fixture.put_node("W", Some("V"), &[("name", text("w"))]);
    fixture.put_node("T", None, &[("segment", text("thrown")), ("_trashed", AttributeValue::M([].into()))]);
    fixture.settle();
    for (list, shown) in [
        ("/roots", json!({"D": "root"})),
        ("/roots?order=asc", json!({"D": "root"})),
        ("/roots?order_by=name", json!({"D": "root"})),
        ("/nodes/D/children", json!({"V": "docs"})),
        ("/nodes/D/children?order=asc", json!({"V": "docs"})),
        ("/nodes/D/children?order_by=tags", json!({"V": "docs"})),
        ("/nodes/D/descendants?min_depth=0", json!({"D": "root", "V": "docs", "W": null})),
        ("/nodes/t/links/tags", json!({"V": "docs"})),
        ("/trash", json!({"T": "thrown"})),
    ] {
        for fields in ["", "fields=name"] {
            let joint = if list.contains('?') { '&' } else { '?' };
            let answer = body(&fixture, format!("{list}{joint}{fields}").trim_end_matches(['?', '&'])).await;
            let found = answer["items"].as_array().unwrap().iter();
            let found: serde_json::Map<String, Value> =
                found.map(|item| (item["id"].as_str().unwrap().to_owned(), item["segment"].clone())).collect();
            assert_eq!(Value::Object(found), shown, "{list} {fields}");
        }
    }
    let tree = body(&fixture, "/nodes/D/tree?fields=name").await;
    assert_eq!((&tree["segment"], &tree["children"][0]["segment"]), (&json!("root"), &json!("docs")));
    assert_eq!(tree["children"][0]["children"][0].get("segment"), None);
}

#[tokio::test]
async fn a_path_finds_names_that_differ_by_case_where_names_are_unique_but_for_that() {
    let settings = Settings { names: UniqueNames::Caseless, ..Settings::default() };
    let mut fixture = Fixture::new(settings.clone(), Oracle::default());
    fixture.put_node("D", None, &[]);
    for (id, parent, segment) in
        [("V", "D", Some("Docs")), ("d", "V", Some("E\u{301}t\u{e9}")), ("Leaf", "d", None), ("W", "D", Some("empty"))]
    {
        let own = segment.map(|segment| ("segment", text(segment)));
        fixture.put_node(id, Some(parent), own.as_slice());
        let name = settings.names.compared(segment.unwrap_or(id));
        fixture.put(parent, &format!("NAME#{name}"), &[("_node", text(id))]);
    }
    fixture.settle();
    let found = async |target: &str| {
        let answer = send_with(&fixture, &settings, target).await;
        let items = answer.body["items"].as_array().cloned().unwrap_or_default();
        let ids: Vec<String> = items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
        (answer.status.as_u16(), ids.join(" "), answer.body["cursor"].as_str().map(str::to_owned))
    };
    let at = async |target: &str| {
        let (status, ids, _) = found(target).await;
        (status, ids)
    };
    let is = |status: u16, ids: &str| (status, ids.to_owned());
    assert_eq!(at("/paths/D?path=Docs").await, is(200, "V d Leaf"));
    assert_eq!(at("/paths/D?path=docs").await, is(200, "V d Leaf"));
    assert_eq!(at("/paths/D/dOCS?max_depth=0").await, is(200, "V"));
    assert_eq!(at("/paths/D?path=DOCS&path=%C3%89TE%CC%81&path=leaf").await, is(200, "Leaf"));
    // A cursor goes on, on the path as its nodes spell it.
    let (_, first, cursor) = found("/paths/D?path=docs&limit=1").await;
    assert_eq!(first, "V");
    assert_eq!(at(&format!("/paths/D?path=docs&limit=2&cursor={}", cursor.unwrap())).await, is(200, "d Leaf"));
    // Nothing in a window is an empty list, and a path that isn't there isn't found.
    assert_eq!(at("/paths/D?path=EMPTY&from=a").await, is(200, ""));
    assert_eq!(at("/paths/D?path=empty&from=a").await, is(200, ""));
    for nothing in ["path=nothing", "path=docs&path=nothing", "path=nothing&from=a", "path=nothing&max_depth=0"] {
        assert_eq!(at(&format!("/paths/D?{nothing}")).await, is(404, ""), "{nothing}");
    }
    // Where case counts, it does.
    let exact = Settings { names: UniqueNames::Exact, ..settings.clone() };
    assert_eq!(send_with(&fixture, &exact, "/paths/D?path=docs").await.status, 404);
    // A claim whose node has left the name leads nowhere.
    fixture.put("D", "NAME#gone", &[("_node", text("V"))]);
    assert_eq!(send_with(&fixture, &settings, "/paths/D?path=gone").await.status, 404);
}

#[tokio::test]
async fn a_page_with_totals_has_a_hundred_items_and_goes_on() {
    let mut fixture = fixture();
    (0..150).for_each(|n| fixture.put_node(&format!("n{n:03}"), Some("D"), &[]));
    (0..150).for_each(|n| fixture.put_node(&format!("x{n:03}"), Some(&format!("n{n:03}")), &[("price", number(n))]));
    fixture.settle();
    let (mut cursor, mut found) = (String::new(), Vec::new());
    for items in [100, 51] {
        let page = get(&fixture, &format!("/nodes/D/children?totals=true&limit=1000{cursor}")).await.body;
        assert_eq!(page["items"].as_array().unwrap().len(), items);
        found.extend(page["items"].as_array().unwrap().clone());
        cursor = format!("&cursor={}", page["cursor"].as_str().unwrap_or_default());
    }
    assert_eq!(cursor, "&cursor=");
    for (n, item) in found[1..].iter().enumerate() {
        let one = get(&fixture, &format!("/nodes/n{n:03}/totals")).await.body;
        assert_eq!((item["id"].as_str(), &item["totals"]), (Some(&*format!("n{n:03}")), &one));
        assert_eq!(one, json!({ "count": 1, "children": 1, "sums": { "price": n }, "left_out": 0 }));
    }
}

#[tokio::test]
async fn totals_are_those_of_the_present_epoch_and_never_less_than_nothing() {
    let mut fixture = fixture();
    let lane = |fixture: &mut Fixture, sk: &str, count: &str, price: &str| {
        let number = |digits: &str| AttributeValue::N(digits.to_owned());
        fixture.put("D", sk, &[("_count", number(count)), ("_sum_price", number(price))]);
    };
    fixture.put("SAPWOOD", "EPOCH", &[("format", number(1)), ("epoch", number(1))]);
    lane(&mut fixture, "TOTALS#0001#00", "-7", "0.1");
    lane(&mut fixture, "TOTALS#0001#03", "2", "-0.3");
    // Of earlier and later epochs, and a lane that there isn't.
    for other in ["TOTALS#0000#00", "TOTALS#0003#00", "TOTALS#0001#07"] {
        lane(&mut fixture, other, "500", "500");
    }
    let totals = json!({ "count": 0, "children": 0, "sums": { "price": -0.2 }, "left_out": 0 });
    assert_eq!(get(&fixture, "/nodes/D/totals").await.body, totals);
    let page = get(&fixture, "/roots?totals=true").await.body;
    let root = page["items"].as_array().unwrap().iter().find(|item| item["id"] == "D").unwrap();
    assert_eq!(root["totals"], totals);
    // More of them than a page has.
    for number in 0..120 {
        lane(&mut fixture, &format!("TOTALS#{:04}#{:02}", 2 + number / 4, number % 4), "500", "500");
    }
    assert_eq!(get(&fixture, "/nodes/D/totals").await.body, totals);
}

#[tokio::test]
async fn a_problem_names_its_parameter() {
    let fixture = fixture();
    // One that is named again counts again, as the document says.
    let often = format!("/nodes/D/granted?attribute=name{}", "&principal=ada".repeat(101));
    for (target, status, kind, field) in [
        ("/nodes/no", 404, "not-found", Value::Null),
        ("/nodes/no/ancestors", 404, "not-found", Value::Null),
        ("/nodes/no/inherited?attributes=name", 404, "not-found", Value::Null),
        ("/nodes/no/totals", 404, "not-found", Value::Null),
        ("/nodes/D/totals?written=x", 400, "bad-parameter", json!("written")),
        ("/nodes/no/granted?attribute=name&principal=ada", 404, "not-found", Value::Null),
        ("/nodes/D/inherited", 400, "bad-parameter", json!("attributes")),
        ("/nodes/D/inherited?attributes=name,", 400, "bad-parameter", json!("attributes")),
        ("/nodes/D/inherited?attributes=name&mode=first", 400, "bad-parameter", json!("mode")),
        ("/nodes/D/inherited?attributes=name&consistent=true", 400, "bad-parameter", json!("consistent")),
        ("/nodes/D/inherited?attributes=name&written=x", 400, "bad-parameter", json!("written")),
        ("/nodes/D/inherited?attributes=name,_rev", 422, "reserved-name", json!("attributes")),
        ("/nodes/D/inherited?attributes=parent", 422, "reserved-name", json!("attributes")),
        ("/nodes/D/inherited?attributes=PK", 422, "reserved-name", json!("attributes")),
        ("/nodes/D/granted?principal=ada", 400, "bad-parameter", json!("attribute")),
        ("/nodes/D/granted?attribute=name", 400, "bad-parameter", json!("principal")),
        ("/nodes/D/granted?attribute=name&principal=", 400, "bad-parameter", json!("principal")),
        (often.as_str(), 400, "bad-parameter", json!("principal")),
        ("/nodes/D/granted?attribute=segment&principal=ada", 422, "reserved-name", json!("attribute")),
        ("/nodes/D/granted?attribute=name&principal=ada&in_trash=1", 400, "bad-parameter", json!("in_trash")),
        ("/nodes/D/links/tags?below=", 400, "bad-parameter", json!("below")),
        ("/nodes/no/tree", 404, "not-found", Value::Null),
        ("/nodes/no/count", 404, "not-found", Value::Null),
        ("/nodes/no/children", 404, "not-found", Value::Null),
        ("/nodes/no/descendants", 404, "not-found", Value::Null),
        ("/operations/no", 404, "not-found", Value::Null),
        ("/nodes/no/propagation", 404, "not-found", Value::Null),
        ("/nodes/no/latest", 404, "not-found", Value::Null),
        ("/nodes/no/revisions", 404, "not-found", Value::Null),
        ("/nodes/no/revisions/Audit", 404, "not-found", Value::Null),
        ("/nodes/D/latest/no", 404, "not-found", Value::Null),
        ("/nodes/D/revisions/State/2", 404, "not-found", Value::Null),
        ("/nodes/D/revisions/State/0", 404, "not-found", json!("version")),
        ("/paths/no/a", 404, "not-found", Value::Null),
        ("/nodes/D/nothing", 404, "not-found", Value::Null),
        ("/nodes/D?consistent=yes", 400, "bad-parameter", json!("consistent")),
        ("/nodes/D?Fields=a", 400, "bad-parameter", json!("Fields")),
        ("/nodes/D?fields=a,,b", 400, "bad-parameter", json!("fields")),
        ("/nodes/D/children?limit=0", 400, "bad-parameter", json!("limit")),
        ("/nodes/D/children?limit=1001", 400, "bad-parameter", json!("limit")),
        ("/nodes/D/children?limit=x", 400, "bad-parameter", json!("limit")),
        ("/roots?limit=1&limit=2", 400, "bad-parameter", json!("limit")),
        ("/nodes/D?unknown=1", 400, "bad-parameter", json!("unknown")),
        ("/nodes/D/children?min_depth=1", 400, "bad-parameter", json!("min_depth")),
        ("/nodes/D/children?cursor=AAAA", 400, "bad-cursor", json!("cursor")),
        ("/nodes/D/children?cursor=", 400, "bad-cursor", json!("cursor")),
        ("/nodes/D/descendants?id_prefix=I", 400, "bad-parameter", json!("id_prefix")),
        ("/nodes/D/descendants?min_depth=99", 400, "bad-parameter", json!("min_depth")),
        ("/nodes/D/descendants?min_depth=3&max_depth=2", 400, "bad-parameter", json!("max_depth")),
        ("/nodes/D/descendants?max_depth=99", 400, "bad-parameter", json!("max_depth")),
        ("/nodes/D/descendants?min_depth=1&max_depth=1&id_prefix=", 400, "bad-parameter", json!("id_prefix")),
        ("/nodes/D/latest?topic_prefix=", 400, "bad-parameter", json!("topic_prefix")),
        ("/nodes/D/children?order=up", 400, "bad-parameter", json!("order")),
        ("/nodes/D/children?from=a", 400, "bad-parameter", json!("from")),
        ("/nodes/D/children?values=text", 400, "bad-parameter", json!("values")),
        ("/roots?value_prefix=a", 400, "bad-parameter", json!("value_prefix")),
        ("/roots?order=asc&value_prefix=a&to=b", 400, "bad-parameter", json!("value_prefix")),
        ("/nodes/D/children?order=asc&values=word", 400, "bad-parameter", json!("values")),
        ("/nodes/D/children?order=asc&values=number&from=a", 400, "bad-parameter", json!("from")),
        ("/nodes/D/children?order=asc&from=b&to=a", 400, "bad-parameter", json!("to")),
        ("/nodes/no/children?order=asc", 404, "not-found", Value::Null),
        ("/nodes/D/links/name", 404, "not-found", Value::Null),
        ("/nodes/D/links/tags?distinct=parent", 400, "bad-parameter", json!("distinct")),
        ("/nodes/D/links/tags?ancestor_prefix=", 400, "bad-parameter", json!("ancestor_prefix")),
        ("/nodes/D/links/tags?id_prefix=", 400, "bad-parameter", json!("id_prefix")),
        ("/nodes/D/tree?limit=1", 400, "bad-parameter", json!("limit")),
        ("/nodes/D/revisions?order=newest", 400, "bad-parameter", json!("order")),
        ("/paths/D/a?from=b&to=a", 400, "bad-parameter", json!("to")),
        ("/paths/D/a?from=", 400, "bad-parameter", json!("from")),
        ("/nodes/D/propagation?consistent=true", 400, "bad-parameter", json!("consistent")),
    ] {
        let answer = get(&fixture, target).await;
        assert_eq!(answer.status.as_u16(), status, "{target}: {}", answer.body);
        assert_eq!(answer.body["type"], format!("urn:sapwood:problem:{kind}"), "{target}");
        assert_eq!(answer.body["field"], field, "{target}: {}", answer.body);
        assert_eq!(answer.response.headers()["content-type"], "application/problem+json");
    }
}

/// The items of all pages, by following cursors.
async fn all(fixture: &Fixture, list: &str, limits: &[usize]) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    for limit in limits.iter().cycle() {
        let join = if list.contains('?') { '&' } else { '?' };
        let page = body(fixture, &format!("{list}{join}limit={limit}{cursor}")).await;
        let found = page["items"].as_array().unwrap();
        assert!(found.len() <= *limit);
        items.extend(found.iter().cloned());
        match page["cursor"].as_str() {
            None => break,
            Some(next) => cursor = format!("&cursor={next}"),
        }
        assert!(!found.is_empty(), "an empty page with a cursor");
    }
    items
}

const LISTS: [&str; 13] = [
    "/nodes/ORDER~231/children?order_by=price",
    "/nodes/D/children",
    "/nodes/D/descendants?min_depth=0",
    "/nodes/D/descendants?min_depth=2&max_depth=2&id_prefix=ITEM%23",
    "/nodes/ITEM~231/ancestors?fields=name",
    "/paths/D/first~20order",
    "/paths/D/first~20order?from=ITEM%231",
    "/nodes/D/latest",
    "/nodes/D/revisions?order=asc",
    "/nodes/D/revisions/Audit~23a",
    "/nodes/ORDER~231/children?order=asc",
    "/nodes/ORDER~231/children?order=desc",
    "/nodes/t/links/tags",
];

#[tokio::test]
async fn pages_of_any_limit_are_the_whole_list() {
    let fixture = fixture();
    for list in LISTS {
        let whole = all(&fixture, list, &[1_000]).await;
        assert!(!whole.is_empty());
        // A cursor holds for any limit.
        for limits in [&[1][..], &[2], &[1, 2, 3]] {
            assert_eq!(all(&fixture, list, limits).await, whole, "{list} by {limits:?}");
        }
    }
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_list_alone() {
    let fixture = fixture();
    let mut cursors = Vec::new();
    for list in LISTS {
        let join = if list.contains('?') { '&' } else { '?' };
        let page = body(&fixture, &format!("{list}{join}limit=1")).await;
        cursors.extend(page["cursor"].as_str().map(|cursor| (list, cursor.to_owned())));
    }
    let others = [
        "/nodes/D/descendants",
        "/nodes/D/descendants?min_depth=0&consistent=true",
        "/nodes/D/descendants?min_depth=0&fields=name",
        "/nodes/ORDER~231/children",
        "/nodes/D/children?order=asc",
        "/nodes/ORDER~231/children?order=asc&to=z",
        "/nodes/ORDER~231/children?order_by=tags",
        "/nodes/ORDER~231/children?order_by=price&order=desc",
        "/roots?order_by=price",
        "/nodes/ORDER~231/children?order=asc&from=z",
        "/nodes/ORDER~231/children?order=asc&values=text",
        "/nodes/ORDER~231/children?order=asc&value_prefix=i",
        "/roots?order=asc",
        "/nodes/u/links/tags",
        "/nodes/t/links/seen",
        "/nodes/t/links/tags?ancestors=true",
        "/nodes/t/links/tags?below=D",
        "/nodes/t/links/tags?ancestor_prefix=D",
        "/nodes/t/links/tags?distinct=ancestor",
        "/nodes/t/links/tags?id_prefix=I",
        "/nodes/D/revisions",
        "/nodes/D/latest?topic_prefix=A",
        "/paths/D/first~20order?max_depth=1",
        "/paths/D/first~20order?to=ITEM%231",
        "/roots",
    ];
    assert!(cursors.len() >= 10, "{cursors:?}");
    for (own, cursor) in &cursors {
        for list in LISTS.iter().chain(&others).filter(|list| *list != own) {
            let join = if list.contains('?') { '&' } else { '?' };
            let answer = get(&fixture, &format!("{list}{join}cursor={cursor}")).await;
            assert_eq!(answer.status, 400, "the cursor of {own} at {list}");
            assert_eq!(answer.body["type"], "urn:sapwood:problem:bad-cursor");
        }
        // The same list in other words.
        let said = own.replace("/nodes/D/descendants?min_depth=0", "/nodes/D/descendants?max_depth=98&min_depth=0");
        let join = if said.contains('?') { '&' } else { '?' };
        assert_eq!(get(&fixture, &format!("{said}{join}cursor={cursor}&limit=7")).await.status, 200, "{said}");
    }
    let (list, cursor) = &cursors[0];
    for at in 0..cursor.len() {
        let other = if cursor.as_bytes()[at] == b'A' { 'B' } else { 'A' };
        let altered = format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]);
        let join = if list.contains('?') { '&' } else { '?' };
        assert_eq!(get(&fixture, &format!("{list}{join}cursor={altered}")).await.status, 400, "{altered}");
    }
}

#[tokio::test]
async fn a_tenant_reaches_its_own_alone_whatever_it_asks() {
    let schema = Schema::new(Names::default(), true).unwrap();
    let oracle = Oracle { tenants: true, ..Oracle::default() };
    let mut fixture = Fixture::new(Settings { schema, ..Settings::default() }, oracle);
    for tenant in ["a", "b"] {
        let own = format!("only {tenant}");
        for (id, parent) in [("D", None), ("V", Some("D")), ("W", Some("D")), (own.as_str(), Some("V"))] {
            fixture.put_node(&format!("TENANT#{tenant}#{id}"), parent, &[("of", text(tenant))]);
        }
        for sk in ["v001_Audit", "v002_Audit"] {
            fixture.put(&format!("TENANT#{tenant}#D"), sk, &[("of", text(tenant))]);
        }
    }
    fixture.settle();
    let lists = ["/roots", "/nodes/D/children", "/nodes/D/descendants", "/nodes/D/revisions", "/paths/D/V"];
    for target in
        lists.into_iter().chain(["/nodes/D", "/nodes/D/tree", "/nodes/D/latest", "/nodes/D/revisions/Audit/1"])
    {
        for (tenant, other) in [("a", "b"), ("b", "a")] {
            let answer = send(&fixture, Some(tenant), target, &[]).await;
            assert_eq!(answer.status, 200, "{target}: {}", answer.body);
            let text = answer.body.to_string();
            assert!(text.contains(&format!("\"of\":\"{tenant}\"")) && !text.contains(&format!("\"of\":\"{other}\"")));
            assert!(!text.contains("TENANT"), "{text}");
        }
    }
    for target in [
        "/nodes/only~20b",
        "/nodes/TENANT~23b~23D",
        "/nodes/b~23D",
        "/nodes/~23b~23D",
        "/nodes/D~23..~2Fb",
        "/nodes/only~20b/latest",
        "/paths/TENANT~23b~23D/V",
    ] {
        assert_eq!(send(&fixture, Some("a"), target, &[]).await.status, 404, "{target}");
    }
    for target in ["/nodes/D/children", "/nodes/D/revisions/Audit"] {
        let page = send(&fixture, Some("a"), &format!("{target}?limit=1"), &[]).await;
        let next = format!("{target}?limit=1&cursor={}", page.body["cursor"].as_str().unwrap());
        assert_eq!(send(&fixture, Some("a"), &next, &[]).await.status, 200);
        assert_eq!(send(&fixture, Some("b"), &next, &[]).await.status, 400, "a's cursor in b's hands");
    }
    assert_eq!(get(&fixture, "/nodes/D").await.status, 500, "a caller without a tenant never gets as far as the table");
}

#[tokio::test]
async fn a_tree_past_its_bounds_goes_on_by_its_cursor() {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    for n in 0..6 {
        fixture.put_node(&format!("p{n}"), Some("D"), &[("text", text("\u{1}".repeat(66_000)))]);
        for m in 0..3 {
            let big = text("\u{1}".repeat(66_000));
            fixture.put_node(&format!("p{n}-{m}"), Some(&format!("p{n}")), &[("text", big)]);
        }
    }
    fixture.settle();
    let (mut target, mut ids, mut pages) = ("/nodes/D/tree".to_owned(), Vec::new(), 0);
    loop {
        let page = body(&fixture, &target).await;
        pages += 1;
        assert_eq!((page["id"].as_str(), page["depth"].as_u64()), (Some("D"), Some(0)));
        assert_eq!(page["attributes"].is_object(), pages == 1, "the node itself is on the first page alone");
        let mut left: Vec<(&Value, &str)> =
            page["children"].as_array().unwrap().iter().map(|child| (child, "")).collect();
        while let Some((node, parent)) = left.pop() {
            let id = node["id"].as_str().unwrap();
            assert!(parent.is_empty() || node["parent"] == parent, "{id} below {parent}");
            ids.push(id.to_owned());
            left.extend(node["children"].as_array().unwrap().iter().map(|child| (child, id)));
        }
        assert_eq!(page["truncated"].as_bool().unwrap_or(false), page["cursor"].is_string());
        match page["cursor"].as_str() {
            None => break,
            Some(cursor) => target = format!("/nodes/D/tree?cursor={cursor}"),
        }
    }
    assert_eq!((ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), pages), (24, 24, 3));
}

#[tokio::test]
async fn a_tree_of_98_levels_is_written() {
    let mut fixture = Fixture::default();
    fixture.put_node("n0", None, &[]);
    for n in 1..=98 {
        fixture.put_node(&format!("n{n}"), Some(&format!("n{}", n - 1)), &[]);
    }
    fixture.settle();
    // A parser of JSON may have its limit below this: the text is looked at as it is.
    let (_, bytes) = send_raw(&fixture, fixture.settings(), None, "/nodes/n0/tree", &[]).await;
    let text = std::str::from_utf8(&bytes).unwrap();
    assert_eq!((text.matches("\"children\":[{").count(), text.matches("\"children\":[]").count()), (98, 1));
    assert!(text.contains("\"depth\":98"));
}

fn value() -> impl Strategy<Value = AttributeValue> {
    let text = || prop_oneof!["\\PC{0,8}", "[\u{0}-\u{1f}\"\\\\]{0,8}"];
    let digits = prop_oneof!["-?[1-9][0-9]{0,37}", "[1-9]E-?[1-9][0-9]", "0\\.[0-9]{1,20}[1-9]"];
    let bytes = proptest::collection::vec(any::<u8>(), 0..8);
    let leaf = prop_oneof![
        text().prop_map(AttributeValue::S),
        digits.clone().prop_map(AttributeValue::N),
        bytes.clone().prop_map(AttributeValue::B),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null(true)),
        proptest::collection::vec(text(), 1..4).prop_map(AttributeValue::Ss),
        proptest::collection::vec(digits, 1..4).prop_map(AttributeValue::Ns),
        proptest::collection::vec(bytes, 1..4).prop_map(AttributeValue::Bs),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let name = prop_oneof!["[a-z]{0,3}", "\\$[a-z]{0,6}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
            proptest::collection::hash_map(name, inner, 0..4).prop_map(AttributeValue::M),
        ]
    })
}

proptest! {
    #[test]
    fn no_item_is_longer_in_json_than_its_size_estimate(item in proptest::collection::btree_map("[a-z]{1,3}", value(), 0..5)) {
        let item: Item = item;
        let written = serde_json::to_string(&Attributes(item.clone())).unwrap();
        prop_assert!(written.len() <= size_estimate(&item), "{} > {}: {written}", written.len(), size_estimate(&item));
    }
}

#[tokio::test]
async fn at_the_level_debug_each_request_to_the_table_is_a_line_without_keys() {
    let fixture = fixture();
    for (level, lines_of_requests) in [("DEBUG", 2), ("INFO", 0)] {
        let (lines, guard) = Lines::logged(Some(level));
        body(&fixture, "/nodes/ORDER~231/ancestors?fields=name").await;
        drop(guard);
        let text = lines.take();
        assert_eq!(text.matches("a request to the table").count(), lines_of_requests, "{text}");
        assert!(!text.contains("ORDER") && !text.contains("NODE"), "{text}");
    }
}

#[tokio::test]
async fn the_audit_says_how_far_it_has_come() {
    use sapwood_engine::auditor::{Auditor, Clock, Limits};
    use sapwood_store::Client;
    use sapwood_tests::fixture::NoRetries;

    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    fixture.put_node("x", Some("missing"), &[]);
    fixture.settle();
    assert_eq!(get(&fixture, "/health/audit").await.status, StatusCode::NOT_FOUND);
    let schema = fixture.schema().clone();
    let client = Client::new(fixture.table(), &NoRetries, &schema);
    let auditor = Auditor::new(&client, fixture.settings(), Limits::default(), true);
    auditor.run(Clock { now: 1_770_091_506, name: 1, pace: || true }).await.unwrap();
    let mut body = body(&fixture, "/health/audit").await;
    assert!(body["age_seconds"].take().as_u64().unwrap() > 0);
    let at = "2026-02-03T04:05:06Z";
    let pass = json!({
        "number": 1, "began_at": at, "ended_at": at, "items": 8, "recent": 0, "differences": 0, "repaired": 0, "left": 0,
        "still_changing": 0, "skipped": 0, "findings": {"orphan": 1},
    });
    let wanted = json!({
        "right_as_of": at, "age_seconds": null, "last_run_at": at, "suspects": 0, "unconfirmed": 0, "confirmation_window_seconds": 600,
        "wrong_per_million": 0.0, "pass": pass, "last_pass": pass,
    });
    assert_eq!(body, wanted);
}

#[tokio::test]
async fn an_audit_that_stands_still_or_cant_be_true_is_told() {
    use sapwood_core::model::number;
    use sapwood_engine::auditor::{Auditor, Clock, Limits};
    use sapwood_store::Client;
    use sapwood_tests::fixture::NoRetries;

    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    fixture.settle();
    let schema = fixture.schema().clone();
    let client = Client::new(fixture.table(), &NoRetries, &schema);
    let auditor = Auditor::new(&client, fixture.settings(), Limits::default(), true);
    auditor.run(Clock { now: 1_770_091_506, name: 1, pace: || true }).await.unwrap();
    assert_eq!(body(&fixture, "/health/audit").await.get("impossible"), None);
    for name in ["right_as_of", "saved"] {
        fixture.update("SAPWOOD", "AUDIT", name, Some(number(99_000_000_000)));
    }
    let body = body(&fixture, "/health/audit").await;
    assert_eq!(body["impossible"], json!(["right_as_of", "saved"]));
    // Nobody is told that all was right at a time to come.
    assert_eq!(body.get("right_as_of"), None);
    fixture.update("SAPWOOD", "AUDIT", "format", Some(number(9)));
    let answer = get(&fixture, "/health/audit").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.body["detail"].as_str().unwrap().contains("has format 9"), "{}", answer.body);
}

/// Counts of the whole table would tell a tenant how much the others have, and how it goes.
#[tokio::test]
async fn a_tenant_learns_from_the_audit_no_more_than_its_times() {
    use sapwood_core::model::number;
    use sapwood_engine::auditor::{Auditor, Clock, Limits};
    use sapwood_store::Client;
    use sapwood_tests::fixture::NoRetries;

    let settings = Settings { schema: Schema::new(Names::default(), true).unwrap(), ..Settings::default() };
    let mut fixture = Fixture::new(settings, Oracle { tenants: true, ..Oracle::default() });
    let schema = fixture.schema().clone();
    let client = Client::new(fixture.table(), &NoRetries, &schema);
    let auditor = Auditor::new(&client, fixture.settings(), Limits::default(), true);
    auditor.run(Clock { now: 1_770_091_506, name: 1, pace: || true }).await.unwrap();
    let audit = send(&fixture, Some("x"), "/health/audit", &[]).await;
    assert_eq!(audit.status, StatusCode::OK);
    let names: Vec<&String> = audit.body.as_object().unwrap().keys().collect();
    assert_eq!(names, ["age_seconds", "last_run_at", "right_as_of"]);
    fixture.update("SAPWOOD", "AUDIT", "right_as_of", Some(number(99_000_000_000)));
    let audit = send(&fixture, Some("x"), "/health/audit", &[]).await;
    let names: Vec<&String> = audit.body.as_object().unwrap().keys().collect();
    assert_eq!(names, ["age_seconds", "last_run_at"]);
}

/// The new row of a node that moves is put before the old one goes.
#[tokio::test]
async fn a_page_shows_a_node_that_moves_once_by_its_newer_row() {
    let mut fixture = Fixture::default();
    for (id, parent) in [("D", None), ("V", Some("D")), ("x", Some("V")), ("y", Some("D"))] {
        fixture.put_node(id, parent, &[]);
    }
    fixture.settle();
    // It was a child of D, and y was below V.
    let old = |id: &str, depth: usize, parent: &str| {
        [("_id", text(id)), ("_depth", number(depth)), ("_parent", text(parent))]
    };
    fixture.put("D", "NODE#0001#x", &old("x", 1, "D"));
    fixture.put("D", "NODE#0002#y", &old("y", 2, "V"));
    for call in ["/nodes/D/descendants", "/nodes/D/descendants?fields=name"] {
        let listed = body(&fixture, call).await;
        let listed: Vec<_> = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| (item["id"].clone(), item["parent"].clone()))
            .collect();
        assert_eq!(
            listed,
            [("V", "D"), ("y", "D"), ("x", "V")].map(|(id, parent)| (json!(id), json!(parent))),
            "{call}"
        );
    }
}

/// The ids that a list or a tree shows, in its order.
fn ids(answer: &Value, found: &mut Vec<String>) {
    found.extend(answer["id"].as_str().map(str::to_owned));
    for below in ["items", "children"] {
        answer[below].as_array().into_iter().flatten().for_each(|one| ids(one, found));
    }
}

#[tokio::test]
async fn every_list_of_nodes_shows_one_that_moves_once() {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    for (id, parent, name) in [("D", None, "d"), ("V", Some("D"), "v"), ("x", Some("V"), "x"), ("y", Some("D"), "y")] {
        let segment = (id == "y").then(|| ("segment", text("why")));
        let attributes: Vec<_> = [("name", text(name))].into_iter().chain(segment).collect();
        fixture.put_node(id, parent, &attributes);
    }
    fixture.settle();
    // The older rows: x was a child of D, y and D had other names, and y another segment.
    let mut old = |pk: &str, sk: &str, id: &str, depth: usize| {
        fixture.put(pk, sk, &[("_id", text(id)), ("_depth", number(depth)), ("_parent", text("D"))]);
    };
    for (pk, sk, id, depth) in [
        ("D", "NODE#0001#x", "x", 1),
        ("D", "CHILD#sa#y", "y", 1),
        ("D", "CHILD#sz#y", "y", 1),
        ("ROOTS", "ORDERED#sa#D", "D", 0),
        ("D", "PATH#x", "x", 1),
        ("D", "PATH#V#x!y", "y", 2),
        ("D", "PATH#y", "y", 1),
    ] {
        old(pk, sk, id, depth);
    }
    for (call, wanted) in [
        ("/nodes/D/tree", &["D", "V", "x", "y"][..]),
        ("/nodes/D/descendants", &["V", "y", "x"]),
        ("/nodes/D/children?order=asc", &["V", "y"]),
        ("/nodes/D/children?order=desc", &["y", "V"]),
        ("/roots?order=asc", &["D"]),
        ("/roots?order=desc", &["D"]),
        ("/paths/D", &["V", "x", "y"]),
    ] {
        let mut shown = Vec::new();
        ids(&body(&fixture, call).await, &mut shown);
        assert_eq!(shown, wanted, "{call}");
    }
}

/// Counts the queries of a table.
#[derive(Default)]
struct Queries(AtomicUsize);

impl Observer for Queries {
    async fn before(&self, request: &intercept::Request<'_>) {
        if let intercept::Request::Query(_) = request {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[tokio::test]
async fn a_request_that_waits_for_changes_looks_once_a_second_and_after_a_vain_wait_none_waits() {
    let mut fixture = Fixture::default();
    fixture.put_node("r", None, &[]);
    fixture.put("SAPWOOD", "FEED", &[("name", text("1"))]);
    let settings = Settings { changes: true, ..fixture.settings().clone() };
    let queries = Arc::new(Queries::default());
    let table = Intercept { table: fixture.table().clone(), observer: Arc::clone(&queries) };
    let cursors = CursorKey::new(b"the secret of these tests").unwrap();
    let own = reads::ReaderState { cursors, feed: KnownFeed::default() };
    let state = reads::ApiState::new(move |_| table.clone(), settings, Waits::system(), own);
    let service = service(reads::router(state), Options::default());
    let ask = async |cursor: &str| {
        let request = Request::builder().uri(format!("/nodes/r/changes?cursor={cursor}")).header("prefer", "wait=3");
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(Caller::named("anna", None));
        queries.0.store(0, Ordering::SeqCst);
        let response = service.clone().oneshot(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        (answer["cursor"].as_str().unwrap().to_owned(), queries.0.load(Ordering::SeqCst))
    };
    let (cursor, _) = ask("now").await;
    let (same, looks) = ask(&cursor).await;
    assert!(same == cursor && (2..=4).contains(&looks), "{looks} looks");
    assert_eq!(ask(&cursor).await, (cursor.clone(), 1));
}
