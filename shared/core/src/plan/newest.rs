//! The newest revision of a topic.
//!
//! Keys begin with the version, so the newest revisions of an id stand at the high end of its history. Three look
//! there, with [`newest_on`] what a page shows, and each goes on in its own way where the page doesn't show the topic:
//!
//! - [`newest()`], for an append, needs a number that is probably free, since the write is conditional. It asks for
//!   numbers upwards from the copy's: one or two requests, however long the history is.
//! - [`copy_newest`](crate::fanout::copy_newest) makes that copy, so the copy can't guide it, and it must not miss a
//!   revision past a gap. It reads the whole history.
//! - The list of a topic's revisions (the engine's reads) has to go on from any page, in either direction, and chooses
//!   what takes fewer read units.

use std::ops::RangeInclusive;

use super::protocol::Io;
use super::step::Need;
use super::task::Failure;
use crate::keys::{ItemKey, Schema, SortKey, Version};
use crate::model::{Item, Latest, Settings, VERSION, key_of, whole_of};
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

/// Looks for the number of a topic's newest revision, strongly consistent; `None` where there is none. The page at the
/// high end of the history shows it where the id has few topics. Where it has many, the copy of the newest says from
/// which number to look. A revision that isn't copied yet can be missed where its number is over 100 past the copy's.
pub async fn newest(
    io: &Io,
    settings: &Settings,
    topic: &Latest,
    copy_key: &ItemKey,
    page_items_max: usize,
) -> Result<Option<Version>, Failure> {
    let schema = &settings.schema;
    let query =
        Query::first(schema.partition(&topic.node), schema.revision_range(), page_items_max).descending().of([]);
    let read = io.read(Need { query: Some(query), ..Need::keys([copy_key.clone()]) }).await?;
    let page = read.page.as_ref().ok_or(Failure::Again)?;
    let shown = newest_on(page, &topic.topic, schema).map(|(version, _)| version);
    if shown.is_some() || page.next.is_none() {
        return Ok(shown);
    }
    // The topic has no number above the lowest on the page.
    let numbers = page.items.iter().filter_map(|item| Some(revision_of(item, schema)?.0.number()));
    let lowest = numbers.min().unwrap_or(Version::MAX);
    let copied = read.item(copy_key)?.and_then(|copy| whole_of::<u32>(copy, VERSION)).unwrap_or(0).min(Version::MAX);
    let mut newest = None;
    let mut from = copied.max(1);
    while from <= lowest {
        match highest(io, settings, topic, from..=lowest.min(from + NUMBERS_MAX - 1)).await? {
            None => break,
            higher => newest = higher,
        }
        from += NUMBERS_MAX;
    }
    // The copy may be of a revision that was deleted just now: then those below it count.
    let mut to = if newest.is_none() { copied.saturating_sub(1) } else { 0 };
    while newest.is_none() && to > 0 {
        let from = to.saturating_sub(NUMBERS_MAX - 1).max(1);
        newest = highest(io, settings, topic, from..=to).await?;
        to = from - 1;
    }
    Ok(newest)
}

/// The highest of these numbers that a revision of the topic has.
async fn highest(
    io: &Io,
    settings: &Settings,
    topic: &Latest,
    numbers: RangeInclusive<u32>,
) -> Result<Option<Version>, Failure> {
    let key = |number: u32| topic.revision_key(Version::new(number.into()).ok()?, settings).ok();
    let read = io.read(Need { options: ReadOptions::of([]), ..Need::keys(numbers.filter_map(key)) }).await?;
    if !read.unread.is_empty() {
        return Err(Failure::Again);
    }
    Ok(read.items.values().filter_map(|item| Some(revision_of(item, &settings.schema)?.0)).max())
}
