//! The newest revision of a topic.
//!
//! Keys begin with the version, so the newest revisions of an id stand at the high end of its history. Three look there, with
//! [`newest_on`] what a page shows, and each goes on in its own way where the page doesn't show the topic:
//!
//! - [`Newest`], for an append, needs a number that is probably free, since the write is conditional. It asks for numbers upwards
//!   from the copy's: one or two requests, however long the history is.
//! - [`CopyNewest`](super::CopyNewest) makes that copy, so the copy can't guide it, and it must not miss a revision past a gap. It
//!   reads the whole history.
//! - The list of a topic's revisions (the engine's reads) has to go on from any page, in either direction, and chooses what takes
//!   fewer read units.

use std::collections::BTreeSet;

use super::step::{Facts, Failure, Need, Plan, Read, Step};
use crate::keys::{ItemKey, KeyError, Schema, SortKey, Version};
use crate::model::{AttributeValue, Item, Latest, Settings, key_of};
use crate::request::{Page, Query, ReadOptions};

/// How many numbers are asked for at a time: as many as one BatchGetItem takes.
const NUMBERS_MAX: u32 = 100;

/// The newest revision of a topic on a page of a node's history, read from the high end.
#[must_use]
pub fn newest_on<'p>(page: &'p Page, topic: &str, schema: &Schema) -> Option<(Version, &'p Item)> {
    page.items.iter().find_map(|item| match revision_of(item, schema) {
        Some((version, of)) if of == topic => Some((version, item)),
        _ => None,
    })
}

fn revision_of(item: &Item, schema: &Schema) -> Option<(Version, String)> {
    match schema.parse_sort_key(&key_of(item, schema)?.sk) {
        Some(SortKey::Revision { version, topic }) => Some((version, topic)),
        _ => None,
    }
}

/// Looks for the number of a topic's newest revision, strongly consistent. The page at the high end of the history shows it where
/// the id has few topics. Where it has many, the copy of the newest says from which number to look. A revision that isn't copied
/// yet can be missed where its number is over 100 past the copy's.
#[derive(Debug)]
pub struct Newest<'a> {
    settings: &'a Settings,
    topic: &'a Latest,
    copy_key: ItemKey,
    page_items_max: usize,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Begin,
    /// A page of the history and the copy are read.
    Looking,
    /// The numbers from the copy's upwards are read, 100 at a time.
    Upwards(Upwards, u32),
    /// The numbers below the copy's are read, down to this one.
    Downwards(u32),
}

/// A search from the copy's number upwards, for as long as there are any.
#[derive(Clone, Copy, Debug)]
struct Upwards {
    /// The number that the copy names; 0 where there is no copy.
    copied: u32,
    /// The highest number found so far.
    newest: Option<Version>,
    /// The lowest number on the page: the topic has none above it.
    lowest: u32,
}

impl<'a> Newest<'a> {
    /// A search for the newest revision of this topic. The page holds so many keys.
    ///
    /// # Errors
    /// [`KeyError`] for a topic that no key can hold.
    pub fn new(settings: &'a Settings, topic: &'a Latest, page_items_max: usize) -> Result<Self, KeyError> {
        let copy_key = topic.key(settings)?;
        Ok(Self { settings, topic, copy_key, page_items_max, state: State::Begin })
    }

    fn look(&mut self) -> Step<Option<Version>> {
        let schema = &self.settings.schema;
        self.state = State::Looking;
        let query = Query {
            pk: schema.partition(&self.topic.node),
            range: schema.revision_range(),
            after: None,
            limit: self.page_items_max,
            descending: true,
            reading: ReadOptions { strong: true, attributes: Some(BTreeSet::new()) },
        };
        Need { query: Some(query), ..Need::keys([self.copy_key.clone()]) }.into()
    }

    fn looked(&mut self, read: &Read) -> Result<Step<Option<Version>>, Failure> {
        let schema = &self.settings.schema;
        let page = read.page.as_ref().ok_or(Failure::Again)?;
        let newest = newest_on(page, &self.topic.topic, schema).map(|(version, _)| version);
        if newest.is_some() || page.next.is_none() {
            return Ok(Step::Done(newest));
        }
        let numbers = page.items.iter().filter_map(|item| Some(revision_of(item, schema)?.0.number()));
        let lowest = numbers.min().unwrap_or(Version::MAX);
        let copied = copied_number(read.item(&self.copy_key)?);
        Ok(self.upwards(Upwards { copied, newest: None, lowest }, copied.max(1)))
    }

    fn upwards(&mut self, search: Upwards, from: u32) -> Step<Option<Version>> {
        if from > search.lowest {
            return self.after_upwards(search);
        }
        self.state = State::Upwards(search, from);
        self.numbers(from, search.lowest.min(from + NUMBERS_MAX - 1))
    }

    /// The copy may be of a revision that was deleted just now: then those below it count.
    fn after_upwards(&mut self, search: Upwards) -> Step<Option<Version>> {
        match search.newest {
            None if search.copied > 1 => self.downwards(search.copied - 1),
            newest => Step::Done(newest),
        }
    }

    fn downwards(&mut self, to: u32) -> Step<Option<Version>> {
        if to == 0 {
            return Step::Done(None);
        }
        let from = to.saturating_sub(NUMBERS_MAX - 1).max(1);
        self.state = State::Downwards(from);
        self.numbers(from, to)
    }

    fn numbers(&self, from: u32, to: u32) -> Step<Option<Version>> {
        let keys = (from..=to).filter_map(|number| self.revision_key(Version::new(number.into()).ok()?));
        Need { options: ReadOptions { strong: true, attributes: Some(BTreeSet::new()) }, ..Need::keys(keys) }.into()
    }

    fn revision_key(&self, version: Version) -> Option<ItemKey> {
        self.topic.revision_key(version, self.settings).ok()
    }

    fn highest(&self, read: &Read) -> Result<Option<Version>, Failure> {
        if !read.unread.is_empty() {
            return Err(Failure::Again);
        }
        let schema = &self.settings.schema;
        Ok(read.items.values().filter_map(|item| Some(revision_of(item, schema)?.0)).max())
    }
}

impl Plan for Newest<'_> {
    /// The number of the newest revision; none where there is none.
    type Done = Option<Version>;

    fn next(&mut self, facts: Facts) -> Result<Step<Option<Version>>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => Ok(self.look()),
            State::Looking => self.looked(&facts.read()?),
            State::Upwards(search, from) => Ok(match self.highest(&facts.read()?)? {
                Some(newest) => self.upwards(Upwards { newest: Some(newest), ..search }, from + NUMBERS_MAX),
                None => self.after_upwards(search),
            }),
            State::Downwards(from) => Ok(match self.highest(&facts.read()?)? {
                Some(newest) => Step::Done(Some(newest)),
                None => self.downwards(from - 1),
            }),
        }
    }
}

fn copied_number(copy: Option<&Item>) -> u32 {
    match copy.and_then(Latest::version_of) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap_or(0).min(Version::MAX),
        _ => 0,
    }
}
