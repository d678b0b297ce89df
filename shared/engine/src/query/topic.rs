//! The history of one topic.
//!
//! The keys of a history begin with the version, so the revisions of one topic lie among those of all others. If the
//! topic has a fair share of the rows, they are picked out of the node's history by Query. If it has less, its
//! revisions are read by number, [`NUMBERS_MAX`] at a time, from the version that the topic's copy names. Versions may
//! have gaps; after a gap the history is read again. A page begins in the way in which the page before ended.

use super::page::{Listing, PageBuilder, entry_size};
use super::revisions::{copied_version, topic_at_fault};
use super::{ListOptions, Order, Page, ReadError, Reader, Revision};
use sapwood_core::keys::{ItemKey, SortKey, Version};
use sapwood_core::model::{Item, Latest, answered_bytes, key_of};
use sapwood_store::{ANSWER_BYTES_MAX, BATCH_GET_KEYS_MAX, ReadOptions, RetryPolicy, Table};

const NUMBERS_MIN: usize = 10;
const NUMBERS_MAX: usize = BATCH_GET_KEYS_MAX;

/// The fewest rows of a history that are read at once: enough to tell a topic's share.
const ROWS_MIN: usize = 100;

/// The topic must have one row in this many. If it has fewer, reading by number (half a unit each) takes fewer units.
const SHARE: usize = 8;

/// The position in the reading of a topic, and the way to continue.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reached {
    /// Continue in the node's history after this sort key.
    Rows(Option<String>),
    Number(u32),
}

impl Reached {
    fn read(position: &str) -> Option<Self> {
        match position.split_at_checked(1)? {
            ("r", after) => Some(Self::Rows(Some(after.to_owned()))),
            ("n", number) => number.parse().ok().map(Self::Number),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Rows(after) => format!("r{}", after.as_deref().unwrap_or_default()),
            Self::Number(number) => format!("n{number}"),
        }
    }
}

struct Reading<'q> {
    latest: &'q Latest,
    order: Order,
    options: &'q ListOptions,
    history: Listing<'static>,
    builder: PageBuilder<Revision>,
    /// The bytes of what was read, as answers have them.
    answered: usize,
    is_full: bool,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the revisions of one topic by version. One not copied yet can be missing if it is 100 above the copy.
    ///
    /// # Errors
    /// [`ReadError::Absent`] if neither the node nor a revision of it exists, [`ReadError::Key`] for an impossible
    /// topic, and [`ReadError::Position`].
    pub async fn topic(
        &self,
        latest: &Latest,
        order: Order,
        options: &ListOptions,
    ) -> Result<Page<Revision>, ReadError> {
        latest.key(self.settings).map_err(topic_at_fault)?;
        let history = self.history(&latest.node, order)?;
        let mut standing = match &options.after {
            None => Some(Reached::Rows(None)),
            Some(position) => Some(Reached::read(position).ok_or(ReadError::Position)?),
        };
        if let Some(Reached::Rows(Some(after))) = &standing
            && !history.holds(after)
        {
            return Err(ReadError::Position);
        }
        let builder = PageBuilder::new(options.bounds);
        let mut reading = Reading { latest, order, options, history, builder, answered: 0, is_full: false };
        while let Some(at) = standing {
            standing = match at {
                Reached::Rows(after) => self.read_rows(&mut reading, after).await?,
                Reached::Number(number) => self.read_numbers(&mut reading, number).await?,
            };
            if reading.is_full {
                return Ok(reading.builder.followed());
            }
            // As the API writes them, ten times as many may fit.
            if let Some(next) = standing.as_ref().filter(|_| reading.answered >= ANSWER_BYTES_MAX) {
                return Ok(reading.builder.cut_at(Some(next.text())));
            }
        }
        let page = reading.builder.last();
        self.check_versions(&latest.node, &page, options).await?;
        Ok(page)
    }

    /// Reads a page of the node's history, and returns how to continue.
    async fn read_rows(&self, reading: &mut Reading<'_>, after: Option<String>) -> Result<Option<Reached>, ReadError> {
        let schema = self.client.schema();
        let limit = reading.builder.missing().max(ROWS_MIN);
        let page = self.client.query(&reading.history.query(after, limit, reading.options, schema)).await?;
        reading.answered += page.items.iter().map(answered_bytes).sum::<usize>();
        let (mut revisions, mut ours) = (0, 0);
        for item in &page.items {
            let Some(key) = key_of(item, schema) else { continue };
            let Some(revision) = self.own_revision(reading.options, &key, item) else { continue };
            revisions += 1;
            if revision.topic == reading.latest.topic {
                ours += 1;
                reading.add(revision, &Reached::Rows(Some(key.sk.clone())), &key, item);
            }
        }
        let Some(next) = page.next else { return Ok(None) };
        // Copies tell nothing about a topic's share.
        if !reading.is_full
            && ours * SHARE < revisions
            && let Some(number) = reading.number_after(&next, schema)
        {
            return Ok(Some(Reached::Number(self.number_to_begin_at(reading, number).await?)));
        }
        Ok(Some(Reached::Rows(Some(reading.history.past(next, schema)))))
    }

    /// Returns the number to begin at from the newest end, at most `at`: the copy's, or above it past small gaps.
    async fn number_to_begin_at(&self, reading: &Reading<'_>, at: u32) -> Result<u32, ReadError> {
        if reading.order == Order::Ascending {
            return Ok(at);
        }
        let mut top = self.copied_number(reading).await?;
        while top < at {
            let keys = self.numbered_keys(reading, top + 1, top.saturating_add(NUMBERS_MAX as u32).min(at));
            let wanted: Vec<ItemKey> = keys.iter().map(|(key, _)| key.clone()).collect();
            let options = ReadOptions { strong: reading.options.strong, ..ReadOptions::of([]) };
            let found = self.client.get_all(&wanted, &options).await?;
            match keys.iter().rev().find(|(key, _)| found.contains_key(key)) {
                Some((_, newest)) => top = newest.number(),
                None => break,
            }
        }
        Ok(at.min(top))
    }

    /// Returns the number that the topic's copy names; 0 if there is no copy.
    async fn copied_number(&self, reading: &Reading<'_>) -> Result<u32, ReadError> {
        let key = reading.latest.key(self.settings).map_err(topic_at_fault)?;
        let copy = self.client.get(&key, &self.revision_reading(reading.options)).await?;
        Ok(copy.as_ref().and_then(copied_version).map_or(0, Version::number))
    }

    /// Reads the next numbers, and returns how to continue.
    async fn read_numbers(&self, reading: &mut Reading<'_>, number: u32) -> Result<Option<Reached>, ReadError> {
        let count = reading.builder.missing().clamp(NUMBERS_MIN, NUMBERS_MAX) as u32;
        let (low, high) = match reading.order {
            Order::Descending => (number.saturating_sub(count - 1).max(1), number),
            Order::Ascending => (number, number.saturating_add(count - 1).min(Version::MAX)),
        };
        if low > high || number == 0 {
            return Ok(None);
        }
        let mut keys = self.numbered_keys(reading, low, high);
        if reading.order == Order::Descending {
            keys.reverse();
        }
        let wanted: Vec<ItemKey> = keys.iter().map(|(key, _)| key.clone()).collect();
        let options = self.revision_reading(reading.options);
        let (mut found, read) = self.client.get_first(&wanted, &options, ANSWER_BYTES_MAX).await?;
        let is_empty = found.is_empty();
        reading.answered += found.values().map(answered_bytes).sum::<usize>();
        for (key, version) in &keys[..read] {
            let Some(item) = found.remove(key) else { continue };
            let Some(revision) = self.own_revision(reading.options, key, &item) else { continue };
            reading.add(revision, &Reached::Number(reading.following(version.number())), key, &item);
        }
        // Large revisions come a few at a time.
        if let Some((_, version)) = keys.get(read) {
            return Ok(Some(Reached::Number(version.number())));
        }
        let last = if reading.order == Order::Descending { low } else { high };
        if !is_empty {
            return Ok(Some(Reached::Number(reading.following(last))));
        }
        if reading.order == Order::Ascending && number > self.copied_number(reading).await? {
            return Ok(None);
        }
        // In a gap, the history leads to the revisions after it.
        let edge = Version::new(last.into()).ok().and_then(|v| reading.latest.revision_key(v, self.settings).ok());
        Ok(edge.map(|key| Reached::Rows(Some(key.sk))))
    }

    fn numbered_keys(&self, reading: &Reading<'_>, low: u32, high: u32) -> Vec<(ItemKey, Version)> {
        let versions = (low..=high).filter_map(|number| Version::new(number.into()).ok());
        let key = |version| Some((reading.latest.revision_key(version, self.settings).ok()?, version));
        versions.filter_map(key).collect()
    }
}

impl Reading<'_> {
    fn add(&mut self, revision: Revision, after: &Reached, key: &ItemKey, item: &Item) {
        self.is_full = self.is_full || !self.builder.add(revision, after.text(), entry_size(key, item));
    }

    fn following(&self, number: u32) -> u32 {
        match self.order {
            Order::Descending => number.saturating_sub(1),
            Order::Ascending => number.saturating_add(1),
        }
    }

    /// Returns the topic's next number after a row of the history.
    fn number_after(&self, sk: &str, schema: &sapwood_core::keys::Schema) -> Option<u32> {
        match schema.parse_sort_key(sk)? {
            SortKey::Revision { version, topic } => {
                let is_to_come = match self.order {
                    Order::Descending => self.latest.topic < topic,
                    Order::Ascending => self.latest.topic > topic,
                };
                Some(if is_to_come { version.number() } else { self.following(version.number()) })
            }
            _ => None,
        }
    }
}
