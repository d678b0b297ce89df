//! Two moves at once, one of a subtree and one of a node within it. Both succeed, so where each node has to be is
//! known. A pattern is right if that is what it answers.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::pattern::{ALL, Pattern};
use crate::workload::{Model, Node, chain, tree};

/// The nodes of the subtree that moves: 3 children each.
const MOVED: usize = 40;

/// The ancestors above the subtree, and above each of the places where the moves lead.
const ABOVE: usize = 4;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rightness {
    /// How often both moves were made.
    pub runs: usize,
    /// How often every answer was right afterwards.
    pub right: usize,
    /// How many nodes had wrong ancestors, in all runs.
    pub misplaced: usize,
}

/// Makes two nested moves at once, so many times. A pattern whose writers do all the work has their requests
/// interleaved, in an order drawn from the seed. With `apart`, the second writer begins up to so much later, drawn from
/// the seed: what is done behind the writers' back is then truly concurrent.
pub async fn nested_moves<P: Pattern>(runs: usize, seed: u64, apart: Duration) -> Rightness {
    let pattern = P::start().await;
    let mut found = Rightness { runs, ..Rightness::default() };
    for run in 0..runs {
        let run_seed = seed + run as u64;
        let pause = apart.mul_f64(SmallRng::seed_from_u64(run_seed).random());
        let places = ["from", "outer", "inner"].map(|place| format!("{place}{run}-"));
        let bottom = |place: &str| format!("{place}{}", ABOVE - 1);
        let mut nodes: Vec<Node> = places.iter().flat_map(|place| chain(place, ABOVE)).collect();
        let prefix = format!("run{run}-");
        nodes.extend(tree(&prefix, MOVED, 3, Some(&bottom(&places[0]))));
        pattern.import(&nodes).await;
        pattern.settle().await;

        let (outer, inner) = (format!("{prefix}0"), format!("{prefix}1"));
        let (outer_to, inner_to) = (bottom(&places[1]), bottom(&places[2]));
        let first = pattern.relocate(&outer, &outer_to);
        let second = async {
            // A pause of nothing would still last to the clock's next tick, and the order would be chance.
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            pattern.relocate(&inner, &inner_to).await;
        };
        pattern.client().meter.in_turns(run_seed, futures::future::join(first, second)).await;
        pattern.settle().await;

        let mut model = Model::of(&nodes);
        model.relocate(&outer, &outer_to);
        model.relocate(&inner, &inner_to);
        let mut misplaced = 0;
        for id in model.0.keys() {
            misplaced += usize::from(pattern.ancestors(id).await != model.ancestors(id));
        }
        let mut are_roots_right = true;
        for place in &places {
            let root = format!("{place}0");
            let below: BTreeMap<_, _> = pattern.below(&root, 1..=ALL).await;
            are_roots_right &= below == model.below(&root, 1..=ALL);
        }
        found.right += usize::from(misplaced == 0 && are_roots_right);
        found.misplaced += misplaced;
    }
    pattern.stop().await;
    found
}
