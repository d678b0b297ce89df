//! What has many bytes, or many parts: it takes no more memory than there is, and no more time than it needs, and
//! nobody waits for it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{
    AttributeValue, BORN, Copied, DELETING, DeletionMark, DeletionMode, ITEM_BYTES_MAX, Item, Latest, Settings, UNDER,
    Under, answered_bytes, item_bytes, text,
};
use sapwood_core::plan::WritesKind;
use sapwood_engine::fanout::{Fanout, Limits, Report, Run};
use sapwood_engine::query::{self, Fields, ListOptions, Mode, Order, ReadError, Reader};
use sapwood_engine::write::{Command, Patch, Prefetched, Writer};
use sapwood_simulation::fixture::{Fixture, at_once};
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::{MemoryTable, Patient};
use sapwood_simulation::oracle::Oracle;
use sapwood_simulation::shapes::wide_item;
use sapwood_store::{
    ANSWER_BYTES_MAX, Action, Client, Condition, ErrorKind, Found, Page, Query, ReadOptions, Reply, RetryPolicy, Table,
    TableError, Transacted, Update, Write,
};

/// A table whose answers are counted. As DynamoDB's are, one of too many bytes isn't read.
struct Counted<'a> {
    table: &'a MemoryTable,
    /// The bytes that were read since something was written, and the most that they came to.
    since_write: Mutex<(usize, usize)>,
    /// The answers that weren't read.
    unread: AtomicUsize,
}

impl<'a> Counted<'a> {
    fn new(table: &'a MemoryTable) -> Self {
        Self { table, since_write: Mutex::default(), unread: AtomicUsize::new(0) }
    }

    fn read<V>(&self, asked: usize, reply: Reply<V>, items: impl Fn(&V) -> &[Item]) -> Result<Reply<V>, TableError> {
        let bytes: usize = items(&reply.value).iter().map(answered_bytes).sum();
        if asked > 1 && bytes > ANSWER_BYTES_MAX {
            self.unread.fetch_add(1, Ordering::SeqCst);
            return Err(TableError::unanswered("too many bytes"));
        }
        let mut since = self.since_write.lock().unwrap();
        since.0 += bytes;
        since.1 = since.1.max(since.0);
        Ok(reply)
    }

    fn wrote(&self) {
        self.since_write.lock().unwrap().0 = 0;
    }

    /// The most bytes that were read without a write between them.
    fn most(&self) -> usize {
        self.since_write.lock().unwrap().1
    }
}

impl Table for Counted<'_> {
    async fn read_many(&self, keys: &[ItemKey], options: &ReadOptions) -> Result<Reply<Found>, TableError> {
        self.read(keys.len(), self.table.read_many(keys, options).await?, |found| &found.items)
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        self.wrote();
        self.table.write_many(writes).await
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.wrote();
        self.table.put(item, condition).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.wrote();
        self.table.delete(key, condition).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.wrote();
        self.table.update(key, update, condition).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        self.wrote();
        self.table.change_together(actions).await
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.wrote();
        self.table.transact(actions).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        self.read(query.limit, self.table.query(query).await?, |page| &page.items)
    }
}

/// A list of so many numbers, each of 135 bytes in an answer and 3 in the table.
fn numbers(count: usize) -> AttributeValue {
    AttributeValue::L(vec![AttributeValue::N(format!("1{}", "0".repeat(125))); count])
}

fn node(id: &str) -> NodeRef {
    Id::new(id).unwrap().into()
}

fn run<T: Table, P: RetryPolicy>(table: &T, policy: &P, records: &[StreamRecord]) -> Report {
    at_once(Fanout::default().run(table, policy, Run { name: "run", now: 0 }, records))
}

#[test]
fn a_record_of_very_many_attributes_is_placed_in_the_time_that_its_size_takes() {
    let mut fixture = Fixture::default();
    for depth in 0..10 {
        let parent = (depth > 0).then(|| format!("n{}", depth - 1));
        fixture.put_node(&format!("n{depth}"), parent.as_deref(), &[]);
    }
    fixture.settle();
    // None of these is copied: their names are reserved.
    let wide = wide_item(400_000).into_iter().map(|(name, value)| (format!("_{name}"), value));
    let wide: Vec<(String, AttributeValue)> = wide.take(43_000).collect();
    let wide: Vec<(&str, AttributeValue)> = wide.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    fixture.put_node("wide", Some("n9"), &wide);
    let began = std::time::Instant::now();
    fixture.settle();
    // Comparing each attribute with each takes minutes.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn a_deletion_reads_as_many_children_at_a_time_as_there_is_room_for() {
    for mode in [DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach] {
        let mut fixture = Fixture::default();
        fixture.put_node("n", None, &[]);
        (0..30).for_each(|child| fixture.put_node(&format!("c{child:02}"), Some("n"), &[]));
        fixture.settle();
        // Larger than their rows, which were put before: 1 MB in an answer each.
        for child in 0..30 {
            fixture.update(&format!("c{child:02}"), "NODE", "bulk", Some(numbers(7_500)));
        }
        let mark = DeletionMark { mode, operation: "operation".to_owned(), revisions: false, mark: None };
        let _ = fixture.take_records();
        fixture.put_node("n", None, &[(DELETING, mark.value())]);
        let marked = fixture.take_records();
        fixture.deliver(&marked);
        let lineage: Vec<StreamRecord> =
            fixture.take_records().into_iter().filter(|record| record.key.sk == "LINEAGE").collect();
        let counted = Counted::new(fixture.table());
        let report = run(&counted, &Patient, &lineage);
        assert_eq!((report.failed, report.problems), (vec![], vec![]), "{mode:?}");
        assert!(fixture.get("n", "NODE").is_none(), "{mode:?}: all children were acted on, and the node deleted");
        assert_eq!(report.counts.tally.child_actions, 30, "{mode:?}");
        let most = counted.most();
        assert!(most < 9_000_000, "{mode:?}: {most} bytes at a time, of 30 MB");
    }
}

/// There is time for so many touches.
struct Touches {
    left: AtomicUsize,
}

impl Observer for &Touches {
    async fn before(&self, request: &Request<'_>) {
        if let Request::Together(actions) = request {
            let touches = actions.iter().filter(|action| matches!(action, Action::Update { .. })).count();
            let less = |left: usize| Some(left.saturating_sub(touches));
            self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).unwrap();
        }
    }
}

impl RetryPolicy for Touches {
    async fn wait(&self, _attempt: u32) -> bool {
        true
    }

    fn has_time_for(&self, kind: WritesKind) -> bool {
        kind != WritesKind::Touches || self.left.load(Ordering::SeqCst) > 0
    }
}

#[test]
fn a_slice_of_touches_that_takes_longer_than_an_invocation_has_is_done_by_several() {
    for slice in [1_000, 100] {
        let mut fixture = Fixture::default();
        ["r", "x"].iter().for_each(|id| fixture.put_node(id, None, &[]));
        fixture.put_node("n", Some("r"), &[]);
        (0..240).for_each(|child| fixture.put_node(&format!("c{child}"), Some("n"), &[]));
        fixture.settle();
        fixture.put_node("n", Some("x"), &[]);
        let moved = fixture.take_records();
        fixture.deliver(&moved);
        let limits = Limits { touch_slice_items_max: slice, ..Limits::default() };
        let fanout = Fanout { limits, ..Fanout::default() };
        let steers = |record: &StreamRecord| matches!(record.key.sk.as_str(), "LINEAGE" | "CASCADE");
        let (mut records, mut touched) = (fixture.take_records(), Vec::new());
        for invocations in 1.. {
            let time = Touches { left: AtomicUsize::new(50) };
            let table = Intercept { table: fixture.table().clone(), observer: &time };
            let report = at_once(fanout.run(&table, &time, Run { name: "one", now: 0 }, &records));
            records.retain(|record| report.failed.contains(&record.sequence));
            let (steering, of_children): (Vec<_>, Vec<_>) = fixture.take_records().into_iter().partition(steers);
            records.extend(steering);
            touched.extend(of_children);
            if records.is_empty() {
                break;
            }
            assert!(invocations < 20, "slices of {slice} aren't done: {records:?}");
        }
        let children: BTreeSet<&str> = touched.iter().map(|record| record.key.pk.as_str()).collect();
        assert_eq!(children.len(), 240, "slices of {slice}");
        touched.chunks(100).for_each(|batch| fixture.deliver(batch));
        fixture.settle();
    }
}

/// There is no time for rows while others wait, and as much as there needs to be for those of the node that comes
/// first.
struct Meanwhile;

impl RetryPolicy for Meanwhile {
    async fn wait(&self, _attempt: u32) -> bool {
        true
    }

    fn has_time_for(&self, kind: WritesKind) -> bool {
        !matches!(kind, WritesKind::Meanwhile { .. })
    }
}

#[test]
fn the_node_that_comes_first_has_the_time_for_rows_whoever_waits_for_a_parent() {
    let mut fixture = Fixture::default();
    for depth in 0..40 {
        let parent = (depth > 0).then(|| format!("n{}", depth - 1));
        fixture.put_node(&format!("n{depth}"), parent.as_deref(), &[]);
    }
    fixture.settle();
    // The id of the one that comes first is the last. `early` waits for `parent`, whose record is behind the batch.
    for (id, parent) in [("z", "n39"), ("h", "n39"), ("early", "parent"), ("parent", "n39")] {
        fixture.put_node(id, Some(parent), &[]);
    }
    let mut records = fixture.take_records();
    let behind = records.pop().unwrap();
    let report = run(fixture.table(), &Meanwhile, &records);
    let failed: Vec<&str> = records
        .iter()
        .filter(|record| report.failed.contains(&record.sequence))
        .map(|record| record.key.pk.as_str())
        .collect();
    assert_eq!(failed, ["h"]);
    records.retain(|record| report.failed.contains(&record.sequence));
    records.push(behind);
    assert_eq!(run(fixture.table(), &Meanwhile, &records).failed, Vec::<String>::new());
}

/// The table refuses all updates.
struct NoUpdates;

impl Observer for NoUpdates {
    async fn before(&self, _request: &Request<'_>) {}

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        matches!(request, Request::Update(_)).then(|| TableError::new(ErrorKind::Refuse, "ValidationException"))
    }
}

#[test]
fn a_stale_under_that_the_table_does_not_have_removed_keeps_nobody_back() {
    let mut fixture = Fixture::default();
    ["p1", "p2"].iter().for_each(|id| fixture.put_node(id, None, &[]));
    fixture.settle();
    let under = Under { parent: Id::new("p1").unwrap(), born: Some("life".to_owned()) };
    fixture.put_node("c", Some("p2"), &[(UNDER, under.value()), (BORN, text("1"))]);
    let records = fixture.take_records();
    let table = Intercept { table: fixture.table().clone(), observer: NoUpdates };
    let report = run(&table, &Patient, &records);
    assert_eq!(report.failed, Vec::<String>::new());
    let reasons: Vec<&str> = report.problems.iter().map(|problem| problem.reason.as_str()).collect();
    assert!(matches!(reasons.as_slice(), [reason] if reason.contains("the table refuses this write")), "{reasons:?}");
    assert!(fixture.get("p2", "NODE#0001#c").is_some(), "it has its rows all the same");
}

#[test]
fn a_foreign_lineage_that_leaves_no_room_for_a_deletion_gives_way_to_a_right_one() {
    let mut fixture = Fixture::default();
    fixture.put_node("n", None, &[]);
    fixture.put_node("c", Some("n"), &[]);
    fixture.settle();
    let path = |last: usize| {
        let segments = [vec!["s".repeat(1_000); 405], vec!["s".repeat(last); 5]].concat();
        AttributeValue::L(segments.into_iter().map(text).collect())
    };
    let mut lineage = fixture.get("n", "LINEAGE").unwrap();
    lineage.insert("path".to_owned(), path(1));
    let room = ITEM_BYTES_MAX - item_bytes(&lineage);
    fixture.update("n", "LINEAGE", "path", Some(path(1 + room / 5)));
    let mark =
        DeletionMark { mode: DeletionMode::Delete, operation: "operation".to_owned(), revisions: false, mark: None };
    fixture.update("n", "NODE", DELETING, Some(mark.value()));
    fixture.settle();
    assert!(fixture.get("n", "NODE").is_none() && fixture.get("c", "NODE").is_none(), "{:?}", fixture.problems);
}

/// Reads all pages of a list. Each page reads fewer bytes than this, and leaves two answers unread at most.
fn all_pages<R>(
    fixture: &Fixture,
    bytes_max: usize,
    mut options: ListOptions,
    page: impl AsyncFn(&Reader<'_, Counted<'_>, Patient>, &ListOptions) -> Result<query::Page<R>, ReadError>,
) -> Vec<R> {
    let mut read = Vec::new();
    loop {
        let counted = Counted::new(fixture.table());
        let client = Client::new(&counted, &Patient, fixture.schema());
        let page = at_once(page(&Reader::new(&client, fixture.settings()), &options)).unwrap();
        let unread = counted.unread.load(Ordering::SeqCst);
        assert!(counted.most() < bytes_max && unread <= 2, "{} bytes for a page, {unread} unread", counted.most());
        read.extend(page.items);
        match page.next {
            None => return read,
            next => options.after = next,
        }
    }
}

#[test]
fn nodes_that_are_read_together_have_as_many_bytes_as_a_page_has_room_for() {
    let mut fixture = Fixture::default();
    let ids: Vec<String> = (0..29).map(|n| format!("n{n:02}")).collect();
    for (n, id) in ids.iter().enumerate() {
        let bulk = if n < 4 { text("x") } else { numbers(20_000) };
        fixture.put_node(id, None, &[("bulk", bulk)]);
    }
    let nodes: Vec<NodeRef> = ids.iter().map(|id| node(id)).collect();
    // All have 68 MB.
    let read = all_pages(&fixture, 12_000_000, ListOptions::default(), async |reader, options| {
        reader.nodes(&nodes, options).await
    });
    assert_eq!(read.into_iter().map(|(node, _)| node).collect::<Vec<_>>(), nodes);
}

/// A node's revisions, each of 2.7 MB in an answer.
fn large_revisions(count: u32) -> Fixture {
    let fixture = Fixture::default();
    for version in 1..=count {
        let key = ItemKey::new("n", format!("v{version:03}_Audit"));
        let item = [("PK", text("n")), ("SK", text(&key.sk)), ("bulk", numbers(20_000))];
        let item = item.map(|(name, value)| (name.to_owned(), value));
        fixture.table().0.lock().unwrap().write(&key, Some(item.into()));
    }
    fixture
}

#[test]
fn a_page_of_large_revisions_reads_no_more_than_there_is_room_for_and_remembers_how_many_that_is() {
    let read = all_pages(&large_revisions(10), 9_000_000, ListOptions::default(), async |reader, options| {
        reader.revisions(&node("n"), Order::Descending, options).await
    });
    assert_eq!(read.len(), 10);
}

#[test]
fn large_revisions_that_are_read_by_number_come_a_few_at_a_time() {
    let fixture = large_revisions(12);
    let latest = Latest { node: node("n"), topic: "Audit".to_owned() };
    for (order, from) in [(Order::Descending, "n12"), (Order::Ascending, "n1")] {
        let options = ListOptions { after: Some(from.to_owned()), ..ListOptions::default() };
        // All have 32 MB.
        let read = all_pages(&fixture, 12_000_000, options, async |reader, options| {
            reader.topic(&latest, order, options).await
        });
        let read: Vec<u32> = read.iter().map(|revision| revision.version.number()).collect();
        let mut wanted: Vec<u32> = (1..=12).collect();
        if order == Order::Descending {
            wanted.reverse();
        }
        assert_eq!(read, wanted);
    }
}

/// A chain of nodes with large records; `n0` is the root.
fn large_chain(length: usize) -> Fixture {
    let settings = Settings { copied: Copied::None, ..Settings::default() };
    let mut fixture = Fixture::new(settings, Oracle { copied: Some(Vec::new()), ..Oracle::default() });
    for n in 0..length {
        let parent = n.checked_sub(1).map(|above| format!("n{above}"));
        fixture.put_node(&format!("n{n}"), parent.as_deref(), &[("bulk", numbers(20_000))]);
    }
    fixture.settle();
    fixture
}

#[test]
fn ancestors_with_large_attributes_come_a_few_at_a_time() {
    let fixture = large_chain(13);
    let fields = Fields::only(["bulk".to_owned()]).unwrap();
    let options = ListOptions { fields, ..ListOptions::default() };
    // All have 32 MB. A page reads the node and its lineage, too.
    let read = all_pages(&fixture, 14_000_000, options, async |reader, options| {
        reader.ancestors(&node("n12"), options).await.map(|(page, _)| page)
    });
    let read: Vec<_> = read.iter().map(|ancestor| (ancestor.depth, ancestor.attributes.is_some())).collect();
    assert_eq!(read, (1..=12).map(|depth| (depth, true)).collect::<Vec<_>>());
}

#[test]
fn values_of_a_chain_are_read_a_few_at_a_time_and_refused_where_they_are_too_many() {
    let inherited = |length: usize| {
        let fixture = large_chain(length);
        let counted = Counted::new(fixture.table());
        let client = Client::new(&counted, &Patient, fixture.schema());
        let (reader, last) = (Reader::new(&client, fixture.settings()), node(&format!("n{}", length - 1)));
        at_once(reader.inherited(&last, ["bulk".to_owned()], Mode::Nearest))
    };
    assert_eq!(inherited(8).unwrap().values["bulk"].len(), 1);
    assert!(matches!(inherited(15), Err(ReadError::TooLarge { .. })));
}

#[test]
fn what_a_batch_reads_ahead_has_as_many_bytes_as_an_answer() {
    let mut fixture = Fixture::default();
    for n in 0..25 {
        fixture.put_node(&format!("n{n}"), None, &[("bulk", numbers(20_000))]);
    }
    let patch = |n| Command::Patch { node: node(&format!("n{n}")), patch: Patch { clears: true, ..Patch::default() } };
    let commands: Vec<Command> = (0..25).map(patch).collect();
    let counted = Counted::new(fixture.table());
    let client = Client::new(&counted, &Patient, fixture.schema());
    let writer = Writer::new(&client, fixture.settings());
    at_once(writer.read_ahead(&commands.iter().collect::<Vec<_>>(), &mut Prefetched::default()));
    assert!((2_000_000..12_000_000).contains(&counted.most()), "{} bytes, of 68 MB", counted.most());
}

#[test]
fn a_partition_of_large_items_is_read_in_short_pages_until_they_are_small_again() {
    let table = MemoryTable::default();
    for number in 0..60 {
        let key = ItemKey::new("n", format!("v{number:03}_Audit"));
        let bulk = if number < 20 { numbers(20_000) } else { text("x") };
        let item = [("PK".to_owned(), text("n")), ("SK".to_owned(), text(&key.sk)), ("bulk".to_owned(), bulk)];
        table.0.lock().unwrap().write(&key, Some(item.into()));
    }
    let (counted, schema) = (Counted::new(&table), Schema::default());
    let client = Client::new(&counted, &Patient, &schema);
    let mut query = Query {
        pk: "n".to_owned(),
        range: schema.revision_range(),
        after: None,
        limit: 100,
        descending: false,
        reading: ReadOptions::default(),
    };
    let mut pages = Vec::new();
    loop {
        let page = at_once(client.query(&query)).unwrap();
        pages.push(page.items.len());
        if page.next.is_none() {
            break;
        }
        query.after = page.next;
    }
    assert_eq!(pages.iter().sum::<usize>(), 60);
    let unread = counted.unread.load(Ordering::SeqCst);
    assert!(unread <= 2 && pages.len() <= 30 && pages.iter().any(|items| *items > 10), "{unread}, {pages:?}");
}
