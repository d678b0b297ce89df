use sapwood_core::keys::{Id, Schema};
use sapwood_core::model::AttributeValue;
use sapwood_core::write::Spot;
use sapwood_json::{Fault, FromJson, JsonError, read};
use serde_json::json;

use crate::contract::{
    Batch, BatchOperation, Children, CreateNode, CreateRevision, PatchNode, ReplaceNode, Revisions, TOPIC_BYTES_MAX,
    check_topic,
};

/// Returns the kind and the place of the mistake in a body.
#[track_caller]
fn refused<T: FromJson + std::fmt::Debug>(body: &str) -> (Fault, String) {
    let error: JsonError = read::<T>(body.as_bytes()).unwrap_err();
    (error.fault(), error.path().to_owned())
}

fn malformed(path: &str) -> (Fault, String) {
    (Fault::Malformed, path.to_owned())
}

#[test]
fn a_node_to_create_needs_nothing() {
    assert_eq!(read::<CreateNode>(b"{}").unwrap(), CreateNode::default());
    // A root by its own word, and not by its neighbour's.
    let root = CreateNode { parent: Some(None), ..CreateNode::default() };
    assert_eq!(read::<CreateNode>(br#"{"parent": null, "segment": null}"#).unwrap(), root);
    let node: CreateNode = read(br##"{"id": "a#b", "parent": "p", "segment": "s", "attributes": {"n": 1}}"##).unwrap();
    assert_eq!((node.id.unwrap().as_str(), node.parent.flatten().unwrap().as_str()), ("a#b", "p"));
    assert_eq!((node.segment.as_deref(), &node.attributes.0["n"]), (Some("s"), &AttributeValue::N("1".into())));
}

#[test]
fn a_body_of_another_shape_is_malformed_and_says_where() {
    assert_eq!(refused::<CreateNode>(r#"{"id": null}"#), malformed("id"));
    assert_eq!(refused::<CreateNode>(r#"{"id": 1}"#), malformed("id"));
    assert_eq!(refused::<CreateNode>(r#"{"name": "x"}"#), malformed("name"));
    assert_eq!(refused::<CreateNode>(r#"{"attributes": null}"#), malformed("attributes"));
    assert_eq!(
        refused::<CreateNode>(r#"{"attributes": {"a": [1, {"b": 1, "b": 2}]}}"#),
        malformed("attributes.a[1].b")
    );
    assert_eq!(refused::<CreateNode>("[]"), malformed(""));
    assert_eq!(refused::<CreateNode>(r#"{"id": "a", "id": "a"}"#), malformed("id"));
    assert_eq!(refused::<ReplaceNode>(r#"{"parent": null, "id": "a"}"#), malformed("id"));
    assert_eq!(refused::<CreateRevision>("{}"), malformed("attributes"));
}

#[test]
fn values_that_cant_be_kept_are_another_kind_of_mistake() {
    assert_eq!(refused::<CreateNode>(r#"{"id": ""}"#), (Fault::Key, "id".into()));
    let long = "é".repeat(508);
    assert_eq!(refused::<CreateNode>(&json!({"id": long}).to_string()), (Fault::Key, "id".into()));
    assert_eq!(refused::<CreateNode>(&json!({"segment": long}).to_string()), (Fault::Key, "segment".into()));
    assert_eq!(refused::<ReplaceNode>(r#"{"parent": ""}"#), (Fault::Key, "parent".into()));
    let digits = r#"{"attributes": {"dimensions": {"width": 1E126}}}"#;
    assert_eq!(refused::<CreateNode>(digits), (Fault::Value, "attributes.dimensions.width".into()));
}

#[test]
fn a_replacement_must_name_its_parent() {
    let error = read::<ReplaceNode>(br#"{"attributes": {}}"#).unwrap_err();
    assert_eq!((error.fault(), error.path()), (Fault::Malformed, "parent"));
    assert!(error.to_string().contains("null for a root"));
    assert_eq!(read::<ReplaceNode>(br#"{"parent": null}"#).unwrap().parent, None);
}

#[test]
fn a_patch_tells_null_from_nothing() {
    let patch: PatchNode = read(br#"{"parent": null}"#).unwrap();
    assert_eq!((patch.parent, patch.segment), (Some(None), None));
    let patch: PatchNode = read(br#"{"segment": null, "attributes": {"a": null}}"#).unwrap();
    assert_eq!((patch.parent, patch.segment), (None, Some(None)));
    assert_eq!(read::<PatchNode>(b"{}").unwrap(), PatchNode::default());
    assert_eq!(refused::<PatchNode>(r#"{"id": "a"}"#), malformed("id"));
    let patch: PatchNode = read(br#"{"attributes": null}"#).unwrap();
    assert_eq!(patch, PatchNode { attributes: Some(None), ..PatchNode::default() });
    assert_eq!(refused::<PatchNode>(r#"{"attributes": []}"#), malformed("attributes"));
}

#[test]
fn a_place_is_one_of_four() {
    let place =
        |json: &str| read::<PatchNode>(format!(r#"{{"position": {json}}}"#).as_bytes()).unwrap().position.unwrap().0;
    let id = |id: &str| Id::new(id).unwrap();
    assert_eq!((place(r#""first""#), place(r#""last""#)), (Spot::First, Spot::Last));
    assert_eq!(place(r#"{"before": "a"}"#), Spot::Before(id("a")));
    assert_eq!(place(r#"{"after": "a"}"#), Spot::After(id("a")));
    for wrong in ["null", "1", r#""middle""#, "{}", r#"{"before": "a", "after": "b"}"#, r#"["first"]"#] {
        assert_eq!(refused::<CreateNode>(&format!(r#"{{"position": {wrong}}}"#)), malformed("position"), "{wrong}");
    }
    assert_eq!(
        refused::<ReplaceNode>(r#"{"parent": null, "position": {"beside": "a"}}"#),
        malformed("position.beside")
    );
    assert_eq!(refused::<PatchNode>(r#"{"position": {"after": ""}}"#), (Fault::Key, "position.after".into()));
    let batch =
        br#"{"operations": [{"put": {"parent": "p", "position": "last"}}, {"patch": {"id": "a", "position": "first"}}]}"#;
    let Ok([Ok(BatchOperation::Put(put)), Ok(BatchOperation::Patch(patch))]) =
        <[_; 2]>::try_from(read::<Batch>(batch).unwrap().operations)
    else {
        panic!("two operations")
    };
    assert_eq!((put.node.position.unwrap().0, patch.patch.position.unwrap().0), (Spot::Last, Spot::First));
}

#[test]
fn a_batch_has_operations_of_four_kinds() {
    let body = r#"{"operations": [
        {"put": {"parent": null}},
        {"patch": {"id": "a", "attributes": {"b": 1}}},
        {"delete": {"id": "a"}},
        {"delete": {"id": "a", "children": "adopt", "revisions": "delete"}},
        {"revision": {"id": "a", "topic": "Audit", "attributes": {}}}
    ]}"#;
    let operations: Vec<BatchOperation> =
        read::<Batch>(body.as_bytes()).unwrap().operations.into_iter().map(Result::unwrap).collect();
    assert!(matches!(&operations[0], BatchOperation::Put(put) if put.id.is_none()));
    assert!(matches!(&operations[1], BatchOperation::Patch(patch) if patch.id.as_str() == "a"));
    let BatchOperation::Delete(delete) = &operations[2] else { panic!() };
    assert_eq!((delete.children, delete.revisions), (Children::Restrict, Revisions::Keep));
    let BatchOperation::Delete(delete) = &operations[3] else { panic!() };
    assert_eq!((delete.children, delete.revisions), (Children::Adopt, Revisions::Delete));
    assert!(matches!(&operations[4], BatchOperation::Revision(revision) if revision.topic == "Audit"));
}

#[test]
fn an_operation_fails_alone_for_its_values_and_the_batch_for_its_shape() {
    let body = r#"{"operations": [
        {"put": {"id": "", "parent": null}},
        {"put": {"parent": null, "attributes": {"a": {"$set": []}}}},
        {"revision": {"id": "a", "topic": "", "attributes": {}}},
        {"put": {"parent": null}}
    ]}"#;
    let operations = read::<Batch>(body.as_bytes()).unwrap().operations;
    let faults: Vec<_> = operations.iter().map(|operation| operation.as_ref().err().map(JsonError::fault)).collect();
    assert_eq!(faults, [Some(Fault::Key), Some(Fault::Value), Some(Fault::Key), None]);
    assert_eq!(operations[1].as_ref().unwrap_err().path(), "operations[1].put.attributes.a.$set");

    for (operations, path) in [
        (json!([]), "operations"),
        (json!(vec![json!({"delete": {"id": "a"}}); 101]), "operations"),
        (json!([{}]), "operations[0]"),
        (json!([{"move": {}}]), "operations[0]"),
        (json!([{"put": {"parent": null}, "delete": {"id": "a"}}]), "operations[0]"),
        (json!([{"put": {"id": "a"}}]), "operations[0].put.parent"),
        (json!([{"patch": {}}]), "operations[0].patch.id"),
        (json!([{"delete": {"id": "a"}}, {"delete": {"id": "a", "children": "all"}}]), "operations[1].delete.children"),
        (json!([{"delete": {"id": "a", "revisions": true}}]), "operations[0].delete.revisions"),
        (json!([{"revision": {"id": "a", "attributes": {}}}]), "operations[0].revision.topic"),
        (json!({}), "operations"),
    ] {
        assert_eq!(refused::<Batch>(&json!({"operations": operations}).to_string()), malformed(path));
    }
    assert_eq!(refused::<Batch>("{}"), malformed("operations"));
    let full = json!({"operations": vec![json!({"delete": {"id": "a"}}); 100]});
    assert_eq!(read::<Batch>(full.to_string().as_bytes()).unwrap().operations.len(), 100);
}

#[test]
fn a_topic_leaves_room_for_the_highest_version() {
    let schema = Schema::default();
    assert_eq!(check_topic(&"x".repeat(TOPIC_BYTES_MAX), &schema), Ok(()));
    assert!(check_topic(&"x".repeat(TOPIC_BYTES_MAX + 1), &schema).is_err());
    assert!(check_topic("", &schema).is_err());
    let body = |bytes: usize| {
        json!({"operations": [{"revision": {"id": "a", "topic": "x".repeat(bytes), "attributes": {}}}]}).to_string()
    };
    assert!(read::<Batch>(body(TOPIC_BYTES_MAX).as_bytes()).unwrap().operations[0].is_ok());
    assert!(read::<Batch>(body(TOPIC_BYTES_MAX + 1).as_bytes()).unwrap().operations[0].is_err());
}
