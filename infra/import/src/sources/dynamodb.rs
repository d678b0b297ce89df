//! What DynamoDB exports to S3 as `DYNAMODB_JSON`: an item a line, in many files under `data`.
//!
//! ```json
//! {"Item":{"PK":{"S":"d"},"SK":{"S":"NODE"},"parent":{"S":"V"},"name":{"S":"Documents"}}}
//! ```
//!
//! Nodes and revisions are read. Items that the stream handler or the API makes are skipped, and so are items that
//! aren't Sapwood's. Attributes whose names begin with `_` are left out: the records begin new lives in the table that
//! they are imported into.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sapwood_core::keys::{NodeRef, Schema, SortKey};
use sapwood_core::model::{AttributeValue, key_of, sort_sets};
use serde::Deserialize;

use super::input::{self, Lines};
use super::{Content, Entry, OpenError, jsonl};
use crate::{Fault, Location, Record};

/// Returns the data files of an export, sorted, without manifests: those of `data`, or of the directory itself.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let data = path.join("data");
    let directory = if data.is_dir() { data.as_path() } else { path };
    let failed = |error| OpenError::io(directory, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".ion") || name.ends_with(".ion.gz") {
            return Err(OpenError::ion(&file));
        }
        if !name.starts_with("manifest-") && (name.ends_with(".json") || name.ends_with(".json.gz")) {
            files.push(file);
        }
    }
    files.sort();
    let words = "has no files that end in .json or .json.gz; name the export's directory, or its `data`";
    if files.is_empty() { Err(OpenError::of(path, words)) } else { Ok(files) }
}

/// The items of an export.
pub(super) struct Export {
    files: Vec<PathBuf>,
    /// The index of the file that is being read.
    file: usize,
    lines: Option<Lines>,
    schema: Schema,
}

impl Export {
    pub(super) fn new(files: Vec<PathBuf>, schema: &Schema) -> Self {
        Self { files, file: 0, lines: None, schema: schema.clone() }
    }
}

impl Iterator for Export {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let file = self.file;
            let lines = match &mut self.lines {
                Some(lines) => lines,
                None => match input::open_any(self.files.get(file)?) {
                    Ok(input) => self.lines.insert(Lines::new(input)),
                    Err(error) => {
                        self.file += 1;
                        let found = Err(Fault::unreadable(error.to_string()));
                        return Some(Entry::new(Location { file, line: 1 }, found));
                    }
                },
            };
            match lines.next() {
                Some((line, text)) => {
                    let at = Location { file, line };
                    let mut faulty_node = None;
                    let found = text.and_then(|text| read(text, &self.schema, &mut faulty_node));
                    return Some(Entry {
                        faulty_node: faulty_node.filter(|_| found.is_err()),
                        ..Entry::new(at, found)
                    });
                }
                None => {
                    self.lines = None;
                    self.file += 1;
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "Item")]
    item: BTreeMap<String, AttributeValue>,
}

/// Reads an item. `read_node` becomes the node that it is, if it is one.
fn read(line: &str, schema: &Schema, read_node: &mut Option<NodeRef>) -> Result<Content, Fault> {
    let Line { mut item } = serde_json::from_str(line).map_err(|error| {
        Fault::unreadable(format!(
            "the line is no item of an export ({error}); export the table again as DYNAMODB_JSON"
        ))
    })?;
    item.values_mut().for_each(sort_sets);
    let Some(key) = key_of(&item, schema) else { return Ok(Content::Foreign) };
    let sort_key = schema.parse_sort_key(&key.sk);
    let (Some(sort_key), Ok(node)) = (sort_key, schema.parse_partition(&key.pk)) else { return Ok(Content::Foreign) };
    *read_node = (sort_key == SortKey::Node).then(|| node.clone());
    let record = Record::read(item, node, sort_key, schema).map_err(|error| Fault::refused(error.to_string()))?;
    record.map_or(Ok(Content::Derived), |record| as_json(&record).map(Content::Record))
}

/// Returns a record as it is after JSON, with DynamoDB's spelling of numbers. Items that it would refuse are faults.
fn as_json(record: &Record) -> Result<Record, Fault> {
    let line = jsonl::write(record).map_err(|error| Fault::refused(format!("{error}; correct the item")))?;
    jsonl::read(&line, None)
}
