//! What a row has of its own, besides its key and the id of the node that it shows.

use std::sync::Arc;

use crate::keys::{Id, SiblingPlace};
use crate::model::Placement;
use crate::model::item::{AttributeValue, Item, number, text, text_of, texts, texts_of};
use crate::model::wire::text_size;

/// The attribute of a row that names the node which it shows.
pub const ID: &str = "_id";
const DEPTH: &str = "_depth";
const PARENT: &str = "_parent";
const ORDER: &str = "_order";
const ANCESTORS: &str = "_ancestors";
pub(super) const TRUNCATED: &str = "_truncated";

/// The attributes that [`own_id`] and [`orphan_row_parent`] read.
pub const ORPHAN_ROW: [&str; 2] = [ID, PARENT];

/// The size of `{"S":…},` in a request.
const TEXT_BYTES: usize = 7;

/// The attributes that a row has of its own.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Contents {
    /// The node's depth below the node in whose partition the row is.
    depth: Option<usize>,
    parent: bool,
    order: Option<SiblingPlace>,
    /// The node's ancestors, nearest first.
    ancestors: Option<Arc<[Id]>>,
    pub(super) trashed: bool,
    pub(super) copies: bool,
}

impl Contents {
    pub(super) fn copies() -> Self {
        Self { copies: true, ..Self::default() }
    }

    pub(super) fn descendant(depth: usize, placement: &Placement) -> Self {
        Self { parent: true, depth: Some(depth), ..Self::ordered(placement) }
    }

    pub(super) fn by_path(depth: usize) -> Self {
        Self { parent: true, depth: Some(depth), ..Self::copies() }
    }

    pub(super) fn ordered(placement: &Placement) -> Self {
        Self { order: placement.order.clone(), ..Self::copies() }
    }

    pub(super) fn linking(placement: &Placement) -> Self {
        let ancestors = &placement.ancestors;
        Self { ancestors: Some(ancestors.as_slice().into()), ..Self::by_path(ancestors.len()) }
    }

    pub(super) fn trashed() -> Self {
        Self { trashed: true, ..Self::copies() }
    }

    pub(super) fn parent_alone() -> Self {
        Self { parent: true, ..Self::default() }
    }

    /// About how many bytes the ancestors take in a request. The other attributes are short.
    pub(super) fn sent_bytes(&self) -> usize {
        self.ancestors.iter().flat_map(|ids| ids.iter()).map(|id| text_size(id.as_str()) + TEXT_BYTES).sum()
    }

    pub(super) fn attributes<'a>(
        &self,
        parent: Option<&'a Id>,
    ) -> impl Iterator<Item = (&'a str, AttributeValue)> + use<'a> {
        let depth = self.depth.map(|depth| (DEPTH, number(depth)));
        let parent = parent.filter(|_| self.parent).map(|parent| (PARENT, text(parent.as_str())));
        let order = self.order.as_ref().map(|place| (ORDER, text(place.as_str())));
        let ancestors = self.ancestors.as_ref().map(|ids| (ANCESTORS, texts(ids.iter().map(Id::as_str))));
        depth.into_iter().chain(parent).chain(order).chain(ancestors)
    }
}

/// The attributes of rows that [`row_parent`], [`is_truncated`], [`own_order`] and [`own_ancestors`] read.
pub const ROW_ATTRIBUTES: [&str; 4] = [PARENT, TRUNCATED, ORDER, ANCESTORS];

/// Returns the parent of the node that an ancestor row or a path row shows.
#[must_use]
pub fn row_parent(row: &Item) -> Option<Id> {
    text_of(row, PARENT).and_then(|id| Id::new(id).ok())
}

/// Returns true if a row or a `v0_` copy had no room for its copied attributes.
#[must_use]
pub fn is_truncated(row: &Item) -> bool {
    row.get(TRUNCATED) == Some(&AttributeValue::Bool(true))
}

/// Returns the node that a row shows, if the item says so.
#[must_use]
pub fn own_id(row: &Item) -> Option<Id> {
    text_of(row, ID).and_then(|id| Id::new(id).ok())
}

/// Returns the missing parent in an entry of the register of orphans.
#[must_use]
pub fn orphan_row_parent(row: &Item) -> Option<&str> {
    text_of(row, PARENT)
}

/// Returns a node's place among its siblings, as its row has it.
#[must_use]
pub fn own_order(row: &Item) -> Option<SiblingPlace> {
    text_of(row, ORDER).and_then(SiblingPlace::parse)
}

/// Returns the ancestors of the node that a link row shows, nearest first.
#[must_use]
pub fn own_ancestors(row: &Item) -> Option<Vec<Id>> {
    texts_of(row, ANCESTORS, |id| Id::new(id).ok())
}
