//! The processor's instructions of keys and plans. Each has a limit about a tenth above what was counted; whoever
//! passes it has made the handler slower, and raises the limit only with a reason. `.ci/full instructions` runs it.
#![allow(missing_docs, clippy::missing_panics_doc, clippy::disallowed_methods, reason = "made by the macros")]

use std::hint::black_box;

use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use sapwood_core::fanout::{
    Batch, Context, Limits, PlaceInput, PlacePlan, RoundEnd, Run, StreamRecord, place, place_nodes,
};
use sapwood_core::keys::SortKey;
use sapwood_core::model::{Item, Settings, Shown, Stored, rows};
use sapwood_core::plan::Rules;
use sapwood_core::write::{self, Answered, Command, Refusal, Request, write_once};
use sapwood_instructions::{Contents, Node, create, node_at, read_all, records, row_keys, run, table};

fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, instructions)]));
    config
}

fn plan(of: &Node) -> PlacePlan {
    let input = PlaceInput {
        node: &of.node,
        base: Some(&of.base),
        stored: &Stored::Absent,
        parent: Some(&of.parent),
        is_predicted: false,
        only_touched: false,
        mark_went: None,
        standing: None,
        now: 1_700_000_000,
        new_life: "life.0",
    };
    place(&input, &of.settings, Rules::default())
}

// Plans where a new node belongs.
#[library_benchmark]
#[bench::depth_1(args = (node_at(1)), config = at_most(25_000))]
#[bench::depth_8(args = (node_at(8)), config = at_most(69_000))]
#[bench::depth_64(args = (node_at(64)), config = at_most(430_000))]
fn place_a_node(of: Node) -> PlacePlan {
    plan(black_box(&of))
}

fn planned(depth: usize) -> (Node, PlacePlan) {
    let of = node_at(depth);
    let plan = plan(&of);
    (of, plan)
}

// Makes the items of all rows of a node.
#[library_benchmark]
#[bench::depth_8(args = (planned(8)), config = at_most(157_000))]
fn items_of_rows((of, plan): (Node, PlacePlan)) -> Vec<Item> {
    let shown = Shown::of(&of.node, &of.base, &of.settings);
    black_box(&plan).puts.iter().map(|row| row.item_of(&shown, &of.settings.schema)).collect()
}

// Names all rows of a node.
#[library_benchmark]
#[bench::depth_8(args = (planned(8)), config = at_most(56_000))]
fn keys_of_rows((of, plan): (Node, PlacePlan)) -> usize {
    plan.placed.iter().map(|placement| rows(black_box(placement), &of.node, &of.settings.schema).len()).sum()
}

// Reads the sort keys of all rows of a node.
#[library_benchmark]
#[bench::depth_8(args = (row_keys(8)), config = at_most(28_000))]
fn read_keys(keys: (Settings, Vec<String>)) -> Vec<Option<SortKey>> {
    read_all(black_box(&keys))
}

// Sorts 100 records of new nodes by what they ask for.
#[library_benchmark]
#[bench::new_nodes(args = (records()), config = at_most(1_560_000))]
fn take_a_batch((settings, records): (Settings, Vec<StreamRecord>)) -> Batch {
    Batch::of(black_box(&records), &settings, Rules::default())
}

fn batch() -> (Settings, Batch, Contents) {
    let (settings, records) = records();
    let batch = Batch::of(&records, &settings, Rules::default());
    (settings, batch, table())
}

// Places 100 new nodes in one round, on a table in memory.
#[library_benchmark]
#[bench::new_nodes(args = (batch()), config = at_most(13_500_000))]
fn place_a_batch((settings, batch, mut table): (Settings, Batch, Contents)) -> RoundEnd {
    let run_of = Run { name: "run", now: 1_700_000_000 };
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default(), run: run_of };
    run(place_nodes(context, black_box(batch.placings), false), &mut table)
}

fn creation() -> (Settings, Command, Request, Contents) {
    let (settings, command, request) = create();
    (settings, command, request, table())
}

// Creates a node below another, on a table in memory.
#[library_benchmark]
#[bench::below_another(args = (creation()), config = at_most(716_000))]
fn create_a_node(
    (settings, command, request, mut table): (Settings, Command, Request, Contents),
) -> Result<Answered, Refusal> {
    let context = write::Context { settings: &settings, limits: write::Limits::default(), rules: Rules::default() };
    run(write_once(context, black_box(&command), &request, None), &mut table)
}

library_benchmark_group!(
    name = keys_and_plans,
    benchmarks = [place_a_node, items_of_rows, keys_of_rows, read_keys, take_a_batch, place_a_batch, create_a_node]
);

main!(library_benchmark_groups = keys_and_plans);
