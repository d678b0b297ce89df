//! What every plan of the fan-out is given.

use crate::keys::{NodeRef, Schema};
use crate::model::{BaseNode, Deletion, Entry, Item, Placement, PlacementInput, Settings, Tombstone, Under};
use crate::plan::{Rule, Rules};
use crate::request::{TRANSACTION_ACTIONS_MAX, Write};

/// The bounds of the fan-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most children that one invocation touches for one node. A wider node is done in slices, one after another. A
    /// batch can ask for 100 of them, and 25 touches share a request: 4,000 requests, which 8 at a time do in some 5 of
    /// an invocation's 60 seconds. What the table doesn't take in this time comes with the next delivery.
    pub touch_slice_items_max: usize,
    /// Most children that one invocation marks, moves or releases, or revisions that it deletes, for one node that is
    /// being deleted. Each takes a request of its own, so the slices are shorter.
    pub action_slice_items_max: usize,
    /// Most rows below its source that one step of a copy deals with. Each copy is an action of the step's transaction,
    /// which takes 100, and two are the mark and the operation's record.
    pub copy_step_items_max: usize,
    /// Most steps of a copy in one invocation. The next one goes on where they end.
    pub copy_steps_max: usize,
    /// Most nodes of one copy, its top included: a node copied into itself again and again would grow twofold each
    /// time.
    pub copied_nodes_max: usize,
    /// Most actions of a transaction that counts nodes: what they are counted as, and the totals of their ancestors.
    /// There are two at least. DynamoDB takes 100.
    pub count_actions_max: usize,
    /// Most entries that are read of one partition of the register of orphans. If there are more, the nodes' own
    /// collections are read instead, by a request for each node. 1,000 entries take some 35 read units.
    pub orphan_page_items_max: usize,
    /// Items in a page of the search for the newest revision of a topic.
    pub revision_page_items_max: usize,
    /// Most requests of one kind at a time.
    pub requests_in_flight_max: usize,
    /// Most bytes of items that are being written at a time, by requests of many items. A larger request goes by
    /// itself. A batch of large records deep in a tree asks for a hundred times its own size.
    pub bytes_in_flight_max: usize,
    /// Most bytes of rows of one node that are put without a look at what stands, and that are looked at at a time. So
    /// many fit an invocation of a table that takes 28 write units a second.
    pub heavy_bytes: usize,
    /// How often a batch waits for parents of its nodes that are being placed elsewhere.
    pub waits_max: usize,
    /// How often a plan looks again in one invocation because of changes. After that the record is delivered again.
    pub rounds_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            touch_slice_items_max: 1_000,
            action_slice_items_max: 200,
            copy_step_items_max: 90,
            copy_steps_max: 10,
            copied_nodes_max: 10_000,
            count_actions_max: TRANSACTION_ACTIONS_MAX,
            orphan_page_items_max: 1_000,
            revision_page_items_max: 100,
            requests_in_flight_max: 8,
            bytes_in_flight_max: 8 * 1_024 * 1_024,
            heavy_bytes: 1_000_000,
            waits_max: 20,
            rounds_max: 20,
        }
    }
}

/// A run of the fan-out: facts that the edge knows and a plan can't.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run<'a> {
    /// A name that no other run has, not even one of the same records. The names of marks and of lives begin with it.
    pub name: &'a str,
    /// The time in seconds since 1970.
    pub now: u64,
}

/// The settings of the table, the bounds of the fan-out, and the rules of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The settings of the table.
    pub settings: &'a Settings,
    /// The bounds.
    pub limits: Limits,
    /// The rules of the protocol.
    pub rules: Rules,
    /// The run. The API's writes have none.
    pub run: Run<'a>,
}

impl<'a> Context<'a> {
    /// True if a tombstone decides what becomes of late children. It is kept for longer.
    #[must_use]
    pub fn counts(&self, tombstone: &Tombstone) -> bool {
        self.run.now < tombstone.counts_until() || !self.rules.keeps(Rule::TombstoneExpires)
    }

    /// The deletion of a child that the API has put under this life of a node, and that didn't show when the API
    /// deleted the node. `deleted` is the record of that deletion.
    #[must_use]
    pub fn deletion_without_children(&self, deleted: Option<&Item>, under: &Under) -> Option<Deletion> {
        let deleted = deleted.filter(|_| self.rules.keeps(Rule::AdoptAfterRestrict))?;
        let tombstone = Tombstone::read(deleted).filter(|tombstone| self.counts(tombstone))?;
        tombstone.deletion_of_late_child(under, self.rules)
    }

    /// The write of an entry.
    #[must_use]
    pub fn tell(&self, entry: Entry) -> Write {
        let in_time = self.rules.keeps(Rule::AnsweredInTime);
        let entry = if in_time { entry } else { Entry { answered_within_ms: u64::MAX, ..entry } };
        Write::Tell { key: entry.key(0, self.schema()), entry }
    }

    /// The input of a node's placement, below a parent that is placed there.
    #[must_use]
    pub fn wanted<'w>(
        &'w self,
        node: &'w NodeRef,
        base: &'w BaseNode,
        parent: Option<&'w Placement>,
    ) -> PlacementInput<'w> {
        PlacementInput { node, base, parent, settings: self.settings, rules: self.rules }
    }

    /// The schema of the table's keys.
    #[must_use]
    pub fn schema(&self) -> &'a Schema {
        &self.settings.schema
    }
}
