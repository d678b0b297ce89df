//! The steps of each command.

use crate::fanout::tests::world::{World, node, print_key};
use crate::keys::{Id, Version};
use crate::model::{
    AttributeValue, COPYING, CopyMark, CopyOf, Deletion, DeletionMark, DeletionMode, ENDED, ETag, Item, LEFT_OUT,
    Latest, REVISION, Tombstone, UNDER, Under, WRITE, number, text, with_key,
};
use crate::plan::{Rule, Rules};
use crate::write::operation::copy_item;
use crate::write::{
    Appended, Begun, Children, Command, Content, Context, Idempotency, Incomplete, Limits, Outcome, Patch,
    Preconditions, Progress, Refusal, Request, Stamp, Tags, Tiebreak, ValueChange, begin, read_operation, write_once,
};

pub(super) fn stamp(token: &str, seconds: u64) -> Stamp {
    let tiebreak = Tiebreak::new(seconds * 1_000_000, token);
    Stamp { at: "now".to_owned(), seconds, by: "anna".to_owned(), token: token.to_owned(), tiebreak }
}

pub(super) fn request() -> Request {
    Request::new(stamp("t1", 1_000))
}

pub(super) fn with_key_of(request: Request) -> Request {
    Request { idempotency: Some(key()), ..request }
}

fn key() -> Idempotency {
    Idempotency { tenant: None, hash: "K".to_owned(), fingerprint: "the request".to_owned() }
}

pub(super) fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

pub(super) fn create(of: &str, is_made_id: bool, parent: Option<&str>) -> Command {
    let content = Content { parent: parent.map(id), ..Content::default() };
    Command::Create { node: node(of), is_made_id, content }
}

pub(super) fn moved(of: &str, parent: &str) -> Command {
    Command::Patch { node: node(of), patch: Patch { parent: Some(Some(id(parent))), ..Patch::default() } }
}

pub(super) fn set(of: &str, name: &str, value: &str) -> Command {
    let attributes = [(name.to_owned(), ValueChange::Set(text(value)))].into();
    Command::Patch { node: node(of), patch: Patch { attributes, ..Patch::default() } }
}

pub(super) fn delete(of: &str, children: Children) -> Command {
    Command::Delete { node: node(of), children, revisions: false, operation: "o1".to_owned() }
}

pub(super) fn append(of: &str) -> Command {
    Command::Append { topic: topic(of), attributes: Item::new() }
}

fn topic(of: &str) -> Latest {
    Latest { node: node(of), topic: "T".to_owned() }
}

fn version(number: u64) -> Version {
    Version::new(number).unwrap()
}

/// The record of `n`, as another client writes it.
pub(super) fn named_record(name: &str) -> Item {
    let mut item = World::drawn("").base("n", None);
    item.insert("name".to_owned(), text(name));
    item
}

fn named(name: &str) -> World {
    let mut world = World::drawn("n");
    world.put(named_record(name));
    world
}

fn under(parent: &str) -> AttributeValue {
    Under { parent: Id::new(parent).unwrap(), born: Some("1".to_owned()) }.value()
}

pub(super) fn print_outcome(outcome: &Outcome) -> String {
    let verb = |created: bool| if created { "created" } else { "written" };
    match outcome {
        Outcome::Node { node, created, revision, .. } => {
            let with = |of: &Appended| format!(" with {} {}", of.topic, of.version.number());
            format!("{} {}{}", verb(*created), node.id, revision.as_ref().map_or_else(String::new, with))
        }
        Outcome::Revision { topic, version, created, .. } => {
            format!("{} {} {} {}", verb(*created), topic.node.id, topic.topic, version.number())
        }
        Outcome::Deleted => "deleted".to_owned(),
        Outcome::Deleting { node, mode, operation, .. } => {
            format!("deleting {node}, {} its children, as {operation}", mode.as_str())
        }
        Outcome::Copying { node, source, operation, .. } => format!("copying {source} to {node}, as {operation}"),
    }
}

fn steps(world: &mut World, command: &Command, request: &Request) -> String {
    let settings = world.settings.clone();
    let limits = Limits { attempts_max: 3, revision_page_items_max: 2, ..Limits::default() };
    let context = Context { settings: &settings, limits, rules: Rules::default() };
    let (mut lines, done) = world.run(&mut write_once(context, command, request, None));
    lines.push(match done.unwrap() {
        Ok(answered) => print_outcome(&answered.outcome),
        Err(refusal) => format!("refused: {refusal}"),
    });
    lines.join("\n")
}

/// Runs a command, and compares its steps.
#[track_caller]
pub(super) fn check(world: &mut World, command: &Command, request: &Request, wanted: &str) {
    let wanted: Vec<&str> = wanted.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(steps(world, command, request), wanted.join("\n"));
}

impl World {
    pub(super) fn put_revision(&mut self, of: &str, number: u64, name: &str) {
        let topic = Latest { node: node(of), topic: name.to_owned() };
        let key = topic.revision_key(version(number), &self.settings).unwrap();
        self.put(with_key(&key, self.schema()));
    }

    pub(super) fn tag(&self, of: &str) -> ETag {
        ETag::of(&self.items[&self.schema().node_key(&node(of))], self.schema())
    }

    /// The keys of the table that aren't nodes, lineages or rows.
    fn others(&self) -> String {
        let is_other = |sk: &str| !sk.starts_with("NODE") && sk != "LINEAGE";
        self.items.keys().filter(|key| is_other(&key.sk)).map(print_key).collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn a_node_with_an_id_that_the_api_made_is_put_after_one_read_of_its_parent() {
    check(&mut World::drawn("p"), &create("n", true, Some("p")), &request(), "read p LINEAGE, p\nput n\ncreated n");
    check(&mut World::drawn(""), &create("n", true, None), &request(), "put n\ncreated n");
}

#[test]
fn a_callers_own_id_is_looked_at_and_a_move_where_something_hangs_under_it() {
    let wanted = "
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        put n
        created n
    ";
    check(&mut World::drawn("r p<r"), &create("n", false, Some("p")), &request(), wanted);
    // `c` waits for `n`, which isn't there.
    let wanted = "
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        read r
        together: put n, check p, check r
        created n
    ";
    check(&mut World::drawn("r p<r c<n"), &create("n", false, Some("p")), &request(), wanted);
}

#[test]
fn a_move_reads_both_paths_and_checks_them_below_their_lowest_common_ancestor() {
    let wanted = "
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        read a, b, r
        together: move n below p, check a, check p, check b
        written n
    ";
    let mut world = World::drawn("r a<r b<r n<a p<b");
    check(&mut world, &moved("n", "p"), &request(), wanted);
    let item = &world.items[&world.schema().node_key(&node("n"))];
    assert_eq!((&item["parent"], &item[UNDER], &item[REVISION]), (&text("p"), &under("p"), &number(1)));
}

#[test]
fn of_two_moves_that_would_close_a_cycle_the_second_fails() {
    // While `n` goes below `p`, another client has moved `b`, which `p` is below, under `n`.
    let world = World::drawn("r a<r b<r n<a p<b");
    let moved_away = world.base("b", Some("n"));
    let mut world = world.meanwhile(3, "b", Some(moved_away));
    let wanted = "
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        read a, b, r
        meanwhile b changes
        together: move n below p, check a, check p, check b: refused
        wait 0
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        read a, b, r
        refused: can't move `n` under itself or its descendant `p`; choose another parent
    ";
    check(&mut world, &moved("n", "p"), &request(), wanted);
}

#[test]
fn a_node_is_patched_where_it_is_and_nothing_is_written_where_nothing_changes() {
    let mut world = World::drawn("r n<r");
    check(&mut world, &set("n", "name", "x"), &request(), "read n\nupdate n\nwritten n");
    check(&mut world, &set("n", "name", "x"), &request(), "read n\nwritten n");
}

#[test]
fn a_change_in_between_is_looked_at_again_until_the_attempts_are_used_up() {
    let mut world = named("ours").meanwhile(2, "n", Some(named_record("theirs")));
    let wanted = "
        read n
        meanwhile n changes
        update n: refused
        wait 0
        read n
        update n
        written n
    ";
    check(&mut world, &set("n", "other", "ours"), &request(), wanted);
    let item = &world.items[&world.schema().node_key(&node("n"))];
    assert_eq!((&item["name"], &item["other"]), (&text("theirs"), &text("ours")));
}

#[test]
fn a_write_whose_answer_was_lost_finds_itself() {
    let wanted = "
        read p LINEAGE, p
        put n: no answer
        wait 0
        read n DELETED, n LINEAGE, n, p LINEAGE, p; list n NODE#0001#
        created n
    ";
    check(&mut World::drawn("p").losing(2), &create("n", true, Some("p")), &request(), wanted);
    let wanted = "
        read n DELETED, n LINEAGE, n; list n NODE#0001#
        together: delete n, put n DELETED: no answer
        wait 0
        read n DELETED, n LINEAGE, n; list n NODE#0001#
        deleted
    ";
    check(&mut World::drawn("n").losing(2), &delete("n", Children::Restrict), &request(), wanted);
    let wanted = "
        read n v0_T; list n v00
        put n v001_T: no answer
        wait 0
        read n v001_T
        created n T 1
    ";
    check(&mut World::drawn("n").losing(2), &append("n"), &request(), wanted);
}

#[test]
fn a_node_without_children_is_deleted_at_once_and_another_is_marked_for_the_stream() {
    let mut world = World::drawn("r n<r c<n");
    let refused = "read n DELETED, n LINEAGE, n; list n NODE#0001#\nrefused: the node has children; set `children` to `delete`, `adopt` or `detach`, or move them first";
    check(&mut world, &delete("n", Children::Restrict), &request(), refused);
    let wanted = "
        read n DELETED, n
        together: mark n, put OPERATIONS OPERATION#o1
        deleting n, adopt its children, as o1
    ";
    check(&mut world, &delete("n", Children::With(DeletionMode::Adopt)), &request(), wanted);
    check(&mut world, &set("n", "name", "x"), &request(), "read n\nrefused: `n` is being deleted");
    let wanted = "
        read c DELETED, c LINEAGE, c; list c NODE#0001#
        together: delete c, put c DELETED
        deleted
    ";
    check(&mut world, &delete("c", Children::Restrict), &request(), wanted);
}

#[test]
fn an_operation_runs_while_its_node_is_there_or_rows_are_left_of_what_it_deletes() {
    let mut world = World::drawn("n c<n");
    steps(&mut world, &delete("n", Children::With(DeletionMode::Delete)), &request());
    let progress = |world: &mut World| {
        let settings = world.settings.clone();
        let (lines, operation) = world.run(&mut read_operation(&settings, None, "o1"));
        (lines.len(), operation.unwrap().map(|operation| operation.progress))
    };
    assert_eq!(progress(&mut world), (2, Some(Progress::Running)), "its record and its node are read");
    world.items.remove(&world.schema().node_key(&node("n")));
    assert_eq!(progress(&mut world), (4, Some(Progress::Done)), "c is there and isn't deleted by it");
    world.items.remove(&world.schema().node_key(&node("c")));
    assert_eq!(progress(&mut world), (4, Some(Progress::Running)), "a row of c is left");
    world.items.retain(|key, _| !key.sk.starts_with("NODE#"));
    assert_eq!(progress(&mut world), (3, Some(Progress::Done)));
}

#[test]
fn a_copy_runs_until_its_record_says_how_it_has_ended_and_names_no_copy() {
    let mut world = World::drawn("s c<s");
    let (key, top) = (world.schema().operation_key(None, "o1"), world.schema().node_key(&node("w")));
    let source = node("s").id;
    let of = |id: &str| CopyOf { operation: "o1".to_owned(), node: node(id).id }.unplaced();
    world.items.insert(key.clone(), copy_item(&key, "o1", &node("w").id, &source, &request().stamp, &world.settings));
    let progress = |world: &mut World| {
        let settings = world.settings.clone();
        let (lines, operation) = world.run(&mut read_operation(&settings, None, "o1"));
        (lines.len(), operation.unwrap().unwrap().progress)
    };
    let gone = Progress::Incomplete(Incomplete::CopyGone);
    assert_eq!(progress(&mut world), (3, gone), "its record is read again once the mark isn't there");
    let mark = CopyMark { operation: "o1".to_owned(), source, born: None, ids: None, after: None, is_over: false };
    world.items.insert(top.clone(), [(COPYING.to_owned(), mark.value())].into());
    assert_eq!(progress(&mut world), (2, Progress::Running));
    world.items.remove(&top);
    let says = |world: &mut World, name: &str, value| {
        world.items.get_mut(&key).unwrap().insert(name.to_owned(), value);
    };
    says(&mut world, ENDED, text("walked"));
    assert_eq!(progress(&mut world), (1, Progress::Running), "its top isn't placed");
    world.items.get_mut(&key).unwrap().remove(&of("s"));
    says(&mut world, &of("c"), AttributeValue::Bool(true));
    assert_eq!(progress(&mut world), (1, Progress::Running), "a copy isn't placed");
    world.items.get_mut(&key).unwrap().remove(&of("c"));
    assert_eq!(progress(&mut world), (1, Progress::Done));
    says(&mut world, LEFT_OUT, number(2));
    assert_eq!(progress(&mut world).1, Progress::Incomplete(Incomplete::CopiesRefused));
    says(&mut world, ENDED, text("source-gone"));
    assert_eq!(progress(&mut world).1, Progress::Incomplete(Incomplete::SourceGone));
    says(&mut world, ENDED, text("limit-reached"));
    assert_eq!(progress(&mut world).1, Progress::Incomplete(Incomplete::LimitReached));
}

#[test]
fn an_operation_runs_while_rows_are_left_behind_those_that_others_have_put_there() {
    let put_back: Vec<String> = (0..30).map(|child| format!("c{child:02}<n")).collect();
    let mut world = World::drawn(&format!("n a<n {}", put_back.join(" ")));
    steps(&mut world, &delete("n", Children::With(DeletionMode::Delete)), &request());
    world.items.remove(&world.schema().node_key(&node("n")));
    world.items.remove(&world.schema().node_key(&node("a")));
    let progress = |world: &mut World| {
        let settings = world.settings.clone();
        world.run(&mut read_operation(&settings, None, "o1")).1.unwrap().map(|operation| operation.progress)
    };
    assert_eq!(progress(&mut world), Some(Progress::Running), "the row of a is the last of 31");
    world.items.retain(|key, _| !key.sk.ends_with("#a"));
    assert_eq!(progress(&mut world), Some(Progress::Done));
}

#[test]
fn an_append_that_collides_looks_for_the_newest_again() {
    let world = World::drawn("n");
    let taken = topic("n").revision_key(version(1), &world.settings).unwrap();
    let theirs = with_key(&taken, world.schema());
    let mut world = world.meanwhile_at(2, taken, Some(theirs));
    let wanted = "
        read n v0_T; list n v00
        meanwhile n v001_T changes
        put n v001_T: refused
        wait 0
        read n v001_T
        read n v0_T; list n v00
        put n v002_T
        created n T 2
    ";
    check(&mut world, &append("n"), &request(), wanted);
}

#[test]
fn the_newest_of_a_topic_among_many_is_found_from_its_copy_upwards() {
    let mut world = World::drawn("n");
    for (number, name) in [(1, "T"), (2, "T"), (3, "other"), (4, "other"), (5, "other")] {
        world.put_revision("n", number, name);
    }
    let copy = topic("n").key(&world.settings).unwrap();
    let revision = topic("n").revision_key(version(1), &world.settings).unwrap();
    world.put(Latest::copy(&copy, version(1), &world.items[&revision].clone(), &world.settings.clone()));
    let wanted = "
        read n v0_T; list n v00
        read n v001_T, n v002_T, n v003_T, n v004_T, n v005_T
        put n v003_T
        created n T 3
    ";
    check(&mut world, &append("n"), &request(), wanted);
}

#[test]
fn a_revision_is_amended_and_deleted_where_it_is() {
    let mut world = World::drawn("n");
    world.put_revision("n", 1, "T");
    let amend = Command::Amend { topic: topic("n"), version: version(1), attributes: Item::new() };
    check(&mut world, &amend, &request(), "read n v001_T\nput n v001_T\nwritten n T 1");
    let delete = Command::DeleteRevision { topic: topic("n"), version: version(1) };
    check(&mut world, &delete, &request(), "read n v001_T\ndelete n v001_T\ndeleted");
    check(&mut world, &delete, &request(), "read n v001_T\nrefused: the node or the revision doesn't exist");
}

#[test]
fn a_precondition_holds_at_the_moment_of_the_write() {
    let world = named("ours");
    let if_match = Some(Tags::These(vec![world.tag("n")]));
    let request = Request { preconditions: Preconditions { if_match, if_none_match: None }, ..request() };
    let mut world = world.meanwhile(2, "n", Some(named_record("theirs")));
    let wanted = "
        read n
        meanwhile n changes
        update n: refused
        wait 0
        read n
        refused: the precondition failed; read the node, then retry. A weak tag (W/) in If-Match never matches; if you receive one, a proxy has weakened it
    ";
    check(&mut world, &set("n", "other", "ours"), &request, wanted);
}

#[test]
fn a_put_of_a_record_with_more_attributes_than_a_condition_compares_goes_by_our_own() {
    let mut world = World::drawn("n");
    let mut wide = world.base("n", None);
    wide.extend((0..200).map(|number| (format!("a{number}"), text("x"))));
    world.put(wide);
    let put = Command::Replace { node: node("n"), content: Content::default() };
    check(&mut world, &put, &request(), "read n\nput n\nwritten n");
}

#[test]
fn a_record_with_more_attributes_than_a_condition_compares_is_not_patched() {
    let mut world = World::drawn("n");
    let mut wide = world.base("n", None);
    wide.extend((0..200).map(|number| (format!("a{number}"), text("x"))));
    world.put(wide);
    let steps = steps(&mut world, &set("n", "b", "y"), &request());
    assert!(steps.starts_with("read n\nrefused: the record has 209 attributes to compare"), "{steps}");
}

#[test]
fn a_key_is_claimed_first_and_completed_in_the_transaction_that_writes() {
    let mut world = World::drawn("p");
    let wanted = "
        read IDEMPOTENCY#K IDEMPOTENCY#0000
        put IDEMPOTENCY#K IDEMPOTENCY#0000
        read p LINEAGE, p
        together: put n, put IDEMPOTENCY#K IDEMPOTENCY#0000
        created n
    ";
    check(&mut world, &create("n", true, Some("p")), &with_key_of(request()), wanted);
    // The second request has an id of its own, and doesn't use it.
    let again = with_key_of(Request::new(stamp("t2", 2_000)));
    check(&mut world, &create("another", true, Some("p")), &again, "read IDEMPOTENCY#K IDEMPOTENCY#0000\ncreated n");
    assert_eq!(world.others(), "IDEMPOTENCY#K IDEMPOTENCY#0000");
}

#[test]
fn a_command_that_is_refused_gives_its_claim_back() {
    let mut world = World::drawn("");
    let wanted = "
        read IDEMPOTENCY#K IDEMPOTENCY#0000
        put IDEMPOTENCY#K IDEMPOTENCY#0000
        read p LINEAGE, p
        delete IDEMPOTENCY#K IDEMPOTENCY#0000
        refused: the parent `p` doesn't exist; create it first
    ";
    check(&mut world, &create("n", true, Some("p")), &with_key_of(request()), wanted);
    assert_eq!(world.others(), "");
}

#[test]
fn a_request_whose_key_was_taken_over_does_nothing() {
    let mut world = World::drawn("");
    // Another request with the key begins 61 seconds later, when the lease has run out.
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let (first, second) = (stamp("t1", 1_000), stamp("t2", 1_061));
    let key = key();
    let begun = |world: &mut World, stamp: &Stamp| world.run(&mut begin(context, &key, stamp));
    assert!(matches!(begun(&mut world, &first).1.unwrap(), Ok(Begun::Claimed(_))));
    assert_eq!(begun(&mut world, &stamp("t2", 1_059)).1.unwrap(), Err(Refusal::InProgress(1)));
    let (lines, begun) = begun(&mut world, &second);
    assert_eq!(lines.join("; "), "read IDEMPOTENCY#K IDEMPOTENCY#0000; put IDEMPOTENCY#K IDEMPOTENCY#0000");
    assert!(matches!(begun.unwrap(), Ok(Begun::Claimed(_))));
    let (record, taken) = world.items.pop_first().unwrap();
    // It happens to the first one between its claim and its transaction.
    let mut world = World::drawn("").meanwhile_at(3, record, Some(taken));
    let wanted = "
        read IDEMPOTENCY#K IDEMPOTENCY#0000
        put IDEMPOTENCY#K IDEMPOTENCY#0000
        meanwhile IDEMPOTENCY#K IDEMPOTENCY#0000 changes
        together: put n, put IDEMPOTENCY#K IDEMPOTENCY#0000: refused
        wait 0
        read n
        refused: a request with this key is still being worked on, or was cut off; after 60 seconds at most the key is free, or the outcome there
    ";
    check(&mut world, &create("n", true, None), &with_key_of(request()), wanted);
}

#[test]
fn an_outcome_is_kept_and_read_again() {
    let schema = crate::keys::Schema::default();
    let world = World::drawn("p n<p");
    let item = world.items[&schema.node_key(&node("n"))].clone();
    let revision = with_key(&topic("n").revision_key(version(7), &world.settings).unwrap(), &schema);
    let (operation, created_at) = ("o1".to_owned(), "now".to_owned());
    for outcome in [
        Outcome::Node { node: node("n"), item, created: true, revision: None },
        Outcome::Revision { topic: topic("n"), version: version(7), item: revision, created: false },
        Outcome::Deleted,
        Outcome::Deleting { operation, node: id("n"), mode: DeletionMode::Detach, created_at },
    ] {
        assert_eq!(Outcome::decode(&outcome.encode(), &schema), Some(outcome));
    }
    assert_eq!(Outcome::decode(b"{}", &schema), None);
}

#[test]
fn what_no_request_can_write_is_refused_before_anything_is_read() {
    let reserved = set("n", "_rev", "7");
    check(
        &mut World::drawn(""),
        &reserved,
        &request(),
        "refused: `_rev` is a reserved name; give the attribute another one",
    );
    let cycle = "refused: can't move `n` under itself or its descendant `n`; choose another parent";
    check(&mut World::drawn(""), &create("n", false, Some("n")), &request(), cycle);
    let long = Latest { node: node("n"), topic: "x".repeat(1_020) };
    let long = steps(&mut World::drawn(""), &Command::Append { topic: long, attributes: Item::new() }, &request());
    assert!(long.starts_with("refused:"), "{long}");
    let large = Item::from([("text".to_owned(), AttributeValue::S("x".repeat(410_000)))]);
    let large = Content { attributes: large, ..Content::default() };
    let large = Command::Create { node: node("n"), is_made_id: true, content: large };
    assert!(steps(&mut World::drawn(""), &large, &request()).starts_with("refused: it has 410"));
}

/// The lives that the record of a deletion names, where another life of the node was deleted right before, after that
/// record was read.
fn lives_where_another_was_deleted(rules: Rules) -> Vec<String> {
    let mut world = World::drawn("n");
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits { attempts_max: 5, ..Limits::default() }, rules };
    let key = world.schema().deleted_key(&node("n"));
    let (command, request) = (delete("n", Children::Restrict), request());
    let mut is_first = true;
    let answered = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        if std::mem::take(&mut is_first) {
            let mark =
                DeletionMark { mode: DeletionMode::Adopt, operation: "t0".to_owned(), revisions: false, mark: None };
            let (deletion, born) = (Deletion { mark, heir: None }, Some("0".to_owned()));
            let mut item = with_key(&key, world.schema());
            item.insert(WRITE.to_owned(), text("t0"));
            Tombstone { deletion, born, earlier: Vec::new(), deleted: 1_000 }.write(&mut item, &settings);
            world.put(item);
        }
        Some(world.carry_out(task))
    });
    assert_eq!(answered.map(|answered| answered.outcome), Ok(Outcome::Deleted));
    Tombstone::read(&world.items[&key]).unwrap().earlier
}

#[test]
fn a_deletion_names_the_life_that_ended_after_it_had_read_what_is_left_of_it() {
    assert_eq!(lives_where_another_was_deleted(Rules::default()), ["0"]);
    assert!(lives_where_another_was_deleted(Rules::without(Rule::DeletedAsRead)).is_empty(), "the rule isn't asked");
}
