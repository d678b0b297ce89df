//! The order by hand: finds the value that a node gets to be where it is asked for among its siblings.
//!
//! Rows propose the neighbours, and base records decide: rows lag, so each that is found is looked at again. Siblings
//! without a value, or with the value of the one next to the spot, get values of their own, and so do siblings that
//! have become crowded. All of them are written with the node in one transaction.

pub(super) mod find_spot;
mod insertion;
pub(super) mod making_room;
pub(super) mod order_key;
mod sibling_walk;
mod spot_values;

use crate::keys::{Id, SiblingPlace};
use crate::request::{Action, TRANSACTION_ACTIONS_MAX};
use sibling_walk::Sibling;

/// Most siblings that one write gives other values: the node, its neighbour and an idempotency key go with them.
const CHANGED_MAX: usize = TRANSACTION_ACTIONS_MAX - 3;

#[derive(Clone, Debug)]
pub(super) struct SiblingPosition {
    pub(super) parent: Option<Id>,
    pub(super) node: Id,
    pub(super) place: SiblingPlace,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Insertion {
    /// The value that the node gets; `None` if it is there already.
    pub(super) value: Option<String>,
    /// The siblings that get other values in the same transaction, and where they are then.
    pub(super) changes: Vec<(Action, SiblingPosition)>,
    /// The check of the sibling that the node comes next to.
    pub(super) anchor: Option<Action>,
    /// The changes are written without the node, and it goes on from here.
    pub(super) slice: Option<Slice>,
}

/// How far siblings without a value have got values, before the node is placed after them. They get them from the first
/// on, each slice after the one before, so after each slice all are in the order in which they were.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    parent: Option<Id>,
    /// The last one that got a value, as it is now.
    last: Sibling,
    /// How many slices were written. Each has a time of its own.
    number: u64,
}

/// Most siblings that get other values in one transaction.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// With the node.
    with_node: usize,
    /// In a slice, without the node.
    in_slice: usize,
}
