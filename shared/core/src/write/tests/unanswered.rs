//! Writes whose answer is lost, while others write the same records and are answered.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::steps::{append, create, delete, moved, print_outcome, set, stamp};
use crate::fanout::tests::world::{World, node};
use crate::keys::{ItemKey, Version};
use crate::model::{
    BORN, BaseNode, DELETING, Deletion, DeletionMode, Item, Latest, Lineage, Placement, Settings, Tombstone, text,
    text_of, with_key,
};
use crate::plan::{Facts, Plan, Rule, Rules, Step, TaskOutcome};
use crate::request::{Action, Condition};
use crate::write::attempts::{Attempts, done};
use crate::write::{
    Children, Command, Content, Context, Idempotency, Limits, Outcome, Preconditions, Refusal, Request, Tags,
    write_once,
};

/// Carries a command out. With `meanwhile`, its first write gets no answer, and `meanwhile` happens before the plan
/// goes on. `is_sent` is false if that write is lost on its way.
pub(super) fn carried_out(
    world: &mut World,
    command: &Command,
    request: &Request,
    rules: Rules,
    is_sent: bool,
    meanwhile: Option<&dyn Fn(&mut World)>,
) -> String {
    run(world, command, request, rules, is_sent, meanwhile, false)
}

/// The same. If it `looks_early`, the first look after the lost answer reads base records after `meanwhile`, and all
/// other items before the write: a read of several items isn't one moment.
fn run(
    world: &mut World,
    command: &Command,
    request: &Request,
    rules: Rules,
    is_sent: bool,
    mut meanwhile: Option<&dyn Fn(&mut World)>,
    looks_early: bool,
) -> String {
    let mut early = None;
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits { attempts_max: 5, ..Limits::default() }, rules };
    let mut plan = write_once(context, command, request, None);
    let mut facts = Facts::None;
    for _ in 0..100 {
        let step = plan.next(facts).unwrap();
        let is_tried = matches!(step, Step::Try(_));
        let now = early.take_if(|_| matches!(step, Step::Need(_))).map(|early| {
            let seen = with_records_of(early, &world.items);
            std::mem::replace(&mut world.items, seen)
        });
        let answered = world.answer(step, |world, task| {
            let Some(meanwhile) = meanwhile.take_if(|_| is_tried) else { return Some(world.carry_out(task)) };
            early = looks_early.then(|| world.items.clone());
            if is_sent {
                world.carry_out(task);
            }
            meanwhile(world);
            None
        });
        if let Some(now) = now {
            world.items = now;
        }
        match answered {
            ControlFlow::Continue(next) => facts = next,
            ControlFlow::Break(Ok(answered)) => return print_outcome(&answered.outcome),
            ControlFlow::Break(Err(Refusal::OutcomeUnknown)) => return "unknown".to_owned(),
            ControlFlow::Break(Err(refusal)) => return format!("refused: {refusal}"),
        }
    }
    panic!("the plan doesn't end")
}

/// These items, with the records of nodes as they are `now`.
fn with_records_of(items: BTreeMap<ItemKey, Item>, now: &BTreeMap<ItemKey, Item>) -> BTreeMap<ItemKey, Item> {
    let records = now.iter().filter(|(key, _)| key.sk == "NODE").map(|(key, item)| (key.clone(), item.clone()));
    items.into_iter().filter(|(key, _)| key.sk != "NODE").chain(records).collect()
}

pub(super) fn ours() -> Request {
    Request::new(stamp("ours", 1_000))
}

pub(super) fn keyed() -> Request {
    let key = Idempotency { tenant: None, hash: "K".to_owned(), fingerprint: "the request".to_owned() };
    Request { idempotency: Some(key), ..ours() }
}

/// Carries a command out whose first write is carried out and gets no answer.
pub(super) fn lost(world: &mut World, command: &Command, meanwhile: &dyn Fn(&mut World)) -> String {
    carried_out(world, command, &ours(), Rules::default(), true, Some(meanwhile))
}

/// Another client's request, which is answered.
pub(super) fn others(world: &mut World, token: &str, command: &Command) -> String {
    let answer = carried_out(world, command, &Request::new(stamp(token, 1_001)), Rules::default(), true, None);
    assert!(!answer.starts_with("refused") && answer != "unknown", "{token}: {answer}");
    answer
}

/// Has the stream handler place a node.
pub(super) fn place(world: &mut World, of: &str) {
    let (schema, of) = (world.schema().clone(), node(of));
    let item = world.items[&schema.node_key(&of)].clone();
    let born = text_of(&item, BORN).map(str::to_owned);
    let ancestors = BaseNode::parent_in(&item, &of, &schema).into_iter().collect();
    let lineage = Lineage { placement: Placement { ancestors, ..Placement::default() }, born, ..Lineage::default() };
    world.put(lineage.item(&of, &schema));
}

pub(super) fn put(of: &str, name: &str) -> Command {
    let attributes = Item::from([("name".to_owned(), text(name))]);
    Command::Replace { node: node(of), content: Content { attributes, ..Content::default() } }
}

fn topic() -> Latest {
    Latest { node: node("n"), topic: "T".to_owned() }
}

pub(super) fn delete_revision(number: u64) -> Command {
    Command::DeleteRevision { topic: topic(), version: Version::new(number).unwrap() }
}

pub(super) fn restrict(of: &str) -> Command {
    delete(of, Children::Restrict)
}

/// The attribute of a node's record; `None` if there is no record.
pub(super) fn attribute(world: &World, of: &str, name: &str) -> Option<String> {
    let item = world.items.get(&world.schema().node_key(&node(of)))?;
    Some(text_of(item, name).unwrap_or("-").to_owned())
}

pub(super) fn revision(world: &World, number: u64) -> Option<&Item> {
    let key = topic().revision_key(Version::new(number).unwrap(), &world.settings).unwrap();
    world.items.get(&key)
}

/// A node that was deleted, after others have written it.
fn put_and_deleted(world: &mut World) {
    others(world, "put", &put("n", "theirs"));
    place(world, "n");
    others(world, "delete", &restrict("n"));
}

/// Has the stream delete `n`, which leaves a tombstone.
fn deleted_by_the_stream(world: &mut World, operation: &str) {
    place(world, "n");
    let (children, operation) = (Children::With(DeletionMode::Delete), operation.to_owned());
    others(
        world,
        &operation,
        &Command::Delete { node: node("n"), children, revisions: false, operation: operation.clone() },
    );
    let (schema, settings) = (world.schema().clone(), world.settings.clone());
    let item = world.items.remove(&schema.node_key(&node("n"))).unwrap();
    let base = BaseNode::read(item, &node("n"), &schema).unwrap();
    let (deletion, born) = (Deletion::of(&node("n"), &base).unwrap(), base.born().map(str::to_owned));
    world.put(Tombstone { deletion, born, earlier: Vec::new(), deleted: 1_002 }.item(&node("n"), &settings));
}

#[test]
fn a_node_that_is_created_and_deleted_stays_deleted() {
    let mut world = World::drawn("");
    assert_eq!(lost(&mut world, &put("n", "ours"), &put_and_deleted), "created n");
    assert_eq!(attribute(&world, "n", "name"), None);
    // The record of the first deletion is the second's by now.
    let twice = |world: &mut World| {
        put_and_deleted(world);
        put_and_deleted(world);
    };
    let mut world = World::drawn("");
    assert_eq!(lost(&mut world, &put("n", "ours"), &twice), "unknown");
    assert_eq!(attribute(&world, "n", "name"), None);
    let mut world = World::drawn("");
    let rules = Rules::without(Rule::CreatedAndDeleted);
    let answer = carried_out(&mut world, &put("n", "ours"), &ours(), rules, true, Some(&put_and_deleted));
    assert_eq!((answer.as_str(), attribute(&world, "n", "name").as_deref()), ("created n", Some("ours")), "it is back");
}

#[test]
fn a_node_that_is_created_and_deleted_by_the_stream_stays_deleted() {
    let by_the_stream = |world: &mut World| deleted_by_the_stream(world, "o1");
    let mut world = World::drawn("");
    assert_eq!(lost(&mut world, &put("n", "ours"), &by_the_stream), "created n");
    assert_eq!(attribute(&world, "n", "name"), None);
    let again = |world: &mut World| {
        by_the_stream(world);
        others(world, "put", &put("n", "theirs"));
        deleted_by_the_stream(world, "o2");
    };
    let mut world = World::drawn("");
    assert_eq!(lost(&mut world, &put("n", "ours"), &again), "unknown");
    assert_eq!(attribute(&world, "n", "name"), None);
}

#[test]
fn a_node_that_the_stream_has_just_deleted_stays_deleted() {
    // Another life follows ours, and it is being deleted: its lineage has no tombstone yet, and has replaced that of
    // ours.
    let two_lives = |world: &mut World| {
        deleted_by_the_stream(world, "o1");
        others(world, "put", &put("n", "theirs"));
        place(world, "n");
        world.items.remove(&world.schema().node_key(&node("n")));
    };
    let mut world = World::drawn("");
    assert_eq!(lost(&mut world, &put("n", "ours"), &two_lives), "unknown");
    assert_eq!(attribute(&world, "n", "name"), None);
}

#[test]
fn a_create_that_is_tried_again_checks_that_what_it_has_read_still_holds() {
    let by_the_stream = |world: &mut World| deleted_by_the_stream(world, "o1");
    let early = |rules: Rules, meanwhile: &dyn Fn(&mut World)| {
        let mut world = World::drawn("");
        let answer = run(&mut world, &put("n", "ours"), &ours(), rules, true, Some(meanwhile), true);
        (answer, attribute(&world, "n", "name"))
    };
    let done = ("created n".to_owned(), None);
    assert_eq!(early(Rules::default(), &put_and_deleted), done);
    assert_eq!(early(Rules::default(), &by_the_stream), done);
    let again = ("created n".to_owned(), Some("ours".to_owned()));
    assert_eq!(early(Rules::without(Rule::TracesStay), &put_and_deleted), again);
    assert_eq!(early(Rules::without(Rule::TracesStay), &by_the_stream), again);
}

#[test]
fn a_deletion_under_way_is_found_by_its_mark_where_its_operation_was_read_too_early() {
    let mut world = World::drawn("n");
    let command = delete("n", Children::With(DeletionMode::Delete));
    let answer = run(&mut world, &command, &ours(), Rules::default(), true, Some(&|_| {}), true);
    assert_eq!(answer, lost(&mut World::drawn("n"), &command, &|_| {}));
}

#[test]
fn a_create_that_never_came_is_sent_again() {
    let mut world = World::drawn("p");
    let answer =
        carried_out(&mut world, &create("n", false, Some("p")), &ours(), Rules::default(), false, Some(&|_| {}));
    assert_eq!((answer.as_str(), attribute(&world, "n", "parent").as_deref()), ("created n", Some("p")));
    // Nor does a deletion of two days ago, less an hour, say anything of it.
    let mut world = World::drawn("p n<p");
    let request = Request::new(stamp("long ago", 1_000));
    carried_out(&mut world, &restrict("n"), &request, Rules::default(), true, None);
    world.items.remove(&world.schema().lineage_key(&node("n")));
    let request = Request::new(stamp("ours", 1_000 + 47 * 3_600));
    let answer =
        carried_out(&mut world, &create("n", false, Some("p")), &request, Rules::default(), false, Some(&|_| {}));
    assert_eq!(answer, "created n");
}

#[test]
fn a_node_that_is_put_again_after_a_lost_deletion_stays() {
    let again = |world: &mut World| {
        others(world, "put", &put("n", "theirs"));
    };
    let mut world = World::drawn("n");
    assert_eq!(lost(&mut world, &restrict("n"), &again), "deleted");
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("theirs"));
    let mut world = World::drawn("n");
    let rules = Rules::without(Rule::StandsAsRead);
    // Even a look that goes by the record alone finds the deletion's name. Another deletion takes it.
    let twice = |world: &mut World| {
        put_and_deleted(world);
        again(world);
        place(world, "n");
    };
    assert_eq!(lost(&mut world, &restrict("n"), &twice), "unknown");
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("theirs"));
    let mut world = World::drawn("n");
    assert_eq!(carried_out(&mut world, &restrict("n"), &ours(), rules, true, Some(&twice)), "deleted");
    assert_eq!(attribute(&world, "n", "name"), None, "the new node is gone");
}

#[test]
fn a_deletion_by_the_stream_is_found_by_its_operation() {
    let marks = delete("n", Children::With(DeletionMode::Adopt));
    let gone_and_back = |world: &mut World| {
        let key = world.schema().node_key(&node("n"));
        world.items.remove(&key);
        others(world, "put", &put("n", "theirs"));
    };
    let mut world = World::drawn("n");
    assert_eq!(lost(&mut world, &marks, &gone_and_back), "deleting n, adopt its children, as o1");
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("theirs"));
    assert!(!world.items[&world.schema().node_key(&node("n"))].contains_key(DELETING));
    // Without the operation's record it wasn't carried out, whatever has become of the node.
    let mut world = World::drawn("n");
    let renamed = |world: &mut World| {
        others(world, "rename", &set("n", "name", "theirs"));
    };
    let answer = carried_out(&mut world, &marks, &ours(), Rules::default(), false, Some(&renamed));
    assert_eq!(answer, "deleting n, adopt its children, as o1");
}

#[test]
fn a_change_that_others_have_followed_is_not_made_again() {
    let theirs = |world: &mut World| {
        others(world, "theirs", &set("n", "name", "theirs"));
    };
    let twice = |world: &mut World| {
        theirs(world);
        others(world, "third", &set("n", "name", "third"));
    };
    for change in [set("n", "name", "ours"), put("n", "ours")] {
        let mut world = World::drawn("n");
        others(&mut world, "before", &set("n", "name", "before"));
        assert_eq!(lost(&mut world, &change, &theirs), "written n", "the next write keeps its name");
        assert_eq!(attribute(&world, "n", "name").as_deref(), Some("theirs"));
        let mut world = World::drawn("n");
        assert_eq!(lost(&mut world, &change, &twice), "unknown");
        assert_eq!(attribute(&world, "n", "name").as_deref(), Some("third"));
        let mut world = World::drawn("n");
        let rules = Rules::without(Rule::StandsAsRead);
        assert_eq!(carried_out(&mut world, &change, &ours(), rules, true, Some(&twice)), "written n");
        assert_eq!(attribute(&world, "n", "name").as_deref(), Some("ours"), "over what was answered since");
    }
}

#[test]
fn a_change_that_another_client_has_overwritten_whole_is_not_made_again() {
    let foreign = |world: &mut World| {
        let mut item = World::drawn("").base("n", None);
        item.insert("name".to_owned(), text("foreign"));
        world.put(item);
    };
    let mut world = World::drawn("n");
    assert_eq!(lost(&mut world, &put("n", "ours"), &foreign), "unknown");
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("foreign"));
}

#[test]
fn a_node_that_others_have_moved_on_stays_there() {
    let on = |world: &mut World| {
        others(world, "theirs", &moved("n", "b"));
    };
    let mut world = World::drawn("a b n");
    assert_eq!(lost(&mut world, &moved("n", "a"), &on), "written n");
    assert_eq!(attribute(&world, "n", "parent").as_deref(), Some("b"));
}

#[test]
fn a_revision_that_takes_the_number_of_a_deleted_one_stays() {
    let appended = |world: &mut World| {
        let request = Request::new(stamp("theirs", 1_001));
        let request =
            Request { stamp: crate::write::Stamp { at: "later".to_owned(), ..request.stamp.clone() }, ..request };
        let answer = carried_out(world, &append("n"), &request, Rules::default(), true, None);
        assert_eq!(answer, "created n T 1");
    };
    let mut world = World::drawn("n");
    others(&mut world, "first", &append("n"));
    assert_eq!(lost(&mut world, &delete_revision(1), &appended), "deleted");
    assert_eq!(revision(&world, 1).and_then(|item| text_of(item, "_write")), Some("theirs"));
}

#[test]
fn a_revision_that_is_put_back_after_a_lost_deletion_stays() {
    // An import writes no name of a write.
    let key = topic().revision_key(Version::new(1).unwrap(), &World::drawn("").settings).unwrap();
    let deleted_again = |rules: Rules| {
        let mut world = World::drawn("n");
        let copy = with_key(&key, world.schema());
        world.put(copy.clone());
        let put_back = |world: &mut World| world.put(copy.clone());
        let answer = carried_out(&mut world, &delete_revision(1), &ours(), rules, true, Some(&put_back));
        (answer, revision(&world, 1).is_none())
    };
    assert_eq!(deleted_again(Rules::default()), ("unknown".to_owned(), false));
    assert_eq!(deleted_again(Rules::without(Rule::RevisionPutBack)), ("deleted".to_owned(), true));
}

/// The first attempt is under way when the plan looks, and is carried out later.
#[test]
fn what_may_still_be_carried_out_is_not_refused() {
    let parent_goes = |world: &mut World| {
        world.items.remove(&world.schema().node_key(&node("p")));
    };
    let late = |rules: Rules, request: &Request| {
        let mut world = World::drawn("p");
        carried_out(&mut world, &create("n", false, Some("p")), request, rules, false, Some(&parent_goes))
    };
    assert_eq!(late(Rules::default(), &ours()), "unknown");
    // Giving the claim back keeps the attempt from being carried out.
    assert!(late(Rules::default(), &keyed()).starts_with("refused"));
    assert!(late(Rules::without(Rule::UnknownNotRefused), &ours()).starts_with("refused"));
}

#[test]
fn a_revision_that_is_appended_and_deleted_stays_deleted() {
    let deleted = |world: &mut World| {
        others(world, "delete", &delete_revision(1));
    };
    let mut world = World::drawn("n");
    assert_eq!(lost(&mut world, &append("n"), &deleted), "unknown");
    assert_eq!(revision(&world, 1), None);
    // With a key the record of the key knows.
    let mut world = World::drawn("n");
    assert_eq!(
        carried_out(&mut world, &append("n"), &keyed(), Rules::default(), true, Some(&deleted)),
        "created n T 1"
    );
    assert_eq!(revision(&world, 1), None);
    let mut world = World::drawn("n");
    assert_eq!(
        carried_out(&mut world, &append("n"), &keyed(), Rules::default(), false, Some(&|_| {})),
        "created n T 1"
    );
    assert!(revision(&world, 1).is_some());
}

#[test]
fn with_a_key_a_write_is_never_unknown_and_never_done_twice() {
    let written = |world: &mut World| {
        others(world, "theirs", &set("n", "name", "theirs"));
        others(world, "third", &set("n", "name", "third"));
    };
    let mut world = World::drawn("n");
    let ours = set("n", "name", "ours");
    assert_eq!(carried_out(&mut world, &ours, &keyed(), Rules::default(), true, Some(&written)), "written n");
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("third"));
    let mut world = World::drawn("n");
    assert_eq!(carried_out(&mut world, &ours, &keyed(), Rules::default(), false, Some(&written)), "written n");
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("ours"), "the request never came: it is decided anew");
}

/// Carries a command out whose first write gets no answer, and is carried out just after the first look.
fn late(world: &mut World, command: &Command, request: &Request) -> String {
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let mut plan = write_once(context, command, request, None);
    let (mut facts, mut on_its_way, mut is_lost) = (Facts::None, None, false);
    for _ in 0..100 {
        facts = match plan.next(facts).unwrap() {
            Step::Need(need) => {
                let read = world.read(need);
                on_its_way.take().iter().for_each(|task| _ = world.carry_out(task));
                Facts::Read(read)
            }
            Step::Do(tasks) => Facts::Done(tasks.iter().map(|task| Ok(world.carry_out(task))).collect()),
            Step::Try(task) if !is_lost => {
                (on_its_way, is_lost) = (Some(task), true);
                Facts::Tried(None)
            }
            Step::Try(task) => Facts::Tried(Some(world.carry_out(&task))),
            Step::Wait(_) => Facts::Waited(true),
            Step::Write(_) => panic!("a write of the API has conditions"),
            Step::Done(Ok(answered)) => return print_outcome(&answered.outcome),
            Step::Done(Err(refusal)) => return format!("refused: {refusal}"),
        };
    }
    panic!("the plan doesn't end")
}

#[test]
fn with_a_key_a_write_that_is_carried_out_after_the_look_is_found_done() {
    let absent = Preconditions { if_none_match: Some(Tags::Any), if_match: None };
    let keyed_if_absent = Request { preconditions: absent, ..keyed() };
    for (drawn, command, request, answer) in [
        ("n", delete("n", Children::With(DeletionMode::Delete)), keyed(), None),
        ("n", restrict("n"), keyed(), None),
        ("n", append("n"), keyed(), Some("created n T 1")),
        // The next look finds the revision, and the precondition doesn't hold of it.
        ("n", append("n"), keyed_if_absent, Some("created n T 1")),
        ("p", create("n", false, Some("p")), keyed(), Some("created n")),
        ("n p", moved("n", "p"), keyed(), Some("written n")),
    ] {
        let place_all = |world: &mut World| drawn.split(' ').for_each(|of| place(world, of));
        let mut quiet = World::drawn(drawn);
        place_all(&mut quiet);
        let wanted = carried_out(&mut quiet, &command, &request, Rules::default(), true, None);
        assert!(answer.is_none_or(|answer| answer == wanted), "{command:?}: {wanted}");
        let mut world = World::drawn(drawn);
        place_all(&mut world);
        assert_eq!(late(&mut world, &command, &request), wanted, "{command:?}");
        assert_eq!(world.items, quiet.items, "{command:?}");
        // The same request gets the same answer.
        assert_eq!(carried_out(&mut world, &command, &request, Rules::default(), true, None), wanted, "{command:?}");
    }
}

#[test]
fn a_deletion_whose_mark_is_seen_before_its_claim_is_not_refused() {
    for command in [delete("n", Children::With(DeletionMode::Delete)), restrict("n")] {
        let placed = || {
            let mut world = World::drawn("n");
            place(&mut world, "n");
            world
        };
        let answer = run(&mut placed(), &command, &keyed(), Rules::default(), true, Some(&|_| {}), true);
        assert_eq!(answer, lost(&mut placed(), &command, &|_| {}));
    }
}

#[test]
fn a_cycle_can_not_be_closed_by_a_create_that_comes_back() {
    // `n` was created below `x`, and the stream has come so far. Then `n` goes, and `x` comes below what was `n`'s
    // child.
    let mut world = World::drawn("x");
    let others = |world: &mut World| {
        place(world, "n");
        others(world, "k", &create("k", false, Some("n")));
        others(world, "delete", &restrict("n"));
        // No client knows that the parent of `k` has gone, and the stream lags.
        others(world, "move", &moved("x", "k"));
    };
    assert_eq!(lost(&mut world, &create("n", false, Some("x")), &others), "created n");
    assert_eq!(attribute(&world, "n", "parent"), None);
}

#[test]
fn a_check_that_gets_no_answer_says_nothing_of_others() {
    let (settings, request) = (Settings::default(), ours());
    let context = Context {
        settings: &settings,
        limits: Limits { attempts_max: 1, ..Limits::default() },
        rules: Rules::default(),
    };
    let check = Action::Check { key: settings.schema.node_key(&node("n")), condition: Condition::Exists };
    let ends = |answer: Option<TaskOutcome>| {
        let mut plan = Plan::new(|io| {
            let (mut attempts, check) = (Attempts::new(context, &request, None), check.clone());
            let attempt = attempts.attempt(vec![check], Outcome::Deleted, None);
            async move { done(attempts.send(&io, attempt).await) }
        });
        plan.next(Facts::None).unwrap();
        plan.next(Facts::Tried(answer)).unwrap()
    };
    assert_eq!(ends(None), Step::Done(Err(Refusal::OutcomeUnknown)));
    assert_eq!(ends(Some(TaskOutcome::Failed(vec![0]))), Step::Done(Err(Refusal::Contended)));
}
