//! Has one item handled again whose stream record was lost.
//!
//! A record that the event source gave up is never replayed: it is old and alone, and the handler relies on records of
//! one item coming in order. What it asked for follows from the table as it is now.

use super::mend::Mend;
use super::{Difference, Kind, Mended};
use crate::fanout::Context;
use crate::keys::{ItemKey, NodeRef, SortKey};
use crate::model::{Counted, Cursor, CursorError, Item, Latest, PUT_BACK, Stored, has_mark};
use crate::plan::{Failure, Io, Need, Plan, Rule, Task};
use crate::request::{Action, Condition};
use crate::words::words;

words! {
    /// The outcome for an item whose record was lost.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Redriven {
        /// The handler was told to look at the item again.
        Redriven = "redriven",
        /// The same, and a cursor has the node's deletion begin again.
        DeletionSetOff = "deletion-set-off",
        /// A cursor has all children of the node touched, or its deletion begin again.
        Cascaded = "cascaded",
        /// The record is gone. It was put back and deleted again, so that the handler removes what is left of the node.
        DeletedAgain = "deleted-again",
        /// The copy of the topic is that of the newest revision now.
        Copied = "copied",
        /// There was nothing left to do.
        Gone = "gone",
        /// The item isn't Sapwood's, or no record of it reaches the handler.
        NotOurs = "not-ours",
        /// A newer version of the handler has written the item.
        Newer = "newer-format",
    }
}

/// How often a redrive looks again because another client has put the record back meanwhile.
const LOOKS_MAX: usize = 20;

/// The plan for the item with this key. `name` has at most 19 digits, and no other repair of this table has had it. A
/// dry one ends before its first write, and says what it would do.
///
/// | a record of | if the item exists | if it doesn't |
/// |---|---|---|
/// | a node | `_redriven`; if the node has a mark, a cursor as well | if a lineage is left, or the node is still counted: put back and deleted again |
/// | a revision | the topic's copy is made anew | the same |
/// | a lineage | a cursor, in the place of any that is half way | the same |
/// | a cursor | `_redriven` | nothing |
pub fn redrive(context: Context<'_>, key: ItemKey, name: String, is_dry: bool) -> Plan<'_, Redriven> {
    Plan::new(|io| async move { Redrive { context, key: &key, name: &name, is_dry, io: &io }.carry_out().await })
}

/// True if a node is still counted below others by this item.
fn is_counted(item: Option<&Item>) -> bool {
    let counted = item.and_then(|item| Counted::read(item).ok().flatten());
    counted.is_some_and(|counted| counted.share.is_some())
}

struct Redrive<'r> {
    context: Context<'r>,
    key: &'r ItemKey,
    name: &'r str,
    is_dry: bool,
    io: &'r Io,
}

impl Redrive<'_> {
    async fn carry_out(&self) -> Result<Redriven, Failure> {
        let schema = self.context.schema();
        let (Some(sort_key), Ok(node)) = (schema.parse_sort_key(&self.key.sk), schema.parse_partition(&self.key.pk))
        else {
            return Ok(Redriven::NotOurs);
        };
        match sort_key {
            SortKey::Node | SortKey::Lineage | SortKey::Cascade => {
                for _ in 0..LOOKS_MAX {
                    if let Some(redriven) = self.redrive(&node, &sort_key).await? {
                        return Ok(redriven);
                    }
                }
                Err(Failure::Again)
            }
            SortKey::Revision { topic, .. } => {
                let Ok(key) = (Latest { node: node.clone(), topic }).key(self.context.settings) else {
                    return Ok(Redriven::NotOurs);
                };
                Ok(self.mend(Kind::CopyWrong, key, &node).await?.map_or(Redriven::Gone, |()| Redriven::Copied))
            }
            _ => Ok(Redriven::NotOurs),
        }
    }

    /// Reads a node, its lineage and its cursor, and redrives one of them. `None`: it has to be looked at again.
    async fn redrive(&self, node: &NodeRef, sort_key: &SortKey) -> Result<Option<Redriven>, Failure> {
        let schema = self.context.schema();
        let [node_key, lineage_key, cursor_key] =
            [schema.node_key(node), schema.lineage_key(node), schema.cascade_key(node)];
        let counted_key = self.context.settings.totals.as_ref().map(|_| schema.counted_key(node));
        let keys = [node_key.clone(), lineage_key.clone(), cursor_key.clone()];
        let read = self.io.read(Need::keys(keys.into_iter().chain(counted_key.clone()))).await?;
        let base = read.item(&node_key)?;
        let lineage = Stored::read(read.item(&lineage_key)?, schema);
        let cursor = read.item(&cursor_key)?;
        let is_newer = |item: &Item| matches!(Cursor::read(item), Err(CursorError::Newer(_)));
        if lineage.check_format().is_err() || cursor.is_some_and(is_newer) {
            return Ok(Some(Redriven::Newer));
        }
        let (kind, key, means) = match (sort_key, base) {
            (SortKey::Lineage, _) => return self.start_cursor(node, Redriven::Cascaded).await.map(Some),
            (SortKey::Cascade, _) if cursor.is_none() => return Ok(Some(Redriven::Gone)),
            (SortKey::Cascade, _) => (Kind::CursorStuck, cursor_key, Redriven::Redriven),
            (_, Some(base)) if base.contains_key(PUT_BACK) => (Kind::RecordPutBack, node_key, Redriven::DeletedAgain),
            (_, Some(base)) if has_mark(Some(base)) => (Kind::LineageWrong, node_key, Redriven::DeletionSetOff),
            (_, Some(_)) => (Kind::LineageWrong, node_key, Redriven::Redriven),
            // The handler had deleted the lineage, and hadn't come to the totals.
            (_, None) if matches!(lineage, Stored::Absent | Stored::Foreign | Stored::Tombstone(_)) => {
                match counted_key {
                    Some(key) if is_counted(read.item(&key)?) => (Kind::CountSurplus, key, Redriven::DeletedAgain),
                    _ => return Ok(Some(Redriven::Gone)),
                }
            }
            (_, None) => (Kind::LineageSurplus, lineage_key, Redriven::DeletedAgain),
        };
        let is_mended = self.mend(kind, key, node).await?.is_some();
        match kind {
            _ if is_mended && means == Redriven::DeletionSetOff => {
                // A lineage that has the mark already stays as it is and makes no record, and nothing else would go on.
                self.start_cursor(node, means).await.map(Some)
            }
            // The record is back. With its lineage's mark, its own record says nothing of the lost deletion.
            Kind::LineageSurplus | Kind::CountSurplus
                if !is_mended && self.context.rules.keeps(Rule::RedriveReturned) =>
            {
                Ok(None)
            }
            // Whoever deleted the node meanwhile has made a record of their own.
            _ => Ok(Some(if is_mended { means } else { Redriven::Gone })),
        }
    }

    /// Mends what would be wrong if the record asked for anything. Returns `None` if nothing was left to mend.
    async fn mend(&self, kind: Kind, key: ItemKey, node: &NodeRef) -> Result<Option<()>, Failure> {
        if self.is_dry {
            return Ok(Some(()));
        }
        // The caller knows that the record was lost, so this difference needs no confirmation.
        let difference = &Difference::unseen(kind, key, node.clone());
        let mended = Mend { context: self.context, difference, name: self.name, io: self.io }.carry_out().await?;
        Ok((!matches!(mended, Mended::Gone | Mended::Left)).then_some(()))
    }

    /// Puts a cursor that starts from the beginning, in the place of one half way, which may be of an older change.
    async fn start_cursor(&self, node: &NodeRef, means: Redriven) -> Result<Redriven, Failure> {
        if self.is_dry {
            return Ok(means);
        }
        let schema = self.context.schema();
        let (key, item) = (schema.cascade_key(node), Cursor::anew(self.name).item(node, schema));
        let anew = self.context.rules.keeps(Rule::RedriveAnew);
        let condition = if anew { Condition::Always } else { Condition::Absent };
        self.io.one(Task::Write(Action::Put { key, item, condition })).await?;
        Ok(means)
    }
}
