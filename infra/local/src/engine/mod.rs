//! An embedded DynamoDB (dynoxide, on SQLite) on a loopback address.

mod data;
mod error;
mod serve;
mod stream_index;

use std::io;
use std::net::{SocketAddr, TcpListener};

use dynoxide::Database;

pub use self::data::Data;
pub use self::error::EngineError;

use self::data::Place;
use self::serve::Server;

/// A running engine. Dropping it stops it too, without waiting until it has.
#[derive(Debug)]
pub struct Engine {
    address: SocketAddr,
    server: Server,
    // Nobody else uses the data while this is there.
    _place: Place,
}

impl Engine {
    /// Starts an engine on a loopback address; port 0 is any that is free.
    pub fn start(address: SocketAddr, data: &Data) -> Result<Self, EngineError> {
        if !address.ip().is_loopback() {
            return Err(EngineError::NotLoopback(address));
        }
        // The port first: an address in use is no reason to touch the data.
        let listener = listen(address)?;
        let address = listener.local_addr().map_err(|source| EngineError::Listen { address, source })?;
        let place = Place::of(data)?;
        let server = Server::start(listener, open(&place)?)?;
        Ok(Engine { address, server, _place: place })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops it, once the requests under way are answered, and closes the data file.
    pub async fn stop(self) -> Result<(), EngineError> {
        self.server.stop().await
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, EngineError> {
    let listener = TcpListener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => EngineError::PortInUse(address),
        _ => EngineError::Listen { address, source },
    })?;
    listener.set_nonblocking(true).map_err(|source| EngineError::Listen { address, source })?;
    Ok(listener)
}

fn open(place: &Place) -> Result<Database, EngineError> {
    let path = &place.database;
    let unreadable = |reason: String| EngineError::Unreadable { path: path.clone(), reason };
    let text = path.to_str().ok_or_else(|| unreadable("its path isn't valid UTF-8".to_owned()))?;
    let database = Database::new(text).map_err(|error| unreadable(error.to_string()))?;
    stream_index::add(path).map_err(|error| unreadable(error.to_string()))?;
    // dynoxide offers SQLite's `synchronous = NORMAL` under this name. In the write-ahead log it flushes at checkpoints: a
    // killed process loses nothing, a power cut perhaps the last writes, never the file. The default flushes every write.
    database.disable_bulk_loading().map_err(|error| unreadable(error.to_string()))?;
    Ok(database)
}
