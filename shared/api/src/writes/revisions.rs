//! Revisions.

use sapwood_core::keys::NodeRef;
use sapwood_core::model::{Item, Latest};
use sapwood_core::write::Command;

use super::call::{Asked, Shared, Write};
use crate::contract::{CreateRevision, check_topic};
use crate::problem::{Kind, Problem};

/// `POST /nodes/{id}/revisions/{topic}`
pub(super) struct AppendRevision;

impl Write for AppendRevision {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let Latest { node, topic } = asked.topic()?;
        let topic = checked(node, topic, asked)?;
        Ok(Command::Append { topic, attributes: attributes(asked.body()?, asked)? })
    }
}

/// `PUT /nodes/{id}/revisions/{topic}/{version}`
pub(super) struct AmendRevision;

impl Write for AmendRevision {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let Latest { node, topic } = asked.topic()?;
        let (topic, version) = (checked(node, topic, asked)?, asked.path.version("version")?);
        mutable_revisions(asked.shared)?;
        Ok(Command::Amend { topic, version, attributes: attributes(asked.body()?, asked)? })
    }
}

/// `DELETE /nodes/{id}/revisions/{topic}/{version}`
pub(super) struct DeleteRevision;

impl Write for DeleteRevision {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem> {
        let Latest { node, topic } = asked.topic()?;
        let (topic, version) = (checked(node, topic, asked)?, asked.path.version("version")?);
        mutable_revisions(asked.shared)?;
        Ok(Command::DeleteRevision { topic, version })
    }
}

/// A topic, which must have room for the highest version.
pub(super) fn checked(node: NodeRef, topic: String, asked: &Asked<'_>) -> Result<Latest, Problem> {
    check_topic(&topic, &asked.shared.settings.schema).map_err(|error| Problem::from(error).at("topic"))?;
    Ok(Latest { node, topic })
}

pub(super) fn attributes(revision: CreateRevision, asked: &Asked<'_>) -> Result<Item, Problem> {
    revision.attributes.check_revision(&asked.shared.settings.schema)?;
    Ok(revision.attributes.0)
}

pub(super) fn mutable_revisions(shared: &Shared) -> Result<(), Problem> {
    if shared.own.revisions_mutable {
        return Ok(());
    }
    Err(Problem::new(Kind::RevisionsKept, "revisions are kept as they are in this deployment; append another one"))
}
