//! `sapwood verify` and `sapwood repair`, the real binary, on the table of a running `sapwood dev` that a foreign
//! client has damaged.

use std::collections::HashMap;
use std::process::{Command, Output, Stdio};

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::client::{node, put, s};

use crate::running::{Sapwood, TABLE};
use crate::stack::size;

/// Runs the binary on the table behind this URL.
fn sapwood(url: &str, command: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sapwood"))
        .args([command, "--table", TABLE, "--endpoint", url, "--confirmation-window", "1"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The kinds and keys of what was confirmed.
fn confirmed(output: &Output) -> Vec<(String, String, String)> {
    let lines = said(output);
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let text = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap().to_owned();
    let confirmed = lines.filter(|line| line["state"] == "confirmed");
    confirmed.map(|line| (text(&line, "kind"), text(&line, "pk"), text(&line, "sk"))).collect()
}

async fn planted() -> Sapwood {
    let sapwood = Sapwood::start(&[]);
    for (id, parent) in [("D", None), ("V", Some("D")), ("d", Some("V")), ("x", Some("missing"))] {
        put(&sapwood.client, TABLE, node(id, parent, id)).await;
    }
    for version in ["v001_Audit", "v002_Audit"] {
        let mut revision = node("eq", None, version);
        revision.insert("SK".to_owned(), s(version));
        put(&sapwood.client, TABLE, revision).await;
    }
    sapwood.becomes_right().await;
    sapwood
}

async fn delete(sapwood: &Sapwood, pk: &str, sk: &str) {
    sapwood.client.delete_item().table_name(TABLE).key("PK", s(pk)).key("SK", s(sk)).send().await.unwrap();
}

async fn damage(sapwood: &Sapwood) {
    delete(sapwood, "D", "NODE#0002#d").await;
    delete(sapwood, "eq", "v0_Audit").await;
    let mut row = node("D", None, "invented");
    row.extend([("SK", s("NODE#0001#d")), ("_id", s("d"))].map(|(name, value)| (name.to_owned(), value)));
    row.insert("_depth".to_owned(), AttributeValue::N("1".to_owned()));
    put(&sapwood.client, TABLE, row).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_damaged_is_named_and_mended_and_base_records_stay() {
    let running = planted().await;
    let right = sapwood(&running.url, "verify", &["--json"]);
    assert_eq!(right.status.code(), Some(0), "{right:?}");
    // An orphan is a finding, and no fault.
    assert_eq!(confirmed(&right), [("orphan".to_owned(), "x".to_owned(), "NODE".to_owned())]);

    damage(&running).await;
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.jsonl");
    let report = report.to_str().unwrap();
    let wrong = sapwood(&running.url, "verify", &["--json", "--segments", "3", "--report", report]);
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    let wanted = [
        ("row-surplus", "D", "NODE#0001#d"),
        ("row-missing", "D", "NODE#0002#d"),
        ("copy-missing", "eq", "v0_Audit"),
        ("orphan", "x", "NODE"),
    ];
    let named = confirmed(&wrong);
    assert_eq!(named.iter().map(|(kind, pk, sk)| (&**kind, &**pk, &**sk)).collect::<Vec<_>>(), wanted);

    let asked = sapwood(&running.url, "repair", &["--report", report]);
    assert_eq!(asked.status.code(), Some(4), "nobody can be asked: {asked:?}");
    // The record of d, its two ancestor rows and its path row, and the copy. The surplus row waits for d.
    let plan = "2 writes, and the handler puts all rows of these nodes again: at least 5 write units, $0.00";
    assert!(said(&asked).contains(plan), "{}", said(&asked));
    assert!(!running.differences().await.is_empty());
    let repaired = sapwood(&running.url, "repair", &["--report", report, "--yes"]);
    assert_eq!(repaired.status.code(), Some(0), "{repaired:?}");
    running.becomes_right().await;
    let again = sapwood(&running.url, "repair", &["--report", report, "--yes"]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert!(said(&again).contains("nothing is wrong"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_settings_repair_nothing() {
    let running = planted().await;
    let others = sapwood(&running.url, "repair", &["--yes", "--parameter", "PathRows=off"]);
    assert_eq!(others.status.code(), Some(4), "{others:?}");
    assert!(String::from_utf8_lossy(&others.stderr).contains("PATH_ROWS"), "{others:?}");
    running.becomes_right().await;

    damage(&running).await;
    let too_many = sapwood(&running.url, "repair", &["--yes", "--max-differences", "2"]);
    assert_eq!(too_many.status.code(), Some(4), "{too_many:?}");
    assert!(String::from_utf8_lossy(&too_many.stderr).contains("--max-differences"), "{too_many:?}");

    delete(&running, "SAPWOOD", "SETTINGS").await;
    let nobody = sapwood(&running.url, "repair", &["--yes"]);
    assert_eq!(nobody.status.code(), Some(4), "{nobody:?}");
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("no stream handler"), "{nobody:?}");
    assert!(!running.differences().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_that_the_handler_has_left_need_no_parameters() {
    let parameters =
        ["PartitionKey=pk", "SortKey=sk", "NodeSortKey=METADATA", "ParentAttribute=manager", "PathRows=off"];
    let running = Sapwood::start(&parameters.map(|parameter| ["--parameter", parameter]).concat());
    for (id, manager) in [("D", None), ("V", Some("D")), ("d", Some("V"))] {
        let mut record = HashMap::from([("pk".to_owned(), s(id)), ("sk".to_owned(), s("METADATA"))]);
        record.extend(manager.map(|manager| ("manager".to_owned(), s(manager))));
        put(&running.client, TABLE, record).await;
    }
    let tree = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        let drawn = command.args(["tree", "D", "--table", TABLE, "--endpoint", &running.url]).output().unwrap();
        said(&drawn).lines().count()
    };
    for _ in 0..100 {
        if tree() == 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(tree(), 3);
    let right = sapwood(&running.url, "verify", &[]);
    assert_eq!(right.status.code(), Some(0), "{right:?}");
    let key = |name: &str, value: &str| (name.to_owned(), s(value));
    let row = HashMap::from([key("pk", "D"), key("sk", "METADATA#0002#d")]);
    running.client.delete_item().table_name(TABLE).set_key(Some(row)).send().await.unwrap();
    let repaired = sapwood(&running.url, "repair", &["--yes"]);
    assert_eq!(repaired.status.code(), Some(0), "{repaired:?}");
    assert!(said(&repaired).contains("METADATA#0002#d"), "{repaired:?}");
}

#[test]
fn what_is_wrong_with_a_call_is_said() {
    let sapwood = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        let output = command.args(arguments).env_clear().stdin(Stdio::null()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, words) = sapwood(&["verify"]);
    assert!(code == 2 && words.contains("--table"), "{code} {words}");
    let (code, words) = sapwood(&["verify", "--table", "t", "--endpoint", "http://127.0.0.1:9"]);
    assert!(code == 4 && words.contains("can't be read"), "{code} {words}");
    let (code, words) =
        sapwood(&["verify", "--table", "t", "--parameter", "PathRowz=off", "--endpoint", "http://127.0.0.1:9"]);
    assert!(code == 2 && words.contains("PathRowz"), "{code} {words}");
    let (code, words) =
        sapwood(&["repair", "--table", "t", "--endpoint", "http://127.0.0.1:9", "--report", "/nothing"]);
    assert!(code == 4 && words.contains("/nothing"), "{code} {words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_is_killed_goes_on_from_there() {
    let running = planted().await;
    for n in 0..size("AUDITED_NODES", 300) {
        let parent = n.checked_sub(1).map_or("V".to_owned(), |n| format!("n{}", n / 5));
        put(&running.client, TABLE, node(&format!("n{n}"), Some(&parent), "n")).await;
    }
    running.becomes_right().await;
    delete(&running, "V", "NODE#0001#n0").await;
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("pass");
    let path = work.to_str().unwrap();
    let arguments = [
        "verify",
        "--table",
        TABLE,
        "--endpoint",
        &running.url,
        "--confirmation-window",
        "1",
        "--segments",
        "2",
        "--work",
        path,
    ];
    let mut killed = Command::new(env!("CARGO_BIN_EXE_sapwood"))
        .args(arguments)
        .args(["--rate", "60"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = std::time::Instant::now();
    while !work.exists() {
        assert!(begun.elapsed().as_secs() < 120, "nothing is saved");
        assert!(killed.try_wait().unwrap().is_none(), "it is done already");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    killed.kill().unwrap();
    killed.wait().unwrap();

    let last =
        |output: &Output| serde_json::from_str::<serde_json::Value>(said(output).lines().last().unwrap()).unwrap();
    let other = sapwood(&running.url, "verify", &["--segments", "3", "--work", path]);
    assert_eq!(other.status.code(), Some(4), "{other:?}");
    assert!(String::from_utf8_lossy(&other.stderr).contains("another pass"), "{other:?}");
    let rest = sapwood(&running.url, "verify", &["--json", "--segments", "2", "--work", path]);
    assert_eq!((rest.status.code(), work.exists()), (Some(1), false), "{rest:?}");
    assert_eq!(confirmed(&rest)[0], ("row-missing".to_owned(), "V".to_owned(), "NODE#0001#n0".to_owned()));
    let whole = sapwood(&running.url, "verify", &["--json", "--segments", "2", "--work", path]);
    let (rest, whole) = (last(&rest), last(&whole));
    assert_eq!((&rest["items"], &rest["differences"]), (&whole["items"], &whole["differences"]));
    assert!(rest["read_units"].as_f64() < whole["read_units"].as_f64(), "{rest} {whole}");
}
