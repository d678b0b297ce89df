//! The trees that base records make, without their rows: finds cycles, orphans, and marks that were left behind.

use std::collections::{BTreeMap, BTreeSet};

use serde_dynamo::AttributeValue::S;

use crate::oracle::{Contents, Item};

/// The nodes of a table by id.
#[derive(Clone, Debug, Default)]
pub struct Forest(pub BTreeMap<String, Item>);

impl Forest {
    /// Returns the nodes of a table.
    #[must_use]
    pub fn of(contents: &Contents) -> Self {
        let nodes = contents.iter().filter(|((_, sk), _)| sk == "NODE");
        Self(nodes.map(|((pk, _), item)| (pk.clone(), item.clone())).collect())
    }

    /// True if the node exists.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// A node's parent.
    #[must_use]
    pub fn parent(&self, id: &str) -> Option<&str> {
        match self.0.get(id)?.get("parent") {
            Some(S(parent)) => Some(parent),
            _ => None,
        }
    }

    /// The nodes whose ancestor path comes back to one of its nodes.
    #[must_use]
    pub fn in_cycles(&self) -> BTreeSet<&str> {
        let ends = |id: &str| {
            let mut at = Some(id);
            (0..=self.0.len()).any(|_| {
                at = at.and_then(|id| self.parent(id));
                at.is_none()
            })
        };
        self.0.keys().map(String::as_str).filter(|id| !ends(id)).collect()
    }

    /// The nodes whose parent doesn't exist.
    #[must_use]
    pub fn orphans(&self) -> BTreeSet<&str> {
        let is_orphan = |id: &&str| self.parent(id).is_some_and(|parent| !self.has(parent));
        self.0.keys().map(String::as_str).filter(is_orphan).collect()
    }

    /// The nodes that are being deleted.
    #[must_use]
    pub fn marked(&self) -> BTreeSet<&str> {
        self.0.iter().filter(|(_, item)| item.contains_key("_deleting")).map(|(id, _)| id.as_str()).collect()
    }

    /// Panics if a node is in a cycle, is an orphan, or is still being deleted.
    pub fn assert_whole(&self) {
        assert_eq!(self.in_cycles(), BTreeSet::new(), "in cycles");
        assert_eq!(self.orphans(), BTreeSet::new(), "orphans");
        assert_eq!(self.marked(), BTreeSet::new(), "still being deleted");
    }
}
