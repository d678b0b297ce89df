//! Nodes.

use sapwood_core::keys::{Id, NodeRef};
use sapwood_core::write::{Children, Command, Content, NewRevision, Patch};

use super::call::{Asked, Write};
use super::revisions::mutable_revisions;
use crate::caller::Right;
use crate::contract;
use crate::problem::{Kind, Problem};

/// `POST /nodes`
pub(super) struct CreateNode;

impl Write for CreateNode {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let contract::CreateNode { id, parent, segment, attributes, position, revision, on_conflict } = asked.body()?;
        let (takes_parent, parent, on_conflict) = (parent.is_none(), parent.flatten(), on_conflict.into());
        attributes.check_node(&asked.shared.settings.schema)?;
        let is_made_id = id.is_none();
        let id = id.map_or_else(|| Ok(Id::new(asked.shared.own.source.name())?), Ok::<_, Problem>)?;
        let node = NodeRef { tenant: asked.caller.tenant.clone(), id };
        let (spot, revision) = (position.map(Into::into), with_revision(revision, asked)?);
        let content = Content { parent, takes_parent, segment, attributes: attributes.0, spot, revision, on_conflict };
        Ok(Command::Create { node, is_made_id, content })
    }
}

/// `PUT /nodes/{id}`
pub(super) struct ReplaceNode;

impl Write for ReplaceNode {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let node = asked.node("id")?;
        let content = content(asked.body()?, asked)?;
        Ok(Command::Replace { node, content })
    }
}

/// `PATCH /nodes/{id}`
pub(super) struct PatchNode;

impl Write for PatchNode {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let node = asked.node("id")?;
        let patch = patch(asked.merge_patch()?, asked)?;
        Ok(Command::Patch { node, patch })
    }
}

/// `DELETE /nodes/{id}`
pub(super) struct DeleteNode;

impl Write for DeleteNode {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let node = asked.node("id")?;
        let children = asked.parameters.choice("children", contract::Children::WORDS)?.unwrap_or_default();
        let revisions = asked.parameters.choice("revisions", contract::Revisions::WORDS)?.unwrap_or_default();
        delete(node, children, revisions, asked)
    }
}

/// `POST /nodes/{id}/trash`
pub(super) struct TrashNode;

impl Write for TrashNode {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        // A caller who may not delete may not take nodes out of sight either.
        asked.caller.demand(Right::Delete)?;
        let node = asked.node("id")?;
        trash(node, asked)
    }
}

pub(super) fn trash(node: NodeRef, asked: &Asked<'_>) -> Result<Command, Problem> {
    if asked.shared.own.trash {
        return Ok(Command::Trash { node });
    }
    let detail = "this deployment has no trash; delete the node, or switch the trash on (parameter Trash)";
    Err(Problem::new(Kind::NoTrash, detail))
}

/// `POST /nodes/{id}/restore`
pub(super) struct RestoreNode;

impl Write for RestoreNode {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let node = asked.node("id")?;
        Ok(restore(node, asked.body_if_any()?))
    }
}

pub(super) fn restore(node: NodeRef, restore: contract::RestoreNode) -> Command {
    let contract::RestoreNode { parent, segment, position, on_conflict } = restore;
    let (spot, on_conflict) = (position.map(Into::into), on_conflict.into());
    Command::Restore { node, parent, segment, spot, on_conflict }
}

/// `POST /nodes/{id}/copy`
pub(super) struct CopyNode;

impl Write for CopyNode {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let source = asked.node("id")?;
        let contract::CopyNode { parent, segment, position, ids, on_conflict } = asked.body_if_any()?;
        let is_made_id = ids.is_none();
        let id = ids.map_or_else(|| Ok(Id::new(asked.shared.own.source.name())?), Ok::<_, Problem>)?;
        let node = NodeRef { tenant: asked.caller.tenant.clone(), id };
        let operation = asked.shared.own.source.operation();
        let (spot, on_conflict) = (position.map(Into::into), on_conflict.into());
        Ok(Command::Copy { source, node, is_made_id, parent, segment, spot, on_conflict, operation })
    }
}

pub(super) fn content(node: contract::ReplaceNode, asked: &Asked<'_>) -> Result<Content, Problem> {
    let contract::ReplaceNode { parent, segment, attributes, position, revision, on_conflict } = node;
    attributes.check_node(&asked.shared.settings.schema)?;
    let (spot, revision) = (position.map(Into::into), with_revision(revision, asked)?);
    let (attributes, on_conflict) = (attributes.0, on_conflict.into());
    Ok(Content { parent, takes_parent: false, segment, attributes, spot, revision, on_conflict })
}

pub(super) fn patch(node: contract::PatchNode, asked: &Asked<'_>) -> Result<Patch, Problem> {
    let contract::PatchNode { parent, segment, attributes, position, revision, on_conflict } = node;
    let clears = attributes == Some(None);
    let attributes = attributes.flatten().unwrap_or_default();
    attributes.check(&asked.shared.settings.schema)?;
    let (spot, revision) = (position.map(Into::into), with_revision(revision, asked)?);
    let (attributes, on_conflict) = (attributes.0, on_conflict.into());
    Ok(Patch { parent, segment, attributes, clears, spot, revision, on_conflict })
}

fn with_revision(revision: Option<contract::NewRevision>, asked: &Asked<'_>) -> Result<Option<NewRevision>, Problem> {
    let Some(contract::NewRevision { topic, attributes, if_match }) = revision else { return Ok(None) };
    let schema = &asked.shared.settings.schema;
    contract::check_topic(&topic, schema).map_err(|error| Problem::from(error).at("revision.topic"))?;
    attributes.check_revision(schema)?;
    Ok(Some(NewRevision { topic, attributes: attributes.0, if_match }))
}

pub(super) fn delete(
    node: NodeRef,
    children: contract::Children,
    revisions: contract::Revisions,
    asked: &Asked<'_>,
) -> Result<Command, Problem> {
    let revisions = revisions == contract::Revisions::Delete;
    if revisions {
        mutable_revisions(asked.shared).map_err(|problem| problem.at("revisions"))?;
    }
    let children = children.mode().map_or(Children::Restrict, Children::With);
    Ok(Command::Delete { node, children, revisions, operation: asked.shared.own.source.operation() })
}
