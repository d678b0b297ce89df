//! A mapping's position, and the file that keeps it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Per shard, the last record before which all are handled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The stream that it is a position in.
    pub(super) stream: String,
    pub(super) shards: BTreeMap<String, ShardPosition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ShardPosition {
    After(String),
    Ended,
}

/// The position in a stream: an empty one where there is no file, or the file is about another stream (that of a table
/// since deleted).
pub(super) fn load(path: &Path, stream: &str) -> io::Result<Position> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Position::default()),
        Err(error) => return Err(error),
    };
    let position: Position = serde_json::from_slice(&text)?;
    Ok(if position.stream == stream { position } else { Position::default() })
}

/// Writes a position so that the file holds, whatever happens meanwhile, either the one before or this one.
pub(super) fn save(path: &Path, position: &Position) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    serde_json::to_writer_pretty(&mut file, position)?;
    file.flush()?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The rename is lasting once the directory is; where directories can't be opened, the system sees to it.
    if let Ok(directory) = File::open(directory) {
        directory.sync_all()?;
    }
    Ok(())
}
