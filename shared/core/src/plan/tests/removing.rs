//! Nodes removed: marked first, deleted once their children are released, and remembered by a tombstone.

use super::drawing::{DRIVE, Tree, check};
use crate::keys::{Id, NodeRef};
use crate::model::{
    AttributeValue, BaseNode, Deletion, DeletionMark, DeletionMode, Heir, Item, Settings, is_touch, is_undelete, text,
};
use crate::plan::{Batch, Child, ChildAction, Event, HandDown, Rules, StreamRecord};

#[test]
fn a_marked_node_says_so_in_its_lineage_and_no_row_is_put() {
    check(DRIVE, "mark V delete", "intent D, path V, deleting delete to D");
    check(DRIVE, "mark D adopt", "intent root, deleting adopt");
    check(DRIVE, "mark V detach; touch V", "intent D, path V, deleting detach to D\nnothing");
}

#[test]
fn a_marked_node_stays_where_it_stands_wherever_its_parent_goes() {
    check(
        DRIVE,
        "mark V delete; delete D; touch V; set V name=Folder",
        "
        intent D, path V, deleting delete to D
        delete ROOTS ROOT#D
        delete the lineage
        nothing
        nothing
    ",
    );
}

#[test]
fn a_removed_nodes_lineage_gives_way_to_a_tombstone() {
    check(
        DRIVE,
        "mark V delete; delete V; write V; touch V",
        "
        intent D, path V, deleting delete to D
        delete D NODE#0001#V
        delete D PATH#V
        settle tombstone, deleting delete to D, until 7
        nothing
        nothing
    ",
    );
}

#[test]
fn below_a_tombstone_there_are_orphans() {
    check(
        DRIVE,
        "mark V delete; delete V; create e under V",
        "
        intent D, path V, deleting delete to D
        delete D NODE#0001#V
        delete D PATH#V
        settle tombstone, deleting delete to D, until 7
        intent V, path e, orphan
        put V NODE#0001#e
        put V PATH#e
        put ORPHANS#9 ORPHAN#e
    ",
    );
}

#[test]
fn a_node_created_in_a_tombstones_place_has_all_its_rows_put() {
    check(
        DRIVE,
        "mark V adopt; delete V; create V under III",
        "
        intent D, path V, deleting adopt to D
        delete D NODE#0001#V
        delete D PATH#V
        settle tombstone, deleting adopt to D, until 7
        intent III > D, path III/V
        put III NODE#0001#V
        put D NODE#0002#V
        put D PATH#III#V
    ",
    );
}

#[test]
fn a_node_that_stays_after_all_is_placed_as_ever() {
    check(
        DRIVE,
        "mark V delete; unset V _deleting",
        "
        intent D, path V, deleting delete to D
        intent D, path V
        put D NODE#0001#V
        put D PATH#V
    ",
    );
}

#[test]
fn a_node_marked_before_it_was_placed_is_placed_for_its_children_to_find_it() {
    check(
        "D\n  V unplaced",
        "mark V delete",
        "
        intent D, path V, rows_pending, deleting delete to D
        put D NODE#0001#V
        put D PATH#V
        settle D, path V, deleting delete to D
    ",
    );
}

fn deleting(mode: DeletionMode) -> DeletionMark {
    DeletionMark { mode, operation: "op".to_owned(), revisions: false, expires: 7, mark: None }
}

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

fn deletion(mode: DeletionMode, heir: Option<&str>) -> Deletion {
    Deletion { mark: deleting(mode), heir: heir.map(|heir| Heir { id: id(heir), seen: true }) }
}

#[test]
fn children_leave_as_well_or_go_to_the_parents_parent_or_become_roots() {
    let of = |mode, heir| ChildAction::of(&id("c"), &deletion(mode, heir));
    assert_eq!(of(DeletionMode::Delete, Some("p")), ChildAction::Delete(deleting(DeletionMode::Delete)));
    assert_eq!(of(DeletionMode::Adopt, Some("p")), ChildAction::Reparent { parent: id("p"), seen: true });
    assert_eq!(of(DeletionMode::Adopt, None), ChildAction::Detach);
    assert_eq!(of(DeletionMode::Detach, Some("p")), ChildAction::Detach);
    // In a cycle of two.
    assert_eq!(of(DeletionMode::Adopt, Some("c")), ChildAction::Detach);
}

fn base(attributes: &[(&str, AttributeValue)]) -> BaseNode {
    let item: Item = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    BaseNode::read(item, &NodeRef::from(id("c")), &Settings::default().schema).unwrap()
}

#[test]
fn only_a_child_that_is_not_being_removed_itself_is_held() {
    let node = NodeRef::from(id("n"));
    let is_child = |attributes: &[(&str, AttributeValue)]| {
        Child { node: NodeRef::from(id("c")), base: base(attributes) }.is_child_of(&node)
    };
    assert!(is_child(&[("parent", text("n"))]));
    assert!(!is_child(&[("parent", text("m"))]));
    assert!(!is_child(&[]));
    assert!(!is_child(&[("parent", text("n")), ("_deleting", deleting(DeletionMode::Adopt).value())]));
}

#[test]
fn a_record_that_cant_be_understood_still_goes() {
    let marked = base(&[("parent", AttributeValue::Bool(true)), ("_deleting", deleting(DeletionMode::Adopt).value())]);
    assert_eq!((marked.parent, marked.deleting), (None, Some(deleting(DeletionMode::Adopt))));
}

fn item(attributes: &[(&str, AttributeValue)]) -> Item {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[test]
fn a_mark_is_a_touch_and_taking_it_back_is_more_than_one() {
    let plain = item(&[("name", text("x"))]);
    let marked = item(&[("name", text("x")), ("_deleting", deleting(DeletionMode::Delete).value())]);
    let renamed = item(&[("name", text("y")), ("_deleting", deleting(DeletionMode::Delete).value())]);
    assert!(is_touch(Some(&plain), Some(&marked)) && !is_undelete(Some(&plain), Some(&marked)));
    assert!(is_undelete(Some(&marked), Some(&plain)));
    assert!(!is_touch(Some(&plain), Some(&renamed)) && !is_touch(Some(&plain), Some(&plain)));
}

/// What the records of V's lineage ask for: `none`, or whom they concern.
fn cascade(changes: &[(Option<&Item>, Option<&Item>)]) -> String {
    let settings = Settings::default();
    let node = NodeRef::from(id("V"));
    let changes: Vec<StreamRecord> = changes
        .iter()
        .enumerate()
        .map(|(n, (old, new))| StreamRecord {
            key: settings.schema.lineage_key(&node),
            sequence: n.to_string(),
            event: match (old, new) {
                (None, _) => Event::Insert,
                (_, None) => Event::Remove,
                _ => Event::Modify,
            },
            old: old.cloned(),
            new: new.cloned(),
        })
        .collect();
    let batch = Batch::of(&changes, &settings, Rules::default());
    let Some(cascade) = batch.cascades.get(&node) else { return "none".to_owned() };
    match cascade.kind {
        HandDown::ToOrphans => "to orphans",
        HandDown::ToChildren => "to children",
        HandDown::Deletion { touches: false } => "deletion",
        HandDown::Deletion { touches: true } => "deletion, touches",
    }
    .to_owned()
}

#[test]
fn a_cascade_knows_a_removal_by_its_record_and_leaves_tombstones_that_expire_alone() {
    let settings = Settings::default();
    let mut tree = Tree::drawn(DRIVE, &settings);
    let alive = crate::model::Lineage {
        placement: tree.happens("touch V").placed.unwrap(),
        ..crate::model::Lineage::default()
    }
    .item(&NodeRef::from(id("V")), &settings.schema);
    let deleting = tree.happens("mark V delete").intent.unwrap();
    let crate::plan::Settle::Write(gone) = tree.happens("delete V").settle else { panic!("no tombstone") };
    assert_eq!(cascade(&[(Some(&alive), Some(&deleting))]), "deletion");
    assert_eq!(cascade(&[(Some(&deleting), Some(&gone))]), "deletion, touches");
    assert_eq!(cascade(&[(Some(&gone), None)]), "none");
    assert_eq!(cascade(&[(Some(&gone), Some(&alive))]), "to orphans");
    assert_eq!(cascade(&[(None, Some(&alive))]), "to orphans");
    assert_eq!(cascade(&[(None, Some(&deleting))]), "deletion, touches");
    assert_eq!(cascade(&[(Some(&deleting), Some(&alive))]), "none");
    assert_eq!(cascade(&[(Some(&deleting), Some(&gone)), (Some(&gone), Some(&alive))]), "deletion, touches");
}
