//! The time from a write to its rows, under steady load.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::client::{item, s};
use crate::pattern::Pattern;
use crate::patterns::Sapwood;
use crate::workload::{Node, tree};

/// The nodes in the tree before the load.
const NODES: usize = 259;

/// What was measured, sorted.
#[derive(Clone, Debug)]
pub struct Lag {
    /// The writes a second.
    pub rate: u32,
    /// From each write's acknowledgement until the handler had written its rows.
    pub lags: Vec<Duration>,
    /// A read of one item, under the same load.
    pub round_trips: Vec<Duration>,
}

impl Lag {
    /// A percentile of the lags in round trips of median length.
    #[must_use]
    pub fn in_round_trips(&self, percentile: f64) -> f64 {
        let at = |sorted: &[Duration], share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        at(&self.lags, percentile / 100.0).as_secs_f64() / at(&self.round_trips, 0.5).as_secs_f64()
    }
}

/// Creates so many nodes at this rate, four levels deep, whatever the stack does meanwhile.
#[allow(clippy::disallowed_methods, reason = "the lag is real time")]
pub async fn lag(writes: usize, rate: u32) -> Lag {
    let pattern = Sapwood::start().await;
    pattern.import(&tree("t", NODES, 6, None)).await;
    pattern.settle().await;
    pattern.take_handled();
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / rate);
    let (mut written, mut round_trips) = (HashMap::new(), Vec::new());
    for n in 0..writes {
        ticks.tick().await;
        let node = Node::new(format!("new{n}"), Some(&format!("t{}", NODES - 1 - n % 216)));
        pattern.create(&node).await;
        written.insert(node.id, Instant::now());
        let begun = Instant::now();
        let key = item([("PK", s("t0")), ("SK", s("NODE"))]);
        pattern.client().get(sapwood_tests::running::TABLE, key, false).await;
        round_trips.push(begun.elapsed());
    }
    pattern.settle().await;
    let mut lags = HashMap::new();
    // A record that is delivered again was handled later.
    for (id, at) in pattern.take_handled() {
        if let Some(written) = written.get(&id) {
            lags.insert(id, at.saturating_duration_since(*written));
        }
    }
    pattern.stop().await;
    assert_eq!(lags.len(), writes);
    let mut lags: Vec<Duration> = lags.into_values().collect();
    lags.sort();
    round_trips.sort();
    Lag { rate, lags, round_trips }
}
