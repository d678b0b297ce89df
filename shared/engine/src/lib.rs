//! Runs the plans of `sapwood-core` on a table. Plans decide; this crate reads and writes.
//!
//! # How a stream record flows through the engine
//!
//! The stream handler gives a batch of records to [`fanout::Fanout::run`]:
//!
//! 1. `Batch::of` (in `sapwood-core`, like all plans) finds out which work the records ask for.
//! 2. Three kinds of work run side by side: nodes are placed, round by round; lineages are handed down and cursors
//!    continued; copies of the newest revisions are made.
//! 3. Each piece of work is a plan. One executor runs them all, in a loop that knows nothing of the protocol:
//!
//!    ```text
//!    facts = none
//!    loop
//!        match plan.next(facts)
//!            Need(keys, page)  =>  facts = what the table has
//!            Do(tasks)         =>  facts = which conditional writes and transactions held
//!            Write(items)      =>  facts = which puts and deletes failed
//!            Done(result)      =>  return result
//!    ```
//!
//! 4. The executor's requests go through `sapwood_store::Client`, which retries, cuts requests to size, and counts.
//! 5. A plan that can't go on fails the item that it works for. [`fanout::Report`] names the first record of each such
//!    item, and Lambda delivers the batch again from the lowest of them.
//!
//! The rows that plans write make no records that reach the handler. The lineages and touches do, and so a change is
//! handed down level by level. The documentation of `sapwood-core` follows one record through its plans.
//!
//! # Requests over HTTP
//!
//! [`query`] answers reads from rows and base records. [`mod@write`] changes base records and never rows: the stream
//! brings the rows up to date.
//!
//! # The whole table
//!
//! [`announce`](mod@announce) leaves the handler's settings in the table. [`audit`] compares what is derived with the
//! base records, a page of a scan at a time, and mends what is wrong. [`auditor`] does so for ever, a run at a time.
//! [`subtree`] finds a node and what is below it, for those who look at a part of the table.

pub mod announce;
pub mod audit;
pub mod auditor;
pub mod fanout;
pub mod query;
mod run;
pub mod subtree;
pub mod write;
