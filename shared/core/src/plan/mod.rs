//! What has to be written, given what was read. Pure and synchronous: no table, no clock, no randomness.

mod batch;
mod child_action;
mod place;
mod rules;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Cascade, Event, Placing, Problem, StreamRecord};
pub use child_action::{ChildAction, is_held};
pub use place::{PlaceInput, PlacePlan, Settle, place, placement};
pub use rules::{Rule, Rules};
