//! A table's partitions: ranges of hashes of partition keys, and within one partition key of sort keys. A partition
//! that is hot for long enough is split where its writes are halved. This is what AWS says, in pieces
//! (docs/decide/large-tables.md has the pages).

use sapwood_core::keys::ItemKey;

use crate::work::mixed;

/// The share of its bandwidth from which on a partition is hot. AWS says "near its throughput capacity limit".
const HOT: f64 = 0.9;

/// Where an item is among all: the hash of its partition key, then its sort key.
pub type Place = (u64, String);

/// Returns where an item is.
#[must_use]
pub fn place_of(key: &ItemKey) -> Place {
    // FNV-1a. What DynamoDB's own function is doesn't matter, as long as it spreads.
    let hash = key
        .pk
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (mixed(hash), key.sk.clone())
}

/// The partitions, in order.
#[derive(Clone, Debug)]
pub struct Partitions(Vec<Partition>);

#[derive(Clone, Debug)]
struct Partition {
    /// The first place that belongs to it.
    from: Place,
    /// Since when it has been hot.
    hot_since: Option<f64>,
}

impl Partitions {
    /// The partitions of a table without items.
    #[must_use]
    pub fn even(count: usize) -> Self {
        let from = |n: usize| (u64::MAX / count as u64 * n as u64, String::new());
        Self((0..count).map(|n| Partition { from: from(n), hot_since: None }).collect())
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The number of the partition that has this place.
    #[must_use]
    pub fn of(&self, place: &Place) -> usize {
        self.0.partition_point(|partition| partition.from <= *place) - 1
    }

    /// How many of these places, which are sorted, each partition has.
    #[must_use]
    pub fn counts(&self, places: &[Place]) -> Vec<usize> {
        let starts = self.0.iter().map(|partition| places.partition_point(|place| *place < partition.from));
        let starts: Vec<usize> = starts.chain([places.len()]).collect();
        starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Notes which partitions are hot now. `shares` has the part of its bandwidth that each one gives.
    pub fn note_heat(&mut self, shares: &[f64], now: f64) {
        for (partition, share) in self.0.iter_mut().zip(shares) {
            partition.hot_since = (*share >= HOT).then(|| partition.hot_since.unwrap_or(now));
        }
    }

    /// The moment of the next split, if nothing changes.
    #[must_use]
    pub fn next_split(&self, after: f64) -> f64 {
        let due = self.0.iter().filter_map(|partition| Some(partition.hot_since? + after));
        due.fold(f64::INFINITY, f64::min)
    }

    /// Splits those that have been hot for so long, each where it halves these places.
    pub fn split(&mut self, after: f64, now: f64, places: &[Place]) {
        let counts = self.counts(places);
        let (mut all, mut first) = (Vec::with_capacity(self.0.len() + 1), 0);
        for (mut partition, count) in std::mem::take(&mut self.0).into_iter().zip(counts) {
            let own = &places[first..first + count];
            first += count;
            let is_due = partition.hot_since.is_some_and(|since| since + after <= now + 1e-6);
            if is_due {
                partition.hot_since = None;
            }
            // One item can't be split.
            let half = own.get(count / 2).filter(|half| is_due && own[0] < **half).cloned();
            all.push(partition);
            all.extend(half.map(|from| Partition { from, hot_since: None }));
        }
        self.0 = all;
    }
}
