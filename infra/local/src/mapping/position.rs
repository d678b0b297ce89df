//! The position of a mapping in its stream, and the file that keeps it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The position in each shard: the last record up to which all are handled.
///
/// ```json
/// {"stream": "arn:aws:dynamodb:…", "shards": {"shardId-1": {"after": "000…123"}, "shardId-0": "ended"}}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StreamPosition {
    pub(super) stream: String,
    pub(super) shards: BTreeMap<String, ShardPosition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ShardPosition {
    After(String),
    Ended,
}

/// Loads the position in a stream. It is empty without a file, or with one of another stream.
pub(super) fn load(path: &Path, stream: &str) -> io::Result<StreamPosition> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(StreamPosition::default()),
        Err(error) => return Err(error),
    };
    let position: StreamPosition = serde_json::from_slice(&text)?;
    Ok(if position.stream == stream { position } else { StreamPosition::default() })
}

/// Saves a position. If the process ends meanwhile, the file has either the previous position or this one.
pub(super) fn save(path: &Path, position: &StreamPosition) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    serde_json::to_writer_pretty(&mut file, position)?;
    file.flush()?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The rename is durable once the directory is synced. Where directories can't be opened, the system does that.
    if let Ok(directory) = File::open(directory) {
        directory.sync_all()?;
    }
    Ok(())
}
