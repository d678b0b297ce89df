//! A node's base record.

use thiserror::Error;

use super::Item;
use super::item::{AttributeValue, text, text_of};
use super::own::{DELETING, DeletionMark, UNDER};
use crate::keys::{Id, KeyError, NodeRef, Schema, check_segment};

/// The attribute that the handler writes into a base record to have it placed again.
pub const TOUCHED: &str = "_touched";

/// Why a base record can't be understood. It counts as not there until a good write mends it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// `parent` or `segment` isn't text.
    #[error("the {role} attribute is no string; write it as one, or leave it out")]
    NotText {
        /// `parent` or `segment`, whatever their names are.
        role: &'static str,
    },
    /// No key can be made of the id, the parent or the segment.
    #[error("{role}: {source}")]
    Key {
        /// Which of them.
        role: &'static str,
        /// What is wrong with it.
        source: KeyError,
    },
}

/// A node as its base record describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseNode {
    /// Its parent; a root has none.
    pub parent: Option<Id>,
    /// Its name inside a path, where that isn't the id.
    pub segment: Option<String>,
    /// That it is being deleted.
    pub deleting: Option<DeletionMark>,
    /// The whole item.
    pub item: Item,
}

impl BaseNode {
    /// Reads a base record.
    ///
    /// # Errors
    /// [`Unreadable`] where `parent` or `segment` is of another type than text, empty or too long. Not where the node is
    /// being deleted: then such a parent or segment counts as none, or it would never go.
    pub fn read(item: Item, node: &NodeRef, schema: &Schema) -> Result<Self, Unreadable> {
        let deleting = DeletionMark::read(&item);
        match Self::place(&item, node, schema) {
            Ok((parent, segment)) => Ok(Self { parent, segment, deleting, item }),
            Err(_) if deleting.is_some() => Ok(Self { parent: None, segment: None, deleting, item }),
            Err(unreadable) => Err(unreadable),
        }
    }

    /// Its parent and its segment.
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
        // A segment equal to the id counts as none: the path in a lineage couldn't tell the two apart.
        let segment = segment.filter(|segment| *segment != node.id.as_str()).map(str::to_owned);
        Ok((parent, segment))
    }

    /// Whether the API, or an operation, has put the node under this parent, having seen it there.
    #[must_use]
    pub fn is_under(&self, parent: &Id) -> bool {
        text_of(&self.item, UNDER) == Some(parent.as_str())
    }

    /// The node's name inside a path.
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

/// What a touch writes: the sequence number of the lineage's change and the node whose lineage it is. An equal value
/// would make no stream record, so two changes never write the same.
#[must_use]
pub fn touch_value(sequence: &str, parent: &NodeRef) -> AttributeValue {
    text(format!("{sequence}#{}", parent.id))
}

/// Whether a change of a base record is a touch: nothing but [`TOUCHED`] and [`DELETING`] differs, neither of which any row
/// carries.
#[must_use]
pub fn is_touch(old: Option<&Item>, new: Option<&Item>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let is_ours = |name: &str| name == TOUCHED || name == DELETING;
    let others = |item: &'_ Item| item.keys().filter(|name| !is_ours(name)).count();
    old != new
        && others(old) == others(new)
        && old.iter().all(|(name, value)| is_ours(name) || new.get(name) == Some(value))
}

/// Whether a change of a base record takes back that the node is being deleted. While it was, its rows were left as they
/// were: nobody knows what they lack.
#[must_use]
pub fn is_undelete(old: Option<&Item>, new: Option<&Item>) -> bool {
    old.is_some_and(|old| old.contains_key(DELETING)) && new.is_some_and(|new| !new.contains_key(DELETING))
}
