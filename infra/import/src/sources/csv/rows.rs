//! The rows of a file of CSV, and what their columns are.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder, StringRecord, Terminator};
use sapwood_core::model::{AttributeValue, Item, text};
use sapwood_json::{Attributes, Place, number_text};

use super::quotes::{BadQuote, CELL_LINES_MAX, Quotes};
use crate::sources::input::{self, Input, broken, utf8};
use crate::sources::{OpenError, RECORD_BYTES_MAX, jsonl};
use crate::{CsvOptions, Fault};

/// The rows after the first.
pub(super) struct Rows {
    reader: Reader<Quotes<Bounded>>,
    row: ByteRecord,
    pub(super) names: Vec<String>,
    ended: bool,
    /// True if an apostrophe may guard a cell.
    guards: bool,
}

impl Rows {
    pub(super) fn open(path: &Path, options: &CsvOptions) -> Result<Self, OpenError> {
        let input = Bounded { input: input::open(path)?, read: 0, allowed: ALLOWED_BYTES, ended: false };
        let usual = if is_tsv(path) { b'\t' } else { b',' };
        let delimiter = options.delimiter.unwrap_or(usual);
        // Rows end with a line feed alone, so that lines can be counted. Carriage returns before them are taken off.
        let mut reader = ReaderBuilder::new();
        reader.delimiter(delimiter).terminator(Terminator::Any(b'\n')).flexible(true).has_headers(true);
        let lines_max = options.cell_lines_max.unwrap_or(CELL_LINES_MAX);
        let mut reader = reader.from_reader(Quotes::new(input, delimiter, lines_max));
        let header = |reason: String| OpenError(format!("the first row of {} can't be read: {reason}", path.display()));
        let first = reader.byte_headers().map_err(|error| header(error.to_string()))?.clone();
        let first = StringRecord::from_byte_record(first)
            .map_err(|_| header("it isn't UTF-8; convert the file, for example with `iconv`".to_owned()))?;
        // A carriage return in a quoted name stands before a line feed, and the row's own is the last byte.
        if first.as_slice().as_bytes().windows(2).any(|two| two[0] == b'\r' && two[1] != b'\n') {
            let words = "ends its lines with carriage returns alone, so all of it is one line; convert it, for example with `tr '\\r' '\\n'`";
            return Err(OpenError::of(path, words));
        }
        let names: Vec<String> = first.iter().map(|name| guarded(name.trim(), options).to_owned()).collect();
        let mut seen = BTreeSet::new();
        match names.iter().find(|name| !name.is_empty() && !seen.insert(*name)) {
            Some(column) => Err(OpenError::column_twice(path, column)),
            None => {
                let guards = options.guards_formulas;
                Ok(Self { reader, row: ByteRecord::new(), names, ended: false, guards })
            }
        }
    }

    /// Returns the line that the next row begins on, and its cells.
    pub(super) fn next(&mut self) -> Option<(u64, Result<Vec<&str>, Fault>)> {
        let read = loop {
            if self.ended {
                return None;
            }
            let start = self.reader.position().byte();
            self.reader.get_mut().inner_mut().allowed = start.saturating_add(ALLOWED_BYTES);
            let read = self.reader.read_byte_record(&mut self.row);
            match read {
                Ok(true) if self.row.as_slice() == b"\r" => {}
                Ok(false) => return None,
                read => break read,
            }
        };
        if let Err(error) = read {
            self.ended = true;
            // Blank lines before the row count as a part of it.
            let line = self.row.position().map_or(1, csv::Position::line);
            let (line, fault) = unreadable(error, line);
            return Some((line, Err(fault)));
        }
        let line = self.line();
        let (found, wanted) = (self.row.len(), self.names.len());
        if found != wanted {
            let message = format!(
                "the row has {found} cells, and the first row has {wanted}; quote cells that hold the separator"
            );
            return Some((line, Err(Fault::unreadable(message))));
        }
        Some((line, self.cells()))
    }

    fn cells(&self) -> Result<Vec<&str>, Fault> {
        let mut cells: Vec<&str> = self.row.iter().map(utf8).collect::<Result<_, _>>()?;
        if let Some(last) = cells.last_mut() {
            *last = last.strip_suffix('\r').unwrap_or(last);
        }
        if self.guards {
            cells.iter_mut().for_each(|cell| *cell = unguarded(cell));
        }
        Ok(cells)
    }

    /// Returns the line that the row begins on: the reader counts to its end.
    fn line(&self) -> u64 {
        let inside = self.row.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        let at_end = u64::from(!self.reader.get_ref().inner().ended);
        self.reader.position().line().saturating_sub(inside + at_end)
    }
}

/// True for a name that ends in `.tsv`, or in `.tsv.gz`.
pub(in crate::sources) fn is_tsv(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    name.strip_suffix(".gz").unwrap_or(&name).ends_with(".tsv")
}

/// Returns a cell without its guard, if cells are guarded.
fn guarded<'c>(cell: &'c str, options: &CsvOptions) -> &'c str {
    if options.guards_formulas { unguarded(cell) } else { cell }
}

/// Takes off the apostrophe that keeps spreadsheets from taking a cell for a formula.
fn unguarded(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| is_guarded(rest)).unwrap_or(cell)
}

/// True for a cell that a guard precedes: a formula to spreadsheets, or one that begins with an apostrophe itself.
#[must_use]
pub fn is_guarded(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\''])
}

/// Returns the line and the fault of a reader's error in a row. Uneven fields can't be, and text is checked elsewhere.
fn unreadable(error: csv::Error, line: u64) -> (u64, Fault) {
    let bad_quote = match error.kind() {
        ErrorKind::Io(error) => error.get_ref().and_then(|error| error.downcast_ref::<BadQuote>()),
        _ => None,
    };
    if let Some(bad) = bad_quote {
        return (bad.line, Fault::unreadable(bad.to_string()));
    }
    let fault = match error.into_kind() {
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => Fault::unreadable(format!(
            "the row is longer than {RECORD_BYTES_MAX} bytes, so nothing after it was read; look for a quote that isn't closed"
        )),
        ErrorKind::Io(error) => broken(&error),
        kind => Fault::unreadable(format!("the row can't be read: {kind:?}")),
    };
    (line, fault)
}

/// How far the reader may read past the beginning of a row, in bytes: a row, and what it reads ahead.
const ALLOWED_BYTES: u64 = RECORD_BYTES_MAX as u64 + 64 * 1_024;

/// A file that fails where a row becomes too long, since the reader would keep all of it.
struct Bounded {
    input: Input,
    read: u64,
    allowed: u64,
    /// True once the end was read. Only a row without a line feed needs it.
    ended: bool,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read > self.allowed {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let read = self.input.read(buffer)?;
        self.read += read as u64;
        self.ended = read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

/// The columns that are attributes.
pub(super) struct AttributeColumns(Vec<AttributeColumn>);

struct AttributeColumn {
    index: usize,
    name: String,
    is_number: bool,
}

impl AttributeColumns {
    /// Takes all columns that aren't used otherwise.
    pub(super) fn new(path: &Path, names: &[String], used: &[usize], numbers: &[String]) -> Result<Self, OpenError> {
        for number in numbers {
            column(path, names, number)?;
        }
        let free = names.iter().enumerate().filter(|(index, _)| !used.contains(index));
        let columns =
            free.map(|(index, name)| AttributeColumn { index, name: name.clone(), is_number: numbers.contains(name) });
        Ok(Self(columns.collect()))
    }

    /// Returns the attributes of a row. An empty cell is none.
    pub(super) fn read(&self, cells: &[&str]) -> Result<Attributes, Fault> {
        let mut item = Item::new();
        for AttributeColumn { index, name, is_number } in &self.0 {
            let cell = cells.get(*index).copied().unwrap_or_default();
            if cell.is_empty() {
                continue;
            }
            if name.is_empty() {
                let column = index + 1;
                return Err(Fault::unreadable(format!(
                    "column {column} has a cell and no name; name it in the first row"
                )));
            }
            let value = if *is_number {
                let at = Place::Member(&Place::Body, name);
                AttributeValue::N(number_text(cell.trim(), &at).map_err(|error| jsonl::fault(&error))?)
            } else {
                text(cell)
            };
            item.insert(name.clone(), value);
        }
        Ok(Attributes(item))
    }
}

pub(super) fn column(path: &Path, names: &[String], name: &str) -> Result<usize, OpenError> {
    names.iter().position(|other| other == name).ok_or_else(|| {
        let columns = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let words = format!("has no column `{name}`; its first row has {columns}. Name the column that is meant");
        OpenError::of(path, &words)
    })
}
