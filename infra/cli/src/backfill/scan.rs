//! Reads the table, and finds what is to be done.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use indicatif::ProgressBar;
use sapwood_core::audit::{Difference, Kind, Position};
use sapwood_core::keys::{ItemKey, NodeRef, SortKey};
use sapwood_core::model::{Amounts, BaseNode, Counted, Item, Settings};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::audit::Audit;
use sapwood_import::backlog::{Backlog, Page};
use sapwood_store::{Client, ReadOptions, Scan};

use super::Scope;
use crate::audit::Seen;
use crate::connect::{Patient, Whose};
use crate::rate_limit::RateLimit;
use crate::recognised::check_items;

/// Items in a page.
const PAGE_ITEMS_MAX: usize = 500;

/// A table that is read into a working file.
pub(super) struct Scanner<'a> {
    pub(super) client: &'a Client<'a, DynamoTable, Patient>,
    pub(super) settings: &'a Settings,
    pub(super) scope: Scope,
    pub(super) pace: RateLimit,
    pub(super) bar: &'a ProgressBar,
    /// How much was read.
    pub(super) seen: Mutex<Seen>,
    /// Whose settings count.
    pub(super) whose: Whose,
    /// True if no node may be missed, however new it is.
    pub(super) strong: bool,
}

impl Scanner<'_> {
    /// Reads all parts of the table, each from where an earlier process came to.
    pub(super) async fn all(&self, backlog: &Mutex<Backlog>) -> Result<()> {
        let segments = lock(backlog).segments();
        let has_begun = (0..segments).map(|segment| Ok(lock(backlog).reached(segment)?.is_some()));
        let has_begun = has_begun.collect::<Result<Vec<_>>>()?.contains(&true);
        let parts = (0..segments).map(|segment| self.part(segment, segments, backlog));
        futures::future::try_join_all(parts).await?;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever goes on doesn't know what was read before.
        if has_begun { Ok(()) } else { check_items(seen.classes(), self.whose) }
    }

    async fn part(&self, segment: u32, segments: u32, backlog: &Mutex<Backlog>) -> Result<()> {
        let mut from = match lock(backlog).reached(segment)? {
            None => None,
            Some(None) => return Ok(()),
            Some(Some(reached)) => Some(reached),
        };
        loop {
            let before = self.client.usage().read_units;
            let page = match self.scope {
                Scope::Cursors => self.cursors(segment, segments, from).await?,
                Scope::All | Scope::Wrong | Scope::Names | Scope::Totals => self.nodes(segment, segments, from).await?,
            };
            lock(backlog).take(segment, &page)?;
            let Some(next) = page.next else { return Ok(()) };
            from = Some(next);
            // Parts that run side by side share what they take: on average each pays for its own.
            let used = (self.client.usage().read_units - before) / f64::from(segments);
            tokio::time::sleep(self.pace.take(used)).await;
        }
    }

    /// Compares a page with what is derived from it.
    async fn nodes(&self, segment: u32, segments: u32, from: Option<Position>) -> Result<Page> {
        let audit = Audit::new(self.client, self.settings).with_strong_pages(self.strong);
        let found = audit.page(segment, segments, from.as_ref(), PAGE_ITEMS_MAX).await?;
        self.bar.inc(found.items);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).add(&found);
        if self.scope == Scope::Names {
            let is_of_name = |kind: Kind| matches!(kind, Kind::NameUnclaimed | Kind::NameLeft);
            let claims = found.suspects.iter().filter(|suspect| is_of_name(suspect.kind));
            let others = claims.map(|claim| (claim.key.clone(), claim.kind)).collect();
            return Ok(Page { others, next: found.next, ..Page::default() });
        }
        let redriven = found.suspects.iter().filter(|suspect| suspect.kind.is_redriven());
        let wrong: BTreeSet<&NodeRef> = redriven.map(|suspect| &suspect.node).collect();
        let nodes = found.contents.iter().filter_map(|(key, item)| self.node(key, item));
        if self.scope == Scope::Totals {
            let lanes = found.contents.keys().filter(|key| self.is_lane(key));
            let others = lanes.map(|key| (key.clone(), Kind::TotalsLeft)).collect();
            let epochs = found.contents.iter().filter_map(|(key, item)| self.epoch(key, item)).collect();
            return Ok(Page { nodes: nodes.collect(), others, epochs, next: found.next, ..Page::default() });
        }
        let nodes = nodes.filter(|(node, _)| self.scope == Scope::All || wrong.contains(node)).collect();
        let is_moved = |difference: &&Difference| difference.kind == Kind::LineageWrong;
        let moved = found.suspects.iter().filter(is_moved).map(|moved| moved.node.clone()).collect();
        let copies = found.suspects.iter().filter(|suspect| suspect.kind.is_of_copy());
        let others = copies.map(|copy| (copy.key.clone(), copy.kind)).collect();
        Ok(Page { nodes, moved, others, next: found.next, ..Page::default() })
    }

    /// True for a part of a total, which is of an earlier epoch once this command has begun another.
    fn is_lane(&self, key: &ItemKey) -> bool {
        matches!(self.settings.schema.parse_sort_key(&key.sk), Some(SortKey::Totals { .. }))
    }

    /// The epoch of an item that is of one: a part of a total, or what a node is counted as.
    fn epoch(&self, key: &ItemKey, item: &Item) -> Option<u32> {
        match self.settings.schema.parse_sort_key(&key.sk)? {
            // An item of the owner's may have such a key.
            SortKey::Totals { epoch, .. } => Amounts::is_lane(item, &self.settings.schema).then_some(epoch),
            SortKey::Counted => Some(Counted::read(item).ok()??.epoch.0),
            _ => None,
        }
    }

    /// Returns the node that a base record is. `None` for other items, and for records that can't be understood:
    /// `sapwood verify` names them.
    fn node(&self, key: &ItemKey, item: &Item) -> Option<(NodeRef, BaseNode)> {
        let schema = &self.settings.schema;
        let node = schema.parse_partition(&key.pk).ok()?;
        schema.parse_sort_key(&key.sk).filter(|sort_key| *sort_key == SortKey::Node)?;
        let base = BaseNode::read(item.clone(), &node, schema).ok()?;
        Some((node, base))
    }

    /// Finds the cursors of a page.
    async fn cursors(&self, segment: u32, segments: u32, from: Option<Position>) -> Result<Page> {
        let reading = ReadOptions { strong: true, attributes: Some(BTreeSet::new()) };
        let after = from.map(|reached| reached.after);
        let page = self.client.scan(&Scan { segment, segments, after, limit: PAGE_ITEMS_MAX, reading }).await?;
        self.bar.inc(page.items.len() as u64);
        let schema = &self.settings.schema;
        let keys = page.items.iter().filter_map(|item| sapwood_core::model::key_of(item, schema));
        let cursors = keys.filter(|key| schema.parse_sort_key(&key.sk) == Some(SortKey::Cascade));
        let others = cursors.map(|key| (key, Kind::CursorStuck)).collect();
        Ok(Page { others, next: page.next.map(|after| Position { after, history: None }), ..Page::default() })
    }
}

pub(super) fn lock(backlog: &Mutex<Backlog>) -> MutexGuard<'_, Backlog> {
    backlog.lock().unwrap_or_else(PoisonError::into_inner)
}
