//! CSV with a column for the id and one for the parent.
//!
//! ```csv
//! id,parent,segment,name
//! D,,,Drive D
//! V,D,,Volume V
//! d,V,docs,Documents
//! ```

use std::path::Path;

use sapwood_core::keys::{Id, NodeRef, Tenant};

use super::rows::{AttributeColumns, Rows, column};
use crate::sources::{Entry, Found, OpenError};
use crate::{Fault, Location, Node, Options, Record};

/// The names by which a column with the parent's id is recognised.
const PARENT_NAMES: [&str; 2] = ["parent", "parent_id"];

/// The rows of a file.
pub(in crate::sources) struct Columns {
    rows: Rows,
    tenant: Option<Tenant>,
    id: usize,
    parent: usize,
    segment: Option<usize>,
    attributes: AttributeColumns,
}

impl Columns {
    pub(in crate::sources) fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let rows = Rows::open(path, &options.csv)?;
        let names = rows.names();
        let id = column(path, names, options.csv.id.as_deref().unwrap_or("id"))?;
        let usual = PARENT_NAMES.into_iter().find(|name| names.iter().any(|other| other == name));
        let parent = options.csv.parent.as_deref().or(usual).unwrap_or(PARENT_NAMES[0]);
        let parent = column(path, names, parent)?;
        let segment = match &options.csv.segment {
            Some(name) => Some(column(path, names, name)?),
            None => names.iter().position(|name| name == "segment"),
        };
        let used: Vec<usize> = [id, parent].into_iter().chain(segment).collect();
        if let Some((index, _)) = used.iter().enumerate().find(|(at, index)| used[..*at].contains(index)) {
            let column = names[used[index]].clone();
            return Err(OpenError::ColumnTwice { path: path.to_owned(), column });
        }
        let attributes = AttributeColumns::new(path, names, &used, &options.csv.numbers)?;
        Ok(Self { tenant: options.tenant.clone(), id, parent, segment, attributes, rows })
    }
}

impl Iterator for Columns {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let Self { rows, tenant, id, parent, segment, attributes } = self;
        let (line, cells) = rows.next()?;
        let mut faulty_node = None;
        let found = cells.and_then(|cells| {
            let id_of = |index: usize| Id::new(cells[index]).map_err(|error| Fault::refused(error.to_string()));
            let node = NodeRef { tenant: tenant.clone(), id: id_of(*id)? };
            faulty_node = Some(node.clone());
            let parent = if cells[*parent].is_empty() { None } else { Some(id_of(*parent)?) };
            let segment = segment.map(|index| cells[index]).filter(|cell| !cell.is_empty()).map(str::to_owned);
            let attributes = attributes.read(&cells)?;
            Ok(Found::Record(Record::Node(Node { node, parent, segment, trashed: None, attributes })))
        });
        faulty_node = faulty_node.filter(|_| found.is_err());
        Some(Entry { faulty_node, ..Entry::new(Location { file: 0, line }, found) })
    }
}
