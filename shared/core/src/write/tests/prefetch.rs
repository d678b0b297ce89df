//! The steps of operations that go by what their batch has read before.

use super::steps::{append, create, delete, id, moved, named_record, print_outcome, set, stamp};
use crate::fanout::tests::world::{World, node, print_key};
use crate::model::{AttributeValue, DeletionMode, SiblingOrder, text};
use crate::plan::{Facts, Need, Rule, Rules, Step};
use crate::write::{
    Children, Command, Content, Context, FirstReads, Limits, OnConflict, Patch, Prefetched, Request, Spot, write_once,
};

/// Reads ahead for commands, lets another client do something, and carries the commands out. Returns the steps.
fn steps(world: &mut World, commands: &[Command], meanwhile: impl FnOnce(&mut World)) -> Vec<String> {
    steps_by(world, commands, Rules::default(), meanwhile)
}

/// The same, where these rules are kept.
fn steps_by(world: &mut World, commands: &[Command], rules: Rules, meanwhile: impl FnOnce(&mut World)) -> Vec<String> {
    let settings = world.settings.clone();
    let limits = Limits { attempts_max: 3, revision_page_items_max: 2, ..Limits::default() };
    let context = Context { settings: &settings, limits, rules };
    let commands: Vec<&Command> = commands.iter().collect();
    let (mut prefetched, line) = read_ahead(world, context, &commands);
    let mut lines = vec![line];
    meanwhile(world);
    for (number, command) in commands.into_iter().enumerate() {
        let request = Request::new(stamp(&format!("t{number}"), 1_000));
        let (steps, done) = world.run(&mut write_once(context, command, &request, Some(&mut prefetched)));
        lines.extend(steps);
        lines.push(match done.unwrap() {
            Ok(answered) => print_outcome(&answered.outcome),
            Err(refusal) => format!("refused: {refusal}"),
        });
    }
    lines
}

/// What is known ahead of these commands, and the step by which it was read.
fn read_ahead(world: &World, context: Context<'_>, commands: &[&Command]) -> (Prefetched, String) {
    let wanted = FirstReads::of(context, commands);
    let keys: Vec<String> = wanted.keys.iter().map(print_key).collect();
    let lists = wanted.queries.iter().map(|query| format!("; list {} {}", query.pk, query.range.from));
    let line = format!("ahead {}{}", keys.join(", "), lists.collect::<String>());
    let read = world.read(Need::keys(wanted.keys.iter().cloned()));
    let pages = wanted.queries.iter().map(|query| world.read(Need::page(query.clone())).page).collect();
    let mut prefetched = Prefetched::default();
    prefetched.learn(commands, wanted, read, pages, &context.settings.schema);
    (prefetched, line)
}

#[track_caller]
fn check(world: &mut World, commands: &[Command], meanwhile: impl FnOnce(&mut World), wanted: &str) {
    let wanted: Vec<&str> = wanted.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(steps(world, commands, meanwhile), wanted);
}

fn nothing(_: &mut World) {}

fn replace(of: &str, parent: &str) -> Command {
    Command::Replace { node: node(of), content: Content { parent: Some(id(parent)), ..Content::default() } }
}

#[test]
fn operations_write_without_reading() {
    check(
        &mut World::drawn("p n"),
        &[
            create("made", true, Some("p")),
            create("own", false, Some("p")),
            set("n", "name", "x"),
            delete("n", Children::With(DeletionMode::Delete)),
            append("p"),
        ],
        nothing,
        "
        ahead n DELETED, n, own DELETED, own LINEAGE, own, p LINEAGE, p, p v0_T; list own NODE#0001#; list p v00
        put made
        created made
        put own
        created own
        update n
        written n
        read n DELETED, n
        together: mark n, put OPERATIONS OPERATION#o1
        deleting n, delete its children, as o1
        put p v001_T
        created p T 1
        ",
    );
}

#[test]
fn what_an_operation_has_read_itself_takes_the_place_of_what_was_read_ahead() {
    let mut world = World::drawn("p n<p k<n");
    (world.settings.order, world.settings.root_rows) =
        (Some(SiblingOrder::by("place").written_by_hand().unwrap()), true);
    let patch = Patch { spot: Some(Spot::Before(id("n"))), ..Patch::default() };
    let beside = Command::Patch { node: node("k"), patch };
    // Its sibling has become a root since it was read ahead.
    let goes = |world: &mut World| world.put(world.base("n", None));
    let steps = steps(&mut world, &[beside, set("n", "name", "x")], goes);
    assert!(steps.iter().any(|line| line == "written k"), "{steps:#?}");
}

#[test]
fn an_operation_sees_what_those_before_it_have_written() {
    // The way up from a parent that isn't placed yet is known, too.
    check(
        &mut World::drawn(""),
        &[
            create("r", false, None),
            create("s", false, Some("r")),
            create("t", false, Some("s")),
            create("s", false, Some("r")),
        ],
        nothing,
        "
        ahead r LINEAGE, r, s DELETED, s LINEAGE, s, t DELETED, t LINEAGE, t; list s NODE#0001#; list t NODE#0001#
        put r
        created r
        put s
        created s
        put t
        created t
        read r LINEAGE, r, s DELETED, s LINEAGE, s; list s NODE#0001#
        refused: a node with this id exists already
        ",
    );
}

#[test]
fn one_operation_reads_for_itself() {
    let wanted = "ahead \nread p LINEAGE, p\nput n\ncreated n";
    let mut world = World::drawn("p");
    let commands = [create("n", true, Some("p")), create("root", true, None)];
    assert_eq!(steps(&mut world, &commands, nothing)[..4], wanted.lines().collect::<Vec<_>>()[..]);
}

#[test]
fn rows_are_read_when_it_is_their_operations_turn() {
    check(
        &mut World::drawn("p q n<p m k"),
        &[moved("n", "q"), replace("n", "p"), delete("m", Children::Restrict), set("k", "name", "x")],
        nothing,
        "
        ahead k, n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        read n DELETED, n LINEAGE, n, q LINEAGE, q; list n NODE#0001#
        together: move n below q, check q
        written n
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        read q LINEAGE, q
        together: put n, check p
        written n
        read m DELETED, m LINEAGE, m; list m NODE#0001#
        together: delete m, put m DELETED
        deleted
        update k
        written k
        ",
    );
}

#[test]
fn a_node_that_stays_under_its_parent_is_replaced_without_its_rows() {
    let wanted = "
        ahead n DELETED, n LINEAGE, n, o DELETED, o LINEAGE, o, p LINEAGE, p, q LINEAGE, q; list n NODE#0001#; list o NODE#0001#
        put n
        written n
        read o DELETED, o LINEAGE, o, q LINEAGE, q; list o NODE#0001#
        together: put o, check q
        written o
        ";
    check(&mut World::drawn("p q n<p o<p"), &[replace("n", "p"), replace("o", "q")], nothing, wanted);
}

#[test]
fn what_another_client_has_changed_since_is_read_again() {
    let mut world = World::drawn("p");
    world.put(named_record("before"));
    let change = |world: &mut World| world.put(named_record("another"));
    check(
        &mut world,
        &[set("n", "name", "x"), set("p", "name", "x")],
        change,
        "
        ahead n, p
        update n: refused
        wait 0
        read n
        update n
        written n
        update p
        written p
        ",
    );
}

#[test]
fn nothing_is_refused_for_what_was_read_before() {
    check(
        &mut World::drawn("p"),
        &[create("n", true, Some("q")), create("m", true, Some("nowhere")), create("o", true, Some("p"))],
        |world| world.put_base("q", None),
        "
        ahead nowhere LINEAGE, nowhere, p LINEAGE, p, q LINEAGE, q
        read q LINEAGE, q
        put n
        created n
        read nowhere LINEAGE, nowhere
        refused: the parent `nowhere` doesn't exist; create it first
        put o
        created o
        ",
    );
}

#[test]
fn nothing_is_left_as_it_is_for_what_was_read_before() {
    let mut world = World::drawn("p");
    world.put(named_record("x"));
    check(
        &mut world,
        &[set("n", "name", "x"), set("p", "name", "x")],
        |world| world.put(named_record("another")),
        "
        ahead n, p
        read n
        update n
        written n
        update p
        written p
        ",
    );
}

/// The first operation gets no answer. Seconds later, what was read ahead for the second may hang under its node: a
/// create that goes by it would close a cycle.
#[test]
fn after_an_attempt_without_an_answer_nothing_that_was_read_ahead_counts() {
    let mut world = World::drawn("x");
    let commands = [replace("other", "x"), create("n", false, Some("x"))];
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let (mut prefetched, _) = read_ahead(&world, context, &commands.iter().collect::<Vec<_>>());
    let request = Request::new(stamp("ours", 1_000));
    let done = world.drive(&mut write_once(context, &commands[0], &request, Some(&mut prefetched)), |world, task| {
        world.carry_out(task);
        None
    });
    assert!(done.is_ok(), "{done:?}");
    let mut second = write_once(context, &commands[1], &request, Some(&mut prefetched));
    assert!(matches!(second.next(Facts::None), Ok(Step::Need(_))));
}

#[test]
fn an_operation_counts_the_children_that_those_before_it_have_put_below_its_node() {
    let refused = "refused: the node has children";
    let copy = Command::Copy {
        source: node("m"),
        node: node("c"),
        is_made_id: false,
        parent: Some(Some(id("p"))),
        segment: None,
        spot: None,
        on_conflict: OnConflict::Fail,
        operation: "o2".to_owned(),
    };
    let parent = Some(Some(id("p")));
    let restored =
        Command::Restore { node: node("t"), parent, segment: None, spot: None, on_conflict: OnConflict::Fail };
    let comes = [
        create("n", false, Some("p")),
        create("n", true, Some("p")),
        moved("m", "p"),
        replace("m", "p"),
        copy,
        restored,
    ];
    for come in comes {
        let world = || {
            let mut world = World::drawn("p q m");
            world.put_base("t", None);
            let key = world.schema().node_key(&node("t"));
            let trashed = AttributeValue::M([("at".to_owned(), text("2026-01-01T00:00:00.000Z"))].into());
            world.items.get_mut(&key).unwrap().insert("_trashed".to_owned(), trashed);
            world
        };
        let commands = [come.clone(), delete("p", Children::Restrict)];
        let last = |lines: Vec<String>| lines.last().unwrap().clone();
        assert!(last(steps(&mut world(), &commands, nothing)).starts_with(refused), "{come:?}");
        let broken = steps_by(&mut world(), &commands, Rules::without(Rule::BatchCountsChildren), nothing);
        assert_eq!(last(broken), "deleted", "{come:?}");
        // What has left again is no child.
        let of = match &come {
            Command::Copy { .. } => "c",
            Command::Restore { .. } => "t",
            Command::Patch { .. } | Command::Replace { .. } => "m",
            _ => "n",
        };
        let commands = [come.clone(), moved(of, "q"), delete("p", Children::Restrict)];
        assert_eq!(last(steps(&mut world(), &commands, nothing)), "deleted", "{come:?}");
    }
}
