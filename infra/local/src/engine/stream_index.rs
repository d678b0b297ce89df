//! The index that dynoxide's stream lacks.
//!
//! dynoxide 3.2 asks for `MAX(CAST(sequence_number AS INTEGER))` of a table's stream records with every write, and for
//! the records after a number with every read of the stream. Without an index both scan all records, so writes slow
//! down as the stream grows. The index is added through a second connection before the engine is served.
//!
//! Puts a second over 20,000 puts, one at a time (2 cores, Linux, with other builds running):
//!
//! | | first 2,000 | last 2,000 |
//! |---|---|---|
//! | file, `synchronous` NORMAL, no index | 2,153 | 188 |
//! | file, `synchronous` NORMAL, with index | 4,391 | 5,111 |
//! | file, `synchronous` FULL (SQLite's default), with index | 260 | 254 |
//! | memory, no index | 4,447 | 181 |
//! | memory, with index | 7,581 | 10,965 |
//! | file, NORMAL, over HTTP through a debug build of the SDK, no index | 410 | 92 |
//! | file, NORMAL, over HTTP through a debug build of the SDK, with index | 415 | 487 |
//!
//! The benchmark `tests/long_stream.rs` measures the last two rows again.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

/// Both statements select a table and order by number. `DescribeStream` also selects the shard, which the index answers
/// without reading the records.
const ADD: &str = "CREATE INDEX IF NOT EXISTS stream_records_in_order \
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER), shard_id)";

/// How long to wait for dynoxide's connection to release its lock.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Adds the index to a database that dynoxide has opened.
pub(super) fn add(database: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(WAIT_MAX)?;
    connection.execute_batch(ADD)
}
