//! How much memory a batch takes. The test runs in a process of its own, because an allocator counts for all tests of a process.

use std::process::Command;

use sapwood_core::keys::Schema;
use sapwood_core::model::{Item, text};
use sapwood_core::plan::StreamRecord;
use sapwood_engine::fanout::{Fanout, Run};
use sapwood_table::Write;
use sapwood_tests::fixture::{NoRetries, at_once};
use sapwood_tests::memory::{Admitted, Admitting, MemoryTable};

const MEGABYTE: usize = 1_024 * 1_024;

/// Takes rows and forgets them.
fn forget_rows(writes: &[Write]) -> Admitted {
    let lineages = writes.iter().filter(|write| write.key().sk == "LINEAGE").cloned().collect();
    Admitted { done: lineages, unprocessed: Vec::new() }
}

#[test]
#[ignore = "runs in a process of its own, which the next test starts"]
fn measured() {
    let table = MemoryTable::default();
    let sink = Admitting(&table, forget_rows);
    let write = |id: &str, parent: Option<String>, bytes: usize| {
        let mut item = Item::from([("PK".to_owned(), text(id)), ("SK".to_owned(), text("NODE"))]);
        item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
        item.insert("bulk".to_owned(), text("x".repeat(bytes)));
        table
            .0
            .lock()
            .unwrap()
            .write(&Schema::default().node_key(&sapwood_core::keys::Id::new(id).unwrap().into()), Some(item));
    };
    let records = || -> Vec<StreamRecord> { std::mem::take(&mut table.0.lock().unwrap().stream) };
    let run = |records: &[StreamRecord]| {
        let report = at_once(Fanout::default().run(&sink, &NoRetries, Run { name: "run", now: 0 }, records));
        assert!(report.failed.is_empty(), "{:?}", report.problems);
        report
    };
    for depth in 0..30 {
        write(&format!("chain{depth}"), (depth > 0).then(|| format!("chain{}", depth - 1)), 1);
    }
    run(&records());
    records();
    // The largest event that Lambda delivers has 6 MB.
    for number in 0..60 {
        write(&format!("large{number}"), Some("chain29".to_owned()), 90_000);
    }
    let batch = records();
    let before = crate::ALLOCATOR.allocated();
    let report = run(&batch);
    assert_eq!(report.counts.tally.rows_put, 60 * 31, "a row for each ancestor, and one by path");
    let peak = crate::ALLOCATOR.max_allocated() - before;
    println!("peak {} KB", peak / 1_024);
}

#[test]
fn a_batch_takes_no_more_memory_the_deeper_its_nodes_are() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["memory::measured", "--exact", "--ignored", "--nocapture"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let peak: usize = text.split_once("peak ").unwrap().1.split_once(" KB").unwrap().0.parse().unwrap();
    println!("peak {peak} KB");
    // The batch as it was read (5.3 MB), and the rows of one step (4 MB and at most one more row).
    assert!(peak * 1_024 < 16 * MEGABYTE, "{peak} KB");
}
