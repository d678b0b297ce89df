//! What an operator can choose.

use std::collections::BTreeSet;

use super::{EXPIRES, Item, is_reserved};
use crate::keys::Schema;

/// Which attributes of a base record its rows carry, as a secondary index's projection would have it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Copied {
    /// All of them.
    #[default]
    All,
    /// None: rows say where a node is, and no more.
    None,
    /// Those of these names.
    Only(BTreeSet<String>),
}

/// How a table is kept. One value, read from the environment by whoever has a `main`, handed down from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How the keys are spelt.
    pub schema: Schema,
    /// Whether there are path rows.
    pub path_rows: bool,
    /// Whether there are root rows. Tables that make thousands of roots a second do without: the rows share one
    /// partition.
    pub root_rows: bool,
    /// Which attributes rows carry.
    pub copied: Copied,
    /// Attributes that no row ever carries: the keys of the owner's indexes, say.
    pub never_copied: BTreeSet<String>,
    /// The attribute by which DynamoDB deletes items when their time has come. Never copied, or rows would expire.
    pub ttl: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schema: Schema::default(),
            path_rows: true,
            root_rows: true,
            copied: Copied::All,
            never_copied: BTreeSet::new(),
            ttl: None,
        }
    }
}

impl Settings {
    /// The attribute by which DynamoDB deletes our own items when their time has come: the table's TTL attribute, or
    /// [`EXPIRES`].
    #[must_use]
    pub fn expires(&self) -> &str {
        self.ttl.as_deref().unwrap_or(EXPIRES)
    }

    /// The attributes of a base record that its rows carry. Never the key attributes, the TTL attribute, or names that
    /// begin with `_`: those are ours.
    #[must_use]
    pub fn copies(&self, base: &Item) -> Item {
        base.iter()
            .filter(|(name, _)| self.is_copied(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn is_copied(&self, name: &str) -> bool {
        let chosen = match &self.copied {
            Copied::All => true,
            Copied::None => false,
            Copied::Only(list) => list.contains(name),
        };
        chosen
            && !is_reserved(name, &self.schema)
            && self.ttl.as_deref() != Some(name)
            && !self.never_copied.contains(name)
    }
}
