//! What a newer version of the handler has written is left to it: the records fail with the reason, and nothing is
//! changed.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{
    AttributeValue, DELETING, DeletionMark, DeletionMode, FORMAT_ATTRIBUTE, FORMAT_MAX, Item, text,
};
use sapwood_engine::fanout::{Fanout, Report, Run};
use sapwood_simulation::memory::MemoryTable;
use sapwood_store::RetryPolicy;

struct Never;

impl RetryPolicy for Never {
    async fn wait(&self, _attempt: u32) -> bool {
        false
    }
}

fn run(table: &MemoryTable, records: &[StreamRecord]) -> Report {
    let fanout = Fanout::default();
    let report = pin!(fanout.run(table, &Never, Run { name: "a run", now: 0 }, records));
    let Poll::Ready(report) = report.poll(&mut Context::from_waker(Waker::noop())) else { panic!("it waits") };
    report
}

fn base(id: &str, parent: Option<&str>) -> Item {
    let mut item = Item::from([("PK".to_owned(), text(id)), ("SK".to_owned(), text("NODE"))]);
    item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
    item
}

/// A chain p, n, c at rest, with what this changes in the item of a key; and the records of these changes.
fn settled(key: &ItemKey, change: impl FnOnce(&mut Item)) -> (MemoryTable, Vec<StreamRecord>) {
    let table = MemoryTable(Default::default(), Schema::default());
    for (id, parent) in [("p", None), ("n", Some("p")), ("c", Some("n"))] {
        table.0.lock().unwrap().write(&ItemKey::new(id, "NODE"), Some(base(id, parent)));
    }
    loop {
        let records = std::mem::take(&mut table.0.lock().unwrap().stream);
        if records.is_empty() {
            break;
        }
        assert!(run(&table, &records).failed.is_empty());
    }
    let mut memory = table.0.lock().unwrap();
    let mut item = memory.get(key).cloned().unwrap_or_else(|| {
        Item::from([
            ("PK".to_owned(), text(&key.pk)),
            ("SK".to_owned(), text(&key.sk)),
            ("sequence".to_owned(), text("1")),
        ])
    });
    change(&mut item);
    memory.write(key, Some(item));
    let records = std::mem::take(&mut memory.stream);
    drop(memory);
    (table, records)
}

fn newer(item: &mut Item) {
    item.insert(FORMAT_ATTRIBUTE.to_owned(), AttributeValue::N((FORMAT_MAX + 1).to_string()));
}

/// The records fail, the reason says what to do, and the table stays as it is.
fn is_left_alone(table: &MemoryTable, records: &[StreamRecord], what: &str) {
    let before = table.0.lock().unwrap().contents();
    let report = run(table, records);
    assert_eq!(report.failed.len(), records.len(), "{what}: {report:?}");
    let reasons = report.problems.iter().map(|problem| &problem.reason);
    assert!(reasons.clone().any(|reason| reason.contains("deploy the version that wrote it")), "{what}: {report:?}");
    assert_eq!(table.0.lock().unwrap().contents(), before, "{what}");
}

#[test]
fn the_record_of_a_newer_lineage_fails() {
    let (table, records) = settled(&ItemKey::new("n", "LINEAGE"), newer);
    is_left_alone(&table, &records, "a lineage's record");
}

#[test]
fn the_record_of_a_newer_lineage_that_is_gone_fails_nobody() {
    let key = ItemKey::new("n", "LINEAGE");
    for put_back in [false, true] {
        let (table, mut records) = settled(&key, newer);
        let mut memory = table.0.lock().unwrap();
        let good = records[0].old.clone().filter(|_| put_back);
        memory.write(&key, good);
        records.append(&mut memory.stream);
        drop(memory);
        // One batch with both, and one for each.
        for batch in [&records[..], &records[..1], &records[1..]] {
            assert_eq!(run(&table, batch).failed, Vec::<String>::new());
        }
    }
}

#[test]
fn a_node_with_a_newer_lineage_and_a_child_of_one_are_not_placed() {
    for id in ["n", "c"] {
        let (table, _) = settled(&ItemKey::new("n", "LINEAGE"), newer);
        let mut memory = table.0.lock().unwrap();
        let mut item = base(id, Some(if id == "n" { "p" } else { "n" }));
        item.insert("name".to_owned(), text("another"));
        memory.write(&ItemKey::new(id, "NODE"), Some(item));
        let records = std::mem::take(&mut memory.stream);
        drop(memory);
        is_left_alone(&table, &records, id);
    }
}

#[test]
fn a_newer_cursor_is_not_followed() {
    let (table, records) = settled(&ItemKey::new("n", "CASCADE"), newer);
    is_left_alone(&table, &records, "a cursor");
}

#[test]
fn a_deletion_does_not_go_on_by_a_newer_lineage() {
    let mark = DeletionMark { mode: DeletionMode::Delete, operation: "o".to_owned(), revisions: false, mark: None };
    let (table, _) = settled(&ItemKey::new("n", "NODE"), |item| _ = item.insert(DELETING.to_owned(), mark.value()));
    let mut memory = table.0.lock().unwrap();
    let mut lineage = memory.get(&ItemKey::new("n", "LINEAGE")).cloned().unwrap();
    newer(&mut lineage);
    memory.write(&ItemKey::new("n", "LINEAGE"), Some(lineage));
    let cursor = Item::from([
        ("PK".to_owned(), text("n")),
        ("SK".to_owned(), text("CASCADE")),
        ("sequence".to_owned(), text("1")),
        ("children".to_owned(), text("o")),
        (FORMAT_ATTRIBUTE.to_owned(), AttributeValue::N(FORMAT_MAX.to_string())),
    ]);
    memory.stream.clear();
    memory.write(&ItemKey::new("n", "CASCADE"), Some(cursor));
    let records = std::mem::take(&mut memory.stream);
    drop(memory);
    is_left_alone(&table, &records, "a deletion");
}
