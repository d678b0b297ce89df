//! The formats of exports. Each takes one record at a time.

mod csv;
mod graph;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::ValueEnum;
use sapwood_import::Record;
use sapwood_import::sources::jsonl;

use csv::Csv;
use graph::{Graph, Language};

/// The formats, by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// JSON Lines: all nodes and revisions, without loss.
    #[default]
    Jsonl,
    /// CSV: a row for each node. It has a column for each attribute that is a text, a number or a boolean.
    Csv,
    /// Graphviz: nodes, and edges from parents.
    Dot,
    /// Mermaid's flowchart: nodes, and edges from parents.
    Mermaid,
}

/// How records are written.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// CSV: the attributes that are columns; by default all are that fit into cells.
    pub(super) columns: Vec<String>,
    /// CSV: an apostrophe guards cells that a spreadsheet would take for formulas.
    pub(super) guards_formulas: bool,
    /// Graphs: the attributes that stand below the id.
    pub(super) shown: Vec<String>,
}

/// Why a record can't be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FormatError {
    /// The output, or the temporary file, can't be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A value isn't one that JSON can have.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// There are more attributes than columns.
    #[error(
        "the nodes have more than {limit} different attributes: name those that are to be columns with --columns, or use --format jsonl"
    )]
    TooManyColumns { limit: usize },
}

/// The values that a format couldn't hold, and how to read the file again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// The values of each attribute that no cell can hold.
    pub(super) left_out: BTreeMap<String, u64>,
    /// The options with which `sapwood import` reads the file.
    pub(super) import_options: Vec<String>,
}

/// Writes records in one format.
pub(super) trait Format {
    /// Writes a record.
    fn take(&mut self, record: &Record, to: &mut dyn Write) -> Result<(), FormatError>;

    /// Writes what comes after the last record.
    fn end(&mut self, to: &mut dyn Write) -> Result<Ended, FormatError>;
}

/// JSON Lines: all records, without loss.
struct JsonLines;

impl Format for JsonLines {
    fn take(&mut self, record: &Record, to: &mut dyn Write) -> Result<(), FormatError> {
        Ok(writeln!(to, "{}", jsonl::write(record)?)?)
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Ended, FormatError> {
        Ok(Ended::default())
    }
}

impl FormatName {
    /// True if the format has revisions.
    pub(super) fn has_revisions(self) -> bool {
        self == Self::Jsonl
    }

    /// True if the format is a graph.
    pub(super) fn is_graph(self) -> bool {
        matches!(self, Self::Dot | Self::Mermaid)
    }

    /// A writer of this format. `top` is the node whose parent isn't drawn.
    pub(super) fn writer(self, options: Options, top: Option<String>) -> Result<Box<dyn Format>, FormatError> {
        let graph = |language| Graph { language, shown: options.shown, top, has_begun: false };
        Ok(match self {
            Self::Jsonl => Box::new(JsonLines),
            Self::Csv => Box::new(Csv::new(options.columns, options.guards_formulas)?),
            Self::Dot => Box::new(graph(Language::Dot)),
            Self::Mermaid => Box::new(graph(Language::Mermaid)),
        })
    }
}
