//! Plans decide what has to be read and written, without a table, a clock or randomness.
//!
//! A decision that takes no request is a function ([`Batch::of`], [`place`]). Work that takes several requests is a [`Plan`], a protocol
//! in straight code ([`Script`]): it asks for what it needs to know, says what to write, and gets the outcome. The crate's documentation
//! follows a stream record through the plans.
//!
//! | plan | what sets it off | what it does |
//! |---|---|---|
//! | [`place_nodes`] | records of nodes | brings their rows where they belong |
//! | [`await_parents`] | nodes that come before their parents are placed | waits a moment for the parents |
//! | [`Straggler::plan`] | a node that arrives after its parent was deleted | does with the node what the parent's deletion would have done |
//! | [`hand_down`], [`continue_cursor`] | a record of a lineage, or of a cursor | touch the node's children, or run a slice of its deletion |
//! | [`touch_orphans`] | new lineages | touches the orphans that wait for them |
//! | [`copy_highest`], [`copy_newest`] | records of revisions | keep `v0_` copies |
//! | [`newest()`](newest::newest) | an append | finds the newest revision of a topic |

pub mod ancestry;
mod batch;
mod cascade;
mod child_action;
mod context;
mod deletion;
mod early;
pub(crate) mod latest;
pub mod newest;
mod parents_first;
mod place;
mod predict;
mod round;
mod script;
pub mod step;
mod straggler;
#[cfg(test)]
pub(crate) mod tests;

pub use batch::{Batch, Event, HandDown, LineageChange, NewestUnder, Placing, Problem, Standing, StreamRecord};
pub use cascade::{Orphans, continue_cursor, hand_down, touch_orphans};
pub use child_action::{Child, ChildAction};
pub use context::{Context, Limits, Run, Tally};
pub use early::{Awaited, Early, await_parents};
pub use latest::{Copied, copy_highest, copy_newest};
pub use place::{PlaceInput, PlacePlan, Settle, place, placement};
pub use round::{RoundEnd, place_nodes};
pub use script::{Io, Script};
pub use step::{Facts, Failure, Need, Plan, PlanReport, Read, Step, Task, TaskOutcome, Writes, WritesKind};
pub use straggler::Straggler;

pub use crate::model::Shortfall;
pub use crate::rules::{Rule, Rules};
