//! Followers of the feeds of trees: at rest each mirror equals its tree.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{AttributeValue, FORMAT_ATTRIBUTE, FORMAT_MAX, Item, Settings, text};
use sapwood_core::plan::{Rule, Rules};
use sapwood_core::request::Write;
use sapwood_engine::fanout::{Fanout, Run};
use sapwood_engine::query::{Followed, ReadError, Reader};
use sapwood_simulation::fixture::at_once;
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::MemoryTable;
use sapwood_simulation::seeds::seeds;
use sapwood_simulation::sim::{Drill, Profile, Writers, faults, run, search};
use sapwood_store::{Client, ErrorKind, RetryPolicy};

const WRITERS: [Writers; 10] = [
    Writers::Nodes,
    Writers::Moves,
    Writers::Any,
    Writers::Trash,
    Writers::MixedDeletions,
    Writers::Copies,
    Writers::MixedSubtrees,
    Writers::Tenants,
    Writers::Heavy,
    Writers::Answers,
];

fn profiles() -> impl Iterator<Item = Profile> {
    WRITERS.into_iter().flat_map(|writers| {
        let plain = Profile::new(writers).with_followers();
        let switched = Profile { switches_feeds: true, limbo: true, ..plain.clone() };
        [plain.clone(), Profile { limbo: true, ..plain.clone().with_races() }, plain.with_repairs(), switched]
    })
}

const DRILLS: [Drill; 3] = [Drill::AnotherDepth, Drill::GoneElsewhere, Drill::TrashAndBack];

#[test]
fn mirrors_equal_their_trees() {
    for profile in profiles() {
        if let Err(fault) = search(seeds(30), |seed| run(seed, &profile)) {
            panic!("{:?}: {fault}", profile.writers);
        }
    }
}

#[test]
fn mirrors_equal_their_trees_after_sequences_that_are_hard() {
    for drill in DRILLS {
        let profile = Profile { limbo: true, ..Profile::drill(drill).with_followers() };
        if let Err(fault) = search(seeds(150), |seed| run(seed, &profile)) {
            panic!("{drill:?}: {fault}");
        }
    }
}

/// A handler that dies as it sends the deletion of a lineage.
struct Dies(ItemKey);

impl Observer for Dies {
    async fn before(&self, request: &Request<'_>) {
        if let Request::BatchWrite(writes) = request
            && writes.contains(&Write::Delete(self.0.clone()))
        {
            pending::<()>().await;
        }
    }
}

/// A clock that shows this time, in milliseconds since 1970.
struct At(u64);

impl RetryPolicy for At {
    async fn wait(&self, _attempt: u32) -> bool {
        false
    }

    fn now_ms(&self) -> u64 {
        self.0
    }
}

fn node(id: &str) -> NodeRef {
    NodeRef { tenant: None, id: Id::new(id).unwrap() }
}

/// A table with feeds, and its settings.
fn table() -> (MemoryTable, Settings) {
    let settings = Settings { changes: true, ..Settings::default() };
    (MemoryTable(Default::default(), Schema::default()), settings)
}

/// Puts a node's record. Returns what the stream has since the last such write.
fn put(table: &MemoryTable, id: &str, parent: Option<&str>) -> Vec<StreamRecord> {
    let mut item = Item::from([("PK".to_owned(), text(id)), ("SK".to_owned(), text("NODE"))]);
    item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
    write(table, &Schema::default().node_key(&node(id)), Some(item))
}

/// Writes or deletes an item. Returns what the stream has since the last such write.
fn write(table: &MemoryTable, key: &ItemKey, item: Option<Item>) -> Vec<StreamRecord> {
    let mut table = table.0.lock().unwrap();
    table.write(key, item);
    std::mem::take(&mut table.stream)
}

/// Handles all of these records at this time, in milliseconds since 1970.
fn handle(fanout: &Fanout, table: &MemoryTable, now_ms: u64, records: &[StreamRecord]) {
    let run = Run { name: "a", now: now_ms / 1_000 };
    assert!(at_once(fanout.run(table, &At(now_ms), run, records)).failed.is_empty());
}

/// The mirror of a tree whose node was deleted, and is put into another tree while the deletion of its lineage is on
/// its way: the handler that sent it has died, and the follower looks before it is carried out.
fn mirror_of_a_node_that_comes_back_elsewhere(rules: Rules) -> BTreeMap<Id, Item> {
    let (table, settings) = table();
    let fanout = Fanout { rules, settings: settings.clone(), ..Fanout::default() };
    let (mut mirror, mut followed) = (BTreeMap::new(), Followed::begin(10_000, rules));
    let mut follow = |now_ms: u64| loop {
        let (policy, tree) = (At(now_ms), node("r"));
        let client = Client::new(&table, &policy, &settings.schema);
        let reader = Reader::new(&client, &settings);
        let page = at_once(reader.changes(&tree, &followed, now_ms, (10, rules))).unwrap();
        for change in page.changes {
            match change.node {
                Some(base) => _ = mirror.insert(change.id, (*base.item).clone()),
                None => _ = mirror.remove(&change.id),
            }
        }
        followed = page.followed;
        if !page.more {
            return mirror.clone();
        }
    };
    let records = [("r", None), ("s", None), ("n", Some("r"))].map(|(id, parent)| put(&table, id, parent)).concat();
    handle(&fanout, &table, 10_000, &records);
    assert_eq!(follow(20_000).len(), 2);

    let mut records = write(&table, &settings.schema.node_key(&node("n")), None);
    let lineage = settings.schema.lineage_key(&node("n"));
    {
        let dying = Intercept { table: table.clone(), observer: Dies(lineage.clone()) };
        let policy = At(30_000);
        let run = pin!(fanout.run(&dying, &policy, Run { name: "b", now: 30 }, &records));
        assert!(run.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    records.extend(put(&table, "n", Some("s")));
    follow(40_000);
    write(&table, &lineage, None);
    handle(&fanout, &table, 50_000, &records);
    follow(60_000)
}

#[test]
fn a_node_that_comes_back_in_another_tree_leaves_the_first_ones_mirror() {
    let ids = |rules| mirror_of_a_node_that_comes_back_elsewhere(rules).into_keys().collect::<Vec<Id>>();
    let (n, r) = (Id::new("n").unwrap(), Id::new("r").unwrap());
    assert_eq!(ids(Rules::default()), std::slice::from_ref(&r));
    assert_eq!(ids(Rules::without(Rule::GoneIntent)), [n, r], "nobody said that it has gone");
}

/// A handler whose rows are held back, with a clock that goes on meanwhile.
#[derive(Default)]
struct Held {
    are_released: AtomicBool,
    waker: Mutex<Option<Waker>>,
    now_ms: AtomicU64,
}

impl Observer for Held {
    async fn before(&self, request: &Request<'_>) {
        if let Request::BatchWrite(writes) = request
            && writes.iter().any(|write| write.key().sk.starts_with("NODE#"))
        {
            poll_fn(|context| {
                *self.waker.lock().unwrap() = Some(context.waker().clone());
                if self.are_released.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    }
}

impl RetryPolicy for Held {
    async fn wait(&self, _attempt: u32) -> bool {
        false
    }

    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}

/// Whether a follower whose listing comes before the row of a new node hears of that node.
fn hears_of_a_node_whose_row_is_late(rules: Rules) -> bool {
    let (table, settings) = table();
    let fanout = Fanout { rules, settings: settings.clone(), ..Fanout::default() };
    handle(&fanout, &table, 10_000, &put(&table, "r", None));

    let held = Arc::new(Held { now_ms: 30_000.into(), ..Held::default() });
    let slow = Intercept { table: table.clone(), observer: Arc::clone(&held) };
    let records = put(&table, "n", Some("r"));
    let mut handling = pin!(fanout.run(&slow, &*held, Run { name: "b", now: 30 }, &records));
    let mut goes_on = || handling.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    assert!(!goes_on());
    let (mut followed, mut hears) = (Followed::begin(40_000, rules), false);
    let mut follow = |now_ms: u64| loop {
        let (policy, tree) = (At(now_ms), node("r"));
        let client = Client::new(&table, &policy, &settings.schema);
        let page = at_once(Reader::new(&client, &settings).changes(&tree, &followed, now_ms, (10, rules))).unwrap();
        hears |= page.changes.iter().any(|change| change.id.as_str() == "n" && change.node.is_some());
        followed = page.followed;
        if !page.more {
            return hears;
        }
    };
    assert!(!follow(40_000), "its row isn't there yet");
    held.now_ms.store(50_000, Ordering::SeqCst);
    held.are_released.store(true, Ordering::SeqCst);
    held.waker.lock().unwrap().take().unwrap().wake();
    assert!(goes_on());
    follow(60_000)
}

#[test]
fn a_node_whose_row_comes_after_a_listing_is_told() {
    assert!(hears_of_a_node_whose_row_is_late(Rules::default()));
    assert!(!hears_of_a_node_whose_row_is_late(Rules::without(Rule::TellAfterRows)), "it was told before");
}

#[test]
fn a_follower_waits_for_a_clock_that_is_behind_and_for_a_version_that_knows_a_lineage() {
    let ((table, settings), tree) = (table(), node("r"));
    let fanout = Fanout { settings: settings.clone(), ..Fanout::default() };
    handle(&fanout, &table, 10_000, &put(&table, "r", None));
    let read = |from: &Followed| {
        let client = Client::new(&table, &At(20_000), &settings.schema);
        at_once(Reader::new(&client, &settings).changes(&tree, from, 20_000, (10, Rules::default())))
    };

    let ahead = Followed::Changes { since: 1, after: Some(format!("CHANGE#{:015}#r", 30_000)) };
    let page = read(&ahead).unwrap();
    assert_eq!((page.changes.len(), &page.followed, page.more), (0, &ahead, false));
    let begin = Followed::Changes { since: 1, after: None };
    assert_eq!(read(&begin).unwrap().changes.len(), 1);

    let key = settings.schema.lineage_key(&tree);
    let mut lineage = table.0.lock().unwrap().get(&key).unwrap().clone();
    lineage.insert(FORMAT_ATTRIBUTE.to_owned(), AttributeValue::N((FORMAT_MAX + 1).to_string()));
    write(&table, &key, Some(lineage));
    assert!(matches!(read(&begin), Err(ReadError::Table(error)) if error.kind == ErrorKind::Retry));
}

#[test]
fn a_feed_is_read_strongly() {
    let ((table, settings), tree) = (table(), node("r"));
    let fanout = Fanout { settings: settings.clone(), ..Fanout::default() };
    handle(&fanout, &table, 10_000, &put(&table, "r", None));
    for from in [Followed::begin(20_000, Rules::default()), Followed::Changes { since: 1, after: None }] {
        let client = Client::new(&table, &At(20_000), &settings.schema);
        let reader = Reader::new(&client, &settings);
        let page = at_once(reader.changes(&tree, &from, 20_000, (10, Rules::default()))).unwrap();
        // A row or an entry, the record and the lineage: half of that if one of the reads isn't strong.
        assert_eq!((page.changes.len(), client.usage().read_units), (1, 3.0), "{from:?}");
    }
}

#[test]
#[ignore = "it tells how often each rule is missed"]
fn how_often() {
    let wanted = std::env::var("RULE").unwrap_or_default();
    let rules = [
        None,
        Some(Rule::TellAfterRows),
        Some(Rule::TellBeforeSettling),
        Some(Rule::TellDepth),
        Some(Rule::TellUnsettled),
        Some(Rule::UnsettledUntilTold),
        Some(Rule::NameLeft),
        Some(Rule::GoneIntent),
        Some(Rule::AnsweredInTime),
        Some(Rule::StayBehind),
        Some(Rule::LookUpListed),
    ];
    for rule in rules.into_iter().filter(|rule| wanted.is_empty() || format!("{rule:?}").contains(&wanted)) {
        for (number, profile) in profiles().enumerate() {
            let profile = Profile { broken: rule, ..profile };
            let range = seeds(300);
            let count = range.end - range.start;
            let all = faults(range, |seed| run(seed, &profile));

            println!("{rule:?} {:?} {}: {all} of {count}", profile.writers, number % 4);
        }
    }
}
