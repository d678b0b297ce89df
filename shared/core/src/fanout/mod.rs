//! What the stream handler decides: what stream records ask for, where nodes belong, and what is handed down.
//!
//! A decision that takes no request is a function ([`Batch::of`], [`place`]). Work that takes several requests is a
//! [plan](crate::plan). The crate's documentation follows a stream record through the plans.
//!
//! | plan | what sets it off | what it does |
//! |---|---|---|
//! | [`place_nodes`] | records of nodes | brings their rows where they belong |
//! | [`await_parents`] | nodes that come before their parents are placed | waits a moment for the parents |
//! | [`LateChild::plan`] | a node that arrives after its parent was deleted | does with the node what the parent's deletion would have done |
//! | [`hand_down`], [`continue_cursor`] | a record of a lineage, or of a cursor | touch the node's children, or run a slice of its deletion |
//! | [`count_nodes`] | nodes that were placed, where totals are kept | brings the totals of their ancestors up to date |
//! | [`continue_copy`] | a record of the top of a copy | copies the next nodes below its source |
//! | [`touch_orphans`] | new lineages | touches the orphans that wait for them |
//! | [`copy_highest`], [`copy_newest`] | records of revisions | keep `v0_` copies |

mod batch;
mod cascade;
mod child_action;
mod context;
mod copying;
mod count;
mod deletion;
mod early;
mod late_child;
mod latest;
mod orphans;
mod place;
mod predict;
mod round;
#[cfg(test)]
pub(crate) mod tests;

pub use batch::{Batch, Event, HandDown, LineageChange, NewestRecord, Placing, Standing, StreamRecord};
pub use cascade::{continue_cursor, hand_down};
pub use child_action::{Child, ChildAction};
pub use context::{Context, Limits, Run};
pub use copying::{continue_copy, note_placed};
pub(crate) use count::Seen;
pub use count::{ToCount, count_nodes};
pub use early::{Early, await_parents, placings_of};
pub use late_child::LateChild;
pub(crate) use latest::make_equal;
pub use latest::{Copied, TopicChanges, copy_highest, copy_newest};
pub use orphans::{Orphans, touch_orphans};
pub use place::{PlaceInput, PlacePlan, Settle, place, placement};
pub use round::{RoundEnd, place_nodes};
