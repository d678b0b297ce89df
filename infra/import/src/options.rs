//! How a source is to be read.

use sapwood_core::keys::Tenant;
use sapwood_core::model::Settings;

/// The formats of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines, as `sapwood export` writes them ([`jsonl`](crate::sources::jsonl)).
    JsonLines,
    /// CSV: a node a row, with a column for the id and one for the parent, or with a column for each level.
    Csv,
    /// JSON of django-treebeard's `dump_bulk`.
    Treebeard,
    /// An export of DynamoDB to S3, in the format `DYNAMODB_JSON`.
    DynamoDb,
}

/// How a source is to be read. An import goes on only with the options that it began with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format; by default it is told from the name and the first bytes.
    pub format: Option<Format>,
    /// The settings of the table: its names, whether it has tenants, and which attributes its rows carry.
    pub settings: Settings,
    /// The tenant of the records that name none. A table with tenants needs it, unless every record names its own.
    pub tenant: Option<Tenant>,
    /// The identity of the table that is written. A working file goes on only with the same; `None` if it isn't known.
    pub table: Option<String>,
    /// True if a file is a copy of a table: missing parents, cycles and nodes of any depth are taken as well.
    pub as_is: bool,
    /// The meaning of CSV's columns.
    pub csv: CsvOptions,
    /// The meaning of treebeard's fields.
    pub treebeard: TreebeardOptions,
}

/// The meaning of CSV's columns. All others are attributes of type text; an empty cell is no attribute.
#[derive(Clone, Debug, Default)]
pub struct CsvOptions {
    /// The column with the id; by default `id`.
    pub id: Option<String>,
    /// The column with the parent's id; by default `parent` or `parent_id`. An empty cell, `NULL` and `\N` make a root.
    pub parent: Option<String>,
    /// The column with paths such as `Top.Science`; by default `path` where no column has the parent's id.
    pub path: Option<String>,
    /// The column with the segment; by default `segment`, if there is one.
    pub segment: Option<String>,
    /// The columns that are numbers.
    pub numbers: Vec<String>,
    /// The columns of a path, from the top: each is a level. Then `id`, `parent` and `segment` have no meaning.
    pub levels: Vec<String>,
    /// The separator of cells; by default a comma, and a tab in files that end in `.tsv`.
    pub delimiter: Option<u8>,
    /// Most lines of a cell in quotes, so that an open quote doesn't take in the rest; by default
    /// [`CELL_LINES_MAX`](crate::sources::CELL_LINES_MAX).
    pub cell_lines_max: Option<u64>,
    /// True if cells that a spreadsheet would take for formulas are guarded by an apostrophe, which is taken off.
    pub guards_formulas: bool,
}

/// The meaning of treebeard's fields.
#[derive(Clone, Debug, Default)]
pub struct TreebeardOptions {
    /// The field of `data` that becomes the segment; by default none does.
    pub segment: Option<String>,
}
