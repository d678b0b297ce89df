//! What is requested of a node: to be created, replaced, patched, or taken out of the trash.

use super::command::{Content, NewRevision, OnConflict, Patch, Spot};
use super::{Outcome, Refusal};
use crate::keys::{Id, Schema, check_segment};
use crate::model::CopyMark;
use crate::request::Action;

/// What a node has that is created as the top of a copy.
#[derive(Clone, Debug)]
pub(super) struct CopyTop {
    pub(super) mark: CopyMark,
    /// How many levels there are below what is copied.
    pub(super) height: usize,
    /// The operation's record, which is put together with the node.
    pub(super) operation: Action,
    pub(super) outcome: Outcome,
}

/// The requested change of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    Create {
        content: &'a Content,
        is_made_id: bool,
        /// What makes the node the top of a copy.
        top: Option<&'a CopyTop>,
    },
    Replace(&'a Content),
    Patch(&'a Patch),
    /// Takes the node out of the trash.
    Restore {
        parent: Option<&'a Option<Id>>,
        segment: Option<&'a str>,
        spot: Option<&'a Spot>,
        on_conflict: OnConflict,
    },
}

impl<'a> Wanted<'a> {
    /// The parent, if one is named.
    pub(super) fn parent(&self) -> Option<&Id> {
        match self {
            Self::Create { content, .. } | Self::Replace(content) => content.parent.as_ref(),
            Self::Patch(patch) => patch.parent.as_ref().and_then(Option::as_ref),
            Self::Restore { parent, .. } => parent.and_then(Option::as_ref),
        }
    }

    pub(super) fn spot(&self) -> Option<&'a Spot> {
        match *self {
            Self::Create { content, .. } | Self::Replace(content) => content.spot.as_ref(),
            Self::Patch(patch) => patch.spot.as_ref(),
            Self::Restore { spot, .. } => spot,
        }
    }

    /// The revision that is appended with the node.
    pub(super) fn revision(&self) -> Option<&'a NewRevision> {
        match *self {
            Self::Create { content, .. } | Self::Replace(content) => content.revision.as_ref(),
            Self::Patch(patch) => patch.revision.as_ref(),
            Self::Restore { .. } => None,
        }
    }

    /// True if the node comes under the parent of the sibling that it is put next to.
    pub(super) fn takes_parent(&self) -> bool {
        let is_beside = self.spot().is_some_and(|spot| spot.anchor().is_some());
        is_beside
            && match self {
                Self::Create { content, .. } | Self::Replace(content) => content.takes_parent,
                Self::Patch(patch) => patch.parent.is_none(),
                Self::Restore { parent, .. } => parent.is_none(),
            }
    }

    /// True if the node goes back where it was before it was put into the trash.
    pub(super) fn goes_back(&self) -> bool {
        matches!(self, Self::Restore { parent: None, .. }) && !self.takes_parent()
    }

    /// True if the node is put somewhere, which can't be where it is in the trash.
    pub(super) fn is_placed(&self) -> bool {
        match self {
            Self::Patch(patch) => patch.parent.is_some() || patch.spot.is_some(),
            Self::Create { .. } | Self::Replace(_) | Self::Restore { .. } => true,
        }
    }

    pub(super) fn top(&self) -> Option<&'a CopyTop> {
        match self {
            Self::Create { top, .. } => *top,
            _ => None,
        }
    }

    /// True if the caller says what the attribute of this name is to be.
    pub(super) fn names(&self, attribute: &str) -> bool {
        match self {
            Self::Create { content, .. } | Self::Replace(content) => content.attributes.contains_key(attribute),
            Self::Patch(patch) => patch.attributes.contains_key(attribute),
            Self::Restore { .. } => false,
        }
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<(), Refusal> {
        match self {
            Self::Create { content, .. } | Self::Replace(content) => content.check(schema),
            Self::Patch(patch) => patch.check(schema),
            Self::Restore { segment, .. } => Ok(segment.map_or(Ok(()), check_segment)?),
        }
    }

    /// The segment that the node is to have, or none, if the caller says so.
    pub(super) fn segment(&self) -> Option<Option<&'a str>> {
        match *self {
            Self::Create { content, .. } | Self::Replace(content) => Some(content.segment.as_deref()),
            Self::Patch(patch) => patch.segment.as_ref().map(Option::as_deref),
            Self::Restore { segment, .. } => segment.map(Some),
        }
    }

    /// True if the node gets another name where a sibling has its own.
    pub(super) fn may_rename(&self) -> bool {
        OnConflict::Rename
            == match self {
                Self::Create { content, .. } | Self::Replace(content) => content.on_conflict,
                Self::Patch(patch) => patch.on_conflict,
                Self::Restore { on_conflict, .. } => *on_conflict,
            }
    }
}
