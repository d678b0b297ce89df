//! How much was looked at.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::audit::{Class, Subject};
use sapwood_engine::audit::Page;
use serde_json::{Map, Value, json};

/// How much was looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The number of items that a pass has read. 0: single items were looked at.
    pub(super) items: u64,
    /// How many items of each class there are among them, or among those that were looked at.
    pub(crate) classes: BTreeMap<Class, u64>,
}

/// The names of classes in JSON.
const NAMES: [(Class, &str); 8] = [
    (Class::Node, "nodes"),
    (Class::Lineage, "lineages"),
    (Class::Row, "rows"),
    (Class::Revision, "revisions"),
    (Class::Copy, "copies"),
    (Class::Cursor, "cursors"),
    (Class::Own, "own"),
    (Class::Foreign, "foreign"),
];

impl Seen {
    /// Adds what a page of a pass has read.
    pub(crate) fn add(&mut self, page: &Page) {
        self.items += page.items;
        page.classes.iter().for_each(|(class, count)| *self.classes.entry(*class).or_default() += count);
    }

    /// Adds what is looked at by itself. A history counts as one copy.
    pub(super) fn add_subjects(&mut self, subjects: &BTreeSet<Subject>) {
        for subject in subjects {
            let class = match subject {
                Subject::Node(_) => Class::Node,
                Subject::Row { .. } => Class::Row,
                Subject::History(_) => Class::Copy,
                Subject::Cursor(_) => Class::Cursor,
                Subject::Foreign { .. } => Class::Foreign,
                Subject::Remembered { .. } | Subject::Claim { .. } | Subject::Lane { .. } | Subject::Totals(_) => {
                    Class::Own
                }
            };
            *self.classes.entry(class).or_default() += 1;
        }
    }

    fn of(&self, class: Class) -> u64 {
        self.classes.get(&class).copied().unwrap_or_default()
    }

    pub(super) fn json(&self) -> Map<String, Value> {
        let numbers = NAMES.map(|(class, name)| (name.to_owned(), json!(self.of(class))));
        numbers.into_iter().chain([("items".to_owned(), json!(self.items))]).collect()
    }

    /// Reads what [`Seen::json`] wrote.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let classes = NAMES.into_iter().map(|(class, name)| Some((class, number(name)?)));
        Some(Self { items: number("items")?, classes: classes.collect::<Option<_>>()? })
    }

    pub(super) fn words(&self) -> String {
        let [nodes, rows, copies] = [Class::Node, Class::Row, Class::Copy].map(|class| self.of(class));
        let [nodes, rows, copies] =
            [counted(nodes, "node", "nodes"), counted(rows, "row", "rows"), counted(copies, "copy", "copies")];
        format!("{nodes}, {rows} and {copies}")
    }
}

/// A number, and the word that goes with it.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
