//! Many runs, on all processors.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use super::{Fault, Run};
use crate::seeds::number;

/// Runs a schedule of each seed, until one shows a fault: the number of steps of all, or the fault.
pub fn search(seeds: Range<u64>, run: impl Fn(u64) -> Result<Run, Fault> + Sync) -> Result<u64, Fault> {
    let (next, steps) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return None;
            }
            match run(seed) {
                Ok(run) => steps.fetch_add(run.steps as u64, Ordering::Relaxed),
                Err(fault) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    return Some(fault);
                }
            };
        }
    };
    let faults: Vec<Fault> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    faults.into_iter().min_by_key(|fault| fault.seed).map_or(Ok(steps.into_inner()), Err)
}

/// The number of seeds that show a fault.
pub fn faults(seeds: Range<u64>, run: impl Fn(u64) -> Result<Run, Fault> + Sync) -> usize {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let seeds =
            std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|seed| *seed < seeds.end);
        seeds.filter(|seed| run(*seed).is_err()).count()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// The fault that a broken rule's recorded seed shows.
///
/// With `SAPWOOD_HUNT=100000` a seed that shows nothing any more is replaced by the first of so many that does, and
/// `line` is printed with it, to be pasted where the old seed is.
///
/// # Panics
/// Where the seed shows nothing, and how to hunt for another is said; where nothing was found; and where the seed shows
/// a fault when no rule is broken, too.
pub fn shown(
    test: &str,
    recorded: u64,
    broken: impl Fn(u64) -> Result<Run, Fault> + Sync,
    kept: impl Fn(u64) -> Result<Run, Fault>,
    line: impl Fn(u64) -> String,
) -> Fault {
    let fault = broken(recorded).err().unwrap_or_else(|| {
        let Some(schedules) = number("SAPWOOD_HUNT") else {
            panic!(
                "seed {recorded} shows nothing any more. Hunt for another, in 100,000 schedules:\n\
                 SAPWOOD_HUNT=100000 cargo test -p sapwood-proof {test} -- --nocapture"
            );
        };
        match search(0..schedules, broken) {
            Err(fault) => {
                println!("{}", line(fault.seed));
                fault
            }
            Ok(_) => panic!("{}: broken, and nothing is wrong in {schedules} schedules", line(recorded)),
        }
    });
    assert!(kept(fault.seed).is_ok(), "{fault}: wrong when nothing is broken, too");
    fault
}
