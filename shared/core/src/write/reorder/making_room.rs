//! Siblings that make room for a node: how many get other values at a time, and how far those without a value have got
//! theirs. They are read as a whole before they are written, because a transaction has room for 4 MB.

use super::find_spot::{FindSpot, SpotRequest};
use super::{CHANGED_MAX, Insertion, Room, SiblingPosition, Slice};
use crate::keys::Id;
use crate::model::item_bytes;
use crate::plan::{Failure, Io, Need, Task, TaskOutcome};
use crate::request::Action;
use crate::write::attempts::Stop;
use crate::write::request::Stamp;
use crate::write::{Context, Refusal};

/// Most siblings that are written unweighed: with the node, its neighbour and the outcome even the largest fit.
const UNWEIGHED_MAX: usize = 5;
/// Most siblings that are read as a whole at a time.
const WEIGHED_AT_ONCE: usize = 25;
/// Most siblings that are read at first, because each can have 400 KB, and forty times as much on its way.
const WEIGHED_AT_FIRST: usize = 4;
/// Most bytes of siblings in a transaction. DynamoDB takes 4 MB in all, of which the node, its neighbour, the outcome,
/// and a revision that is appended with the node and the one before it have at most half.
const SIBLINGS_BYTES_MAX: usize = 2 * 1_024 * 1_024;

/// How siblings make room for a node, from one attempt to write it to the next.
#[derive(Debug)]
pub(in crate::write) struct MakingRoom {
    /// The positions that the batch has given before.
    placed: Vec<SiblingPosition>,
    room: Room,
    /// The largest sibling, with its bytes, if siblings were too large to get values in one transaction.
    bulky: Option<(usize, Id)>,
    /// How far siblings got values before, in transactions of their own.
    slice: Option<Slice>,
    /// The siblings that got values in these.
    sliced: Vec<SiblingPosition>,
    tried: Vec<SiblingPosition>,
}

impl MakingRoom {
    pub(in crate::write) fn new(placed: Vec<SiblingPosition>) -> Self {
        let room = Room { with_node: CHANGED_MAX, in_slice: CHANGED_MAX };
        Self { placed, room, bulky: None, slice: None, sliced: Vec::new(), tried: Vec::new() }
    }

    /// The siblings that got other values, or may have got them.
    pub(in crate::write) fn changed(&mut self) -> Vec<SiblingPosition> {
        self.sliced.drain(..).chain(self.tried.drain(..)).collect()
    }

    /// The node gets another parent than was known, so it has other siblings.
    pub(in crate::write) fn begin_anew(&mut self) {
        self.slice = None;
    }

    pub(in crate::write) async fn find(
        &self,
        io: &Io,
        context: Context<'_>,
        stamp: &Stamp,
        request: SpotRequest<'_>,
    ) -> Result<Insertion, Stop> {
        let mut find = FindSpot::new(context, stamp, request, &self.placed, self.room, self.slice.as_ref())?;
        find.find(io).await.map_err(|stop| match (stop, &self.bulky) {
            (Stop::Refused(Refusal::NoRoom { .. }), Some((bytes, id))) => {
                Refusal::SiblingsTooLarge { id: id.clone(), bytes: *bytes }.into()
            }
            (stop, _) => stop,
        })
    }

    /// True if a transaction has room for the siblings; else lowers how many go with the node, or in a slice.
    pub(in crate::write) async fn fits_or_lowers_room(
        &mut self,
        io: &Io,
        siblings: &[(Action, SiblingPosition)],
        is_slice: bool,
    ) -> Result<bool, Failure> {
        let Some(TooHeavy { fitting, largest }) = too_heavy(io, siblings).await? else { return Ok(true) };
        let room = if is_slice { &mut self.room.in_slice } else { &mut self.room.with_node };
        // The sibling that the node comes next to isn't counted where siblings are chosen, so as many may be one too
        // many. Less room each time comes to an end.
        *room = fitting.min(room.saturating_sub(1));
        self.bulky = largest;
        Ok(false)
    }

    /// Lowers how many siblings are written with the node, by `over` actions. False if there are too many without any.
    pub(in crate::write) fn lower_room(&mut self, siblings: usize, over: usize) -> bool {
        let left = siblings.min(self.room.with_node).checked_sub(over + 1);
        self.room.with_node = left.unwrap_or_default();
        left.is_some()
    }

    /// These siblings get other values with the node.
    pub(in crate::write) fn tries(&mut self, changed: Vec<SiblingPosition>) {
        self.tried = changed;
    }

    /// Gives siblings values before the node. It can be repeated, so it is no attempt. False if one has changed.
    pub(in crate::write) async fn write_slice(
        &mut self,
        io: &Io,
        slice: Slice,
        changes: Vec<Action>,
        changed: Vec<SiblingPosition>,
    ) -> Result<bool, Failure> {
        if io.one(Task::together(changes)).await? != TaskOutcome::Held {
            return Ok(false);
        }
        self.placed.retain(|position| changed.iter().all(|other| other.node != position.node));
        self.placed.extend(changed.iter().cloned());
        self.sliced.extend(changed);
        self.slice = Some(slice);
        Ok(true)
    }
}

struct TooHeavy {
    fitting: usize,
    /// The largest of those that were looked at, with its bytes.
    largest: Option<(usize, Id)>,
}

/// Weighs siblings, until they are too heavy for one transaction; `None` if all of them fit.
async fn too_heavy(io: &Io, siblings: &[(Action, SiblingPosition)]) -> Result<Option<TooHeavy>, Failure> {
    let (mut bytes, mut fitting, mut largest, mut rest) = (0, 0, None, siblings);
    while siblings.len() > UNWEIGHED_MAX && !rest.is_empty() {
        // About as many as fit, if they are like the largest.
        let like = largest.as_ref().map_or(SIBLINGS_BYTES_MAX / WEIGHED_AT_FIRST, |(bytes, _)| *bytes);
        let next = (SIBLINGS_BYTES_MAX / like.max(1)).clamp(1, WEIGHED_AT_ONCE);
        let (next, others) = rest.split_at(rest.len().min(next));
        let read = io.read(Need::keys(next.iter().map(|(action, _)| action.key().clone()))).await?;
        for (action, position) in next {
            // A sibling that has gone has no weight: the write finds that out.
            let own = read.item(action.key())?.map_or(0, item_bytes);
            bytes += own;
            fitting += usize::from(bytes <= SIBLINGS_BYTES_MAX);
            largest = largest.max(Some((own, position.node.clone())));
        }
        if bytes > SIBLINGS_BYTES_MAX {
            return Ok(Some(TooHeavy { fitting, largest }));
        }
        rest = others;
    }
    Ok(None)
}
