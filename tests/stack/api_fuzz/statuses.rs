//! Every status code that the document lists happens: a request that provokes each, or why none can in a test.

use std::collections::BTreeMap;

use axum::http::Method;
use sapwood_api::contract::{Operation, operations};
use sapwood_api::cursor::{CursorKey, Scope};
use sapwood_core::model::Settings;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::auditor::{self, Auditor, Clock};
use sapwood_engine::fanout::Limits;
use sapwood_engine::query::Derived;
use sapwood_store::Client;
use sapwood_tests::api::{Answered, Api, Asked};
use sapwood_tests::faults::Fault;
use sapwood_tests::fixture::NoRetries;
use sapwood_tests::running::{Running, TABLE};
use sapwood_tests::serving::{CURSOR_KEY, Serving, Way};
use serde_json::{Value, json};

use crate::following;

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stack {
    /// One that allows all there is.
    Open,
    /// One whose stream is never handled.
    Stuck,
    /// One that keeps tenants apart; the caller has none.
    OfTenants,
    /// One without root rows, path rows and links.
    Bare,
}

enum Provoked {
    By(Stack, Asked),
    /// By the second of the same requests.
    ByRepeating(Asked, Asked),
    /// By some of many at the same time.
    ByMany(Asked),
    Not(&'static str),
}

use Provoked::{By, ByMany, ByRepeating, Not};

const OUR_FAULT: &str = "500 is a fault of ours: a request that provokes it is a bug";
const OUT_OF_REACH: &str =
    "503 takes a table that is throttled or gone: the suites api_reader and api_writer have such tables";
const OUTRUN: &str =
    "409 takes others who change this revision between each read and write of several tries: the suite writes has them";

/// The request that a case is made of: a node of its own (`c7`) with a child (`c7k`, segment `k`) and a revision
/// (`t/1`).
struct Case {
    operation: &'static Operation,
    status: u16,
    node: String,
}

impl Case {
    fn target(&self, id: &str, version: &str) -> String {
        let path = self.operation.path;
        // Operations have names of their own.
        let id = if path.starts_with("/operations") && id == self.node { "{operation}" } else { id };
        let path = match self.operation.id {
            "get_nodes" => "/nodes?ids={id}",
            "get_inherited" => "/nodes/{id}/inherited?attributes=x",
            "get_granted" => "/nodes/{id}/granted?attribute=x&principal=p",
            _ => path,
        };
        path.replace("{id}", id)
            .replace("{root}", id)
            .replace("{topic}", "t")
            .replace("{version}", version)
            .replace("{path}", "k")
            .replace("{attribute}", "tags")
    }

    fn plain(&self) -> String {
        self.target(&self.node, "1")
    }

    fn asked(&self, target: &str) -> Asked {
        Asked::new(self.operation.method.as_str(), target)
    }

    /// The call with a body that it takes.
    fn valid(&self, target: &str) -> Asked {
        let asked = self.asked(target);
        match self.body() {
            Some(body) => asked.json(&body),
            None => asked,
        }
    }

    fn body(&self) -> Option<Value> {
        match (self.operation.method.as_str(), self.operation.path) {
            ("GET" | "DELETE", _) => None,
            ("POST", "/nodes/{id}/trash") => None,
            ("POST", "/nodes/{id}/restore" | "/nodes/{id}/copy") => Some(json!({})),
            (_, "/batch") => Some(json!({"operations": [{"patch": {"id": self.node, "attributes": {"x": 1}}}]})),
            (_, path) if path.contains("/revisions/") => Some(json!({"attributes": {"x": 1}})),
            ("POST", _) => Some(json!({"id": format!("{}x", self.node)})),
            ("PUT", _) => Some(json!({"parent": null})),
            _ => Some(json!({"attributes": {"x": 1}})),
        }
    }

    fn with(&self, body: &Value) -> Asked {
        self.asked(&self.plain()).json(body)
    }

    fn provoked(&self) -> Option<Provoked> {
        let (method, path) = (self.operation.method.as_str(), self.operation.path);
        let plain = self.plain();
        let is_revision = path.contains("/revisions/");
        Some(match (self.status, method) {
            (200, "POST" | "GET" | "PUT" | "PATCH") => By(Stack::Open, self.valid(&plain)),
            (201, "POST") if path.ends_with("/copy") => By(Stack::Open, self.valid(&plain).header("prefer", "wait=10")),
            (201, "POST") => By(Stack::Open, self.valid(&plain)),
            (201, "PUT") => By(Stack::Open, self.valid(&self.target(&format!("{}x", self.node), "1"))),
            (202, "DELETE") => By(Stack::Open, self.asked(&format!("{plain}?children=delete"))),
            (202, _) => By(Stack::Stuck, self.valid(&plain).header("prefer", "wait=1")),
            (204, "DELETE") if is_revision => By(Stack::Open, self.asked(&plain)),
            (204, "DELETE") => By(Stack::Open, self.asked(&format!("{plain}k"))),
            (204, _) => By(Stack::Open, self.valid(&plain).header("prefer", "return=minimal")),
            (304, "GET") => By(Stack::Open, self.asked(&plain).header("if-none-match", "*")),
            (400, _) if plain.contains('?') => By(Stack::Open, self.valid(&format!("{plain}&unknown=1"))),
            (400, _) => By(Stack::Open, self.valid(&format!("{plain}?unknown=1"))),
            (403, _) => By(Stack::OfTenants, self.valid(&plain)),
            (404, _) if ["/roots", "/health/audit", "/nodes/{id}/links/{attribute}"].contains(&path) => {
                By(Stack::Bare, self.asked(&plain))
            }
            (404, _) if is_revision && method != "GET" => By(Stack::Open, self.valid(&self.target(&self.node, "9"))),
            (404, _) => By(Stack::Open, self.valid(&self.target("nobody", "9"))),
            // It has no feeds.
            (409, "GET") if ["/nodes/{id}/changes", "/nodes/{id}/recent"].contains(&path) => {
                By(Stack::Bare, self.asked(&plain))
            }
            (410, "GET") => {
                let key = CursorKey::new(CURSOR_KEY.as_bytes()).unwrap();
                let cursor = key.seal(&Scope::new("changes", None).text(&self.node), "another\nchanges\n1");
                By(Stack::Open, self.asked(&format!("{plain}?cursor={cursor}")))
            }
            (409, "GET") => {
                let joint = if plain.contains('?') { '&' } else { '?' };
                let token = Derived::Node(self.node.clone()).token();
                By(Stack::Stuck, self.asked(&format!("{plain}{joint}written={token}")))
            }
            (409, _) if path == "/batch" || (is_revision && method == "POST") => {
                ByMany(self.valid(&plain).header("idempotency-key", &self.node))
            }
            (409, "POST") if path.ends_with("/trash") => {
                ByMany(self.valid(&plain).header("idempotency-key", &self.node))
            }
            (409, "POST") if path.ends_with("/restore") => By(Stack::Open, self.valid(&plain)),
            (422, "POST") if path.ends_with("/trash") => {
                By(Stack::Open, self.asked(&self.target(&"x".repeat(1_015), "1")))
            }
            (409, "POST") if path.ends_with("/copy") => By(Stack::Open, self.with(&json!({"ids": self.node}))),
            (409, _) if is_revision => Not(OUTRUN),
            (409, "POST") => By(Stack::Open, self.with(&json!({"id": self.node}))),
            (409, "PUT" | "PATCH") => By(Stack::Open, self.with(&json!({"parent": format!("{}k", self.node)}))),
            (409, "DELETE") => By(Stack::Open, self.asked(&plain)),
            (412, _) => By(Stack::Open, self.valid(&plain).header("if-match", "\"x\"")),
            (413, _) => By(
                Stack::Open,
                self.asked(&plain).header("content-type", "application/json").bytes(vec![b' '; 1_048_577]),
            ),
            (415, _) => By(Stack::Open, self.asked(&plain).header("content-type", "text/plain").bytes("{}")),
            (422, _) if path == "/batch" => {
                let other = self.with(&json!({"operations": [{"delete": {"id": "nobody"}}]}));
                ByRepeating(
                    self.valid(&plain).header("idempotency-key", &self.node),
                    other.header("idempotency-key", &self.node),
                )
            }
            (422, "POST" | "PUT" | "PATCH") if is_revision => {
                By(Stack::Open, self.with(&json!({"attributes": {"_x": 1}})))
            }
            (422, "POST" | "PUT" | "PATCH") => By(Stack::Open, self.with(&json!({"parent": "nobody"}))),
            (422, _) if path.contains('{') => By(Stack::Open, self.asked(&self.target(&"x".repeat(1_015), "1"))),
            (500, _) => Not(OUR_FAULT),
            (503, _) => Not(OUT_OF_REACH),
            _ => return None,
        })
    }
}

/// The nodes of all cases, some of which are in the trash, and the name of an operation.
async fn prepare(api: &Api, nodes: &[String], trashed: &[String]) -> String {
    for nodes in nodes.chunks(25) {
        let operations: Vec<Value> = nodes
            .iter()
            .flat_map(|node| {
                [
                    json!({"put": {"id": node, "parent": null}}),
                    json!({"put": {"id": format!("{node}k"), "parent": node, "segment": "k"}}),
                    json!({"revision": {"id": node, "topic": "t", "attributes": {}}}),
                ]
            })
            .collect();
        // On a busy machine the last may have no time, and what hangs below them no parent: these are sent again.
        let (mut left, mut made) = (operations, &[201][..]);
        while !left.is_empty() {
            let body = api.send(&Asked::new("POST", "/batch").json(&json!({"operations": left}))).await.json();
            let statuses: Vec<u64> =
                body["results"].as_array().unwrap().iter().map(|one| one["status"].as_u64().unwrap()).collect();
            assert!(statuses.contains(&503) || statuses.iter().all(|status| made.contains(status)), "{body}");
            made = &[200, 201];
            left = left.into_iter().zip(statuses).filter(|(_, status)| *status >= 400).map(|(one, _)| one).collect();
        }
    }
    for node in trashed.iter().filter(|node| nodes.contains(node)) {
        assert_eq!(api.send(&Asked::new("POST", format!("/nodes/{node}/trash"))).await.status, 200);
    }
    let removed = Asked::new("POST", "/nodes").json(&json!({"id": "removed"}));
    assert_eq!(api.send(&removed).await.status, 201);
    let deletion = api.send(&Asked::new("DELETE", "/nodes/removed?children=detach")).await;
    deletion.header("location").unwrap().strip_prefix("/operations/").unwrap().to_owned()
}

/// Whether one of many at the same time is answered so.
async fn one_of_many(api: &Api, asked: &Asked, status: u16) -> Answered {
    let mut answered = None;
    for number in 0..20 {
        let mut asked = asked.clone();
        for (_, value) in asked.headers.iter_mut().filter(|(name, _)| name == "idempotency-key") {
            *value = format!("{value}-{number}");
        }
        let answers = futures::future::join_all((0..8).map(|_| api.send(&asked))).await;
        answered = answers.into_iter().max_by_key(|answered| answered.status == status);
        if answered.as_ref().is_some_and(|answered| answered.status == status) {
            break;
        }
    }
    answered.unwrap()
}

/// Has the auditor make a run.
async fn audit(running: &Running) {
    let settings = Settings::default();
    let table = DynamoTable::local(&running.url(), TABLE, settings.schema.clone());
    let client = Client::new(&table, &NoRetries, &settings.schema);
    let auditor = Auditor::new(&client, &settings, auditor::Limits::default(), false);
    let report = auditor.run(Clock { now: 1, name: 1, pace: || true }).await.unwrap();
    assert!(report.is_saved);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_status_code_that_the_document_lists_happens() {
    let every =
        operations().flat_map(|operation| operation.statuses().into_iter().map(move |status| (operation, status)));
    let case = |(number, (operation, status))| Case { operation, status, node: format!("c{number}") };
    let cases: Vec<Case> = every.enumerate().map(case).collect();
    assert!(cases.len() > 150, "{}", cases.len());
    let nodes: Vec<String> = cases.iter().map(|case| case.node.clone()).collect();
    let is_restored = |case: &&Case| case.operation.id == "restore_node" && [200, 202, 204, 422].contains(&case.status);
    let trashed: Vec<String> = cases.iter().filter(is_restored).map(|case| case.node.clone()).collect();
    let parameters = [
        ("RevisionsMutable", "on"),
        ("LinkAttributes", "tags"),
        ("Trash", "on"),
        ("Totals", "count"),
        ("Changes", "on"),
    ];
    let open = Serving::start(Way::Http, &parameters, &[]).await;
    following::begin(&open.running, "feeds").await;
    let operation = prepare(&open.api, &nodes, &trashed).await;
    open.running.settle().await;
    audit(&open.running).await;

    let of_tenants = Serving::start(Way::Http, &[("TenantClaim", "tenant"), ("Trash", "on")], &[]).await;
    let bare = Serving::start(Way::Http, &[("RootRows", "off"), ("PathRows", "off")], &[]).await;
    let refused = |_: &_| Some(Fault::error(500, "com.amazonaws.dynamodb.v20120810#InternalServerError"));
    // The API reaches the engine; the stream's handler doesn't.
    let running = Running::start_through(&[], Limits::default(), refused).await;
    let unheard = Serving {
        running,
        api: Api::gateway(axum::Router::new(), axum::Router::new(), &Default::default(), Default::default()),
    };
    let stuck = unheard.for_others(Way::Http, &[("RevisionsMutable", "on"), ("Trash", "on")], &[]).await;
    let waits = |case: &&Case| case.status == 202 || (case.status == 409 && case.operation.method == Method::GET);
    let waiting: Vec<String> = cases.iter().filter(waits).map(|case| case.node.clone()).collect();
    prepare(&stuck, &waiting, &trashed).await;

    let apis = BTreeMap::from([
        (Stack::Open, &open.api),
        (Stack::Stuck, &stuck),
        (Stack::OfTenants, &of_tenants.api),
        (Stack::Bare, &bare.api),
    ]);
    let mut wrong = Vec::new();
    for case in &cases {
        let name = format!("{} {} {}", case.operation.method, case.operation.path, case.status);
        let own = |mut asked: Asked| {
            asked.target = asked.target.replace("{operation}", &operation);
            asked
        };
        let answered = match case.provoked() {
            None => {
                wrong.push(format!("{name}: no request is known that provokes it"));
                continue;
            }
            Some(Not(reason)) => {
                assert!(reason.starts_with(&case.status.to_string()), "{name}: {reason}");
                continue;
            }
            Some(By(stack, asked)) => apis[&stack].send(&own(asked)).await,
            Some(ByRepeating(first, second)) => {
                open.send(&first).await;
                open.send(&second).await
            }
            Some(ByMany(asked)) => one_of_many(&open.api, &asked, case.status).await,
        };
        if answered.status != case.status {
            wrong.push(format!("{name}: {} {:.300}", answered.status, String::from_utf8_lossy(&answered.body)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_of_the_document_refuses_the_methods_that_it_does_not_list() {
    let serving = Serving::start(Way::Http, &[], &[]).await;
    for operation in operations() {
        let target = operation.path.replace("{path}", "k").replace(['{', '}'], "").replace("version", "1");
        let listed: Vec<&str> =
            operations().filter(|other| other.path == operation.path).map(|other| other.method.as_str()).collect();
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let status = serving.send(&Asked::new(method.as_str(), &target)).await.status;
            assert_eq!(status == 405, !listed.contains(&method.as_str()), "{method} {target}: {status}");
        }
    }
}
