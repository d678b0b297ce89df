//! Deletions: a node is marked first, deleted after the actions on its children, and leaves a tombstone.

use super::drawing::{DRIVE, Tree, check};
use crate::fanout::{Batch, Child, ChildAction, Event, HandDown, StreamRecord};
use crate::keys::{Id, NodeRef};
use crate::model::{
    AttributeValue, BaseNode, Deletion, DeletionMark, DeletionMode, Heir, Item, LifeUnder, Settings, Under, is_touch,
    is_undelete, number, text,
};
use crate::plan::Rules;

#[test]
fn a_marked_node_says_so_in_its_lineage_and_no_row_is_put() {
    check(DRIVE, "mark V delete", "intent D, path V, deleting delete to D");
    check(DRIVE, "mark D adopt", "intent root, deleting adopt");
    check(DRIVE, "mark V detach; touch V", "intent D, path V, deleting detach to D\nnothing");
}

#[test]
fn a_marked_node_keeps_its_placement_whatever_becomes_of_its_parent() {
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
fn a_deleted_nodes_lineage_gives_way_to_a_tombstone() {
    check(
        DRIVE,
        "mark V delete; delete V; write V; touch V",
        "
        intent D, path V, deleting delete to D
        delete D NODE#0001#V
        delete D PATH#V
        settle tombstone, deleting delete to D, until 1209607
        nothing
        nothing
    ",
    );
}

#[test]
fn a_node_put_back_with_a_copy_of_its_mark_has_its_deletion_handed_down_anew() {
    check(
        DRIVE,
        "mark V delete; put V back; put V back; touch V",
        "
        intent D, path V, deleting delete to D
        intent D, path V, deleting delete to D, again at 5
        nothing
        nothing
    ",
    );
}

#[test]
fn a_node_created_below_a_tombstone_is_an_orphan() {
    check(
        DRIVE,
        "mark V delete; delete V; create e under V",
        "
        intent D, path V, deleting delete to D
        delete D NODE#0001#V
        delete D PATH#V
        settle tombstone, deleting delete to D, until 1209607
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
        settle tombstone, deleting adopt to D, until 1209607
        intent III > D, path III/V
        put III NODE#0001#V
        put D NODE#0002#V
        put D PATH#III#V
    ",
    );
}

#[test]
fn a_node_whose_mark_is_taken_back_has_all_its_rows_put() {
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
fn a_node_marked_before_it_was_placed_is_placed_so_that_its_children_find_it() {
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
    DeletionMark { mode, operation: "op".to_owned(), revisions: false, mark: None }
}

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

fn deletion(mode: DeletionMode, heir: Option<&str>) -> Deletion {
    Deletion { mark: deleting(mode), heir: heir.map(|heir| Heir { id: id(heir), born: Some("1".to_owned()) }) }
}

#[test]
fn a_child_is_deleted_as_well_or_moves_to_the_heir_or_becomes_a_root() {
    let of = |mode, heir| ChildAction::of(&id("c"), &deletion(mode, heir));
    assert_eq!(of(DeletionMode::Delete, Some("p")), ChildAction::Delete(deleting(DeletionMode::Delete)));
    assert_eq!(
        of(DeletionMode::Adopt, Some("p")),
        ChildAction::Reparent { parent: id("p"), born: Some("1".to_owned()), is_there: false }
    );
    assert_eq!(of(DeletionMode::Adopt, None), ChildAction::Detach);
    assert_eq!(of(DeletionMode::Detach, Some("p")), ChildAction::Detach);
    // In a cycle of two nodes the child is the heir itself.
    assert_eq!(of(DeletionMode::Adopt, Some("c")), ChildAction::Detach);
}

fn base(attributes: &[(&str, AttributeValue)]) -> BaseNode {
    let item: Item = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    BaseNode::read(item, &NodeRef::from(id("c")), &Settings::default().schema).unwrap()
}

#[test]
fn a_deletion_acts_only_on_children_that_are_not_being_deleted_themselves() {
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
fn a_marked_record_that_cant_be_understood_is_still_being_deleted() {
    let marked = base(&[("parent", AttributeValue::Bool(true)), ("_deleting", deleting(DeletionMode::Adopt).value())]);
    assert_eq!((marked.parent, marked.deleting), (None, Some(deleting(DeletionMode::Adopt))));
}

fn item(attributes: &[(&str, AttributeValue)]) -> Item {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[test]
fn setting_a_mark_is_a_touch_and_taking_it_back_is_not() {
    let plain = item(&[("name", text("x"))]);
    let marked = item(&[("name", text("x")), ("_deleting", deleting(DeletionMode::Delete).value())]);
    let renamed = item(&[("name", text("y")), ("_deleting", deleting(DeletionMode::Delete).value())]);
    assert!(is_touch(Some(&plain), Some(&marked)) && !is_undelete(Some(&plain), Some(&marked)));
    assert!(is_undelete(Some(&marked), Some(&plain)));
    assert!(!is_touch(Some(&plain), Some(&renamed)) && !is_touch(Some(&plain), Some(&plain)));
}

/// What records of V's lineage with these old and new images ask for: `none`, or whom the change concerns.
fn cascade(images: &[(Option<&Item>, Option<&Item>)]) -> String {
    let settings = Settings::default();
    let node = NodeRef::from(id("V"));
    let records: Vec<StreamRecord> = images
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
    let batch = Batch::of(&records, &settings, Rules::default());
    let Some(cascade) = batch.cascades.get(&node) else { return "none".to_owned() };
    match cascade.kind {
        HandDown::ToOrphans => "to orphans",
        HandDown::ToChildren => "to children",
        HandDown::Deletion { touches: false, mark_went: false } => "deletion",
        HandDown::Deletion { touches: false, mark_went: true } => "deletion, a mark went",
        HandDown::Deletion { touches: true, mark_went: false } => "deletion, touches",
        HandDown::Deletion { touches: true, mark_went: true } => "deletion, touches, a mark went",
    }
    .to_owned()
}

#[test]
fn a_copy_that_comes_back_in_the_batch_in_which_its_record_went_has_a_stale_under() {
    let schema = Settings::default().schema;
    let node = NodeRef::from(id("V"));
    let put = |born: &str, write: &str| {
        let under = Under { parent: id("D"), born: Some("life of D".to_owned()) }.value();
        item(&[
            ("parent", text("D")),
            ("_under", under),
            ("_rev", number(1)),
            ("_born", text(born)),
            ("_write", text(write)),
        ])
    };
    let (first, again) = (put("1", "a"), put("2", "b"));
    let records = |records: &[(Event, Option<&Item>, Option<&Item>)]| -> Option<LifeUnder> {
        let records = records.iter().enumerate().map(|(n, &(event, old, new))| StreamRecord {
            key: schema.node_key(&node),
            sequence: n.to_string(),
            event,
            old: old.cloned(),
            new: new.cloned(),
        });
        let batch = Batch::of(&records.collect::<Vec<_>>(), &Settings::default(), Rules::default());
        batch.placings[&node].stale_under.clone()
    };
    let went = (Event::Remove, Some(&first), None);
    assert!(records(&[went, (Event::Insert, None, Some(&first))]).is_some_and(|stale| stale.is_of(&first)));
    // What the API creates or moves after that is where it belongs.
    assert_eq!(records(&[went, (Event::Insert, None, Some(&again))]), None);
    let mut moved = first.clone();
    moved.extend([("parent".to_owned(), text("E")), ("_rev".to_owned(), number(2))]);
    moved.insert("_under".to_owned(), Under { parent: id("E"), born: None }.value());
    let back = (Event::Insert, None, Some(&first));
    assert_eq!(records(&[went, back, (Event::Modify, Some(&first), Some(&moved))]), None);
}

#[test]
fn a_record_tells_a_cascade_of_a_deletion_and_a_tombstone_that_expires_asks_for_nothing() {
    let settings = Settings::default();
    let mut tree = Tree::drawn(DRIVE, &settings);
    let alive = crate::model::Lineage {
        placement: tree.happens("touch V").plan.placed.unwrap(),
        born: Some("1".to_owned()),
        ..crate::model::Lineage::default()
    }
    .item(&NodeRef::from(id("V")), &settings.schema);
    let deleting = tree.happens("mark V delete").plan.intent.unwrap();
    let again = tree.happens("put V back").plan.intent.unwrap();
    let crate::fanout::Settle::Write(tombstone) = tree.happens("delete V").plan.settle else { panic!("no tombstone") };
    assert_eq!(cascade(&[(Some(&alive), Some(&deleting))]), "deletion");
    assert_eq!(cascade(&[(Some(&deleting), Some(&again))]), "deletion, a mark went");
    assert_eq!(cascade(&[(Some(&deleting), Some(&tombstone))]), "deletion, touches, a mark went");
    assert_eq!(cascade(&[(Some(&tombstone), None)]), "none");
    assert_eq!(cascade(&[(Some(&tombstone), Some(&alive))]), "to orphans");
    assert_eq!(cascade(&[(None, Some(&alive))]), "to orphans");
    assert_eq!(cascade(&[(None, Some(&deleting))]), "deletion, touches");
    assert_eq!(cascade(&[(Some(&deleting), Some(&alive))]), "deletion, a mark went");
    let both = cascade(&[(Some(&deleting), Some(&tombstone)), (Some(&tombstone), Some(&alive))]);
    assert_eq!(both, "deletion, touches, a mark went");
}
