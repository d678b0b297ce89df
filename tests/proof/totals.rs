//! Totals: what comes between two requests, tables that refuse, and what others write under our keys. Random schedules
//! are in `simulation.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use sapwood_core::audit::{Difference, Kind, Mended, NotBegun, Redriven, Subject, due};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{ItemKey, NodeRef, Schema};
use sapwood_core::model::{AttributeValue, Decimal, Epoch, Item, Settings, Totals, number, text};
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::audit::Audit;
use sapwood_engine::fanout::{Fanout, Report, Run};
use sapwood_simulation::fixture::at_once;
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::MemoryTable;
use sapwood_simulation::oracle::{Contents, Oracle};
use sapwood_simulation::sim::wrong_totals;
use sapwood_store::{Action, Client, NoRetries, Table, TableError, Transacted};

/// What is done to transactions.
#[derive(Default)]
struct Transactions {
    /// The actions of each that was sent.
    sent: Vec<Vec<Action>>,
    /// True while none is taken.
    refused: bool,
    /// What is done just before the next one, by somebody else.
    before: Option<Deed>,
    /// What is done after so many pages of a scan.
    after_pages: Option<(usize, Deed)>,
    /// What is done just before lanes are read by their keys.
    before_lanes: Option<Deed>,
    /// What is done just after they were.
    after_lanes: Option<Deed>,
    /// The number of requests that read.
    reads: usize,
}

type Deed = Box<dyn FnOnce() + Send>;

#[derive(Clone, Default)]
struct Watched(Arc<Mutex<Transactions>>);

impl Watched {
    fn of<V>(&self, act: impl FnOnce(&mut Transactions) -> V) -> V {
        act(&mut self.0.lock().unwrap())
    }
}

impl Observer for Watched {
    async fn before(&self, request: &Request<'_>) {
        if request.is_read() {
            self.of(|of| of.reads += 1);
        }
        if matches!(request, Request::BatchGet(keys) if keys.iter().any(|key| key.sk.starts_with("TOTALS#"))) {
            let deed = self.of(|of| of.before_lanes.take());
            deed.into_iter().for_each(|deed| deed());
        }
        if matches!(request, Request::Scan(_)) {
            let deed = self.of(|of| match of.after_pages.take() {
                Some((0, deed)) => Some(deed),
                left => {
                    of.after_pages = left.map(|(pages, deed)| (pages - 1, deed));
                    None
                }
            });
            deed.into_iter().for_each(|deed| deed());
        }
        let Request::Transact(actions) = request else { return };
        let deed = self.of(|of| {
            of.sent.push(actions.to_vec());
            of.before.take()
        });
        deed.into_iter().for_each(|deed| deed());
    }

    fn after(&self, request: &Request<'_>) {
        if matches!(request, Request::BatchGet(keys) if keys.iter().any(|key| key.sk.starts_with("TOTALS#"))) {
            let deed = self.of(|of| of.after_lanes.take());
            deed.into_iter().for_each(|deed| deed());
        }
    }

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let is_refused = matches!(request, Request::Transact(_)) && self.of(|of| of.refused);
        is_refused.then(|| TableError::conflict("another transaction"))
    }
}

/// A table that keeps totals, and its handler.
struct World {
    table: Intercept<MemoryTable, Watched>,
    fanout: Fanout,
    runs: Mutex<u32>,
}

impl World {
    fn new(rules: Rules) -> Self {
        let table = MemoryTable(Arc::default(), Schema::default());
        let totals = Some(Totals::of(["size".to_owned()]));
        let fanout = Fanout { settings: Settings { totals, ..Settings::default() }, rules, ..Fanout::default() };
        Self { table: Intercept { table, observer: Watched::default() }, fanout, runs: Mutex::default() }
    }

    /// Puts a node.
    fn put(&self, id: &str, parent: Option<&str>, size: Option<&str>) {
        let mut item = Item::from([("PK".to_owned(), text(id)), ("SK".to_owned(), text("NODE"))]);
        item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
        item.extend(size.map(|size| ("size".to_owned(), AttributeValue::N(size.to_owned()))));
        self.write(id, "NODE", Some(item));
    }

    fn write(&self, pk: &str, sk: &str, item: Option<Item>) {
        self.table.table.0.lock().unwrap().write(&ItemKey::new(pk, sk), item);
    }

    fn get(&self, pk: &str, sk: &str) -> Option<Item> {
        self.table.table.0.lock().unwrap().get(&ItemKey::new(pk, sk)).cloned()
    }

    /// The records that nobody has handled, of items whose records are.
    fn records(&self) -> Vec<StreamRecord> {
        let all = std::mem::take(&mut self.table.table.0.lock().unwrap().stream);
        all.into_iter().filter(|record| self.fanout.settings.schema.passes_filter(&record.key.sk)).collect()
    }

    fn run(&self, table: &impl Table, records: &[StreamRecord]) -> Report {
        let name = {
            let mut runs = self.runs.lock().unwrap();
            *runs += 1;
            format!("run {runs}")
        };
        let report = pin!(self.fanout.run(table, &NoRetries, Run { name: &name, now: 0 }, records));
        let Poll::Ready(report) = report.poll(&mut Context::from_waker(Waker::noop())) else { panic!("it waits") };
        report
    }

    fn handle(&self, records: &[StreamRecord]) -> Report {
        self.run(&self.table, records)
    }

    /// Handles all records, and those that come of them.
    fn settle(&self) {
        for _ in 0..1_000 {
            let records = self.records();
            if records.is_empty() {
                return;
            }
            for batch in records.chunks(100) {
                assert_eq!(self.handle(batch).failed, Vec::<String>::new());
            }
        }
        panic!("it doesn't come to rest");
    }

    /// What is wrong at rest.
    fn wrong(&self) -> Vec<String> {
        let contents = self.table.table.0.lock().unwrap().contents();
        Oracle::default().differences(&contents).into_iter().chain(wrong_totals(&contents)).collect()
    }

    /// A total of a node, over its lanes of this epoch.
    fn total(&self, id: &str, epoch: u32, name: &str) -> String {
        let lane = |lane: u32| self.get(id, &format!("TOTALS#{epoch:04}#{lane:02}"));
        let number = |item: Item| match item.get(name) {
            Some(AttributeValue::N(digits)) => Decimal::sum(digits).unwrap(),
            _ => Decimal::ZERO,
        };
        (0..4).filter_map(lane).map(number).fold(Decimal::ZERO, |sum, more| sum + more).to_string()
    }

    fn sent(&self) -> Vec<Vec<Action>> {
        self.table.observer.of(|of| std::mem::take(&mut of.sent))
    }
}

/// `n` below `p` below `r`, settled.
fn small(rules: Rules) -> World {
    let world = World::new(rules);
    world.put("r", None, None);
    world.put("p", Some("r"), Some("1"));
    world.put("n", Some("p"), Some("10"));
    world.settle();
    world.sent();
    world
}

#[test]
fn totals_are_counted_as_nodes_come_change_move_and_go() {
    let world = small(Rules::default());
    let of = |id: &str| ["_count", "_children", "_sum_size"].map(|name| world.total(id, 0, name));
    assert_eq!((of("r"), of("p")), (["2", "1", "11"].map(str::to_owned), ["1", "1", "10"].map(str::to_owned)));
    world.put("n", Some("p"), Some("0.1"));
    world.settle();
    assert_eq!((of("r"), of("p")), (["2", "1", "1.1"].map(str::to_owned), ["1", "1", "0.1"].map(str::to_owned)));
    world.put("n", Some("r"), Some("0.1"));
    world.settle();
    assert_eq!((of("r"), of("p")), (["2", "2", "1.1"].map(str::to_owned), ["0", "0", "0"].map(str::to_owned)));
    world.write("n", "NODE", None);
    world.settle();
    assert_eq!(of("r"), ["1", "1", "1"].map(str::to_owned));
    assert!(world.get("n", "COUNTED").unwrap().contains_key("_expires"));
    assert_eq!(world.wrong(), Vec::<String>::new());
}

#[test]
fn what_changes_nothing_is_not_written() {
    let world = small(Rules::default());
    let mut item = world.get("n", "NODE").unwrap();
    item.insert("color".to_owned(), text("red"));
    world.write("n", "NODE", Some(item));
    world.settle();
    assert_eq!(world.sent(), Vec::<Vec<Action>>::new());
}

#[test]
fn a_size_that_is_set_there_and_back_needs_the_lock_of_its_nodes_records() {
    // A handler has read size = 20 and is about to count it. The client sets 10 again. Whoever looks now finds the node
    // counted as it should be, and has nothing to do. Then the first one counts 20.
    for at_once in [false, true] {
        let world = Arc::new(small(Rules::default()));
        world.put("n", Some("p"), Some("20"));
        let records = world.records();
        let other = Arc::clone(&world);
        world.table.observer.of(|of| {
            of.before = Some(Box::new(move || {
                other.put("n", Some("p"), Some("10"));
                if at_once {
                    // What would be if another invocation handled records of the node meanwhile, or those of its
                    // lineage had it counted as well.
                    let back = other.records();
                    assert_eq!(other.run(&other.table.table, &back).failed, Vec::<String>::new());
                }
            }));
        });
        assert_eq!(world.handle(&records).failed, Vec::<String>::new());
        world.settle();
        let sum = world.total("r", 0, "_sum_size");
        if at_once {
            assert_eq!(sum, "21", "without the lock nothing would be wrong: is the drill still one?");
        } else {
            assert_eq!(sum, "11");
            assert_eq!(world.wrong(), Vec::<String>::new());
        }
    }
}

#[test]
fn a_transaction_that_lands_after_its_node_has_gone_does_nothing() {
    // It was sent by a handler that died before there was an answer, and DynamoDB carries it out much later.
    let lands = |rules| {
        let world = World::new(rules);
        world.put("p", None, None);
        world.settle();
        world.put("n", Some("p"), Some("10"));
        let records = world.records();
        world.sent();
        world.table.observer.of(|of| of.refused = true);
        world.handle(&records);
        let late = world.sent().pop().unwrap();
        world.table.observer.of(|of| of.refused = false);
        world.write("n", "NODE", None);
        world.settle();
        let landed = at_once(world.table.table.transact(&late)).unwrap().value;
        (landed == Transacted::Done, world.total("p", 0, "_count"))
    };
    assert_eq!(lands(Rules::default()), (false, "0".to_owned()));
    assert_eq!(
        lands(Rules::without(Rule::CountedWhereNone)),
        (true, "1".to_owned()),
        "it counts a node that isn't there"
    );
    assert_eq!(lands(Rules::without(Rule::CountedTombstone)), (true, "1".to_owned()), "the same");
}

#[test]
fn where_the_table_takes_no_transaction_rows_are_not_put_again() {
    let rows_put = |rules| {
        let world = small(rules);
        world.table.observer.of(|of| of.refused = true);
        world.put("n", Some("p"), Some("20"));
        let (mut failed, mut put) = (Vec::new(), 0);
        let mut records = world.records();
        for _ in 0..4 {
            let report = world.handle(&records);
            put += report.counts.tally.rows_put;
            let left = records.into_iter().filter(|record| report.failed.contains(&record.sequence));
            let mut next: Vec<StreamRecord> = left.collect();
            failed.push(next.len());
            next.extend(world.records());
            records = next;
        }
        world.table.observer.of(|of| of.refused = false);
        world.handle(&records);
        world.settle();
        assert_eq!(world.wrong(), Vec::<String>::new());
        (put, failed)
    };
    // The node is touched once. After that the touch's own record waits, of which nothing comes but this.
    assert_eq!(rows_put(Rules::default()), (3, vec![0, 1, 1, 1]));
    let (put, failed) = rows_put(Rules::without(Rule::CountLater));
    assert!(put > 3 && failed[0] == 1, "{put} rows, {failed:?}");
}

#[test]
fn a_node_that_has_gone_and_cannot_be_uncounted_fails_its_record() {
    let world = small(Rules::default());
    world.write("n", "NODE", None);
    let records = world.records();
    let deed = Arc::new(Mutex::new(true));
    world.table.observer.of(|of| of.refused = *deed.lock().unwrap());
    assert_eq!(world.handle(&records).failed.len(), 1);
    assert_eq!(world.get("n", "NODE"), None, "nobody made it again");
    world.table.observer.of(|of| of.refused = false);
    assert_eq!(world.handle(&records).failed, Vec::<String>::new());
    world.settle();
    assert_eq!(world.wrong(), Vec::<String>::new());
}

#[test]
fn a_move_from_98_ancestors_to_98_others_takes_two_transactions() {
    let world = World::new(Rules::default());
    for (chain, number) in
        [("a", 98), ("b", 98)].into_iter().flat_map(|(chain, count)| (0..count).map(move |n| (chain, n)))
    {
        let parent = (number > 0).then(|| format!("{chain}{}", number - 1));
        world.put(&format!("{chain}{number}"), parent.as_deref(), Some("1"));
    }
    world.put("n", Some("a97"), Some("10"));
    world.settle();
    assert_eq!((world.total("a0", 0, "_sum_size"), world.total("b0", 0, "_sum_size")), ("107".into(), "97".into()));
    world.sent();
    world.put("n", Some("b97"), Some("20"));
    let records = world.records();
    assert_eq!(world.handle(&records).failed, Vec::<String>::new());
    assert_eq!(world.sent().iter().map(Vec::len).collect::<Vec<_>>(), [99, 99]);
    world.settle();
    assert_eq!((world.total("a0", 0, "_sum_size"), world.total("b0", 0, "_sum_size")), ("97".into(), "117".into()));
    assert_eq!(world.wrong(), Vec::<String>::new());
}

#[test]
fn nodes_of_a_batch_share_transactions_that_name_no_item_twice() {
    let world = World::new(Rules::default());
    world.put("r", None, None);
    (0..20).for_each(|n| world.put(&format!("p{n}"), Some("r"), None));
    world.settle();
    world.sent();
    // Sorted by their parents, and not.
    for (name, of_parent) in [("s", 5), ("t", 1)] {
        (0..100)
            .for_each(|n| world.put(&format!("{name}{n:02}"), Some(&format!("p{}", n / of_parent % 20)), Some("2")));
        let records = world.records();
        assert_eq!(world.handle(&records).failed, Vec::<String>::new());
        let sent = world.sent();
        for actions in &sent {
            let keys: BTreeSet<&ItemKey> = actions.iter().map(Action::key).collect();
            assert!(keys.len() == actions.len() && actions.len() <= 100, "{} of {}", keys.len(), actions.len());
        }
        assert_eq!(sent.len(), 2, "100 nodes, and 21 ancestors in each transaction at most");
        world.settle();
        world.sent();
    }
    assert_eq!(world.total("r", 0, "_sum_size"), "400");
    assert_eq!(world.wrong(), Vec::<String>::new());
}

#[test]
fn a_lane_that_another_client_has_written_keeps_no_other_node_from_being_counted() {
    let world = small(Rules::default());
    for lane in 0..4 {
        let item = [("PK", text("p")), ("SK", text(format!("TOTALS#0000#{lane:02}"))), ("_count", text("many"))];
        let item = item.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        world.write("p", &format!("TOTALS#0000#{lane:02}"), Some(item));
    }
    world.put("q", Some("r"), Some("5"));
    world.put("m", Some("p"), Some("7"));
    let records = world.records();
    let report = world.handle(&records);
    assert_eq!(report.failed, Vec::<String>::new());
    assert_eq!(
        report.problems.iter().map(|problem| problem.key.pk.as_str()).collect::<BTreeSet<_>>(),
        ["m", "q"].into()
    );
    assert_eq!((world.total("r", 0, "_count"), world.total("r", 0, "_sum_size")), ("3".into(), "16".into()));
    assert_eq!(world.get("m", "COUNTED"), None);
}

#[test]
fn totals_that_are_begun_anew_count_each_node_once() {
    let world = small(Rules::default());
    let begin = |epoch: u32| {
        world.write("SAPWOOD", "EPOCH", Some(Epoch(epoch).item(&Schema::default())));
        ["r", "p", "n"].into_iter().for_each(|id| touch(&world, id, epoch));
    };
    begin(1);
    world.settle();
    assert_eq!((world.total("r", 1, "_count"), world.total("r", 1, "_sum_size")), ("2".into(), "11".into()));
    assert_eq!(world.total("r", 0, "_count"), "2", "what was before stays as it is");
    assert_eq!(world.wrong(), Vec::<String>::new());
}

/// What a comparison of the whole table finds, by kind and node, with strong reads.
fn compared(world: &World) -> Vec<(Kind, String)> {
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table.table, &NoRetries, &settings.schema);
    let audit = Audit::new(&client, settings);
    let page = at_once(audit.page(0, 1, None, 10_000)).unwrap();
    let subjects = page.suspects.iter().map(Difference::subject).collect();
    let found = at_once(audit.look(subjects)).unwrap();
    found.into_iter().map(|one| (one.kind, one.key.pk)).collect()
}

/// Counts totals anew, in so many parts of the table.
fn recount(world: &World, ids: &[&str], segments: u32, rules: Rules) -> BTreeMap<String, Mended> {
    recount_after(world, ids, segments, rules, ready(()))
}

/// The same, with something that happens while the recount waits for transactions.
fn recount_after(
    world: &World,
    ids: &[&str],
    segments: u32,
    rules: Rules,
    settled: impl Future<Output = ()>,
) -> BTreeMap<String, Mended> {
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table, &NoRetries, &settings.schema);
    let nodes = ids.iter().map(|id| node(id)).collect();
    let audit = Audit::new(&client, settings);
    let recounted = audit.recount(nodes, "1".to_owned(), rules, segments, settled, |_| ready(()));
    at_once(recounted).unwrap().into_iter().map(|(node, mended)| (node.id.to_string(), mended)).collect()
}

fn node(id: &str) -> NodeRef {
    sapwood_core::keys::Id::new(id).unwrap().into()
}

/// Repairs the table until nothing is left to repair.
fn repair(world: &World) {
    let settings = &world.fanout.settings;
    for round in 0..5 {
        let client = Client::new(&world.table.table, &NoRetries, &settings.schema);
        let audit = Audit::new(&client, settings);
        let page = at_once(audit.page(0, 1, None, 10_000)).unwrap();
        let (totals, due): (Vec<_>, Vec<_>) = due(page.suspects).into_iter().partition(|one| one.kind.is_recounted());
        let totals: Vec<&str> = totals.iter().map(|one| one.node.id.as_str()).collect();
        recount(world, &totals, 3, Rules::default());
        for (position, difference) in due.into_iter().enumerate() {
            at_once(audit.mend(difference, format!("{round}{position:04}"), Rules::default())).unwrap();
        }
        world.settle();
    }
}

#[test]
fn what_the_handler_was_never_told_of_is_found_and_counted() {
    let world = small(Rules::default());
    let settings = Settings { totals: None, ..world.fanout.settings.clone() };
    // Handlers that count nothing, of an earlier release, say: rows are right then, and totals aren't.
    let old = World { fanout: Fanout { settings, ..Fanout::default() }, ..world };
    old.put("n", Some("r"), Some("20"));
    old.put("m", Some("p"), Some("3"));
    old.settle();
    let world = World { fanout: small(Rules::default()).fanout, ..old };
    let found = compared(&world);
    let counts: Vec<&str> =
        found.iter().filter(|(kind, _)| *kind == Kind::CountWrong).map(|(_, id)| id.as_str()).collect();
    assert_eq!(counts, ["m", "n"]);
    // As long as a child isn't counted, nobody can say that the totals above it are right.
    assert!(found.contains(&(Kind::TotalUnsettled, "r".to_owned())), "{found:?}");
    let puts = world.table.observer.of(|of| of.sent.len());
    repair(&world);
    assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()));
    assert_eq!(world.total("r", 0, "_sum_size"), "24");
    assert!(world.table.observer.of(|of| of.sent.len()) > puts);
}

#[test]
fn a_node_that_has_gone_and_is_still_counted_is_found_and_redriven() {
    // The handler had deleted the lineage, and its record was given up before the totals were written.
    let left = || {
        let world = small(Rules::default());
        world.table.observer.of(|of| of.refused = true);
        world.write("n", "NODE", None);
        let records = world.records();
        world.handle(&records);
        world.records();
        world.table.observer.of(|of| of.refused = false);
        assert_eq!((world.get("n", "LINEAGE"), world.total("r", 0, "_count")), (None, "2".to_owned()));
        world
    };
    let world = left();
    // What counts it is more than what is below.
    assert_eq!(compared(&world), [(Kind::CountSurplus, "n".to_owned()), (Kind::TotalWrong, "p".to_owned())]);
    repair(&world);
    assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()));
    let world = left();
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table.table, &NoRetries, &settings.schema);
    let redriven =
        at_once(Audit::new(&client, settings).redrive(ItemKey::new("n", "NODE"), "1".to_owned(), Rules::default()));
    assert_eq!(redriven.unwrap(), Redriven::DeletedAgain);
    world.settle();
    assert_eq!(world.wrong(), Vec::<String>::new());
}

/// A restored copy that has one half of transactions each: what nodes were counted as is of before, of after, or gone,
/// and so are totals.
fn half_restored() -> World {
    let world = small(Rules::default());
    let (counted, lane) = (world.get("n", "COUNTED").unwrap(), |lane| format!("TOTALS#0000#{lane:02}"));
    world.put("n", Some("r"), Some("20"));
    world.put("q", Some("p"), Some("1"));
    world.settle();
    world.write("n", "COUNTED", Some(counted));
    world.write("q", "COUNTED", None);
    (0..3).for_each(|number| world.write("r", &lane(number), None));
    world.records();
    assert!(!world.wrong().is_empty());
    world
}

#[test]
fn a_restored_copy_with_half_of_a_transaction_is_right_in_a_new_epoch() {
    let world = half_restored();
    world.write("SAPWOOD", "EPOCH", Some(Epoch(1).item(&Schema::default())));
    let found = compared(&world);
    assert_eq!(found.iter().filter(|(kind, _)| *kind == Kind::CountWrong).count(), 4, "{found:?}");
    assert!(found.iter().any(|(kind, _)| *kind == Kind::TotalsLeft), "{found:?}");
    repair(&world);
    assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()));
    let contents = world.table.table.0.lock().unwrap().contents();
    assert!(!contents.keys().any(|(_, sk)| sk.starts_with("TOTALS#0000")), "parts of the earlier epoch are left");
}

/// Their keys are reserved, and no handler has written them.
#[test]
fn items_of_others_under_the_keys_of_totals_stay() {
    let world = small(Rules::default());
    let others = [("TOTALS#2024#01", None), ("TOTALS#0000#00", None), ("TOTALS#0000#01", Some(number(1)))];
    for (sk, writes) in &others {
        let mut item =
            Item::from([("PK".into(), text("ACME")), ("SK".into(), text(*sk)), ("amount".into(), text("5"))]);
        item.extend(writes.clone().map(|writes| ("_writes".to_owned(), writes)));
        world.write("ACME", sk, Some(item));
    }
    for epoch in [0, 2_025] {
        world.write("SAPWOOD", "EPOCH", Some(Epoch(epoch).item(&Schema::default())));
        repair(&world);
        assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()), "{epoch}");
        for (sk, _) in &others {
            assert!(world.get("ACME", sk).is_some(), "{epoch}: {sk}");
        }
    }
}

#[test]
fn a_restored_copy_with_half_of_a_transaction_is_mended_in_place() {
    let world = half_restored();
    repair(&world);
    assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()));
    assert_eq!(world.get("SAPWOOD", "EPOCH"), None, "no epoch has begun");
}

/// Lanes of `r` that are wrong, in every way.
fn wrong_lanes() -> Vec<Item> {
    let number = |digits: &str| AttributeValue::N(digits.to_owned());
    let lanes = [
        vec![("_count", number("7"))],
        vec![("_count", text("many")), ("_writes", number("3"))],
        vec![("_sum_size", number("0.000000001")), ("_writes", text("often"))],
        vec![("_count", number("7")), ("_writes", number("18446744073709551615"))],
        vec![],
    ];
    let own = |lane: Vec<(&str, AttributeValue)>| {
        lane.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Item>()
    };
    lanes.into_iter().map(own).collect()
}

#[test]
fn wrong_totals_are_counted_anew_in_place_and_nothing_else_is_written() {
    for (number, wrong) in wrong_lanes().into_iter().enumerate() {
        let world = small(Rules::default());
        let right = world.table.table.0.lock().unwrap().contents();
        for lane in 0..4 {
            let key = [("PK", text("r")), ("SK", text(format!("TOTALS#0000#{lane:02}")))];
            let key = key.map(|(name, value)| (name.to_owned(), value));
            world.write("r", &format!("TOTALS#0000#{lane:02}"), Some(wrong.clone().into_iter().chain(key).collect()));
        }
        world.records();
        assert_eq!(compared(&world), [(Kind::TotalWrong, "r".to_owned())], "{number}");
        let found = recount(&world, &["r", "p"], 3, Rules::default());
        let mended = [("p", Mended::Gone), ("r", Mended::Recounted)].map(|(id, mended)| (id.to_owned(), mended));
        assert_eq!(found, mended.into(), "{number}");
        assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()), "{number}");
        let others = |all: Contents| all.into_iter().filter(|((_, sk), _)| !sk.starts_with("TOTALS#"));
        let mended = world.table.table.0.lock().unwrap().contents();
        assert!(others(mended).eq(others(right)), "{number}");
        // Handlers go on adding.
        world.put("m", Some("p"), Some("5"));
        world.settle();
        assert_eq!((world.wrong(), world.total("r", 0, "_sum_size")), (Vec::new(), "16".to_owned()));
    }
}

/// A recount of all totals, while after so many of its pages somebody does something. Returns what is wrong then, and
/// what the recount says of `r`.
fn recounted_while(
    pages: usize,
    rules: Rules,
    deed: impl FnOnce(&World) + Send + 'static,
) -> (Vec<String>, Option<Mended>) {
    let world = small(rules);
    world.put("q", Some("r"), Some("1"));
    world.put("m", Some("q"), Some("10"));
    world.settle();
    let world = Arc::new(world);
    let other = Arc::clone(&world);
    world.table.observer.of(|of| of.after_pages = Some((pages, Box::new(move || deed(&other)))));
    let found = recount(&world, &["p", "q", "r"], SEGMENTS, rules);
    assert!(world.table.observer.of(|of| of.after_pages.is_none()), "the scan has fewer pages");
    world.settle();
    (world.wrong(), found.get("r").copied())
}

/// The parts of a table whose pages come one after another.
const SEGMENTS: u32 = 16;

/// What other invocations do with the table, past the one that is watched.
fn settle_beside(world: &World) {
    for _ in 0..20 {
        let records = world.records();
        assert_eq!(world.run(&world.table.table, &records).failed, Vec::<String>::new());
    }
}

#[test]
fn a_recount_beside_writers_is_exact_or_does_nothing() {
    let wrong_without = |rule: Option<Rule>, deed: fn(&World)| {
        let rules = rule.map_or(Rules::default(), Rules::without);
        (0..SEGMENTS as usize).filter(|pages| !recounted_while(*pages, rules, deed).0.is_empty()).count()
    };
    let grows = |world: &World| {
        world.put("n", Some("p"), Some("20"));
        settle_beside(world);
    };
    // Two nodes change places in one batch: the totals stay what they are, and what is read of the two doesn't.
    let swap = |world: &World| {
        world.put("n", Some("q"), Some("10"));
        world.put("m", Some("p"), Some("10"));
        settle_beside(world);
    };
    assert_eq!((wrong_without(None, grows), wrong_without(None, swap)), (0, 0));
    assert!(wrong_without(Some(Rule::RecountAsRead), grows) > 0);
    assert!(wrong_without(Some(Rule::CountWrites), swap) > 0);
    assert_eq!(recounted_while(3, Rules::default(), grows).1, Some(Mended::Busy));
}

#[test]
fn a_recount_knows_lanes_that_went_and_came_back() {
    // A node comes after the lanes were read and before it was, and goes again. Then empty totals are deleted. Perhaps
    // they were deleted before as well, between the mark and the look at the lanes.
    let wrong = |rules: Rules, is_deleted_first: bool| {
        let world = World::new(rules);
        world.put("p", None, None);
        world.settle();
        let world = Arc::new(world);
        let (first, comes, goes) = (Arc::clone(&world), Arc::clone(&world), Arc::clone(&world));
        if is_deleted_first {
            let deed = move || first.write("p", "TOTALS#0000#00", None);
            world.table.observer.of(|of| of.before_lanes = Some(Box::new(deed)));
        }
        let gone = move || {
            goes.write("n", "NODE", None);
            settle_beside(&goes);
            (0..4).for_each(|lane| goes.write("p", &format!("TOTALS#0000#{lane:02}"), None));
        };
        let came = move || {
            comes.put("n", Some("p"), Some("10"));
            settle_beside(&comes);
            // Before the last page.
            comes.table.observer.of(|of| of.after_pages = Some((SEGMENTS as usize - 2, Box::new(gone))));
        };
        world.table.observer.of(|of| of.after_pages = Some((0, Box::new(came))));
        let found = recount(&world, &["p"], SEGMENTS, rules);
        (world.total("p", 0, "_count") != "0", found["p"])
    };
    for is_deleted_first in [false, true] {
        assert_eq!(wrong(Rules::default(), is_deleted_first), (false, Mended::Busy));
        let without = wrong(Rules::without(Rule::RecountMark), is_deleted_first);
        assert_eq!(without, (true, Mended::Recounted), "a node that has gone is counted");
    }
}

#[test]
fn a_recount_waits_for_transactions_that_only_a_part_is_seen_of() {
    // DynamoDB's reads of several items are read-committed: lanes are read as after a transaction, and what its node is
    // counted as, a moment later, as before.
    let wrong = |rules: Rules| {
        let world = small(rules);
        world.put("n", Some("p"), Some("20"));
        let records = world.records();
        world.table.observer.of(|of| of.refused = true);
        world.handle(&records);
        world.table.observer.of(|of| of.refused = false);
        let actions = world.sent().pop().unwrap();
        let (counted, lanes): (Vec<Action>, Vec<Action>) =
            actions.into_iter().partition(|action| action.key().sk == "COUNTED");
        let world = Arc::new(world);
        let see = |actions: Vec<Action>| {
            let world = Arc::clone(&world);
            move || actions.iter().for_each(|one| _ = at_once(world.table.table.transact(std::slice::from_ref(one))))
        };
        see(lanes)();
        // The rest is seen while the recount waits, and before its own transaction at the latest.
        world.table.observer.of(|of| of.before = Some(Box::new(see(counted.clone()))));
        let rest = see(counted);
        recount_after(&world, &["p", "r"], 3, rules, async { rest() });
        world.settle();
        world.wrong()
    };
    assert_eq!(wrong(Rules::default()), Vec::<String>::new());
    assert!(!wrong(Rules::without(Rule::RecountWaits)).is_empty());
}

#[test]
fn totals_above_that_lack_the_same_are_counted_anew_as_well() {
    // A copy of the table has what a node is counted as, and lacks what was added to the totals of all its ancestors.
    // Those above its parent seem right: they are what their children and the totals of these add up to.
    let wrong_after = |rules: Rules| {
        let world = small(rules);
        let lanes =
            ["r", "p"].into_iter().flat_map(|id| (0..4).map(move |lane| (id, format!("TOTALS#0000#{lane:02}"))));
        let before: Vec<_> = lanes.map(|(id, sk)| (id, world.get(id, &sk), sk)).collect();
        world.put("m", Some("p"), Some("5"));
        world.settle();
        before.into_iter().for_each(|(id, lane, sk)| world.write(id, &sk, lane));
        world.records();
        assert_eq!(compared(&world), [(Kind::TotalWrong, "p".to_owned())]);
        recount(&world, &["p"], 3, rules);
        compared(&world)
    };
    assert_eq!(wrong_after(Rules::default()), Vec::new());
    assert_eq!(wrong_after(Rules::without(Rule::RecountAbove)), [(Kind::TotalWrong, "r".to_owned())]);
}

#[test]
fn a_recount_leaves_what_a_newer_version_has_a_say_in() {
    let world = small(Rules::default());
    let mut counted = world.get("n", "COUNTED").unwrap();
    counted.insert("format".to_owned(), AttributeValue::N("99".to_owned()));
    world.write("n", "COUNTED", Some(counted));
    let contents = || {
        let all = world.table.table.0.lock().unwrap().contents();
        all.into_iter().filter(|((_, sk), _)| !sk.starts_with("TOTALS#")).collect::<Contents>()
    };
    let (before, total) = (contents(), world.total("r", 0, "_sum_size"));
    assert_eq!(recount(&world, &["r"], 2, Rules::default())["r"], Mended::Left);
    assert_eq!((contents(), world.total("r", 0, "_sum_size")), (before, total));
    // It has no say beside its own ancestors.
    world.put("q", None, None);
    world.put("m", Some("q"), Some("3"));
    world.settle();
    (0..4).for_each(|lane| world.write("q", &format!("TOTALS#0000#{lane:02}"), None));
    let mended = recount(&world, &["q", "p"], 2, Rules::default());
    assert_eq!(
        (mended["q"], mended["p"], world.total("q", 0, "_sum_size")),
        (Mended::Recounted, Mended::Left, "3".into())
    );
    // Where its lineage can't be read either, nobody knows its ancestors.
    let mut lineage = world.get("n", "LINEAGE").unwrap();
    lineage.insert("format".to_owned(), AttributeValue::N("99".to_owned()));
    world.write("n", "LINEAGE", Some(lineage));
    assert_eq!(recount(&world, &["q"], 2, Rules::default())["q"], Mended::Left);
}

#[test]
fn totals_of_a_node_that_has_gone_are_deleted_once_they_are_nothing() {
    let left = |rules| {
        let world = small(rules);
        world.write("p", "NODE", None);
        world.settle();
        assert_eq!(world.total("p", 0, "_count"), "1", "an orphan is counted where it was, until it is placed");
        world.write("n", "NODE", None);
        world.settle();
        world
    };
    let lanes =
        |world: &World| (0..4).filter(|lane| world.get("p", &format!("TOTALS#0000#{lane:02}")).is_some()).count();
    let world = left(Rules::default());
    assert!(lanes(&world) > 0);
    // Nothing is wrong: it is only tidied.
    assert_eq!(compared(&world), [(Kind::TotalsEmpty, "p".to_owned())]);
    assert!(Kind::TotalsEmpty.is_finding() && Kind::TotalsEmpty.is_tidied());
    repair(&world);
    assert_eq!((lanes(&world), compared(&world)), (0, Vec::new()));
    // The node comes back, with others below it, between the look and the deletion.
    for rule in [None, Some(Rule::EmptyAsRead)] {
        let rules = rule.map_or(Rules::default(), Rules::without);
        let world = Arc::new(left(rules));
        let other = Arc::clone(&world);
        world.table.observer.of(|of| {
            of.before = Some(Box::new(move || {
                other.put("p", Some("r"), Some("1"));
                // Each run has a lane of its own.
                for number in 0..6 {
                    other.put(&format!("n{number}"), Some("p"), Some("10"));
                    let records = other.records();
                    other.run(&other.table.table, &records);
                }
                settle_beside(&other);
            }));
        });
        let settings = &world.fanout.settings;
        let client = Client::new(&world.table, &NoRetries, &settings.schema);
        let (key, node) = (ItemKey::new("p", "TOTALS#0000#00"), node("p"));
        let mended = at_once(Audit::new(&client, settings).mend(
            Difference::unseen(Kind::TotalsEmpty, key, node),
            "1".to_owned(),
            rules,
        ));
        assert_eq!(mended.unwrap() == Mended::Deleted, rule.is_some());
        world.settle();
        assert_eq!(world.wrong().is_empty(), rule.is_none(), "{rule:?}");
    }
}

#[test]
fn the_totals_of_a_wide_node_are_looked_at_once_and_beyond_a_bound_not_at_all() {
    let world = World::new(Rules::default());
    world.put("r", None, None);
    (0..300).for_each(|number| world.put(&format!("n{number}"), Some("r"), Some("1")));
    world.settle();
    let wrong = [("PK", text("r")), ("SK", text("TOTALS#0000#03")), ("_count", text("many"))];
    let wrong = wrong.map(|(name, value)| (name.to_owned(), value)).into();
    world.write("r", "TOTALS#0000#03", Some(wrong));
    world.records();
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table, &NoRetries, &settings.schema);
    let compared = |children_max: usize| {
        let audit = Audit::new(&client, settings).with_totals_of(children_max);
        world.table.observer.of(|of| of.reads = 0);
        let (mut from, mut found) = (None, Vec::new());
        loop {
            let page = at_once(audit.page(0, 1, from.as_ref(), 25)).unwrap();
            found.extend(page.suspects.into_iter().map(|one| one.kind));
            from = page.next;
            if from.is_none() {
                break (found, world.table.observer.of(|of| of.reads));
            }
        }
    };
    let ((none, without), (found, with)) = (compared(299), compared(300));
    // The rows of its children are on a dozen pages. One of them has its totals looked at, and one of its lanes does.
    assert!(none.iter().all(|kind| *kind == Kind::TotalNotCompared) && (1..=2).contains(&none.len()), "{none:?}");
    assert!(found.iter().all(|kind| *kind == Kind::TotalWrong) && found.len() == none.len(), "{found:?}");
    assert!(with - without < 30, "{without} and {with} reads");
}

#[test]
fn a_transaction_later_than_anything_assumed_breaks_no_sum_and_is_found() {
    // A handler dies with a request under way. Its record is handled again when the size is what it was before, so that
    // nothing is to be done, and only then DynamoDB carries the request out.
    let world = small(Rules::default());
    world.put("n", Some("p"), Some("20"));
    let records = world.records();
    world.table.observer.of(|of| of.refused = true);
    world.handle(&records);
    let late = world.sent().pop().unwrap();
    world.table.observer.of(|of| of.refused = false);
    world.put("n", Some("p"), Some("10"));
    world.settle();
    assert_eq!(at_once(world.table.table.transact(&late)).unwrap().value, Transacted::Done);
    assert_eq!(world.total("r", 0, "_sum_size"), "21");
    assert_eq!(compared(&world), [(Kind::CountWrong, "n".to_owned())], "the sums are those of what is counted");
    repair(&world);
    assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()));
}

#[test]
fn totals_that_are_not_what_is_below_are_found_and_right_ones_are_not() {
    let world = small(Rules::default());
    // A cycle, and nodes deeper than are counted.
    for (id, parent) in [("x", "z"), ("y", "x"), ("z", "y"), ("w", "y")] {
        world.put(id, Some(parent), Some("3"));
    }
    for number in 0..105 {
        let parent = (number > 0).then(|| format!("c{}", number - 1));
        world.put(&format!("c{number}"), parent.as_deref(), Some("1"));
    }
    world.settle();
    assert!(
        compared(&world).iter().all(|(kind, _)| [Kind::Cycle, Kind::TooDeep, Kind::TotalNotCompared].contains(kind)),
        "{:?}",
        compared(&world)
    );
    let lane = (0..4).map(|lane| format!("TOTALS#0000#{lane:02}")).find(|sk| world.get("r", sk).is_some()).unwrap();
    let before = world.get("r", &lane);
    let mut wrong = before.clone().unwrap();
    wrong.insert("_sum_size".to_owned(), AttributeValue::N("1000".to_owned()));
    for damaged in [None, Some(wrong)] {
        world.write("r", &lane, damaged);
        assert!(compared(&world).contains(&(Kind::TotalWrong, "r".to_owned())), "{:?}", compared(&world));
        world.write("r", &lane, before.clone());
    }
    assert!(!compared(&world).iter().any(|(kind, _)| *kind == Kind::TotalWrong));
}

#[test]
fn what_cannot_be_added_up_is_a_finding_about_the_record() {
    let world = small(Rules::default());
    world.put("n", Some("p"), Some("12345678901234567890"));
    world.settle();
    assert_eq!(compared(&world), [(Kind::TotalLeftOut, "n".to_owned())]);
    assert_eq!((world.total("r", 0, "_count"), world.total("r", 0, "_sum_size")), ("2".into(), "1".into()));
}

/// What a look at the totals of `p` finds, with the hash of what it was judged from, while a sibling of this name comes
/// between the look at the lanes of `p` and that at its children.
fn looked_while_one_comes(world: &Arc<World>, id: &'static str) -> Vec<(Kind, u64)> {
    let other = Arc::clone(world);
    world.table.observer.of(|of| {
        of.after_lanes = Some(Box::new(move || {
            other.put(id, Some("p"), Some("10"));
            settle_beside(&other);
        }));
    });
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table, &NoRetries, &settings.schema);
    let found = at_once(Audit::new(&client, settings).look([Subject::Totals(node("p"))].into())).unwrap();
    found.into_iter().map(|one| (one.kind, one.evidence)).collect()
}

#[test]
fn totals_that_are_written_during_each_look_are_never_the_same_twice() {
    // One child comes during each look: the lanes are those of before, and the children those of after. Were the
    // difference all that is compared, right totals would count as wrong.
    let world = Arc::new(small(Rules::default()));
    let found: BTreeSet<(Kind, u64)> =
        ["a", "b", "c"].into_iter().flat_map(|id| looked_while_one_comes(&world, id)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!((world.wrong(), compared(&world)), (Vec::new(), Vec::new()));
}

#[test]
fn children_on_their_way_are_another_one_at_each_look() {
    let world = small(Rules::default());
    world.put("m", Some("p"), Some("1"));
    world.settle();
    let settings = &world.fanout.settings;
    let evidence = |id: &str| {
        let counted = world.get(id, "COUNTED");
        world.write(id, "COUNTED", None);
        let client = Client::new(&world.table, &NoRetries, &settings.schema);
        let found = at_once(Audit::new(&client, settings).look([Subject::Totals(node("p"))].into())).unwrap();
        world.write(id, "COUNTED", counted);
        assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), [Kind::TotalUnsettled]);
        found[0].evidence
    };
    assert_eq!(evidence("m"), evidence("m"), "one that stays so is the same");
    assert_ne!(evidence("m"), evidence("n"), "it is said of right totals above which children come all the time");
}

#[test]
fn nobody_is_told_that_a_count_holds_while_a_sibling_comes() {
    // What `n` is counted as was deleted, and the totals hold it. An equal sibling comes between the look at the lanes
    // and that at the children: the totals seem to lack `n`. The auditor would have it counted twice.
    let world = Arc::new(small(Rules::default()));
    world.write("n", "COUNTED", None);
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table, &NoRetries, &settings.schema);
    let other = Arc::clone(&world);
    world.table.observer.of(|of| {
        of.after_lanes = Some(Box::new(move || {
            other.put("m", Some("p"), Some("10"));
            settle_beside(&other);
        }));
    });
    assert!(!at_once(Audit::new(&client, settings).count_holds(&node("n"))).unwrap());
}

fn touch(world: &World, id: &str, number: u32) {
    let mut item = world.get(id, "NODE").unwrap();
    item.insert("_redriven".to_owned(), text(format!("{number}")));
    world.write(id, "NODE", Some(item));
}

#[test]
fn where_the_epoch_is_lost_nodes_stay_in_theirs() {
    // A client has deleted the item, or a copy of the table lacks it.
    let total = |rules| {
        let world = small(rules);
        world.write("SAPWOOD", "EPOCH", Some(Epoch(3).item(&Schema::default())));
        ["r", "p", "n"].into_iter().for_each(|id| touch(&world, id, 3));
        world.settle();
        world.write("SAPWOOD", "EPOCH", None);
        world.put("n", Some("p"), Some("20"));
        world.settle();
        world.total("r", 3, "_sum_size")
    };
    assert_eq!(total(Rules::default()), "21");
    assert_eq!(total(Rules::without(Rule::EpochOnwards)), "11", "the rest is counted in an epoch that nobody reads");
}

/// The two items of an epoch that somebody has begun by this name.
fn begun(world: &World, epoch: u32, name: &str) {
    let schema = Schema::default();
    let mut item = Epoch(epoch).item(&schema);
    item.insert("unfinished".to_owned(), text(name));
    world.write("SAPWOOD", "EPOCH", Some(item));
    world.write("SAPWOOD", "EPOCH#COPY", Some(Epoch(epoch).copy(&schema)));
}

/// Begins an epoch, with something that happens just before it is written.
fn begin_while(rules: Rules, deed: impl FnOnce(&World) + Send + 'static) -> (Result<Epoch, NotBegun>, Arc<World>) {
    let world = Arc::new(small(rules));
    let other = Arc::clone(&world);
    world.table.observer.of(|of| of.before = Some(Box::new(move || deed(&other))));
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table, &NoRetries, &settings.schema);
    let found = at_once(Audit::new(&client, settings).begin_epoch(&[], "mine", rules)).unwrap();
    (found, world)
}

#[test]
fn whoever_begins_an_epoch_knows_its_own_write_and_goes_over_no_others() {
    let (mine, other) = (|world: &World| begun(world, 1, "mine"), |world: &World| begun(world, 5, "other"));
    // The first attempt was carried out, and its answer was lost.
    assert_eq!(begin_while(Rules::default(), mine).0, Ok(Epoch(1)));
    assert_eq!(begin_while(Rules::without(Rule::EpochByName), mine).0, Err(NotBegun::Taken));
    let (found, world) = begin_while(Rules::default(), other);
    assert_eq!((found, Epoch::read(world.get("SAPWOOD", "EPOCH").as_ref())), (Err(NotBegun::Taken), Ok(Epoch(5))));
    let (found, world) = begin_while(Rules::without(Rule::EpochAsRead), other);
    let back = Epoch::read(world.get("SAPWOOD", "EPOCH").as_ref());
    assert_eq!((found, back), (Ok(Epoch(1)), Ok(Epoch(1))), "nodes that are counted in 5 stay there");
}

#[test]
fn a_number_that_somebody_has_altered_since_is_not_the_epoch_that_was_begun() {
    // A backfill was stopped, and somebody has put back the number alone. Nodes that are counted in 1 would stay so.
    let world = small(Rules::default());
    begun(&world, 2, "mine");
    let mut altered = world.get("SAPWOOD", "EPOCH").unwrap();
    altered.insert("epoch".to_owned(), number(1));
    world.write("SAPWOOD", "EPOCH", Some(altered));
    let settings = &world.fanout.settings;
    let client = Client::new(&world.table, &NoRetries, &settings.schema);
    let begin = || at_once(Audit::new(&client, settings).begin_epoch(&[], "mine", Rules::default())).unwrap();
    assert_eq!((begin(), begin()), (Ok(Epoch(3)), Ok(Epoch(3))));
}

#[test]
fn whoever_ends_an_epoch_ends_no_other() {
    let ended = |rules: Rules| {
        let world = small(rules);
        begun(&world, 2, "other");
        let settings = &world.fanout.settings;
        let client = Client::new(&world.table, &NoRetries, &settings.schema);
        let is_ended = at_once(Audit::new(&client, settings).end_epoch(Epoch(1), "mine", rules)).unwrap();
        (is_ended, world.get("SAPWOOD", "EPOCH").unwrap().contains_key("unfinished"))
    };
    assert_eq!(ended(Rules::default()), (false, true));
    assert_eq!(ended(Rules::without(Rule::EpochByName)), (true, false));
}

#[test]
fn an_epoch_is_later_than_all_that_is_counted_whatever_the_item_says() {
    for (said, used, wanted) in [
        (None, vec![Epoch(7)], Ok(Epoch(8))),
        (Some(9_999), vec![], Ok(Epoch(0))),
        (Some(9_999), vec![Epoch(2), Epoch(9_999)], Ok(Epoch(3))),
        (Some(3_500), vec![Epoch(0), Epoch(7_000)], Err(NotBegun::AllAround)),
    ] {
        let world = small(Rules::default());
        world.write("SAPWOOD", "EPOCH", said.map(|epoch| Epoch(epoch).item(&Schema::default())));
        let settings = &world.fanout.settings;
        let client = Client::new(&world.table, &NoRetries, &settings.schema);
        let found = at_once(Audit::new(&client, settings).begin_epoch(&used, "mine", Rules::default())).unwrap();
        assert_eq!(found, wanted, "{said:?} {used:?}");
    }
}

#[test]
fn what_is_ahead_of_the_epoch_stays_if_that_epoch_begins() {
    let stays = |kind, sk: &'static str, rules: Rules| {
        let world = Arc::new(small(rules));
        let mut counted = world.get("n", "COUNTED").unwrap();
        counted.insert("epoch".to_owned(), number(1));
        world.write("n", "COUNTED", Some(counted));
        let lane = (0..4).find_map(|lane| world.get("p", &format!("TOTALS#0000#{lane:02}")));
        let lane = lane.map(|lane| lane.into_iter().chain([("SK".to_owned(), text("TOTALS#0001#02"))]).collect());
        world.write("p", "TOTALS#0001#02", lane);
        let other = Arc::clone(&world);
        world.table.observer.of(|of| of.before = Some(Box::new(move || begun(&other, 1, "other"))));
        let pk = if kind == Kind::CountAhead { "n" } else { "p" };
        let settings = &world.fanout.settings;
        let client = Client::new(&world.table, &NoRetries, &settings.schema);
        let ahead = Difference::unseen(kind, ItemKey::new(pk, sk), node(pk));
        at_once(Audit::new(&client, settings).mend(ahead, "1".to_owned(), rules)).unwrap();
        world.get(pk, sk).is_some()
    };
    for (kind, sk) in [(Kind::TotalsAhead, "TOTALS#0001#02"), (Kind::CountAhead, "COUNTED")] {
        assert!(stays(kind, sk, Rules::default()), "{kind:?}");
        assert!(!stays(kind, sk, Rules::without(Rule::AheadAsRead)), "{kind:?}");
    }
}

#[test]
fn what_a_newer_version_has_counted_is_left_alone() {
    let world = small(Rules::default());
    let mut counted = world.get("n", "COUNTED").unwrap();
    counted.insert("format".to_owned(), AttributeValue::N("99".to_owned()));
    world.write("n", "COUNTED", Some(counted.clone()));
    world.put("n", Some("p"), Some("20"));
    let records = world.records();
    let report = world.handle(&records);
    assert_eq!(report.failed.len(), 1);
    assert!(report.problems.iter().any(|problem| problem.reason.contains("99")), "{:?}", report.problems);
    assert_eq!(world.get("n", "COUNTED"), Some(counted));
}

#[test]
fn totals_above_what_a_newer_version_has_counted_are_not_called_wrong() {
    let world = small(Rules::default());
    let mut counted = world.get("n", "COUNTED").unwrap();
    counted.insert("format".to_owned(), AttributeValue::N("99".to_owned()));
    world.write("n", "COUNTED", Some(counted));
    let found = compared(&world);
    assert!(found.contains(&(Kind::NotCompared, "n".to_owned())), "{found:?}");
    assert!(found.iter().all(|(kind, _)| kind.is_finding()), "{found:?}");
}

#[test]
fn a_node_in_the_trash_is_in_no_total_and_what_is_below_it_is_in_its_own() {
    let world = small(Rules::default());
    let mut trashed = world.get("p", "NODE").unwrap();
    trashed.remove("parent");
    trashed
        .insert("_trashed".to_owned(), AttributeValue::M([("at".to_owned(), text("2026-02-03T04:05:06.789Z"))].into()));
    world.write("p", "NODE", Some(trashed));
    world.settle();
    assert_eq!((world.total("r", 0, "_count"), world.total("r", 0, "_sum_size")), ("0".into(), "0".into()));
    assert_eq!((world.total("p", 0, "_count"), world.total("p", 0, "_sum_size")), ("1".into(), "10".into()));
    assert_eq!(world.wrong(), Vec::<String>::new());
}

#[test]
fn keys_of_totals_never_set_the_handler_off() {
    let (schema, node): (Schema, NodeRef) = (Schema::default(), sapwood_core::keys::Id::new("n").unwrap().into());
    for key in [schema.counted_key(&node), schema.totals_key(&node, 0, 0), schema.epoch_key()] {
        assert!(!schema.passes_filter(&key.sk), "{key:?}");
    }
}
