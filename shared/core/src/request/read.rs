//! Reads of items and of ranges.

use std::collections::BTreeSet;

use crate::keys::{ItemKey, SortRange};
use crate::model::Item;

/// How items are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// True for strongly consistent reads, which take twice the read units.
    pub strong: bool,
    /// The attributes to read; the key attributes always come with them. `None` reads all. The read units are the same.
    pub attributes: Option<BTreeSet<String>>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { strong: true, attributes: None }
    }
}

impl ReadOptions {
    /// Strongly consistent reads of these attributes.
    pub fn of<'n>(attributes: impl IntoIterator<Item = &'n str>) -> Self {
        Self { strong: true, attributes: Some(attributes.into_iter().map(str::to_owned).collect()) }
    }
}

/// A query of a range of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Query {
    /// The partition key.
    pub pk: String,
    /// The range of sort keys.
    pub range: SortRange,
    /// The sort key after which the page begins; `None` for the first page.
    pub after: Option<String>,
    /// Most items on the page.
    pub limit: usize,
    /// True to read from the high end of the range down.
    pub descending: bool,
    /// How the items are read.
    pub reading: ReadOptions,
}

impl Query {
    /// The first page of a range from its low end up, strongly consistent and with all attributes.
    pub fn first(pk: String, range: SortRange, limit: usize) -> Self {
        Self { pk, range, after: None, limit, descending: false, reading: ReadOptions::default() }
    }

    /// The same from the high end of the range down.
    pub fn descending(self) -> Self {
        Self { descending: true, ..self }
    }

    /// The same with these attributes.
    pub fn of<'n>(self, attributes: impl IntoIterator<Item = &'n str>) -> Self {
        Self { reading: ReadOptions::of(attributes), ..self }
    }
}

/// A page of a [`Query`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The items, ordered by their sort keys, in the query's direction.
    pub items: Vec<Item>,
    /// The sort key after which the next page begins; `None` on the last page.
    pub next: Option<String>,
}

/// A page of a scan of a part of the whole table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The part, from 0. DynamoDB cuts a table into as many parts as it is asked for, each for itself.
    pub segment: u32,
    /// The number of parts, 1 to 1,000,000.
    pub segments: u32,
    /// The key after which the page begins; `None` for the first page.
    pub after: Option<ItemKey>,
    /// Most items on the page.
    pub limit: usize,
    /// How the items are read.
    pub reading: ReadOptions,
}

/// A page of a [`Scan`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scanned {
    /// The items. Those of one partition key come one after another, in the order of their sort keys.
    pub items: Vec<Item>,
    /// The key after which the next page begins; `None` on the part's last page.
    pub next: Option<ItemKey>,
}
