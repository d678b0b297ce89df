//! Siblings that get other values are read as a whole first, because a transaction has room for 4 MB.

use super::walk::Placed;
use crate::keys::Id;
use crate::model::item_bytes;
use crate::plan::{Failure, Io, Need, Read};
use crate::request::Action;

/// Most siblings that are written without a look at their sizes: with the node, its neighbour and the outcome they fit
/// a transaction, even the largest.
const UNWEIGHED_MAX: usize = 5;
/// Most siblings that are read as a whole at a time.
const WEIGHED_AT_ONCE: usize = 25;
/// Most siblings that are read at first, because each can have 400 KB, and forty times as much on its way.
const WEIGHED_AT_FIRST: usize = 4;
/// Most bytes of siblings in a transaction. DynamoDB takes 4 MB in all, of which the node, its neighbour, the outcome,
/// and a revision that is appended with the node and the one before it have at most half.
const SIBLINGS_BYTES_MAX: usize = 2 * 1_024 * 1_024;

/// Siblings that are too large to get other values in one transaction.
pub(in crate::write) struct TooHeavy {
    /// How many of them fit.
    pub(in crate::write) fitting: usize,
    /// The largest of those that were read, with its bytes.
    pub(in crate::write) largest: Option<(usize, Id)>,
}

/// Weighs siblings, until they are too heavy for one transaction; `None` if all of them fit.
pub(in crate::write) async fn too_heavy(io: &Io, siblings: &[(Action, Placed)]) -> Result<Option<TooHeavy>, Failure> {
    if siblings.len() <= UNWEIGHED_MAX {
        return Ok(None);
    }
    let (mut weighing, mut rest) = (Weighing::default(), siblings);
    while !rest.is_empty() {
        let (next, others) = rest.split_at(rest.len().min(weighing.next()));
        let read = io.read(Need::keys(next.iter().map(|(action, _)| action.key().clone()))).await?;
        weighing.add(next, &read)?;
        if weighing.bytes > SIBLINGS_BYTES_MAX {
            return Ok(Some(TooHeavy { fitting: weighing.fitting, largest: weighing.largest }));
        }
        rest = others;
    }
    Ok(None)
}

/// How much the siblings have that a transaction changes.
#[derive(Debug, Default)]
struct Weighing {
    /// How many bytes they have.
    bytes: usize,
    /// How many of them fit the transaction.
    fitting: usize,
    /// The largest of them, with its bytes.
    largest: Option<(usize, Id)>,
}

impl Weighing {
    /// Takes what was read of these siblings.
    fn add(&mut self, siblings: &[(Action, Placed)], read: &Read) -> Result<(), Failure> {
        for (action, (_, id, _)) in siblings {
            // One that has gone is no weight: the write finds that out.
            let bytes = read.item(action.key())?.map_or(0, item_bytes);
            self.bytes += bytes;
            self.fitting += usize::from(self.bytes <= SIBLINGS_BYTES_MAX);
            self.largest = self.largest.take().max(Some((bytes, id.clone())));
        }
        Ok(())
    }

    /// How many are read next: about as many as fit, if they are like the largest.
    fn next(&self) -> usize {
        let largest = self.largest.as_ref().map_or(SIBLINGS_BYTES_MAX / WEIGHED_AT_FIRST, |(bytes, _)| *bytes);
        (SIBLINGS_BYTES_MAX / largest.max(1)).clamp(1, WEIGHED_AT_ONCE)
    }
}
