//! Whether derived rows match their base record.

use std::collections::BTreeSet;

use super::{ListOptions, Order, ReadError, Reader};
use crate::run::run;
use sapwood_core::fanout::placement;
use sapwood_core::keys::{ItemKey, NodeRef, Version};
use sapwood_core::model::{BaseNode, Item, Latest, Lineage, Placement, PlacementInput, Shown, Stored, rows};
use sapwood_core::plan::Rules;
use sapwood_core::plan::ancestry::read_ancestor_path;
use sapwood_store::{ReadOptions, RetryPolicy, Table, TableError};

/// The work that the fan-out has yet to do for a node, or for a topic.
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

pub(super) struct StatusLook {
    pub(super) base: Option<BaseNode>,
    pub(super) stored: Stored,
}

impl StatusLook {
    /// True if the lineage isn't there, or names another parent than the base record.
    pub(super) fn names_another_place(&self, node: &NodeRef) -> bool {
        let parent = self.base.as_ref().and_then(|base| base.parent.as_ref()).filter(|parent| **parent != node.id);
        self.stored.lineage().is_none_or(|lineage| lineage.placement.ancestors.first() != parent)
    }

    /// True if the lineage alone shows that rows aren't right: it is missing, isn't settled, or names another parent.
    fn is_behind(&self, node: &NodeRef) -> bool {
        match (&self.base, self.stored.lineage()) {
            (Some(_), Some(lineage)) => !lineage.is_settled() || self.names_another_place(node),
            (Some(_), None) => true,
            (None, lineage) => lineage.is_some_and(|lineage| !names_nothing(lineage)),
        }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Returns what the fan-out has yet to do for a node's own rows. Reads strongly, in three round trips at most if
    /// the ancestors are those of the lineage. Rows are read only where the lineage is right. Where it isn't, the rows
    /// that it names and the rows that there should be are counted: no other rows exist.
    /// A node that doesn't exist has a status, too.
    pub async fn status(&self, node: &NodeRef) -> Result<Status, ReadError> {
        Ok(self.looked(node).await?.1)
    }

    pub(super) async fn looked(&self, node: &NodeRef) -> Result<(StatusLook, Status), ReadError> {
        let look = self.look(node).await?;
        let status = self.status_of(node, &look).await?;
        Ok((look, status))
    }

    /// Returns true if the fan-out has nothing to do for a node's own rows, in one round trip if the lineage shows it.
    pub async fn is_up_to_date(&self, node: &NodeRef) -> Result<bool, ReadError> {
        Ok(self.settled(node).await?.is_some())
    }

    /// Returns the node as it was looked at, if the fan-out has nothing to do for its own rows.
    pub(super) async fn settled(&self, node: &NodeRef) -> Result<Option<StatusLook>, ReadError> {
        let look = self.look(node).await?;
        let is_settled = !look.is_behind(node) && self.status_of(node, &look).await?.is_up_to_date();
        Ok(is_settled.then_some(look))
    }

    async fn look(&self, node: &NodeRef) -> Result<StatusLook, TableError> {
        let schema = self.client.schema();
        let [base_key, lineage_key] = [schema.node_key(node), schema.lineage_key(node)];
        let mut read = self.client.get_all(&[base_key.clone(), lineage_key.clone()], &ReadOptions::default()).await?;
        let stored = Stored::read(read.get(&lineage_key), schema);
        let base = read.remove(&base_key).and_then(|item| BaseNode::read(item, node, schema).ok());
        Ok(StatusLook { base, stored })
    }

    async fn status_of(&self, node: &NodeRef, look: &StatusLook) -> Result<Status, ReadError> {
        let lineage = look.stored.lineage();
        let Some(base) = &look.base else {
            // A lineage that names no row is about to be deleted, or to expire.
            let lineage = lineage.filter(|lineage| !names_nothing(lineage));
            let (missing, stale) = self.by_lineage(node, None, lineage);
            return Ok(Status { exists: false, ancestors: 0, missing, stale });
        };
        let schema = self.client.schema();
        // The placement of the parent by base records; `None` if it doesn't exist.
        let parent = match base.parent.clone() {
            Some(parent) => {
                let plan = read_ancestor_path(node, parent, &base.item, &look.stored, schema);
                run(self.client, plan).await?.placement(&node.id)
            }
            None => None,
        };
        let (parent, settings, rules) = (parent.as_ref(), self.settings, Rules::default());
        let wanted = placement(&PlacementInput { node, base, parent, settings, rules });
        let is_right = |lineage: &Lineage| lineage.placement == wanted && lineage.is_settled();
        let mut status = Status { exists: true, ancestors: wanted.ancestors.len(), ..Status::default() };
        if lineage.is_some_and(is_right) {
            let rows = rows(&wanted, node, schema);
            let keys: Vec<ItemKey> = rows.iter().map(|row| row.key.clone()).collect();
            let read = self.client.get_all(&keys, &ReadOptions::default()).await?;
            let shown = Shown::of(node, base, settings);
            for row in rows {
                status.compare(Some(&row.item_of(&shown, schema)), read.get(&row.key));
            }
        } else {
            (status.missing, status.stale) = self.by_lineage(node, Some(&wanted), lineage);
        }
        Ok(status)
    }

    /// Counts what is missing and what shouldn't exist, by a lineage that isn't right. The lineage counts as a row.
    fn by_lineage(&self, node: &NodeRef, wanted: Option<&Placement>, lineage: Option<&Lineage>) -> (usize, usize) {
        let schema = self.client.schema();
        let keys = |placement: Option<&Placement>| -> BTreeSet<ItemKey> {
            let rows = placement.map(|placement| rows(placement, node, schema));
            rows.into_iter().flatten().map(|row| row.key).collect()
        };
        let wanted_rows = keys(wanted);
        let mut named = keys(lineage.map(|lineage| &lineage.placement));
        named.extend(lineage.iter().flat_map(|lineage| lineage.stale_rows.iter().cloned()));
        let missing = wanted_rows.difference(&named).count() + usize::from(wanted.is_some() && lineage.is_none());
        let stale = named.difference(&wanted_rows).count() + usize::from(lineage.is_some());
        (missing, stale)
    }

    /// Returns what the fan-out has yet to do for a topic after this version was written: the copy must be that of the
    /// newest revision. It takes one round trip, unless the version was deleted and the newest is searched.
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
            // A copy of a later one counts as long as that revision is there.
            let stands = match copied.filter(|copied| *copied > written) {
                Some(later) => {
                    let key = latest.revision_key(later, self.settings).map_err(at_fault)?;
                    self.client.get(&key, &ReadOptions::of([])).await?.is_some()
                }
                None => false,
            };
            if !stands {
                let want = Latest::copy(&copy_key, written, &revision, self.settings);
                status.compare(Some(&want), copy.as_ref());
            }
            return Ok(status);
        }
        let options = ListOptions { strong: true, bounds: super::Bounds::items(1), ..ListOptions::default() };
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
