//! The writes of the HTTP API, as plans: base records only, and moves that never make a cycle.
//!
//! One [`Command`] goes in, one [`Outcome`] or one [`Refusal`] comes out. Each plan reads, decides, and writes on the
//! condition that what was read still holds. An attempt that loses a race is made again, a few times.
//!
//! | protocol | what it does |
//! |---|---|
//! | [`write_once`] | any command: once, where its request has an idempotency key |
//! | `save` | creates, replaces, patches and moves a node, also with a revision, and takes one out of the trash |
//! | `Naming` | claims the name that a node comes to have among its siblings, and gives back the one that it had |
//! | `FindSpot` | finds the value of a node that is ordered by hand |
//! | `put_into_trash` | puts a node into the trash |
//! | `DeleteNode` | deletes a node at once, or marks it for the stream |
//! | `CopyNode` | creates the top of a copy, and leaves the rest to the stream |
//! | `revision::append`, `revision::change` | append, amend and delete a revision |
//! | [`begin`] | claims an idempotency key, or reads what it was completed with |
//! | [`Prefetched`] | what the operations of a batch need, read before they begin |
//! | [`read_operation`] | says how far a deletion or a copy is that the stream carries out |
//! | [`import_record`] | puts a record of an import, which isn't a request to the API |

mod attempts;
mod command;
mod copy;
mod delete;
mod execute;
mod idempotency;
mod import;
mod moves;
mod names;
mod operation;
mod outcome;
mod perform;
mod prefetch;
mod record;
mod refusal;
mod reorder;
mod request;
mod revision;
mod save;
#[cfg(test)]
mod tests;
mod traces;
mod trash;
mod wanted;

pub use command::{Children, Command, Content, NewRevision, OnConflict, Patch, Spot, ValueChange};
pub use execute::{Answered, write_once};
pub use idempotency::{Begun, Claim, Idempotency, OUTCOME_SECONDS, begin};
pub use import::{
    ABOVE_ATTRIBUTES, Above, Imported, ImportedRecord, LOOKS_MAX, Unknown, deletes_revisions, import_record,
};
pub use operation::{Incomplete, OPERATION_SECONDS, Operation, Progress, Work, read_operation};
pub use outcome::{Appended, Outcome};
pub use prefetch::{FirstReads, Prefetched};
pub use record::ROOM_BYTES;
pub use refusal::{NoWayBack, Precondition, Refusal};
pub use request::{Preconditions, Request, Stamp, Tags, Tiebreak};
pub use traces::deleted_since;

use crate::model::Settings;
use crate::plan::Rules;

/// Every bound of the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How often a write is attempted before it counts as contended.
    pub attempts_max: u32,
    /// The longest wait between two attempts, as a step of the retry policy: races are over fast.
    pub wait_step_max: u32,
    /// Items read at a time in looking for the newest revision of a topic.
    pub revision_page_items_max: usize,
    /// How many copies of a tenant go on at once. Copies that begin at the same moment can pass it by a few.
    pub copies_at_once_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { attempts_max: 100, wait_step_max: 4, revision_page_items_max: 25, copies_at_once_max: 20 }
    }
}

impl Limits {
    /// The wait after this many failed attempts, as a step of the retry policy; `None` after the last.
    fn wait(&self, failed: u32) -> Option<u32> {
        (failed < self.attempts_max).then(|| (failed - 1).min(self.wait_step_max))
    }
}

/// How the table is kept, within which bounds and by which rules.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// How the table is kept.
    pub settings: &'a Settings,
    /// The bounds.
    pub limits: Limits,
    /// The rules of the protocol.
    pub rules: Rules,
}
