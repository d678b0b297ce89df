//! The changes and questions that are counted, each the same for every pattern.

use std::time::{Duration, Instant};

use crate::meter::Spent;
use crate::pattern::{ALL, Pattern};
use crate::workload::{Node, chain, shuffled, tree};

/// How far a run goes.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The depths at which a node is created.
    pub depths: Vec<usize>,
    /// The sizes of the subtrees that are renamed and deleted, in nodes.
    pub subtrees: Vec<usize>,
    /// The sizes of the subtrees that are moved, in nodes.
    pub moved: Vec<usize>,
    /// The number of nodes that are imported.
    pub imported: usize,
    /// Where the chance comes from.
    pub seed: u64,
}

/// The sizes of the tree that is read: 10 children each, on three levels below its top.
const READ_TREE: usize = 1_111;

/// The depth of the node above everything that is renamed, moved or deleted: it has so many ancestors.
const ABOVE: usize = 4;

/// The nodes of a full page.
const PAGE: usize = 100;

/// What a pattern took for one thing.
#[derive(Clone, Debug)]
pub struct Case {
    /// What was asked for.
    pub name: String,
    /// What the client took.
    pub client: Spent,
    /// What was done behind its back.
    pub behind: Spent,
    /// The time until everything was done.
    pub time: Duration,
}

/// The cases of one kind.
#[derive(Clone, Debug)]
pub struct Section {
    /// The section's name, by which the document has a place for it.
    pub name: &'static str,
    /// What its cases differ in.
    pub by: &'static str,
    /// The cases, in their order.
    pub cases: Vec<Case>,
}

#[allow(clippy::disallowed_methods, reason = "times are measured, for their ratios")]
async fn counted<P: Pattern>(pattern: &P, name: impl ToString, action: impl Future) -> Case {
    let _ = (pattern.client().meter.take(), pattern.take_behind());
    let begun = Instant::now();
    action.await;
    pattern.settle().await;
    let (client, behind) = (pattern.client().meter.take(), pattern.take_behind());
    Case { name: name.to_string(), client, behind, time: begun.elapsed() }
}

async fn with<P: Pattern>(trees: &[Vec<Node>]) -> P {
    let pattern = P::start().await;
    for nodes in trees {
        pattern.import(nodes).await;
        pattern.settle().await;
    }
    pattern
}

/// A tree of each size below the end of the chain `c`, and the ids of their tops.
fn subtrees(sizes: &[usize]) -> (Vec<Vec<Node>>, Vec<String>) {
    let top = format!("c{}", ABOVE - 1);
    let trees = sizes.iter().enumerate().map(|(n, size)| tree(&format!("s{n}-"), *size, 6, Some(&top)));
    let mut all = vec![chain("c", ABOVE), chain("d", ABOVE)];
    all[0].extend(trees.flatten());
    (all, (0..sizes.len()).map(|n| format!("s{n}-0")).collect())
}

/// Creates a node at each depth.
pub async fn creates<P: Pattern>(scale: &Scale) -> Section {
    let deepest = *scale.depths.iter().max().unwrap();
    let pattern: P = with(&[chain("c", deepest)]).await;
    let mut cases = Vec::new();
    for depth in &scale.depths {
        let node = Node::new(format!("new{depth}"), Some(&format!("c{}", depth - 1)));
        cases.push(counted(&pattern, depth, pattern.create(&node)).await);
    }
    pattern.stop().await;
    Section { name: "creates", by: "ancestors", cases }
}

/// Renames the top of each subtree.
pub async fn renames<P: Pattern>(scale: &Scale) -> Section {
    let (nodes, tops) = subtrees(&scale.subtrees);
    let pattern: P = with(&nodes).await;
    let mut cases = Vec::new();
    for (top, size) in tops.iter().zip(&scale.subtrees) {
        cases.push(counted(&pattern, size, pattern.rename(top, "another name")).await);
    }
    pattern.stop().await;
    Section { name: "renames", by: "nodes in the subtree", cases }
}

/// Moves each subtree from below four ancestors to below four others.
pub async fn moves<P: Pattern>(scale: &Scale) -> Section {
    let (nodes, tops) = subtrees(&scale.moved);
    let pattern: P = with(&nodes).await;
    let mut cases = Vec::new();
    for (top, size) in tops.iter().zip(&scale.moved) {
        cases.push(counted(&pattern, size, pattern.relocate(top, &format!("d{}", ABOVE - 1))).await);
    }
    pattern.stop().await;
    Section { name: "moves", by: "nodes in the subtree", cases }
}

/// Deletes each subtree.
pub async fn deletes<P: Pattern>(scale: &Scale) -> Section {
    let (nodes, tops) = subtrees(&scale.subtrees);
    let pattern: P = with(&nodes).await;
    let mut cases = Vec::new();
    for (top, size) in tops.iter().zip(&scale.subtrees) {
        cases.push(counted(&pattern, size, pattern.delete(top)).await);
    }
    pattern.stop().await;
    Section { name: "deletes", by: "nodes in the subtree", cases }
}

/// Reads a subtree by levels and by page, and the ancestors of a node.
pub async fn reads<P: Pattern>(_: &Scale) -> Section {
    let pattern: P = with(&[tree("t", READ_TREE, 10, None), chain("c", 65)]).await;
    let cases = vec![
        counted(&pattern, "children (10)", pattern.below("t0", 1..=1)).await,
        counted(&pattern, "two levels (110)", pattern.below("t0", 1..=2)).await,
        counted(&pattern, "the third level (1,000)", pattern.below("t0", 3..=3)).await,
        counted(&pattern, "everything below (1,110)", pattern.below("t0", 1..=ALL)).await,
        counted(&pattern, format!("the first {PAGE} below"), pattern.page("t0", PAGE)).await,
        counted(&pattern, "ancestors (3)", pattern.ancestors("t1110")).await,
        counted(&pattern, "ancestors (64)", pattern.ancestors("c64")).await,
    ];
    pattern.stop().await;
    Section { name: "reads", by: "question", cases }
}

/// Imports a tree, parents first and in any order. Returns what it takes in the tables as well.
pub async fn imports<P: Pattern>(scale: &Scale) -> (Section, Stored) {
    let sorted = tree("t", scale.imported, 6, None);
    let (mut cases, mut stored) = (Vec::new(), Stored { items: 0, bytes: 0 });
    for (name, nodes) in [("shuffled", shuffled(sorted.clone(), scale.seed)), ("parents first", sorted)] {
        let pattern = P::start().await;
        cases.insert(0, counted(&pattern, name, pattern.import(&nodes)).await);
        let (items, bytes) = pattern.client().stored().await;
        stored = Stored { items, bytes };
        pattern.stop().await;
    }
    (Section { name: "imports", by: "order", cases }, stored)
}

/// Adds revisions to a topic, and reads the newest.
pub async fn revisions<P: Pattern>(_: &Scale) -> Section {
    let pattern: P = with(&[chain("c", 1)]).await;
    let cases = vec![
        counted(&pattern, "the first revision", pattern.revise("c0", "Audit", "one")).await,
        counted(&pattern, "the next one", pattern.revise("c0", "Audit", "two")).await,
        counted(&pattern, "reading the newest", pattern.newest("c0", "Audit")).await,
    ];
    pattern.stop().await;
    Section { name: "revisions", by: "", cases }
}

/// What a tree takes in the tables: items and bytes, indexes included.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Items.
    pub items: usize,
    /// Bytes.
    pub bytes: usize,
}

/// All that is counted of one pattern.
#[derive(Clone, Debug)]
pub struct Column {
    /// The pattern's name.
    pub name: &'static str,
    /// The sections, the same for all patterns.
    pub sections: Vec<Section>,
    /// What the imported tree takes.
    pub stored: Stored,
}

/// Counts everything for one pattern.
pub async fn column<P: Pattern>(scale: &Scale) -> Column {
    let (imports, stored) = imports::<P>(scale).await;
    let sections = vec![
        creates::<P>(scale).await,
        renames::<P>(scale).await,
        moves::<P>(scale).await,
        deletes::<P>(scale).await,
        reads::<P>(scale).await,
        imports,
        revisions::<P>(scale).await,
    ];
    Column { name: P::NAME, sections, stored }
}
