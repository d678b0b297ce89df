//! Runs plans on a table: a batch of stream records in, derived rows right, or the records to deliver again.

mod adopt;
mod cascade;
mod late;
mod latest;
mod place;
mod release;
mod removal;
mod store;

use std::collections::BTreeSet;

use sapwood_core::keys::ItemKey;
use sapwood_core::model::Settings;
use sapwood_core::plan::{Batch, Problem, Rules, StreamRecord};
use sapwood_table::{RetryPolicy, Table};
use store::Store;

pub use store::Counts;

/// Every bound of the fan-out in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Children touched by one invocation for one node; a wider node is done in slices.
    pub touch_slice_items_max: usize,
    /// Entries read of one partition of the register of orphans; where there are more, the nodes' own collections are
    /// read instead.
    pub orphan_page_items_max: usize,
    /// Items read at a time in looking for the newest revision of a topic.
    pub revision_page_items_max: usize,
    /// Requests of one kind at a time.
    pub requests_in_flight_max: usize,
    /// How often nodes are placed anew within one invocation because their parents moved meanwhile; after that their
    /// records are delivered again.
    pub rounds_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            touch_slice_items_max: 200,
            orphan_page_items_max: 200,
            revision_page_items_max: 100,
            requests_in_flight_max: 8,
            rounds_max: 20,
        }
    }
}

/// The fan-out of one table.
#[derive(Clone, Debug, Default)]
pub struct Fanout {
    /// How the table is kept.
    pub settings: Settings,
    /// The bounds.
    pub limits: Limits,
    /// The rules of the protocol; all of them.
    pub rules: Rules,
}

/// What became of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The sequence numbers, as they came, of the records to deliver again: for each item that failed, its first. Empty:
    /// all is done.
    pub failed: Vec<String>,
    /// What couldn't be done and won't be by trying again; each for the log.
    pub problems: Vec<Problem>,
    /// What was done.
    pub counts: Counts,
}

impl Fanout {
    /// Brings the derived rows up to date with the items that a batch of records is about. Safe to repeat, with any
    /// records, at any time, as long as no two batches with records of one item run at once. `name` is one that no other
    /// run has, not even of the same records.
    pub async fn run<T: Table, P: RetryPolicy>(
        &self,
        table: &T,
        retry_policy: &P,
        name: &str,
        changes: &[StreamRecord],
    ) -> Report {
        let store = Store::new(table, retry_policy, self.limits, name);
        let Batch { items, placings, cascades, cursors, latests, problems } =
            Batch::of(changes, &self.settings, self.rules);
        store.note_all(problems);
        let schema = &self.settings.schema;
        // Boxed: nested in one another they would be larger than the compiler cares to lay out.
        let (unplaced, uncascaded, uncopied) = futures::join!(
            Box::pin(place::run(&store, self, placings)),
            Box::pin(cascade::run(&store, self, cascades, cursors)),
            Box::pin(latest::run(&store, self, latests)),
        );
        let failed: BTreeSet<ItemKey> =
            unplaced.iter().map(|node| schema.node_key(node)).chain(uncascaded).chain(uncopied).collect();
        let failed = items.into_iter().filter(|(key, _)| failed.contains(key)).map(|(_, sequence)| sequence).collect();
        let (counts, problems) = store.finish();
        Report { failed, problems, counts }
    }
}
