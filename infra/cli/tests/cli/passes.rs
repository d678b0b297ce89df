//! What a pass of `sapwood verify` costs: prints a table (docs/internals/performance.md).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, stream};
use sapwood_core::model::text;
use sapwood_tests::client::put_all;
use sapwood_tests::oracle::{Contents, Item, Oracle};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{ends_with, lines, size};

/// The trees: nodes, and children of each. Three have an average depth of about 4, and three of about 8.
const TREES: [(usize, usize); 6] = [(1_000, 5), (10_000, 9), (100_000, 16), (1_000, 2), (10_000, 3), (100_000, 4)];

/// A name so long that a row has about 400 bytes, as docs/reference/costs.md assumes.
const NAME_BYTES: usize = 300;

/// A whole table: the nodes of a tree, and what the handler would have made of them.
fn table(nodes: usize, width: usize) -> Contents {
    let name = "n".repeat(NAME_BYTES);
    let mut base = Contents::new();
    for n in 0..nodes {
        let id = format!("n{n}");
        let mut item = Item::from(
            [("PK", &*id), ("SK", "NODE"), ("name", &name), ("_born", "a life")].map(|(n, v)| (n.to_owned(), text(v))),
        );
        item.extend(n.checked_sub(1).map(|n| ("parent".to_owned(), text(format!("n{}", n / width)))));
        base.insert((id, "NODE".to_owned()), item);
    }
    Oracle::default().table(&base)
}

fn average_depth(table: &Contents) -> f64 {
    let rows = table.keys().filter(|(_, sk)| sk.starts_with("NODE#")).count();
    rows as f64 / table.keys().filter(|(_, sk)| sk == "NODE").count() as f64
}

/// Measures tables of `PASS_NODES_MIN` to `PASS_NODES` nodes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes minutes, and prints times of this machine"]
async fn what_a_pass_costs() {
    let measured = size("PASS_NODES_MIN", 0)..=size("PASS_NODES", 10_000);
    println!(
        "| nodes | average depth | items | read units | a node | `--under` the root | seconds | a thousand nodes |\n|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for (nodes, width) in TREES.into_iter().filter(|(nodes, _)| measured.contains(nodes)) {
        let mut running = Running::start(&[]).await;
        running.pause().await;
        let table = table(nodes, width);
        let depth = average_depth(&table);
        let items: Vec<HashMap<String, AttributeValue>> = table
            .into_values()
            .map(|item| item.into_iter().map(|(name, value)| (name, value.into())).collect())
            .collect();
        stream::iter(items.chunks(1_000))
            .for_each_concurrent(4, |some| put_all(&running.client, TABLE, some.to_vec()))
            .await;
        let verify = |more: &[&str]| {
            let printed =
                ends_with(0, &running.url(), &[&["verify", "--json", "--confirmation-window", "1"], more].concat());
            let summary = lines(&printed).pop().unwrap();
            ["items", "read_units", "seconds"].map(|name| summary[name].as_f64().unwrap())
        };
        let [items, units, seconds] = verify(&[]);
        let [_, under, _] = verify(&["--under", "n0"]);
        println!(
            "| {nodes} | {depth:.1} | {items} | {units} | {:.2} | {under} | {seconds:.1} | {:.2} |",
            units / nodes as f64,
            seconds * 1_000.0 / nodes as f64
        );
        running.stop().await;
    }
}
