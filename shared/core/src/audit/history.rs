//! Compares the copies of a node's newest revisions with its revisions.

use std::collections::BTreeMap;

use super::difference::Evidence;
use super::{Difference, Kind};
use crate::keys::{NodeRef, SortKey, Version};
use crate::model::{Item, Latest, Settings, VERSION, item_bytes, key_of};
use crate::plan::Plan;
use crate::request::{Page, Query};

/// The plan that looks at all revisions and copies of a node, in pages of `page_items_max` items, the newest first, as
/// the first of each topic is its newest. A history that goes on after `bytes_max` bytes isn't compared.
pub fn look_at_history(
    settings: &Settings,
    node: NodeRef,
    strong: bool,
    page_items_max: usize,
    bytes_max: usize,
) -> Plan<'_, Vec<Difference>> {
    let (pk, range) = (settings.schema.partition(&node), settings.schema.revision_range());
    let mut query = Query::first(pk, range, page_items_max).descending();
    query.reading.strong = strong;
    let mut history = History { settings, node, topics: BTreeMap::new() };
    Plan::new(move |io| async move {
        let mut bytes = 0;
        loop {
            let page = io.page(query.clone()).await?;
            history.take(&page);
            bytes += page.items.iter().map(item_bytes).sum::<usize>();
            query.after = page.next;
            if query.after.is_none() {
                return Ok(history.judge());
            }
            if bytes > bytes_max {
                return Ok(Vec::new());
            }
        }
    })
}

struct History<'a> {
    settings: &'a Settings,
    node: NodeRef,
    topics: BTreeMap<String, Topic>,
}

/// Only hashes are kept, because a history can be long.
#[derive(Debug, Default)]
struct Topic {
    /// The newest revision: the hash of the copy that it asks for, and the evidence.
    newest: Option<(Version, u64, Evidence)>,
    copy: Option<(u64, Evidence)>,
    /// True if what is in the copy's place has no version, and so is the table owner's.
    is_owners: bool,
}

impl History<'_> {
    fn take(&mut self, page: &Page) {
        for item in &page.items {
            let Some(key) = key_of(item, &self.settings.schema) else { continue };
            match self.settings.schema.parse_sort_key(&key.sk) {
                Some(SortKey::Revision { version, topic }) => self.take_revision(version, topic, item),
                Some(SortKey::Latest { topic }) => {
                    let copy = (hash(item), Evidence::new().and(Some(item)));
                    let seen = self.topics.entry(topic).or_default();
                    (seen.copy, seen.is_owners) = (Some(copy), !item.contains_key(VERSION));
                }
                _ => {}
            }
        }
    }

    fn take_revision(&mut self, version: Version, topic: String, revision: &Item) {
        let latest = Latest { node: self.node.clone(), topic };
        let Ok(key) = latest.key(self.settings) else { return };
        let seen = self.topics.entry(latest.topic).or_default();
        if seen.newest.is_none() {
            let copy = Latest::copy(&key, version, revision, self.settings);
            seen.newest = Some((version, hash(&copy), Evidence::new().and(Some(revision))));
        }
    }

    fn judge(&self) -> Vec<Difference> {
        let judge = |(topic, seen): (&String, &Topic)| {
            let kind = match (&seen.newest, &seen.copy) {
                (Some((_, wanted, _)), Some((there, _))) if wanted == there => return None,
                (Some(_), Some(_)) => Kind::CopyWrong,
                (Some(_), None) => Kind::CopyMissing,
                (None, _) if seen.is_owners => Kind::ReservedKey,
                (None, _) => Kind::CopySurplus,
            };
            let key = Latest { node: self.node.clone(), topic: topic.clone() }.key(self.settings).ok()?;
            let newest = seen.newest.as_ref().map(|(_, _, evidence)| evidence);
            let evidence = Evidence::joined([newest, seen.copy.as_ref().map(|(_, evidence)| evidence)]);
            Some(Difference::of(kind, key, &self.node, &evidence))
        };
        self.topics.iter().filter_map(judge).collect()
    }
}

fn hash(item: &Item) -> u64 {
    Evidence::new().and(Some(item)).hash()
}
