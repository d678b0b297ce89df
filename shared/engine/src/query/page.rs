//! Pages of lists.

use super::page_size::PageSize;
use super::repeated::shown_by;
use super::{Fields, Filter, ReadError, Reader};
use sapwood_core::keys::{ItemKey, Schema, SortKey, SortRange};
use sapwood_core::model::{Item, key_of, size_estimate, text_size};
use sapwood_store::{ErrorKind, Query, RetryPolicy, Table};

/// The bounds of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most items; at least 1.
    pub items_max: usize,
    /// The most bytes as JSON, by [`size_estimate`]. A page has at least one item, whatever its size.
    pub bytes_max: usize,
    /// The most Query requests, each of at most 1 MB of rows. Past them a page ends, even without items. A list of
    /// paths to a depth makes more requests, which read no more together.
    pub queries_max: usize,
}

impl Bounds {
    /// The most items that a client may ask for.
    pub const ITEMS_MAX: usize = 1_000;
    /// The number of items if a client asks for none.
    pub const ITEMS_DEFAULT: usize = 100;
    /// The most bytes of a page. A function's answer has at most 6 MB.
    pub const BYTES_MAX: usize = 4_000_000;
    /// The most Query requests of a call: 2,560 read units, or 5,120 where reads are strong.
    pub const QUERIES_MAX: usize = 20;

    /// The bounds of a page of this many items.
    #[must_use]
    pub fn items(items_max: usize) -> Self {
        Self {
            items_max: items_max.clamp(1, Self::ITEMS_MAX),
            bytes_max: Self::BYTES_MAX,
            queries_max: Self::QUERIES_MAX,
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::items(Self::ITEMS_DEFAULT)
    }
}

/// The options of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// True for strongly consistent reads, at twice the read units.
    pub strong: bool,
    /// The attributes in the answer.
    pub fields: Fields,
    /// The conditions on the items. Lists of nodes by rows heed it.
    pub filter: Filter,
    /// The position to continue after, as the page before named it.
    pub after: Option<String>,
    /// The bounds of the page.
    pub bounds: Bounds,
}

impl ListOptions {
    /// How many things the pages before have passed, for a list whose positions are numbers.
    pub(super) fn passed(&self) -> Result<usize, ReadError> {
        match &self.after {
            None => Ok(0),
            Some(passed) => passed.parse().map_err(|_| ReadError::Position),
        }
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<R> {
    /// The items on the page.
    pub items: Vec<R>,
    /// The position to continue after; `None` if nothing follows.
    pub next: Option<String>,
}

impl<R> Page<R> {
    /// True if a list has nothing at all, from its beginning on.
    pub(super) fn is_an_empty_list(&self, options: &ListOptions) -> bool {
        self.items.is_empty() && self.next.is_none() && options.after.is_none()
    }
}

/// A page in the making. It takes entries until one doesn't fit.
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

    pub(super) fn room(&self) -> usize {
        self.bounds.bytes_max.saturating_sub(self.bytes)
    }

    /// How many bytes an entry usually has.
    pub(super) fn usual(&self) -> usize {
        self.bytes / self.kept.len().max(1)
    }

    /// How many entries are missing to know that the page is full. The last of them is one that doesn't fit.
    pub(super) fn missing(&self) -> usize {
        self.bounds.items_max + 1 - self.kept.len()
    }

    /// Adds an entry with its position. Returns false if it doesn't fit: the page is full, and something follows.
    pub(super) fn add(&mut self, entry: R, position: String, bytes: usize) -> bool {
        let is_full = self.kept.len() >= self.bounds.items_max || self.bytes + bytes > self.bounds.bytes_max;
        if is_full && !self.kept.is_empty() {
            return false;
        }
        self.bytes += bytes;
        self.kept.push((entry, position));
        true
    }

    pub(super) fn last(self) -> Page<R> {
        Page { items: self.kept.into_iter().map(|(entry, _)| entry).collect(), next: None }
    }

    /// Returns a page that continues after this position, which needn't be an entry's.
    pub(super) fn cut_at(self, position: Option<String>) -> Page<R> {
        Page { next: position, ..self.last() }
    }

    pub(super) fn followed(self) -> Page<R> {
        let next = self.kept.last().map(|(_, position)| position.clone());
        Page { next, ..self.last() }
    }

    /// Returns a page that something may follow. The next page begins with the last entry, so it isn't empty.
    pub(super) fn perhaps_followed(mut self) -> Page<R> {
        self.kept.pop();
        self.followed()
    }
}

pub(super) struct Listing<'q> {
    pub(super) pk: String,
    pub(super) range: SortRange,
    pub(super) skipped: Skipped,
    pub(super) descending: bool,
    /// True if a page continues where a page of DynamoDB's ends.
    pub(super) across_pages: bool,
    /// True if the list may leave out most rows: a Query reads ten rows an entry, and a page ends once it has some.
    pub(super) leaves_out: bool,
    /// The attributes that the answer itself is made of.
    pub(super) own: Vec<&'q str>,
}

/// How many rows are read for an entry, by a list that leaves out rows.
const ROWS_AN_ENTRY: usize = 10;

/// The rows in a range that a list skips. If a page of DynamoDB's ends among them, the next one begins after them.
pub(super) enum Skipped {
    Nothing,
    Range(SortRange),
    /// Path rows of more segments than this.
    Deeper(usize),
}

impl<'q> Listing<'q> {
    pub(super) fn new(pk: String, range: SortRange, own: Vec<&'q str>) -> Self {
        Self { pk, range, skipped: Skipped::Nothing, descending: false, across_pages: false, leaves_out: false, own }
    }

    /// Returns where to continue after a page that ended at `next`.
    pub(super) fn past(&self, next: String, schema: &Schema) -> String {
        let inside = match &self.skipped {
            Skipped::Nothing => None,
            Skipped::Range(range) => Some(range.clone()),
            Skipped::Deeper(segments_max) => match schema.parse_sort_key(&next) {
                Some(SortKey::Path { segments, .. }) if segments.len() > *segments_max => {
                    schema.path_range(&segments[..*segments_max]).ok()
                }
                _ => None,
            },
        };
        match inside {
            Some(range) if !(range.from.as_str()..=range.to.as_str()).contains(&next.as_str()) => next,
            Some(range) if self.descending => range.from,
            Some(range) => range.to.min(self.range.to.clone()),
            None => next,
        }
    }

    pub(super) fn holds(&self, position: &str) -> bool {
        (self.range.from.as_str()..=self.range.to.as_str()).contains(&position)
    }

    pub(super) fn start(&self, options: &ListOptions) -> Result<Option<String>, ReadError> {
        match &options.after {
            Some(after) if !self.holds(after) => Err(ReadError::Position),
            after => Ok(after.clone()),
        }
    }

    pub(super) fn query(&self, after: Option<String>, limit: usize, options: &ListOptions, schema: &Schema) -> Query {
        let own = self.own.iter().copied().chain([schema.names().segment.as_str()]);
        let reading = options.fields.reading(options.strong, own.chain(options.filter.attributes()), schema);
        let first = Query::first(self.pk.clone(), self.range.clone(), limit);
        Query { after, descending: self.descending, reading, ..first }
    }
}

/// The most bytes of an entry as JSON: attributes, key, the path in it (escapes take three), and names.
pub(super) fn entry_size(key: &ItemKey, item: &Item) -> usize {
    const NAMES: usize = 256;
    size_estimate(item) + 2 * text_size(&key.sk) + NAMES
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads one page of a list, with each node once. It takes one Query, unless unreadable rows take up room, rows are
    /// jumped over, or a node is there twice. Where a later Query isn't answered in time, the page ends before it.
    pub(super) async fn list<R>(
        &self,
        listing: &Listing<'_>,
        options: &ListOptions,
        mut read: impl FnMut(&ItemKey, &Item) -> Option<R>,
    ) -> Result<Page<R>, ReadError> {
        let mut shown = Vec::new();
        let entry = |key: &ItemKey, item: &Item| {
            let entry = options.filter.holds(item).then(|| read(key, item)).flatten()?;
            shown.push((key.clone(), shown_by(key, self.client.schema())));
            Some(entry)
        };
        let page = self.list_rows(listing, options, entry).await?;
        // The last one that was read may not have found room.
        shown.truncate(page.items.len());
        Ok(self.without_older(&listing.pk, page, &shown).await)
    }

    async fn list_rows<R>(
        &self,
        listing: &Listing<'_>,
        options: &ListOptions,
        mut read: impl FnMut(&ItemKey, &Item) -> Option<R>,
    ) -> Result<Page<R>, ReadError> {
        let schema = self.client.schema();
        let mut after = listing.start(options)?;
        let mut builder = PageBuilder::new(options.bounds);
        let queries_max = options.bounds.queries_max.max(1);
        let leaves_out = listing.leaves_out || !options.filter.is_empty();
        let mut pace = matches!(listing.skipped, Skipped::Deeper(_)).then(|| PageSize::new(queries_max));
        for queries in 1.. {
            let (before, units) = (builder.len(), self.client.usage().read_units);
            let limit = match &pace {
                Some(pace) => pace.rows(builder.missing()),
                None if leaves_out => options.bounds.items_max.saturating_mul(ROWS_AN_ENTRY).min(Bounds::ITEMS_MAX),
                None => builder.missing(),
            };
            let query = listing.query(after.clone(), limit, options, schema);
            let page = match self.client.query(&query).await {
                Err(error) if queries > 1 && error.kind == ErrorKind::Retry => break,
                page => page?,
            };
            let found = page.items.len();
            for item in &page.items {
                let Some(key) = key_of(item, schema) else { continue };
                let Some(entry) = read(&key, item) else { continue };
                if !builder.add(entry, key.sk.clone(), entry_size(&key, item)) {
                    return Ok(builder.followed());
                }
            }
            let Some(next) = page.next else { return Ok(builder.last()) };
            // DynamoDB returned fewer rows than the limit because its own page is full.
            if found < limit && builder.len() > 1 && !listing.across_pages && !leaves_out {
                return Ok(builder.perhaps_followed());
            }
            after = Some(listing.past(next, schema));
            let goes_on = match &mut pace {
                None => queries < queries_max && !(leaves_out && builder.len() > 0),
                Some(pace) => {
                    let units = self.client.usage().read_units - units;
                    pace.took(found, builder.len() - before, if options.strong { units / 2.0 } else { units })
                }
            };
            if !goes_on {
                break;
            }
        }
        Ok(builder.cut_at(after))
    }
}
