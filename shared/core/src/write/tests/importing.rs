//! A record of an import beside deletions, repairs and lost answers.

use std::ops::ControlFlow;

use super::steps::named_record;
use crate::fanout::tests::world::{World, mark, node};
use crate::keys::{Id, ItemKey, TrashTime};
use crate::model::{
    DELETING, Deletion, DeletionMode, Item, Lineage, PUT_BACK, Placement, Settings, Stored, TRASHED, Tombstone,
    Trashed, text,
};
use crate::plan::{Facts, Rules, Step, TaskOutcome};
use crate::write::{
    Above, Context, Imported, ImportedRecord, LOOKS_MAX, Limits, Unknown, deletes_revisions, import_record,
};

fn context(settings: &Settings) -> Context<'_> {
    Context { settings, limits: Limits::default(), rules: Rules::default() }
}

/// Imports `n`. The answer to its first write may be lost. At each wait something may happen. Returns what became of
/// it, and how many waits there were.
fn imported(world: &mut World, is_lost: bool, at_wait: impl Fn(&mut World, usize)) -> (Imported, usize) {
    imported_as(world, imported_item(), is_lost, at_wait)
}

/// The same with this record.
fn imported_as(world: &mut World, item: Item, is_lost: bool, at_wait: impl Fn(&mut World, usize)) -> (Imported, usize) {
    let (settings, of) = (world.settings.clone(), node("n"));
    let mut plan = import_record(
        context(&settings),
        ImportedRecord {
            node: &of,
            key: settings.schema.node_key(&of),
            item,
            since: 1_000,
            may_be_written: false,
            now: 1_000,
            looks_max: 5,
        },
    );
    let (mut facts, mut waits, mut loses) = (Facts::None, 0, is_lost);
    for _ in 0..100 {
        let step = plan.next(facts).unwrap();
        if let Step::Wait(_) = step {
            waits += 1;
            at_wait(world, waits);
        }
        let answered =
            world.answer(step, |world, task| Some(world.carry_out(task)).filter(|_| !std::mem::take(&mut loses)));
        match answered {
            ControlFlow::Continue(next) => facts = next,
            ControlFlow::Break(done) => return (done, waits),
        }
    }
    panic!("the plan doesn't end")
}

/// Imports a record of `n` that a process before may have written since 100,000 s. Returns what became of it, and
/// how many writes there were.
fn imported_again(world: &mut World, sk: &str, now: u64) -> (Imported, usize) {
    let (settings, of) = (world.settings.clone(), node("n"));
    let key = ItemKey::new(settings.schema.node_key(&of).pk, sk);
    let (item, since) = (imported_item(), 100_000);
    let record = ImportedRecord { node: &of, key, item, since, may_be_written: true, now, looks_max: 5 };
    let mut plan = import_record(context(&settings), record);
    let mut writes = 0;
    let done = world.drive(&mut plan, |world, task| {
        writes += 1;
        Some(world.carry_out(task))
    });
    (done, writes)
}

/// The record of `n`, without what Sapwood keeps in it.
fn imported_item() -> Item {
    let mut item = named_record("a name");
    item.retain(|name, _| !name.starts_with('_'));
    item
}

fn with(record: Item, name: &str, value: crate::model::AttributeValue) -> Item {
    let mut record = record;
    record.insert(name.to_owned(), value);
    record
}

fn marked() -> Item {
    with(named_record("a name"), DELETING, mark(DeletionMode::Delete, false).value())
}

fn there(world: &World) -> Option<&Item> {
    world.items.get(&world.schema().node_key(&node("n")))
}

#[test]
fn an_absent_record_is_put_and_an_equal_one_counts() {
    let mut world = World::drawn("");
    assert_eq!(imported(&mut world, false, |_, _| {}), (Imported::Written, 0));
    assert_eq!(imported(&mut world, false, |_, _| {}), (Imported::Written, 1));
    world.put(named_record("another"));
    assert_eq!(imported(&mut world, false, |_, _| {}).0, Imported::Another);
}

#[test]
fn a_live_node_is_not_the_one_in_the_trash_that_an_import_has() {
    let trashed = |parent: &str, born: Option<&str>| {
        let (parent, born) = (Some(Id::new(parent).unwrap()), born.map(str::to_owned));
        let at = TrashTime::parse("2026-02-03T04:05:06.789Z").unwrap();
        with(imported_item(), TRASHED, Trashed { at, by: None, parent, born }.value())
    };
    let mut world = World::drawn("");
    world.put(imported_item());
    let outcome = |world: &mut World, item| imported_as(world, item, false, |_, _| {}).0;
    assert_eq!(outcome(&mut world, trashed("p", None)), Imported::Another);
    world.put(trashed("p", Some("a life of this table")));
    assert_eq!(outcome(&mut world, trashed("p", None)), Imported::Written);
    assert_eq!(outcome(&mut world, trashed("q", None)), Imported::Another);
    assert_eq!(outcome(&mut world, imported_item()), Imported::Another);
}

#[test]
fn an_equal_record_that_is_being_deleted_is_waited_for_and_written_again() {
    let mut world = World::drawn("");
    world.put(marked());
    let goes = |world: &mut World, wait: usize| {
        if wait == 3 {
            let key = world.schema().node_key(&node("n"));
            world.items.remove(&key);
        }
    };
    assert_eq!(imported(&mut world, false, goes), (Imported::Written, 3));
    assert_eq!(there(&world), Some(&imported_item()));
    // One that doesn't go isn't written, and is left as it is.
    world.put(marked());
    assert_eq!(imported(&mut world, false, |_, _| {}), (Imported::BeingDeleted, 1 + 5));
    assert_eq!(there(&world), Some(&marked()));
    // A value that is no mark deletes nothing.
    world.put(with(named_record("a name"), DELETING, text("no mark")));
    assert_eq!(imported(&mut world, false, |_, _| {}).0, Imported::Written);
}

#[test]
fn a_record_that_a_repair_has_put_back_is_written_over_if_it_still_is() {
    let back = |name: &str| with(named_record("a name"), PUT_BACK, text(name));
    let mut world = World::drawn("");
    world.put(back("1"));
    assert_eq!(imported(&mut world, false, |_, _| {}).0, Imported::Written);
    assert_eq!(there(&world), Some(&imported_item()));
    // Another repair has put it back again, after the look: the condition is on the value.
    world.put(back("1"));
    let (settings, of) = (world.settings.clone(), node("n"));
    let key = settings.schema.node_key(&of);
    let mut plan = import_record(
        context(&settings),
        ImportedRecord {
            node: &of,
            key,
            item: imported_item(),
            since: 1_000,
            may_be_written: false,
            now: 1_000,
            looks_max: LOOKS_MAX,
        },
    );
    assert!(matches!(plan.next(Facts::None), Ok(Step::Try(_))));
    let failed = TaskOutcome::Failed(vec![0]);
    assert!(matches!(plan.next(Facts::Tried(Some(failed))), Ok(Step::Wait(0))));
    let Ok(Step::Need(need)) = plan.next(Facts::Waited(true)) else { panic!("a look follows") };
    let Ok(Step::Try(task)) = plan.next(Facts::Read(world.read(need))) else { panic!("it is written over") };
    world.put(back("2"));
    assert_eq!(world.carry_out(&task), TaskOutcome::Failed(vec![0]));
}

#[test]
fn what_was_written_without_an_answer_and_deleted_since_does_not_come_back() {
    let deleted = |world: &mut World, _: usize| {
        let (settings, of) = (world.settings.clone(), node("n"));
        world.items.remove(&settings.schema.node_key(&of));
        let deletion = Deletion { mark: mark(DeletionMode::Delete, false), heir: None };
        world.put(Tombstone { deletion, born: None, earlier: Vec::new(), deleted: 1_002 }.item(&of, &settings));
    };
    let mut world = World::drawn("");
    assert_eq!(imported(&mut world, true, deleted).0, Imported::Unknown(Unknown::Deleted));
    assert_eq!(there(&world), None);
    // It is being deleted.
    let mut world = World::drawn("");
    let marks = |world: &mut World, _: usize| world.put(marked());
    assert_eq!(imported(&mut world, true, marks), (Imported::Unknown(Unknown::Deleted), 1));
    // Others have changed it.
    let mut world = World::drawn("");
    let changes = |world: &mut World, _: usize| world.put(named_record("another"));
    assert_eq!(imported(&mut world, true, changes).0, Imported::Unknown(Unknown::Another));
    // It stands.
    let mut world = World::drawn("");
    assert_eq!(imported(&mut world, true, |_, _| {}).0, Imported::Written);
}

#[test]
fn what_a_process_before_may_have_written_is_looked_for_first() {
    let deleted = |at: u64| {
        let mut world = World::drawn("");
        let deletion = Deletion { mark: mark(DeletionMode::Delete, false), heir: None };
        world.put(
            Tombstone { deletion, born: None, earlier: Vec::new(), deleted: at }
                .item(&node("n"), &world.settings.clone()),
        );
        world
    };
    assert_eq!(imported_again(&mut deleted(100_002), "NODE", 100_009), (Imported::Unknown(Unknown::Deleted), 0));
    assert_eq!(
        imported_again(&mut deleted(500), "NODE", 100_009),
        (Imported::Written, 1),
        "it was deleted long before"
    );
    let mut world = World::drawn("");
    let weeks_later = imported_again(&mut world, "NODE", 100_000 + 14 * 86_400);
    assert_eq!(weeks_later, (Imported::Unknown(Unknown::NoTrace), 0), "what would tell of it has expired");
    assert_eq!(imported_again(&mut world, "NODE", 100_009), (Imported::Written, 1), "there is no trace of it");
    assert_eq!(imported_again(&mut world, "NODE", 100_009), (Imported::Written, 0), "it stands");
    assert_eq!(imported_again(&mut world, "v003_Audit", 100_009), (Imported::Unknown(Unknown::NoTrace), 0));
    world.put(named_record("another"));
    assert_eq!(imported_again(&mut world, "NODE", 100_009), (Imported::Unknown(Unknown::Another), 0));
}

#[test]
fn a_record_that_is_written_and_deleted_while_it_is_looked_for_does_not_come_back() {
    // A look at several items isn't one moment: the record is read after its deletion, and what tells of that before.
    let mut world = World::drawn("");
    let (settings, of) = (world.settings.clone(), node("n"));
    let key = settings.schema.node_key(&of);
    let mut plan = import_record(
        context(&settings),
        ImportedRecord {
            node: &of,
            key: key.clone(),
            item: imported_item(),
            since: 1_000,
            may_be_written: false,
            now: 1_000,
            looks_max: LOOKS_MAX,
        },
    );
    assert!(matches!(plan.next(Facts::None), Ok(Step::Try(_))));
    assert!(matches!(plan.next(Facts::Tried(None)), Ok(Step::Wait(0))));
    let Ok(Step::Need(need)) = plan.next(Facts::Waited(true)) else { panic!("a look follows") };
    let read = world.read(need);
    let deletion = Deletion { mark: mark(DeletionMode::Delete, false), heir: None };
    world.put(Tombstone { deletion, born: None, earlier: Vec::new(), deleted: 1_002 }.item(&of, &settings));
    let Ok(Step::Try(task)) = plan.next(Facts::Read(read)) else { panic!("it is written again") };
    let outcome = world.carry_out(&task);
    assert_eq!((&outcome, there(&world)), (&TaskOutcome::Failed(vec![2]), None));
    assert!(matches!(plan.next(Facts::Tried(Some(outcome))), Ok(Step::Wait(1))));
    let Ok(Step::Need(need)) = plan.next(Facts::Waited(true)) else { panic!("a look follows") };
    let done = plan.next(Facts::Read(world.read(need)));
    assert!(matches!(done, Ok(Step::Done(Imported::Unknown(Unknown::Deleted)))));
}

#[test]
fn a_parent_is_one_once_it_is_placed_and_while_it_stays() {
    let world = World::drawn("p");
    let record = world.items[&world.schema().node_key(&node("p"))].clone();
    let lineage = Stored::Lineage(Lineage { placement: Placement::default(), ..Lineage::default() });
    let deletion = Deletion { mark: mark(DeletionMode::Delete, false), heir: None };
    let tombstone = Stored::Tombstone(Tombstone { deletion, born: None, earlier: Vec::new(), deleted: 1 });
    assert_eq!(Above::read(None, &lineage), Above::Absent);
    assert_eq!(Above::read(Some(&with(record.clone(), PUT_BACK, text("1"))), &lineage), Above::Absent);
    let going = with(record.clone(), DELETING, mark(DeletionMode::Delete, true).value());
    assert_eq!(Above::read(Some(&going), &lineage), Above::BeingDeleted);
    assert!(deletes_revisions(&going) && !deletes_revisions(&marked()) && !deletes_revisions(&record));
    assert_eq!(Above::read(Some(&record), &Stored::Absent), Above::Unplaced);
    assert_eq!(Above::read(Some(&record), &tombstone), Above::Unplaced);
    assert_eq!(Above::read(Some(&record), &lineage), Above::Placed);
}
