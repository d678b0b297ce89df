//! Plans as the steps that they take. A test draws a small table and compares what a plan reads and writes, one step a
//! line.

use super::world::{World, mark, node};
use crate::fanout::{Child, Context, HandDown, LateChild, Run, continue_cursor, copy_newest, hand_down};
use crate::keys::{Id, ItemKey, Schema};
use crate::model::{
    BORN, Cursor, CursorUse, Deletion, DeletionMark, DeletionMode, Heir, Latest, REVISION, Tombstone, UNDER, Under,
    number, text, with_key,
};
use crate::plan::{Facts, Rules, Step};

fn lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn of_lineage(world: &mut World, id: &str, kind: HandDown) -> String {
    world.steps(|context| hand_down(context, node(id), format!("{:0>40}", 5), kind))
}

fn of_cursor(world: &mut World, id: &str) -> String {
    world.steps(|context| continue_cursor(context, node(id)))
}

const DELETION: HandDown = HandDown::Deletion { touches: false, mark_went: false };

/// A cursor has `n` deleted with its child `a`, whatever the cursor was for.
const FROM_THE_BEGINNING: &str = "
    read n CASCADE
    read n LINEAGE, n
    list n NODE#0001#
    read a
    read n
    mark a
    delete n
    delete n CASCADE
";

#[test]
fn children_are_read_then_the_node_again_then_each_child_is_marked_and_the_node_is_deleted_last() {
    let mut world = World::drawn("r n<r a<n b<n").delete("n", DeletionMode::Delete, false);
    let steps = of_lineage(&mut world, "n", DELETION);
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n
        mark a
        mark b
        delete n
    ";
    assert_eq!(steps, lines(wanted));
    let key = world.schema().node_key(&node("a"));
    assert_eq!(DeletionMark::read(&world.items[&key]).unwrap().mark.as_deref(), Some("m1"));
}

#[test]
fn a_child_that_changes_after_it_was_read_is_read_again() {
    let world = World::drawn("r n<r a<n b<n").delete("n", DeletionMode::Delete, false);
    let mut changed = world.base("b", Some("n"));
    changed.remove(UNDER);
    let mut world = world.meanwhile(5, "b", Some(changed));
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n
        meanwhile b changes
        mark a
        mark b: refused
        read b
        read n
        mark b
        delete n
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
}

#[test]
fn a_node_whose_mark_another_client_takes_back_keeps_its_children() {
    let world = World::drawn("r n<r a<n").delete("n", DeletionMode::Delete, false);
    let unmarked = world.base("n", Some("r"));
    let mut world = world.meanwhile(4, "n", Some(unmarked));
    let steps = of_lineage(&mut world, "n", HandDown::Deletion { touches: true, mark_went: false });
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a
        meanwhile n changes
        read n
        list n NODE#0001#
        read a
        touch a
    ";
    assert_eq!(steps, lines(wanted));
}

#[test]
fn children_are_adopted_together_with_a_check_of_the_deleted_node() {
    let mut world = World::drawn("r n<r a<n b<n").delete("n", DeletionMode::Adopt, false);
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n, r LINEAGE, r
        together: check n, check r, move a below r, move b below r
        delete n
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
}

#[test]
fn children_that_no_heir_adopts_become_roots() {
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Adopt, false);
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a
        read n
        make a a root
        delete n
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
}

#[test]
fn a_wide_node_gets_a_cursor_which_continues_the_deletion_of_its_own_mark_only() {
    let mut world = World::drawn("n a<n b<n c<n").delete("n", DeletionMode::Delete, false);
    world.limits.action_slice_items_max = 2;
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n
        mark a
        mark b
        put n CASCADE
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
    let wanted = "
        read n CASCADE
        read n LINEAGE, n
        list n NODE#0001# after NODE#0001#b
        read c
        read n
        mark c
        delete n
        delete n CASCADE
    ";
    let cursor = world.items[&world.schema().cascade_key(&node("n"))].clone();
    assert_eq!(of_cursor(&mut world, "n"), lines(wanted));

    // Another mark left this cursor, so its position counts for nothing, and the deletion begins again.
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Delete, false);
    let other = Cursor { position: CursorUse::Children("another".to_owned()), ..Cursor::read(&cursor).unwrap() };
    world.put(other.item(&node("n"), &Schema::default()));
    assert_eq!(of_cursor(&mut world, "n"), lines(FROM_THE_BEGINNING));
}

#[test]
fn revisions_are_deleted_after_the_actions_on_children_and_before_the_node() {
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Delete, true);
    world.put(with_key(&ItemKey::new("n", "v001_Audit"), &Schema::default()));
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a
        read n
        mark a
        list n v
        read n
        delete n v001_Audit
        delete n
    ";
    let range = world.schema().revision_range();
    assert_eq!(
        of_lineage(&mut world, "n", DELETION).replace(&format!("list n {}", range.from), "list n v"),
        lines(wanted)
    );
}

#[test]
fn a_changed_lineage_touches_the_children() {
    let mut world = World::drawn("n a<n b<n");
    assert_eq!(of_lineage(&mut world, "n", HandDown::ToChildren), "list n NODE#0001#\ntouch a\ntouch b");
    world.limits.touch_slice_items_max = 1;
    assert_eq!(of_lineage(&mut world, "n", HandDown::ToChildren), "list n NODE#0001#\nput n CASCADE");
    assert_eq!(
        of_cursor(&mut world, "n"),
        "read n CASCADE\nread n LINEAGE, n\nlist n NODE#0001#\ntouch a\nput n CASCADE"
    );
    assert_eq!(
        of_cursor(&mut world, "n"),
        "read n CASCADE\nread n LINEAGE, n\nlist n NODE#0001# after NODE#0001#a\ntouch b\ndelete n CASCADE"
    );
    assert_eq!(of_cursor(&mut world, "n"), "read n CASCADE");
}

#[test]
fn a_slice_of_touches_that_takes_longer_than_an_invocation_has_goes_on_behind_those_that_are_done() {
    let mut world = World::drawn("n a<n b<n c<n");
    world.with_time_for(2);
    assert_eq!(of_lineage(&mut world, "n", HandDown::ToChildren), "list n NODE#0001#\ntouch a\ntouch b\nput n CASCADE");
    world.with_time_for(0);
    assert_eq!(
        of_cursor(&mut world, "n"),
        "read n CASCADE\nread n LINEAGE, n\nlist n NODE#0001# after NODE#0001#b\nAgain",
        "what did nothing comes again"
    );
    assert_eq!(
        of_cursor(&mut world, "n"),
        "read n CASCADE\nread n LINEAGE, n\nlist n NODE#0001# after NODE#0001#b\ntouch c\ndelete n CASCADE"
    );
    // The same for the children that a deletion left.
    world.with_time_for(1);
    let remaining = HandDown::Deletion { touches: true, mark_went: false };
    let wanted = "read n LINEAGE, n\nlist n NODE#0001#\nread a, b, c\ntouch a\nput n CASCADE";
    assert_eq!(of_lineage(&mut world, "n", remaining), wanted);
    let cursor = Cursor::read(&world.items[&world.schema().cascade_key(&node("n"))]).unwrap();
    assert_eq!((cursor.position, cursor.after.as_deref()), (CursorUse::Remaining, Some("NODE#0001#a")));
}

#[test]
fn children_with_many_bytes_are_read_and_acted_on_in_passes() {
    let mut world = World::drawn("r n<r a<n b<n c<n d<n").delete("n", DeletionMode::Adopt, false);
    for id in ["a", "b", "c"] {
        let mut large = world.base(id, Some("n"));
        large.insert("bulk".to_owned(), text("\0".repeat(390_000)));
        world.put(large);
    }
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b, c, d
        read n, r LINEAGE, r
        together: check n, check r, move a below r, move b below r
        read c, d
        read n, r LINEAGE, r
        together: check n, check r, move c below r, move d below r
        delete n
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
}

#[test]
fn past_the_first_page_the_newest_revision_is_looked_for_by_keys_and_read_alone() {
    let mut world = World::drawn("n");
    world.limits.revision_page_items_max = 1;
    for sk in ["v001_Audit", "v002_Other"] {
        world.put(with_key(&ItemKey::new("n", sk), &Schema::default()));
    }
    let latest = Latest { node: node("n"), topic: "Audit".to_owned() };
    let steps = world.steps(|context| copy_newest(context, latest));
    let range = world.schema().revision_range();
    let wanted = "
        read n v0_Audit
        list n v
        list n v after v002_Other
        read n v001_Audit
        put n v0_Audit
        read n v0_Audit
        list n v
        list n v after v0_Audit
        list n v after v002_Other
        read n v001_Audit
    ";
    assert_eq!(steps.replace(&format!("list n {}", range.from), "list n v"), lines(wanted));
}

#[test]
fn a_child_that_no_condition_can_compare_blocks_the_deletion_until_it_is_redriven() {
    // The child comes last of two, a slice each.
    let mut world = World::drawn("n a<n b<n").delete("n", DeletionMode::Delete, false);
    world.limits.action_slice_items_max = 1;
    let (key, narrow) = (world.schema().node_key(&node("a")), world.base("a", Some("n")));
    let mut wide = narrow.clone();
    wide.extend((0..200).map(|number| (format!("a{number}"), text("x"))));
    wide.remove("_rev");
    world.put(wide);
    assert!(of_lineage(&mut world, "n", DELETION).ends_with("put n CASCADE"));
    for slice in 0.. {
        if of_cursor(&mut world, "n") == "read n CASCADE" {
            break;
        }
        assert!(slice < 4, "it doesn't come to rest");
    }
    let at = world.schema().cascade_key(&node("n"));
    let resting = world.items[&at].clone();
    let cursor = Cursor::read(&resting).unwrap();
    assert!(cursor.blocked && cursor.after.is_none() && world.items.contains_key(&world.schema().node_key(&node("n"))));

    // The child is smaller now, and the operator asks for another try.
    world.items.insert(key, narrow);
    world.items.get_mut(&at).unwrap().insert("_redriven".to_owned(), text("1"));
    for _ in 0..4 {
        of_cursor(&mut world, "n");
    }
    assert!(!world.items.contains_key(&at) && !world.items.contains_key(&world.schema().node_key(&node("n"))));
}

#[test]
fn the_sign_of_a_blocked_deletion_goes_with_its_mark() {
    let mark_went = HandDown::Deletion { touches: false, mark_went: true };
    let sign = |blocked| Cursor {
        sequence: "7".to_owned(),
        after: None,
        position: CursorUse::Children("m".to_owned()),
        blocked,
    };
    let mut world = World::drawn("n a<n");
    world.put(sign(true).item(&node("n"), &Schema::default()));
    assert_eq!(of_lineage(&mut world, "n", mark_went), "read n CASCADE, n LINEAGE, n\ndelete n CASCADE");
    // A cursor that is under way isn't a sign, and while the node is being deleted a sign stays.
    let mut world = World::drawn("n a<n");
    world.put(sign(false).item(&node("n"), &Schema::default()));
    assert_eq!(of_lineage(&mut world, "n", mark_went), "read n CASCADE, n LINEAGE, n");
    let mut world = World::drawn("n").delete("n", DeletionMode::Delete, false);
    world.put(sign(true).item(&node("n"), &Schema::default()));
    let steps = of_lineage(&mut world, "n", mark_went);
    assert!(!steps.contains("delete n CASCADE"), "{steps}");
}

#[test]
fn a_cursor_for_touching_carries_on_the_deletion_of_a_node_that_is_being_deleted() {
    // An operator has put it over the deletion's own.
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Delete, false);
    let cursor = Cursor { sequence: "7".to_owned(), after: None, position: CursorUse::Touching, blocked: false };
    world.put(cursor.item(&node("n"), &Schema::default()));
    assert_eq!(of_cursor(&mut world, "n"), lines(FROM_THE_BEGINNING));
}

fn late_child(world: &mut World, heir: Option<&str>) -> String {
    let base = crate::model::BaseNode::read(world.base("s", Some("gone")), &node("s"), world.schema()).unwrap();
    let heir = heir.map(|id| Heir { id: Id::new(id).unwrap(), born: Some("1".to_owned()) });
    let tombstone = Deletion { mark: mark(DeletionMode::Adopt, false), heir };
    let late_child = LateChild { child: Child { node: node("s"), base }, deletion: tombstone };
    world.steps(|context| late_child.plan(context))
}

#[test]
fn a_late_child_is_adopted_together_with_a_check_of_every_edge_up_to_the_root() {
    let mut world = World::drawn("r h<r s");
    world.put_base("s", Some("gone"));
    let wanted = "
        read h LINEAGE, h
        read r
        together: move s below h, check h, check r
    ";
    assert_eq!(late_child(&mut world, Some("h")), lines(wanted));
}

#[test]
fn a_late_child_whose_heir_begins_another_life_meanwhile_looks_again() {
    let mut world = World::drawn("r h<r s");
    world.put_base("s", Some("gone"));
    let mut another = world.base("h", Some("r"));
    another.insert(BORN.to_owned(), text("2"));
    let mut world = world.meanwhile(2, "h", Some(another));
    let wanted = "
        read h LINEAGE, h
        meanwhile h changes
        read r
        together: move s below h, check h, check r: refused
        read h LINEAGE, h
        read r
        together: move s below h, check h, check r
    ";
    assert_eq!(late_child(&mut world, Some("h")), lines(wanted));
    let key = world.schema().node_key(&node("s"));
    let under = Under { parent: Id::new("h").unwrap(), born: Some("2".to_owned()) };
    assert_eq!((&world.items[&key][UNDER], &world.items[&key][REVISION]), (&under.value(), &number(1)));
}

#[test]
fn a_late_child_above_its_heir_or_without_one_becomes_a_root() {
    let mut world = World::drawn("s h<s");
    world.put_base("s", Some("gone"));
    assert_eq!(late_child(&mut world, Some("h")), "read h LINEAGE, h\nread s\nread gone LINEAGE, gone\nmake s a root");
    let mut world = World::drawn("s");
    world.put_base("s", Some("gone"));
    assert_eq!(late_child(&mut world, None), "make s a root");
}

#[test]
fn the_tombstone_of_an_heir_that_was_deleted_as_well_decides() {
    let mut world = World::drawn("r s");
    world.put_base("s", Some("gone"));
    let heir = Some(Heir { id: Id::new("r").unwrap(), born: Some("1".to_owned()) });
    let deletion = Deletion { mark: mark(DeletionMode::Adopt, false), heir };
    let tombstone = Tombstone { deletion, born: Some("1".to_owned()), earlier: Vec::new(), deleted: 0 };
    world.put(tombstone.item(&node("h"), &world.settings));
    let wanted = "
        read h LINEAGE, h
        read r LINEAGE, r
        together: move s below r, check r
    ";
    assert_eq!(late_child(&mut world, Some("h")), lines(wanted));
}

#[test]
fn a_late_child_passes_any_number_of_deleted_heirs_and_a_circle_of_them_makes_it_a_root() {
    let chain = |last: &str| {
        let mut world = World::drawn("r s");
        world.put_base("s", Some("gone"));
        for number in 0..30 {
            let next = if number == 29 { last.to_owned() } else { format!("h{}", number + 1) };
            let heir = Some(Heir { id: Id::new(next).unwrap(), born: Some("1".to_owned()) });
            let deletion = Deletion { mark: mark(DeletionMode::Adopt, false), heir };
            let tombstone = Tombstone { deletion, born: Some("1".to_owned()), earlier: Vec::new(), deleted: 0 };
            world.put(tombstone.item(&node(&format!("h{number}")), &world.settings));
        }
        late_child(&mut world, Some("h0"))
    };
    assert!(chain("r").ends_with("read r LINEAGE, r\ntogether: move s below r, check r"), "{}", chain("r"));
    assert!(chain("h0").ends_with("make s a root"), "{}", chain("h0"));
}

#[test]
fn a_child_with_too_many_attributes_to_compare_keeps_its_parent_which_stays_and_is_noted() {
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Delete, false);
    let key = world.schema().node_key(&node("a"));
    world.items.get_mut(&key).unwrap().extend((0..200).map(|n| (format!("a{n}"), text("x"))));
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: world.limits, rules: Rules::default(), run: Run::default() };
    let mut plan = hand_down(context, node("n"), "5".to_owned(), DELETION);
    let mut facts = Facts::None;
    loop {
        facts = match plan.next(facts).unwrap() {
            Step::Need(need) => Facts::Read(world.read(need)),
            Step::Do(tasks) => Facts::Done(tasks.iter().map(|task| Ok(world.carry_out(task))).collect()),
            Step::Try(_) | Step::Write(_) | Step::Wait(_) => panic!("these plans write on conditions, and never wait"),
            Step::Done(()) => break,
        };
    }
    assert!(world.items.contains_key(&key) && world.items.contains_key(&world.schema().node_key(&node("n"))));
    assert!(world.items.contains_key(&world.schema().cascade_key(&node("n"))), "the cursor stays as a sign");
    let problems = plan.take_report().problems;
    assert!(problems[0].key == key && problems[0].reason.contains("over the limit of 140"), "{problems:?}");
}
