//! What comes between two requests of a deletion. The simulation meets these so seldom that no seed could be recorded
//! for the rules against them; here each is made to happen, with the rule and without it.

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{
    AttributeValue, BORN, DELETING, Deletion, DeletionMark, DeletionMode, Heir, Item, Settings, Tombstone, Under, text,
};
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::fanout::{Fanout, Run};
use sapwood_engine::write::{Children, Command, Content, Patch, Request as Asked, Stamp, Tiebreak, Writer};
use sapwood_simulation::fixture::at_once;
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::{Memory, MemoryTable};
use sapwood_simulation::planted::as_the_api;
use sapwood_store::{Action, Client, RetryPolicy};

/// What somebody else does, once.
type Deed = Box<dyn FnOnce(&mut Memory) + Send>;

/// Somebody else, who acts just before a request for one key.
struct Intruder {
    table: MemoryTable,
    before: ItemKey,
    is_write: bool,
    deed: Mutex<Option<Deed>>,
}

impl Intruder {
    fn intrude(&self, is_write: bool, mut key: impl Iterator<Item = ItemKey>) {
        if is_write == self.is_write
            && key.any(|key| key == self.before)
            && let Some(deed) = self.deed.lock().unwrap().take()
        {
            deed(&mut self.table.0.lock().unwrap());
        }
    }
}

impl Observer for Intruder {
    async fn before(&self, request: &Request<'_>) {
        match request {
            Request::Update(key) => self.intrude(true, [(*key).clone()].into_iter()),
            Request::Together(actions) => self.intrude(true, actions.iter().map(|action| action.key().clone())),
            Request::Transact(actions) => {
                let updated = actions.iter().filter(|action| matches!(action, Action::Update { .. }));
                self.intrude(true, updated.map(|action| action.key().clone()));
            }
            Request::Query(query) => self.intrude(false, [ItemKey::new(&query.pk, "NODE")].into_iter()),
            _ => {}
        }
    }
}

/// Nobody acts between two requests.
struct Nobody;

impl Observer for Nobody {
    async fn before(&self, _: &Request<'_>) {}
}

struct Never;

impl RetryPolicy for Never {
    async fn wait(&self, _attempt: u32) -> bool {
        false
    }
}

fn node(id: &str) -> ItemKey {
    ItemKey::new(id, "NODE")
}

fn base(id: &str, parent: Option<&str>) -> Item {
    let mut item = Item::from([("PK".to_owned(), text(id)), ("SK".to_owned(), text("NODE"))]);
    item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
    item.extend(as_the_api(id, parent));
    item
}

fn deleting(mut item: Item, mode: DeletionMode) -> Item {
    let deleting = DeletionMark { mode, operation: "o".to_owned(), revisions: false, mark: None };
    item.insert(DELETING.to_owned(), deleting.value());
    item
}

/// Hands the stream's records to the fan-out, one by one, until there are no more.
fn come_to_rest(table: &Intercept<MemoryTable, impl Observer>, rules: Rules) {
    come_to_rest_at(0, table, rules);
}

/// The same at a time in seconds since 1970.
fn come_to_rest_at(now: u64, table: &Intercept<MemoryTable, impl Observer>, rules: Rules) {
    handle_while(now, table, rules, || true);
}

/// Hands the stream's records to the fan-out, one by one, until there are no more or this doesn't hold any more.
fn handle_while(now: u64, table: &Intercept<MemoryTable, impl Observer>, rules: Rules, holds: impl Fn() -> bool) {
    let fanout = Fanout { rules, ..Fanout::default() };
    for run in 0..1_000 {
        if !holds() {
            return;
        }
        let next = {
            let mut memory = table.table.0.lock().unwrap();
            if memory.stream.is_empty() { None } else { Some(memory.stream.remove(0)) }
        };
        let Some(change) = next else { return };
        let (name, changes) = (format!("run {run}"), [change]);
        let report = pin!(fanout.run(table, &Never, Run { name: &name, now }, &changes));
        let Poll::Ready(report) = report.poll(&mut Context::from_waker(Waker::noop())) else { panic!("it waits") };
        if !report.failed.is_empty() {
            table.table.0.lock().unwrap().stream.extend(changes.clone());
        }
    }
    panic!("it doesn't come to rest");
}

/// Where a deletion of `n` ends, when somebody does this before the request named: a base record's parent, by id.
fn ends(
    rules: Rules,
    mode: DeletionMode,
    before: (&str, bool),
    deed: impl FnOnce(&mut Memory) + Send + 'static,
) -> Memory {
    let (before, is_write) = before;
    let table = MemoryTable(Default::default(), Schema::default());
    let intruder = Intruder { table: table.clone(), before: node(before), is_write, deed: Mutex::default() };
    let table = Intercept { table, observer: intruder };
    let write = |id: &str, item: Item| table.table.0.lock().unwrap().write(&node(id), Some(item));
    for (id, parent) in [("p", None), ("n", Some("p")), ("c", Some("n"))] {
        write(id, base(id, parent));
    }
    come_to_rest(&table, Rules::default());
    *table.observer.deed.lock().unwrap() = Some(Box::new(deed));
    write("n", deleting(base("n", Some("p")), mode));
    come_to_rest(&table, rules);
    assert!(table.observer.deed.lock().unwrap().is_none(), "nobody asked");
    table.table.0.lock().unwrap().clone()
}

fn parent(memory: &Memory, id: &str) -> Option<String> {
    match memory.get(&node(id)).expect("it is there").get("parent") {
        Some(AttributeValue::S(parent)) => Some(parent.clone()),
        _ => None,
    }
}

#[test]
fn a_child_isnt_adopted_by_a_parent_that_has_gone_below_it() {
    // A delete that a crashed run had sent comes late; then nothing stands between p and c, and p goes below c.
    let ends = |rules| {
        let ended = ends(rules, DeletionMode::Adopt, ("c", true), |memory| {
            memory.write(&node("n"), None);
            memory.write(&node("p"), Some(base("p", Some("c"))));
        });
        (parent(&ended, "c"), parent(&ended, "p"))
    };
    let (p, c) = (Some("p".to_owned()), Some("c".to_owned()));
    assert_eq!(ends(Rules::default()), (None, c.clone()));
    assert_eq!(ends(Rules::without(Rule::AdoptTogether)), (p, c), "a cycle");
}

#[test]
fn children_go_to_the_heir_under_which_their_parent_is_then() {
    // Another client moves n while it is being deleted. The look at n is over.
    let ends = |rules| {
        let ended = ends(rules, DeletionMode::Adopt, ("c", true), |memory| {
            memory.write(&node("q"), Some(base("q", None)));
            let mut moved = memory.get(&node("n")).unwrap().clone();
            moved.insert("parent".to_owned(), text("q"));
            memory.write(&node("n"), Some(moved));
        });
        parent(&ended, "c")
    };
    assert_eq!(ends(Rules::default()).as_deref(), Some("q"));
    assert_eq!(ends(Rules::without(Rule::AdoptParent)).as_deref(), Some("p"), "n isn't below p any more");
}

#[test]
fn a_late_child_stays_with_a_parent_that_is_there_again() {
    let ends = |rules| {
        let table = MemoryTable(Default::default(), Schema::default());
        let table = Intercept { table: table.clone(), observer: Nobody };
        let write = |id: &str, item: Option<Item>| table.table.0.lock().unwrap().write(&node(id), item);
        write("n", Some(base("n", None)));
        come_to_rest(&table, rules);
        write("n", Some(deleting(base("n", None), DeletionMode::Delete)));
        come_to_rest(&table, rules);
        // The tombstone stands. Somebody creates n again, and a child of its first life comes in before that was
        // handled.
        write("n", Some(Item::from([("PK".to_owned(), text("n")), ("SK".to_owned(), text("NODE"))])));
        let created = std::mem::take(&mut table.table.0.lock().unwrap().stream);
        write("c", Some(base("c", Some("n"))));
        come_to_rest(&table, rules);
        table.table.0.lock().unwrap().stream.extend(created);
        come_to_rest(&table, rules);
        let memory = table.table.0.lock().unwrap();
        memory.get(&node("c")).is_some()
    };
    assert!(ends(Rules::default()));
    assert!(!ends(Rules::without(Rule::TombstoneGone)), "c is gone, and its parent is there");
}

/// The life that `_under` of a node names.
fn life_of_parent(memory: &Memory, id: &str) -> Option<String> {
    Under::read(memory.get(&node(id))?)?.born
}

#[test]
fn an_adopted_child_names_the_life_that_adopts_it() {
    // n was put below p before p was deleted and created again.
    let ends = |rules| {
        let ended = ends(rules, DeletionMode::Adopt, ("n", false), |memory| {
            let mut again = base("p", None);
            again.insert(BORN.to_owned(), text("second life of p"));
            memory.write(&node("p"), Some(again));
        });
        life_of_parent(&ended, "c")
    };
    assert_eq!(ends(Rules::default()).as_deref(), Some("second life of p"));
    assert_eq!(ends(Rules::without(Rule::AdoptLife)).as_deref(), Some("first life of p"));
}

#[test]
fn a_late_child_that_comes_in_after_a_week_is_an_orphan() {
    // DynamoDB may take days to delete what has expired, and never does so without a TTL.
    let ends = |rules, now| {
        let table = MemoryTable(Default::default(), Schema::default());
        let table = Intercept { table, observer: Nobody };
        let write = |id: &str, item: Item| table.table.0.lock().unwrap().write(&node(id), Some(item));
        write("n", base("n", None));
        come_to_rest(&table, rules);
        write("n", deleting(base("n", None), DeletionMode::Delete));
        come_to_rest(&table, rules);
        write("c", base("c", Some("n")));
        come_to_rest_at(now, &table, rules);
        table.table.0.lock().unwrap().get(&node("c")).is_some()
    };
    let week = 7 * 24 * 60 * 60;
    assert!(!ends(Rules::default(), week - 1), "it goes with its parent");
    assert!(ends(Rules::default(), week));
    assert!(!ends(Rules::without(Rule::TombstoneExpires), week), "nobody knows any more");
}

/// Carries a command out, at a time in seconds since 1970.
fn carry_out(table: &Intercept<MemoryTable, Nobody>, seconds: u64, command: &Command) {
    let settings = Settings::default();
    let client = Client::new(table, &Never, &settings.schema);
    let (at, token) = ("2026-01-01T00:00:00.000Z".to_owned(), format!("write at {seconds}"));
    let stamp = Stamp { at, seconds, by: "somebody".to_owned(), token, tiebreak: Tiebreak::default() };
    at_once(Writer::new(&client, &settings).write(command, &Asked::new(stamp))).unwrap();
}

/// What DynamoDB deletes by TTL at this time.
fn expire(table: &Intercept<MemoryTable, Nobody>, now: u64) {
    let mut memory = table.table.0.lock().unwrap();
    for ((pk, sk), item) in memory.contents() {
        if let Some(AttributeValue::N(expires)) = item.get("_expires")
            && expires.parse::<u64>().unwrap() < now
        {
            memory.write(&ItemKey::new(pk, sk), None);
        }
    }
}

#[test]
fn what_went_days_before_its_parent_stays_when_it_is_put_back_days_after() {
    // What tells of the node's own end must outlive what its parent's tombstone says of late children.
    let day = 24 * 60 * 60;
    let ways = [Children::Restrict, Children::With(DeletionMode::Delete)];
    for (children, days) in ways.into_iter().flat_map(|children| [(children, 8), (children, 13)]) {
        let table = Intercept { table: MemoryTable(Default::default(), Schema::default()), observer: Nobody };
        let write = |id: &str, item: Item| table.table.0.lock().unwrap().write(&node(id), Some(item));
        write("p", base("p", None));
        write("n", base("n", Some("p")));
        come_to_rest(&table, Rules::default());
        let delete = |days: u64, id: &str, children| {
            let (node, operation) = (Id::new(id).unwrap().into(), format!("deletion of {id}"));
            carry_out(&table, days * day, &Command::Delete { node, children, revisions: false, operation });
            come_to_rest_at(days * day, &table, Rules::default());
        };
        delete(0, "n", children);
        delete(7, "p", Children::With(DeletionMode::Delete));
        expire(&table, days * day);
        write("n", base("n", Some("p")));
        come_to_rest_at(days * day, &table, Rules::default());
        let copy = table.table.0.lock().unwrap().get(&node("n")).cloned();
        assert!(copy.is_some_and(|item| Under::read(&item).is_none()), "{children:?}, day {days}");
    }
}

#[test]
fn what_is_created_below_a_life_that_nobody_saw_goes_with_the_one_before() {
    // Docs: `docs/internals/protocol/delete.md`. The handler can't tell, and DeleteItem under the API's hands is not a
    // supported way to delete.
    let ends = |is_seen: bool| {
        let table = Intercept { table: MemoryTable(Default::default(), Schema::default()), observer: Nobody };
        let write = |id: &str, item: Option<Item>| table.table.0.lock().unwrap().write(&node(id), item);
        let get = |id: &str| table.table.0.lock().unwrap().get(&node(id)).cloned();
        let at = |id: &str| Id::new(id).unwrap();
        write("n", Some(base("n", None)));
        come_to_rest(&table, Rules::default());
        // The handler goes on until it has deleted n. The record of that is still in the stream.
        write("n", Some(deleting(base("n", None), DeletionMode::Delete)));
        handle_while(0, &table, Rules::default(), || get("n").is_some());
        write("n", Some(Item::from([("PK".to_owned(), text("n")), ("SK".to_owned(), text("NODE"))])));
        if is_seen {
            come_to_rest(&table, Rules::default());
        }
        let content = Content { parent: Some(at("n")), ..Content::default() };
        carry_out(&table, 0, &Command::Create { node: at("c").into(), is_made_id: false, content });
        write("n", None);
        come_to_rest(&table, Rules::default());
        get("c").is_some()
    };
    assert!(ends(true), "the handler has seen that n is there again");
    assert!(!ends(false), "it tells the two lives apart: the docs and the simulation's witness say that it can't");
}

#[test]
fn what_was_imported_and_is_back_stays_even_if_the_record_that_shows_it_is_lost() {
    for children in [Children::Restrict, Children::With(DeletionMode::Delete)] {
        let table = Intercept { table: MemoryTable(Default::default(), Schema::default()), observer: Nobody };
        let write = |id: &str, item: Item| table.table.0.lock().unwrap().write(&node(id), Some(item));
        let n = || table.table.0.lock().unwrap().get(&node("n")).cloned();
        let at = |id: &str| -> NodeRef { Id::new(id).unwrap().into() };
        let send = |seconds, command: &Command| {
            carry_out(&table, seconds, command);
            come_to_rest(&table, Rules::default());
        };
        // An import names no life. Only the lineage does.
        write("n", Item::from([("PK".to_owned(), text("n")), ("SK".to_owned(), text("NODE"))]));
        write("p", base("p", None));
        come_to_rest(&table, Rules::default());
        let patch = Patch { parent: Some(Some(Id::new("p").unwrap())), ..Patch::default() };
        send(1, &Command::Patch { node: at("n"), patch });
        let mut copy = n().unwrap();
        assert!(Under::read(&copy).is_some() && !copy.contains_key(BORN), "{copy:?}");
        let delete = |id: &str, children| {
            let operation = format!("deletion of {id}");
            Command::Delete { node: at(id), children, revisions: false, operation }
        };
        send(2, &delete("n", children));
        send(3, &delete("p", Children::With(DeletionMode::Delete)));
        assert_eq!(n(), None);
        write("n", copy.clone());
        table.table.0.lock().unwrap().stream.clear();
        copy.insert("_redriven".to_owned(), text("1"));
        write("n", copy);
        come_to_rest(&table, Rules::default());
        assert!(n().is_some_and(|item| Under::read(&item).is_none()), "{children:?}");
    }
}

fn put_tombstone(memory: &mut Memory, id: &str, mode: DeletionMode, heir: Option<&str>, born: &str) {
    let mark = DeletionMark { mode, operation: "o".to_owned(), revisions: false, mark: None };
    let life = |id: &str| Some(format!("first life of {id}"));
    let heir = heir.map(|heir| Heir { id: Id::new(heir).unwrap(), born: life(heir) });
    let (deletion, born) = (Deletion { mark, heir }, Some(born.to_owned()));
    let at: NodeRef = Id::new(id).unwrap().into();
    let item = Tombstone { deletion, born, earlier: Vec::new(), deleted: 0 }.item(&at, &Settings::default());
    memory.write(&Schema::default().lineage_key(&at), Some(item));
}

#[test]
fn a_touch_that_comes_again_doesnt_act_on_a_copy_from_before_it() {
    // c was touched and became a root. Then another client put it back as it was before the touch.
    let ends = |rules| {
        let table = MemoryTable(Default::default(), Schema::default());
        let table = Intercept { table, observer: Nobody };
        {
            let mut memory = table.table.0.lock().unwrap();
            put_tombstone(&mut memory, "n", DeletionMode::Detach, None, "first life of n");
            let copy = base("c", Some("n"));
            memory.write(&node("c"), Some(copy.clone()));
            let mut touched = copy.clone();
            touched.insert("_touched".to_owned(), text("1#n"));
            memory.write(&node("c"), Some(touched));
            let touch = memory.stream.last().cloned();
            let mut root = copy.clone();
            root.retain(|name, _| !["parent", "_under"].contains(&name.as_str()));
            memory.write(&node("c"), Some(root));
            memory.write(&node("c"), Some(copy));
            memory.stream = touch.into_iter().collect();
        }
        come_to_rest(&table, rules);
        parent(&table.table.0.lock().unwrap(), "c")
    };
    assert_eq!(ends(Rules::default()).as_deref(), Some("n"), "the copy's own record decides");
    assert_eq!(ends(Rules::without(Rule::LateChildAsShown)), None);
}

#[test]
fn a_late_child_isnt_deleted_with_a_life_that_was_never_above_it() {
    // n had its children adopted by p. That p is gone, and so is another life of it, with all that was below.
    let ends = |rules| {
        let table = MemoryTable(Default::default(), Schema::default());
        let table = Intercept { table, observer: Nobody };
        let tombstone = |id: &str, mode, heir: Option<&str>, born: &str| {
            put_tombstone(&mut table.table.0.lock().unwrap(), id, mode, heir, born);
        };
        tombstone("n", DeletionMode::Adopt, Some("p"), "first life of n");
        tombstone("p", DeletionMode::Delete, None, "second life of p");
        table.table.0.lock().unwrap().write(&node("c"), Some(base("c", Some("n"))));
        come_to_rest(&table, rules);
        let memory = table.table.0.lock().unwrap();
        memory.get(&node("c")).map(|_| parent(&memory, "c"))
    };
    assert_eq!(ends(Rules::default()), Some(None), "a root");
    assert_eq!(ends(Rules::without(Rule::HeirLife)), None, "c is gone");
}

#[test]
fn children_handed_to_an_heir_that_is_gone_dont_go_with_a_life_that_was_never_above_them() {
    // p was deleted with all that was below. Another client puts n under it afterwards, or the API has put n under a
    // later life, which another client has deleted.
    let ends = |is_of_the_api: bool| {
        let table = MemoryTable(Default::default(), Schema::default());
        let table = Intercept { table, observer: Nobody };
        let write = |id: &str, item: Item| table.table.0.lock().unwrap().write(&node(id), Some(item));
        write("p", base("p", None));
        come_to_rest(&table, Rules::default());
        write("p", deleting(base("p", None), DeletionMode::Delete));
        come_to_rest(&table, Rules::default());
        let mut n = base("n", Some("p"));
        if is_of_the_api {
            let under = Under { parent: Id::new("p").unwrap(), born: Some("second life of p".to_owned()) };
            n.insert("_under".to_owned(), under.value());
        } else {
            n.remove("_under");
        }
        write("n", n.clone());
        write("c", base("c", Some("n")));
        come_to_rest(&table, Rules::default());
        write("n", deleting(n, DeletionMode::Adopt));
        come_to_rest(&table, Rules::default());
        let memory = table.table.0.lock().unwrap();
        (memory.get(&node("n")).is_none(), memory.get(&node("c")).map(|_| parent(&memory, "c")))
    };
    assert_eq!(ends(false), (true, Some(Some("p".to_owned()))), "an orphan, as n was");
    assert_eq!(ends(true), (true, Some(None)), "a root");
}

#[test]
fn an_id_that_was_deleted_isnt_created_below_what_hangs_under_it() {
    let ends = |rules| {
        let table = MemoryTable(Default::default(), Schema::default());
        let table = Intercept { table, observer: Nobody };
        let settings = Settings::default();
        let send = |command: &Command, token: &str| {
            let client = Client::new(&table, &Never, &settings.schema);
            let writer = Writer::new(&client, &settings).with(Default::default(), rules);
            let at = "2026-01-01T00:00:00.000Z".to_owned();
            let stamp = Stamp {
                at,
                seconds: 0,
                by: "somebody".to_owned(),
                token: token.to_owned(),
                tiebreak: Tiebreak::default(),
            };
            at_once(writer.write(command, &Asked::new(stamp))).is_ok()
        };
        let at = |id: &str| -> NodeRef { Id::new(id).unwrap().into() };
        let create = |id: &str, parent: Option<&str>| {
            let content = Content { parent: parent.map(|id| Id::new(id).unwrap()), ..Content::default() };
            Command::Create { node: at(id), is_made_id: false, content }
        };
        assert!(send(&create("n", None), "1") && send(&create("x", None), "2") && send(&create("c", Some("x")), "3"));
        come_to_rest(&table, rules);
        // x moves below n, and its record is late, so the lineage of c doesn't show it.
        let patch = Patch { parent: Some(Some(Id::new("n").unwrap())), ..Patch::default() };
        assert!(send(&Command::Patch { node: at("x"), patch }, "4"));
        let late = std::mem::take(&mut table.table.0.lock().unwrap().stream);
        let (children, operation) = (Children::Restrict, "o".to_owned());
        assert!(send(&Command::Delete { node: at("n"), children, revisions: false, operation }, "5"));
        come_to_rest(&table, rules);
        let created = send(&create("n", Some("c")), "6");
        table.table.0.lock().unwrap().stream.extend(late);
        come_to_rest(&table, rules);
        created
    };
    assert!(!ends(Rules::default()));
    assert!(ends(Rules::without(Rule::DeletedRecord)), "a cycle");
}

#[test]
fn the_children_of_a_node_that_was_spared_meanwhile_stay() {
    let ends = |rules| {
        let ended = ends(rules, DeletionMode::Delete, ("n", false), |memory| {
            memory.write(&node("n"), Some(base("n", Some("p"))));
        });
        (ended.get(&node("n")).is_some(), ended.get(&node("c")).is_some())
    };
    assert_eq!(ends(Rules::default()), (true, true));
    assert_eq!(ends(Rules::without(Rule::DeletionRecheck)), (true, false), "c is gone");
}
