//! `sapwood import` and `sapwood export`, the real binary, on the table of a running `sapwood dev`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::client::{node, put};
use sapwood_tests::running::Running;

use crate::running::{Sapwood, TABLE, command, records, sapwood, words};
use crate::stack::{assert_right, ends_with};

pub(crate) fn write(path: &Path, lines: &[String]) -> String {
    fs::write(path, lines.join("\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A tree of so many nodes, twelve below each, the last line first.
fn tree(nodes: usize) -> Vec<String> {
    let line = |n: usize| match n.checked_sub(1) {
        None => r#"{"id": "n0", "attributes": {"name": "top"}}"#.to_owned(),
        Some(above) => format!(r#"{{"id": "n{n}", "parent": "n{}", "attributes": {{"name": "n{n}"}}}}"#, above / 12),
    };
    (0..nodes).rev().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_and_imported_is_equal() {
    let (from, to) = (Sapwood::start(&[]), Sapwood::start(&[]));
    let mut every = node("every", Some("D"), "every kind");
    let more = [
        ("n", AttributeValue::N("12345678901234567890.123456789012345678".to_owned())),
        ("b", AttributeValue::B(Blob::new([0, 255]))),
        ("ss", AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()])),
        ("ns", AttributeValue::Ns(vec!["1".to_owned(), "2.5".to_owned()])),
        ("bs", AttributeValue::Bs(vec![Blob::new([1])])),
        ("nothing", AttributeValue::Null(true)),
        ("m", AttributeValue::M([("$set".to_owned(), AttributeValue::L(vec![AttributeValue::Bool(true)]))].into())),
        ("segment", AttributeValue::S("50 % # $".to_owned())),
    ];
    every.extend(more.map(|(name, value)| (name.to_owned(), value)));
    let mut revision = node("D", None, "a revision");
    revision.insert("SK".to_owned(), AttributeValue::S("va1000_Audit".to_owned()));
    for item in [node("D", None, "Drive"), every, revision] {
        put(&from.client, TABLE, item).await;
    }
    from.becomes_right().await;

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("all.jsonl");
    let file = file.to_str().unwrap();
    let exported = sapwood(&from.url, &["export", "--output", file]);
    assert_eq!(exported.status.code(), Some(0), "{}", words(&exported));
    let imported = sapwood(&to.url, &["import", file]);
    assert_eq!(imported.status.code(), Some(0), "{}", words(&imported));
    to.becomes_right().await;
    assert_eq!(records(&from).await, records(&to).await);
    // Once more: what is there already is no fault.
    let again = sapwood(&to.url, &["import", file]);
    assert_eq!(again.status.code(), Some(0), "{}", words(&again));
}

/// The places at which an import is killed.
const KILLS: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_killed_at_ten_places_goes_on() {
    const NODES: usize = 2_200;
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let directory = tempfile::tempdir().unwrap();
    let file = write(&directory.path().join("tree.jsonl"), &tree(NODES));
    // A record that may have been sent before is put in a transaction, with what would tell of its deletion.
    let puts = || proxy.count("PutItem") + proxy.count("TransactWriteItems");
    for kill in 0..KILLS {
        let mut import = command(&proxy.url(), &["import", &file, "--json"]).stdout(Stdio::null()).spawn().unwrap();
        // The first is killed while it reads and checks the file.
        let place = kill * NODES / KILLS;
        while kill > 0 && puts() < place {
            assert!(import.try_wait().unwrap().is_none(), "it ended before it was killed at record {place}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(import.try_wait().unwrap().is_none(), "it ended before it was killed at record {place}");
        import.kill().unwrap();
        import.wait().unwrap();
    }
    ends_with(0, &proxy.url(), &["import", &file, "--json"]);
    println!("killed {KILLS} times: {} writes of {NODES} records", puts());
    assert_right(&running).await;
    assert_eq!(running.contents().await.keys().filter(|(_, sk)| sk == "NODE").count(), NODES);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "the working file is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_found_before_anything_is_written() {
    let running = Sapwood::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let lines = [
        r#"{"id": "a", "parent": "nowhere"}"#,
        r#"{"id": "b"}"#,
        r#"{"id": "b"}"#,
        r#"{"id": "c", "parent": "d"}"#,
        r#"{"id": "d", "parent": "c"}"#,
        "not json",
    ];
    let file = write(&directory.path().join("bad.jsonl"), &lines.map(str::to_owned));
    let refused = sapwood(&running.url, &["import", &file]);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    for place in ["bad.jsonl:1:", "bad.jsonl:3:", "bad.jsonl:6:", "nothing is written"] {
        assert!(words(&refused).contains(place), "{place}: {}", words(&refused));
    }
    assert!(records(&running).await.is_empty());
    let refused = sapwood(&running.url, &["import", &file, "--json"]);
    assert_eq!(String::from_utf8(refused.stdout).unwrap(), "{\"faults\":4,\"written\":0}\n");

    // A parent that is in the table already is none.
    put(&running.client, TABLE, node("nowhere", None, "here now")).await;
    put(&running.client, TABLE, node("taken", None, "somebody else's")).await;
    let lines = [lines[0], r#"{"id": "taken", "attributes": {"name": "mine"}}"#];
    let file = write(&directory.path().join("good.jsonl"), &lines.map(str::to_owned));
    let planned = sapwood(&running.url, &["import", &file, "--dry-run", "--json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", words(&planned));
    assert_eq!(records(&running).await.len(), 2);
    let imported = sapwood(&running.url, &["import", &file]);
    assert_eq!(imported.status.code(), Some(1), "one is refused: {}", words(&imported));
    let left = fs::read_to_string(directory.path().join("good.jsonl.refused.jsonl")).unwrap();
    assert!(left.contains("taken") && !left.contains("nowhere"), "{left}");
    running.becomes_right().await;
    assert_eq!(records(&running).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_of_columns_makes_a_level_of_each() {
    let running = Sapwood::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let rows = [
        "Country,State,City,Zip,population",
        "USA,NE,Omaha,68102,8000",
        "USA,NE,Lincoln,68501,100",
        "USA,IA,Ames,50010,5",
    ];
    let file = write(&directory.path().join("zip.csv"), &rows.map(str::to_owned));
    let levels = ["--levels", "Country,State,City,Zip", "--number", "population"];
    let imported = sapwood(&running.url, &[&["import", &file][..], &levels].concat());
    assert_eq!(imported.status.code(), Some(0), "{}", words(&imported));
    running.becomes_right().await;
    assert_eq!(records(&running).await.len(), 1 + 2 + 3 + 3);
    let drawn = sapwood(&running.url, &["tree", "USA/IA", "--rows", "--show", "population"]);
    let wanted =
        "USA/IA\n│   USA/IA | LINEAGE\n│   USA | NODE#0001#USA/IA\n│   USA | PATH#IA!USA/IA\n└── USA/IA/Ames\n";
    assert!(words(&drawn).starts_with(wanted), "{}", words(&drawn));
    assert!(words(&drawn).contains("    └── USA/IA/Ames/50010  population=5"), "{}", words(&drawn));
    assert_eq!(sapwood(&running.url, &["tree", "nobody"]).status.code(), Some(1));
}
