//! Any sequence of calls to the API, with the stream handled only now and then.
//!
//! `SAPWOOD_SCHEDULES=1000000` runs so many; `SAPWOOD_SEED=17` replays one.

use sapwood_core::plan::Rule;
use sapwood_simulation::seeds::seeds;
use sapwood_simulation::sim::{run_sequence, search, shown};

#[test]
fn whatever_is_called_while_the_stream_lags_ends_as_the_answers_promised() {
    let seeds = seeds(2_000);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run_sequence(seed, None)) {
        Ok(steps) => println!("{count} sequences, {steps} steps, no difference"),
        Err(fault) => panic!("{}\nreplay it with SAPWOOD_SEED={}", fault.what.join("\n"), fault.seed),
    }
}

#[test]
fn a_tombstone_for_any_life_deletes_what_nobody_asked_to_delete() {
    let test = "sequences::a_tombstone_for_any_life";
    let line = |seed| format!("    let recorded = {seed};");
    let recorded = 46708;
    let broken = Some(Rule::TombstoneLife);
    let fault = shown(test, recorded, |seed| run_sequence(seed, broken), |seed| run_sequence(seed, None), line);
    println!("{}", fault.what.last().unwrap());
}
