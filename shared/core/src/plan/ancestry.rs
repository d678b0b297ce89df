//! Resolves a node's ancestor path from base records. Lineages only guess the path, so that all of it can be read at
//! once.

use std::collections::{BTreeMap, BTreeSet};

use super::protocol::{Io, Plan};
use super::step::{Need, Read};
use super::task::Failure;
use super::{Rule, Rules};
use crate::keys::{DEPTH_MAX, Id, NodeRef, Schema};
use crate::model::{
    AttributeValue, BaseNode, DELETING, InTrash, Item, Placement, Stored, TRASHED, Trashed, has_mark,
    has_unreadable_mark,
};
use crate::plan::conditions::still_gone;
use crate::request::{Condition, ReadOptions};

/// Most edges of a path: one more than a node has ancestors, for the node's own edge.
const EDGES_MAX: usize = DEPTH_MAX + 1;

/// Most bytes of the records of one path that are read at a time, as answers have them.
const READ_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// The edge from a node to its parent, as the node's base record has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node that the edge begins at.
    pub node: Id,
    /// The condition that the node is still gone, if it has no base record.
    pub gone: Option<Condition>,
    /// The parent attribute, of whatever type.
    pub parent_value: Option<AttributeValue>,
    /// The parent, if the attribute is an id.
    pub parent: Option<Id>,
    /// The node's name in a path; `None` if there is no base record, or it can't be understood.
    pub segment: Option<String>,
    /// How the node was put into the trash, if it is there.
    pub trashed: Option<Trashed>,
    /// The attribute that says so, where the record names no parent.
    pub trashed_value: Option<AttributeValue>,
    /// True while the node is being deleted.
    pub deleting: bool,
    /// The value in the place of the node's mark that is none.
    pub unreadable_mark: Option<AttributeValue>,
}

impl Edge {
    /// Reads the edge that begins at a node from the node's base record.
    #[must_use]
    pub fn read(node: &NodeRef, item: Option<&Item>, schema: &Schema) -> Self {
        let parent_value = item.and_then(|item| item.get(&schema.names().parent)).cloned();
        // A parent attribute that can't be understood names no parent, so the path ends here.
        let only_parent: Item =
            parent_value.iter().map(|value| (schema.names().parent.clone(), value.clone())).collect();
        let parent = BaseNode::read(only_parent, node, schema).ok().and_then(|base| base.parent);
        let base = item.and_then(|item| BaseNode::read(item.clone(), node, schema).ok());
        Self {
            node: node.id.clone(),
            gone: still_gone(item),
            trashed_value: item.filter(|_| parent_value.is_none()).and_then(|item| item.get(TRASHED)).cloned(),
            parent_value,
            parent,
            segment: base.as_ref().map(|base| base.name(node).to_owned()),
            trashed: base.and_then(|base| base.trashed),
            deleting: has_mark(item),
            unreadable_mark: item.filter(|item| has_unreadable_mark(item)).and_then(|item| item.get(DELETING)).cloned(),
        }
    }

    /// The condition that the node still has this parent, or still doesn't exist.
    pub fn same_parent(&self, schema: &Schema) -> Condition {
        if let Some(gone) = &self.gone {
            return gone.clone();
        }
        Condition::All(vec![Condition::Exists, Condition::is(&schema.names().parent, self.parent_value.clone())])
    }

    /// Like [`Edge::same_parent`], and also that the node isn't being deleted, nor put into the trash. Where it has a
    /// parent, that one goes when it is put there.
    pub fn same_parent_and_kept(&self, schema: &Schema, rules: Rules) -> Condition {
        match self.same_parent(schema) {
            Condition::All(mut conditions) => {
                conditions.push(Condition::is(DELETING, self.unreadable_mark.clone()));
                if self.parent_value.is_none() && rules.keeps(Rule::TrashedRoot) {
                    conditions.push(Condition::is(TRASHED, self.trashed_value.clone()));
                }
                Condition::All(conditions)
            }
            condition => condition,
        }
    }
}

/// A node's ancestor path: the node's own edge, its parent's edge, and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct AncestorPath {
    /// The edges, nearest first.
    pub edges: Vec<Edge>,
    /// How the path ends.
    pub end: PathEnd,
}

/// How an ancestor path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// The path ends at a root, at a node that doesn't exist, or at one whose parent can't be understood.
    Root,
    /// The path comes back to one of its nodes.
    Circle,
    /// The path has more edges than a tree has levels.
    TooLong,
}

impl AncestorPath {
    /// Returns the position of a node on the path; 0 is the node that the path begins at.
    #[must_use]
    pub fn position(&self, node: &Id) -> Option<usize> {
        self.edges.iter().position(|edge| edge.node == *node)
    }

    /// Where the node at the beginning of the path stands, as the fan-out places it; `None` where that node isn't
    /// there, or can't be understood. The path counts up to such a node, and to this `child` of the first.
    #[must_use]
    pub fn placement(&self, child: &Id) -> Option<Placement> {
        let end = self.position(child).unwrap_or(self.edges.len()).min(DEPTH_MAX);
        let edges = &self.edges[..end];
        let names: Vec<&String> = edges.iter().map_while(|edge| edge.segment.as_ref()).collect();
        let ancestors = edges.iter().skip(1).take(names.len()).map(|edge| edge.node.clone());
        // Without the farthest, from which paths count.
        let ancestors: Vec<Id> = (!names.is_empty()).then(|| ancestors.collect())?;
        let is_whole = ancestors.len() + 1 == self.edges.len();
        let trash = match self.trashed().filter(|_| is_whole) {
            None => InTrash::No,
            Some(trashed) if ancestors.is_empty() => InTrash::Top(trashed.at.clone()),
            Some(_) => InTrash::Below,
        };
        // There are no paths in the trash.
        let segments = if trash.is_in() { 0 } else { ancestors.len() };
        let path = names.into_iter().take(segments).rev().cloned().collect();
        Some(Placement { ancestors, path, trash, ..Placement::default() })
    }

    /// How the node at the end of the path was put into the trash, if it is there: then all of the path is.
    #[must_use]
    pub fn trashed(&self) -> Option<&Trashed> {
        self.edges.last().filter(|_| self.end == PathEnd::Root)?.trashed.as_ref()
    }
}

/// The known nodes of one tenant: their edges, and the paths that lineages guess.
#[derive(Clone, Debug, Default)]
pub struct Ancestry {
    edges: BTreeMap<Id, Edge>,
    guesses: Vec<Vec<Id>>,
}

impl Ancestry {
    /// Adds an edge, and the lineage of its node if that was read.
    pub fn add(&mut self, edge: Edge, lineage: Option<&Stored>) {
        if let Some(stored) = lineage {
            let above = stored.lineage().map_or(&[][..], |lineage| &lineage.placement.ancestors);
            self.guesses.push(std::iter::once(edge.node.clone()).chain(above.iter().cloned()).collect());
        }
        self.edges.insert(edge.node.clone(), edge);
    }

    /// Returns the ancestor path of a node. The error is the id of the first node on the path whose edge isn't known.
    pub fn resolve(&self, from: &Id) -> Result<AncestorPath, Id> {
        let mut edges: Vec<Edge> = Vec::new();
        let mut next = Some(from);
        while let Some(node) = next {
            if edges.iter().any(|edge| edge.node == *node) {
                return Ok(AncestorPath { edges, end: PathEnd::Circle });
            }
            if edges.len() == EDGES_MAX {
                return Ok(AncestorPath { edges, end: PathEnd::TooLong });
            }
            let edge = self.edges.get(node).ok_or_else(|| node.clone())?;
            edges.push(edge.clone());
            next = edge.parent.as_ref();
        }
        Ok(AncestorPath { edges, end: PathEnd::Root })
    }

    /// Returns the ancestor path of a node of which everything is [read](Self::read_on).
    pub(crate) fn path(&self, from: &Id) -> Result<AncestorPath, Failure> {
        self.resolve(from).map_err(|_| Failure::Again)
    }

    /// Reads what is missing of the ancestor paths of these nodes. `relative` is any node of the same tenant.
    pub(crate) async fn read_on(
        &mut self,
        io: &Io,
        schema: &Schema,
        relative: &NodeRef,
        from: &[&Id],
    ) -> Result<(), Failure> {
        self.read_on_with(io, schema, relative, from, &BTreeSet::new(), |_, _| ()).await
    }

    /// The same; `see` is shown each record that is read, once, with these attributes besides.
    pub(crate) async fn read_on_with(
        &mut self,
        io: &Io,
        schema: &Schema,
        relative: &NodeRef,
        from: &[&Id],
        besides: &BTreeSet<String>,
        mut see: impl FnMut(&NodeRef, Option<&Item>) + Send,
    ) -> Result<(), Failure> {
        while let Some(mut missing) = self.missing(from) {
            let need = missing.need(relative, schema, besides);
            // The attributes besides can be large: a guessed path's come a few at a time, others are read later.
            let is_large = missing.lineages.is_empty() && !besides.is_empty();
            let need = if is_large { need.within(READ_BYTES_MAX) } else { need };
            let read = io.read(need).await?;
            let is_left = |id: &Id| read.left.contains(&schema.node_key(&relative.sibling(id.clone())));
            missing.nodes.retain(|id| !is_left(id));
            for id in &missing.nodes {
                let node = relative.sibling(id.clone());
                see(&node, read.item(&schema.node_key(&node))?);
            }
            missing.learn(&read, relative, schema, self)?;
        }
        Ok(())
    }

    /// Returns what to read before the ancestor paths of these nodes can be resolved; `None` if all edges are known. A
    /// guessed path is read at once. A node that no guess names is read together with its lineage.
    fn missing(&self, from: &[&Id]) -> Option<Missing> {
        let mut missing = Missing::default();
        for unknown in from.iter().filter_map(|id| self.resolve(id).err()) {
            let guess =
                self.guesses.iter().find_map(|guess| Some(&guess[guess.iter().position(|id| *id == unknown)?..]));
            match guess {
                Some(guess) => {
                    missing.nodes.extend(guess.iter().filter(|id| !self.edges.contains_key(*id)).cloned());
                }
                None => {
                    missing.nodes.insert(unknown.clone());
                    missing.lineages.insert(unknown);
                }
            }
        }
        (!missing.nodes.is_empty()).then_some(missing)
    }
}

/// The nodes whose base records an [`Ancestry`] lacks, and those whose lineages it lacks.
#[derive(Default)]
struct Missing {
    nodes: BTreeSet<Id>,
    lineages: BTreeSet<Id>,
}

impl Missing {
    /// The strongly consistent read, with these attributes besides. `relative` is any node of the same tenant.
    fn need(&self, relative: &NodeRef, schema: &Schema, besides: &BTreeSet<String>) -> Need {
        let node_key = |id: &Id| schema.node_key(&relative.sibling(id.clone()));
        let lineage_key = |id: &Id| schema.lineage_key(&relative.sibling(id.clone()));
        let keys = self.nodes.iter().map(node_key).chain(self.lineages.iter().map(lineage_key));
        // A lineage is needed with all of its attributes, and one read has one list of attributes.
        let names = schema.names();
        let own = [names.parent.as_str(), &names.segment, DELETING, TRASHED].map(str::to_owned);
        let attributes = || own.into_iter().chain(besides.iter().cloned()).collect();
        let attributes = self.lineages.is_empty().then(attributes);
        Need { options: ReadOptions { strong: true, attributes }, ..Need::keys(keys) }
    }

    fn learn(self, read: &Read, relative: &NodeRef, schema: &Schema, ancestry: &mut Ancestry) -> Result<(), Failure> {
        for id in self.nodes {
            let node = relative.sibling(id);
            let edge = Edge::read(&node, read.item(&schema.node_key(&node))?, schema);
            let lineage =
                self.lineages.contains(&node.id).then(|| read.item(&schema.lineage_key(&node))).transpose()?;
            ancestry.add(edge, lineage.map(|item| Stored::read(item, schema)).as_ref());
        }
        Ok(())
    }
}

/// The plan that reads the ancestor path of the `parent` of a node, guessed from this base record and this lineage.
pub fn read_ancestor_path<'a>(
    node: &'a NodeRef,
    parent: Id,
    item: &Item,
    lineage: &Stored,
    schema: &'a Schema,
) -> Plan<'a, AncestorPath> {
    let mut ancestry = Ancestry::default();
    ancestry.add(Edge::read(node, Some(item), schema), Some(lineage));
    Plan::new(|io| async move {
        ancestry.read_on(&io, schema, node, &[&parent]).await?;
        ancestry.path(&parent)
    })
}
