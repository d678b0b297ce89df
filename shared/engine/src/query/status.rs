//! Whether derived rows match their base record.

use std::collections::{BTreeMap, BTreeSet};

use super::{ListOptions, Order, ReadError, Reader};
use crate::run::run;
use sapwood_core::keys::{ItemKey, NodeRef, Version};
use sapwood_core::model::{BaseNode, Item, Latest, Lineage, Placement, Row, Stored, rows};
use sapwood_core::plan::ancestry::ReadAncestorPath;
use sapwood_core::plan::{Rules, placement};
use sapwood_table::{ReadOptions, RetryPolicy, Table, TableError};

/// What the fan-out has yet to do for a node, or for a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// True if the node exists. A node that doesn't exist is up to date if nothing is left of it.
    pub exists: bool,
    /// How many ancestors the node has, by base records.
    pub ancestors: usize,
    /// How many rows are missing. The lineage and a topic's copy count as rows.
    pub missing: usize,
    /// How many rows are out of date or shouldn't exist. The lineage and a topic's copy count as rows.
    pub stale: usize,
}

impl Status {
    /// Returns true if nothing is left to do.
    #[must_use]
    pub fn is_up_to_date(&self) -> bool {
        self.missing + self.stale == 0
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Returns what the fan-out has yet to do for a node's own rows. Reads strongly, in three round trips at most if the
    /// ancestors are those of the lineage.
    ///
    /// # Errors
    /// [`ReadError::Table`] only. A node that doesn't exist has a status, too.
    pub async fn status(&self, node: &NodeRef) -> Result<Status, ReadError> {
        let schema = self.client.schema();
        let [base_key, lineage_key] = [schema.node_key(node), schema.lineage_key(node)];
        let mut read = self.client.get_all(&[base_key.clone(), lineage_key.clone()], &ReadOptions::default()).await?;
        let stored = Stored::read(read.get(&lineage_key), schema);
        let base = read.remove(&base_key).and_then(|item| BaseNode::read(item, node, schema).ok());
        let wanted = match &base {
            None => None,
            Some(base) => {
                let parent = self.parent_placement(node, base, &stored).await?;
                Some(placement(node, base, parent.as_ref(), self.settings, Rules::default()))
            }
        };
        let mut status = self.rows_status(node, base.as_ref(), wanted.as_ref(), stored.lineage()).await?;
        match (&wanted, &stored) {
            (Some(_), Stored::Absent | Stored::Malformed | Stored::Newer(_)) => status.missing += 1,
            (Some(wanted), Stored::Lineage(lineage)) if lineage.placement != *wanted || !lineage.is_settled() => {
                status.stale += 1;
            }
            // A lineage that names no row is about to be deleted, or to expire.
            (None, Stored::Lineage(lineage)) if !names_nothing(lineage) => status.stale += 1,
            _ => {}
        }
        Ok(status)
    }

    /// Returns the placement of a node's parent, by the base records above the node; `None` if the parent doesn't exist.
    async fn parent_placement(
        &self,
        node: &NodeRef,
        base: &BaseNode,
        stored: &Stored,
    ) -> Result<Option<Placement>, TableError> {
        let Some(parent) = base.parent.clone() else { return Ok(None) };
        let plan = ReadAncestorPath::new(node, parent, &base.item, stored, self.client.schema());
        Ok(run(self.client, plan).await?.placement(&node.id))
    }

    async fn rows_status(
        &self,
        node: &NodeRef,
        base: Option<&BaseNode>,
        wanted: Option<&Placement>,
        lineage: Option<&Lineage>,
    ) -> Result<Status, TableError> {
        let schema = self.client.schema();
        let named = |placement: &Placement| rows(placement, node, schema);
        let wanted_rows: BTreeMap<ItemKey, Row> =
            wanted.map(named).unwrap_or_default().into_iter().map(|row| (row.key.clone(), row)).collect();
        let mut keys: BTreeSet<ItemKey> = wanted_rows.keys().cloned().collect();
        if let Some(lineage) = lineage {
            keys.extend(named(&lineage.placement).into_iter().map(|row| row.key));
            keys.extend(lineage.stale_rows.iter().cloned());
        }
        let keys: Vec<ItemKey> = keys.into_iter().collect();
        let read = self.client.get_all(&keys, &ReadOptions::default()).await?;
        let ancestors = wanted.map_or(0, |wanted| wanted.ancestors.len());
        let mut status = Status { exists: base.is_some(), ancestors, ..Status::default() };
        for key in &keys {
            let want = wanted_rows.get(key).zip(base).map(|(row, base)| row.item(node, base, self.settings));
            status.compare(want.as_ref(), read.get(key));
        }
        Ok(status)
    }

    /// Returns what the fan-out has yet to do for a topic after this version was written: the copy must be that of the newest
    /// revision. It takes one round trip if the version still exists. If it was deleted, the newest revision is searched.
    ///
    /// # Errors
    /// [`ReadError::Key`] for an impossible topic.
    pub async fn latest_status(&self, latest: &Latest, written: Version) -> Result<Status, ReadError> {
        let at_fault = super::revisions::topic_at_fault;
        let copy_key = latest.key(self.settings).map_err(at_fault)?;
        let key = latest.revision_key(written, self.settings).map_err(at_fault)?;
        let mut read = self.client.get_all(&[copy_key.clone(), key.clone()], &ReadOptions::default()).await?;
        let copy = read.remove(&copy_key);
        let copied = copy.as_ref().and_then(super::revisions::copied_version);
        let mut status = Status { exists: copy.is_some(), ..Status::default() };
        if let Some(revision) = read.remove(&key) {
            if copied.is_none_or(|copied| copied <= written) {
                let want = Latest::copy(&copy_key, written, &revision, self.settings);
                status.compare(Some(&want), copy.as_ref());
            }
            return Ok(status);
        }
        let bounds = super::Bounds::items(1);
        let options = ListOptions { strong: true, bounds, ..ListOptions::default() };
        let newest = match self.topic(latest, Order::Descending, &options).await {
            Ok(page) => page.items.into_iter().next().map(|revision| revision.version),
            Err(ReadError::Absent { .. }) => None,
            Err(error) => return Err(error),
        };
        let revision = match newest {
            None => None,
            Some(version) => {
                let key = latest.revision_key(version, self.settings).map_err(at_fault)?;
                let revision = self.client.get(&key, &ReadOptions::default()).await?;
                revision.map(|revision| Latest::copy(&copy_key, version, &revision, self.settings))
            }
        };
        status.compare(revision.as_ref(), copy.as_ref());
        Ok(status)
    }
}

impl Status {
    fn compare(&mut self, want: Option<&Item>, found: Option<&Item>) {
        match (want, found) {
            (Some(_), None) => self.missing += 1,
            (None, Some(_)) => self.stale += 1,
            (Some(want), Some(found)) if want != found => self.stale += 1,
            _ => {}
        }
    }
}

fn names_nothing(lineage: &Lineage) -> bool {
    lineage.placement == Placement::default() && lineage.is_settled()
}
