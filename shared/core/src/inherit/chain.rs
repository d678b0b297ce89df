//! The nodes from one up to its root, by base records. A lineage may be hours behind, so it only guesses whose records
//! to read together: the records show where the chain leads.

use std::collections::{BTreeMap, BTreeSet};

use crate::keys::{Id, NodeRef, Schema};
use crate::model::{BaseNode, Item, PUT_BACK, Unreadable};
use crate::plan::ancestry::{AncestorPath, Ancestry, PathEnd};
use crate::plan::{Failure, Plan};

/// A node and the nodes above it, nearest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain<V> {
    /// The nodes, the node itself first, each with what was kept of its record. Empty if there is no such node.
    pub nodes: Vec<(Id, V)>,
    /// How the chain ends.
    pub end: ChainEnd,
    /// True if all of it is in the trash. What is above the node that was put there isn't in the chain.
    pub is_in_trash: bool,
    /// True if one of the nodes is being deleted.
    pub is_deleting: bool,
}

/// How a chain ends, after the last of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// The last node is a root, or was put into the trash.
    Root,
    /// The parent of the last node isn't there.
    Absent,
    /// The record of the last node's parent can't be understood, so that node counts as absent.
    Unreadable(Unreadable),
    /// The parent of the last node is in the chain already. Only other clients can make a cycle.
    Cycle,
    /// The node is deeper than trees can be. The nodes above are left out, as in lineages.
    TooDeep,
}

impl<V> Chain<V> {
    /// The chain of a path, with what was kept of each record, or why it doesn't count.
    fn of(path: &AncestorPath, mut records: BTreeMap<Id, Result<V, ChainEnd>>) -> Result<Self, Failure> {
        let mut chain = Self { nodes: Vec::new(), end: ChainEnd::Root, is_in_trash: false, is_deleting: false };
        for edge in &path.edges {
            match records.remove(&edge.node).ok_or(Failure::Again)? {
                Ok(kept) => chain.nodes.push((edge.node.clone(), kept)),
                Err(end) => return Ok(Self { end, ..chain }),
            }
            chain.is_deleting |= edge.deleting;
        }
        chain.is_in_trash = path.trashed().is_some();
        chain.end = match path.end {
            PathEnd::Root => ChainEnd::Root,
            PathEnd::Circle => ChainEnd::Cycle,
            PathEnd::TooLong => ChainEnd::TooDeep,
        };
        Ok(chain)
    }
}

/// The plan that reads a node's chain, strongly consistent, and has `keep` keep something of each record, of which it
/// needs these attributes.
///
/// 1. The node's record and its lineage.
/// 2. The records of all ancestors that the lineage names: 98 at most, and so one request.
/// 3. Where the records lead elsewhere, because nodes have moved and their lineages have yet to follow, it goes on from
///    there in the same way: a record with its lineage, then all that this one names.
///
/// Each request shows one more node of the chain at least, and the chain ends at the 99th: no cycle has it read for
/// ever.
pub fn read_chain<'a, V: Send + 'a>(
    node: &'a NodeRef,
    attributes: impl IntoIterator<Item = String>,
    schema: &'a Schema,
    keep: impl Fn(&Item) -> V + Send + Sync + 'a,
) -> Plan<'a, Chain<V>> {
    let attributes: BTreeSet<String> = attributes.into_iter().chain([PUT_BACK.to_owned()]).collect();
    Plan::new(|io| async move {
        let (mut ancestry, mut records) = (Ancestry::default(), BTreeMap::new());
        let see = |read: &NodeRef, record: Option<&Item>| {
            let kept = match record.map(|record| BaseNode::read(record.clone(), read, schema)) {
                None | Some(Err(Unreadable::PutBack)) => Err(ChainEnd::Absent),
                Some(Err(unreadable)) => Err(ChainEnd::Unreadable(unreadable)),
                Some(Ok(base)) => Ok(keep(&base.item)),
            };
            records.insert(read.id.clone(), kept);
        };
        ancestry.read_on_with(&io, schema, node, &[&node.id], &attributes, see).await?;
        Chain::of(&ancestry.path(&node.id)?, records)
    })
}
