//! The requests of clients, as values.

use std::collections::{BTreeMap, HashMap};

use super::Refusal;
use super::request::{Preconditions, Tags};
use crate::keys::{Id, NodeRef, Schema, Version};
use crate::model::{AttributeValue, DeletionMode, Item, Latest, is_reserved};

/// A write.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum Command {
    /// Creates a node.
    Create {
        node: NodeRef,
        /// True if the API has just made the id: then nothing can be there or hang under it.
        is_made_id: bool,
        content: Content,
    },
    /// Puts a node, in the place of one or of none. Another parent than before makes it a move.
    Replace { node: NodeRef, content: Content },
    /// Changes what the patch names of a node. A patch that changes nothing writes nothing.
    Patch { node: NodeRef, patch: Patch },
    /// Deletes a node, and with `revisions` its revisions: at once where it has no children and its revisions stay,
    /// else by a mark and the stream.
    Delete {
        node: NodeRef,
        children: Children,
        revisions: bool,
        /// The id of the operation, should the stream have to carry it out.
        operation: String,
    },
    /// Puts a node into the trash, with all that is below it. Where it is there nothing is written.
    Trash { node: NodeRef },
    /// Takes a node out of the trash again. That is a move.
    Restore {
        node: NodeRef,
        /// The parent that it gets, or none (a root). Where it isn't named, the node goes back where it was, or gets
        /// the parent of the sibling that it is put next to.
        parent: Option<Option<Id>>,
        /// The segment that it gets, if not the one that it has.
        segment: Option<String>,
        spot: Option<Spot>,
        on_conflict: OnConflict,
    },
    /// Copies a node with all that is below it: the node at the top at once, and the stream carries out the rest.
    Copy {
        source: NodeRef,
        /// The node at the top of the copy.
        node: NodeRef,
        /// True if the API has just made its id. If not, the ids of all other copies begin with it.
        is_made_id: bool,
        /// The parent that the copy gets, or none (a root). Where it isn't named, the copy gets that of the source, or
        /// of the sibling that it is put next to.
        parent: Option<Option<Id>>,
        /// The segment that the copy gets, if not that of the source.
        segment: Option<String>,
        spot: Option<Spot>,
        on_conflict: OnConflict,
        operation: String,
    },
    /// Appends the next revision of a topic.
    Append { topic: Latest, attributes: Item },
    /// Puts a revision in the place of the one that is there.
    Amend { topic: Latest, version: Version, attributes: Item },
    /// Deletes a revision.
    DeleteRevision { topic: Latest, version: Version },
}

impl Command {
    /// True if it can give a node another parent or another segment, so that the stream has to place its subtree.
    #[must_use]
    pub fn may_move(&self) -> bool {
        match self {
            Self::Replace { .. } | Self::Trash { .. } | Self::Restore { .. } => true,
            Self::Patch { patch, .. } => patch.parent.is_some() || patch.segment.is_some() || patch.spot.is_some(),
            _ => false,
        }
    }

    /// The revision that is appended with the node. A command that is carried out twice appends two.
    #[must_use]
    pub fn revision(&self) -> Option<&NewRevision> {
        match self {
            Self::Create { content, .. } | Self::Replace { content, .. } => content.revision.as_ref(),
            Self::Patch { patch, .. } => patch.revision.as_ref(),
            _ => None,
        }
    }
}

/// All that a caller says of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// Its parent; a root has none.
    pub parent: Option<Id>,
    /// True if it gets the parent of the sibling that it is put next to, and not this one.
    pub takes_parent: bool,
    /// Its name inside a path, where that isn't the id.
    pub segment: Option<String>,
    /// The caller's own attributes.
    pub attributes: Item,
    /// Where it is to be among its siblings, if they are ordered by hand.
    pub spot: Option<Spot>,
    /// The revision that is appended with it.
    pub revision: Option<NewRevision>,
    /// The remedy where a sibling has its name.
    pub on_conflict: OnConflict,
}

/// The remedy where a sibling has the name that a node is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// The write is refused.
    #[default]
    Fail,
    /// The node gets the first free name with a number behind it: `name (2)`.
    Rename,
}

/// The changes of a node (RFC 7396). All else stays as it is, in value and type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// The parent: a new one, or none (a root). If unnamed, a node put next to another gets the parent of that.
    pub parent: Option<Option<Id>>,
    /// The segment: a new one, or none.
    pub segment: Option<Option<String>>,
    /// The attributes.
    pub attributes: BTreeMap<String, ValueChange>,
    /// True if the caller's own attributes are all removed before.
    pub clears: bool,
    /// Where it is to be among its siblings, if they are ordered by hand.
    pub spot: Option<Spot>,
    /// The revision that is appended with the change. The node is then written even where nothing else changes.
    pub revision: Option<NewRevision>,
    /// The remedy where a sibling has the node's name.
    pub on_conflict: OnConflict,
}

/// A revision of a node that is appended in the transaction that writes the node.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRevision {
    /// Its topic.
    pub topic: String,
    /// Its attributes.
    pub attributes: Item,
    /// The entity tags that the topic's newest revision may have.
    pub if_match: Option<Tags>,
}

/// Where a node is put among its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// Directly before this sibling.
    Before(Id),
    /// Directly after this sibling.
    After(Id),
}

impl Spot {
    /// The sibling that it is next to.
    #[must_use]
    pub fn anchor(&self) -> Option<&Id> {
        match self {
            Self::First | Self::Last => None,
            Self::Before(id) | Self::After(id) => Some(id),
        }
    }
}

/// The change of a value by a merge patch.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueChange {
    /// The value is removed.
    Remove,
    /// Another value takes its place.
    Set(AttributeValue),
    /// The value is a map, of which some values change. Any other value counts as an empty map.
    Merge(BTreeMap<String, ValueChange>),
}

/// The fate of the children of a node that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// A node that has children isn't deleted.
    Restrict,
    /// The stream does this with them.
    With(DeletionMode),
}

impl NewRevision {
    pub(super) fn preconditions(&self) -> Preconditions {
        Preconditions { if_match: self.if_match.clone(), if_none_match: None }
    }
}

impl ValueChange {
    /// The value after the change; `None`: it is removed.
    #[must_use]
    pub fn of(&self, value: Option<&AttributeValue>) -> Option<AttributeValue> {
        let changes = match self {
            Self::Remove => return None,
            Self::Set(value) => return Some(value.clone()),
            Self::Merge(changes) => changes,
        };
        let mut map = match value {
            Some(AttributeValue::M(map)) => map.clone(),
            _ => HashMap::new(),
        };
        for (name, change) in changes {
            match change.of(map.get(name)) {
                Some(value) => map.insert(name.clone(), value),
                None => map.remove(name),
            };
        }
        Some(AttributeValue::M(map))
    }
}

/// Checks the names of a revision's attributes, where `parent` is a name like any other.
pub(super) fn check_revision_names(attributes: &Item, schema: &Schema) -> Result<(), Refusal> {
    check_names(attributes.keys(), |name| is_reserved(name, schema))
}

pub(super) fn check_node_names<'a>(names: impl Iterator<Item = &'a String>, schema: &Schema) -> Result<(), Refusal> {
    check_names(names, |name| is_of_nodes(name, schema))
}

/// True for the names in a base record that aren't attributes of the caller's.
pub(super) fn is_of_nodes(name: &str, schema: &Schema) -> bool {
    let own = schema.names();
    is_reserved(name, schema) || *name == own.parent || *name == own.segment
}

fn check_names<'a>(
    mut names: impl Iterator<Item = &'a String>,
    is_reserved: impl Fn(&str) -> bool,
) -> Result<(), Refusal> {
    names.find(|name| is_reserved(name)).map_or(Ok(()), |name| Err(Refusal::ReservedName(name.clone())))
}
