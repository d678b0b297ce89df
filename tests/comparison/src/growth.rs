//! What a node costs Sapwood in larger, deeper and wider trees.

use crate::pattern::Pattern;
use crate::patterns::Sapwood;
use crate::workload::{Node, chain, tree};

/// A tree, and what its import took.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The tree's kind.
    pub kind: &'static str,
    /// What it grows in.
    pub size: usize,
    /// Its nodes.
    pub nodes: usize,
    /// The items in the table afterwards.
    pub items: usize,
    /// Write units, the client's included.
    pub write_units: f64,
    /// The handler's requests.
    pub requests: u64,
    /// The processor's time until everything was done, of client, handler and engine, in seconds. Other work on the
    /// machine doesn't change it.
    pub processor_seconds: f64,
}

/// The nodes below a chain, where trees grow in depth.
const LEAVES: usize = 1_000;

/// Imports trees of these sizes: of so many nodes with 6 children each, of a thousand nodes at such a depth, and of so
/// many children of one node.
pub async fn growth(nodes: &[usize], depths: &[usize], children: &[usize]) -> Vec<Grown> {
    let mut found = Vec::new();
    for size in nodes {
        found.push(grow("nodes", *size, vec![tree("t", *size, 6, None)]).await);
    }
    for depth in depths {
        let above = chain("c", *depth);
        let leaves = (0..LEAVES).map(|n| Node::new(format!("leaf{n}"), above.last().map(|node| node.id.as_str())));
        let leaves = leaves.collect();
        found.push(grow("depth", *depth, vec![above, leaves]).await);
    }
    for size in children {
        found.push(grow("children", *size, vec![tree("t", size + 1, *size, None)]).await);
    }
    found
}

/// Imports trees one after another. All but the last only make room for it, and aren't counted.
async fn grow(kind: &'static str, size: usize, mut trees: Vec<Vec<Node>>) -> Grown {
    let pattern = Sapwood::start().await;
    let last = trees.pop().unwrap();
    for nodes in &trees {
        pattern.import(nodes).await;
        pattern.settle().await;
    }
    let (before, _) = pattern.client().stored().await;
    let _ = (pattern.client().meter.take(), pattern.take_behind());
    let begun = processor_seconds();
    pattern.import(&last).await;
    pattern.settle().await;
    let processor_seconds = processor_seconds() - begun;
    let (client, handler) = (pattern.client().meter.take(), pattern.take_behind());
    let items = pattern.client().stored().await.0 - before;
    pattern.stop().await;
    let write_units = client.write_units + handler.write_units;
    Grown { kind, size, nodes: last.len(), items, write_units, requests: handler.requests, processor_seconds }
}

/// The time that the processors have spent on this process.
fn processor_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The program's name comes first, in brackets. User and system time are the 14th and 15th field.
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let ticks = after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / TICKS_A_SECOND
}
