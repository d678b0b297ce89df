//! Sources: files of five formats, read a record at a time.
//!
//! A source never holds more than one record, of at most [`RECORD_BYTES_MAX`]. Files that are compressed with gzip are
//! read as they are.

mod csv;
mod dynamodb;
mod error;
mod input;
pub mod jsonl;
mod scanner;
mod spool;
mod treebeard;

use std::io::Read;
use std::path::{Path, PathBuf};

use sapwood_core::keys::NodeRef;

use crate::{Fault, Format, Location, Node, Options, Record};
pub use csv::{CELL_LINES_MAX, is_guarded};
pub use error::OpenError;
pub use input::RECORD_BYTES_MAX;
pub use spool::Spooled;

/// The content of a source at a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A record.
    Record(Record),
    /// A node that a path names. It is made unless the source has a record of it; it may come many times.
    Implied(Node),
    /// An item of a table that is no base record: a row, a copy or a lineage. The import's own fan-out makes it again.
    Derived,
    /// An item of a table that isn't Sapwood's.
    Foreign,
}

/// The content of a source at a place, or its fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The place.
    pub at: Location,
    /// The content, or the fault.
    pub found: Result<Content, Fault>,
    /// The node that a fault is about, if its id could be read. Its children have no fault of their own.
    pub faulty_node: Option<NodeRef>,
}

impl Entry {
    fn new(at: Location, found: Result<Content, Fault>) -> Self {
        Self { at, found, faulty_node: None }
    }
}

type Entries = Box<dyn Iterator<Item = Entry> + Send>;

/// A source that is being read, from its beginning to its end, in an order that is always the same.
pub struct Source {
    /// The files, in the order in which they are read.
    pub files: Vec<PathBuf>,
    /// The name of the pipe that it came through.
    pub name: Option<PathBuf>,
    /// The format.
    pub format: Format,
    /// True if two equal records are one, as in rows of paths.
    pub(crate) merges_equal: bool,
    entries: Entries,
}

impl Source {
    /// Opens a file, or the directory of an export of DynamoDB.
    pub fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let is_directory = input::metadata(path)?.is_dir();
        let format = match options.format {
            Some(format) => format,
            None if is_directory => Format::DynamoDb,
            None => format_of(path)?,
        };
        if is_directory && format != Format::DynamoDb {
            return Err(OpenError::directory(path));
        }
        let files = if is_directory { dynamodb::files(path)? } else { vec![path.to_owned()] };
        let entries: Entries = match format {
            Format::JsonLines => Box::new(jsonl::JsonLines::new(input::open(path)?, options)),
            Format::Csv if options.csv.levels.is_empty() => Box::new(csv::Columns::open(path, options)?),
            Format::Csv => Box::new(csv::Levels::open(path, options)?),
            Format::Treebeard => Box::new(treebeard::Treebeard::new(input::open(path)?, options)),
            Format::DynamoDb => Box::new(dynamodb::Export::new(files.clone(), &options.settings.schema)),
        };
        let merges_equal = format == Format::Csv && !options.csv.levels.is_empty();
        Ok(Self { files, name: None, format, merges_equal, entries })
    }
}

impl Iterator for Source {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.entries.next()
    }
}

/// How much of a file is looked at, in bytes.
const LOOKED_AT_BYTES: u64 = 4_096;

/// Returns the format of a file by its name and its first bytes.
fn format_of(path: &Path) -> Result<Format, OpenError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if name.ends_with(".csv") || csv::is_tsv(path) {
        return Ok(Format::Csv);
    }
    if name.ends_with(".ion") {
        return Err(OpenError::ion(path));
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
        _ => Err(OpenError(format!(
            "the format of {} can't be told from its name and its beginning; name the format",
            path.display()
        ))),
    }
}

/// Returns true for a line such as `{"Item":{…}}`.
fn is_item(start: &[u8]) -> bool {
    start[1..].trim_ascii_start().starts_with(br#""Item""#)
}
