//! Nodes put into the trash. What is below goes along and isn't written: it is in the trash because the node is.
//!
//! Taking a node back out is a move, so [`save`](super::save) does it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::attempts::{Attempts, Stop, Trace};
use super::names::Naming;
use super::record::{Draft, stamped};
use super::request::Stamp;
use super::{Outcome, Refusal};
use crate::keys::{Id, NodeRef, Schema, TrashTime};
use crate::model::{BaseNode, Item, PUT_BACK, Stored, TRASHED, Trashed, UNDER, has_mark, life_of};
use crate::plan::conditions::unchanged;
use crate::plan::{Failure, Io, Need};

/// Puts a node into the trash: 3 round trips (a root 2) and 1 write unit per KB; 2 and 2 more with unique names.
pub(super) async fn put_into_trash(io: &Io, attempts: &mut Attempts<'_>, node: &NodeRef) -> Result<Outcome, Stop> {
    let schema = &attempts.context.settings.schema;
    loop {
        let read = io.read(Need::keys(std::iter::once(schema.node_key(node)).chain(attempts.key_claim_key()))).await?;
        let before = read.shared(&schema.node_key(node))?;
        if let Some(outcome) = attempts.settle(before, Trace::None, &read)? {
            return Ok(outcome);
        }
        let before = before.filter(|item| !item.contains_key(PUT_BACK)).ok_or(Refusal::NotFound)?;
        attempts.request.preconditions.check_item(Some(before), schema)?;
        if has_mark(Some(before)) {
            return Err(Refusal::being_deleted(&node.id, before).into());
        }
        let base = BaseNode::read(Arc::clone(before), node, schema).map_err(Refusal::Unreadable)?;
        let outcome = |item: Item| Outcome::Node { node: node.clone(), item, created: false, revision: None };
        let (actions, outcome) = if base.trashed.is_some() {
            (Vec::new(), outcome(Item::clone(before)))
        } else {
            let parent = match &base.parent {
                None => None,
                Some(parent) => Some((parent, life_of_parent(io, &node.sibling(parent.clone()), schema).await?)),
            };
            let Draft { item, action } = trashed(node, parent, before, attempts)?;
            // A node in the trash has no name.
            let naming = Naming::of(node, Some(before), Some(&item), attempts.context);
            (std::iter::once(action).chain(naming.release(node, attempts)).collect(), outcome(item))
        };
        let attempt = attempts.attempt(actions, outcome, Some(Arc::clone(before)));
        if let Some(outcome) = attempts.send(io, attempt).await? {
            return Ok(outcome);
        }
    }
}

/// The life of a parent, by its record or by its lineage: the node goes back below this one and no other.
async fn life_of_parent(io: &Io, parent: &NodeRef, schema: &Schema) -> Result<Option<String>, Failure> {
    let (record, lineage) = (schema.node_key(parent), schema.lineage_key(parent));
    let read = io.read(Need::keys([record.clone(), lineage.clone()])).await?;
    let stored = Stored::read(read.item(&lineage)?, schema);
    Ok(read.item(&record)?.and_then(|item| life_of(item).or(stored.born_now())).map(str::to_owned))
}

/// The record of a node that is put into the trash: its parent goes, and what it needs to come back is kept.
fn trashed(
    node: &NodeRef,
    parent: Option<(&Id, Option<String>)>,
    before: &Item,
    attempts: &Attempts<'_>,
) -> Result<Draft, Refusal> {
    let schema = &attempts.context.settings.schema;
    let (stamp, strict): (&Stamp, bool) = (&attempts.request.stamp, attempts.request.preconditions.are_given());
    let (parent, born) = parent.map_or((None, None), |(parent, born)| (Some(parent.clone()), born));
    let by = Some(stamp.by.clone()).filter(|by| !by.is_empty());
    let at = TrashTime::parse(&stamp.at).unwrap_or_else(TrashTime::unknown);
    let value = Trashed { at, by, parent, born }.value();
    let mut changes: BTreeMap<_, _> =
        stamped(Some(before), stamp).into_iter().map(|(name, value)| (name, Some(value))).collect();
    changes.insert(TRASHED.to_owned(), Some(value));
    changes.extend([&schema.names().parent, UNDER].map(|name| (name.to_owned(), None)));
    Draft::update(schema.node_key(node), before, changes, unchanged(before, strict, schema)?).check()
}
