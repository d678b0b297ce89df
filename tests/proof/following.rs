//! Followers of the feeds of trees: at rest each mirror equals its tree.

use sapwood_core::plan::Rule;
use sapwood_simulation::seeds::seeds;
use sapwood_simulation::sim::{Drill, Profile, Writers, faults, run, search};

const WRITERS: [Writers; 6] =
    [Writers::Nodes, Writers::Moves, Writers::Any, Writers::Trash, Writers::MixedDeletions, Writers::Copies];

fn profiles() -> impl Iterator<Item = Profile> {
    WRITERS.into_iter().flat_map(|writers| {
        let plain = Profile::new(writers).with_followers();
        [plain.clone(), Profile { limbo: true, ..plain.clone().with_races() }, plain.with_repairs()]
    })
}

const DRILLS: [Drill; 3] = [Drill::AnotherDepth, Drill::GoneElsewhere, Drill::TrashAndBack];

#[test]
fn mirrors_equal_their_trees() {
    for profile in profiles() {
        if let Err(fault) = search(seeds(40), |seed| run(seed, &profile)) {
            panic!("{:?}: {fault}", profile.writers);
        }
    }
}

#[test]
fn mirrors_equal_their_trees_after_sequences_that_are_hard() {
    for drill in DRILLS {
        let profile = Profile { limbo: true, ..Profile::drill(drill).with_followers() };
        if let Err(fault) = search(seeds(150), |seed| run(seed, &profile)) {
            panic!("{drill:?}: {fault}");
        }
    }
}

#[test]
#[ignore = "it tells how often each rule is missed"]
fn how_often() {
    let wanted = std::env::var("RULE").unwrap_or_default();
    let rules = [
        None,
        Some(Rule::TellBeforeSettling),
        Some(Rule::TellDepth),
        Some(Rule::TellUnsettled),
        Some(Rule::NameLeft),
        Some(Rule::GoneIntent),
        Some(Rule::AnsweredInTime),
        Some(Rule::StayBehind),
        Some(Rule::LookUpListed),
    ];
    for rule in rules.into_iter().filter(|rule| wanted.is_empty() || format!("{rule:?}").contains(&wanted)) {
        for (number, profile) in profiles().enumerate() {
            let profile = Profile { broken: rule, ..profile };
            let range = seeds(300);
            let count = range.end - range.start;
            let all = faults(range, |seed| run(seed, &profile));

            println!("{rule:?} {:?} {}: {all} of {count}", profile.writers, number % 3);
        }
    }
}
