//! The explorer as programs see it. `.ci/explorer` drives it in a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sapwood_tests::client::{contents, node, put, put_all};
use sapwood_tests::pace::is_within;
use serde_json::{Value, json};

use crate::running::{Sapwood, TABLE};

/// Sends a request, and returns the connection's answer as it comes.
fn asked(url: &str, method: &str, path: &str, headers: &[&str], body: &str) -> BufReader<TcpStream> {
    let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let own = format!("host: {host}");
    let length = format!("content-length: {}", body.len());
    let headers = [&[own.as_str(), "connection: close", length.as_str()], headers].concat().join("\r\n");
    write!(stream, "{method} {path} HTTP/1.1\r\n{headers}\r\n\r\n{body}").unwrap();
    BufReader::new(stream)
}

/// The status of an answer, its head and its body.
pub(crate) fn answer(url: &str, method: &str, path: &str, headers: &[&str], body: &str) -> (u16, String, String) {
    let mut text = String::new();
    asked(url, method, path, headers, body).read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned())
}

fn get(url: &str, path: &str) -> Value {
    let (status, _, body) = answer(url, "GET", path, &[], "");
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_example_is_a_table_that_is_right() {
    for (example, shown, count) in [
        ("folders", "d", 15),
        ("locations", "USA#NY#NEWYORKCITY#10019", 12),
        ("orders", "ITEM#ABC", 8),
        ("audits", "Part_1", 4),
    ] {
        // The oracle of these tests knows the usual settings.
        let usual = ["OrderAttribute=", "LinkAttributes=", "Totals="].map(|one| ["--parameter", one]).concat();
        let sapwood = Sapwood::start(&[&["--http", "127.0.0.1:0", "--example", example], &usual[..]].concat());
        let page = sapwood.explorer.clone().unwrap();
        assert_eq!(page, format!("{}/explorer", sapwood.http.clone().unwrap()));
        let begun = Instant::now();
        let nodes = async || {
            let items = contents(&sapwood.client, TABLE, ["PK", "SK"]).await;
            items.keys().filter(|(_, sk)| sk == "NODE").count()
        };
        while nodes().await < count {
            assert!(is_within(begun, Duration::from_secs(30)), "{example} has {} nodes", nodes().await);
        }
        sapwood.becomes_right().await;
        assert_eq!(nodes().await, count, "{example}");
        let query = shown.replace('#', "%23");
        let found = get(&page, &format!("/explorer/data/node?id={query}"));
        assert_eq!((&found["id"], &found["state"]), (&json!(shown), &json!("right")), "{found}");
        assert!(found["items"].as_array().unwrap().iter().all(|item| item["wrong"].is_null()), "{found}");
        assert_eq!(get(&page, "/explorer/data/verify")["wrong"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_have_totals_beside_them() {
    let sapwood = Sapwood::start(&["--http", "127.0.0.1:0", "--example", "folders"]);
    let page = sapwood.explorer.clone().unwrap();
    let begun = Instant::now();
    let totals = |count: u32, children: u32, size: u32| {
        let sums = json!({"size": size, "square_feet": 0});
        json!({"count": count, "children": children, "sums": sums, "left_out": 0})
    };
    let expected = [totals(2, 2, 200), totals(11, 3, 700)];
    loop {
        let roots = get(&page, "/explorer/data/level");
        let found: Vec<&Value> = roots["items"].as_array().unwrap().iter().map(|one| &one["below"]).collect();
        if found == [&expected[0], &expected[1]] {
            break;
        }
        assert!(is_within(begun, Duration::from_secs(30)), "{roots}");
    }
    let shown = get(&page, "/explorer/data/node?id=D");
    assert_eq!(shown["below"], expected[1]);
    let kinds: Vec<&Value> = shown["items"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert!(kinds.contains(&&json!("total")), "{shown}");
    let json = &["content-type: application/json"];
    let (_, _, body) = answer(&page, "POST", "/explorer/data/totals", json, r#"{"ids": ["V", "i"]}"#);
    let found: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(found, json!({"totals": [totals(5, 2, 575), totals(0, 0, 0)]}));
    let many = json!({"ids": (0..26).map(|n| n.to_string()).collect::<Vec<_>>()}).to_string();
    assert_eq!(answer(&page, "POST", "/explorer/data/totals", json, &many).0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_handler_does_is_told_to_who_listens_and_the_server_stops_all_the_same() {
    let sapwood = Sapwood::start(&["--http", "127.0.0.1:0"]);
    let page = sapwood.explorer.clone().unwrap();
    let mut lines = asked(&page, "GET", "/explorer/data/live", &[], "").lines();
    assert!(lines.any(|line| line.unwrap() == "event: begin"));
    put(&sapwood.client, TABLE, node("root", None, "Root")).await;
    let mut told = Vec::new();
    while !told.iter().any(|one: &Value| one["type"] == "handled" && one["rows_put"] == 1) {
        let line = lines.next().unwrap().unwrap();
        told.extend(line.strip_prefix("data: ").map(|data| serde_json::from_str::<Value>(data).unwrap()));
    }
    let record = json!({
        "what": "INSERT", "pk": "root", "sk": "NODE", "in": "root", "node": null, "goes_on": true,
        "below": {"kind": "came", "id": "root", "depth": 0, "was": null, "parent": null, "attributes": [["name", null, "\"Root\""]], "more": 0},
        "base": {"label": "Root", "parent": null, "trashed": [false, false], "deleting": [false, false], "copying": [false, false]},
    });
    assert!(told.iter().any(|one| one["records"].as_array().is_some_and(|all| all.contains(&record))), "{told:?}");
    assert!(told.iter().any(|one| one["type"] == "begun" && one["items"] == json!([["root", "NODE"]])), "{told:?}");
    // What a watcher of the node above is told.
    put(&sapwood.client, TABLE, node("leaf", Some("root"), "Leaf")).await;
    let attributes = json!([["name", null, "\"Leaf\""]]);
    let below = json!({
        "kind": "came", "id": "leaf", "depth": 1, "was": null, "parent": "root", "attributes": attributes, "more": 0,
    });
    loop {
        let line = lines.next().unwrap().unwrap();
        let told = line.strip_prefix("data: ").map(|data| serde_json::from_str::<Value>(data).unwrap());
        let records = told.and_then(|told| told["records"].as_array().cloned()).unwrap_or_default();
        if let Some(row) = records.iter().find(|one| one["sk"] == "NODE#0001#leaf") {
            assert_eq!((&row["in"], &row["below"]), (&json!("root"), &below));
            break;
        }
    }
    assert_eq!(sapwood.interrupt(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_dies_after_its_first_writes_leaves_a_table_that_becomes_right() {
    let sapwood = Sapwood::start(&["--http", "127.0.0.1:0"]);
    let page = sapwood.explorer.clone().unwrap();
    let mut lines = asked(&page, "GET", "/explorer/data/live", &[], "").lines();
    assert!(lines.any(|line| line.unwrap() == "event: begin"));
    let order = |order: Value| {
        let json = &["content-type: application/json"];
        let (status, _, body) = answer(&page, "POST", "/explorer/data/trial", json, &order.to_string());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    order(json!({"trial": "kill"}));
    put(&sapwood.client, TABLE, node("root", None, "Root")).await;
    put(&sapwood.client, TABLE, node("leaf", Some("root"), "Leaf")).await;
    // Enough of them that some invocation has more than two writes to send.
    put_all(&sapwood.client, TABLE, (0..200).map(|n| node(&format!("n{n}"), Some("leaf"), "n")).collect()).await;
    let mut died = Vec::new();
    while died.len() < 3 {
        let line = lines.next().unwrap().unwrap();
        let told = line.strip_prefix("data: ").map(|data| serde_json::from_str::<Value>(data).unwrap());
        died.extend(told.filter(|told| told["type"] == "killed").map(|told| told["writes"].clone()));
    }
    assert_eq!(died, [1, 2, 3]);
    sapwood.becomes_right().await;
    // A row that is deleted by hand stays away until somebody compares.
    let damaged = order(json!({"trial": "damage", "id": "leaf", "deletes": true}));
    assert_eq!(damaged["damaged"], json!({"pk": "root", "sk": "NODE#0001#leaf"}));
    let found = get(&page, "/explorer/data/verify?id=root");
    assert_eq!((&found["wrong"], &found["differences"][0]["kind"]), (&json!(1), &json!("row-missing")), "{found}");
    answer(&page, "POST", "/explorer/data/mend", &["content-type: application/json"], r#"{"id": "root"}"#);
    sapwood.becomes_right().await;
}

/// `sapwood explore`, running.
struct Explore {
    process: Child,
    url: String,
    token: String,
}

impl Explore {
    fn start(endpoint: &str, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sapwood"))
            .args(["explore", "--json", "--table", TABLE, "--endpoint", endpoint])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = BufReader::new(process.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        let page = serde_json::from_str::<Value>(&line).unwrap()["explorer"].as_str().unwrap().to_owned();
        let (url, token) = page.split_once("#token=").unwrap();
        Self { process, url: url.to_owned(), token: format!("x-sapwood-explorer: {token}") }
    }

    fn status(&self, method: &str, path: &str, headers: &[&str]) -> u16 {
        let body = if method == "GET" { "" } else { r#"{"id": "made"}"# };
        let headers = [&["content-type: application/json"], headers].concat();
        answer(&self.url, method, path, &headers, body).0
    }
}

impl Drop for Explore {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_explored_with_a_token_alone_and_written_with_the_right_to_it() {
    let sapwood = Sapwood::start(&[]);
    assert_eq!(sapwood.explorer, None, "without the API there is no page");
    put(&sapwood.client, TABLE, node("root", None, "Root")).await;
    let [reading, writing] = [&[][..], &["--write"]].map(|arguments| Explore::start(&sapwood.url, arguments));
    let (status, head, _) = answer(&reading.url, "GET", "/explorer", &[], "");
    assert!(status == 200 && head.contains("content-security-policy: default-src 'self';"), "{head}");
    for path in ["/explorer/data/start", "/explorer/data/node?id=root", "/nodes/root", "/"] {
        assert_eq!(reading.status("GET", path, &[]), 403, "{path}");
        assert_eq!(reading.status("GET", path, &[&writing.token]), 403, "{path}");
        assert_eq!(reading.status("GET", path, &[&reading.token]), 200, "{path}");
    }
    assert_eq!(reading.status("POST", "/nodes", &[&reading.token]), 403);
    assert_eq!(reading.status("GET", "/nodes/made", &[&reading.token]), 404);
    assert_eq!(writing.status("POST", "/nodes", &[]), 403);
    assert_eq!(writing.status("POST", "/nodes", &[&writing.token]), 201);
    assert_eq!(reading.status("GET", "/nodes/made", &[&reading.token]), 200);
    // What is done to a handler is done in its own process only.
    for path in ["trial", "mend"] {
        assert_eq!(writing.status("POST", &format!("/explorer/data/{path}"), &[&writing.token]), 404);
    }
}

#[test]
fn what_can_not_be_explored_is_said() {
    let ended = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_sapwood")).arg("explore").args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = ended(&["--table", TABLE, "--endpoint", "http://127.0.0.1:1", "--http", "0.0.0.0:0"]);
    assert!(code == Some(4) && said.contains("loopback"), "{said}");
    let sapwood = Sapwood::start(&["--parameter", "TenantClaim=tenant"]);
    let (code, said) = ended(&["--table", TABLE, "--endpoint", &sapwood.url]);
    assert!(code == Some(2) && said.contains("--tenant"), "{said}");
    let acme = Explore::start(&sapwood.url, &["--tenant", "acme"]);
    assert_eq!(acme.status("GET", "/explorer/data/start", &[&acme.token]), 200);
}
