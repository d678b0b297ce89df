//! The patterns do what is said of them: each answers as the model does, and Sapwood's figures in
//! docs/decide/benchmarks.md are those of a small run.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test that can't go on should say so")]

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use sapwood_comparison::cases::{Column, Scale, Section, Stored, creates, deletes, moves, reads, renames, revisions};
use sapwood_comparison::client::IN_FLIGHT_MAX;
use sapwood_comparison::document::{part, read, section};
use sapwood_comparison::pattern::Pattern;
use sapwood_comparison::patterns::{Adjacency, Composite, Path, Replication, Sapwood};
use sapwood_comparison::rightness::nested_moves;
use sapwood_comparison::workload::{Change, Model, chain, shuffled, tree};
use sapwood_engine::fanout::Limits;
use sapwood_tests::seeds;

/// The changes that each pattern makes, one after another.
const CHANGES: usize = 40;

/// Imports a tree and changes it, and asks every question about every node.
async fn answers_as_the_model_does<P: Pattern>() {
    let seed = seeds::number("COMPARISON_SEED").unwrap_or(1);
    println!("COMPARISON_SEED={seed}");
    let mut chance = SmallRng::seed_from_u64(seed);
    let nodes = [tree("t", 20, 3, None), chain("c", 5)].concat();
    let mut model = Model::of(&nodes);
    let pattern = P::start().await;
    pattern.import(&shuffled(nodes, seed)).await;
    pattern.settle().await;
    assert_eq!(model.wrong(&pattern).await, [""; 0], "{} after the import", P::NAME);
    for number in 0..CHANGES {
        let change = Change::draw(&mut model, &mut chance, number);
        change.make(&pattern).await;
        if number % 8 == 7 {
            assert_eq!(model.wrong(&pattern).await, [""; 0], "{} after {change:?}", P::NAME);
        }
    }
    for levels in [1..=1, 1..=2, 2..=2, 2..=98] {
        for root in ["t0", "c0"] {
            let answer = pattern.below(root, levels.clone()).await;
            assert_eq!(answer, model.below(root, levels.clone()), "{} at {levels:?}", P::NAME);
        }
    }
    let (page, all) = (pattern.page("t0", 5).await, model.below("t0", 1..=98));
    assert_eq!(page.len(), 5.min(all.len()), "{}", P::NAME);
    assert!(page.iter().all(|(id, name)| all.get(id) == Some(name)), "{}: {page:?}", P::NAME);
    assert_eq!(pattern.newest("t0", "Audit").await, None);
    for text in ["one", "two", "three"] {
        pattern.revise("t0", "Audit", text).await;
        pattern.settle().await;
        assert_eq!(pattern.newest("t0", "Audit").await.as_deref(), Some(text), "{}", P::NAME);
    }
    pattern.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_pattern_answers_as_the_model_does() {
    answers_as_the_model_does::<Sapwood>().await;
    answers_as_the_model_does::<Replication>().await;
    answers_as_the_model_does::<Path>().await;
    answers_as_the_model_does::<Composite>().await;
    answers_as_the_model_does::<Adjacency>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_makes_the_same_end_and_some_end_is_wrong() {
    let first = nested_moves::<Path>(6, 1, Duration::ZERO).await;
    assert_eq!(nested_moves::<Path>(6, 1, Duration::ZERO).await, first);
    assert!(first.right < first.runs, "{first:?}");
    // An adjacency list has one write for a move, and can't be wrong.
    let adjacency = nested_moves::<Adjacency>(3, 1, Duration::ZERO).await;
    assert_eq!((adjacency.right, adjacency.misplaced), (3, 0));
    let sapwood = nested_moves::<Sapwood>(3, 1, Duration::from_millis(60)).await;
    assert_eq!((sapwood.right, sapwood.misplaced), (3, 0));
}

#[test]
fn the_patterns_keep_as_many_requests_under_way_as_the_handler() {
    assert_eq!(IN_FLIGHT_MAX, Limits::default().requests_in_flight_max);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_counts_and_so_does_the_handler() {
    let scale = Scale { depths: vec![4], subtrees: vec![1], moved: vec![1], imported: 0, seed: 1 };
    let written = |section: Section| {
        let case = &section.cases[0];
        (case.client.write_units, case.behind.write_units)
    };
    // The node and 4 copies, each with its entry of the index.
    assert_eq!(written(creates::<Replication>(&scale).await), (10.0, 0.0));
    assert_eq!(written(creates::<Path>(&scale).await), (2.0, 0.0));
    // The base record; a lineage, 4 rows by depth and one by path.
    assert_eq!(written(creates::<Sapwood>(&scale).await), (1.0, 6.0));
    // The node at its old key and at its new one, and an entry of the index each.
    assert_eq!(written(moves::<Composite>(&scale).await), (4.0, 0.0));
}

/// Sapwood's write units in a section's table: the cases and their cells.
fn sapwoods_units(table: &str) -> Vec<(&str, &str)> {
    let (names, lines) = read(table);
    let column = names.iter().position(|name| *name == Sapwood::NAME).unwrap();
    let written = lines.iter().filter(|line| line.counted == "write units");
    written.map(|line| (line.case, line.cells[column])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sapwoods_figures_in_the_document_are_those_of_a_small_run() {
    let document = include_str!("../../../docs/decide/benchmarks.md");
    let scale = Scale { depths: vec![4, 64], subtrees: vec![10], moved: vec![10], imported: 0, seed: 1 };
    let sections = vec![
        creates::<Sapwood>(&scale).await,
        renames::<Sapwood>(&scale).await,
        moves::<Sapwood>(&scale).await,
        deletes::<Sapwood>(&scale).await,
        reads::<Sapwood>(&scale).await,
    ];
    let column = Column { name: Sapwood::NAME, sections, stored: Stored { items: 0, bytes: 0 } };
    let mut compared = 0;
    for (index, of) in column.sections.iter().enumerate() {
        let written = sapwoods_units(part(document, of.name));
        for line in sapwoods_units(&section(std::slice::from_ref(&column), index)) {
            assert!(written.contains(&line), "{}: {line:?} isn't in the document, which has {written:?}", of.name);
            compared += 1;
        }
    }
    assert_eq!(compared, 2 + 1 + 1 + 1);
    let sections = vec![revisions::<Sapwood>(&scale).await];
    let column = Column { name: Sapwood::NAME, sections, stored: Stored { items: 0, bytes: 0 } };
    assert_eq!(sapwoods_units(&section(&[column], 0)), [("the first revision", "2"), ("the next one", "2")]);
    assert!(document.contains("A revision costs every pattern 2 write units,"));
}
