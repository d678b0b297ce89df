//! `sapwood export --format`: what is written can be read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::client::{node, put};
use serde_json::Value;

use crate::running::{Sapwood, TABLE, printed, records, sapwood, words};

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// Ids that mean something in one format or the other.
const IDS: [&str; 12] = [
    "end",
    "graph",
    "a\"b",
    "back\\slash\\",
    "two\nlines",
    "<b>&amp;</b>",
    "#quot;",
    "naïve ☃",
    "x--> y",
    "semi;colon, comma",
    "`tick`",
    "n_41",
];

/// A root with a node of each id, in a row.
async fn planted(running: &Sapwood) -> Vec<(String, Option<String>)> {
    let mut edges: Vec<(String, Option<String>)> = Vec::new();
    for id in IDS {
        let parent = edges.last().map(|(last, _)| last.clone());
        put(&running.client, TABLE, node(id, parent.as_deref(), &format!("{id}'s \"name\"\n"))).await;
        edges.push((id.to_owned(), parent));
    }
    running.becomes_right().await;
    edges
}

#[tokio::test(flavor = "multi_thread")]
async fn csv_comes_back_as_it_was() {
    let (from, to) = (Sapwood::start(&[]), Sapwood::start(&[]));
    planted(&from).await;
    let digits = "12345678901234567890.123456789012345678";
    let mut every = node("every", Some("end"), "  spaces, \"quotes\"\r\nand lines");
    let more = [
        // The names of the export's own columns.
        ("id", text("an id of theirs")),
        ("zip", text("01234")),
        ("number", AttributeValue::N(digits.to_owned())),
        ("mixed", AttributeValue::N("5".to_owned())),
        ("yes", AttributeValue::Bool(true)),
        ("segment", text("50 % # $")),
        ("zz last", text("a return\r")),
        ("list", AttributeValue::L(vec![text("x")])),
        ("bytes", AttributeValue::B(Blob::new([0, 255]))),
        ("nothing", AttributeValue::Null(true)),
        ("empty", text("")),
        (" spaced", text("x")),
    ];
    every.extend(more.map(|(name, value)| (name.to_owned(), value)));
    put(&from.client, TABLE, every).await;
    let mut other = node("other", None, "other");
    other.insert("mixed".to_owned(), text("five"));
    put(&from.client, TABLE, other).await;
    let mut revision = node("other", None, "a revision");
    revision.insert("SK".to_owned(), text("v001_Audit"));
    put(&from.client, TABLE, revision).await;

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("all.csv");
    let file = file.to_str().unwrap();
    let said = printed(&from.url, &["export", "--format", "csv", "--output", file, "--json"], 0);
    let said: Value = serde_json::from_str(&said).unwrap();
    let left_out = serde_json::json!({" spaced": 1, "bytes": 1, "empty": 1, "list": 1, "nothing": 1});
    assert_eq!((&said["left_out"], &said["nodes"]), (&left_out, &14.into()), "{said}");
    let options: Vec<&str> = said["import_options"].as_array().unwrap().iter().map(|o| o.as_str().unwrap()).collect();
    assert_eq!(options, ["--id", "_id", "--number", "number"]);

    let imported = sapwood(&to.url, &[&["import", file][..], &options].concat());
    assert_eq!(imported.status.code(), Some(0), "{}", words(&imported));
    let mut wanted = records(&from).await;
    wanted.remove(&("other".to_owned(), "v001_Audit".to_owned()));
    let every = wanted.get_mut(&("every".to_owned(), "NODE".to_owned())).unwrap();
    for name in ["list", "bytes", "nothing", "empty", " spaced"] {
        assert!(every.remove(name).is_some(), "{name}");
    }
    // A column of texts has texts only.
    every.insert("mixed".to_owned(), text("5").into());
    every.insert("yes".to_owned(), text("true").into());
    assert_eq!(records(&to).await, wanted);

    let some = printed(&from.url, &["export", "--format", "csv", "--columns", "zip,name", "--under", "every"], 0);
    assert_eq!(
        some,
        "id,parent,segment,name,zip\nevery,end,50 % # $,\"  spaces, \"\"quotes\"\"\r\nand lines\",01234\n"
    );
    for arguments in [&["--columns", "a"][..], &["--format", "csv", "--show", "a"], &["--json"]] {
        printed(&from.url, &[&["export"][..], arguments].concat(), 2);
    }
}

/// A word of Graphviz's language.
#[derive(Debug, PartialEq)]
enum Word {
    Quoted(String),
    Other(String),
}

/// Splits a line as Graphviz does: in quotes, only `\"` stands for something else, and `\\` is two characters that end
/// no string.
fn dot_words(line: &str) -> Vec<Word> {
    let (mut words, mut characters) = (Vec::new(), line.chars().peekable());
    while let Some(character) = characters.next() {
        if character == '"' {
            let mut quoted = String::new();
            loop {
                match characters.next().unwrap_or_else(|| panic!("an open quote: {line}")) {
                    '"' => break,
                    '\\' => match characters.next().unwrap() {
                        '"' => quoted.push('"'),
                        other => quoted.extend(['\\', other]),
                    },
                    other => quoted.push(other),
                }
            }
            words.push(Word::Quoted(quoted));
        } else if !character.is_whitespace() {
            let mut other = String::from(character);
            while let Some(next) = characters.next_if(|next| *next != '"' && !next.is_whitespace()) {
                other.push(next);
            }
            words.push(Word::Other(other));
        }
    }
    words
}

/// What Graphviz draws of a label.
fn dot_label(label: &str) -> Vec<String> {
    let (mut lines, mut characters) = (vec![String::new()], label.chars());
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next().unwrap() {
                'n' => lines.push(String::new()),
                other => lines.last_mut().unwrap().push(other),
            },
            other => lines.last_mut().unwrap().push(other),
        }
    }
    lines.into_iter().map(|line| line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).collect()
}

/// What is shown of a text.
fn visible(text: &str) -> String {
    text.replace('\n', "\\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn dot_draws_every_node_and_edge() {
    let running = Sapwood::start(&[]);
    let edges = planted(&running).await;
    let drawn = printed(&running.url, &["export", "--format", "dot", "--show", "name"], 0);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!((lines[0], *lines.last().unwrap()), ("digraph sapwood {", "}"));
    let (mut labels, mut found) = (BTreeMap::new(), BTreeSet::new());
    for line in &lines[3..lines.len() - 1] {
        match dot_words(line.strip_suffix(';').unwrap()).as_slice() {
            [Word::Quoted(name), Word::Other(open), Word::Quoted(label), Word::Other(close)] => {
                assert_eq!((open.as_str(), close.as_str()), ("[label=", "]"));
                labels.insert(name.clone(), dot_label(label));
            }
            [Word::Quoted(above), Word::Other(arrow), Word::Quoted(below)] if arrow == "->" => {
                found.insert((below.clone(), above.clone()));
            }
            other => panic!("{line}: {other:?}"),
        }
    }
    let ids: BTreeSet<String> = IDS.iter().map(|id| visible(id)).collect();
    assert_eq!(labels.values().map(|label| label[0].clone()).collect::<BTreeSet<_>>(), ids);
    assert!(labels.values().all(|label| label[1] == format!("name={}'s \"name\"\\n", label[0])), "{labels:?}");
    let found: BTreeSet<(String, String)> =
        found.into_iter().map(|(below, above)| (labels[&below][0].clone(), labels[&above][0].clone())).collect();
    let wanted = edges.iter().filter_map(|(id, parent)| Some((visible(id), visible(parent.as_ref()?))));
    assert_eq!(found, wanted.collect());
}

/// What Mermaid draws of a label: entities by their numbers.
fn mermaid_label(label: &str) -> String {
    let mut parts = label.split('#');
    let mut drawn = parts.next().unwrap().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(';').unwrap();
        drawn.push(char::from_u32(number.parse().unwrap()).unwrap());
        drawn.push_str(rest);
    }
    drawn
}

#[tokio::test(flavor = "multi_thread")]
async fn mermaid_draws_every_node_and_edge() {
    let running = Sapwood::start(&[]);
    let edges = planted(&running).await;
    let drawn = printed(&running.url, &["export", "--format", "mermaid", "--show", "name"], 0);
    let mut lines = drawn.lines();
    assert_eq!(lines.next(), Some("flowchart LR"));
    let (mut labels, mut found) = (BTreeMap::new(), BTreeSet::new());
    let is_name = |name: &str| name.starts_with("n_") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    for line in lines {
        let line = line.strip_prefix("  ").unwrap();
        if let Some((name, label)) = line.split_once("[\"") {
            let label = label.strip_suffix("\"]").unwrap();
            assert!(is_name(name) && !label.contains(['"', '`', '&', '\\']), "{line}");
            let (id, shown) = label.split_once("<br>").unwrap();
            assert!(!id.contains('<') && !shown.contains('<'), "{line}");
            assert!(labels.insert(name.to_owned(), mermaid_label(id)).is_none(), "{name} stands for two");
        } else {
            let (above, below) = line.split_once(" --> ").unwrap();
            assert!(is_name(above) && is_name(below), "{line}");
            found.insert((below.to_owned(), above.to_owned()));
        }
    }
    assert_eq!(labels.values().cloned().collect::<BTreeSet<_>>(), IDS.iter().map(|id| visible(id)).collect());
    let found: BTreeSet<(String, String)> =
        found.into_iter().map(|(below, above)| (labels[&below].clone(), labels[&above].clone())).collect();
    let wanted = edges.iter().filter_map(|(id, parent)| Some((visible(id), visible(parent.as_ref()?))));
    assert_eq!(found, wanted.collect());
    // The parent of the node at the top isn't drawn.
    let part = printed(&running.url, &["export", "--format", "mermaid", "--under", IDS[11]], 0);
    assert_eq!(part, "flowchart LR\n  n_n_5f41[\"n_41\"]\n");
    assert_eq!(printed(&Sapwood::start(&[]).url, &["export", "--format", "dot"], 0).lines().count(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_cant_be_written_is_named() {
    let running = Sapwood::start(&[]);
    assert!(!Path::new("/nowhere").exists());
    let output = sapwood(&running.url, &["export", "--output", "/nowhere/all.jsonl"]);
    assert!(output.status.code() == Some(4) && words(&output).contains("/nowhere/all.jsonl"), "{}", words(&output));
}
