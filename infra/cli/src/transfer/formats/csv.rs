//! CSV: a node a row, with columns for the id, the parent, the segment and the attributes.
//!
//! ```csv
//! id,parent,segment,name,size
//! D,,,Drive D,
//! V,D,,Volume V,12.5
//! ```
//!
//! The first row names all columns, and only the last node tells all of them, so nodes go into a temporary file first.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};

use csv::{Writer, WriterBuilder};
use sapwood_core::keys::Id;
use sapwood_core::model::AttributeValue;
use sapwood_import::sources::{CELL_LINES_MAX, is_guarded, jsonl};
use sapwood_import::{Node, Record};

use super::{Ended, Format, FormatError};

/// Most columns of attributes. Their names are all that is held in memory.
const COLUMNS_MAX: usize = 2_000;

/// Nodes, until all columns are known.
pub(super) struct Csv {
    /// The only columns, if any are named.
    named: Vec<String>,
    columns: BTreeMap<String, Column>,
    /// An import takes a carriage return off the end of a row.
    ends_in_a_return: bool,
    /// True if an apostrophe guards cells that a spreadsheet would take for formulas.
    guards: bool,
    /// The lines of the cell that has the most. An import takes more than this for a quote that isn't closed.
    lines: u64,
    nodes: BufWriter<File>,
}

/// The types among an attribute's values.
#[derive(Debug, Default)]
struct Column {
    numbers: u64,
    /// Texts and booleans.
    texts: u64,
    /// Values that no cell can hold, or that would come back as none.
    others: u64,
}

impl Csv {
    pub(super) fn new(named: Vec<String>, guards: bool) -> Result<Self, FormatError> {
        let nodes = BufWriter::new(tempfile::tempfile()?);
        Ok(Self { named, columns: BTreeMap::new(), ends_in_a_return: false, guards, lines: 1, nodes })
    }

    fn count(&mut self, name: &str, value: &AttributeValue) -> Result<(), FormatError> {
        if !self.columns.contains_key(name) {
            if self.columns.len() == COLUMNS_MAX {
                return Err(FormatError::TooManyColumns { limit: COLUMNS_MAX });
            }
            self.columns.insert(name.to_owned(), Column::default());
        }
        let Some(column) = self.columns.get_mut(name) else { return Ok(()) };
        match cell(name, value) {
            None => column.others += 1,
            Some(_) if matches!(value, AttributeValue::N(_)) => column.numbers += 1,
            Some(cell) => {
                column.texts += 1;
                self.ends_in_a_return |= cell.ends_with('\r');
                self.lines = self.lines.max(lines(cell));
            }
        }
        Ok(())
    }

    /// The names of the columns that hold the id, the parent and the segment. No attribute's name begins with `_`.
    fn own_names(&self) -> [String; 3] {
        ["id", "parent", "segment"].map(|name| match self.columns.contains_key(name) {
            true => format!("_{name}"),
            false => name.to_owned(),
        })
    }

    fn ended(&self) -> Ended {
        let left_out = self.columns.iter().filter(|(_, column)| column.others > 0);
        let own = ["--id", "--parent", "--segment"].into_iter().zip(self.own_names());
        let renamed =
            own.filter(|(_, name)| name.starts_with('_')).flat_map(|(option, name)| [option.to_owned(), name]);
        let numbers = self.columns.iter().filter(|(_, column)| column.numbers > 0 && column.texts == 0);
        let numbers = numbers.flat_map(|(name, _)| ["--number".to_owned(), name.clone()]);
        let guards = self.guards.then(|| "--guard-formulas".to_owned());
        let is_long = self.lines > CELL_LINES_MAX;
        let lines = is_long.then(|| ["--cell-lines".to_owned(), self.lines.to_string()]);
        Ended {
            left_out: left_out.map(|(name, column)| (name.clone(), column.others)).collect(),
            import_options: renamed.chain(numbers).chain(guards).chain(lines.into_iter().flatten()).collect(),
        }
    }

    /// A cell with its guard, if it needs one.
    fn guarded<'c>(&self, cell: &'c str) -> Cow<'c, str> {
        if self.guards && is_guarded(cell) { Cow::Owned(format!("'{cell}")) } else { Cow::Borrowed(cell) }
    }

    fn row(&self, to: &mut Writer<&mut dyn Write>, names: &[&str], node: &Node) -> Result<(), FormatError> {
        let attributes = &node.attributes.0;
        let own =
            [node.node.id.as_str(), node.parent.as_ref().map_or("", Id::as_str), node.segment.as_deref().unwrap_or("")];
        let own = own.into_iter().map(|cell| self.guarded(cell));
        let cells =
            names.iter().map(|name| match attributes.get(*name).and_then(|value| Some((value, cell(name, value)?))) {
                // A number that begins with its sign is what it looks like.
                Some((AttributeValue::N(_), cell)) => Cow::Borrowed(cell),
                Some((_, cell)) => self.guarded(cell),
                None => Cow::Borrowed(""),
            });
        let last = self.ends_in_a_return.then_some(Cow::Borrowed(""));
        to.write_record(own.chain(cells).chain(last).map(|cell| cell.into_owned())).map_err(output)
    }
}

impl Format for Csv {
    fn take(&mut self, record: &Record, _: &mut dyn Write) -> Result<(), FormatError> {
        let Record::Node(node) = record else { return Ok(()) };
        let mut node = node.clone();
        if !self.named.is_empty() {
            node.attributes.0.retain(|name, _| self.named.contains(name));
        }
        for (name, value) in &node.attributes.0 {
            self.count(name, value)?;
        }
        self.ends_in_a_return |= node.segment.as_ref().is_some_and(|segment| segment.ends_with('\r'));
        let own = [Some(node.node.id.as_str()), node.parent.as_ref().map(Id::as_str), node.segment.as_deref()];
        self.lines = own.into_iter().flatten().map(lines).fold(self.lines, u64::max);
        Ok(writeln!(self.nodes, "{}", jsonl::write(&Record::Node(node))?)?)
    }

    fn end(&mut self, to: &mut dyn Write) -> Result<Ended, FormatError> {
        self.nodes.flush()?;
        self.nodes.get_mut().rewind()?;
        let own = self.own_names();
        let filled = self.columns.iter().filter(|(_, column)| column.numbers + column.texts > 0);
        let names: Vec<&str> = filled.map(|(name, _)| name.as_str()).collect();
        let mut rows = WriterBuilder::new().from_writer(to);
        // A column without a name, whose cells are all empty, keeps the return inside of its row.
        let last = self.ends_in_a_return.then_some("");
        let first = own.iter().map(String::as_str).chain(names.iter().copied()).chain(last);
        rows.write_record(first.map(|name| self.guarded(name).into_owned())).map_err(output)?;
        for line in BufReader::new(self.nodes.get_ref()).lines() {
            // The lines are those that this process wrote.
            if let Ok(Record::Node(node)) = jsonl::read(&line?, None) {
                self.row(&mut rows, &names, &node)?;
            }
        }
        rows.flush()?;
        Ok(self.ended())
    }
}

fn lines(cell: &str) -> u64 {
    1 + cell.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// A value as a cell. `None` if an import wouldn't make the same text or number of it.
fn cell<'v>(name: &str, value: &'v AttributeValue) -> Option<&'v str> {
    // An import takes the spaces off the names of columns.
    if name.trim() != name {
        return None;
    }
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text.as_str()).filter(|text| !text.is_empty()),
        AttributeValue::Bool(true) => Some("true"),
        AttributeValue::Bool(false) => Some("false"),
        _ => None,
    }
}

fn output(error: csv::Error) -> FormatError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        kind => std::io::Error::other(format!("{kind:?}")).into(),
    }
}
