use sapwood_core::keys::{Names, Schema, Tenant};
use sapwood_core::model::Settings;

use super::fixture::{Checked, Existing, lines, waiting};
use crate::work::{Level, WorkError};
use crate::{CsvOptions, FaultKind, Options};

/// The lines of nodes, each `id` or `id<parent`.
fn nodes(nodes: &[&str]) -> String {
    let line = |node: &&str| match node.split_once('<') {
        Some((id, parent)) => format!("{{\"id\":\"{id}\",\"parent\":\"{parent}\"}}\n"),
        None => format!("{{\"id\":\"{node}\"}}\n"),
    };
    nodes.iter().map(line).collect()
}

fn checked(list: &[&str]) -> Checked {
    Checked::of("a.jsonl", nodes(list), &Options::default())
}

fn order(checked: &Checked) -> Vec<String> {
    assert_eq!(checked.faults(), [""; 0]);
    waiting(&checked.work).iter().map(|waiting| waiting.record.node().id.to_string()).collect()
}

#[test]
fn parents_come_first_and_revisions_last() {
    let revision = "{\"node\":\"a\",\"topic\":\"t\",\"version\":1}\n";
    let content = format!(
        "{revision}{}{revision}",
        nodes(&["c<b", "b<a", "x<a", "a", "r"]).replace("\"r\"", "\"r\",\"segment\":\"s\"")
    );
    let content = content.replacen("\"version\":1", "\"version\":2", 1);
    let checked = Checked::of("a.jsonl", content, &Options::default());
    assert_eq!(
        lines(&waiting(&checked.work)),
        [
            r#"{"id":"a"}"#,
            r#"{"id":"r","segment":"s"}"#,
            r#"{"id":"b","parent":"a"}"#,
            r#"{"id":"x","parent":"a"}"#,
            r#"{"id":"c","parent":"b"}"#,
            r#"{"node":"a","topic":"t","version":2}"#,
            r#"{"node":"a","topic":"t","version":1}"#,
        ]
    );
    let levels: Vec<_> = checked.work.levels().unwrap().iter().map(|level| (level.level, level.records)).collect();
    assert_eq!(levels, [(Level::Nodes(0), 2), (Level::Nodes(1), 2), (Level::Nodes(2), 1), (Level::Revisions, 2)]);
    let place = &waiting(&checked.work)[0].place;
    assert_eq!(place, &format!("{}:5", checked.file.display()));
}

#[test]
fn all_faults_are_found_at_once() {
    let list = ["a", "b<a", "a<b", "c<nowhere", "d<c", "e<f", "f<g", "g<e", "h<g", "s<s"];
    let content = format!("{}{{\"id\":\"u\",\"attributes\":{{\"_x\":1}}}}\nnothing\n", nodes(&list));
    let checked = Checked::of("a.jsonl", content, &Options::default());
    assert_eq!(
        checked.faults(),
        [
            "FILE:12: the line isn't JSON (expected ident at line 1 column 2); write one object a line",
            "FILE:11: `attributes._x`: the name is reserved, since names that begin with `_` are Sapwood's own; choose another",
            "FILE:3: `a` is on line 1 already; leave one of them out",
            "FILE:4: the parent `nowhere` is neither in the file nor in the table; add it, or give the node another parent",
            "FILE:6: `e` is below itself: its parents are `f`, `g`, `e` (3 nodes); give one of them another parent, or none",
            "FILE:10: `s` is below itself: its parents are `s` (1 nodes); give one of them another parent, or none",
        ]
    );
    assert!(matches!(checked.work.next(Level::Nodes(0), None, 1), Err(WorkError::Faulty { faults: 6 })));
    assert_eq!(checked.work.faults().unwrap().count(), 6);
}

fn numbers() -> Options {
    Options { csv: CsvOptions { numbers: vec!["n".to_owned()], ..CsvOptions::default() }, ..Options::default() }
}

#[test]
fn descendants_of_a_faulty_node_have_no_fault_of_their_own() {
    let content =
        format!("{{\"id\":\"a\",\"attributes\":{{\"_x\":1}}}}\n{}", nodes(&["b<a", "c<b", "d<a", "e<x", "f<e"]));
    let faults = Checked::of("a.jsonl", content, &Options::default()).faults();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("FILE:1: `attributes._x`") && faults[1].starts_with("FILE:5: the parent `x`"));
    let faults = |name: &str, content: &str| Checked::of(name, content, &numbers()).faults();
    assert_eq!(faults("a.jsonl", "{\"id\":\"a\",\"name\":1}\n{\"id\":\"b\",\"parent\":\"a\"}").len(), 1);
    assert_eq!(faults("a.csv", "id,parent,n\na,,many\nb,a,\nc,b,1\n").len(), 1);
    assert_eq!(faults("a.json", "[{\"data\":{\"n\":1e200},\"id\":1,\"children\":[{\"data\":{},\"id\":2}]}]").len(), 1);
    let item = |rest: &str| format!("{{\"Item\":{{\"SK\":{{\"S\":\"NODE\"}},{rest}}}}}\n");
    let (bad, child) =
        ("\"PK\":{\"S\":\"a\"},\"parent\":{\"N\":\"1\"}", "\"PK\":{\"S\":\"b\"},\"parent\":{\"S\":\"a\"}");
    assert_eq!(faults("a.json", &format!("{}{}", item(bad), item(child))).len(), 1);
}

#[test]
fn faults_of_a_kind_are_kept_up_to_a_limit_and_counted_beyond() {
    let content: String = (0..250).map(|n| format!("{{\"id\":\"{n}\",\"parent\":\"x{n}\"}}\n{n}\n")).collect();
    let cycles: String = (0..130).map(|n| format!("{{\"id\":\"c{n}\",\"parent\":\"c{}\"}}\n", n ^ 1)).collect();
    let twos: String = (0..300).map(|n| format!("{{\"id\":\"t{n}\",\"parent\":\"t{}\"}}\n", n ^ 1)).collect();
    let checked = Checked::of("a.jsonl", format!("{content}{cycles}{twos}"), &Options::default());
    let faults = checked.work.faults().unwrap();
    assert_eq!(faults.counts[&FaultKind::Unreadable], 250);
    assert_eq!(faults.counts[&FaultKind::MissingParent], 250);
    // 65 and 150 pairs: of 100 the first node is told, and of the others all nodes are counted.
    assert_eq!(faults.counts[&FaultKind::Cycle], 100 + 230);
    assert_eq!(faults.kept.len(), 300);
    let told = checked.faults();
    assert_eq!(told[100], "and 150 more: unreadable");
    assert_eq!(told[201], "and 150 more: missing parent");
    assert_eq!(told[302], "and 230 more: cycle");
}

#[test]
fn a_long_cycle_with_a_long_tail_is_told_in_short() {
    // 10,000 nodes in a circle, and 10,000 below the first of them.
    let parent = |n: usize| {
        if n < 10_000 {
            (n + 1) % 10_000
        } else if n == 10_000 {
            0
        } else {
            n - 1
        }
    };
    let list: Vec<String> = (0..20_000).map(|n| format!("n{n}<n{}", parent(n))).collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    assert_eq!(
        checked(&list).faults(),
        [
            "FILE:1: `n0` is below itself: its parents are `n1`, `n2`, `n3`, `n4`, …, `n0` (10000 nodes); give one of them another parent, or none"
        ]
    );
}

#[test]
fn ninety_eight_ancestors_are_the_most() {
    let chain = |length: usize| -> Vec<String> {
        let node = |n: usize| n.checked_sub(1).map_or("n0".to_owned(), |above| format!("n{n}<n{above}"));
        (0..length).map(node).rev().collect()
    };
    let of = |length: usize| {
        let chain = chain(length);
        checked(&chain.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(order(&of(99)).len(), 99);
    assert_eq!(
        of(101).faults(),
        [
            "FILE:1: `n100` has 100 ancestors, over the limit of 98; move it up",
            "FILE:2: `n99` has 99 ancestors, over the limit of 98; move it up",
        ]
    );
}

#[test]
fn nodes_of_the_table_count_as_parents_with_their_depth() {
    let ancestors: Vec<String> = (0..97).map(|n| format!("t{n}")).collect();
    let ancestors: Vec<&str> = ancestors.iter().map(String::as_str).collect();
    let mut table = Existing::of(&[("deep", &ancestors), ("root", &[])]);
    let list = nodes(&["a<root", "b<a", "c<deep", "d<c", "e<none"]);
    let checked = Checked::with("a.jsonl", list, &Options::default(), &mut table);
    assert_eq!(
        checked.faults(),
        [
            "FILE:5: the parent `none` is neither in the file nor in the table; add it, or give the node another parent",
            "FILE:4: `d` has 99 ancestors, over the limit of 98; move it up",
        ]
    );
    let checked = Checked::with("a.jsonl", nodes(&["c<deep", "b<a", "a<root"]), &Options::default(), &mut table);
    assert_eq!(order(&checked), ["a", "b", "c"]);
    let levels: Vec<_> = checked.work.levels().unwrap().iter().map(|level| level.level).collect();
    assert_eq!(levels, [Level::Nodes(1), Level::Nodes(2), Level::Nodes(98)]);
}

#[test]
fn a_cycle_through_nodes_of_the_table_is_found() {
    // In the table `x` is below `a`. The file moves `a` below `x`.
    let mut table = Existing::of(&[("x", &["y", "a", "r"])]);
    let checked = Checked::with("a.jsonl", nodes(&["a<x"]), &Options::default(), &mut table);
    assert_eq!(
        checked.faults(),
        [
            "FILE:1: `a` is below itself: its parents are `x`, `y`, `a` (3 nodes); give one of them another parent, or none"
        ]
    );
    // The file moves `a` to the top: `b` is then two levels below it.
    let checked = Checked::with("a.jsonl", nodes(&["a", "b<x"]), &Options::default(), &mut table);
    let levels: Vec<_> = checked.work.levels().unwrap().iter().map(|level| level.level).collect();
    assert_eq!(levels, [Level::Nodes(0), Level::Nodes(3)]);
}

#[test]
fn many_parents_are_looked_up_in_batches() {
    let names: Vec<String> = (0..450).map(|n| format!("p{n}")).collect();
    let mut table = Existing::of(&names.iter().map(|name| (name.as_str(), &[] as &[&str])).collect::<Vec<_>>());
    let list: Vec<String> = (0..900).map(|n| format!("n{n}<p{}", n % 450)).collect();
    let content = nodes(&list.iter().map(String::as_str).collect::<Vec<_>>());
    let checked = Checked::with("a.jsonl", content, &Options::default(), &mut table);
    assert_eq!(order(&checked).len(), 900);
}

#[test]
fn what_sapwood_refuses_is_found() {
    let large = format!("{{\"id\":\"a\",\"attributes\":{{\"x\":\"{}\"}}}}", "x".repeat(400 * 1_024));
    let fits = format!("{{\"id\":\"b\",\"attributes\":{{\"x\":\"{}\"}}}}", "x".repeat(398 * 1_024));
    let segment = format!("{{\"id\":\"c\",\"segment\":\"{}\"}}", "x".repeat(1_015));
    let topic = format!("{{\"node\":\"c\",\"topic\":\"{}\",\"version\":1}}", "x".repeat(1_020));
    let keys = "{\"id\":\"d\",\"attributes\":{\"PK\":\"x\"}}\n{\"id\":\"e\",\"attributes\":{\"parent\":\"x\"}}\n{\"id\":\"f\",\"tenant\":\"t\"}";
    let checked = Checked::of(
        "a.jsonl",
        [&large, &fits, &segment, &topic, keys].map(|text| text.to_owned()).join("\n"),
        &Options::default(),
    );
    assert_eq!(
        checked.faults(),
        [
            "FILE:1: the item has 409610 bytes, over its limit of 408064; make it smaller",
            "FILE:3: the segment has 1015 bytes, over its limit of 1014; shorten it",
            "FILE:4: the sort key has 1025 bytes, over its limit of 1024; shorten it",
            "FILE:5: `attributes.PK`: the name is reserved, since it is a part of the table's key; choose another",
            "FILE:6: `attributes.parent`: the name is reserved, since it holds the node's parent, a field beside `attributes`; choose another",
            "FILE:7: with tenants off, a node can't have a tenant",
        ]
    );
}

#[test]
fn tenants_keep_their_nodes_apart() {
    let schema = Schema::new(Names::default(), true).unwrap();
    let settings = Settings { schema, ..Settings::default() };
    let options = Options { settings, tenant: Some(Tenant::new("t").unwrap()), ..Options::default() };
    let content = "{\"id\":\"a\"}\n{\"id\":\"a\",\"tenant\":\"u\"}\n{\"id\":\"b\",\"parent\":\"a\",\"tenant\":\"u\"}\n{\"id\":\"b\",\"parent\":\"x\"}\n";
    let mut checked = Checked::of("a.jsonl", content, &options);
    assert_eq!(
        checked.faults(),
        ["FILE:4: the parent `x` is neither in the file nor in the table; add it, or give the node another parent"]
    );
    checked = Checked::of("a.jsonl", content.replace("\"x\"", "\"a\""), &options);
    assert_eq!(
        lines(&waiting(&checked.work)),
        [
            r#"{"tenant":"t","id":"a"}"#,
            r#"{"tenant":"u","id":"a"}"#,
            r#"{"tenant":"u","id":"b","parent":"a"}"#,
            r#"{"tenant":"t","id":"b","parent":"a"}"#,
        ]
    );
    let without = Options { tenant: None, ..options };
    assert_eq!(
        Checked::of("a.jsonl", "{\"id\":\"a\"}", &without).faults(),
        ["FILE:1: with tenants on, a node needs a tenant"]
    );
}

#[test]
fn revisions_of_one_version_are_duplicates() {
    let content = "{\"node\":\"a\",\"topic\":\"t\",\"version\":1}\n{\"node\":\"a\",\"topic\":\"t\",\"version\":2}\n{\"node\":\"a\",\"topic\":\"t\",\"version\":1}\n";
    let checked = Checked::of("a.jsonl", content, &Options::default());
    assert_eq!(checked.faults(), ["FILE:3: the revision `v001_t` of `a` is on line 1 already; leave one of them out"]);
}

#[test]
fn a_copy_of_a_table_may_have_what_a_table_can_hold() {
    let mut content: String = (1..=120).map(|n| format!("{{\"id\":\"n{n}\",\"parent\":\"n{}\"}}\n", n - 1)).collect();
    content +=
        "{\"id\":\"n0\"}\n{\"id\":\"orphan\",\"parent\":\"nowhere\"}\n{\"id\":\"below\",\"parent\":\"orphan\"}\n";
    content += "{\"id\":\"x\",\"parent\":\"y\"}\n{\"id\":\"y\",\"parent\":\"x\"}\n{\"id\":\"own\",\"parent\":\"own\"}\n{\"id\":\"z\",\"parent\":\"x\"}\n";
    content += &format!(
        "{{\"id\":\"large\",\"attributes\":{{\"t\":\"{}\"}}}}\n",
        "x".repeat(409_600 - "PKlargeSKNODEt".len())
    );
    let as_is = Options { as_is: true, ..Options::default() };
    let checked = Checked::of("a.jsonl", &content, &as_is);
    assert!(checked.faults().is_empty(), "{:?}", checked.faults());
    let written = waiting(&checked.work);
    assert_eq!(written.len(), content.lines().count());
    let place = |id: &str| written.iter().position(|one| one.record.node().id.as_str() == id).unwrap();
    for (above, below) in [("n0", "n1"), ("n99", "n100"), ("n119", "n120"), ("orphan", "below")] {
        assert!(place(above) < place(below), "{above} comes before {below}");
    }
    let faults = Checked::of("a.jsonl", &content, &Options::default()).faults();
    for said in ["neither in the file nor in the table", "below itself", "over the limit of 98", "over its limit"] {
        assert!(faults.iter().any(|fault| fault.contains(said)), "{said}: {faults:?}");
    }
    // What no table can hold is a fault all the same.
    let content = content.replace("xxx\"", "xxxx\"");
    assert_eq!(Checked::of("a.jsonl", content, &as_is).faults().len(), 1);
}
