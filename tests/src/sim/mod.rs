//! The simulation: the real fan-out on a simulated table, under a scheduler that decides, from a seed, what happens
//! next: which call is answered, which fails, which invocation starts or dies, what is delivered again.
//!
//! Everything that happens comes from the seed: the same seed twice gives the same run, call by call.

mod calls;
mod concurrent_moves;
mod profile;
mod requests;
mod schedule;
mod witness;
mod writers;

pub use concurrent_moves::{MoveProfile, run_moves};
pub use profile::{Profile, Writers};
pub use schedule::{Fault, Run, run};
