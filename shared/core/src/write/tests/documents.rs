//! A node and a revision that are written together.

use super::steps::{append, check, create, print_outcome, request, set, with_key_of};
use super::unanswered::{
    attribute, carried_out, delete_revision, keyed, lost, others, ours, place, put, restrict, revision,
};
use crate::fanout::tests::world::{World, node};
use crate::keys::Id;
use crate::model::{ETag, Item, WRITE, text, text_of};
use crate::plan::{Facts, Rule, Rules, Step};
use crate::request::Action;
use crate::write::{
    Command, Content, Context, Limits, NewRevision, Outcome, Patch, Precondition, Refusal, Request, Tags, write_once,
};

fn new_revision() -> NewRevision {
    let attributes = Item::from([("auditor".to_owned(), text("Padma"))]);
    NewRevision { topic: "T".to_owned(), attributes, if_match: None }
}

/// The command, with a revision.
fn with(mut command: Command, revision: NewRevision) -> Command {
    match &mut command {
        Command::Create { content, .. } | Command::Replace { content, .. } => content.revision = Some(revision),
        Command::Patch { patch, .. } => patch.revision = Some(revision),
        _ => panic!("it writes no node"),
    }
    command
}

fn save(name: &str) -> Command {
    with(set("n", "name", name), new_revision())
}

/// How many revisions of ours there are.
fn appended(world: &World) -> usize {
    (1..10).filter(|number| revision(world, *number).and_then(|item| text_of(item, WRITE)) == Some("ours")).count()
}

/// How a command is answered that meets no loss.
fn answered(world: &mut World, command: &Command, request: &Request) -> Result<Outcome, Refusal> {
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let (_, done) = world.run(&mut write_once(context, command, request, None));
    done.unwrap().map(|answered| answered.outcome)
}

#[test]
fn a_node_and_a_revision_are_written_in_one_transaction() {
    let mut world = World::drawn("n");
    let wanted = "
        read n
        read n v0_T; list n v00
        together: update n, put n v001_T
        written n with T 1";
    check(&mut world, &save("new"), &request(), wanted);
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("new"));
    assert_eq!(revision(&world, 1).and_then(|item| text_of(item, "auditor")), Some("Padma"));
}

#[test]
fn the_revision_is_the_first_of_an_id_that_the_api_made() {
    let made = with(create("n", true, None), new_revision());
    check(&mut World::drawn(""), &made, &request(), "together: put n, put n v001_T\ncreated n with T 1");
    let below = with(create("n", false, Some("p")), new_revision());
    let wanted = "
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        read n v0_T; list n v00
        together: put n, put n v001_T
        created n with T 1";
    check(&mut World::drawn("p"), &below, &request(), wanted);
}

#[test]
fn the_node_is_written_even_if_only_the_revision_is_new() {
    let only = with(Command::Patch { node: node("n"), patch: Patch::default() }, new_revision());
    let mut world = World::drawn("n");
    let wanted = "
        read n
        read n v0_T; list n v00
        together: update n, put n v001_T
        written n with T 1";
    check(&mut world, &only, &request(), wanted);
    assert_eq!(attribute(&world, "n", WRITE).as_deref(), Some("t1"));
    let cleared = Command::Patch { node: node("n"), patch: Patch { clears: true, ..Patch::default() } };
    let outcome = answered(&mut world, &with(cleared, new_revision()), &ours());
    assert_eq!(print_outcome(&outcome.unwrap()), "written n with T 2");
}

#[test]
fn the_revision_has_a_precondition_of_its_own() {
    let mut world = World::drawn("n");
    others(&mut world, "first", &append("n"));
    let of = |tag: ETag| NewRevision { if_match: Some(Tags::These(vec![tag])), ..new_revision() };
    let refused = answered(&mut world, &with(set("n", "name", "new"), of(ETag::named("x"))), &ours());
    assert_eq!(refused, Err(Refusal::PreconditionFailed(Precondition::IfMatchOfRevision)));
    let none = with(create("k", true, None), of(ETag::named("x")));
    assert_eq!(answered(&mut world, &none, &ours()), refused);
    assert_eq!((attribute(&world, "n", "name").as_deref(), appended(&world)), (Some("-"), 0));
    let tag = ETag::of(revision(&world, 1).unwrap(), world.schema());
    let wanted = "
        read n
        read n v0_T; list n v00
        read n v001_T
        together: update n, put n v002_T, check n v001_T
        written n with T 2";
    check(&mut world, &with(set("n", "name", "new"), of(tag)), &request(), wanted);
}

#[test]
fn neither_is_written_if_the_other_is_refused() {
    let mut world = World::drawn("n");
    let reserved = NewRevision { attributes: Item::from([("_x".to_owned(), text("x"))]), ..new_revision() };
    assert_eq!(
        answered(&mut world, &with(set("n", "name", "new"), reserved), &ours()),
        Err(Refusal::ReservedName("_x".to_owned()))
    );
    let large = NewRevision { attributes: Item::from([("x".to_owned(), text("x".repeat(500_000)))]), ..new_revision() };
    let refused = answered(&mut world, &with(set("n", "name", "new"), large), &ours());
    assert!(matches!(refused, Err(Refusal::TooLarge { .. })), "{refused:?}");
    let long = NewRevision { topic: "x".repeat(1_020), ..new_revision() };
    let refused = answered(&mut world, &with(set("n", "name", "new"), long), &ours());
    assert!(matches!(refused, Err(Refusal::Key(_))), "{refused:?}");
    assert_eq!(attribute(&world, "n", "name").as_deref(), Some("-"));
    let below_none = Content { parent: Some(Id::new("nobody").unwrap()), ..Content::default() };
    let below_none = Command::Replace { node: node("n"), content: below_none };
    assert!(answered(&mut world, &with(below_none, new_revision()), &ours()).is_err());
    assert_eq!(appended(&world), 0);
}

#[test]
fn a_key_keeps_the_version_that_was_appended() {
    let mut world = World::drawn("n");
    let first = answered(&mut world, &save("new"), &with_key_of(request())).unwrap();
    others(&mut world, "theirs", &append("n"));
    let again = answered(&mut world, &save("new"), &with_key_of(request())).unwrap();
    assert_eq!(first, again);
    assert_eq!(print_outcome(&again), "written n with T 1");
    assert!(revision(&world, 3).is_none());
}

#[test]
fn a_version_that_others_take_meanwhile_is_followed_by_the_next() {
    let mut world = World::drawn("n");
    let settings = world.settings.clone();
    let (command, request) = (save("new"), ours());
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let mut taken = 0;
    let done = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        if taken < 2 {
            taken += 1;
            others(world, &format!("theirs {taken}"), &append("n"));
        }
        Some(world.carry_out(task))
    });
    assert_eq!(print_outcome(&done.unwrap().outcome), "written n with T 3");
    assert_eq!(appended(&world), 1);
}

#[test]
fn a_lost_answer_is_found_by_the_revision_that_stays() {
    let meanwhile = |world: &mut World| {
        for token in ["1", "2", "3"] {
            others(world, token, &set("n", "name", token));
            others(world, &format!("{token} of the topic"), &append("n"));
        }
    };
    let mut world = World::drawn("n");
    assert_eq!(lost(&mut world, &save("new"), &meanwhile), "written n with T 1");
    assert_eq!((attribute(&world, "n", "name").as_deref(), appended(&world)), (Some("3"), 1));
    // Even if the node has gone, and come back.
    let meanwhile = |world: &mut World| {
        place(world, "n");
        others(world, "1", &restrict("n"));
        others(world, "2", &put("n", "theirs"));
        place(world, "n");
        others(world, "3", &restrict("n"));
    };
    let mut world = World::drawn("");
    assert_eq!(lost(&mut world, &with(put("n", "ours"), new_revision()), &meanwhile), "created n with T 1");
    assert_eq!((attribute(&world, "n", "name"), appended(&world)), (None, 1));
}

#[test]
fn a_lost_answer_is_found_by_the_node_if_the_revision_has_gone() {
    let gone = |world: &mut World| {
        others(world, "1", &delete_revision(1));
        others(world, "2", &set("n", "name", "theirs"));
    };
    let mut world = World::drawn("n");
    assert_eq!(lost(&mut world, &save("new"), &gone), "written n with T 1");
    assert_eq!((attribute(&world, "n", "name").as_deref(), appended(&world)), (Some("theirs"), 0));
    // By the stamps alone, if nothing else of the node changes.
    let only = with(Command::Patch { node: node("n"), patch: Patch::default() }, new_revision());
    let gone = |world: &mut World| {
        others(world, "1", &delete_revision(1));
    };
    let mut world = World::drawn("n");
    assert_eq!(lost(&mut world, &only, &gone), "written n with T 1");
    assert_eq!(appended(&world), 0);
}

#[test]
fn an_attempt_that_never_came_is_sent_again_with_its_version_or_left_unknown() {
    let mut world = World::drawn("n");
    let answer = carried_out(&mut world, &save("new"), &ours(), Rules::default(), false, Some(&|_| {}));
    assert_eq!((answer.as_str(), appended(&world)), ("written n with T 1", 1));
    let taken = |world: &mut World| {
        others(world, "theirs", &append("n"));
    };
    for request in [ours(), keyed()] {
        let mut world = World::drawn("n");
        let answer = carried_out(&mut world, &save("new"), &request, Rules::default(), false, Some(&taken));
        assert_eq!((answer.as_str(), appended(&world)), ("unknown", 0));
        assert_eq!(attribute(&world, "n", "name").as_deref(), Some("-"));
    }
}

/// Carries a command out whose first write comes late: right before the second one. Others delete revision 2 in
/// between.
fn late(rules: Rules) -> (String, World) {
    let mut world = World::drawn("n");
    for token in ["1", "2"] {
        others(&mut world, token, &append("n"));
    }
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits { attempts_max: 5, ..Limits::default() }, rules };
    let (command, request) = (save("new"), ours());
    let (mut first, mut is_first) = (None, true);
    let done = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        if std::mem::take(&mut is_first) {
            first = Some(task.clone());
            others(world, "3", &delete_revision(2));
            return None;
        }
        first.take().map(|first| world.carry_out(&first));
        Some(world.carry_out(task))
    });
    (print_outcome(&done.unwrap().outcome), world)
}

#[test]
fn the_answer_names_the_version_that_was_written_even_if_the_first_attempt_comes_late() {
    let (answer, world) = late(Rules::default());
    assert_eq!((answer.as_str(), appended(&world)), ("written n with T 3", 1));
    assert!(revision(&world, 3).is_some());
    let (answer, world) = late(Rules::without(Rule::SameVersionAgain));
    assert_eq!(answer, "written n with T 2", "and that isn't there");
    assert!(revision(&world, 3).is_some() && revision(&world, 2).is_none());
}

#[test]
fn a_node_that_is_being_deleted_gets_no_revision() {
    let mut world = World::drawn("n");
    let marks = Command::Delete {
        node: node("n"),
        children: crate::write::Children::With(crate::model::DeletionMode::Delete),
        revisions: true,
        operation: "o1".to_owned(),
    };
    others(&mut world, "theirs", &marks);
    assert!(matches!(answered(&mut world, &save("new"), &ours()), Err(Refusal::BeingDeleted { .. })));
    // Nor does one that is marked between the read and the write.
    let mut world = World::drawn("n");
    let (settings, command, request) = (world.settings.clone(), save("new"), ours());
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let done = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        others(world, "theirs", &marks);
        Some(world.carry_out(task))
    });
    let refusal = done.unwrap_err();
    assert!(matches!(refusal, Refusal::BeingDeleted { .. }) && appended(&world) == 0);
}

#[test]
fn the_last_transaction_has_both() {
    let world = World::drawn("n");
    let (settings, command, request) = (world.settings.clone(), save("new"), ours());
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let mut plan = write_once(context, &command, &request, None);
    let mut facts = Facts::None;
    loop {
        facts = match plan.next(facts).unwrap() {
            Step::Need(need) => Facts::Read(world.read(need)),
            Step::Try(crate::plan::Task::Transact(actions)) => {
                let puts = |sk: &str| actions.iter().any(|action| action.key().sk == sk);
                assert!(puts("NODE") && puts("v001_T"), "{actions:?}");
                assert!(actions.iter().all(|action| !matches!(action, Action::Delete { .. })));
                break;
            }
            step => panic!("{step:?}"),
        };
    }
}
