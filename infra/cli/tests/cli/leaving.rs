//! docs/operate/uninstall.md: the sort keys that it has deleted are all that isn't a base record, and no base record
//! is among them.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::client::{self, contents, delete_all, node, put, put_all, s};
use sapwood_tests::oracle::{Contents, Oracle};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{OURS, assert_right, ends_with};

fn page(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The beginnings of sort keys in the page's recipe, and the whole ones.
fn recipe() -> (Vec<String>, Vec<String>) {
    let page = page("operate/uninstall.md");
    let pattern = page.split_once("derived='^(").unwrap().1.split_once(")'\n").unwrap().0;
    let (beginnings, whole) = pattern.split_once("|(").unwrap();
    let words = |text: &str| text.split('|').map(str::to_owned).collect();
    (words(beginnings), words(whole.strip_suffix(")$").unwrap()))
}

fn is_derived(pk: &str, sk: &str) -> bool {
    let (beginnings, whole) = recipe();
    beginnings.iter().any(|beginning| sk.starts_with(beginning)) || whole.iter().any(|one| one == sk) || pk == OURS
}

#[test]
fn the_recipe_has_every_item_of_the_table_but_yours() {
    let table = page("reference/table.md");
    let all = table.split_once("## All items").unwrap().1.split_once("\n\n`PK`").unwrap().0;
    let items: Vec<Vec<&str>> =
        all.lines().filter(|line| line.contains('`')).map(|line| line.split(" | ").collect()).collect();
    assert!(items.len() > 20, "{items:?}");
    for item in items {
        let (name, pk, sk) = (item[0].trim_start_matches("| "), item[1].trim_matches('`'), item[2]);
        let sk = sk.trim_start_matches('`').split('`').next().unwrap();
        assert_eq!(is_derived(pk, sk), !["node", "revision"].contains(&name), "{name}: {sk}");
    }
}

/// What is in the records of a table, without what Sapwood adds to them.
fn own(contents: &Contents) -> BTreeMap<(String, String), BTreeMap<String, String>> {
    let own = contents.iter().map(|(key, item)| {
        let item = item.iter().filter(|(name, _)| !name.starts_with('_'));
        (key.clone(), item.map(|(name, value)| (name.clone(), format!("{value:?}"))).collect())
    });
    own.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_is_what_was_written_and_a_backfill_is_the_way_back() {
    let settings = [("OrderAttribute", "name"), ("LinkAttributes", "product")];
    let mut running = Running::start(&settings).await;
    let mut nodes =
        vec![node("D", None, "Drive D"), node("V", Some("D"), "Folder V"), node("lost", Some("nobody"), "an orphan")];
    for number in 0..30 {
        let mut leaf = node(&format!("leaf{number}"), Some("V"), "leaf");
        leaf.insert("product".to_owned(), s("PRODUCT#1"));
        nodes.push(leaf);
    }
    nodes.extend(
        ["v001_Audit", "v002_Audit"]
            .map(|sk| client::item([("PK", s("D")), ("SK", s(sk)), ("by", AttributeValue::S("Rick".to_owned()))])),
    );
    put_all(&running.client, TABLE, nodes).await;
    put(&running.client, TABLE, node("V", None, "Folder V, a root")).await;
    delete_all(&running.client, TABLE, vec![("leaf7".to_owned(), "NODE".to_owned())]).await;
    assert_right(&running).await;
    running.announce().await;
    running.pause().await;
    let all = contents(&running.client, TABLE, ["PK", "SK"]).await;
    let oracle = Oracle::default();
    let (base, derived): (Contents, Contents) =
        all.into_iter().partition(|((pk, sk), _)| pk != OURS && oracle.is_base(pk, sk));
    assert!(base.len() == 34 && derived.len() > 150, "{} and {}", base.len(), derived.len());
    for (pk, sk) in base.keys() {
        assert!(!is_derived(pk, sk), "{pk} {sk}");
    }
    delete_all(&running.client, TABLE, derived.keys().filter(|(pk, sk)| is_derived(pk, sk)).cloned().collect()).await;
    assert_eq!(own(&contents(&running.client, TABLE, ["PK", "SK"]).await), own(&base));

    running.resume(&settings).await;
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work");
    let parameters = settings.map(|(name, value)| format!("{name}={value}"));
    let named = parameters.iter().flat_map(|parameter| ["--parameter", parameter]);
    let mut words = vec!["backfill", "--all", "--yes", "--work", work.to_str().unwrap()];
    words.extend(named);
    ends_with(0, &running.url(), &words);
    assert_right(&running).await;
    running.stop().await;
}
