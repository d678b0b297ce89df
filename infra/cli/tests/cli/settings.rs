//! Whose settings count, the real binary: the handler's, those of parameters, or the template's defaults.

use std::fs::{File, read_dir};
use std::time::{Duration, SystemTime};

use sapwood_tests::client::{put, put_all};
use sapwood_tests::faults::{Call, Fault};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{assert_right, lines, sapwood, tree, words};

/// What is said where nobody has said what the settings are.
const WARNING: &str = "no stream handler has left its settings in this table: the template's defaults count";

/// The name of a file in a directory.
fn within(directory: &tempfile::TempDir, name: &str) -> String {
    directory.path().join(name).to_str().unwrap().to_owned()
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_settings_count_is_said() {
    let running = Running::start(&[]).await;
    put_all(&running.client, TABLE, tree(3, 2)).await;
    assert_right(&running).await;
    let (url, directory) = (running.url(), tempfile::tempdir().unwrap());
    let work = within(&directory, "work");
    let says = |arguments: &[&str], whose: &str, to_people: &str| {
        let output = sapwood(&url, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", words(&output));
        let last = lines(std::str::from_utf8(&output.stdout).unwrap()).pop().unwrap();
        assert_eq!(last["settings"], whose, "{arguments:?}: {last}");
        assert!(said(&output).contains(to_people), "{arguments:?}: {}", words(&output));
    };
    let verify = ["verify", "--json", "--confirmation-window", "1"];
    let backfill = ["backfill", "--json", "--yes", "--work", &work];
    for command in [&verify[..], &backfill] {
        says(command, "defaults", "settings: the template's defaults, because no stream handler");
    }
    running.announce().await;
    for command in [&verify[..], &backfill, &["repair", "--json", "--confirmation-window", "1"]] {
        says(command, "handler", "settings: those that the stream handler has left");
        says(&[command, &["--parameter", "PathRows=on"]].concat(), "parameters", "settings: those of --parameter");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_records_is_warned_where_nobody_has_said_what_the_settings_are() {
    let running = Running::start(&[]).await;
    let (url, directory) = (running.url(), tempfile::tempdir().unwrap());
    let file = within(&directory, "one.jsonl");
    std::fs::write(&file, r#"{"id": "imported"}"#).unwrap();
    let all: [&[&str]; 5] = [
        &["put", "D"],
        &["put", "V", "--parent", "D"],
        &["move", "V", "--root"],
        &["rm", "V", "--yes"],
        &["import", &file],
    ];
    let is_warned = |arguments: &[&str]| {
        let output = sapwood(&url, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", words(&output));
        said(&output).contains(WARNING)
    };
    for arguments in all {
        assert!(is_warned(arguments), "{arguments:?}");
    }
    assert!(!is_warned(&["get", "D"]), "who reads isn't warned");
    assert!(!is_warned(&["put", "D", "--set", "name=1", "--parameter", "PathRows=on"]));
    running.announce().await;
    assert!(!is_warned(&["put", "D", "--set", "name=2"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_with_other_settings_than_the_handlers_names_them_and_asks() {
    let mut running = Running::start(&[]).await;
    put_all(&running.client, TABLE, tree(20, 3)).await;
    running.settle().await;
    running.announce().await;
    running.pause().await;
    // The switch is deployed, and no record has been written since: what the handler has left is out of date.
    running.resume(&[("PathRows", "off")]).await;
    let (url, directory) = (running.url(), tempfile::tempdir().unwrap());
    let work = within(&directory, "work");
    let backfill = |arguments: &[&str]| sapwood(&url, &[&["backfill", "--work", &work][..], arguments].concat());
    let differs = "PATH_ROWS: the handler has left `on`, and the parameters say `off`";

    let before = running.contents().await;
    let unasked = backfill(&["--parameter", "PathRows=off"]);
    assert_eq!(unasked.status.code(), Some(4), "{}", words(&unasked));
    assert!(said(&unasked).contains(differs) && said(&unasked).contains("--yes"), "{}", words(&unasked));
    assert_eq!(running.contents().await, before, "nothing is written");
    assert_eq!(read_dir(directory.path()).unwrap().count(), 0, "the working file is gone");

    // The same settings as the handler's aren't named.
    let same = backfill(&["--dry-run", "--parameter", "PathRows=on"]);
    assert!(!said(&same).contains("PATH_ROWS"), "{}", words(&same));

    let done = backfill(&["--yes", "--parameter", "PathRows=off"]);
    assert_eq!(done.status.code(), Some(0), "{}", words(&done));
    assert!(said(&done).contains(differs), "{}", words(&done));
    assert_right(&running).await;
    assert!(!running.contents().await.keys().any(|(_, sk)| sk.starts_with("PATH#")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_working_file_that_is_older_than_a_day_begins_anew() {
    let mut running = Running::start(&[]).await;
    running.pause().await;
    put_all(&running.client, TABLE, tree(5, 2)).await;
    running.resume(&[]).await;
    let proxy = running.another_proxy().await;
    proxy.follow(|call: &Call| {
        let is_write = call.operation == "UpdateItem";
        is_write.then(|| Fault::error(400, "com.amazon.coral.service#AccessDeniedException"))
    });
    let directory = tempfile::tempdir().unwrap();
    let work = within(&directory, "work");
    let stopped = || {
        let output = sapwood(&proxy.url(), &["backfill", "--yes", "--work", &work]);
        assert_eq!(output.status.code(), Some(4), "{}", words(&output));
        said(&output)
    };
    assert!(!stopped().contains("older than a day"));
    let scans = proxy.count("Scan");
    assert!(!stopped().contains("older than a day"));
    assert_eq!(proxy.count("Scan"), scans, "what it has read is remembered");

    // A node that comes now is in no plan of before.
    running.pause().await;
    put(&running.client, TABLE, tree(6, 2).pop().unwrap()).await;
    running.resume(&[]).await;
    let long_ago = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    for file in read_dir(directory.path()).unwrap() {
        File::options().write(true).open(file.unwrap().path()).unwrap().set_modified(long_ago).unwrap();
    }
    proxy.follow(|_| None);
    let done = sapwood(&proxy.url(), &["backfill", "--yes", "--work", &work, "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", words(&done));
    assert!(said(&done).contains("older than a day: the table is read anew"), "{}", words(&done));
    assert_eq!(lines(std::str::from_utf8(&done.stdout).unwrap()).pop().unwrap()["redriven"], 6);
    assert_right(&running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_finds_faults_of_a_file_before_it_asks_the_table() {
    let running = Running::start(&[]).await;
    let (proxy, directory) = (running.another_proxy().await, tempfile::tempdir().unwrap());
    let file = within(&directory, "a.csv");
    let asked = || ["GetItem", "DescribeTable", "BatchGetItem"].map(|name| proxy.count(name)).iter().sum::<usize>();
    std::fs::write(&file, "key,parent\na,\n").unwrap();
    let refused = sapwood(&proxy.url(), &["import", &file]);
    assert!(words(&refused).contains("has no column `id`"), "{}", words(&refused));
    assert_eq!(asked(), 0);
    std::fs::write(&file, "id,parent\na,\n").unwrap();
    let done = sapwood(&proxy.url(), &["import", &file]);
    assert_eq!(done.status.code(), Some(0), "{}", words(&done));
    assert!(asked() > 0);
}
