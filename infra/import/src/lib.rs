//! What `sapwood import` does before it writes anything: it reads files, checks them as a whole, and orders their
//! records so that parents come first. Nothing in this crate knows DynamoDB.
//!
//! - [`sources`] read files of five formats, a record at a time, and name the line of each record and of each fault.
//! - [`work`] is the working file, a SQLite database. It takes the records in, checks them with bounded memory, hands
//!   them out level by level, and remembers what was written. A process can be killed at any time and goes on from
//!   there.
//! - [`backlog`] is the working file of a backfill: the nodes of a table that are to be placed, in the same order.
//! - [`failed_records`] reads the records that an event source gave up, for `sapwood redrive`.
//! - [`cost`] says how many write units an import takes.
//!
//! ```no_run
//! use sapwood_import::{Options, sources::Source, work::{Level, Nowhere, Work}};
//!
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options::default();
//! let mut source = Source::open("places.jsonl".as_ref(), &options)?;
//! let mut work = Work::open("places.jsonl.work".as_ref(), &source, &options)?;
//! while work.load_some(&mut source)? {}
//! while work.check_some(&mut Nowhere)? {}
//! let faults = work.faults()?;
//! if faults.is_empty() {
//!     for record in work.next(Level::Nodes(0), None, 100)? {
//!         println!("{:?} of {}", record.record, record.place);
//!     }
//! }
//! # Ok(()) }
//! ```

pub mod backlog;
pub mod cost;
pub mod failed_records;
mod fault;
mod options;
mod record;
pub mod sources;
#[cfg(test)]
mod tests;
pub mod work;

pub use fault::{Fault, FaultKind, Location};
pub use options::{CsvOptions, Format, Options, TreebeardOptions};
pub use record::{Node, Record, Revision};
