//! Removing a node, step by step: its children are released, its revisions deleted where that was asked for, and last the
//! node itself. Its own record then has its rows deleted.

use std::collections::BTreeSet;

use super::Fanout;
use super::release::{Releasing, as_read};
use super::store::{Failure, Store};
use sapwood_core::keys::{Id, NodeRef, Schema, SortKey};
use sapwood_core::model::{DELETING, Deletion, DeletionMark, Item, Position, Stored, key_of};
use sapwood_core::plan::Rule;
use sapwood_table::{Condition, Page, Query, ReadOptions, RetryPolicy, Table};

/// Removing one node, a slice at a time.
pub(super) struct Removal<'a, 's, T, P> {
    pub(super) store: &'a Store<'s, T, P>,
    pub(super) fanout: &'a Fanout,
}

/// What a slice came to.
pub(super) enum Slice {
    /// Nothing more is to be done.
    Done,
    /// The node isn't being deleted, or isn't there: these children are still to be touched, and those after this row.
    Touch { children: BTreeSet<Id>, next: Option<String> },
    /// There is more to do.
    On { position: Position, after: String },
    /// Nothing more is to be done but to [`Removal::finish`], with this base record as it was read.
    Finish(Item),
}

impl<T: Table, P: RetryPolicy> Removal<'_, '_, T, P> {
    fn schema(&self) -> &Schema {
        &self.fanout.settings.schema
    }

    fn releasing(&self) -> Releasing<'_, '_, T, P> {
        Releasing { store: self.store, fanout: self.fanout }
    }

    /// Does one slice, whatever the record said: by what the node's base record and its lineage say now. `from` is where a
    /// cursor stands; without one this is the first slice.
    pub(super) async fn slice(
        &self,
        node: &NodeRef,
        from: Option<&Position>,
        mut after: Option<String>,
        touches: bool,
    ) -> Result<Slice, Failure> {
        // What was done by another mark counts for nothing: children may have come in since.
        let goes_on = |mark: &str| match from {
            Some(Position::Children(own) | Position::Revisions(own)) => {
                own == mark || !self.fanout.rules.keeps(Rule::CursorMark)
            }
            Some(Position::Remaining | Position::Touching) => false,
            None => true,
        };
        let releases = !matches!(from, Some(Position::Revisions(_)));
        let touches = touches && releases;
        let present = self.present(node).await?.filter(|(_, deletion)| goes_on(deletion.mark.name()));
        let Some((item, deletion)) = present else {
            return self.left(node, after, touches).await;
        };
        let mark = || deletion.mark.name().to_owned();
        if releases {
            let page = self.store.query(&self.children(node, after.clone())).await?;
            if !self.releasing().release(node, &deletion, self.ids(&page)).await? {
                return self.left(node, after, touches).await;
            }
            if let Some(after) = page.next {
                if !self.fanout.rules.keeps(Rule::FinishLast) {
                    self.finish(node, &item).await?;
                }
                return Ok(Slice::On { position: Position::Children(mark()), after });
            }
            after = None;
        }
        if deletion.mark.revisions
            && let Some(after) = self.delete_revisions(node, &deletion.mark, after).await?
        {
            return Ok(Slice::On { position: Position::Revisions(mark()), after });
        }
        Ok(Slice::Finish(item))
    }

    /// The children that are still there of a node that isn't being deleted, or isn't there.
    async fn left(&self, node: &NodeRef, after: Option<String>, touches: bool) -> Result<Slice, Failure> {
        if !touches {
            return Ok(Slice::Done);
        }
        let page = self.store.query(&self.children(node, after)).await?;
        let held = self.releasing().held(node, &self.ids(&page)).await?;
        Ok(Slice::Touch { children: held.into_iter().map(|child| child.node.id).collect(), next: page.next })
    }

    /// The node's base record and what it says of the removal, where its lineage says the same. Only then does it leave a
    /// tombstone, for the children that come in too late to be found by their rows.
    async fn present(&self, node: &NodeRef) -> Result<Option<(Item, Deletion)>, Failure> {
        let (key, lineage) = (self.schema().node_key(node), self.schema().lineage_key(node));
        let read = self.store.get_many(BTreeSet::from([key.clone(), lineage.clone()]), self.schema()).await;
        let item = read.item(&key)?.cloned().unwrap_or_default();
        let by_base = self.fanout.rules.keeps(Rule::DeletionPresent);
        let said = match Stored::read(read.item(&lineage)?, self.schema()) {
            Stored::Lineage(lineage) => lineage.deleting,
            Stored::Tombstone(deletion) if !by_base => Some(deletion),
            _ => None,
        };
        // Its parent doesn't count: another client may change it there and back, and nothing would say so.
        let is_so = |said: &Deletion| DeletionMark::read(&item).as_ref() == Some(&said.mark) || !by_base;
        Ok(said.filter(is_so).map(|said| (item, said)))
    }

    fn children(&self, node: &NodeRef, after: Option<String>) -> Query {
        Query {
            pk: self.schema().partition(node),
            range: self.schema().depth_range(1, 1),
            after,
            limit: self.fanout.limits.touch_slice_items_max,
            descending: false,
            reading: ReadOptions::default(),
        }
    }

    fn ids(&self, page: &Page) -> BTreeSet<Id> {
        let sort_key = |row: &Item| self.schema().parse_sort_key(&key_of(row, self.schema())?.sk);
        let id = |row: &Item| match sort_key(row) {
            Some(SortKey::Ancestor { id, .. }) => Some(id),
            _ => None,
        };
        page.items.iter().filter_map(id).collect()
    }

    /// Deletes a slice of the node's revisions, each if it is as it was read before the node was looked at once more.
    /// Returns where to go on.
    async fn delete_revisions(
        &self,
        node: &NodeRef,
        deleting: &DeletionMark,
        after: Option<String>,
    ) -> Result<Option<String>, Failure> {
        let range = self.schema().revision_range();
        let page = self.store.query(&Query { range, ..self.children(node, after) }).await?;
        let is_revision = |sk: &str| matches!(self.schema().parse_sort_key(sk), Some(SortKey::Revision { .. }));
        let revisions: Vec<_> = page
            .items
            .iter()
            .filter_map(|item| Some((key_of(item, self.schema())?, item)))
            .filter(|(key, _)| is_revision(&key.sk))
            .collect();
        if revisions.is_empty() {
            return Ok(page.next);
        }
        let conditional = self.fanout.rules.keeps(Rule::RevisionCondition);
        if conditional && !self.releasing().deleting(node).await?.is_some_and(|(_, now)| now.mark == *deleting) {
            return Ok(None);
        }
        let deletes = revisions.into_iter().map(|(key, item)| async move {
            let condition = if conditional { as_read(item, self.schema()) } else { Condition::Always };
            self.store.delete(&key, &condition).await
        });
        match self.store.all(deletes.collect()).await.into_iter().find(|result| *result == Err(Failure::Again)) {
            Some(_) => Err(Failure::Again),
            None => Ok(page.next),
        }
    }

    /// Deletes the node, if it still has this mark.
    pub(super) async fn finish(&self, node: &NodeRef, item: &Item) -> Result<(), Failure> {
        let mine = if self.fanout.rules.keeps(Rule::FinishCondition) {
            Condition::is(DELETING, item.get(DELETING).cloned())
        } else {
            Condition::Always
        };
        match self.store.delete(&self.schema().node_key(node), &mine).await {
            Ok(held) => {
                self.store.count(|counts| counts.removed += u64::from(held));
                Ok(())
            }
            Err(Failure::Refused) => Ok(()),
            Err(Failure::Again) => Err(Failure::Again),
        }
    }
}
