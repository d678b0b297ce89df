//! CSV with a column for the id and one for the parent.
//!
//! ```csv
//! id,parent,segment,name
//! D,,,Drive D
//! V,D,,Volume V
//! d,V,docs,Documents
//! ```
//!
//! Or with a column of paths, as PostgreSQL's `ltree` has them (`Top.Science.Astronomy`). A path ends with the id after
//! the parent's. Where the path itself is the id, its last label is the segment, and the path before it the parent.

use std::path::Path;

use sapwood_core::keys::{Id, NodeRef, Tenant};

use super::rows::{AttributeColumns, Rows, column};
use crate::fault::quoted;
use crate::sources::{Content, Entry, OpenError};
use crate::{Fault, Location, Node, Options, Record};

/// The names by which a column with the parent's id is recognised.
const PARENT_NAMES: [&str; 2] = ["parent", "parent_id"];

/// The name by which a column with paths is recognised, where no column has the parent's id.
const PATH_NAME: &str = "path";

/// The cells of databases' dumps where there is no parent.
const NO_PARENT: [&str; 3] = ["", "NULL", "\\N"];

/// The rows of a file.
pub(in crate::sources) struct Columns {
    rows: Rows,
    tenant: Option<Tenant>,
    id: usize,
    above: Above,
    segment: Option<usize>,
    attributes: AttributeColumns,
}

/// The column that has the parent.
#[derive(Clone, Copy)]
enum Above {
    /// The column with the parent's id.
    Parent(usize),
    /// The column with the path.
    Path(usize),
}

impl Columns {
    pub(in crate::sources) fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let rows = Rows::open(path, &options.csv)?;
        let names = &rows.names;
        let is_there = |name: &str| names.iter().any(|other| other == name);
        let csv = &options.csv;
        let usual = PARENT_NAMES.into_iter().find(|name| is_there(name));
        let of_paths = csv
            .path
            .as_deref()
            .or((csv.parent.is_none() && usual.is_none() && is_there(PATH_NAME)).then_some(PATH_NAME));
        let above = match of_paths {
            Some(name) => Above::Path(column(path, names, name)?),
            None => Above::Parent(column(path, names, csv.parent.as_deref().or(usual).unwrap_or(PARENT_NAMES[0]))?),
        };
        let id = match (csv.id.as_deref(), above) {
            (None, Above::Path(index)) if !is_there("id") => index,
            (name, _) => column(path, names, name.unwrap_or("id"))?,
        };
        let segment = match &csv.segment {
            Some(name) => Some(column(path, names, name)?),
            None => names.iter().position(|name| name == "segment"),
        };
        let of_above = match above {
            Above::Parent(index) => Some(index),
            // The path may be the id.
            Above::Path(index) => (index != id).then_some(index),
        };
        let used: Vec<usize> = [id].into_iter().chain(of_above).chain(segment).collect();
        if let Some((index, _)) = used.iter().enumerate().find(|(at, index)| used[..*at].contains(index)) {
            return Err(OpenError::column_twice(path, &names[used[index]]));
        }
        let attributes = AttributeColumns::new(path, names, &used, &csv.numbers)?;
        Ok(Self { tenant: options.tenant.clone(), id, above, segment, attributes, rows })
    }
}

impl Iterator for Columns {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let Self { rows, tenant, id, above, segment, attributes } = self;
        let (line, cells) = rows.next()?;
        let mut faulty_node = None;
        let found = cells.and_then(|cells| {
            let id_of = |text: &str| Id::new(text).map_err(|error| Fault::refused(error.to_string()));
            let (own, named) = (cells[*id], segment.map(|index| cells[index]).filter(|cell| !cell.is_empty()));
            if NO_PARENT[1..].contains(&own) {
                return Err(Fault::unreadable(format!("the id is {own}, which stands for nothing; write another one")));
            }
            let node = NodeRef { tenant: tenant.clone(), id: id_of(own)? };
            faulty_node = Some(node.clone());
            let (parent, label) = match *above {
                Above::Parent(index) => (Some(cells[index]).filter(|cell| !NO_PARENT.contains(cell)), None),
                Above::Path(index) => split(cells[index], own, index == *id)?,
            };
            let parent = parent.map(id_of).transpose()?;
            let segment = named.or(label).map(str::to_owned);
            let attributes = attributes.read(&cells)?;
            Ok(Content::Record(Record::Node(Node { node, parent, segment, trashed: None, attributes })))
        });
        faulty_node = faulty_node.filter(|_| found.is_err());
        Some(Entry { faulty_node, ..Entry::new(Location { file: 0, line }, found) })
    }
}

/// Returns the parent that a path names, and the segment if the path is the id.
fn split<'c>(path: &'c str, id: &str, is_id: bool) -> Result<(Option<&'c str>, Option<&'c str>), Fault> {
    if path.split('.').any(|label| label.is_empty() || label.contains('/')) {
        return Err(Fault::unreadable(format!(
            "the path {} isn't one of labels with points between, such as `Top.Science`; name the parent's column with --parent",
            quoted(path)
        )));
    }
    let (before, last) = path.rsplit_once('.').map_or((None, path), |(before, last)| (Some(before), last));
    if is_id {
        return Ok((before, before.map(|_| last)));
    }
    if last != id {
        return Err(Fault::unreadable(format!(
            "the path {} doesn't end with the id {}; name the column of the paths with --id, too, and they are the ids",
            quoted(path),
            quoted(id)
        )));
    }
    Ok((before.map(|before| before.rsplit_once('.').map_or(before, |(_, parent)| parent)), None))
}
