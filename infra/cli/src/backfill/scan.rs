//! Reads the table, and finds what is to be done.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use indicatif::ProgressBar;
use sapwood_core::audit::{Difference, Kind, Position};
use sapwood_core::keys::{ItemKey, NodeRef, SortKey};
use sapwood_core::model::{Amounts, BaseNode, Counted, Item};
use sapwood_dynamodb::DynamoTable;
use sapwood_import::backlog::{Backlog, PageWork, Part};
use sapwood_store::{ReadOptions, Scan};

use super::Scope;
use crate::audit::Seen;
use crate::compare::{PAGE_ITEMS_MAX, Reading};
use crate::connect::{Patient, Whose};
use crate::recognised::check_items;

/// A table that is read into a working file.
pub(super) struct Scanner<'a> {
    pub(super) reading: Reading<'a, DynamoTable, Patient>,
    pub(super) scope: Scope,
    pub(super) bar: &'a ProgressBar,
    pub(super) seen: Mutex<Seen>,
    pub(super) whose: Whose,
    /// True if no node may be missed, however new it is.
    pub(super) strong: bool,
}

impl Scanner<'_> {
    /// Reads all parts of the table, each from where an earlier process came to.
    pub(super) async fn all(&self, backlog: &Mutex<Backlog>) -> Result<()> {
        let segments = lock(backlog).segments;
        let part = |segment| Ok(lock(backlog).part(segment)?);
        let has_begun = (0..segments).map(|segment| Ok(part(segment)? != Part::At(None)));
        let has_begun = has_begun.collect::<Result<Vec<_>>>()?.contains(&true);
        let page = |segment, from| async move {
            let page = match self.scope {
                Scope::Cursors => self.cursors(segment, segments, from).await?,
                Scope::All | Scope::Wrong | Scope::Names | Scope::Totals => self.nodes(segment, segments, from).await?,
            };
            Ok(lock(backlog).take(segment, &page)?)
        };
        self.reading.parts(segments, part, page).await?;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // A pass that goes on doesn't know what was read before.
        if has_begun { Ok(()) } else { check_items(&seen.classes, self.whose) }
    }

    /// Compares a page with what is derived from it.
    async fn nodes(&self, segment: u32, segments: u32, from: Option<Position>) -> Result<PageWork> {
        let audit = self.reading.audit().with_strong_pages(self.strong);
        let found = audit.page(segment, segments, from.as_ref(), PAGE_ITEMS_MAX).await?;
        self.bar.inc(found.items);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).add(&found);
        if self.scope == Scope::Names {
            let is_of_name = |kind: Kind| matches!(kind, Kind::NameUnclaimed | Kind::NameLeft);
            let claims = found.suspects.iter().filter(|suspect| is_of_name(suspect.kind));
            let others = claims.map(|claim| (claim.key.clone(), claim.kind)).collect();
            return Ok(PageWork { others, next: found.next, ..PageWork::default() });
        }
        let redriven = found.suspects.iter().filter(|suspect| suspect.kind.is_redriven());
        let wrong: BTreeSet<&NodeRef> = redriven.map(|suspect| &suspect.node).collect();
        let nodes = found.contents.iter().filter_map(|(key, item)| self.node(key, item));
        if self.scope == Scope::Totals {
            let lanes = found.contents.keys().filter(|key| self.is_lane(key));
            let others = lanes.map(|key| (key.clone(), Kind::TotalsLeft)).collect();
            let epochs = found.contents.iter().filter_map(|(key, item)| self.epoch(key, item)).collect();
            return Ok(PageWork { nodes: nodes.collect(), others, epochs, next: found.next, ..PageWork::default() });
        }
        let nodes = nodes.filter(|(node, _)| self.scope == Scope::All || wrong.contains(node)).collect();
        let is_moved = |difference: &&Difference| difference.kind == Kind::LineageWrong;
        let moved = found.suspects.iter().filter(is_moved).map(|moved| moved.node.clone()).collect();
        let copies = found.suspects.iter().filter(|suspect| suspect.kind.is_of_copy());
        let others = copies.map(|copy| (copy.key.clone(), copy.kind)).collect();
        Ok(PageWork { nodes, moved, others, next: found.next, ..PageWork::default() })
    }

    /// True for a part of a total, which is of an earlier epoch once this command has begun another.
    fn is_lane(&self, key: &ItemKey) -> bool {
        matches!(self.reading.settings.schema.parse_sort_key(&key.sk), Some(SortKey::Totals { .. }))
    }

    /// The epoch of an item that is of one: a part of a total, or what a node is counted as.
    fn epoch(&self, key: &ItemKey, item: &Item) -> Option<u32> {
        match self.reading.settings.schema.parse_sort_key(&key.sk)? {
            // An item of the owner's may have such a key.
            SortKey::Totals { epoch, .. } => Amounts::is_lane(item, &self.reading.settings.schema).then_some(epoch),
            SortKey::Counted => Some(Counted::read(item).ok()??.epoch.0),
            _ => None,
        }
    }

    /// Returns the node of a base record that can be understood. `sapwood verify` names the others.
    fn node(&self, key: &ItemKey, item: &Item) -> Option<(NodeRef, BaseNode)> {
        let schema = &self.reading.settings.schema;
        let node = schema.parse_partition(&key.pk).ok()?;
        schema.parse_sort_key(&key.sk).filter(|sort_key| *sort_key == SortKey::Node)?;
        let base = BaseNode::read(item.clone(), &node, schema).ok()?;
        Some((node, base))
    }

    async fn cursors(&self, segment: u32, segments: u32, from: Option<Position>) -> Result<PageWork> {
        let reading = ReadOptions { strong: true, attributes: Some(BTreeSet::new()) };
        let after = from.map(|reached| reached.after);
        let page = self.reading.client.scan(&Scan { segment, segments, after, limit: PAGE_ITEMS_MAX, reading }).await?;
        self.bar.inc(page.items.len() as u64);
        let schema = &self.reading.settings.schema;
        let keys = page.items.iter().filter_map(|item| sapwood_core::model::key_of(item, schema));
        let cursors = keys.filter(|key| schema.parse_sort_key(&key.sk) == Some(SortKey::Cascade));
        let others = cursors.map(|key| (key, Kind::CursorStuck)).collect();
        Ok(PageWork { others, next: page.next.map(|after| Position { after, history: None }), ..PageWork::default() })
    }
}

pub(super) fn lock(backlog: &Mutex<Backlog>) -> MutexGuard<'_, Backlog> {
    backlog.lock().unwrap_or_else(PoisonError::into_inner)
}
