//! What has to be written, given what was read. Pure and synchronous: no table, no clock, no randomness.

mod batch;
mod place;
mod release;
mod rules;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Cascade, Change, Event, Placing, Problem};
pub use place::{PlaceInput, PlacePlan, Settle, place, placement};
pub use release::{Release, is_held};
pub use rules::{Rule, Rules};
