//! Pages of lists.

use super::size_estimate::{size_estimate, text_size};
use super::{Fields, ReadError, Reader};
use sapwood_core::keys::{ItemKey, Schema, SortKey, SortRange};
use sapwood_core::model::{Item, key_of};
use sapwood_table::{Query, RetryPolicy, Table};

/// What bounds an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most items; at least 1.
    pub items_max: usize,
    /// Most bytes as JSON, by [`size_estimate`](super::size_estimate). A single item is never over it.
    pub bytes_max: usize,
}

impl Bounds {
    /// Most items that may be asked for.
    pub const ITEMS_MAX: usize = 1_000;
    /// As many as are asked for where nothing is said.
    pub const ITEMS_DEFAULT: usize = 100;
    /// Most bytes of a page: a function's answer has 6 MB.
    pub const BYTES_MAX: usize = 4_000_000;

    /// A page of so many items.
    #[must_use]
    pub fn items(items_max: usize) -> Self {
        Self { items_max: items_max.clamp(1, Self::ITEMS_MAX), bytes_max: Self::BYTES_MAX }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::items(Self::ITEMS_DEFAULT)
    }
}

/// How a list is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Strongly consistent, at twice the read units.
    pub strong: bool,
    /// Which attributes are shown.
    pub fields: Fields,
    /// The position to go on after, as the page before named it.
    pub after: Option<String>,
    /// What bounds the page.
    pub bounds: Bounds,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<R> {
    /// What is on it.
    pub items: Vec<R>,
    /// The position to go on after, where something follows.
    pub next: Option<String>,
}

/// What has been found for a page so far: until something comes that there is no room for.
pub(super) struct PageBuilder<R> {
    kept: Vec<(R, String)>,
    bytes: usize,
    bounds: Bounds,
}

impl<R> PageBuilder<R> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { kept: Vec::new(), bytes: 0, bounds }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// How many more it takes to know that the page is full: one that there is no room for is among them.
    pub(super) fn missing(&self) -> usize {
        self.bounds.items_max + 1 - self.kept.len()
    }

    /// Adds an entry with its position. False where there is no room for it: the page is full, and something follows.
    pub(super) fn add(&mut self, entry: R, position: String, bytes: usize) -> bool {
        let is_full = self.kept.len() >= self.bounds.items_max || self.bytes + bytes > self.bounds.bytes_max;
        if is_full && !self.kept.is_empty() {
            return false;
        }
        self.bytes += bytes;
        self.kept.push((entry, position));
        true
    }

    /// The page, where nothing follows.
    pub(super) fn last(self) -> Page<R> {
        Page { items: self.kept.into_iter().map(|(entry, _)| entry).collect(), next: None }
    }

    /// The page, where something follows.
    pub(super) fn followed(self) -> Page<R> {
        let next = self.kept.last().map(|(_, position)| position.clone());
        Page { next, ..self.last() }
    }

    /// The page, where it isn't known whether something follows: the last entry is left for the next page, so that
    /// there is something on it.
    pub(super) fn perhaps_followed(mut self) -> Page<R> {
        self.kept.pop();
        self.followed()
    }
}

/// A range of a partition that is read as a list.
pub(super) struct Listing<'q> {
    pub(super) pk: String,
    pub(super) range: SortRange,
    pub(super) passed_over: PassedOver,
    pub(super) descending: bool,
    /// Whether a page goes on where one of DynamoDB's ends.
    pub(super) across_pages: bool,
    /// The attributes that the answer itself is made of.
    pub(super) own: Vec<&'q str>,
}

/// What a list passes over inside of its range. A page of DynamoDB's that ends in there is followed by one that begins past it.
pub(super) enum PassedOver {
    Nothing,
    /// These.
    Range(SortRange),
    /// Path rows of more segments than these.
    Deeper(usize),
}

/// Rows that are read at once where many of them may be passed over.
const SPARSE_ITEMS: usize = 1_000;

impl Listing<'_> {
    /// Where to go on after a page that ended at `next`.
    pub(super) fn past(&self, next: String, schema: &Schema) -> String {
        let inside = match &self.passed_over {
            PassedOver::Nothing => None,
            PassedOver::Range(range) => Some(range.clone()),
            PassedOver::Deeper(segments_max) => match schema.parse_sort_key(&next) {
                Some(SortKey::Path { segments, .. }) if segments.len() > *segments_max => {
                    schema.path_range(&segments[..*segments_max]).ok()
                }
                _ => None,
            },
        };
        match inside {
            Some(range) if (range.from.as_str()..=range.to.as_str()).contains(&next.as_str()) => {
                if self.descending {
                    range.from
                } else {
                    range.to.min(self.range.to.clone())
                }
            }
            _ => next,
        }
    }

    /// How many rows to ask for, to get so many.
    fn limit(&self, missing: usize) -> usize {
        if matches!(self.passed_over, PassedOver::Deeper(_)) { missing.max(SPARSE_ITEMS) } else { missing }
    }

    /// Whether a position is one of this list.
    pub(super) fn holds(&self, position: &str) -> bool {
        (self.range.from.as_str()..=self.range.to.as_str()).contains(&position)
    }

    pub(super) fn query(&self, after: Option<String>, limit: usize, options: &ListOptions, schema: &Schema) -> Query {
        Query {
            pk: self.pk.clone(),
            range: self.range.clone(),
            after,
            limit,
            descending: self.descending,
            reading: options.fields.reading(options.strong, self.own.iter().copied(), schema),
        }
    }
}

/// The most that an entry takes as JSON: its attributes, its key once more for the path that is made of it (an escaped byte
/// is three there), and names and punctuation.
pub(super) fn entry_size(key: &ItemKey, item: &Item) -> usize {
    const NAMES: usize = 256;
    size_estimate(item) + 2 * text_size(&key.sk) + NAMES
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// One page of a list: one Query, unless rows that `read` can't read have taken up room in it.
    pub(super) async fn list<R>(
        &self,
        listing: &Listing<'_>,
        options: &ListOptions,
        read: impl Fn(&ItemKey, &Item) -> Option<R>,
    ) -> Result<Page<R>, ReadError> {
        let schema = self.client.schema();
        let mut after = options.after.clone();
        if after.as_ref().is_some_and(|after| !listing.holds(after)) {
            return Err(ReadError::Position);
        }
        let mut builder = PageBuilder::new(options.bounds);
        loop {
            let limit = listing.limit(builder.missing());
            let page = self.client.query(&listing.query(after, limit, options, schema)).await?;
            let found = page.items.len();
            for item in &page.items {
                let Some(key) = key_of(item, schema) else { continue };
                let Some(entry) = read(&key, item) else { continue };
                if !builder.add(entry, key.sk.clone(), entry_size(&key, item)) {
                    return Ok(builder.followed());
                }
            }
            let Some(next) = page.next else { return Ok(builder.last()) };
            // Short of what was asked for: the page of DynamoDB's is full.
            if found < limit && builder.len() > 1 && !listing.across_pages {
                return Ok(builder.perhaps_followed());
            }
            after = Some(listing.past(next, schema));
        }
    }
}
