use std::sync::Arc;

use sapwood_core::keys::{Id, NodeRef, Version};
use sapwood_core::model::{AttributeValue, BaseNode, DELETING, DeletionMark, DeletionMode, Item, Settings};
use sapwood_engine::query::Change;
use sapwood_json::Attributes;
use serde_json::json;

use crate::contract::{
    BatchBody, BatchResult, BatchResults, ChangeBody, DescendantBody, NodeBody, RevisionBody, TreeNode,
};

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn record() -> Item {
    let attributes =
        ["PK", "SK", "parent", "segment", "_created_at", "_created_by", "_updated_at", "_updated_by", "name"];
    let mut item: Item = attributes.into_iter().map(|name| (name.to_owned(), text(&name.to_uppercase()))).collect();
    item.insert("_rev".into(), AttributeValue::N("7".into()));
    item.insert("_under".into(), text("p"));
    item.insert("id".into(), text("the user's own"));
    item
}

#[test]
fn a_node_shows_its_users_attributes_and_who_wrote_it() {
    let body = NodeBody::of(&Id::new("a").unwrap(), &record(), &Settings::default());
    assert_eq!(
        serde_json::to_value(&body).unwrap(),
        json!({
            "id": "a", "parent": "PARENT", "segment": "SEGMENT",
            "attributes": {"id": "the user's own", "name": "NAME"},
            "created_at": "_CREATED_AT", "created_by": "_CREATED_BY",
            "updated_at": "_UPDATED_AT", "updated_by": "_UPDATED_BY",
        })
    );
    let bare = NodeBody::of(&Id::new("a").unwrap(), &Item::new(), &Settings::default());
    assert_eq!(serde_json::to_value(&bare).unwrap(), json!({"id": "a", "attributes": {}}));
    assert_eq!(serde_json::from_str::<NodeBody>(&serde_json::to_string(&body).unwrap()).unwrap(), body);
}

#[test]
fn a_revision_may_have_a_parent_of_its_own() {
    let body = RevisionBody::of(&Id::new("a").unwrap(), "T", Version::new(3).unwrap(), &record(), &Settings::default());
    let body = serde_json::to_value(&body).unwrap();
    assert_eq!((&body["topic"], &body["version"]), (&json!("T"), &json!(3)));
    assert_eq!(
        body["attributes"],
        json!({"id": "the user's own", "name": "NAME", "parent": "PARENT", "segment": "SEGMENT"})
    );
}

#[test]
fn only_a_row_without_room_is_marked_as_truncated() {
    let row = |truncated| DescendantBody {
        id: "a".into(),
        parent: None,
        depth: 0,
        segment: None,
        attributes: Attributes::default(),
        truncated,
        record: None,
        totals: None,
    };
    assert_eq!(serde_json::to_value(row(false)).unwrap(), json!({"id": "a", "depth": 0, "attributes": {}}));
    assert_eq!(serde_json::to_value(row(true)).unwrap()["truncated"], json!(true));
}

#[test]
fn a_batch_answers_with_whatever_was_written() {
    let node = NodeBody::of(&Id::new("a").unwrap(), &Item::new(), &Settings::default());
    let result = BatchResult { status: 201, body: Some(BatchBody::Node(node)), ..BatchResult::default() };
    let results = serde_json::to_value(BatchResults { results: vec![result] }).unwrap();
    assert_eq!(results, json!({"results": [{"status": 201, "body": {"id": "a", "attributes": {}}}]}));
}

#[test]
fn numbers_keep_their_digits_within_an_answer() {
    let digits = "12345678901234567890.123456789012345678";
    let item = Item::from([("n".to_owned(), AttributeValue::N(digits.to_owned()))]);
    let node = NodeBody::of(&Id::new("a").unwrap(), &item, &Settings::default());
    let result = BatchResult { status: 200, body: Some(BatchBody::Node(node)), ..BatchResult::default() };
    assert!(serde_json::to_string(&result).unwrap().contains(digits));
}

#[test]
fn the_deepest_tree_is_written() {
    let mut node: Option<TreeNode> = None;
    for depth in (1..=98).rev() {
        let children = node.into_iter().collect();
        let (id, parent) = (depth.to_string(), Some((depth - 1).to_string()));
        let (segment, attributes, truncated) = (None, Attributes::default(), false);
        node = Some(TreeNode { id, parent, depth, segment, attributes, truncated, children });
    }
    let json = serde_json::to_string(&node.unwrap()).unwrap();
    assert_eq!(json.matches("\"children\"").count(), 98);
    assert!(json.contains(r#""id":"98","parent":"97","depth":98"#));
}

#[test]
fn a_mark_that_no_follower_is_told_of_is_not_in_a_feed() {
    let settings = Settings::default();
    let mark = DeletionMark { mode: DeletionMode::Delete, operation: "o".to_owned(), revisions: false, mark: None };
    let key = [("PK", text("n")), ("SK", text("NODE")), (DELETING, mark.value())];
    let item = Item::from(key.map(|(name, value)| (name.to_owned(), value)));
    let node = NodeRef { tenant: None, id: Id::new("n").unwrap() };
    let base = BaseNode::read(Arc::new(item), &node, &settings.schema).unwrap();
    assert!(NodeBody::of(&node.id, &base.item, &settings).deleting.is_some());
    let body = ChangeBody::of(&Change { id: node.id, node: Some(base) }, None, &settings);
    assert_eq!(body.node.unwrap().deleting, None);
}
