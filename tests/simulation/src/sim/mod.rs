//! The simulation: the real fan-out on a simulated table. A scheduler decides, from a seed, what happens next: which
//! call is answered, which call fails, which invocation starts or dies, and which records are delivered again.
//!
//! Everything comes from the seed. The same seed twice gives the same run, call by call. With `SAPWOOD_TRACE=1` each
//! change of the table is printed.

mod auditing;
mod calls;
mod clock;
mod concurrent_moves;
mod copies;
mod damage;
mod digests;
mod drills;
mod exhaustive;
mod followers;
mod footprint;
mod history;
mod names;
mod outages;
mod priorities;
mod profile;
mod repairs;
mod requests;
mod schedule;
mod search;
mod sequences;
mod subtrees;
mod totals;
mod trash;
mod witness;
mod writers;

pub use auditing::{run_auditor, run_totals_auditor};
pub use concurrent_moves::{MoveProfile, run_moves};
pub use damage::{Damage, TotalsDamage, run_damage, run_totals_damage};
pub use drills::Drill;
pub use exhaustive::{Scope, Searched, all_scopes, few_scopes, search_every_order, search_scope};
pub use history::{Answer, Asking, BatchAnswer, History};
pub use profile::{Profile, Writers};
pub use schedule::{Fault, Run, claims_taken_over, run};
pub use search::{faults, search, shown};
pub use sequences::run_sequence;
pub use totals::wrong_totals;
