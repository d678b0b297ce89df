//! An embedded DynamoDB (dynoxide, on SQLite) on a loopback address.

mod data;
mod serve;
mod sweep;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use dynoxide::Database;
use rusqlite::Connection;

pub(crate) use self::data::open_private;
pub use self::data::{Data, EngineError, create_private};

use self::data::DataPlace;
use self::serve::Server;
use self::sweep::Sweep;

/// A running engine. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Engine {
    /// The address that it listens on.
    pub address: SocketAddr,
    server: Server,
    // Keeps other processes from using the data.
    _place: DataPlace,
}

impl Engine {
    /// Starts an engine on a loopback address. With port 0 it takes any free port.
    pub fn start(address: SocketAddr, data: &Data) -> Result<Self, EngineError> {
        // The port comes first, so that the data isn't touched if the address is in use.
        let listener = listen(address)?;
        let address = listener.local_addr().map_err(|source| EngineError::Listen { address, source })?;
        let place = DataPlace::of(data)?;
        let (database, sweep) = open(&place)?;
        let server = Server::start(listener, database, sweep)?;
        Ok(Engine { address, server, _place: place })
    }

    /// Returns the address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops the engine when it has answered the running requests, and closes the data file.
    pub async fn stop(self) -> Result<(), EngineError> {
        self.server.stop().await
    }
}

/// Listens on a loopback address, for the engine or for what stands before it.
pub fn listen(address: SocketAddr) -> Result<TcpListener, EngineError> {
    match address.ip().is_loopback() {
        true => listen_anywhere(address),
        false => Err(EngineError::NotLoopback(address)),
    }
}

/// Listens on any address, for what stands before the engine in a container.
pub fn listen_anywhere(address: SocketAddr) -> Result<TcpListener, EngineError> {
    let listener = TcpListener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => EngineError::PortInUse(address),
        _ => EngineError::Listen { address, source },
    })?;
    listener.set_nonblocking(true).map_err(|source| EngineError::Listen { address, source })?;
    Ok(listener)
}

fn open(place: &DataPlace) -> Result<(Database, Sweep), EngineError> {
    let path = &place.database;
    let unreadable = |reason: String| EngineError::Unreadable { path: path.clone(), reason };
    let text = path.to_str().ok_or_else(|| unreadable("its path isn't valid UTF-8".to_owned()))?;
    let database = Database::new(text).map_err(|error| unreadable(error.to_string()))?;
    add_stream_index(path).map_err(|error| unreadable(error.to_string()))?;
    // dynoxide sets SQLite's `synchronous = NORMAL` with this call. A killed process loses nothing, and a power cut the
    // last writes at most. The default flushes every write.
    database.disable_bulk_loading().map_err(|error| unreadable(error.to_string()))?;
    let sweep = Sweep::new(text).map_err(|error| unreadable(error.to_string()))?;
    Ok((database, sweep))
}

/// Adds the index that dynoxide's stream lacks, through a second connection. dynoxide 3.2 asks for the highest sequence
/// number with every write, and for the records after a number with every read of the stream; without an index both
/// scan all records. After 20,000 puts a file takes 188 puts a second without it, and 5,111 with it (2 cores, Linux).
/// The benchmark `tests/long_stream.rs` measures it again.
fn add_stream_index(database: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(database)?;
    // dynoxide's own connection may hold the lock.
    connection.busy_timeout(Duration::from_secs(5))?;
    // `DescribeStream` selects the shard as well, which the index answers without reading the records.
    connection.execute_batch(
        "CREATE INDEX IF NOT EXISTS stream_records_in_order \
         ON _stream_records (table_name, CAST(sequence_number AS INTEGER), shard_id)",
    )
}
