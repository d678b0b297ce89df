//! CSV with a column for each level.
//!
//! ```csv
//! Country,State,City,Zip,population
//! US,NE,Omaha,68102,8000
//! ```
//!
//! Each row is the node of its last level that isn't empty. The other columns are its attributes. The levels above are
//! nodes, too: of their own rows, or without attributes. The id of a node is its path, joined by `/`, as in
//! `US/NE/Omaha/68102`; a `/` or `%` inside a cell is written `%2F` or `%25`. So the ids of the same file are the same
//! at every import, and no two paths have the same. The segment is the cell.

use std::collections::VecDeque;
use std::path::Path;

use sapwood_core::keys::{Id, NodeRef, Tenant};
use sapwood_json::Attributes;
use sapwood_keys::Format;

use super::rows::{AttributeColumns, Rows, column};
use crate::fault::quoted;
use crate::sources::{Content, Entry, OpenError};
use crate::{Fault, Location, Node, Options, Record};

/// How the cells of a path are joined to an id. The limit is the id's.
const PATH: Format<'static> = Format::SORT_KEY.separated_by("/").escaping().limited_to(usize::MAX);

/// The rows of a file, each with the nodes above it.
pub(in crate::sources) struct Levels {
    rows: Rows,
    tenant: Option<Tenant>,
    names: Vec<String>,
    levels: Vec<usize>,
    attributes: AttributeColumns,
    /// The path of the row before. What it has in common with the next isn't told again.
    before: Vec<String>,
    ready: VecDeque<Entry>,
}

impl Levels {
    pub(in crate::sources) fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let rows = Rows::open(path, &options.csv)?;
        let mut levels = Vec::new();
        for name in &options.csv.levels {
            let index = column(path, &rows.names, name)?;
            if levels.contains(&index) {
                return Err(OpenError::column_twice(path, name));
            }
            levels.push(index);
        }
        let attributes = AttributeColumns::new(path, &rows.names, &levels, &options.csv.numbers)?;
        let (tenant, names) = (options.tenant.clone(), options.csv.levels.clone());
        Ok(Self { rows, tenant, names, levels, attributes, before: Vec::new(), ready: VecDeque::new() })
    }

    /// Reads a row into `ready`: the nodes above it, and its own.
    fn read(&mut self) -> Option<()> {
        let Self { rows, tenant, names, levels, attributes, before, ready } = self;
        let (line, cells) = rows.next()?;
        let at = Location { file: 0, line };
        let read = cells.and_then(|cells| {
            let path = path(&levels.iter().map(|index| cells[*index]).collect::<Vec<_>>(), names)?;
            let attributes = attributes.read(&cells)?;
            let known = before.iter().zip(&path).take_while(|(before, cell)| before == cell).count();
            for depth in known + 1..path.len() {
                let node = node(&path[..depth], tenant.as_ref(), Attributes::default())?;
                ready.push_back(Entry::new(at, Ok(Content::Implied(node))));
            }
            let node = node(&path, tenant.as_ref(), attributes)?;
            ready.push_back(Entry::new(at, Ok(Content::Record(Record::Node(node)))));
            *before = path.into_iter().map(str::to_owned).collect();
            Ok(())
        });
        if let Err(fault) = read {
            ready.push_back(Entry::new(at, Err(fault)));
        }
        Some(())
    }
}

/// Returns the cells of a path, up to the last that isn't empty.
fn path<'a>(cells: &[&'a str], names: &[String]) -> Result<Vec<&'a str>, Fault> {
    let length = cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
    if length == 0 {
        return Err(Fault::unreadable("all columns of the path are empty; fill in the first at least"));
    }
    match cells[..length].iter().position(|cell| cell.is_empty()) {
        Some(gap) => {
            let message =
                format!("the column {} is empty, and a level below it isn't; fill it in", quoted(&names[gap]));
            Err(Fault::unreadable(message))
        }
        None => Ok(cells[..length].to_vec()),
    }
}

fn node(path: &[&str], tenant: Option<&Tenant>, attributes: Attributes) -> Result<Node, Fault> {
    let id = |path: &[&str]| -> Result<Id, Fault> {
        let refused = |error: &dyn std::fmt::Display| Fault::refused(format!("the path as an id: {error}"));
        let joined = PATH.build(path).map_err(|error| refused(&error))?;
        Id::new(joined).map_err(|error| refused(&error))
    };
    let (above, last) = path.split_at(path.len().saturating_sub(1));
    let parent = if above.is_empty() { None } else { Some(id(above)?) };
    let id = id(path)?;
    // A segment that equals the id says nothing.
    let segment = last.first().filter(|cell| **cell != id.as_str()).map(|cell| (*cell).to_owned());
    Ok(Node { node: NodeRef { tenant: tenant.cloned(), id }, parent, segment, trashed: None, attributes })
}

impl Iterator for Levels {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.ready.is_empty() {
            self.read()?;
        }
        self.ready.pop_front()
    }
}
