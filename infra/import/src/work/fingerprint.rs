//! What a working file remembers of its source and its options, so that it goes on only with the same.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rusqlite::OptionalExtension;
use sha2::{Digest, Sha256};

use super::stage::Stage;
use super::{Work, WorkError, tables};
use crate::Options;
use crate::sources::Source;

const SOURCE: &str = "source";
const OPTIONS: &str = "options";
const TABLE: &str = "table";

/// How much of the beginning of each file is hashed, in bytes.
const HASHED_BYTES: u64 = 1_024 * 1_024;

impl Work {
    /// Makes the working file that of a source, or checks that it is.
    pub(super) fn claim(&mut self, source: &Source, options: &Options) -> Result<(), WorkError> {
        let fingerprint = of_source(source)?;
        let described = format!("{:?}", Options { format: Some(source.format), table: None, ..options.clone() });
        let (before, options_before, table_before) = (self.text(SOURCE)?, self.text(OPTIONS)?, self.text(TABLE)?);
        let (is_same, has_same_options) =
            (before.as_ref() == Some(&fingerprint), options_before.as_ref() == Some(&described));
        // A table that can't be reached is none to compare with, and nothing is written into it.
        let is_same_table = match (&table_before, &options.table) {
            (Some(before), Some(table)) => before == table,
            _ => true,
        };
        // A fault may be right now: a parent may have come into the table.
        let is_refused = self.stage()? == Stage::Checked && !self.faults()?.is_empty();
        if is_same && has_same_options && is_same_table && !is_refused {
            if table_before.is_none()
                && let Some(table) = &options.table
            {
                tables::set(&self.connection, TABLE, table)?;
            }
            return Ok(());
        }
        let written = self.written()?;
        let path = || self.path.clone();
        if written > 0 && !is_same_table {
            return Err(WorkError::OtherTable { path: path(), written });
        }
        if written > 0 && !is_same {
            let file = source.files.first().cloned().unwrap_or_default();
            return Err(WorkError::OtherSource { path: path(), file, written });
        }
        if written > 0 {
            return Err(WorkError::OtherOptions { path: path(), written });
        }
        let transaction = self.connection.transaction()?;
        if before.is_some() {
            tables::make_anew(&transaction)?;
        }
        tables::set(&transaction, SOURCE, fingerprint)?;
        tables::set(&transaction, OPTIONS, described)?;
        if let Some(table) = &options.table {
            tables::set(&transaction, TABLE, table)?;
        }
        for (number, file) in source.files.iter().enumerate() {
            let name = source.name.as_ref().unwrap_or(file).to_string_lossy();
            transaction
                .execute("INSERT INTO file (number, name) VALUES (?, ?)", rusqlite::params![number as i64, name])?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn text(&self, name: &str) -> Result<Option<String>, WorkError> {
        let query = "SELECT value FROM value WHERE name = ?";
        Ok(self.connection.query_row(query, [name], |row| row.get(0)).optional()?)
    }
}

/// Returns the sizes of the files, their last changes, and a hash of their beginnings, not their names. A pipe, whose
/// file is new each time, is told by a hash of all its bytes.
fn of_source(source: &Source) -> Result<String, WorkError> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    for path in &source.files {
        let failed = |source| WorkError::Io { path: PathBuf::from(path), source };
        let added = if source.name.is_some() { add_whole(&mut hash, path) } else { add(&mut hash, path) };
        bytes += added.map_err(failed)?;
    }
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{} files, {bytes} bytes, {hash}", source.files.len()))
}

/// Adds all of a file to the hash, and returns its size in bytes.
fn add_whole(hash: &mut Sha256, path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let (mut buffer, mut bytes) = (vec![0; 64 * 1_024], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(bytes),
            read => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

/// Adds a file to the hash, and returns its size in bytes.
fn add(hash: &mut Sha256, path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    hash.update(metadata.len().to_le_bytes());
    hash.update(changed.as_nanos().to_le_bytes());
    let mut start = Vec::new();
    file.take(HASHED_BYTES).read_to_end(&mut start)?;
    hash.update(&start);
    Ok(metadata.len())
}
