//! Handing a changed lineage down, level by level: each child is touched, so that its own record places it again.

use std::collections::{BTreeMap, BTreeSet};

use super::Fanout;
use super::removal::{Removal, Slice};
use super::store::{Failure, Store};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{
    Cursor, Item, Position, TOUCHED, key_of, orphan_row_child, orphan_row_parent, text, touch_value,
};
use sapwood_core::plan::{Cascade, Rule};
use sapwood_table::{Condition, Page, Query, ReadOptions, RetryPolicy, Table};

/// Hands these lineages down and carries these cursors on. Returns the items whose records have to be delivered again.
pub(super) async fn run<T: Table, P: RetryPolicy>(
    store: &Store<'_, T, P>,
    fanout: &Fanout,
    cascades: BTreeMap<NodeRef, Cascade>,
    cursors: BTreeSet<NodeRef>,
) -> Vec<ItemKey> {
    let down = Down { store, fanout };
    let (failed, cut) = futures::join!(down.hand_down(cascades), down.carry_on(cursors));
    failed.into_iter().chain(cut).collect()
}

struct Down<'a, 's, T, P> {
    store: &'a Store<'s, T, P>,
    fanout: &'a Fanout,
}

impl<T: Table, P: RetryPolicy> Down<'_, '_, T, P> {
    fn schema(&self) -> &Schema {
        &self.fanout.settings.schema
    }

    async fn hand_down(&self, cascades: BTreeMap<NodeRef, Cascade>) -> Vec<ItemKey> {
        let (inserted, mut changed): (BTreeMap<_, _>, BTreeMap<_, _>) =
            cascades.into_iter().partition(|(_, cascade)| cascade.only_inserted);
        let mut by_partition: BTreeMap<String, BTreeMap<NodeRef, Cascade>> = BTreeMap::new();
        for (node, cascade) in inserted {
            by_partition.entry(self.schema().orphans_partition(&node)).or_default().insert(node, cascade);
        }
        let lookups = by_partition.into_iter().map(|(pk, nodes)| self.touch_orphans(pk, nodes)).collect();
        let mut failed = Vec::new();
        for looked_up in self.store.all(lookups).await {
            failed.extend(looked_up.failed);
            changed.extend(looked_up.unknown);
        }
        let touches = changed.iter().map(|(node, cascade)| self.touch_children(node, cascade)).collect();
        let lineages = changed.keys().map(|node| self.schema().lineage_key(node));
        let results = self.store.all_in_order(touches).await;
        failed.extend(lineages.zip(results).filter(|(_, result)| result.is_err()).map(|(key, _)| key));
        failed
    }

    /// Touches the orphans that wait for nodes which have just got their lineage. Where one partition of the register
    /// has more than a page of entries, its nodes' own collections are looked at instead.
    async fn touch_orphans(&self, pk: String, nodes: BTreeMap<NodeRef, Cascade>) -> LookedUp {
        let query = Query {
            pk,
            range: self.schema().orphan_range(),
            after: None,
            limit: self.fanout.limits.orphan_page_items_max,
            descending: false,
            reading: ReadOptions::default(),
        };
        let page = match self.store.query(&query).await {
            Ok(page) if page.next.is_none() => page,
            Ok(_) => return LookedUp { failed: Vec::new(), unknown: nodes },
            Err(_) => {
                return LookedUp {
                    failed: nodes.keys().map(|node| self.schema().lineage_key(node)).collect(),
                    unknown: BTreeMap::new(),
                };
            }
        };
        let mut touches = Vec::new();
        for (node, cascade) in &nodes {
            let waiting = page.items.iter().filter(|row| orphan_row_parent(row) == Some(node.id.as_str()));
            touches.extend(waiting.filter_map(orphan_row_child).map(|child| self.touch(node, child, cascade)));
        }
        let failed = self.store.all(touches).await.into_iter().filter_map(Result::err);
        LookedUp { failed: failed.map(|node| self.schema().lineage_key(&node)).collect(), unknown: BTreeMap::new() }
    }

    /// Touches a node's children, if they fit a slice; else starts a cursor, whose own record goes on.
    async fn touch_children(&self, node: &NodeRef, cascade: &Cascade) -> Result<(), Failure> {
        if cascade.removal {
            // Boxed, or the handler's future would be deeper than the compiler goes.
            return Box::pin(self.remove(node, cascade)).await;
        }
        let page = self.store.query(&self.children(node, None)).await?;
        if page.next.is_none() {
            return self.touch_page(node, &page, cascade).await;
        }
        let cursor = Cursor { sequence: cascade.sequence.clone(), after: None, position: Position::Touching };
        self.start(node, &cursor).await
    }

    /// Starts a cursor. Where one of this change or a newer one stands already, that one reaches every child.
    async fn start(&self, node: &NodeRef, cursor: &Cursor) -> Result<(), Failure> {
        let older = Condition::LessThan { name: Cursor::SEQUENCE.into(), value: text(&cursor.sequence) };
        let key = self.schema().cascade_key(node);
        self.store.put(&key, &cursor.item(node, self.schema()), &older).await.or_else(unless_refused)?;
        Ok(())
    }

    /// Goes on with a node that was being deleted before this change or after it; what doesn't fit a slice is for a cursor.
    async fn remove(&self, node: &NodeRef, cascade: &Cascade) -> Result<(), Failure> {
        match self.remove_slice(node, None, None, cascade).await? {
            Ended::Nothing => Ok(()),
            Ended::On(cursor) => self.start(node, &cursor).await,
            Ended::Finish(item) => self.removal().finish(node, &item).await,
        }
    }

    fn removal(&self) -> Removal<'_, '_, T, P> {
        Removal { store: self.store, fanout: self.fanout }
    }

    /// A slice of that.
    async fn remove_slice(
        &self,
        node: &NodeRef,
        from: Option<&Position>,
        after: Option<String>,
        cascade: &Cascade,
    ) -> Result<Ended, Failure> {
        let on = match self.removal().slice(node, from, after, cascade.touches).await? {
            Slice::Done => None,
            Slice::Touch { children, next } => {
                self.touch_all(node, children, cascade).await?;
                next.map(|after| (Position::Remaining, after))
            }
            Slice::On { position, after } => Some((position, after)),
            Slice::Finish(item) => return Ok(Ended::Finish(item)),
        };
        let cursor = |(position, after)| Cursor { sequence: cascade.sequence.clone(), after: Some(after), position };
        Ok(on.map_or(Ended::Nothing, |on| Ended::On(cursor(on))))
    }

    async fn carry_on(&self, cursors: BTreeSet<NodeRef>) -> Vec<ItemKey> {
        let keys: Vec<ItemKey> = cursors.iter().map(|node| self.schema().cascade_key(node)).collect();
        let slices = cursors.iter().map(|node| self.touch_slice(node)).collect();
        let results = self.store.all_in_order(slices).await;
        keys.into_iter().zip(results).filter(|(_, result)| result.is_err()).map(|(key, _)| key).collect()
    }

    /// Touches the next slice of a wide node's children and moves its cursor on.
    async fn touch_slice(&self, node: &NodeRef) -> Result<(), Failure> {
        let schema = self.schema();
        let key = schema.cascade_key(node);
        let read = self.store.get_many(BTreeSet::from([key.clone()]), schema).await;
        let Some(item) = read.item(&key)? else { return Ok(()) };
        let cursor = match Cursor::read(item) {
            Ok(cursor) => cursor,
            Err(error) => {
                self.store.note(&key, &error.to_string());
                return Ok(());
            }
        };
        let sequence = cursor.sequence.clone();
        let cascade = Cascade { sequence, only_inserted: false, touches: true, removal: false };
        let on = if cursor.position == Position::Touching {
            let page = self.store.query(&self.children(node, cursor.after.clone())).await?;
            self.touch_page(node, &page, &cascade).await?;
            page.next.map_or(Ended::Nothing, |next| Ended::On(Cursor { after: Some(next), ..cursor.clone() }))
        } else {
            Box::pin(self.remove_slice(node, Some(&cursor.position), cursor.after.clone(), &cascade)).await?
        };
        let mine = if self.fanout.rules.keeps(Rule::CursorCondition) {
            Condition::Is { name: Cursor::SEQUENCE.into(), value: Some(text(&cursor.sequence)) }
        } else {
            Condition::Always
        };
        // Where the condition fails a newer change has taken the cursor over.
        match on {
            Ended::On(on) => {
                self.store.put(&key, &on.item(node, schema), &mine).await.or_else(unless_refused)?;
            }
            Ended::Finish(item) if self.fanout.rules.keeps(Rule::FinishFirst) => {
                self.removal().finish(node, &item).await?;
                self.store.delete(&key, &mine).await.or_else(unless_refused)?;
            }
            Ended::Finish(item) => {
                self.store.delete(&key, &mine).await.or_else(unless_refused)?;
                self.removal().finish(node, &item).await?;
            }
            Ended::Nothing => {
                self.store.delete(&key, &mine).await.or_else(unless_refused)?;
            }
        }
        Ok(())
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

    async fn touch_page(&self, node: &NodeRef, page: &Page, cascade: &Cascade) -> Result<(), Failure> {
        let children =
            page.items.iter().filter_map(|row| match self.schema().parse_sort_key(&key_of(row, self.schema())?.sk) {
                Some(SortKey::Ancestor { id, .. }) => Some(id),
                _ => None,
            });
        self.touch_all(node, children.collect(), cascade).await
    }

    async fn touch_all(&self, node: &NodeRef, children: BTreeSet<Id>, cascade: &Cascade) -> Result<(), Failure> {
        let touches = children.into_iter().map(|child| self.touch(node, child, cascade)).collect();
        match self.store.all(touches).await.into_iter().find_map(Result::err) {
            Some(_) => Err(Failure::Again),
            None => Ok(()),
        }
    }

    /// Has a child placed again, unless it isn't there. On failure, whose child it was.
    async fn touch(&self, node: &NodeRef, child: Id, cascade: &Cascade) -> Result<(), NodeRef> {
        let key = self.schema().node_key(&node.sibling(child));
        let value = touch_value(&cascade.sequence, node);
        let touched = self.store.set(&key, TOUCHED, &value, &Condition::Exists).await;
        let touched = touched.or_else(unless_refused).map_err(|_| node.clone())?;
        self.store.count(|counts| counts.touches += u64::from(touched));
        Ok(())
    }
}

/// What a slice leaves to be done.
enum Ended {
    Nothing,
    On(Cursor),
    /// A node being deleted, whose base record was this, is to be deleted.
    Finish(Item),
}

/// What a look into the register of orphans came to.
struct LookedUp {
    failed: Vec<ItemKey>,
    /// Nodes whose orphans couldn't be told from it.
    unknown: BTreeMap<NodeRef, Cascade>,
}

/// What the table refuses for good is noted, and no reason to try again.
fn unless_refused(failure: Failure) -> Result<bool, Failure> {
    match failure {
        Failure::Refused => Ok(false),
        Failure::Again => Err(failure),
    }
}
