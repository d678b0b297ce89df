//! All small scopes, searched whole: `exhaustive MINUTES [GROUP]…`. See `sim/exhaustive/mod.rs`. How many of a group's
//! scopes are done is written down in `tests/simulation/exhaustive.tsv` with the commit that was checked out, so the
//! next call goes on where this one ended, on any machine: commit the file. Remove the lines of a group that has other
//! scopes now, and all after a change of the protocol.

#![allow(clippy::expect_used, reason = "a run that can't go on should say so")]
#![allow(clippy::disallowed_methods, reason = "it is told how long it may take, and says how long it took")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use sapwood_core::plan::Rules;
use sapwood_simulation::sim::{Scope, Searched, all_scopes, search_scope};
use sapwood_simulation::tally::{self, checked_out, number};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TALLY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/exhaustive.tsv");

/// How far a group is: the scopes before `done`, what they came to, and on which commit.
#[derive(Default)]
struct Line {
    done: usize,
    schedules: u128,
    states: usize,
    commit: String,
}

fn read() -> BTreeMap<String, Line> {
    let line = |[group, done, schedules, states, commit]: [String; 5]| {
        let (done, schedules, states) = (number(&done), number(&schedules), number(&states));
        (group, Line { done, schedules, states, commit })
    };
    tally::read(TALLY).into_iter().map(line).collect()
}

fn write(tally: &BTreeMap<String, Line>) {
    let line = |(group, Line { done, schedules, states, commit }): (&String, &Line)| {
        [group.clone(), done.to_string(), schedules.to_string(), states.to_string(), commit.clone()]
    };
    tally::write(TALLY, tally.iter().map(line));
}

/// The scopes of a group that are under way or done, and the first that nobody has begun.
struct Progress {
    next: usize,
    /// What is done after the first scope that isn't.
    ahead: BTreeMap<usize, Searched>,
    tally: BTreeMap<String, Line>,
    wrong: Vec<String>,
}

/// Searches the scopes of a group that aren't done, on all processors, until it is so late. Returns what is wrong, and
/// the number of scopes that are done.
fn search(group: &str, scopes: &[Scope], until: Instant, commit: &str) -> (Vec<String>, usize) {
    let tally = read();
    let next = tally.get(group).map_or(0, |line| line.done);
    let progress = Mutex::new(Progress { next, ahead: BTreeMap::new(), tally, wrong: Vec::new() });
    let work = || {
        loop {
            let index = {
                let mut progress = progress.lock().expect("no thread has panicked");
                if progress.next >= scopes.len() || Instant::now() >= until {
                    return;
                }
                progress.next += 1;
                progress.next - 1
            };
            let since = Instant::now();
            let found = search_scope(&scopes[index], Rules::default());
            let mut progress = progress.lock().expect("no thread has panicked");
            match found {
                Ok(Searched { schedules, states }) => {
                    println!("{group} {index}: {schedules} schedules, {states} states, {:.0?}", since.elapsed());
                    progress.ahead.insert(index, Searched { schedules, states });
                }
                Err(what) => {
                    println!("{group} {index}: {what}");
                    progress.wrong.push(format!("wrong: {group} {index}"));
                }
            }
            let Progress { ahead, tally, .. } = &mut *progress;
            let line = tally.entry(group.to_owned()).or_default();
            while let Some(Searched { schedules, states }) = ahead.remove(&line.done) {
                line.done += 1;
                line.schedules += schedules;
                line.states += states;
                commit.clone_into(&mut line.commit);
            }
            write(tally);
        }
    };
    std::thread::scope(|scope| {
        (0..available_parallelism().map_or(1, usize::from)).for_each(|_| _ = scope.spawn(work));
    });
    let Progress { wrong, tally, .. } = progress.into_inner().expect("no thread has panicked");
    (wrong, tally.get(group).map_or(0, |line| line.done))
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(minutes) = arguments.next().and_then(|minutes| minutes.parse().ok()) else {
        eprintln!("exhaustive MINUTES [GROUP]…");
        return ExitCode::from(2);
    };
    let (until, commit) = (Instant::now() + Duration::from_mins(minutes), checked_out());
    let mut groups = all_scopes();
    let wanted: Vec<String> = arguments.collect();
    if let Some(unknown) = wanted.iter().find(|one| groups.iter().all(|(group, _)| group != one)) {
        eprintln!("there is no group {unknown:?}");
        return ExitCode::from(2);
    }
    groups.retain(|(group, _)| wanted.is_empty() || wanted.iter().any(|one| one == group));
    let (mut passed, mut wrong, mut left) = (0, Vec::new(), 0);
    for (group, scopes) in &groups {
        let (faults, done) = search(group, scopes, until, &commit);
        println!("{group}: {done} of {} scopes", scopes.len());
        passed += usize::from(done == scopes.len());
        left += usize::from(faults.is_empty() && done < scopes.len());
        wrong.extend(faults);
    }
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    println!("{left} of {} groups aren't done", groups.len());
    println!("test result: exhaustive. {passed} passed; {} failed;", wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
