//! CSV of random nodes, read again by the import's own reader.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::BTreeMap;

use sapwood_core::keys::Id;
use sapwood_core::model::AttributeValue;
use sapwood_import::sources::{Content, Source};
use sapwood_import::{CsvOptions, Node, Options as ImportOptions, Record};
use sapwood_json::Attributes;

use super::{FormatName, Options};

/// Characters that mean something in CSV, and some that don't.
const CHARACTERS: [char; 12] = ['a', 'B', '7', ' ', ',', '"', '\'', '\n', '\r', ';', 'é', '☃'];

fn random_text(random: &mut fastrand::Rng) -> String {
    let length = random.usize(1..8);
    (0..length).map(|_| CHARACTERS[random.usize(..CHARACTERS.len())]).collect()
}

fn random_value(random: &mut fastrand::Rng, is_number: bool) -> AttributeValue {
    match is_number {
        true => AttributeValue::N(random.i32(..).to_string()),
        false => AttributeValue::S(random_text(random)),
    }
}

fn random_nodes(random: &mut fastrand::Rng) -> BTreeMap<String, Node> {
    // Names of the export's own columns, of another's, and names that have to be quoted. Those that begin with `n` have
    // numbers.
    let names = ["id", "parent_id", "a,b", "two\nlines", "\"", "n", "né", "z"];
    let mut nodes = BTreeMap::new();
    for n in 0..random.usize(1..20) {
        let id = format!("{n}{}", random_text(random));
        let parent = random.bool().then(|| Id::new(random_text(random)).unwrap());
        let segment = random.bool().then(|| random_text(random));
        let named = names.into_iter().filter(|_| random.bool()).collect::<Vec<_>>();
        let attributes =
            named.into_iter().map(|name| (name.to_owned(), random_value(random, name.starts_with('n')))).collect();
        let node = Id::new(id.clone()).unwrap().into();
        nodes.insert(id, Node { node, parent, segment, trashed: None, attributes: Attributes(attributes) });
    }
    nodes
}

/// What the import is told by the options of a command line.
fn csv_options(options: &[String]) -> CsvOptions {
    let mut csv = CsvOptions::default();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        if option == "--guard-formulas" {
            csv.guards_formulas = true;
            continue;
        }
        let value = options.next().unwrap().clone();
        match option.as_str() {
            "--id" => csv.id = Some(value),
            "--parent" => csv.parent = Some(value),
            "--segment" => csv.segment = Some(value),
            "--cell-lines" => csv.cell_lines_max = Some(value.parse().unwrap()),
            _ => csv.numbers.push(value),
        }
    }
    csv
}

/// The nodes that the import's reader finds in a file, with these options of a command line. Anything else in it is an
/// error.
fn read_again(file: &[u8], import_options: &[String]) -> Result<BTreeMap<String, Node>, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nodes.csv");
    std::fs::write(&path, file).unwrap();
    let options = ImportOptions { csv: csv_options(import_options), ..ImportOptions::default() };
    let nodes = Source::open(&path, &options).unwrap().map(|entry| match entry.found {
        Ok(Content::Record(Record::Node(node))) => Ok((node.node.id.to_string(), node)),
        other => Err(format!("{other:?}")),
    });
    nodes.collect()
}

#[test]
fn what_csv_holds_an_import_reads() {
    let seeds: Vec<u64> = match std::env::var("SAPWOOD_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..300).map(|_| fastrand::u64(..)).collect(),
    };
    for seed in seeds {
        let nodes = random_nodes(&mut fastrand::Rng::with_seed(seed));
        let mut file = Vec::new();
        let guards_formulas = seed % 2 == 0;
        let mut format = FormatName::Csv.writer(Options { guards_formulas, ..Options::default() }, None).unwrap();
        for node in nodes.values() {
            format.take(&Record::Node(node.clone()), &mut file).unwrap();
        }
        let ended = format.end(&mut file).unwrap();
        assert!(ended.left_out.is_empty(), "SAPWOOD_SEED={seed}: {ended:?}");
        let found = read_again(&file, &ended.import_options);
        assert_eq!(found, Ok(nodes), "SAPWOOD_SEED={seed}:\n{}", String::from_utf8_lossy(&file));
    }
}

#[test]
fn cells_that_look_like_formulas_are_guarded_and_come_back() {
    let texts = ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "'x", "''", "x'", "=", "many\nlines", "plain"];
    let mut format = FormatName::Csv.writer(Options { guards_formulas: true, ..Options::default() }, None).unwrap();
    let mut nodes = BTreeMap::new();
    let mut file = Vec::new();
    for (n, cell) in texts.into_iter().enumerate() {
        let attributes = [
            ("=text".to_owned(), AttributeValue::S(cell.to_owned())),
            ("n".to_owned(), AttributeValue::N("-12".to_owned())),
            ("long".to_owned(), AttributeValue::S("x\n".repeat(if n == 0 { 150 } else { 1 }))),
        ];
        let id = format!("{cell}{n}");
        let node = Node {
            node: Id::new(id.clone()).unwrap().into(),
            parent: (n > 0).then(|| Id::new("=1+10").unwrap()),
            segment: Some(cell.to_owned()),
            trashed: None,
            attributes: Attributes(attributes.into()),
        };
        format.take(&Record::Node(node.clone()), &mut file).unwrap();
        nodes.insert(id, node);
    }
    let ended = format.end(&mut file).unwrap();
    let text = String::from_utf8(file.clone()).unwrap();
    assert!(text.starts_with("id,parent,segment,'=text,long,n\n'=1+10,,'=1+1,'=1+1,"), "{text}");
    assert!(text.contains(",-12\n"), "a number is one: {text}");
    assert_eq!(ended.import_options, ["--number", "n", "--guard-formulas", "--cell-lines", "151"]);
    assert_eq!(read_again(&file, &ended.import_options), Ok(nodes));
}
