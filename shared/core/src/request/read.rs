//! Reads of items and of ranges.

use std::collections::BTreeSet;

use crate::keys::SortRange;
use crate::model::Item;

/// How items are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Strongly consistent, at twice the read units.
    pub strong: bool,
    /// Only these attributes, and the key attributes always; the read units stay the same. None: all.
    pub attributes: Option<BTreeSet<String>>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { strong: true, attributes: None }
    }
}

/// A range of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The partition.
    pub pk: String,
    /// The sort keys.
    pub range: SortRange,
    /// Go on after this sort key.
    pub after: Option<String>,
    /// At most so many items.
    pub limit: usize,
    /// From the high end down.
    pub descending: bool,
    /// How the items are read.
    pub reading: ReadOptions,
}

/// One page of a [`Query`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The items, in the order of their sort keys.
    pub items: Vec<Item>,
    /// The sort key to go on after; none on the last page.
    pub next: Option<String>,
}
