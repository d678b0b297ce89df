//! What comes between two requests of a deletion. The simulation meets these so seldom that no seed could be recorded for the
//! rules against them; here each is made to happen, with the rule and without it.

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{AttributeValue, DELETING, DeletionMark, DeletionMode, Item, UNDER, text};
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::fanout::Fanout;
use sapwood_table::{Action, RetryPolicy};
use sapwood_tests::intercept::{Intercept, Observer, Request};
use sapwood_tests::memory::{Memory, MemoryTable};

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
            Request::Transact(actions) => {
                let updated = actions.iter().filter(|action| matches!(action, Action::Update { .. }));
                self.intrude(true, updated.map(|action| action.key().clone()));
            }
            Request::Query(query) => self.intrude(false, [ItemKey::new(&query.pk, "NODE")].into_iter()),
            _ => {}
        }
    }
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
    item.extend(parent.map(|parent| (UNDER.to_owned(), text(parent))));
    item
}

fn deleting(mut item: Item, mode: DeletionMode) -> Item {
    let deleting = DeletionMark { mode, operation: "o".to_owned(), revisions: false, expires: 7, mark: None };
    item.insert(DELETING.to_owned(), deleting.value());
    item
}

/// Hands the stream's records to the fan-out, one by one, until there are no more.
fn come_to_rest(table: &Intercept<MemoryTable, Intruder>, rules: Rules) {
    let fanout = Fanout { rules, ..Fanout::default() };
    for run in 0..1_000 {
        let next = {
            let mut memory = table.table.0.lock().unwrap();
            if memory.stream.is_empty() { None } else { Some(memory.stream.remove(0)) }
        };
        let Some(change) = next else { return };
        let (name, changes) = (format!("run {run}"), [change]);
        let report = pin!(fanout.run(table, &Never, &name, &changes));
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
