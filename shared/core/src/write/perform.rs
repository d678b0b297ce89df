//! Carries out one command.

use std::collections::BTreeSet;

use super::attempts::{Attempts, done};
use super::copy::CopyNode;
use super::delete::DeleteNode;
use super::reorder::SiblingPosition;
use super::reorder::making_room::MakingRoom;
use super::save::save;
use super::trash::put_into_trash;
use super::wanted::Wanted;
use super::{Command, Outcome, Patch, Refusal, revision};
use crate::keys::Id;
use crate::plan::{Failure, Io, Plan};

pub(super) struct Carried {
    pub(super) outcome: Result<Outcome, Refusal>,
    /// True if an attempt without an answer may have been carried out, or may be later.
    pub(super) is_unanswered: bool,
    /// Siblings of the node that got other places.
    pub(super) changed: Vec<SiblingPosition>,
}

/// The writes of a batch before this operation that rows don't show yet.
#[derive(Default)]
pub(super) struct BatchBefore {
    pub(super) placed: Vec<SiblingPosition>,
    /// Nodes that they may have put below the node of this one.
    pub(super) children: BTreeSet<Id>,
}

pub(super) async fn carry_out(
    io: &Io,
    mut attempts: Attempts<'_>,
    command: &Command,
    before: BatchBefore,
) -> Result<Carried, Failure> {
    let BatchBefore { placed, children: below } = before;
    let (attempts, siblings) = (&mut attempts, &mut MakingRoom::new(placed));
    let outcome = match command {
        Command::Create { node, is_made_id, content } => {
            save(io, attempts, node, Wanted::create(content, *is_made_id, None), siblings).await
        }
        Command::Replace { node, content } => save(io, attempts, node, Wanted::replace(content), siblings).await,
        Command::Patch { node, patch } => save(io, attempts, node, Wanted::patch(patch), siblings).await,
        Command::Trash { node } => put_into_trash(io, attempts, node).await,
        Command::Restore { node, parent, segment, spot, on_conflict } => {
            let (segment, spot, on_conflict) = (segment.clone().map(Some), spot.clone(), *on_conflict);
            let patch =
                Patch { parent: Some(parent.clone().flatten()), segment, spot, on_conflict, ..Patch::default() };
            save(io, attempts, node, Wanted::restore(&patch, parent.is_some()), siblings).await
        }
        Command::Delete { node, children, revisions, operation } => {
            let deletion = DeleteNode { node, children: *children, revisions: *revisions, operation, below: &below };
            deletion.carry_out(io, attempts).await
        }
        Command::Copy { source, node, is_made_id, parent, segment, spot, on_conflict, operation } => {
            let (parent, segment) = (parent.as_ref().map(Option::as_ref), segment.as_deref());
            let (is_made_id, spot, on_conflict) = (*is_made_id, spot.as_ref(), *on_conflict);
            let copy = CopyNode { source, node, is_made_id, parent, segment, spot, on_conflict, operation };
            copy.carry_out(io, attempts, siblings).await
        }
        Command::Append { topic, attributes } => revision::append(io, attempts, topic, attributes).await,
        Command::Amend { topic, version, attributes } => {
            revision::change(io, attempts, topic, *version, Some(attributes)).await
        }
        Command::DeleteRevision { topic, version } => revision::change(io, attempts, topic, *version, None).await,
    };
    Ok(Carried { outcome: done(outcome)?, is_unanswered: attempts.is_unanswered(), changed: siblings.changed() })
}

pub(super) fn plan<'a>(attempts: Attempts<'a>, command: &'a Command, before: BatchBefore) -> Plan<'a, Carried> {
    Plan::new(move |io| async move { carry_out(&io, attempts, command, before).await })
}
