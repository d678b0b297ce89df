//! How docs/operate/recovery.md erases a person's data, step by step. Then the whole table is searched for the person.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::UNIX_EPOCH;

use sapwood_core::model::AttributeValue;
use sapwood_tests::client::{contents, s};
use sapwood_tests::oracle::Contents;
use serde_json::Value;

use crate::catch_up::caught_up;
use crate::explorer::answer;
use crate::running::{Sapwood, TABLE, printed, sapwood, words};

const PAGE: &str = include_str!("../../../../docs/operate/recovery.md");

/// All that the stack can keep is switched on.
const PARAMETERS: [&str; 6] =
    ["UniqueNames=exact", "OrderAttribute=name", "LinkAttributes=owner", "Totals=count,size", "Trash=on", "Changes=on"];

/// What names the person, each with what it is in the words of the page.
const WORDS: [(&str, &str); 5] = [
    ("Jane Doe", "attributes"),
    ("janes-letters", "segments"),
    ("Jane's topic", "topics"),
    ("p-4711", "ids"),
    ("caller-4711", "the caller"),
];

/// The items that name the person, each with what it has.
fn found(contents: &Contents) -> BTreeMap<(String, String), Vec<&'static str>> {
    let has = |text: &[u8], word: &str| text.windows(word.len()).any(|window| window == word.as_bytes());
    let mut found = BTreeMap::new();
    for ((pk, sk), item) in contents {
        let mut texts = vec![pk.clone().into_bytes(), sk.clone().into_bytes()];
        item.iter().for_each(|(name, value)| {
            texts.push(name.clone().into_bytes());
            texts_of(value, &mut texts);
        });
        let named = WORDS.iter().filter(|(word, _)| texts.iter().any(|text| has(text, word)));
        let named: Vec<&str> = named.map(|(_, what)| *what).collect();
        if !named.is_empty() {
            found.insert((pk.clone(), sk.clone()), named);
        }
    }
    found
}

/// All texts and bytes of a value.
fn texts_of(value: &AttributeValue, texts: &mut Vec<Vec<u8>>) {
    match value {
        AttributeValue::S(text) => texts.push(text.clone().into_bytes()),
        AttributeValue::B(bytes) => texts.push(bytes.clone()),
        AttributeValue::Ss(set) => texts.extend(set.iter().map(|text| text.clone().into_bytes())),
        AttributeValue::Bs(set) => texts.extend(set.iter().cloned()),
        AttributeValue::L(list) => list.iter().for_each(|value| texts_of(value, texts)),
        AttributeValue::M(map) => map.iter().for_each(|(name, value)| {
            texts.push(name.clone().into_bytes());
            texts_of(value, texts);
        }),
        _ => {}
    }
}

/// What the page says that stays: the beginnings of sort keys, each with what it holds, and for how many seconds.
fn kept() -> Vec<(&'static str, &'static str, u64)> {
    let table = PAGE.split_once("## What stays for a while").unwrap().1.split_once("Outside of the table").unwrap().0;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |row: &'static str| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let (number, unit) = cells[2].trim_end_matches(" |").split_once(' ').unwrap();
        let seconds = if unit == "days" { 86_400 } else { 3_600 } * number.parse::<u64>().unwrap();
        (cells[0].split('`').next().unwrap(), cells[1], seconds)
    };
    rows.map(row).collect()
}

/// Writes over the API with an idempotency key.
fn write(http: &str, method: &str, path: &str, key: &str, body: &str) {
    let key = format!("idempotency-key: \"{key}\"");
    let (status, _, said) = answer(http, method, path, &["content-type: application/json", &key], body);
    assert!((200..300).contains(&status), "{method} {path}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_page_says_leaves_nothing_of_a_person_but_what_it_says_that_stays() {
    let parameters: Vec<&str> = PARAMETERS.iter().flat_map(|parameter| ["--parameter", parameter]).collect();
    let running = Sapwood::start(&[&["--http", "127.0.0.1:0"], &*parameters].concat());
    let (url, http) = (&running.url, running.http.clone().unwrap());
    let ours = |arguments: &[&str]| printed(url, &[arguments, &["--by", "caller-4711"]].concat(), 0);
    // The first batch has a trail.
    let body = r#"{"id": "p-4711", "attributes": {"name": "Jane Doe", "size": 3}}"#;
    write(&http, "POST", "/nodes", "person", body);
    ours(&["put", "team", "--set", "name=Team"]);
    ours(&["move", "p-4711", "--to", "team"]);
    // Below the person: a folder with a name, and something in it. Beside: what was put into the trash, and a copy.
    ours(&["put", "p-4711-a", "--parent", "p-4711", "--segment", "janes-letters", "--set", "name=Jane Doe"]);
    ours(&["put", "p-4711-b", "--parent", "p-4711-a", "--set", "name=to Jane Doe"]);
    ours(&["put", "p-4711-t", "--parent", "p-4711", "--set", "name=Jane Doe"]);
    ours(&["rm", "p-4711-t", "--trash", "--wait"]);
    for (node, topic) in [("p-4711", "Jane's topic"), ("p-4711-a", "Letters"), ("p-4711-t", "Letters")] {
        for _ in 0..2 {
            ours(&["put", node, "--topic", topic, "--set", "name=Jane Doe"]);
        }
    }
    let body = r#"{"attributes": {"name": "Jane Doe"}}"#;
    write(&http, "POST", "/nodes/p-4711/revisions/Letters", "revision", body);
    printed(url, &["put", "other", "--parent", "team", "--set", "owner=p-4711", "--set", "name=other"], 0);
    ours(&["copy", "p-4711", "--ids", "copied", "--to", "other", "--wait"]);
    // One was deleted as an application does, which leaves its revisions.
    ours(&["put", "p-4711-gone", "--parent", "p-4711", "--set", "name=Jane Doe"]);
    ours(&["put", "p-4711-gone", "--topic", "Jane's topic", "--set", "name=Jane Doe", "--wait"]);
    write(&http, "DELETE", "/nodes/p-4711-gone", "deletion", "");
    caught_up(&http, "60", 0);
    assert!(found(&contents(&running.client, TABLE, ["PK", "SK"]).await).len() > 30);

    let erase = |id: &str| printed(url, &["rm", id, "--children", "delete", "--revisions", "--yes", "--wait"], 0);
    erase("p-4711");
    assert_eq!(erase("p-4711-gone"), "1 revision of p-4711-gone is deleted\n");
    let trash = printed(url, &["trash", "list", "--json"], 0);
    let trash: Vec<Value> = trash.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(trash.iter().map(|entry| &entry["trashed"]["parent"]).collect::<Vec<_>>(), ["p-4711"]);
    erase(trash[0]["id"].as_str().unwrap());
    assert!(printed(url, &["links", "p-4711", "owner"], 0).contains("other"));
    printed(url, &["put", "other", "--unset", "owner", "--wait"], 0);
    caught_up(&http, "60", 0);
    let repair = || {
        let repaired = sapwood(url, &["repair", "--yes", "--confirmation-window", "1"]);
        assert!(repaired.status.success(), "{}", words(&repaired));
    };
    repair();
    // The look finds the copy, and the caller in what isn't the person's.
    let left = found(&contents(&running.client, TABLE, ["PK", "SK"]).await);
    assert!(left.contains_key(&("copied".to_owned(), "NODE".to_owned())), "{left:?}");
    erase("copied");
    for ((pk, sk), _) in left.iter().filter(|((pk, sk), _)| pk == "team" && sk == "NODE") {
        let key = HashMap::from([("PK".to_owned(), s(pk)), ("SK".to_owned(), s(sk))]);
        let update = "SET #created = :nobody, #updated = :nobody";
        let names = [("#created", "_created_by"), ("#updated", "_updated_by")];
        let names = names.map(|(name, own)| (name.to_owned(), own.to_owned())).into();
        let update = running.client.update_item().table_name(TABLE).set_key(Some(key)).update_expression(update);
        let update = update.set_expression_attribute_names(Some(names));
        update.expression_attribute_values(":nobody", s("erased")).send().await.unwrap();
    }
    caught_up(&http, "60", 0);
    repair();

    let (contents, kept) = (contents(&running.client, TABLE, ["PK", "SK"]).await, kept());
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let mut seen = BTreeSet::new();
    for ((pk, sk), named) in found(&contents) {
        let rule = kept.iter().find(|(begins, ..)| sk.starts_with(begins));
        let Some((begins, holds, seconds)) = rule else { panic!("{pk} {sk} has {named:?}") };
        let expires = match contents[&(pk.clone(), sk.clone())].get("_expires") {
            Some(AttributeValue::N(number)) => number.parse::<u64>().unwrap(),
            other => panic!("{pk} {sk} stays: {other:?}"),
        };
        assert!(expires <= now + seconds, "{pk} {sk} stays for {} seconds", expires - now);
        assert!(named.iter().all(|what| holds.contains(what)), "{pk} {sk} has {named:?}");
        seen.insert(*begins);
    }
    // The page names what stays, and nothing else.
    assert_eq!(seen, kept.iter().map(|(begins, ..)| *begins).collect());
    assert!(sapwood(url, &["rm", "p-4711", "--revisions", "--yes"]).status.code() == Some(1));
}
