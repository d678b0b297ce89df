//! What a node has from the nodes above it: [values](fn@inherited), and [grants](fn@grants). Rows aren't asked: the
//! base records themselves say who is above whom ([`read_chain`]).

mod chain;
#[cfg(test)]
mod tests;
mod values;

pub use chain::{Chain, ChainEnd, read_chain};
pub use values::{InheritedValue, Mode, inherited, own_values};

use crate::keys::Id;
use crate::model::{AttributeValue, Item};
use std::collections::BTreeSet;

/// A record that grants something to a principal that was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The node whose record it is.
    pub node: Id,
    /// How many levels that node is above; 0 is the node itself.
    pub levels_up: usize,
    /// The principals that it names, of those that were asked about.
    pub principals: Vec<String>,
}

/// Returns those of these principals that an attribute of a record names: as a text, or in a set or a list of texts, as
/// links do. Anything else grants nothing.
#[must_use]
pub fn granted_to(record: &Item, attribute: &str, principals: &BTreeSet<String>) -> Vec<String> {
    let named: Vec<&String> = match record.get(attribute) {
        Some(AttributeValue::S(one)) => vec![one],
        Some(AttributeValue::Ss(set)) => set.iter().collect(),
        Some(AttributeValue::L(list)) => {
            list.iter().filter_map(|value| if let AttributeValue::S(one) = value { Some(one) } else { None }).collect()
        }
        _ => Vec::new(),
    };
    let asked: BTreeSet<&String> = named.into_iter().filter(|one| principals.contains(*one)).collect();
    asked.into_iter().cloned().collect()
}

/// Returns the grants on a chain, nearest first, each record with [whom it names](granted_to).
#[must_use]
pub fn grants(chain: Chain<Vec<String>>) -> Vec<Grant> {
    let all = chain.nodes.into_iter().enumerate();
    let all = all.map(|(levels_up, (node, principals))| Grant { node, levels_up, principals });
    all.filter(|grant| !grant.principals.is_empty()).collect()
}
