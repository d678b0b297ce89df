//! What is requested of a node: to be created, replaced, patched, or taken out of the trash.

use super::command::{Content, NewRevision, OnConflict, Patch, Spot, check_node_names, check_revision_names};
use super::{Outcome, Refusal};
use crate::keys::{Id, Schema, check_segment};
use crate::model::CopyMark;
use crate::request::Action;

/// The difference of a node that is created as the top of a copy.
#[derive(Clone, Debug)]
pub(super) struct CopyTop {
    pub(super) mark: CopyMark,
    /// How many levels there are below what is copied.
    pub(super) height: usize,
    /// The operation's record, which is put together with the node.
    pub(super) operation: Action,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Change<'a> {
    Create {
        content: &'a Content,
        is_made_id: bool,
        /// Set for the top of a copy.
        top: Option<&'a CopyTop>,
    },
    Replace(&'a Content),
    Patch(&'a Patch),
    /// Takes the node out of the trash, by a patch that names the parent.
    Restore(&'a Patch),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) change: Change<'a>,
    /// The parent, if one is named.
    pub(super) parent: Option<&'a Id>,
    /// True if the caller names a parent, or says that the node is a root.
    pub(super) names_parent: bool,
    /// The segment that the node is to have, or none, if the caller says so.
    pub(super) segment: Option<Option<&'a str>>,
    pub(super) spot: Option<&'a Spot>,
    pub(super) revision: Option<&'a NewRevision>,
    on_conflict: OnConflict,
}

impl<'a> Wanted<'a> {
    pub(super) fn create(content: &'a Content, is_made_id: bool, top: Option<&'a CopyTop>) -> Self {
        Self::whole(Change::Create { content, is_made_id, top }, content)
    }

    pub(super) fn replace(content: &'a Content) -> Self {
        Self::whole(Change::Replace(content), content)
    }

    fn whole(change: Change<'a>, content: &'a Content) -> Self {
        Self {
            change,
            parent: content.parent.as_ref(),
            names_parent: !content.takes_parent,
            segment: Some(content.segment.as_deref()),
            spot: content.spot.as_ref(),
            revision: content.revision.as_ref(),
            on_conflict: content.on_conflict,
        }
    }

    pub(super) fn patch(patch: &'a Patch) -> Self {
        Self {
            change: Change::Patch(patch),
            parent: patch.parent.as_ref().and_then(Option::as_ref),
            names_parent: patch.parent.is_some(),
            segment: patch.segment.as_ref().map(Option::as_deref),
            spot: patch.spot.as_ref(),
            revision: patch.revision.as_ref(),
            on_conflict: patch.on_conflict,
        }
    }

    pub(super) fn restore(patch: &'a Patch, names_parent: bool) -> Self {
        Self { change: Change::Restore(patch), names_parent, ..Self::patch(patch) }
    }

    /// True if the node comes under the parent of the sibling that it is put next to.
    pub(super) fn takes_parent(&self) -> bool {
        !self.names_parent && self.spot.is_some_and(|spot| spot.anchor().is_some())
    }

    /// True if the node goes back where it was before it was put into the trash.
    pub(super) fn goes_back(&self) -> bool {
        matches!(self.change, Change::Restore(_)) && !self.names_parent && !self.takes_parent()
    }

    /// True if the node is put somewhere, which can't be where it is in the trash.
    pub(super) fn is_placed(&self) -> bool {
        !matches!(self.change, Change::Patch(_)) || self.names_parent || self.spot.is_some()
    }

    pub(super) fn top(&self) -> Option<&'a CopyTop> {
        match self.change {
            Change::Create { top, .. } => top,
            _ => None,
        }
    }

    /// True if the caller says what the attribute of this name is to be.
    pub(super) fn names(&self, attribute: &str) -> bool {
        match self.change {
            Change::Create { content, .. } | Change::Replace(content) => content.attributes.contains_key(attribute),
            Change::Patch(patch) | Change::Restore(patch) => patch.attributes.contains_key(attribute),
        }
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<(), Refusal> {
        self.segment.flatten().map_or(Ok(()), check_segment)?;
        match self.change {
            Change::Create { content, .. } | Change::Replace(content) => {
                check_node_names(content.attributes.keys(), schema)?;
            }
            Change::Patch(patch) | Change::Restore(patch) => check_node_names(patch.attributes.keys(), schema)?,
        }
        self.revision.map_or(Ok(()), |revision| check_revision_names(&revision.attributes, schema))
    }

    /// True if the node gets another name where a sibling has its own.
    pub(super) fn may_rename(&self) -> bool {
        self.on_conflict == OnConflict::Rename
    }
}
