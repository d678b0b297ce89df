use std::sync::atomic::{AtomicUsize, Ordering};

use super::fixture::{Checked, Directory, lines, waiting};
use crate::sources::Source;
use crate::work::{Level, Lock, NEXT_BYTES_MAX, Nowhere, Number, Outcomes, Work, WorkError};
use crate::{CsvOptions, Options};

fn refuse(work: &mut Work, number: Number, reason: &str) {
    let refused = vec![(number, reason.to_owned())];
    work.settle(&Outcomes { refused, ..Outcomes::default() }).unwrap();
}

/// 12,000 nodes in an order that isn't that of their levels.
fn content() -> String {
    let node = |n: usize| match n.checked_sub(1) {
        None => "{\"id\":\"n0\"}\n".to_owned(),
        Some(above) => format!("{{\"id\":\"n{n}\",\"parent\":\"n{}\"}}\n", above / 6),
    };
    (0..12_000).map(|n| node((n * 7_919 + 1) % 12_000)).collect()
}

/// Runs an import in processes that are each killed after one step, and returns what they write, and how many there
/// were.
fn in_steps(file: &std::path::Path, working: &std::path::Path) -> (Vec<String>, usize) {
    let (options, mut written, mut processes) = (Options::default(), Vec::new(), 0);
    loop {
        processes += 1;
        let mut source = Source::open(file, &options).unwrap();
        let mut work = Work::open(working, &source, &options).unwrap();
        if work.load_some(&mut source).unwrap() || work.check_some(&mut Nowhere).unwrap() {
            continue;
        }
        assert!(work.faults().unwrap().is_empty());
        let Some(level) = work.levels().unwrap().into_iter().find(|level| level.waiting() > 0) else { break };
        let records = work.next(level.level, None, 5_000).unwrap();
        written.extend(lines(&records));
        let numbers: Vec<_> = records.iter().map(|record| record.number).collect();
        work.mark_written(&numbers).unwrap();
    }
    (written, processes)
}

#[test]
fn an_import_that_is_cut_off_after_every_step_writes_what_one_run_does() {
    let content = content();
    let whole = Checked::of("a.jsonl", &content, &Options::default());
    let wanted = lines(&waiting(&whole.work));
    assert_eq!(wanted.len(), 12_000);
    let directory = Directory::new();
    let file = directory.write("a.jsonl", &content);
    let (written, processes) = in_steps(&file, &directory.path("work"));
    assert!(written == wanted && processes > 15, "{} records in {processes} processes", written.len());
}

/// What SIGKILL leaves: the files as they are, without anything that closing does.
#[test]
fn what_a_killed_process_leaves_is_gone_on_with() {
    let (directory, options) = (Directory::new(), Options::default());
    let file = directory.write("a.jsonl", content());
    let left = directory.path("left");
    for steps in 0..10 {
        for suffix in ["", "-wal"] {
            _ = std::fs::remove_file(directory.path(&format!("left{suffix}")));
            _ = std::fs::remove_file(directory.path(&format!("work{suffix}")));
        }
        let mut source = Source::open(&file, &options).unwrap();
        let mut work = Work::open(&directory.path("work"), &source, &options).unwrap();
        for _ in 0..steps {
            _ = work.load_some(&mut source).unwrap() || work.check_some(&mut Nowhere).unwrap();
        }
        for suffix in ["", "-wal"] {
            let from = directory.path(&format!("work{suffix}"));
            std::fs::copy(from, directory.path(&format!("left{suffix}"))).unwrap();
        }
        let (written, _) = in_steps(&file, &left);
        assert_eq!(written.len(), 12_000, "after {steps} steps");
    }
}

#[test]
fn a_lookup_that_fails_can_be_tried_again() {
    struct Broken;
    impl crate::work::Lookup for Broken {
        fn lookup(
            &mut self,
            _: &[sapwood_core::keys::NodeRef],
        ) -> Result<Vec<Option<sapwood_core::model::Placement>>, crate::work::LookupError> {
            Err(crate::work::LookupError("the table is away".into()))
        }
    }
    let (directory, options) = (Directory::new(), Options::default());
    let file = directory.write("a.jsonl", "{\"id\":\"a\",\"parent\":\"x\"}");
    let mut source = Source::open(&file, &options).unwrap();
    let mut work = Work::open(&directory.path("work"), &source, &options).unwrap();
    assert!(matches!(work.check_some(&mut Nowhere), Err(WorkError::NotChecked)));
    while work.load_some(&mut source).unwrap() {}
    let error = loop {
        match work.check_some(&mut Broken) {
            Ok(goes_on) => assert!(goes_on),
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), "parents can't be looked up in the table: the table is away");
    assert!(matches!(work.next(Level::Nodes(0), None, 1), Err(WorkError::NotChecked)));
    while work.check_some(&mut Nowhere).unwrap() {}
    assert_eq!(work.faults().unwrap().count(), 1);
    drop(work);
    // The parent has come into the table.
    let mut source = Source::open(&file, &options).unwrap();
    let mut work = Work::open(&directory.path("work"), &source, &options).unwrap();
    while work.load_some(&mut source).unwrap() {}
    while work.check_some(&mut super::fixture::Existing::of(&[("x", &[])])).unwrap() {}
    assert_eq!(lines(&waiting(&work)).len(), 1);
}

#[test]
fn large_records_come_a_few_at_a_time() {
    let node = |n: usize| format!("{{\"id\":\"{n}\",\"attributes\":{{\"x\":\"{}\"}}}}\n", "x".repeat(390_000));
    let checked = Checked::of("a.jsonl", (0..50).map(node).collect::<String>(), &Options::default());
    let batch = checked.work.next(Level::Nodes(0), None, 1_000).unwrap();
    assert!(batch.len() * 390_000 > NEXT_BYTES_MAX && (batch.len() - 1) * 390_100 < NEXT_BYTES_MAX, "{}", batch.len());
    let rest = checked.work.next(Level::Nodes(0), batch.last().map(|last| last.number), 1_000).unwrap();
    assert_eq!(rest[0].place, format!("{}:{}", checked.file.display(), batch.len() + 1));
}

#[test]
fn another_source_and_other_options_are_refused_once_something_was_written() {
    let (directory, options) = (Directory::new(), Options::default());
    let open = |file: &std::path::Path, options: &Options| {
        let source = Source::open(file, options).unwrap();
        Work::open(&directory.path("work"), &source, options).map(|work| (work, source))
    };
    let other_options =
        Options { csv: CsvOptions { id: Some("key".to_owned()), ..CsvOptions::default() }, ..Options::default() };
    let first = directory.write("a.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}");
    drop(open(&first, &options).unwrap());
    // Nothing was written, so that the working file begins anew.
    let second = directory.write("b.jsonl", "{\"id\":\"c\"}\n{\"id\":\"d\"}");
    let (mut work, mut source) = open(&second, &options).unwrap();
    while work.load_some(&mut source).unwrap() {}
    while work.check_some(&mut Nowhere).unwrap() {}
    drop(work);
    drop(open(&second, &other_options).unwrap());
    let (mut work, mut source) = open(&second, &options).unwrap();
    assert_eq!(work.entries().unwrap(), 0);
    while work.load_some(&mut source).unwrap() {}
    while work.check_some(&mut Nowhere).unwrap() {}
    let records = waiting(&work);
    assert_eq!(lines(&records), [r#"{"id":"c"}"#, r#"{"id":"d"}"#]);
    work.mark_written(&[records[0].number, records[0].number]).unwrap();
    assert_eq!(work.summary().unwrap().written, 1);
    drop(work);
    let message = open(&first, &options).err().unwrap().to_string();
    assert!(
        message.contains("belongs to an import of another file, or") && message.contains("; 1 records were written"),
        "{message}"
    );
    assert!(matches!(open(&second, &other_options), Err(WorkError::OtherOptions { written: 1, .. })));
    let renamed = directory.path("c.jsonl");
    std::fs::rename(&second, &renamed).unwrap();
    assert_eq!(lines(&waiting(&open(&renamed, &options).unwrap().0)), [r#"{"id":"d"}"#]);
}

#[test]
fn a_working_file_has_one_process_and_is_no_other_programs() {
    let (directory, options) = (Directory::new(), Options::default());
    let file = directory.write("a.jsonl", "{\"id\":\"a\"}");
    let source = Source::open(&file, &options).unwrap();
    let work = Work::open(&directory.path("work"), &source, &options).unwrap();
    assert!(matches!(Work::open(&directory.path("work"), &source, &options), Err(WorkError::InUse { .. })));
    drop(work);
    assert!(matches!(Work::open(&file, &source, &options), Err(WorkError::NotOurs { .. })));
    let other = directory.path("other.sqlite");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    assert!(matches!(Work::open(&other, &source, &options), Err(WorkError::NotOurs { .. })));
}

#[test]
fn refused_records_can_be_imported_again() {
    let content = "{\"id\":\"a\"}\n{\"id\":\"b\",\"attributes\":{\"n\":1.5}}\n";
    let mut checked = Checked::of("a.jsonl", content, &Options::default());
    let records = waiting(&checked.work);
    refuse(&mut checked.work, records[1].number, "the table said no");
    checked.work.mark_written(&[records[1].number, records[0].number]).unwrap();
    let mut refused = Vec::new();
    let told = checked.work.refused(|line, reason| -> Result<(), WorkError> {
        refused.push((line.to_owned(), reason.to_owned()));
        Ok(())
    });
    told.unwrap();
    let line = "{\"id\":\"b\",\"attributes\":{\"n\":1.5}}".to_owned();
    assert_eq!(refused, [(line, "the table said no".to_owned())]);
    let summary = checked.work.summary().unwrap();
    assert_eq!((summary.nodes, summary.written, summary.refused), (2, 1, 1));
    assert_eq!(checked.work.levels().unwrap()[0].waiting(), 0);
    drop(checked.directory);
}

/// The names of the files in the directory that a process of the next test runs in.
const FILE: &str = "a.jsonl";
const WORKING: &str = "work";
const WRITTEN: &str = "written";

#[test]
#[ignore = "runs in a process of its own, which the next test kills"]
fn killed() {
    use std::io::Write;
    let options = Options::default();
    let mut source = Source::open(FILE.as_ref(), &options).unwrap();
    let mut work = Work::open(WORKING.as_ref(), &source, &options).unwrap();
    while work.load_some(&mut source).unwrap() || work.check_some(&mut Nowhere).unwrap() {}
    let mut written = std::fs::File::options().append(true).create(true).open(WRITTEN).unwrap();
    for level in work.levels().unwrap() {
        loop {
            let records = work.next(level.level, None, BATCH).unwrap();
            if records.is_empty() {
                break;
            }
            written.write_all(format!("{}\n", lines(&records).join("\n")).as_bytes()).unwrap();
            work.mark_written(&records.iter().map(|record| record.number).collect::<Vec<_>>()).unwrap();
        }
    }
}

/// How many records a process writes at a time.
const BATCH: usize = 20;

#[test]
fn a_process_that_is_killed_anywhere_loses_nothing_and_repeats_one_batch_at_most() {
    let directory = Directory::new();
    directory.write(FILE, content());
    let start = || {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["tests::resuming::killed", "--exact", "--ignored"]).current_dir(directory.path(""));
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut kills = 0;
    for milliseconds in (10..).step_by(60) {
        let mut process = start();
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        if let Some(status) = process.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
        // On Unix this is SIGKILL.
        process.kill().unwrap();
        process.wait().unwrap();
        kills += 1;
    }
    let written = std::fs::read_to_string(directory.path(WRITTEN)).unwrap();
    let mut lines: Vec<&str> = written.lines().collect();
    assert!(lines.len() <= 12_000 + kills * BATCH, "{} lines after {kills} kills", lines.len());
    lines.sort_unstable();
    lines.dedup();
    let whole = Checked::of("a.jsonl", content(), &Options::default());
    let mut wanted = super::fixture::lines(&waiting(&whole.work));
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
    println!("{kills} kills");
}

#[test]
fn a_working_file_belongs_to_its_table() {
    let directory = Directory::new();
    let file = directory.write("a.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
    let of = |table: Option<&str>| Options { table: table.map(str::to_owned), ..Options::default() };
    let open = |table: Option<&str>| {
        let options = of(table);
        let mut source = Source::open(&file, &options).unwrap();
        let mut work = Work::open(&directory.path("work"), &source, &options)?;
        while work.load_some(&mut source)? {}
        while work.check_some(&mut Nowhere)? {}
        Ok::<Work, WorkError>(work)
    };
    let write = |work: &mut Work| {
        let first = work.next(Level::Nodes(0), None, 1).unwrap();
        work.mark_written(&[first[0].number]).unwrap();
    };
    // Nothing is written: another table begins anew.
    drop(open(Some("one")).unwrap());
    let mut work = open(Some("two")).unwrap();
    write(&mut work);
    drop(work);
    let error = open(Some("one")).unwrap_err();
    assert!(matches!(error, WorkError::OtherTable { written: 1, .. }));
    assert!(error.to_string().contains("--work") && error.to_string().contains("delete"), "{error}");
    // One that nobody can ask is looked at when it answers.
    assert_eq!(lines(&waiting(&open(None).unwrap())).len(), 1);
    assert_eq!(lines(&waiting(&open(Some("two")).unwrap())).len(), 1);
    // A file that was begun without the table is that of the first one that answers.
    open(None).unwrap().delete();
    drop(open(None).unwrap());
    write(&mut open(Some("two")).unwrap());
    assert!(matches!(open(Some("one")), Err(WorkError::OtherTable { .. })));
}

#[test]
fn what_was_refused_waits_again_and_a_file_without_writes_goes() {
    let directory = Directory::new();
    let file = directory.write("a.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
    let options = Options::default();
    let open = || {
        let mut source = Source::open(&file, &options).unwrap();
        let mut work = Work::open(&directory.path("work"), &source, &options).unwrap();
        while work.load_some(&mut source).unwrap() {}
        while work.check_some(&mut Nowhere).unwrap() {}
        work
    };
    let mut work = open();
    let both = work.next(Level::Nodes(0), None, 2).unwrap();
    refuse(&mut work, both[0].number, "it is taken");
    work.mark_written(&[both[1].number]).unwrap();
    assert_eq!(waiting(&work).len(), 0);
    drop(work);
    let work = open();
    assert_eq!(lines(&waiting(&work)), [r#"{"id":"a"}"#]);
    let summary = work.summary().unwrap();
    assert_eq!((summary.written, summary.refused), (1, 0));
    work.refused::<WorkError>(|line, _| panic!("{line}")).unwrap();
    work.forget().unwrap();
    assert!(directory.path("work").exists(), "something is written");
    open().delete();
    let mut work = open();
    refuse(&mut work, both[0].number, "it is taken");
    work.forget().unwrap();
    assert_eq!(std::fs::read_dir(directory.path(".")).unwrap().count(), 1, "only the file is left");
}

/// Four threads take something again and again. No two have it at once.
fn take_turns<T>(take: impl Fn() -> Option<T> + Sync, give_up: impl Fn(T) + Sync, times: usize) {
    let users = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..times {
                    let Some(taken) = take() else { continue };
                    assert_eq!(users.fetch_add(1, Ordering::SeqCst), 0, "another has it");
                    users.fetch_sub(1, Ordering::SeqCst);
                    give_up(taken);
                }
            });
        }
    });
}

#[test]
fn a_working_file_is_one_process_s_until_it_is_deleted() {
    let directory = Directory::new();
    let (file, path, options) =
        (directory.write("a.jsonl", "{\"id\":\"a\"}\n"), directory.path("work"), Options::default());
    let open = || match Work::open(&path, &Source::open(&file, &options).unwrap(), &options) {
        Err(WorkError::InUse { .. }) => None,
        opened => Some(opened.unwrap()),
    };
    let forget = |work: Work| {
        assert!(path.exists(), "it was deleted after it was opened");
        work.forget().unwrap();
    };
    take_turns(open, forget, 100);
    // Whatever it is called.
    #[cfg(unix)]
    {
        let link = directory.path("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let work = open().unwrap();
        assert!(Lock::of(&link).unwrap().is_none());
        forget(work);
        std::fs::remove_file(link).unwrap();
    }
    assert_eq!(std::fs::read_dir(directory.path(".")).unwrap().count(), 1, "only the file is left");
}

#[test]
fn a_lock_that_is_deleted_is_nobody_s() {
    let directory = Directory::new();
    take_turns(|| Lock::of(&directory.path("work")).unwrap(), drop, 40_000);
}

#[test]
fn what_a_process_leaves_that_is_killed_while_it_deletes_does_no_harm() {
    let directory = Directory::new();
    let (file, path, options) =
        (directory.write("a.jsonl", "{\"id\":\"a\"}\n"), directory.path("work"), Options::default());
    let (log, copy) = (directory.path("work-wal"), directory.path("copy"));
    let mut source = Source::open(&file, &options).unwrap();
    let mut work = Work::open(&path, &source, &options).unwrap();
    while work.load_some(&mut source).unwrap() {}
    std::fs::copy(&log, &copy).unwrap();
    work.forget().unwrap();
    std::fs::rename(&copy, &log).unwrap();
    directory.write("work-lock", "");
    let work = Work::open(&path, &Source::open(&file, &options).unwrap(), &options).unwrap();
    assert_eq!(work.entries().unwrap(), 0);
    work.forget().unwrap();
    assert_eq!(std::fs::read_dir(directory.path(".")).unwrap().count(), 1, "only the file is left");
}

#[test]
fn what_was_sent_and_not_answered_is_known_to_the_next_process() {
    let directory = Directory::new();
    let file = directory.write("a.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n{\"id\":\"d\"}\n");
    let open = |as_is: bool| {
        let options = Options { as_is, ..Options::default() };
        let mut source = Source::open(&file, &options).unwrap();
        let mut work = Work::open(&directory.path("work"), &source, &options)?;
        while work.load_some(&mut source)? || work.check_some(&mut Nowhere)? {}
        Ok::<Work, WorkError>(work)
    };
    let sent = |work: &Work| -> Vec<Option<u64>> { waiting(work).iter().map(|record| record.sent).collect() };
    let mut work = open(false).unwrap();
    let all: Vec<_> = waiting(&work).iter().map(|record| record.number).collect();
    assert_eq!(sent(&work), [None; 4]);
    work.mark_sent(&all[..3], 1_000).unwrap();
    refuse(&mut work, all[1], "nobody knows");
    work.settle(&Outcomes { unsent: vec![all[0]], ..Outcomes::default() }).unwrap();
    // It is no use to forget what may have been written, nor to begin anew with other options.
    work.forget().unwrap();
    assert!(matches!(open(true), Err(WorkError::OtherOptions { written: 2, .. })));
    let mut work = open(false).unwrap();
    assert_eq!(sent(&work), [None, Some(1_000), Some(1_000), None], "what was refused may have been written, too");
    work.mark_sent(&all, 2_000).unwrap();
    assert_eq!(sent(&work), [2_000, 1_000, 1_000, 2_000].map(Some), "the first time counts");
    let (written, unsent) = (all[..2].to_vec(), all[2..].to_vec());
    work.settle(&Outcomes { written, unsent, ..Outcomes::default() }).unwrap();
    drop(work);
    assert_eq!(sent(&open(false).unwrap()), [None; 2]);
}

#[test]
fn what_came_through_a_pipe_is_the_same_if_its_bytes_are() {
    let directory = Directory::new();
    let written = |content: &str| {
        let file = directory.write("standard-input", content);
        let options = Options { format: Some(crate::Format::JsonLines), ..Options::default() };
        let mut source = Source::open(&file, &options).unwrap();
        source.name = Some("standard-input".into());
        let mut work = Work::open(&directory.path("work"), &source, &options)?;
        while work.load_some(&mut source)? {}
        while work.check_some(&mut Nowhere)? {}
        let first = work.next(Level::Nodes(0), None, 1)?;
        assert!(first[0].place.starts_with("standard-input:"), "{}", first[0].place);
        work.mark_written(&[first[0].number])?;
        work.summary().map(|summary| summary.written)
    };
    let content = "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n";
    assert_eq!([written(content).unwrap(), written(content).unwrap()], [1, 2]);
    assert!(matches!(written(&content.replace('c', "d")), Err(WorkError::OtherSource { .. })));
}
