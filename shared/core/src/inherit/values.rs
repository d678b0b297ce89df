//! Values of attributes that a node has from the nodes above it.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::Chain;
use crate::keys::Id;
use crate::model::{AttributeValue, Item};

/// The values that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Of each attribute the nearest node's. A stored null is a value: it ends the inheritance.
    #[default]
    Nearest,
    /// All of them, from the root down.
    All,
}

/// A value that a node has, and from where.
#[derive(Clone, Debug, PartialEq)]
pub struct InheritedValue {
    /// The value.
    pub value: AttributeValue,
    /// The node whose record has it.
    pub from: Id,
    /// How many levels that node is above; 0 is the node itself.
    pub levels_up: usize,
}

/// Returns these attributes of a record.
#[must_use]
pub fn own_values(record: &Item, names: &BTreeSet<String>) -> Item {
    names.iter().filter_map(|name| Some((name.clone(), record.get(name)?.clone()))).collect()
}

/// Returns the values of a chain by their attributes. Attributes that no node has are left out.
#[must_use]
pub fn inherited(chain: Chain<Item>, mode: Mode) -> BTreeMap<String, Vec<InheritedValue>> {
    let mut found: BTreeMap<String, Vec<InheritedValue>> = BTreeMap::new();
    for (levels_up, (from, record)) in chain.nodes.into_iter().enumerate() {
        for (name, value) in record {
            let values = found.entry(name).or_default();
            if mode == Mode::All || values.is_empty() {
                values.push(InheritedValue { value, from: from.clone(), levels_up });
            }
        }
    }
    // A chain begins at the node, and a list of all values at the root.
    found.values_mut().for_each(|values| values.reverse());
    found
}
