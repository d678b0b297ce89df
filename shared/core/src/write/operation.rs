//! Operations: deletions and copies that the stream carries out, and how far they are.

use std::collections::BTreeSet;

use super::record::seconds;
use super::request::Stamp;
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, Schema, SortKey, Tenant};
use crate::model::{
    AttributeValue, COPIED, COPYING, CREATED_AT, CREATED_BY, CopyEnd, CopyMark, CopyOf, DeletionMark, DeletionMode,
    ENDED, Item, LEFT_OUT, RENAMED, Settings, ancestor_in, key_of, names_unplaced, number, text, text_of, times,
    with_key,
};
use crate::plan::{Failure, Io, Need, Plan, Read};
use crate::request::{Query, ReadOptions};

const NODE: &str = "_node";
const MODE: &str = "_mode";
const REVISIONS: &str = "_revisions";
const SOURCE: &str = "_source";

/// The value of `_mode` for a copy; all other values are modes of deletions.
const COPY: &str = "copy";

/// How many rows are looked at, at a time, to see whether something of a deleted subtree is left.
const ROWS_LOOKED_AT: usize = 25;

/// Most such looks. All but the first follow rows of nodes that others have put there since.
const LOOKS_MAX: usize = 40;

/// How many of the tenant's newest operations are looked at to see how many copies go on.
const OPERATIONS_LOOKED_AT: usize = 100;

/// How long the record of an operation is kept.
pub const OPERATION_SECONDS: u64 = 7 * 24 * 60 * 60;

/// An operation that the stream carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The node that is deleted, or the one at the top of the copy.
    pub node: Id,
    /// Its work.
    pub work: Work,
    /// When it was asked for.
    pub created_at: String,
    /// By whom.
    pub created_by: String,
    /// How far it is.
    pub progress: Progress,
}

/// The work of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum Work {
    /// It deletes a node, and its revisions if they are to go, and does this with its children.
    Deletion { mode: DeletionMode, revisions: bool },
    /// It copies a node with all that is below it: so many nodes by now, the one at the top included.
    Copy {
        source: Id,
        copied: usize,
        /// How many of them have another name than what they are copies of, since a sibling had that.
        renamed: usize,
        /// How many copies the table has refused, because they are too large. What is below them isn't counted.
        left_out: usize,
    },
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is still something to do.
    Running,
    /// Everything is done. What is copied is placed.
    Done,
    /// The copy has ended, and what is copied is placed, but there is more to copy than was copied.
    Incomplete(Incomplete),
}

/// Why a copy isn't whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// The node that is copied was deleted.
    SourceGone,
    /// It has more nodes than one copy may have.
    LimitReached,
    /// The table has refused copies, because they are too large.
    CopiesRefused,
    /// The node at the top of the copy was deleted, or another client has put a record in its place.
    CopyGone,
}

/// The item of a deletion. docs/reference/items.md has an example.
pub(super) fn operation_item(
    key: &ItemKey,
    node: &Id,
    mark: &DeletionMark,
    stamp: &Stamp,
    settings: &Settings,
) -> Item {
    let mut item = stamped(key, node, mark.mode.as_str(), stamp, settings);
    item.insert(REVISIONS.to_owned(), AttributeValue::Bool(mark.revisions));
    item
}

/// The item of a copy, with an attribute for each copy that isn't placed yet. docs/reference/items.md has an example.
pub(super) fn copy_item(
    key: &ItemKey,
    operation: &str,
    top: &Id,
    source: &Id,
    stamp: &Stamp,
    settings: &Settings,
) -> Item {
    let mut item = stamped(key, top, COPY, stamp, settings);
    item.insert(SOURCE.to_owned(), text(source.as_str()));
    item.insert(COPIED.to_owned(), number(1));
    let of = CopyOf { operation: operation.to_owned(), node: source.clone() };
    item.insert(of.unplaced(), AttributeValue::Bool(true));
    item
}

fn stamped(key: &ItemKey, node: &Id, mode: &str, stamp: &Stamp, settings: &Settings) -> Item {
    let mut item = with_key(key, &settings.schema);
    item.insert(NODE.to_owned(), text(node.as_str()));
    item.insert(MODE.to_owned(), text(mode));
    item.insert(CREATED_AT.to_owned(), text(&stamp.at));
    item.insert(CREATED_BY.to_owned(), text(&stamp.by));
    item.insert(settings.expires().to_owned(), seconds(stamp.seconds + OPERATION_SECONDS));
    item
}

fn parse(item: &Item) -> Option<Operation> {
    let work = match text_of(item, MODE)? {
        COPY => Work::Copy {
            source: Id::new(text_of(item, SOURCE)?).ok()?,
            copied: times(item, COPIED),
            renamed: times(item, RENAMED),
            left_out: times(item, LEFT_OUT),
        },
        mode => Work::Deletion {
            mode: DeletionMode::parse(mode)?,
            revisions: item.get(REVISIONS) == Some(&AttributeValue::Bool(true)),
        },
    };
    Some(Operation {
        node: Id::new(text_of(item, NODE)?).ok()?,
        work,
        created_at: text_of(item, CREATED_AT)?.to_owned(),
        created_by: text_of(item, CREATED_BY)?.to_owned(),
        progress: Progress::Done,
    })
}

/// Reads an operation, and how far it is. A deletion runs while its node is being deleted, and while the node has rows
/// of nodes that the operation deletes or has deleted; a copy until its record says how it has ended and names no copy
/// that isn't placed, or until the node at its top is gone. `None` where there is none of this id, or it was forgotten.
///
/// The deepest 1,000 rows are looked at. If others have put so many nodes there, what is above them isn't
/// seen.
pub fn read_operation<'a>(
    settings: &'a Settings,
    tenant: Option<&'a Tenant>,
    id: &'a str,
) -> Plan<'a, Option<Operation>> {
    Plan::new(move |io| async move {
        let key = settings.schema.operation_key(tenant, id);
        let read = io.read(Need::keys([key.clone()])).await?;
        let Some(operation) = read.item(&key)?.and_then(parse) else { return Ok(None) };
        let node = NodeRef { tenant: tenant.cloned(), id: operation.node.clone() };
        if let (Work::Copy { .. }, Some(record)) = (&operation.work, read.item(&key)?) {
            if let Some(progress) = ended(record) {
                return Ok(Some(Operation { progress, ..operation }));
            }
            let top = settings.schema.node_key(&node);
            if copies(io.read(Need::keys([top.clone()])).await?.item(&top)?, id) {
                return Ok(Some(Operation { progress: Progress::Running, ..operation }));
            }
            // Only now is it final: the mark goes after the record says how the copy has ended.
            let read = io.read(Need::keys([key.clone()])).await?;
            let Some((record, operation)) = read.item(&key)?.and_then(|item| Some((item, parse(item)?))) else {
                return Ok(None);
            };
            let progress = ended(record).unwrap_or(Progress::Incomplete(Incomplete::CopyGone));
            return Ok(Some(Operation { progress, ..operation }));
        }
        let is_running = is_running(&io, &settings.schema, id, &operation, &node).await?;
        let progress = if is_running { Progress::Running } else { Progress::Done };
        Ok(Some(Operation { progress, ..operation }))
    })
}

/// How a copy has ended, by its operation's record; `None` while that doesn't say it.
fn ended(record: &Item) -> Option<Progress> {
    let end = match CopyEnd::read(record)? {
        _ if names_unplaced(record) => return Some(Progress::Running),
        CopyEnd::SourceGone => Incomplete::SourceGone,
        CopyEnd::LimitReached => Incomplete::LimitReached,
        CopyEnd::Walked if times(record, LEFT_OUT) > 0 => Incomplete::CopiesRefused,
        CopyEnd::Walked => return Some(Progress::Done),
    };
    Some(Progress::Incomplete(end))
}

/// True if this record is that of the top of this operation's copy, which goes on.
fn copies(top: Option<&Item>, operation: &str) -> bool {
    top.and_then(CopyMark::read).is_some_and(|mark| mark.operation == operation)
}

/// True if so many other copies of the tenant go on. Copies that begin at once don't see each other.
pub(super) async fn are_copies_at_their_limit(
    io: &Io,
    schema: &Schema,
    tenant: Option<&Tenant>,
    own: &str,
    most: usize,
) -> Result<bool, Failure> {
    let mut query =
        Query::first(schema.operations_partition(tenant), schema.operation_range(), OPERATIONS_LOOKED_AT).descending();
    query.reading = ReadOptions { strong: false, ..ReadOptions::of([NODE, MODE, ENDED]) };
    let of_row = |row: &Item| match schema.parse_sort_key(&key_of(row, schema)?.sk)? {
        SortKey::Operation(id) if id != own && text_of(row, MODE) == Some(COPY) && !row.contains_key(ENDED) => {
            Some((id, NodeRef { tenant: tenant.cloned(), id: Id::new(text_of(row, NODE)?).ok()? }))
        }
        _ => None,
    };
    let tops: Vec<(String, NodeRef)> = io.page(query).await?.items.iter().filter_map(of_row).collect();
    if tops.len() < most {
        return Ok(false);
    }
    // The record of a copy whose top was deleted doesn't say that it has ended.
    let keys = tops.iter().map(|(_, node)| schema.node_key(node));
    let read = io.read(Need { options: ReadOptions::of([COPYING]), ..Need::keys(keys) }).await?;
    let mut running = 0;
    for (id, node) in &tops {
        running += usize::from(copies(read.item(&schema.node_key(node))?, id));
    }
    Ok(running >= most)
}

async fn is_running(
    io: &Io,
    schema: &Schema,
    id: &str,
    operation: &Operation,
    node: &NodeRef,
) -> Result<bool, Failure> {
    // `None` where the node isn't there.
    let is_deleting = |node: &NodeRef, read: &Read| {
        let item = read.item(&schema.node_key(node))?;
        Ok::<_, Failure>(item.map(|item| DeletionMark::read(item).is_some_and(|mark| mark.operation == id)))
    };
    let read = io.read(Need::keys([schema.node_key(node)])).await?;
    let Work::Deletion { mode, .. } = operation.work else { return Ok(false) };
    if is_deleting(node, &read)? == Some(true) {
        return Ok(true);
    }
    if mode != DeletionMode::Delete {
        return Ok(false);
    }
    // A deletion goes down, so the deepest are left.
    let rows = Query::first(schema.partition(node), schema.depth_range(1, DEPTH_MAX), ROWS_LOOKED_AT).descending();
    let mut query = rows.of([]);
    let of_row = |row: &Item| ancestor_in(row, schema).map(|(_, id)| node.sibling(id));
    for _ in 0..LOOKS_MAX {
        let page = io.page(query.clone()).await?;
        // A node has two rows while it is moved.
        let nodes: BTreeSet<NodeRef> = page.items.iter().filter_map(of_row).collect();
        if !nodes.is_empty() {
            let read = io.read(Need::keys(nodes.iter().map(|node| schema.node_key(node)))).await?;
            for node in &nodes {
                // Rows of a node that isn't there any more are still to be deleted.
                if is_deleting(node, &read)?.unwrap_or(true) {
                    return Ok(true);
                }
            }
        }
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    Ok(false)
}
