//! Records that an event source gave up.

use std::io::Write;
use std::process::Command;

use sapwood_core::keys::{ItemKey, Names, Schema};

use super::fixture::Directory;
use crate::failed_records::{CACHE_BYTES, LostError, LostKeys, OBJECT_BYTES_MAX, read};

fn record(pk: &str, sk: &str) -> String {
    serde_json::json!({"eventName": "MODIFY", "dynamodb": {"Keys": {"PK": {"S": pk}, "SK": {"S": sk}}, "SizeBytes": 7}})
        .to_string()
}

fn event(records: &[String]) -> String {
    format!("{{\"Records\": [{}]}}", records.join(","))
}

fn keys_of(text: &str) -> Vec<(String, String)> {
    let mut keys = LostKeys::new().unwrap();
    read(text.as_bytes(), &Schema::default(), &mut keys).unwrap();
    keys.next(None, 100).unwrap().into_iter().map(|key| (key.pk, key.sk)).collect()
}

fn refused(text: &str) -> String {
    let mut keys = LostKeys::new().unwrap();
    match read(text.as_bytes(), &Schema::default(), &mut keys) {
        Err(LostError::Unreadable { at, reason }) => format!("{at}: {reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_payload_is_an_event_or_its_text_and_each_key_comes_once_and_in_order() {
    let records = [record("é \"'\n#", "NODE"), record("a", "v001_Audit"), record("a", "NODE")];
    let as_text = serde_json::json!({"requestContext": {"condition": "x"}, "payload": event(&records)}).to_string();
    let as_event = format!("{{\n\"payload\": {}\n}}", event(&records[1..]));
    let wanted = [("a", "NODE"), ("a", "v001_Audit"), ("é \"'\n#", "NODE")];
    let wanted: Vec<_> = wanted.iter().map(|(pk, sk)| ((*pk).to_owned(), (*sk).to_owned())).collect();
    assert_eq!(keys_of(&format!("{as_text}\n{as_event}{as_text}")), wanted);
    assert_eq!(keys_of(""), []);
    assert_eq!(keys_of(&format!("{{\"payload\": {}}}", event(&[]))), []);
}

#[test]
fn what_is_no_failed_record_is_refused_with_its_place() {
    let good = serde_json::json!({"payload": event(&[record("a", "NODE")])}).to_string();
    let bad = [
        ("not json".to_owned(), "line 1"),
        (format!("{good}\n{good}\n{{\"payload\": 7}}"), "line 3"),
        (format!("{good}\n{{}}"), "line 2"),
        (format!("{good}\n{{\"payload\": \"not json\"}}"), "line 2"),
        (format!("{good}\n{{\"payload\": {{\"Records\": [{{}}]}}}}"), "line 2"),
        (format!("{good}\n{}", &good[..good.len() - 3]), "line 2"),
        (format!("{good}\n{}", good.replace("PK", "pk")), "object 2"),
    ];
    for (text, place) in bad {
        let said = refused(&text);
        assert!(said.starts_with(place), "{text}: {said}");
    }
}

#[test]
fn names_of_keys_are_the_tables() {
    let names = Names { partition_key: "pk".to_owned(), sort_key: "sk".to_owned(), ..Names::default() };
    let schema = Schema::new(names, false).unwrap();
    let text = format!("{{\"payload\": {}}}", event(&[record("a", "NODE")])).replace("PK", "pk").replace("SK", "sk");
    let mut keys = LostKeys::new().unwrap();
    read(text.as_bytes(), &schema, &mut keys).unwrap();
    assert_eq!(keys.next(None, 9).unwrap(), [ItemKey::new("a", "NODE")]);
}

#[test]
fn an_object_that_never_ends_is_refused() {
    let endless = std::io::Read::chain(&b"{\"payload\": \""[..], std::io::repeat(b'x'));
    let mut keys = LostKeys::new().unwrap();
    let error = read(endless, &Schema::default(), &mut keys).unwrap_err().to_string();
    assert!(error.contains(&OBJECT_BYTES_MAX.to_string()), "{error}");
}

#[test]
fn keys_are_handed_out_page_by_page() {
    let mut keys = LostKeys::new().unwrap();
    for n in (0..2_500).rev() {
        for _ in 0..2 {
            keys.add(&ItemKey::new(format!("n{}", n / 3), format!("v{n:04}"))).unwrap();
        }
    }
    assert_eq!(keys.count().unwrap(), 2_500);
    let (mut after, mut all) = (None, Vec::new());
    loop {
        let page = keys.next(after.as_ref(), 999).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        all.extend(page);
    }
    assert_eq!(all.len(), 2_500);
    assert!(all.is_sorted());
}

const KEYS: usize = 80_000;

/// Each key has so many bytes: all together they are far more than the memory that is allowed.
const KEY_BYTES: usize = 1_000;

#[test]
#[ignore = "runs in a process of its own, which the next test starts"]
fn measured() {
    let directory = Directory::new();
    let path = directory.path("lost");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let numbers: Vec<usize> = (0..KEYS).map(|line| (line * 7_919 + 1) % KEYS).collect();
    for some in numbers.chunks(500) {
        let records: Vec<String> = some.iter().map(|n| record(&format!("{n:0>KEY_BYTES$}"), "NODE")).collect();
        writeln!(file, "{}", serde_json::json!({"payload": event(&records)})).unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    let mut keys = LostKeys::new().unwrap();
    read(std::fs::File::open(&path).unwrap(), &Schema::default(), &mut keys).unwrap();
    let (mut after, mut count) = (None, 0);
    loop {
        let page = keys.next(after.as_ref(), 1_000).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        count += page.len();
    }
    assert_eq!(count, KEYS);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak {}", peak.trim());
}

#[cfg(target_os = "linux")]
#[test]
fn eighty_thousand_lost_records_take_bounded_memory() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output =
        command.args(["tests::failed_records::measured", "--exact", "--ignored", "--nocapture"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let peak: usize = text.split_once("peak ").unwrap().1.split_once(" kB").unwrap().0.parse().unwrap();
    println!("peak {peak} kB");
    // SQLite's cache, the executable itself with the numbers, and an object.
    let allowed = CACHE_BYTES as usize + 24 * 1_024 * 1_024;
    assert!(peak * 1_024 < allowed && allowed < KEYS * KEY_BYTES, "{peak} kB");
}
