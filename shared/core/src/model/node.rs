//! Base records of nodes.

use std::sync::Arc;

use thiserror::Error;

use super::Item;
use super::copying::COPYING;
use super::cursor::REDRIVEN;
use super::item::{AttributeValue, text, text_of};
use super::reserved::{DELETING, DeletionMark, PUT_BACK, UNDER, Under, life_of};
use super::trash::{TRASHED, Trashed};
use crate::keys::{Id, KeyError, NodeRef, Schema, check_segment};

/// The attribute that the handler writes into a base record so that the node is placed again ([`touch_value`]).
pub const TOUCHED: &str = "_touched";

/// Why a base record can't be read. The handler treats such a node as if it didn't exist until the record is corrected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Unreadable {
    /// `parent` or `segment` isn't a string.
    #[error("the {role} attribute is no string; write it as one, or leave it out")]
    NotText { role: &'static str },
    /// A repair has put the record there, and deletes it again, so that the handler removes what a gone node left.
    #[error("a repair has put this record there, only to delete it again")]
    PutBack,
    /// The parent or the segment can't be part of a key.
    #[error("{role}: {source}")]
    Key { role: &'static str, source: KeyError },
}

/// A node as its base record describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseNode {
    /// The node's parent; a root has none.
    pub parent: Option<Id>,
    /// The node's name inside a path, if that isn't the id.
    pub segment: Option<String>,
    /// The mark of the node's deletion, while it is being deleted.
    pub deleting: Option<DeletionMark>,
    /// How the node was put into the trash, if it is there.
    pub trashed: Option<Trashed>,
    /// The whole base record. Whoever read it and whoever writes rows of it share it, because records can be large.
    pub item: Arc<Item>,
}

impl BaseNode {
    /// Reads a base record.
    ///
    /// ```json
    /// {"PK": "d", "SK": "NODE", "parent": "V", "segment": "pictures", "name": "Folder d"}
    /// ```
    ///
    /// # Errors
    /// [`Unreadable`] if `parent` or `segment` isn't a string, is empty or is too long. A node that is being deleted is
    /// always readable: such a parent or segment counts as none, so that the deletion can finish.
    pub fn read(item: impl Into<Arc<Item>>, node: &NodeRef, schema: &Schema) -> Result<Self, Unreadable> {
        let item = item.into();
        if item.contains_key(PUT_BACK) {
            return Err(Unreadable::PutBack);
        }
        let deleting = DeletionMark::read(&item);
        let (parent, segment) = match Self::place(&item, node, schema) {
            Ok(place) => place,
            Err(_) if deleting.is_some() => (None, None),
            Err(unreadable) => return Err(unreadable),
        };
        let trashed = Trashed::read(&item).filter(|_| parent.is_none());
        Ok(Self { parent, segment, deleting, trashed, item })
    }

    /// True if the record still says that the node was put into the trash, and another client has given it a parent
    /// since. Once that parent goes again, it would count as in the trash.
    #[must_use]
    pub fn was_taken_out_of_trash(&self) -> bool {
        self.parent.is_some() && self.item.contains_key(TRASHED)
    }

    /// The parent that a base record names, if [`BaseNode::read`] can read it.
    #[must_use]
    pub fn parent_in(item: &Item, node: &NodeRef, schema: &Schema) -> Option<Id> {
        if item.contains_key(PUT_BACK) { None } else { Self::place(item, node, schema).ok()?.0 }
    }

    /// True if a base record says that its node was put into the trash, and [`BaseNode::read`] can read it.
    #[must_use]
    pub fn is_in_trash(item: &Item, node: &NodeRef, schema: &Schema) -> bool {
        let names_no_parent = || matches!(Self::place(item, node, schema), Ok((None, _)));
        item.contains_key(TRASHED) && !item.contains_key(PUT_BACK) && names_no_parent()
    }

    /// The parent and the name in paths that a base record gives its node, if [`BaseNode::read`] can read it and the
    /// node isn't in the trash. Whether it is being deleted doesn't count.
    #[must_use]
    pub fn live_place(item: &Item, node: &NodeRef, schema: &Schema) -> Option<(Option<Id>, String)> {
        let (parent, segment) = Self::place(item, node, schema).ok().filter(|_| !item.contains_key(PUT_BACK))?;
        let is_live = parent.is_some() || !item.contains_key(TRASHED);
        is_live.then(|| (parent, segment.unwrap_or_else(|| node.id.as_str().to_owned())))
    }

    fn place(item: &Item, node: &NodeRef, schema: &Schema) -> Result<(Option<Id>, Option<String>), Unreadable> {
        let names = schema.names();
        let parent = match optional_text(item, &names.parent, "parent")? {
            Some(parent) => Some(Id::new(parent).map_err(|source| Unreadable::Key { role: "parent", source })?),
            None => None,
        };
        let segment = optional_text(item, &names.segment, "segment")?;
        if let Some(segment) = segment {
            check_segment(segment).map_err(|source| Unreadable::Key { role: "segment", source })?;
        }
        // A segment that equals the id counts as none: a lineage's path couldn't tell the two apart.
        let segment = segment.filter(|segment| *segment != node.id.as_str()).map(str::to_owned);
        Ok((parent, segment))
    }

    /// The segment that the record has, even if it equals the id and so counts as none: for whoever copies the record.
    #[must_use]
    pub fn written_segment(&self, node: &NodeRef, schema: &Schema) -> Option<String> {
        let own = || text_of(&self.item, &schema.names().segment).filter(|segment| *segment == node.id.as_str());
        self.segment.clone().or_else(|| own().map(str::to_owned))
    }

    /// The node's life, if the base record names it.
    #[must_use]
    pub fn born(&self) -> Option<&str> {
        life_of(&self.item)
    }

    /// The life of this parent under which the API or an operation put the node. `None` if another client did, or
    /// unknown.
    #[must_use]
    pub fn born_of(&self, parent: &Id) -> Option<String> {
        Under::read(&self.item).filter(|under| under.parent == *parent)?.born
    }

    /// Returns the node's name inside a path.
    #[must_use]
    pub fn name<'a>(&'a self, node: &'a NodeRef) -> &'a str {
        self.segment.as_deref().unwrap_or(node.id.as_str())
    }
}

fn optional_text<'a>(item: &'a Item, name: &str, role: &'static str) -> Result<Option<&'a str>, Unreadable> {
    match item.get(name) {
        None => Ok(None),
        Some(_) => text_of(item, name).map(Some).ok_or(Unreadable::NotText { role }),
    }
}

/// Returns the value that a touch writes: the sequence number of the lineage's change and the node whose lineage it is,
/// for example `"0000000000000000000000000000000000012345#V"`. Two changes never write the same value, since a write
/// that changes nothing makes no stream record.
#[must_use]
pub fn touch_value(sequence: &str, parent: &NodeRef) -> AttributeValue {
    text(format!("{sequence}#{}", parent.id))
}

/// Returns true if a change of a base record is a touch: nothing but [`TOUCHED`], [`DELETING`], [`UNDER`] and
/// [`COPYING`] differs, which no row carries.
#[must_use]
pub fn is_touch(old: Option<&Item>, new: Option<&Item>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let is_ours = |name: &str| [TOUCHED, DELETING, UNDER, COPYING].contains(&name);
    let others = |item: &'_ Item| item.keys().filter(|name| !is_ours(name)).count();
    old != new
        && others(old) == others(new)
        && old.iter().all(|(name, value)| is_ours(name) || new.get(name) == Some(value))
}

/// True if a change of a base record takes a deletion back. Rows may be stale: they weren't updated meanwhile.
#[must_use]
pub fn is_undelete(old: Option<&Item>, new: Option<&Item>) -> bool {
    has_mark(old) && new.is_some() && !has_mark(new)
}

/// True if a base record exists and has a mark.
#[must_use]
pub fn has_mark(item: Option<&Item>) -> bool {
    item.is_some_and(|item| DeletionMark::read(item).is_some())
}

/// True if something that is no mark stands in the mark's place.
#[must_use]
pub fn has_unreadable_mark(item: &Item) -> bool {
    item.contains_key(DELETING) && !has_mark(Some(item))
}

/// True if a redrive or a repair wrote this change of a base record, and the node had no mark then. The record that
/// took a mark away may be the one that was lost.
#[must_use]
pub fn shows_no_mark(old: Option<&Item>, new: Option<&Item>) -> bool {
    let Some(new) = new.filter(|new| !has_mark(Some(new))) else { return false };
    let is_new = |name: &str| new.contains_key(name) && new.get(name) != old.and_then(|old| old.get(name));
    is_new(REDRIVEN) || is_new(PUT_BACK)
}
