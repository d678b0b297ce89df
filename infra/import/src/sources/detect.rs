//! Which format a file has.

use std::io::Read;
use std::path::Path;

use super::OpenError;
use super::input;
use crate::Format;

/// How much of a file is looked at, in bytes.
const LOOKED_AT_BYTES: u64 = 4_096;

/// Returns the format of a file by its name and its first bytes.
pub(super) fn format(path: &Path) -> Result<Format, OpenError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if name.ends_with(".csv") || super::csv::is_tsv(path) {
        return Ok(Format::Csv);
    }
    if name.ends_with(".ion") {
        return Err(OpenError::Ion { path: path.to_owned() });
    }
    let mut start = Vec::new();
    // A file that is cut off is read as far as it goes.
    _ = input::open(path)?.take(LOOKED_AT_BYTES).read_to_end(&mut start);
    let start = start.trim_ascii_start();
    match start.first() {
        Some(b'[') => Ok(Format::Treebeard),
        Some(b'{') if is_item(start) => Ok(Format::DynamoDb),
        Some(b'{') => Ok(Format::JsonLines),
        _ if name.ends_with(".jsonl") || name.ends_with(".ndjson") => Ok(Format::JsonLines),
        _ => Err(OpenError::Format { path: path.to_owned() }),
    }
}

/// Returns true for a line such as `{"Item":{…}}`.
fn is_item(start: &[u8]) -> bool {
    start[1..].trim_ascii_start().starts_with(br#""Item""#)
}
