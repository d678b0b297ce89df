use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixture::{Checked, lines, read, waiting};
use crate::sources::RECORD_BYTES_MAX;
use crate::{Options, TreebeardOptions};

fn told(content: &str) -> Vec<String> {
    read("a.json", content, &Options::default()).unwrap()
}

/// As `json.dumps(Category.objects.dump_bulk(), indent=1)` writes it.
const DUMPED: &str = r#"[
 {
  "data": {"desc": "1", "weight": 1.10},
  "id": 1
 },
 {
  "data": {"desc": "2", "tags": [], "at": null},
  "id": 2,
  "children": [
   {"data": {"desc": "21 ] } \" \\"}, "id": 3},
   {
    "data": {"desc": "22"},
    "id": 4,
    "children": [
     {"data": {"desc": "221"}, "id": 5}
    ]
   }
  ]
 },
 {"data": {}, "id": "x", "children": []}
]
"#;

#[test]
fn nested_children_are_read_parents_first() {
    assert_eq!(
        told(DUMPED),
        [
            r#"2: {"id":"1","attributes":{"desc":"1","weight":1.1}}"#,
            r#"6: {"id":"2","attributes":{"at":null,"desc":"2","tags":[]}}"#,
            r#"10: {"id":"3","parent":"2","attributes":{"desc":"21 ] } \" \\"}}"#,
            r#"11: {"id":"4","parent":"2","attributes":{"desc":"22"}}"#,
            r#"15: {"id":"5","parent":"4","attributes":{"desc":"221"}}"#,
            r#"20: {"id":"x"}"#,
        ]
    );
    let compact: String = DUMPED.lines().map(str::trim).collect();
    let without_lines = |told: Vec<String>| {
        told.into_iter().map(|line| line.split_once(": ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(without_lines(told(&compact)), without_lines(told(DUMPED)));
    assert_eq!(told("[]"), [""; 0]);
}

#[test]
fn the_primary_key_may_have_any_name_and_a_field_can_be_the_segment() {
    let treebeard = TreebeardOptions { segment: Some("slug".to_owned()) };
    let options = Options { treebeard, ..Options::default() };
    let content = r#"[{"data":{"slug":"docs","n":1},"code":"a","children":[{"data":{"slug":null},"code":-7}]},{"data":{"slug":true},"code":1}]"#;
    assert_eq!(
        read("a.json", content, &options).unwrap(),
        [
            r#"1: {"id":"a","segment":"docs","attributes":{"n":1}}"#,
            r#"1: {"id":"-7","parent":"a"}"#,
            "1: refused: `slug` is to be the segment, and is no text; choose another",
        ]
    );
}

#[test]
fn a_dump_that_cannot_be_read_says_why_and_where() {
    let last = |content: &str| told(content).pop().unwrap();
    assert_eq!(
        last("[{\"data\":{}}]"),
        "1: unreadable: the node has no primary key; write the file with `dump_bulk(keep_ids=True)`"
    );
    assert!(last(r#"[{"children":[],"data":{},"id":1}]"#).contains("`children` stands before the node's `data`"));
    assert_eq!(last(r#"[{"id":1}]"#), "1: unreadable: the node has no `data`; add it, `{}` at least");
    assert!(last(r#"[{"id":1.5,"data":{}}]"#).contains("the primary key `id` is neither a text nor a whole number"));
    assert!(last(r#"[{"id":1,"data":{},"pk":2}]"#).contains("`pk` is another field"));
    assert!(last(r#"[{"id":1,"id":2,"data":{}}]"#).contains("`id` twice"));
    assert!(last("[{\"id\":1,\"data\":{}},]").contains("a list ends with a comma"));
    assert!(last("[{\"id\":1,\"data\":{}}] x").contains("something stands after the end"));
    assert!(last("[7]").contains("`7` stands where `{` should"));
    let ends = |cut: usize| last(&DUMPED[..cut]);
    for cut in (1..DUMPED.trim_end().len()).rev().step_by(3) {
        assert!(ends(cut).contains("unreadable: "), "{cut}: {}", ends(cut));
    }
    assert!(
        last(&format!("[{{\"id\":1,\"data\":{{\"a\":\"{}", "x".repeat(RECORD_BYTES_MAX + 9))).contains("longer than")
    );
}

#[test]
fn a_value_that_cannot_be_kept_is_a_fault_and_the_rest_is_read() {
    let content = r#"[{"data":{"n":1e200},"id":1,"children":[{"data":{},"id":2}]}]"#;
    let told = told(content);
    assert!(told[0].starts_with("1: refused: `n`: the number is out of range"), "{}", told[0]);
    assert_eq!(told[1], r#"1: {"id":"2","parent":"1"}"#);
}

#[test]
fn a_deep_tree_takes_no_stack_and_its_depth_is_a_fault() {
    let nodes = 5_000;
    let open: String = (0..nodes).map(|n| format!(r#"{{"data":{{}},"id":{n},"children":["#)).collect();
    let content = format!("[{open}{}]", "]}".repeat(nodes));
    assert_eq!(told(&content).len(), nodes);
    let checked = Checked::of("a.json", content, &Options::default());
    let faults = checked.faults();
    assert_eq!(faults[0], "FILE:1: `99` has 99 ancestors, over the limit of 98; move it up");
    assert_eq!(faults.last().unwrap(), "and 4801 more: too deep");
    let deep = format!("[{}", open.repeat(3));
    assert!(told(&deep).pop().unwrap().contains("nested past 10000 levels"));
}

#[test]
fn a_dump_can_be_imported() {
    let checked = Checked::of("a.json", DUMPED, &Options::default());
    assert_eq!(checked.faults(), [""; 0]);
    assert_eq!(lines(&waiting(&checked.work)).len(), 6);
}

/// A node with a primary key of 0. The test numbers them.
fn tree() -> impl Strategy<Value = Value> {
    let text = "[a\"\\\\{}\\[\\],: \n]{0,8}";
    let leaf = text.prop_map(|text| json!({"data": {"text": text, "nested": [{"a": text}]}}));
    leaf.prop_recursive(5, 40, 4, move |below| {
        (text, prop::collection::vec(below, 0..4))
            .prop_map(|(text, children)| json!({"data": {"text": text}, "children": children}))
    })
}

/// Numbers the nodes in the order of the file, and says what reading them tells. `id` is put between `data` and
/// `children`.
fn numbered(nodes: &[Value], parent: Option<usize>, next: &mut usize, told: &mut Vec<String>) -> String {
    let node = |node: &Value| {
        let id = *next;
        *next += 1;
        let above = parent.map(|parent| format!(r#""parent":"{parent}","#)).unwrap_or_default();
        told.push(format!(r#"{{"id":"{id}",{above}"attributes":{}}}"#, node["data"]));
        let children = match node["children"].as_array() {
            Some(children) => format!(r#", "children": {}"#, numbered(children, Some(id), next, told)),
            None => String::new(),
        };
        format!(r#"{{"data": {}, "id": {id}{children}}}"#, node["data"])
    };
    format!("[{}]", nodes.iter().map(node).collect::<Vec<_>>().join(", "))
}

proptest! {
    #[test]
    fn any_dump_is_read_as_it_is(nodes in prop::collection::vec(tree(), 0..4)) {
        let mut wanted = Vec::new();
        let content = numbered(&nodes, None, &mut 0, &mut wanted);
        let told: Vec<String> = told(&content).iter().map(|line| line.replacen("1: ", "", 1)).collect();
        prop_assert_eq!(told, wanted);
    }

    #[test]
    fn no_text_makes_reading_panic_or_go_on_forever(text in "\\[[\\[\\]{}\":,adit0-9 \\\\]{0,60}") {
        prop_assert!(told(&text).len() <= text.len());
    }
}
