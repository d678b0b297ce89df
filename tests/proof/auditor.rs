//! The auditor, run by run: what it mends, what it leaves, and when it mends nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use sapwood_core::audit::{AuditorState, Kind, Trail};
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, Copied, Settings, Totals, number, text};
use sapwood_engine::announce::announce;
use sapwood_engine::auditor::{Auditor, Clock, Limits, Pace, Report};
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::oracle::Oracle;
use sapwood_store::Client;

const LIMITS: Limits = Limits {
    read_units_max: 1e9,
    page_items_max: 10,
    suspects_max: 200,
    suspects_bytes_max: 150_000,
    repairs_max: 100,
    unheeded_max: 10,
    totals_children_max: 2_000,
    recent_history_bytes_max: 250_000,
    settle: Duration::ZERO,
    pass_every: Duration::ZERO,
};

/// A root with so many children, and a handler that has announced itself.
fn planted(children: usize) -> Fixture {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    for child in 0..children {
        fixture.put_node(&format!("c{child}"), Some("D"), &[]);
    }
    fixture.settle();
    let client = Client::new(fixture.table(), &NoRetries, fixture.schema());
    assert!(at_once(announce(&client, fixture.settings(), "0.1.0")).unwrap());
    assert!(!at_once(announce(&client, fixture.settings(), "0.1.0")).unwrap(), "it is there already");
    fixture
}

fn run_with(fixture: &Fixture, settings: &Settings, limits: Limits, heals: bool, now: u64) -> Report {
    let client = Client::new(fixture.table(), &NoRetries, &settings.schema);
    let auditor = Auditor::new(&client, settings, limits, heals);
    at_once(auditor.run(Clock { now, name: now * 1_000, pace: || true })).unwrap()
}

fn run(fixture: &Fixture, limits: Limits, heals: bool, now: u64) -> Report {
    run_with(fixture, fixture.settings(), limits, heals, now)
}

fn state(fixture: &Fixture, limits: Limits) -> AuditorState {
    let kept = AuditorState::read(&fixture.get("SAPWOOD", "AUDIT").unwrap(), Some(limits.settle), 1_000_000).unwrap();
    assert!(kept.impossible.is_empty(), "{:?}", kept.impossible);
    kept.state
}

/// Deletes the rows of these children, and nobody is told.
fn damage(fixture: &mut Fixture, children: std::ops::Range<usize>) {
    for child in children {
        fixture.delete("D", &format!("NODE#0001#c{child}"));
    }
    fixture.table().0.lock().unwrap().stream.clear();
}

#[test]
fn what_is_damaged_is_suspected_then_mended_then_seen_to_be_right() {
    let mut fixture = planted(3);
    let first = run(&fixture, LIMITS, true, 100);
    assert_eq!((first.suspects, first.pass_time, first.age), (0, Some(0), 0));
    damage(&mut fixture, 1..2);
    let found = run(&fixture, LIMITS, true, 200);
    assert_eq!((found.suspects, found.confirmed.len(), found.pass_time), (1, 0, None));
    let mended = run(&fixture, LIMITS, true, 300);
    assert_eq!(mended.confirmed.iter().map(|one| one.kind).collect::<Vec<_>>(), [Kind::RowMissing]);
    fixture.settle();
    let right = run(&fixture, LIMITS, true, 400);
    assert_eq!((right.healed, right.left.len(), right.suspects), (1, 0, 0));
    // The pass began at 200, so everything was compared since then.
    assert_eq!((right.pass_time, right.age), (Some(200), 200));
    let state = state(&fixture, LIMITS);
    assert_eq!(state.last.map(|pass| (pass.began, pass.differences, pass.healed)), Some((200, 1, 1)));
    assert_eq!(state.right_as_of, Some(200));
}

/// Leaves a trail of these nodes at this time, as a handler does.
fn leave_trail(fixture: &mut Fixture, number: u8, at: u64, nodes: &[String]) {
    let mut trail = Trail::new(number);
    for node in nodes {
        trail.note(&ItemKey::new(node, "NODE"), fixture.schema());
    }
    let (key, item) = trail.take(at, fixture.settings()).unwrap();
    fixture.table().0.lock().unwrap().write(&key, Some(item));
}

#[test]
fn what_was_written_lately_is_looked_at_before_the_pass_comes_by() {
    let mut fixture = planted(500);
    // The pass has room for a page a run, and 50 runs before it.
    let limits = Limits { read_units_max: 400.0, ..LIMITS };
    let run_at = |fixture: &Fixture, now| {
        let client = Client::new(fixture.table(), &NoRetries, fixture.schema());
        let auditor = Auditor::new(&client, fixture.settings(), limits, true);
        let pages = std::cell::Cell::new(2);
        let pace = || pages.replace(pages.get() - 1) > 0;
        at_once(auditor.run(Clock { now, name: now * 1_000, pace })).unwrap()
    };
    let last_of_the_scan = "c499".to_owned();
    assert_eq!(run_at(&fixture, 1_000).recent, 0);
    damage(&mut fixture, 499..500);
    leave_trail(&mut fixture, 3, 1_100, &[last_of_the_scan.clone(), "c7".to_owned()]);
    let found = run_at(&fixture, 1_200);
    assert_eq!((found.recent, found.suspects), (2, 1), "{found:?}");
    // The same trail isn't followed twice, and one that can't be true not at all.
    leave_trail(&mut fixture, 4, 99_000, &["c8".to_owned()]);
    let mended = run_at(&fixture, 1_500);
    assert_eq!((mended.recent, mended.confirmed.len()), (0, 1), "{mended:?}");
    fixture.settle();
    leave_trail(&mut fixture, 3, 1_600, &["c9".to_owned()]);
    let healed = run_at(&fixture, 1_800);
    assert_eq!((healed.recent, healed.healed), (1, 1), "{healed:?}");
    let state = state(&fixture, limits);
    assert_eq!((state.pass.recent, state.pass.differences, state.trail_at), (3, 1, 1_600));
    assert!(state.last.is_none(), "the pass isn't there yet");
    let compared = (state.pass.items + 3) as f64;
    assert_eq!(state.wrong_per_million(), Some(1e6 / compared));
}

#[test]
fn what_was_written_lately_takes_a_share_of_the_units_and_the_pass_goes_on() {
    let mut fixture = planted(500);
    let limits = Limits { read_units_max: 200.0, ..LIMITS };
    for number in 0..32_u8 {
        let nodes: Vec<String> = (0..15).map(|node| format!("c{}", u32::from(number) * 15 + node)).collect();
        leave_trail(&mut fixture, number, 1_100, &nodes);
    }
    let found = run(&fixture, limits, true, 1_200);
    assert!(found.recent > 0 && found.recent < 100 && found.items > 0, "{found:?}");
    let passes = (0..200).find(|number| run(&fixture, limits, true, 1_500 + number).pass_time.is_some());
    assert!(passes.is_some(), "the pass never ends");
}

#[test]
fn a_long_history_that_is_written_all_the_time_keeps_no_pass_from_going_on() {
    let mut fixture = planted(30);
    fixture.put_node("h", Some("D"), &[]);
    for (topic, version) in ["A", "B", "C"].into_iter().flat_map(|topic| (1..=600).map(move |n| (topic, n))) {
        fixture.put("h", &format!("v{version:03}_{topic}"), &[("text", text("x".repeat(450)))]);
    }
    fixture.settle();
    // All of it takes more units than a run has, and a page of it doesn't.
    let ends = |recent_history_bytes_max: usize, first: u64| {
        let limits = Limits { read_units_max: 180.0, recent_history_bytes_max, ..LIMITS };
        (first..first + 100).any(|number| {
            let (now, mut trail) = (number * 1_000, Trail::new(3));
            trail.note(&ItemKey::new("h", "v600_A"), fixture.schema());
            let (key, item) = trail.take(now, fixture.settings()).unwrap();
            fixture.table().0.lock().unwrap().write(&key, Some(item));
            run(&fixture, limits, true, now).pass_time.is_some()
        })
    };
    assert!(!ends(usize::MAX, 1), "without the bound nothing would be wrong: is the history long?");
    assert!(ends(LIMITS.recent_history_bytes_max, 1_000));
}

#[test]
fn a_difference_counts_only_after_the_settling_time() {
    let limits = Limits { settle: Duration::from_secs(600), ..LIMITS };
    let mut fixture = planted(3);
    damage(&mut fixture, 1..2);
    let confirmed: Vec<usize> =
        (0..6).map(|number| run(&fixture, limits, true, 1_000 + number * 300).confirmed.len()).collect();
    // The first run suspects, the second looks strongly, and ten minutes later it counts.
    assert_eq!(confirmed, [0, 0, 0, 1, 0, 0]);
}

#[test]
fn a_wrong_total_counts_although_something_else_is_mended_in_every_run() {
    let settings = Settings { totals: Some(Totals::of([])), ..Settings::default() };
    let mut fixture = Fixture::new(settings, Oracle::default());
    for (id, parent) in [("D", None), ("E", None), ("x", Some("D"))] {
        fixture.put_node(id, parent, &[]);
    }
    (0..40).for_each(|child| fixture.put_node(&format!("c{child}"), Some("E"), &[]));
    fixture.settle();
    let client = Client::new(fixture.table(), &NoRetries, fixture.schema());
    assert!(at_once(announce(&client, fixture.settings(), "0.1.0")).unwrap());
    fixture.put("D", "TOTALS#0000#00", &[("_count", number(7))]);
    let limits = Limits { settle: Duration::from_secs(600), pass_every: Duration::from_secs(86_400), ..LIMITS };
    let mut confirmed = Vec::new();
    for child in 0..40 {
        let now = 1_000 + child as u64 * 300;
        fixture.delete("E", &format!("NODE#0001#c{child}"));
        fixture.table().0.lock().unwrap().stream.clear();
        leave_trail(&mut fixture, 3, now - 10, &[format!("c{child}")]);
        let counted = run(&fixture, limits, true, now).confirmed;
        confirmed.extend(counted.into_iter().map(|one| (one.kind, one.key.pk)));
        handled(&mut fixture);
    }
    assert!(confirmed.iter().filter(|(kind, _)| *kind == Kind::RowMissing).count() > 30, "{confirmed:?}");
    let wrong = |one: &&(Kind, String)| **one == (Kind::TotalWrong, "D".to_owned());
    assert_eq!(confirmed.iter().filter(wrong).count(), 1, "{confirmed:?}");
}

#[test]
fn a_report_writes_nothing_but_its_state() {
    let mut fixture = planted(3);
    damage(&mut fixture, 0..2);
    let before = fixture.table().0.lock().unwrap().contents();
    let reports: Vec<Report> = (0..4).map(|number| run(&fixture, LIMITS, false, 100 + number)).collect();
    let mut after = fixture.table().0.lock().unwrap().contents();
    after.remove(&("SAPWOOD".to_owned(), "AUDIT".to_owned()));
    assert_eq!(before, after);
    assert!(reports.iter().all(|report| report.unfit.is_none()));
    // Each pass finds them again, and says so. It takes two runs.
    assert_eq!(reports.iter().map(|report| report.left.len()).collect::<Vec<_>>(), [0, 2, 0, 2]);
}

#[test]
fn an_auditor_with_other_settings_than_the_handlers_mends_nothing() {
    let mut fixture = planted(3);
    let others = Settings { copied: Copied::None, path_rows: false, ..fixture.settings().clone() };
    let before = fixture.table().0.lock().unwrap().stream.len();
    let run = |now| run_with(&fixture, &others, LIMITS, true, now);
    let first = run(100);
    assert!(first.unfit.is_none() && first.suspects > 0, "{first:?}");
    let reason = run(200).unfit.unwrap();
    assert!(reason.contains("COPIED_ATTRIBUTES, PATH_ROWS"), "{reason}");
    let stream = fixture.table().0.lock().unwrap().stream.clone();
    assert!(stream[before..].iter().all(|record| record.key.pk == "SAPWOOD"), "{stream:?}");
    fixture.delete("SAPWOOD", "SETTINGS");
    run_with(&fixture, &others, LIMITS, true, 300);
    let reason = run_with(&fixture, &others, LIMITS, true, 400).unfit.unwrap();
    assert!(reason.contains("no stream handler"), "{reason}");
}

#[test]
fn where_nobody_handles_repairs_they_end() {
    let limits = Limits { repairs_max: 5, unheeded_max: 5, settle: Duration::from_secs(10), ..LIMITS };
    let mut fixture = planted(30);
    damage(&mut fixture, 0..30);
    let written = |fixture: &Fixture| {
        let stream = &fixture.table().0.lock().unwrap().stream;
        stream.iter().filter(|record| record.key.sk == "NODE").count()
    };
    run(&fixture, limits, true, 100);
    run(&fixture, limits, true, 110);
    for number in 0..3 {
        run(&fixture, limits, true, 120 + number);
        assert_eq!(written(&fixture), 5);
    }
    // What was mended without effect is left. Others would go the same way.
    for now in [140, 160, 180] {
        let report = run(&fixture, limits, true, now);
        assert_eq!((report.unfit.is_some() || report.confirmed.is_empty(), written(&fixture)), (true, 5));
    }
}

#[test]
fn the_scan_waits_while_there_is_no_room_for_suspects_and_says_what_it_left_out() {
    let limits = Limits { suspects_max: 4, page_items_max: 6, settle: Duration::from_secs(1_000), ..LIMITS };
    let mut fixture = planted(12);
    damage(&mut fixture, 0..12);
    let first = run(&fixture, limits, true, 100);
    let position = state(&fixture, limits).position;
    assert!(first.suspects <= 4 && !state(&fixture, limits).scanned);
    let second = run(&fixture, limits, true, 101);
    assert_eq!((second.items, state(&fixture, limits).position), (0, position));
    // A page with more suspects than there is room for at all is passed, and the pass isn't whole.
    let limits = Limits { suspects_max: 1, page_items_max: 1_000, ..LIMITS };
    let mut fixture = planted(12);
    damage(&mut fixture, 0..12);
    for number in 0..4 {
        run(&fixture, limits, true, 100 + number);
        let _ = fixture.table().0.lock().unwrap().stream.drain(..);
    }
    let state = state(&fixture, limits);
    assert_eq!(state.last.map(|pass| pass.skipped), Some(11));
    assert_eq!(state.right_as_of, None);
}

#[test]
fn of_two_runs_at_once_one_counts() {
    let fixture = planted(3);
    run(&fixture, LIMITS, true, 100);
    let stale = fixture.get("SAPWOOD", "AUDIT").unwrap();
    let schema = fixture.schema().clone();
    let client = Client::new(fixture.table(), &NoRetries, &schema);
    let auditor = Auditor::new(&client, fixture.settings(), LIMITS, true);
    let other = std::cell::Cell::new(true);
    // Another run begins and saves while this one scans.
    let meanwhile = || {
        if other.take() {
            assert!(run(&fixture, LIMITS, true, 200).is_saved);
        }
        true
    };
    let report = at_once(auditor.run(Clock { now: 201, name: 201_000, pace: meanwhile })).unwrap();
    assert!(!report.is_saved);
    assert_eq!(state(&fixture, LIMITS).saved, 200);
    assert_ne!(fixture.get("SAPWOOD", "AUDIT").unwrap(), stale);
}

#[test]
fn a_newer_auditors_state_is_left_alone_and_told() {
    let mut fixture = planted(1);
    fixture.put("SAPWOOD", "AUDIT", &[("format", number(9)), ("runs", text("others"))]);
    let before = fixture.get("SAPWOOD", "AUDIT");
    let report = run(&fixture, LIMITS, true, 1);
    assert!(report.stopped.as_ref().is_some_and(|reason| reason.contains("format 9")), "{report:?}");
    assert_eq!((fixture.get("SAPWOOD", "AUDIT"), report.is_saved), (before, false));
}

#[test]
fn whatever_somebody_writes_into_its_state_the_auditor_says_so_and_goes_on_to_mend() {
    let limits = Limits { settle: Duration::from_secs(10), pass_every: Duration::from_secs(86_400), ..LIMITS };
    let far = || number(9_000_000_000);
    let map = |entries: &[(&str, AttributeValue)]| {
        AttributeValue::M(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    };
    for (name, value) in [
        ("began", far()),
        ("saved", far()),
        ("right_as_of", far()),
        ("longest", AttributeValue::N("18446744073709551615".to_owned())),
        ("longest", far()),
        ("runs", text("none")),
        ("pass", map(&[("number", far())])),
        ("pass", far()),
        ("suspects", far()),
        ("suspects", AttributeValue::L(vec![map(&[("pk", text("c0"))])])),
        ("scanned", text("yes")),
        ("left", text("all")),
        ("format", text("one")),
        ("after_pk", far()),
    ] {
        let mut fixture = planted(4);
        // The second run is in the middle of a pass.
        damage(&mut fixture, 0..1);
        for now in [100_000, 100_010] {
            run(&fixture, limits, true, now);
        }
        fixture.update("SAPWOOD", "AUDIT", name, Some(value.clone()));
        damage(&mut fixture, 1..2);
        let reports: Vec<Report> = (1..=8)
            .map(|number| {
                let report = run(&fixture, limits, true, 100_010 + number * 10);
                handled(&mut fixture);
                report
            })
            .collect();
        // A number that is only large is no more than that, and has a bound.
        let is_believed = value == far() && name == "longest";
        assert_eq!(reports[0].impossible.is_empty(), is_believed, "{name}: {:?}", reports[0].impossible);
        assert!(reports[1..].iter().all(|report| report.impossible.is_empty()), "{name}");
        let healed: u64 = reports.iter().map(|report| report.healed).sum();
        assert!(healed > 0, "{name} {value:?}: {reports:?}");
    }
}

/// A run of a simulated time: it waits until it may have spent what it has spent.
struct Simulated {
    span: Duration,
    limits: Limits,
    /// The units that were spent when it was asked to wait, and until when it waited.
    waits: Rc<RefCell<Vec<(f64, Duration)>>>,
}

impl Pace for Simulated {
    async fn wait(&self, read_units: f64) -> bool {
        let due = self.limits.due(read_units, self.span);
        self.waits.borrow_mut().push((read_units, due));
        due < self.span
    }
}

#[test]
fn a_run_spends_its_read_units_evenly_over_its_time() {
    let mut fixture = planted(120);
    damage(&mut fixture, 0..60);
    let limits = Limits { read_units_max: 400.0, page_items_max: 5, settle: Duration::from_secs(1_000), ..LIMITS };
    let (mut spent, mut most) = (0.0, 0.0);
    for number in 0..3 {
        // Each run has a client of its own, and so counts from zero.
        let client = Client::new(fixture.table(), &NoRetries, fixture.schema());
        let auditor = Auditor::new(&client, fixture.settings(), limits, true);
        let waits = Rc::default();
        let pace = Simulated { span: Duration::from_secs(200), limits, waits: Rc::clone(&waits) };
        at_once(auditor.run(Clock { now: 100 + number, name: number * 1_000, pace })).unwrap();
        let waits = waits.take();
        // Two units a second, and what is read between two waits: a page, or a look at some suspects.
        for pair in waits.windows(2) {
            let ((before, at), (after, _)) = (pair[0], pair[1]);
            assert!(before <= at.as_secs_f64() * 2.0 + 1e-6, "{waits:?}");
            most = f64::max(most, after - before);
        }
        spent = waits.last().unwrap().0;
        assert!(waits.len() >= 3 && spent <= limits.read_units_max + most, "{waits:?}");
    }
    assert!(spent > 200.0 && most < 150.0, "{spent} {most}");
}

/// Has the handler take all that the stream has, whatever the table is like then.
fn handled(fixture: &mut Fixture) {
    for _ in 0..100 {
        let batch = fixture.take_records();
        if batch.is_empty() {
            return;
        }
        fixture.deliver(&batch);
    }
}

#[test]
fn a_history_with_more_wrong_copies_than_there_is_room_for_is_mended_in_parts() {
    let limits = Limits { suspects_max: 5, ..LIMITS };
    let mut fixture = planted(1);
    for topic in 0..12 {
        fixture.put("c0", &format!("v001_T{topic}"), &[("n", number(topic))]);
    }
    fixture.settle();
    for topic in 0..12 {
        fixture.delete("c0", &format!("v0_T{topic}"));
    }
    fixture.table().0.lock().unwrap().stream.clear();
    let most = (0..12).map(|number| run(&fixture, limits, true, 100 + number).suspects).max();
    assert!(most <= Some(5), "{most:?}");
    fixture.settle();
}

#[test]
fn the_children_of_a_lost_lineage_stay_until_it_is_mended() {
    for is_lost in [true, false] {
        let mut fixture = planted(8);
        for child in 0..8 {
            fixture.put_node(&format!("h{child}"), Some("c0"), &[]);
            fixture.put_node(&format!("i{child}"), Some(&format!("h{child}")), &[]);
        }
        fixture.settle();
        if is_lost {
            fixture.delete("c0", "LINEAGE");
        } else {
            fixture.update("c0", "LINEAGE", "ancestors", Some(AttributeValue::L(vec![text("x")])));
        }
        fixture.table().0.lock().unwrap().stream.clear();
        let limits = Limits { page_items_max: 3, suspects_max: 3, ..LIMITS };
        let mut mended = Vec::new();
        for number in 0..60 {
            let report = run(&fixture, limits, true, 100 + number);
            mended.extend(report.confirmed.into_iter().map(|one| one.node.id.to_string()));
            handled(&mut fixture);
        }
        // The record that decides is written, and none of its children's: their rows were right all the time.
        assert!(!mended.is_empty() && mended.iter().all(|id| id == "c0"), "{is_lost}: {mended:?}");
        fixture.settle();
    }
}

#[test]
fn what_the_others_wait_for_has_room_however_many_they_are() {
    let mut fixture = planted(1);
    // Below `c0` is `p`, with more children than there is room for.
    fixture.put_node("p", Some("c0"), &[]);
    for child in 0..12 {
        fixture.put_node(&format!("k{child}"), Some("p"), &[]);
    }
    fixture.settle();
    // The children are found first, then that `p` is wrong, and only then that `c0` is.
    for id in ["p", "c0"] {
        fixture.delete(id, "LINEAGE");
    }
    fixture.table().0.lock().unwrap().stream.clear();
    let limits = Limits { page_items_max: 4, suspects_max: 5, settle: Duration::from_secs(10), ..LIMITS };
    let mut confirmed = Vec::new();
    for number in 0..40 {
        let report = run(&fixture, limits, true, 100 + number * 10);
        confirmed.extend(report.confirmed.into_iter().map(|one| one.node.id.to_string()));
        handled(&mut fixture);
    }
    assert!(!confirmed.iter().any(|id| id.starts_with('k')), "{confirmed:?}");
    fixture.settle();
}

/// Trees of a root, a node below it, and so many children of that, each with a child of its own. Other nodes are beside
/// them.
fn forest(trees: usize, children: usize) -> Fixture {
    let mut fixture = planted(40);
    for tree in 0..trees {
        fixture.put_node(&format!("r{tree}"), None, &[]);
        fixture.put_node(&format!("m{tree}"), Some(&format!("r{tree}")), &[]);
        for child in 0..children {
            fixture.put_node(&format!("k{tree}-{child}"), Some(&format!("m{tree}")), &[]);
            fixture.put_node(&format!("l{tree}-{child}"), Some(&format!("k{tree}-{child}")), &[]);
        }
    }
    fixture.settle();
    fixture
}

#[test]
fn what_a_mend_explains_puts_nothing_off() {
    let mut fixture = forest(20, 4);
    for tree in 0..20 {
        fixture.delete(&format!("m{tree}"), "LINEAGE");
        // It is right as soon as the node above it is mended and everything below that is placed anew.
        fixture.delete(&format!("k{tree}-0"), &format!("NODE#0001#l{tree}-0"));
    }
    fixture.table().0.lock().unwrap().stream.clear();
    // A run is far from looking at the whole table. Its runs are 10 seconds apart, as in `sapwood dev`.
    let settle = Duration::from_secs(30);
    let limits = Limits { read_units_max: 60.0, page_items_max: 10, settle, ..LIMITS };
    let (mut mended, mut scanned, mut runs) = (BTreeSet::new(), None, 0);
    let most = loop {
        runs += 1;
        let report = run(&fixture, limits, true, 100 + runs * 10);
        assert!(report.restless.is_empty() && report.left.is_empty(), "{report:?}");
        // What may have gone by itself did so from one run to the next, which says that the stream is no further
        // behind.
        assert!(report.settle <= 30, "{report:?}");
        mended.extend(report.confirmed.into_iter().map(|one| one.node.id.to_string()));
        handled(&mut fixture);
        let state = state(&fixture, limits);
        if scanned.is_none() && (state.scanned || state.last.is_some()) {
            scanned = Some(runs);
        }
        if state.last.is_some() {
            break scanned.unwrap();
        }
        assert!(runs < 200, "{:?}", state.suspects);
    };
    assert!(most > 5, "a run looks at the whole table");
    assert!((0..20).all(|tree| mended.contains(&format!("m{tree}"))), "{mended:?}");
    // A look, three runs until it counts, and one that sees that it is right; and the same once more for what was
    // below.
    assert!(runs <= most + 10, "{runs} runs, and the scan had ended after {most}");
    fixture.settle();
}

#[test]
fn a_report_counts_each_difference_once_a_pass_however_often_it_comes_across_it() {
    let mut fixture = forest(20, 4);
    for tree in 0..20 {
        fixture.delete(&format!("m{tree}"), "LINEAGE");
    }
    fixture.table().0.lock().unwrap().stream.clear();
    let settle = Duration::from_secs(30);
    let limits = Limits { read_units_max: 60.0, page_items_max: 10, settle, ..LIMITS };
    let mut told: Vec<String> = Vec::new();
    for number in 0..200 {
        let report = run(&fixture, limits, false, 100 + number * 10);
        assert_eq!(report.confirmed.len(), report.left.len());
        told.extend(report.left.iter().map(|one| format!("{:?}", one.key)));
        if state(&fixture, limits).last.is_some() {
            break;
        }
    }
    let once: BTreeSet<&String> = told.iter().collect();
    let pass = state(&fixture, limits).last.unwrap();
    assert_eq!((told.len(), pass.differences, pass.left), (once.len(), once.len() as u64, once.len() as u64));
    // Each node without a lineage, its two rows, which no lineage names, and each of its children, which can't be where
    // they say.
    assert_eq!(once.len(), 20 * (1 + 2 + 4), "{once:?}");
}

#[test]
fn what_waits_for_a_node_that_is_left_is_left_with_it() {
    let limits = Limits { settle: Duration::from_secs(10), unheeded_max: 100, ..LIMITS };
    let mut fixture = forest(1, 4);
    fixture.delete("m0", "LINEAGE");
    fixture.table().0.lock().unwrap().stream.clear();
    let mut left = Vec::new();
    for number in 0..20 {
        let report = run(&fixture, limits, true, 100 + number * 10);
        left.extend(report.left.iter().map(|one| format!("{:?}", one.key)));
        if state(&fixture, limits).last.is_some() {
            break;
        }
        // Nobody handles its mends.
        let written: Vec<_> =
            fixture.table().0.lock().unwrap().stream.drain(..).filter(|one| one.key.sk == "NODE").collect();
        assert!(written.iter().all(|one| one.key.pk == "m0"), "{written:?}");
    }
    left.sort();
    assert_eq!(left.len(), 1 + 2 + 4, "the node, its two rows and its children: {left:?}");
    left.dedup();
    assert_eq!(left.len(), 7);
}

#[test]
fn what_waits_or_doesnt_count_yet_is_told() {
    let limits = Limits { settle: Duration::from_secs(10), repairs_max: 0, ..LIMITS };
    let mut fixture = forest(1, 2);
    fixture.delete("m0", "LINEAGE");
    fixture.table().0.lock().unwrap().stream.clear();
    let reports: Vec<Report> = (0..20).map(|number| run(&fixture, limits, true, 100 + number * 10)).collect();
    // There is room for no mend: the node waits for its turn, and its rows and its children for the node. Nobody says
    // that they still change.
    assert_eq!(reports.iter().map(|report| report.confirmed.len()).sum::<usize>(), 1);
    assert!(reports.iter().all(|report| report.restless.is_empty() && report.left.is_empty()));
    assert_eq!((reports[19].suspects, reports[19].unconfirmed.len(), reports[19].settle), (5, 4, 10));
}
