//! What the API's writes and reads cost, counted: requests, round trips that follow one another, and capacity units as
//! the engine reports them. They are what the table in docs/reference/call-costs.md says.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use sapwood_core::keys::{Id, NodeRef, Schema, Version};
use sapwood_core::model::{DeletionMode, Latest, Settings, SiblingOrder, Totals, UniqueNames, text};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::query::{
    Bounds, Fields, Granting, Linking, ListOptions, Mode, Order, Parent, Reader, SiblingList, Siblings, Tree, Window,
    Within,
};
use sapwood_engine::write::{
    Children, Command, Content, Idempotency, NewRevision, OnConflict, Outcome, Patch, Refusal, Request, Spot, Stamp,
    Tiebreak, ValueChange, WriteError, Writer,
};
use sapwood_store::{Action, Client, Deadline, Usage};
use sapwood_tests::client::{self, node, put_all};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::own;
use sapwood_tests::pace::slowness;
use sapwood_tests::round_trips::{Counted, RoundTrips};
use sapwood_tests::running::{Running, TABLE};

/// The page whose table says what each call costs.
const PAGE: &str = include_str!("../../docs/reference/call-costs.md");

/// What the page says that a call costs: round trips, write units and read units. The first word of each cell counts,
/// and a dash is none.
fn documented(call: &str) -> [f64; 3] {
    let row = PAGE.lines().find_map(|line| line.strip_prefix("| ")?.strip_prefix(call)?.strip_prefix(" | "));
    let cells: Vec<&str> = row.unwrap_or_else(|| panic!("the page has no row for {call}")).split(" | ").collect();
    [0, 1, 2].map(|cell| match cells[cell].split([' ', ',', ';']).next() {
        Some("–") => 0.0,
        word => word.unwrap_or_default().parse().unwrap_or_else(|_| panic!("{call}: {:?} is no number", cells[cell])),
    })
}

/// Panics if the page says anything else about what a call costs.
fn assert_documented(call: &str, figures: [f64; 3]) {
    assert_eq!(documented(call), figures, "docs/reference/call-costs.md, {call}");
}

type Nodes<'a> = &'a [(&'a str, Option<&'a str>)];

/// A stack with these nodes at rest.
async fn stack(path_rows: &str, nodes: impl IntoIterator<Item = (String, Option<String>)>) -> Running {
    let items = nodes.into_iter().map(|(id, parent)| node(&id, parent.as_deref(), "a name"));
    let running = Running::start_after(&[("PathRows", path_rows)], &[], items.collect()).await;
    running.settle().await;
    running
}

fn named(nodes: Nodes<'_>) -> Vec<(String, Option<String>)> {
    nodes.iter().map(|(id, parent)| ((*id).to_owned(), parent.map(str::to_owned))).collect()
}

/// What one request came to.
struct Cost {
    counted: Counted,
    usage: Usage,
}

impl Cost {
    fn calls(&self, name: &str) -> usize {
        self.counted.requests.get(name).copied().unwrap_or_default()
    }

    /// Its round trips, write units and read units.
    fn figures(&self) -> [f64; 3] {
        [self.counted.round_trips as f64, self.usage.write_units, self.usage.read_units]
    }

    fn say(&self, what: &str) {
        let Usage { requests: calls, retries, read_units, write_units, .. } = self.usage;
        let actions: Vec<usize> = self.counted.transactions.iter().map(Vec::len).collect();
        println!(
            "{what}: {calls} calls {:?}, {} round trips, {retries} retries, {read_units} read units, {write_units} write units, \
             transactions of {actions:?}",
            self.counted.requests, self.counted.round_trips,
        );
    }

    /// The keys of its only transaction.
    fn keys(&self) -> BTreeSet<String> {
        let [actions] = &self.counted.transactions[..] else { panic!("{:?}", self.counted.transactions) };
        actions.iter().map(|action| action.key().pk.clone()).collect()
    }
}

fn id(id: &str) -> Id {
    Id::new(id).unwrap()
}

fn at(name: &str) -> NodeRef {
    id(name).into()
}

fn stamp(token: &str) -> Stamp {
    let at = "2026-01-01T00:00:00.000Z".to_owned();
    Stamp { at, seconds: 1_767_225_600, by: "anna".into(), token: token.into(), tiebreak: Tiebreak::default() }
}

/// The settings that the reads and writes of a test have.
fn settings() -> Settings {
    Settings::default()
}

/// Counts what is done on the table in one session.
macro_rules! counted {
    ($running:expr, $of:ident, |$does:ident| $done:expr) => {{
        let settings = settings();
        counted!($running, &settings, $of, |$does| $done)
    }};
    ($running:expr, $settings:expr, $of:ident, |$does:ident| $done:expr) => {{
        let settings: &Settings = $settings;
        let table = RoundTrips::of(DynamoTable::local(&$running.url(), TABLE, Schema::default()));
        let deadline = Deadline::at(tokio::time::Instant::now() + Duration::from_secs(30));
        let session = Client::new(&table, &deadline, &settings.schema);
        let $does = $of::new(&session, settings);
        let done = Box::pin($done).await;
        (done, Cost { counted: table.observer.take(), usage: session.usage() })
    }};
}

fn under(parent: Option<&str>) -> Content {
    Content { parent: parent.map(id), attributes: [("name".to_owned(), text("new"))].into(), ..Content::default() }
}

async fn create(running: &Running, name: &str, is_made_id: bool, parent: Option<&str>) -> Cost {
    let stamp = stamp(name);
    let request = Request::new(stamp);
    let command = Command::Create { node: at(name), is_made_id, content: under(parent) };
    let (written, cost) = counted!(running, Writer, |writer| writer.write(&command, &request));
    assert!(matches!(written, Ok(Outcome::Node { created: true, .. })));
    cost
}

async fn mv(running: &Running, name: &str, parent: &str) -> (Result<(), WriteError>, Cost) {
    let stamp = stamp(&format!("{name} to {parent}"));
    let request = Request::new(stamp);
    let patch = Patch { parent: Some(Some(id(parent))), ..Patch::default() };
    let command = Command::Patch { node: at(name), patch };
    let (written, cost) = counted!(running, Writer, |writer| writer.write(&command, &request));
    (written.map(|_| ()), cost)
}

/// A spine of so many nodes below `r`, called by a letter.
fn spine(letter: char, length: usize) -> impl Iterator<Item = (String, Option<String>)> {
    (1..=length).map(move |n| (format!("{letter}{n}"), Some(above(letter, n))))
}

fn above(letter: char, depth: usize) -> String {
    if depth == 1 { "r".to_owned() } else { format!("{letter}{}", depth - 1) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_costs_two_round_trips_and_one_write_unit_at_any_depth() {
    let nodes = named(&[("r", None)]).into_iter().chain(spine('x', 97));
    let running = stack("off", nodes).await;
    let cost = create(&running, "made-root", true, None).await;
    cost.say("create of a root, an id of the API");
    assert_eq!((cost.usage.requests, cost.figures()), (1, [1.0, 1.0, 0.0]));
    assert_documented("create a root, the API makes the id", cost.figures());
    let cost = create(&running, "own-root", false, None).await;
    cost.say("create of a root, an id of the caller's");
    assert_eq!((cost.usage.requests, cost.figures()), (2, [2.0, 1.0, 1.0]));
    assert_documented("create a root, the caller's id", cost.figures());
    for depth in [1, 30, 97] {
        let parent = above('x', depth);
        let made = create(&running, &format!("made-{depth}"), true, Some(&parent)).await;
        made.say(&format!("create at depth {depth}, an id of the API"));
        assert_eq!((made.usage.requests, made.figures()), (2, [2.0, 1.0, 2.0]));
        assert_documented("create below a parent, the API makes the id", made.figures());
        let own = create(&running, &format!("own-{depth}"), false, Some(&parent)).await;
        own.say(&format!("create at depth {depth}, an id of the caller's"));
        assert_eq!((own.usage.requests, own.figures()), (3, [2.0, 1.0, 6.0]));
        assert_documented("create below a parent, the caller's id", own.figures());
        assert!(made.counted.transactions.is_empty() && own.counted.transactions.is_empty());
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_takes_three_round_trips_and_fits_a_transaction_at_any_depth() {
    let leaves = [30, 50, 51, 97, 98].map(|depth| (format!("leaf{depth}"), Some(above('x', depth))));
    let nodes = named(&[("r", None), ("s", None), ("leaf1", Some("r"))]);
    let running = stack("off", nodes.into_iter().chain(spine('x', 97)).chain(spine('y', 97)).chain(leaves)).await;
    assert_documented("move", [3.0, 2.0, 6.0]);
    // Below the lowest common ancestor, r, each way has one node less than the depth. Where that is over 100 with the
    // move itself, it is the way of the new parent, r included.
    for (depth, to, actions) in [
        (1, "s", 2),
        (30, "y29", 1 + 29 + 29),
        (50, "y49", 1 + 49 + 49),
        (51, "y50", 1 + 51),
        (97, "y96", 1 + 97),
        (98, "y97", 1 + 98),
    ] {
        let (done, cost) = mv(&running, &format!("leaf{depth}"), to).await;
        done.unwrap();
        cost.say(&format!("move at depth {depth} to depth {depth}"));
        let [round_trips, write_units, read_units] = cost.figures();
        assert!(round_trips <= 3.0, "{round_trips} round trips");
        assert_eq!((cost.usage.retries, write_units), (0, 2.0 * actions as f64));
        // The other nodes on both ways up: the old parents up to r, and what is above the new parent and below r.
        let others = if depth == 1 { 1 } else { 2 * depth - 2 };
        assert_eq!(read_units, 6.0 + f64::from(others));
        let [transaction] = &cost.counted.transactions[..] else { panic!("one transaction") };
        assert_eq!(transaction.len(), actions);
        assert!(actions <= 100);
        assert_eq!(cost.keys().len(), actions, "the items are distinct");
        let checks = transaction.iter().filter(|action| matches!(action, Action::Check { .. })).count();
        assert_eq!(checks, actions - 1);
        assert_eq!(cost.keys().contains("r"), depth > 50, "r is checked only where the ways are too long");
    }
    // And down again by one level more than there is.
    let (refused, cost) = mv(&running, "leaf1", "leaf98").await;
    cost.say("move past depth 98");
    assert!(matches!(refused, Err(WriteError::Refused(Refusal::TooDeep { .. }))), "{refused:?}");
    running.settle().await;
    running.assert_right(&Oracle { path_rows: false, ..Oracle::default() }).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn moves_in_different_branches_share_no_item() {
    let branches = (0..8).flat_map(|branch| {
        let name = move |what: &str| format!("{what}{branch}");
        let below = |what: &str, parent: &str| (name(what), Some(name(parent)));
        [(name("top"), Some("r".to_owned())), below("from", "top"), below("to", "top"), below("moved", "from")]
    });
    let running = stack("off", named(&[("r", None)]).into_iter().chain(branches)).await;
    let mut seen = BTreeSet::new();
    let moves = (0..8).map(|branch| {
        let (running, moved, to) = (&running, format!("moved{branch}"), format!("to{branch}"));
        async move { mv(running, &moved, &to).await }
    });
    for (done, cost) in join_all(moves).await {
        done.unwrap();
        cost.say("one of eight moves at the same time");
        let keys = cost.keys();
        assert_eq!(keys.len(), 3, "the node and both parents: {keys:?}");
        assert_eq!((cost.usage.retries, cost.counted.round_trips <= 3), (0, true), "they meet nowhere");
        for key in keys {
            assert!(!key.starts_with("top") && key != "r", "{key} is at or above the lowest common ancestor");
            assert!(seen.insert(key.clone()), "{key} is in two transactions");
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_and_a_revision_together_cost_a_transaction_of_both() {
    let running = stack("on", named(&[("n", None)])).await;
    let revision = NewRevision { topic: "Audit".to_owned(), attributes: [].into(), if_match: None };
    for number in 1..=3 {
        let request = Request::new(stamp(&format!("save {number}")));
        let attributes = [("name".to_owned(), ValueChange::Set(text(number.to_string())))].into();
        let patch = Patch { attributes, revision: Some(revision.clone()), ..Patch::default() };
        let command = Command::Patch { node: at("n"), patch };
        let (written, cost) = counted!(running, Writer, |writer| writer.write(&command, &request));
        let Ok(Outcome::Node { revision: Some(appended), .. }) = written else { panic!("{written:?}") };
        assert_eq!(appended.version.number(), number);
        cost.say(&format!("change of a node, with revision {number}"));
        assert_eq!(cost.figures(), [3.0, 4.0, 3.0]);
        assert_eq!((cost.usage.requests, cost.calls("PutItem"), cost.usage.retries), (4, 0, 0));
    }
    assert_documented("change attributes, with a revision", [3.0, 4.0, 3.0]);
    // An id that the API makes has no revisions.
    let content = Content { revision: Some(revision), ..under(None) };
    let command = Command::Create { node: at("made"), is_made_id: true, content };
    let request = Request::new(stamp("made"));
    let (written, cost) = counted!(running, Writer, |writer| writer.write(&command, &request));
    assert!(matches!(written, Ok(Outcome::Node { created: true, revision: Some(_), .. })));
    cost.say("create of a root with a revision, an id of the API");
    assert_eq!((cost.usage.requests, cost.figures()), (1, [1.0, 4.0, 0.0]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_takes_two_round_trips_and_one_write_unit() {
    let running = stack("on", named(&[("n", None)])).await;
    for number in 1..=30 {
        let stamp = stamp(&format!("append {number}"));
        let request = Request::new(stamp);
        let attributes = [("number".to_owned(), text(number.to_string()))].into();
        let topic = if number % 10 == 0 { "Inspection" } else { "Audit" };
        let command = Command::Append { topic: Latest { node: at("n"), topic: topic.to_owned() }, attributes };
        let (written, cost) = counted!(running, Writer, |writer| writer.write(&command, &request));
        let Ok(Outcome::Revision { version, .. }) = written else { panic!("{written:?}") };
        let rounds = if number == 30 { 3 } else { 2 };
        if [1, 2, 29, 30].contains(&number) || cost.counted.round_trips > rounds {
            cost.say(&format!("append of {topic} {}", version.number()));
        }
        assert_eq!(version.number() as usize, if number % 10 == 0 { number / 10 } else { number - number / 10 });
        // Inspection is so far behind after 30 that it is on no first page any more.
        assert!(cost.counted.round_trips <= rounds, "append {number}: {} round trips", cost.counted.round_trips);
        assert_eq!((cost.usage.write_units, cost.calls("PutItem"), cost.usage.retries), (1.0, 1, 0));
        if number == 1 {
            assert_documented("append a revision", [2.0, 1.0, 1.0]);
            // The page of the newest revisions takes a unit, though it is empty.
            assert_eq!(cost.figures(), [2.0, 1.0, 1.0 + 1.0]);
        }
    }
    running.stop().await;
}

/// Carries out a command, once if it has an idempotency key.
async fn carry_out(running: &Running, what: &str, command: &Command, key: Option<Idempotency>) -> Cost {
    let request = Request { idempotency: key, ..Request::new(stamp(what)) };
    let (written, cost) = counted!(running, Writer, |writer| writer.write(command, &request));
    written.unwrap();
    cost.say(what);
    assert_eq!(cost.usage.retries, 0);
    cost
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_and_deletions_cost_what_the_guide_says_with_an_idempotency_key_and_without() {
    if slowness() > 4.0 {
        return println!("not run: on a machine as busy as this requests are sent twice");
    }
    let nodes = [("r", None), ("leaf", Some("r")), ("top", Some("r")), ("below", Some("top"))];
    let running = stack("on", named(&nodes)).await;
    let rename = |name: &str| {
        let attributes = [("name".to_owned(), ValueChange::Set(text("new")))].into();
        Command::Patch { node: at(name), patch: Patch { attributes, ..Patch::default() } }
    };
    let figures = carry_out(&running, "change attributes", &rename("leaf"), None).await.figures();
    assert_eq!(figures, [2.0, 1.0, 1.0]);
    assert_documented("change attributes", figures);

    let key = Idempotency { tenant: None, hash: "hash".to_owned(), fingerprint: "fingerprint".to_owned() };
    let cost = carry_out(&running, "change attributes, with a key", &rename("below"), Some(key)).await;
    // The answer is an item of the same transaction.
    assert_eq!(cost.figures(), [2.0 + 2.0, 1.0 + 2.0 * (1.0 + 1.0), 1.0 + 1.0]);
    assert_documented("with `Idempotency-Key`", [2.0, 1.0, 1.0]);

    running.settle().await;
    let copy = Command::Copy {
        source: at("top"),
        node: at("copy"),
        is_made_id: true,
        parent: None,
        segment: None,
        spot: None,
        on_conflict: OnConflict::Fail,
        operation: "copy".to_owned(),
    };
    assert_eq!(carry_out(&running, "copy", &copy, None).await.figures(), [4.0, 4.0, 5.5]);
    assert_documented("copy", [4.0, 4.0, 5.5]);

    running.settle().await;
    for (what, name, children, figures) in [
        ("delete, no children", "leaf", Children::Restrict, [2.0, 4.0, 4.0]),
        ("delete with `children=`", "top", Children::With(DeletionMode::Delete), [2.0, 4.0, 2.0]),
    ] {
        let command = Command::Delete { node: at(name), children, revisions: false, operation: name.to_owned() };
        assert_eq!(carry_out(&running, what, &command, None).await.figures(), figures);
        assert_documented(what, figures);
    }
    running.settle().await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trash_costs_what_the_guide_says() {
    let nodes = [("r", None), ("p", Some("r")), ("n", Some("p")), ("below", Some("n")), ("s", None)];
    let running = stack("on", named(&nodes)).await;
    let trash = |of: &str| Command::Trash { node: at(of) };
    let restore = |of: &str, parent: Option<Option<&str>>| {
        let parent = parent.map(|parent| parent.map(id));
        Command::Restore { node: at(of), parent, segment: None, spot: None, on_conflict: OnConflict::Fail }
    };
    let cost = carry_out(&running, "into the trash", &trash("n"), None).await;
    // The node; its parent and the parent's lineage; the write.
    assert_eq!((cost.figures(), cost.counted.transactions.len()), ([3.0, 1.0, 3.0], 0));
    assert_documented("into the trash", cost.figures());
    let again = carry_out(&running, "into the trash, once more", &trash("n"), None).await;
    assert_eq!(again.figures(), [1.0, 0.0, 1.0]);
    let root = carry_out(&running, "a root into the trash", &trash("s"), None).await;
    assert_eq!(root.figures(), [2.0, 1.0, 1.0]);
    running.settle().await;

    let options = ListOptions::default();
    let (page, cost) = counted!(running, Reader, |reader| reader.trash(None, Order::Descending, None, &options));
    let found: Vec<String> = page.unwrap().items.into_iter().map(|found| found.id.to_string()).collect();
    cost.say("the trash");
    assert_eq!((found.len(), cost.usage.requests, cost.figures()), (2, 1, [1.0, 0.0, 0.5]));
    assert_documented("a list, a tree, a path, a count", cost.figures());

    // Which parent it had, the node's record says: then it is a move, with a check of the parent and of what is above.
    let cost = carry_out(&running, "restore", &restore("n", None), None).await;
    assert_eq!(cost.figures(), [4.0, 2.0 * (1.0 + 2.0), 1.0 + 6.0 + 1.0]);
    assert_eq!(cost.keys(), ["n", "p", "r"].map(str::to_owned).into());
    assert_documented("restore", [4.0, 2.0, 7.0]);
    running.settle().await;
    carry_out(&running, "into the trash", &trash("n"), None).await;
    running.settle().await;
    let cost = carry_out(&running, "restore below a parent that is named", &restore("n", Some(Some("p"))), None).await;
    assert_eq!(cost.figures(), [3.0, 2.0 * (1.0 + 2.0), 6.0 + 1.0]);
    let root = carry_out(&running, "restore as a root", &restore("s", None), None).await;
    assert_eq!(root.figures(), [2.0, 1.0, 1.0]);
    running.settle().await;

    carry_out(&running, "into the trash", &trash("n"), None).await;
    running.settle().await;
    let children = Children::With(DeletionMode::Delete);
    let purge = Command::Delete { node: at("n"), children, revisions: false, operation: "o".to_owned() };
    let cost = carry_out(&running, "delete for good", &purge, None).await;
    assert_documented("delete with `children=`", cost.figures());
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_costs_what_the_guide_says() {
    let ranked = |name: &str, rank: Option<&str>| {
        let mut item = node(name, Some("r"), "a name");
        item.extend(rank.map(|rank| ("rank".to_owned(), client::s(rank))));
        item
    };
    let ranks = ["a", "b", "c", "d", "e", "f"].map(|name| ranked(name, Some(name)));
    let items =
        [node("r", None, "root")].into_iter().chain(ranks).chain(["x", "y", "z"].map(|name| ranked(name, None)));
    let parameters = [("OrderAttribute", "rank"), ("OrderByHand", "on"), ("PathRows", "off")];
    let running = Running::start_after(&parameters, &[], items.collect()).await;
    running.settle().await;
    let order = SiblingOrder::by("rank").written_by_hand().unwrap();
    let settings = Settings { order: Some(order), path_rows: false, ..Settings::default() };
    let place = async |what: &str, name: &str, spot: Spot| {
        let command = Command::Patch { node: at(name), patch: Patch { spot: Some(spot), ..Patch::default() } };
        let request = Request::new(stamp(what));
        let (written, cost) = counted!(running, &settings, Writer, |writer| writer.write(&command, &request));
        written.unwrap();
        cost.say(what);
        assert_eq!(cost.usage.retries, 0);
        running.settle().await;
        cost
    };
    // A change of attributes takes 2 round trips, 1 write unit and 1 read unit.
    assert_documented("change attributes", [2.0, 1.0, 1.0]);
    let first = place("first", "f", Spot::First).await;
    assert_eq!(first.figures(), [2.0 + 2.0, 1.0, 1.0 + 1.0 + 3.0]);
    let after = place("after", "f", Spot::After(id("b"))).await;
    assert_eq!(after.figures(), [2.0 + 2.0, 2.0 * 1.0 + 2.0, 1.0 + 1.0 + 3.0 + 1.0]);
    let before = place("before", "e", Spot::Before(id("b"))).await;
    assert_eq!(before.figures(), [2.0 + 2.0, 2.0 * 1.0 + 2.0, 1.0 + 1.0 + 1.0 + 1.0]);
    let last = place("last, behind three without a value", "a", Spot::Last).await;
    assert_eq!((last.usage.write_units, last.counted.round_trips), (2.0 * (1.0 + 3.0), 2 + 2 * 2));
    assert!(PAGE.contains("| with `position` | 2 more, up to 12 | with `before` or `after` twice the units of the write, and 2; with siblings that get other values twice those of all |"));
    let oracle = Oracle { path_rows: false, order: Some("rank".to_owned()), ..Oracle::default() };
    running.assert_right(&oracle).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_its_own_costs_what_the_guide_says() {
    let items = [node("r", None, "root"), node("s", None, "root"), node("c", Some("r"), "child")];
    let running = Running::start_after(&[("PathRows", "off"), ("UniqueNames", "exact")], &[], items.into()).await;
    running.settle().await;
    let settings = Settings { names: UniqueNames::Exact, path_rows: false, ..Settings::default() };
    let carry_out = async |what: &str, command: Command| {
        let request = Request::new(stamp(what));
        let (written, cost) = counted!(running, &settings, Writer, |writer| writer.write(&command, &request));
        cost.say(what);
        assert_eq!(cost.usage.retries, 0);
        running.settle().await;
        (written, cost.figures())
    };
    let named = |of: &str, is_made_id: bool, parent: Option<&str>, name: &str| {
        let segment = Some(name.to_owned());
        Command::Create {
            node: at(of),
            is_made_id,
            content: Content { parent: parent.map(id), segment, ..Content::default() },
        }
    };
    let renamed = |of: &str, name: &str| Command::Patch {
        node: at(of),
        patch: Patch { segment: Some(Some(name.to_owned())), ..Patch::default() },
    };
    let moved = |of: &str, to: &str| Command::Patch {
        node: at(of),
        patch: Patch { parent: Some(Some(id(to))), ..Patch::default() },
    };
    let (done, figures) = carry_out("create, made id", named("a", true, Some("r"), "x")).await;
    done.unwrap();
    let [round_trips, written, read] = documented("create below a parent, the API makes the id");
    assert_eq!(figures, [round_trips, written + 3.0, read + 1.0]);
    assert_documented("with `UniqueNames`, in addition: create", [0.0, 3.0, 1.0]);
    let (done, figures) = carry_out("create a root", named("b", true, None, "x")).await;
    done.unwrap();
    let [round_trips, written, read] = documented("create a root, the API makes the id");
    assert_eq!(figures, [round_trips, written + 3.0, read]);
    // A name that is taken is refused without a write.
    let (refused, figures) = carry_out("taken", named("d", true, Some("r"), "x")).await;
    assert!(matches!(refused, Err(WriteError::Refused(Refusal::NameTaken { .. }))), "{refused:?}");
    assert_eq!(figures, [2.0, 0.0, 2.0 + 1.0 + 1.0]);
    let mut renaming = named("e", true, Some("r"), "x");
    if let Command::Create { content, .. } = &mut renaming {
        content.on_conflict = OnConflict::Rename;
    }
    let (done, figures) = carry_out("create, renaming", renaming).await;
    let Outcome::Node { item, .. } = done.unwrap() else { panic!("no node") };
    assert_eq!(item["segment"], text("x (2)"));
    let more = documented("with `on_conflict=rename` and a name that is taken, in addition");
    let [round_trips, written, read] = documented("create below a parent, the API makes the id");
    assert_eq!(figures, [round_trips + more[0], written + 3.0, read + 1.0 + more[2]]);
    let (done, figures) = carry_out("rename", renamed("a", "y")).await;
    done.unwrap();
    let [round_trips, written, read] = documented("change attributes");
    assert_eq!(figures, [round_trips, written + 5.0, read]);
    assert_documented("with `UniqueNames`, in addition: rename or move", [0.0, 5.0, 0.0]);
    let (done, moved_there) = carry_out("move", moved("a", "s")).await;
    done.unwrap();
    // 2 for the node, 2 for each node checked: here the new parent.
    assert_eq!(moved_there[1], 2.0 + 2.0 + 4.0);
    let (done, figures) = carry_out("into the trash", Command::Trash { node: at("a") }).await;
    done.unwrap();
    let [round_trips, written, read] = documented("into the trash");
    assert_eq!(figures, [round_trips, written + 3.0, read]);
    let delete =
        Command::Delete { node: at("b"), children: Children::Restrict, revisions: false, operation: "o".to_owned() };
    let (done, figures) = carry_out("delete", delete).await;
    done.unwrap();
    let [round_trips, written, read] = documented("delete, no children");
    assert_eq!(figures, [round_trips + 1.0, written + 2.0, read + 1.0]);
    assert_documented("with `UniqueNames`, in addition: delete with `children=`, or into the trash", [0.0, 2.0, 0.0]);
    assert_documented("with `UniqueNames`, in addition: delete, no children", [1.0, 2.0, 1.0]);
    // What keeps its name costs nothing more.
    let attributes = [("colour".to_owned(), ValueChange::Set(text("red")))].into();
    let change = Command::Patch { node: at("c"), patch: Patch { attributes, ..Patch::default() } };
    let (done, figures) = carry_out("change attributes", change).await;
    done.unwrap();
    assert_eq!(figures, documented("change attributes"));
    running.stop().await;
}

const MEGABYTE: usize = 1 << 20;

/// The bytes of the rows below an id, by their texts.
async fn bytes_below(running: &Running, pk: &str) -> usize {
    let contents = running.contents().await;
    let rows = contents.iter().filter(|((of, sk), _)| of == pk && sk.starts_with("NODE"));
    let weight = |value: &serde_dynamo::AttributeValue| match value {
        serde_dynamo::AttributeValue::S(text) => text.len(),
        _ => 3,
    };
    rows.map(|(_, item)| item.iter().map(|(name, value)| name.len() + weight(value)).sum::<usize>()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_one_query_for_each_megabyte() {
    let mut items = vec![node("big", None, "big")];
    items.extend((0..900).map(|n| node(&format!("leaf{n:04}"), Some("big"), &"x".repeat(3_500))));
    let running = Running::start_after(&[("PathRows", "off")], &[], items).await;
    running.settle().await;
    let bytes = bytes_below(&running, "big").await;
    let pages = bytes.div_ceil(MEGABYTE);
    let mut options = ListOptions { bounds: Bounds::items(1_000), ..ListOptions::default() };
    let window = Window::children();
    let (mut found, mut queries, mut units) = (0, 0, 0.0);
    loop {
        let (page, cost) = counted!(running, Reader, |reader| reader.descendants(&at("big"), &window, &options));
        let page = page.unwrap();
        cost.say(&format!("a page with {} of 900 children, {bytes} bytes", page.items.len()));
        assert!(!page.items.is_empty() && cost.calls("Query") as u64 == cost.usage.requests);
        found += page.items.len();
        queries += cost.calls("Query");
        units += cost.usage.read_units;
        options.after = page.next;
        if options.after.is_none() {
            break;
        }
    }
    assert_eq!(found, 900);
    assert!(queries <= pages, "{queries} for {pages} megabytes");
    let least = bytes.div_ceil(8 * 1024) as f64;
    assert!(units <= least + pages as f64, "{units} read units, {least}");
    let (count, cost) = counted!(running, Reader, |reader| reader.count(&at("big"), &window, &options));
    cost.say("their count");
    let count = count.unwrap();
    assert_eq!((count.count, count.next), (900, None));
    assert!(cost.calls("Query") <= pages && cost.usage.requests as usize == cost.calls("Query"));

    // A call ends after its budget, and the next one goes on, whatever of the rows it shows.
    let budget = |bounds| {
        let (bounds, fields) = (Bounds { queries_max: 1, ..bounds }, Fields::only(["no".to_owned()]).unwrap());
        ListOptions { bounds, fields, ..ListOptions::default() }
    };
    let (mut options, mut found, mut calls) = (budget(Bounds::default()), 0, 0);
    loop {
        let (counted, cost) = counted!(running, Reader, |reader| reader.count(&at("big"), &window, &options));
        let counted = counted.unwrap();
        assert_eq!((cost.calls("Query"), cost.usage.requests), (1, 1));
        (found, calls, options.after) = (found + counted.count, calls + 1, counted.next);
        if options.after.is_none() {
            break;
        }
    }
    assert!(found == 900 && (3..=pages).contains(&calls), "{found} in {calls} calls");
    let (mut options, mut found, mut calls) = (budget(Tree::BOUNDS), 0, 0);
    loop {
        let (tree, cost) = counted!(running, Reader, |reader| reader.tree(&at("big"), None, &options));
        let tree = tree.unwrap();
        assert_eq!((cost.calls("Query"), cost.usage.requests), (1, 1));
        (found, calls, options.after) = (found + tree.nodes.len(), calls + 1, tree.next);
        if options.after.is_none() {
            break;
        }
    }
    assert!(found == 901 && (3..=pages).contains(&calls), "{found} in {calls} calls");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_children_with_their_names_are_one_query_of_one_unit() {
    let child = |n: usize| {
        let [pk, sk, parent] = [("PK", format!("c{n}")), ("SK", "NODE".to_owned()), ("parent", "p".to_owned())];
        client::item([pk, sk, parent, ("segment", format!("n{n}"))].map(|(name, value)| (name, client::s(&value))))
    };
    let items = std::iter::once(node("p", None, "p")).chain((0..100).map(child));
    let running = Running::start_after(&[("UniqueNames", "caseless")], &[], items.collect()).await;
    running.settle().await;
    let settings = Settings { names: UniqueNames::Caseless, ..Settings::default() };
    let (options, window) = (ListOptions::default(), Window::children());
    let (page, cost) = counted!(running, &settings, Reader, |reader| reader.descendants(&at("p"), &window, &options));
    cost.say("100 children with names");
    let page = page.unwrap();
    assert!(page.items.iter().all(|child| child.segment.is_some()) && page.items.len() == 100);
    assert_eq!((cost.usage.requests, cost.usage.read_units), (1, 1.0));
    let whole = ListOptions { bounds: Tree::BOUNDS, ..ListOptions::default() };
    let (tree, cost) = counted!(running, &settings, Reader, |reader| reader.tree(&at("p"), None, &whole));
    assert_eq!(tree.unwrap().nodes.iter().filter(|node| node.segment.is_some()).count(), 100);
    assert_eq!(cost.usage.requests, 1);
    // A path as it is written is one request, and one that differs by case three and one for each segment more.
    let path = |name: &str| Within::new(vec![name.to_owned()], None, None, None).unwrap();
    let (page, cost) = counted!(running, &settings, Reader, |reader| reader.paths(&at("p"), &path("n7"), &options));
    assert_eq!((page.unwrap().items.len(), cost.usage.requests, cost.usage.read_units), (1, 1, 0.5));
    running.settle().await;
    // The API has claimed none of these names.
    let (page, cost) = counted!(running, &settings, Reader, |reader| reader.paths(&at("p"), &path("N7"), &options));
    assert!(page.is_err() && cost.usage.requests == 3, "{:?}", cost.usage);
    let claim = client::item([("PK", client::s("p")), ("SK", client::s("NAME#n7")), ("_node", client::s("c7"))]);
    put_all(&running.client, TABLE, vec![claim]).await;
    let (page, cost) = counted!(running, &settings, Reader, |reader| reader.paths(&at("p"), &path("N7"), &options));
    assert_eq!(page.unwrap().items[0].path, ["n7"]);
    let [requests, _, units] =
        documented("a path that is spelt in another case, with `UniqueNames=caseless`, in addition");
    assert_eq!((cost.usage.requests as f64, cost.usage.read_units), (1.0 + requests + 1.0, 0.5 + units + 1.0));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_children_in_their_order_and_all_customers_of_a_product_are_one_query_each() {
    let customers = (0..20).map(|n| node(&format!("CUSTOMER#{n:02}"), None, "a customer"));
    let items = (0..60).map(|n| {
        let mut item = node(&format!("ITEM#{n:02}"), Some(&format!("CUSTOMER#{:02}", n % 20)), &format!("{}", 60 - n));
        item.insert("tags".to_owned(), client::s("mouse"));
        item
    });
    let parameters = [("OrderAttribute", "name"), ("LinkAttributes", "tags,seen")];
    let running = Running::start_after(&parameters, &[], customers.chain(items).collect()).await;
    running.settle().await;
    let (settings, options) = (own::settings(), ListOptions::default());
    let table = DynamoTable::local(&running.url(), TABLE, Schema::default());
    let deadline = Deadline::at(tokio::time::Instant::now() + Duration::from_secs(30));
    let [siblings, asked] = [(); 2].map(|()| Client::new(&table, &deadline, &settings.schema));

    let in_order = Siblings::new(None, Order::Ascending, None, None, [None, None]).unwrap();
    let below = at("CUSTOMER#07");
    let page = Reader::new(&siblings, &settings)
        .siblings(Parent::Node(&below), &SiblingList::Kept(in_order.clone()), &options)
        .await
        .unwrap();
    let found: Vec<&str> = page.items.iter().map(|child| child.id.as_str()).collect();
    assert_eq!((found, page.next), (vec!["ITEM#47", "ITEM#27", "ITEM#07"], None));
    assert_eq!((siblings.usage().requests, siblings.usage().read_units), (1, 0.5));

    let linking = Linking { ancestor_prefix: Some("CUSTOMER#".to_owned()), distinct: true, ..Linking::default() };
    let page = Reader::new(&asked, &settings).links(&at("mouse"), "tags", &linking, &options).await.unwrap();
    assert_eq!((page.items.len(), page.next), (20, None));
    println!("all 20 customers of 60 items: {:?}", asked.usage());
    assert_eq!(asked.usage().requests, 1);
    assert!(asked.usage().read_units <= 2.0, "60 rows of less than 250 bytes");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_read_is_one_request_whatever_the_window() {
    let nodes = named(&[("r", None), ("x1", Some("r"))]).into_iter().chain(spine('x', 12).skip(1));
    let running = stack("on", nodes).await;
    let revisions =
        (1..=20).map(|n| client::item([("PK", client::s("x1")), ("SK", client::s(format!("v{n:03}_Audit")))]));
    put_all(&running.client, TABLE, revisions.collect()).await;
    running.settle().await;
    let options = ListOptions::default();
    assert_documented("a list, a tree, a path, a count", [1.0, 0.0, 0.5]);
    assert_documented("read a node, one revision, one latest", [1.0, 0.0, 0.5]);
    let one_query = |what: &str, cost: &Cost| {
        cost.say(what);
        assert_eq!((cost.usage.requests, cost.calls("Query")), (1, 1), "{what}");
        assert_eq!(cost.figures(), [1.0, 0.0, 0.5], "{what}");
    };
    let one_get = |what: &str, cost: &Cost| {
        cost.say(what);
        assert_eq!((cost.usage.requests, cost.calls("BatchGetItem")), (1, 1), "{what}");
        assert_eq!(cost.figures(), [1.0, 0.0, 0.5], "{what}");
    };
    for (min, max, found) in [(0, None, 13), (1, Some(1), 1), (2, Some(5), 4), (3, None, 10), (12, Some(98), 1)] {
        let window = Window::new(min, max, None).unwrap();
        let (page, cost) = counted!(running, Reader, |reader| reader.descendants(&at("r"), &window, &options));
        assert_eq!(page.unwrap().items.len(), found, "{window:?}");
        one_query(&format!("descendants {min} to {max:?}"), &cost);
        let (count, cost) = counted!(running, Reader, |reader| reader.count(&at("r"), &window, &options));
        assert_eq!(count.unwrap().count, found);
        one_query(&format!("count {min} to {max:?}"), &cost);
    }
    let (page, cost) = counted!(running, Reader, |reader| reader.tree(&at("r"), None, &options));
    page.unwrap();
    one_query("tree", &cost);
    let (page, cost) =
        counted!(running, Reader, |reader| reader.siblings(Parent::Roots(None), &SiblingList::ById, &options));
    assert_eq!(page.unwrap().items.len(), 1);
    one_query("roots", &cost);
    for (segments, from, found) in [(vec![], None, 12), (vec!["x1", "x2"], None, 11), (vec!["x1"], Some("x2"), 11)] {
        let segments = segments.into_iter().map(str::to_owned).collect();
        let within = Within::new(segments, None, from.map(str::to_owned), None).unwrap();
        let (page, cost) = counted!(running, Reader, |reader| reader.paths(&at("r"), &within, &options));
        assert_eq!(page.unwrap().items.len(), found, "{within:?}");
        one_query(&format!("paths {within:?}"), &cost);
    }
    let (page, cost) = counted!(running, Reader, |reader| reader.latest_of_all(&at("x1"), "", &options));
    assert_eq!(page.unwrap().items.len(), 1);
    one_query("latest of all topics", &cost);
    let latest = Latest { node: at("x1"), topic: "Audit".to_owned() };
    for order in [Order::Descending, Order::Ascending] {
        let (page, cost) = counted!(running, Reader, |reader| reader.revisions(&at("x1"), order, &options));
        assert_eq!(page.unwrap().items.len(), 20);
        one_query(&format!("revisions {order:?}"), &cost);
        let (page, cost) = counted!(running, Reader, |reader| reader.topic(&latest, order, &options));
        assert_eq!(page.unwrap().items.len(), 20);
        one_query(&format!("revisions of a topic {order:?}"), &cost);
    }
    let (found, cost) = counted!(running, Reader, |reader| reader.latest(&latest, &options));
    assert_eq!(found.unwrap().version.number(), 20);
    one_get("latest of a topic", &cost);
    let third = Version::new(3).unwrap();
    let (found, cost) = counted!(running, Reader, |reader| reader.revision(&latest, third, false));
    found.unwrap();
    one_get("a revision", &cost);
    let (found, cost) = counted!(running, Reader, |reader| reader.node(&at("x12"), false));
    found.unwrap();
    one_get("a node", &cost);
    let (found, strong) = counted!(running, Reader, |reader| reader.node(&at("x12"), true));
    found.unwrap();
    assert_eq!(strong.usage.read_units, 2.0 * cost.usage.read_units);
    let (page, cost) = counted!(running, Reader, |reader| reader.ancestors(&at("x12"), &options));
    assert_eq!(page.unwrap().0.items.len(), 12);
    cost.say("12 ancestors");
    assert_eq!((cost.figures(), cost.calls("Query")), ([1.0, 0.0, 1.0], 0));
    assert_documented("ancestors", cost.figures());
    let kept = Settings { totals: Some(Totals::default()), ..settings() };
    let (found, cost) = counted!(running, &kept, Reader, |reader| reader.totals(&at("x12"), false));
    found.unwrap();
    assert_documented("totals", cost.figures());
    let (found, strong) = counted!(running, &kept, Reader, |reader| reader.totals(&at("x12"), true));
    found.unwrap();
    let some: Vec<_> = (0..25).map(|n| at(&format!("x{n}"))).collect();
    for nodes in [1, 25] {
        let (found, cost) = counted!(running, &kept, Reader, |reader| reader.totals_of_nodes(&some[..nodes], false));
        assert_eq!(found.unwrap().len(), nodes);
        assert_eq!((cost.usage.requests, cost.usage.read_units), (2, 0.5 + 2.0 * nodes as f64));
    }
    assert_eq!(strong.usage.read_units, 2.0 * cost.usage.read_units);
    // A follower who asks every ten seconds, and finds nothing.
    let (found, cost) = counted!(running, Reader, |reader| reader.has_changes(&at("r"), 0, 1_700_000_000_000));
    assert!(!found.unwrap());
    assert_documented("a look at a feed that finds nothing", cost.figures());
    let (found, cost) =
        counted!(running, Reader, |reader| reader.inherited(&at("x12"), ["name".to_owned()], Mode::Nearest));
    assert_eq!(found.unwrap().above.levels, 12);
    cost.say("the values that a node with 12 ancestors inherits");
    assert_eq!((cost.figures(), cost.calls("Query")), ([2.0, 0.0, 2.0 + 12.0], 0));
    assert_eq!(documented("inherited values, a grant"), [2.0, 0.0, 2.0]);
    let granting = Granting::new("viewers".to_owned(), ["ada".to_owned()], false, &Schema::default()).unwrap();
    let (found, cost) = counted!(running, Reader, |reader| reader.granted(&at("x12"), &granting));
    assert!(!found.unwrap().is_allowed());
    assert_eq!((cost.figures(), cost.usage.requests), ([2.0, 0.0, 2.0 + 12.0], 2));
    let (found, cost) = counted!(running, Reader, |reader| reader.granted(&at("r"), &granting));
    assert!(!found.unwrap().is_allowed());
    assert_eq!(cost.figures(), [1.0, 0.0, 2.0]);
    let (status, cost) = counted!(running, Reader, |reader| reader.status(&at("x12")));
    assert!(status.unwrap().is_up_to_date());
    cost.say("the state of the rows of a node with 12 ancestors");
    assert_eq!((cost.counted.round_trips, cost.usage.write_units), (3, 0.0));
    assert!(PAGE.contains("| the state of a node's rows | 3 | – |"));
    // With what is below, the node itself is looked at once.
    let below = |of: &'static str| {
        let running = &running;
        async move { counted!(running, Reader, |reader| reader.status_and_below(&at(of), None, 1_000)) }
    };
    let (looked, leaf) = below("x12").await;
    let (status, found) = looked.unwrap();
    assert!(status.is_up_to_date() && found.is_up_to_date && found.placed == 0);
    assert_eq!((leaf.usage.requests, leaf.calls("Query")), (cost.usage.requests + 1, 1));
    let (looked, top) = below("r").await;
    assert_eq!(looked.unwrap().1.placed, 12);
    top.say("the state of the rows of a root and of 12 nodes below it");
    // The node and its lineage, its rows, the rows below it, and their lineages.
    assert_eq!((top.usage.requests, top.calls("Query")), (4, 1));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_costs_whole_records_and_needs_no_stream() {
    let nodes = named(&[("r", None), ("s", None)]).into_iter().chain(spine('x', 97));
    let running = stack("off", nodes).await;
    // 40 KB that no question is about, in the middle.
    let mut large = node("large", Some("x3"), "a name");
    large.insert("body".to_owned(), aws_sdk_dynamodb::types::AttributeValue::S("x".repeat(40_000)));
    put_all(&running.client, TABLE, vec![large, node("leaf", Some("large"), "a name")]).await;
    running.settle().await;
    let granting = Granting::new("viewers".to_owned(), ["ada".to_owned()], false, &Schema::default()).unwrap();
    let (found, cost) = counted!(running, Reader, |reader| reader.granted(&at("leaf"), &granting));
    assert_eq!(found.unwrap().above.levels, 5);
    cost.say("a grant below a record of 40 KB, at depth 5");
    assert_eq!(cost.figures(), [2.0, 0.0, 2.0 + 4.0 + 10.0]);
    // As deep as can be: the node, its lineage of some 600 bytes, and 98 ancestors.
    let (_, cost) = mv(&running, "leaf", "x97").await;
    assert_eq!(cost.usage.retries, 0);
    running.settle().await;
    let (found, cost) = counted!(running, Reader, |reader| reader.granted(&at("leaf"), &granting));
    assert_eq!(found.unwrap().above.levels, 98);
    cost.say("a grant at depth 98");
    assert_eq!((cost.figures(), cost.usage.requests), ([2.0, 0.0, 100.0], 2));
    running.stop().await;
}
