//! Who goes on, by priorities: the one with the highest does, until it waits for nobody any more or drops to the
//! lowest. Most faults need few such drops, so few random choices find what many would hide (probabilistic concurrency
//! testing, Burckhardt et al., ASPLOS 2010).

use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::SmallRng;

/// Who can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// The clients, with their next write.
    Clients,
    /// The stream, with a new invocation.
    Stream,
    /// An invocation, or a request to the API.
    Invocation(u64),
}

/// The priorities.
#[derive(Debug)]
pub(super) struct Priorities {
    of: BTreeMap<Who, i64>,
    lowest: i64,
    /// One of so many choices drops who was chosen.
    drop_every: u32,
}

impl Priorities {
    pub(super) fn new(drop_every: u32) -> Self {
        Self { of: BTreeMap::new(), lowest: 0, drop_every }
    }

    /// Picks who goes on. Whoever is new gets a priority at random.
    pub(super) fn pick(&mut self, able: &[Who], rng: &mut SmallRng) -> Option<Who> {
        for who in able {
            self.of.entry(*who).or_insert_with(|| rng.random_range(0..1_000_000));
        }
        let highest = |of: &BTreeMap<Who, i64>| able.iter().copied().max_by_key(|who| of[who]);
        let first = highest(&self.of)?;
        if !rng.random_ratio(1, self.drop_every) {
            return Some(first);
        }
        self.lowest -= 1;
        self.of.insert(first, self.lowest);
        highest(&self.of)
    }
}
