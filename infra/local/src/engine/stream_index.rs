//! The one thing that dynoxide's database lacks: an index on its stream.
//!
//! dynoxide 3.2 asks for `MAX(CAST(sequence_number AS INTEGER))` of a table's stream records with every write, and for those
//! after a number with every read of the stream. Without an index both look at every record there ever was, so writes slow
//! down as the stream grows. The index is added here, through a second connection, before the engine is served.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

/// Both statements ask for a table and an order by number; `DescribeStream` also asks for the shard, which the index
/// answers without the records themselves.
const ADD: &str = "CREATE INDEX IF NOT EXISTS stream_records_in_order \
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER), shard_id)";

const WAIT_MAX: Duration = Duration::from_secs(5);

/// Adds the index to a database that dynoxide has opened.
pub(super) fn add(database: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(WAIT_MAX)?;
    connection.execute_batch(ADD)
}
