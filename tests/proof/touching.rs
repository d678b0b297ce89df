//! Cascades of one batch: what they touch shares requests, and none of them keeps another back.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::{Either, select};
use sapwood_core::fanout::Event;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{DELETING, DeletionMark, DeletionMode};
use sapwood_engine::fanout::{Fanout, Limits, Run};
use sapwood_simulation::fixture::{Fixture, at_once};
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_store::{Deadline, ErrorKind, RetryPolicy, TableError};

/// So many touches fit the time of an invocation, and nothing after them.
struct Time {
    touches: AtomicUsize,
    touches_max: usize,
}

impl Time {
    fn is_over(&self) -> bool {
        self.touches.load(Ordering::SeqCst) > self.touches_max
    }
}

impl Observer for &Time {
    async fn before(&self, request: &Request<'_>) {
        let touches = match request {
            Request::Together(actions) => actions.len(),
            Request::Update(_) => 1,
            _ => 0,
        };
        self.touches.fetch_add(touches, Ordering::SeqCst);
    }

    fn refuses(&self, _: &Request<'_>) -> Option<TableError> {
        self.is_over().then(|| TableError::new(ErrorKind::Retry, "no time"))
    }
}

impl RetryPolicy for &Time {
    async fn wait(&self, _attempt: u32) -> bool {
        !self.is_over()
    }
}

#[test]
fn cursors_whose_touches_dont_all_fit_the_time_move_on_all_the_same() {
    const NODES: usize = 10;
    let limits = Limits { touch_slice_items_max: 50, ..Limits::default() };
    let mut fixture = Fixture::default().limited(limits);
    ["r", "x"].iter().for_each(|id| fixture.put_node(id, None, &[]));
    for n in 0..NODES {
        fixture.put_node(&format!("w{n}"), Some("r"), &[]);
        (0..120).for_each(|child| fixture.put_node(&format!("w{n}c{child}"), Some(&format!("w{n}")), &[]));
    }
    fixture.settle();
    (0..NODES).for_each(|n| fixture.put_node(&format!("w{n}"), Some("x"), &[]));
    for _ in 0..2 {
        let batch = fixture.take_records();
        fixture.deliver(&batch);
    }
    let cursors = fixture.take_records();
    // The records are delivered until no cursor is left, each time with time for a part of the first slices.
    let left = || (0..NODES).filter(|n| fixture.get(&format!("w{n}"), "CASCADE").is_some()).count();
    assert_eq!(left(), NODES);
    let mut invocations = 0;
    while left() > 0 {
        let time = Time { touches: AtomicUsize::default(), touches_max: 375 };
        let table = Intercept { table: fixture.table().clone(), observer: &time };
        let fanout = Fanout { limits, ..Fanout::default() };
        at_once(fanout.run(&table, &&time, Run { name: "one", now: 0 }, &cursors));
        invocations += 1;
        assert!(invocations < 12, "{} cursors are left", left());
    }
}

/// A query of this partition is never answered.
struct Silent(&'static str);

impl Observer for Silent {
    async fn before(&self, request: &Request<'_>) {
        if matches!(request, Request::Query(query) if query.pk == self.0) {
            std::future::pending::<()>().await;
        }
    }
}

#[tokio::test]
async fn a_cascade_that_the_table_keeps_back_keeps_no_other_back() {
    let mut fixture = Fixture::default();
    ["r", "x"].iter().for_each(|id| fixture.put_node(id, None, &[]));
    for id in ["a", "b"] {
        fixture.put_node(id, Some("r"), &[]);
        fixture.put_node(&format!("{id}1"), Some(id), &[]);
    }
    fixture.settle();
    ["a", "b"].iter().for_each(|id| fixture.put_node(id, Some("x"), &[]));
    let nodes = fixture.take_records();
    fixture.deliver(&nodes);
    let lineages = fixture.take_records();
    let table = Intercept { table: fixture.table().clone(), observer: Silent("b") };
    let (fanout, policy) = (Fanout::default(), Deadline::after(Duration::from_secs(3_600)));
    let running = fanout.run(&table, &policy, Run { name: "one", now: 0 }, &lineages);
    let touched = async {
        while fixture.table().0.lock().unwrap().stream.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    match tokio::time::timeout(Duration::from_secs(60), select(pin!(running), pin!(touched))).await {
        Ok(Either::Right(_)) => {}
        Ok(Either::Left((report, _))) => panic!("the query isn't answered: {report:?}"),
        Err(_) => panic!("the child of `a` isn't touched"),
    }
    let touched: Vec<String> = fixture.take_records().into_iter().map(|record| record.key.pk).collect();
    assert_eq!(touched, ["a1"]);
}

/// Has a node deleted, and put back with a copy of its mark before the handler has seen that it went. Returns true if
/// it is there in the end.
fn stays_below(parent: &str) -> bool {
    let mut fixture = Fixture::default();
    ["a", "b"].iter().for_each(|id| fixture.put_node(id, None, &[]));
    fixture.put_node("n", Some("a"), &[]);
    fixture.settle();
    let mark =
        DeletionMark { mode: DeletionMode::Delete, operation: "operation".to_owned(), revisions: false, mark: None };
    fixture.put_node("n", Some("a"), &[(DELETING, mark.value())]);
    let mut left = loop {
        let batch = fixture.take_records();
        assert!(!batch.is_empty(), "the handler deletes the node");
        if batch.iter().any(|record| record.key == ItemKey::new("n", "NODE") && record.event == Event::Remove) {
            break batch;
        }
        fixture.deliver(&batch);
    };
    fixture.put_node("n", Some(parent), &[(DELETING, mark.value())]);
    left.extend(fixture.take_records());
    while !left.is_empty() {
        fixture.deliver(&left);
        left = fixture.take_records();
    }
    fixture.get("n", "NODE").is_some()
}

#[test]
fn a_node_put_back_with_its_mark_is_deleted_wherever_it_is_put() {
    assert!(!stays_below("a"));
    assert!(!stays_below("b"));
}
