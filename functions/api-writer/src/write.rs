//! One write: what it is, how it is carried out, and what it is answered.

use axum::http::StatusCode;
use sapwood_core::keys::{Id, NodeRef, Version};
use sapwood_core::model::{Item, Latest, Settings};
use sapwood_engine::write::{
    Also, Children, Content, Done, Patch, Precondition, Request, Stamp, ValueChange, WriteError, Writer,
};
use sapwood_http::contract::{self, NodeBody, OperationBody, OperationStatus, RevisionBody};
use sapwood_http::headers::{Etag, Preconditions, etag};
use sapwood_http::json::{self, MergePatch};
use sapwood_http::path::encode_segment;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::{RetryPolicy, Table};

use crate::answer::{Answer, Body};
use crate::problem::refused;

/// One write.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create { node: NodeRef, is_made_id: bool, content: Content },
    Replace { node: NodeRef, content: Content },
    Patch { node: NodeRef, patch: Patch },
    Delete { node: NodeRef, children: contract::Children, revisions: contract::Revisions, operation: String },
    Append { topic: Latest, attributes: Item },
    Amend { topic: Latest, version: Version, attributes: Item },
    Remove { topic: Latest, version: Version },
}

/// What the fan-out has to do after a write, for whoever waits for it.
#[derive(Clone, Debug)]
pub(crate) enum Derived {
    Node(NodeRef),
    Copy(Latest, Version),
}

impl Write {
    /// Does it, and says what it is answered. `kept` makes of that what is done besides, in the same transaction.
    pub(crate) async fn carry_out<T: Table, P: RetryPolicy>(
        &self,
        writer: &Writer<'_, T, P>,
        stamp: &Stamp,
        preconditions: &Preconditions,
        settings: &Settings,
        also: Option<Also<'_>>,
    ) -> Result<Answer, Problem> {
        let holds = |item: Option<&Item>| match item.map(|item| self.etag_of(item, settings)).transpose() {
            Ok(now) => preconditions.check(now.as_ref()).is_ok(),
            Err(_) => false,
        };
        let is_plain = preconditions.if_match.is_none() && preconditions.if_none_match.is_none();
        let precondition = if is_plain { Precondition::None } else { Precondition::Holds(&holds) };
        let request = Request { stamp, precondition, also };
        // Boxed, as the call is: the SDK's own futures are deep.
        let done = Box::pin(self.done(writer, &request)).await.map_err(|error| match error {
            WriteError::PreconditionFailed => failed_precondition(preconditions),
            error => refused(error),
        })?;
        self.answer(&done, stamp, settings)
    }

    async fn done<T: Table, P: RetryPolicy>(
        &self,
        writer: &Writer<'_, T, P>,
        request: &Request<'_>,
    ) -> Result<Done, WriteError> {
        let written = match self {
            Self::Create { node, is_made_id, content } => writer.create(node, *is_made_id, content, request).await?,
            Self::Replace { node, content } => writer.replace(node, content, request).await?,
            Self::Patch { node, patch } => writer.patch(node, patch, request).await?,
            Self::Append { topic, attributes } => writer.append(&topic.node, &topic.topic, attributes, request).await?,
            Self::Amend { topic, version, attributes } => {
                writer.amend(&topic.node, &topic.topic, *version, attributes, request).await?
            }
            Self::Delete { node, children, revisions, operation } => {
                let children = children.mode().map_or(Children::Restrict, Children::Release);
                let revisions = *revisions == contract::Revisions::Delete;
                return writer.delete(node, children, revisions, operation, request).await;
            }
            Self::Remove { topic, version } => {
                writer.remove_revision(&topic.node, &topic.topic, *version, request).await?;
                return Ok(Done::Deleted);
            }
        };
        Ok(Done::Written(written))
    }

    /// What it is answered, once this is done.
    pub(crate) fn answer(&self, done: &Done, stamp: &Stamp, settings: &Settings) -> Result<Answer, Problem> {
        match done {
            Done::Deleted => Ok(Answer::empty(StatusCode::NO_CONTENT)),
            Done::Deleting { operation } => Ok(self.begun(operation, stamp)),
            Done::Written(written) => {
                let body = self.body(&written.item, written.version, settings)?;
                let (etag, place) = match &body {
                    Body::Node(body) => (Some(etag(body)?), format!("/nodes/{}", encode_segment(&body.id))),
                    Body::Revision(body) => (Some(etag(body)?), place_of(body)),
                    Body::Operation(_) => (None, String::new()),
                };
                let status = if written.created { StatusCode::CREATED } else { StatusCode::OK };
                Ok(Answer {
                    status: status.as_u16(),
                    location: written.created.then_some(place),
                    etag: etag.map(|etag| etag.to_string()),
                    body: Some(body),
                })
            }
        }
    }

    /// What is still to be derived, once this is done.
    pub(crate) fn derived(&self, answer: &Answer) -> Option<Derived> {
        match (self, &answer.body) {
            (Self::Append { topic, .. }, Some(Body::Revision(body))) => {
                Some(Derived::Copy(topic.clone(), Version::new(body.version.into()).ok()?))
            }
            (Self::Amend { topic, version, .. } | Self::Remove { topic, version }, _) => {
                Some(Derived::Copy(topic.clone(), *version))
            }
            (Self::Create { node, .. } | Self::Replace { node, .. } | Self::Patch { node, .. }, _) => {
                Some(Derived::Node(node.clone()))
            }
            (Self::Delete { node, .. }, None) => Some(Derived::Node(node.clone())),
            (Self::Delete { .. } | Self::Append { .. }, _) => None,
        }
    }

    fn begun(&self, operation: &str, stamp: &Stamp) -> Answer {
        let Self::Delete { node, children, .. } = self else { return Answer::empty(StatusCode::ACCEPTED) };
        let body = OperationBody {
            id: operation.to_owned(),
            status: OperationStatus::Running,
            // A node without children, whose revisions go: one that comes in meanwhile becomes a root.
            mode: if children.mode().is_some() { *children } else { contract::Children::Detach },
            node: node.id.as_str().to_owned(),
            created_at: stamp.at.clone(),
        };
        let location = Some(format!("/operations/{}", encode_segment(operation)));
        Answer { status: StatusCode::ACCEPTED.as_u16(), location, etag: None, body: Some(Body::Operation(body)) }
    }

    fn body(&self, item: &Item, version: Option<Version>, settings: &Settings) -> Result<Body, Problem> {
        match self {
            Self::Create { node, .. }
            | Self::Replace { node, .. }
            | Self::Patch { node, .. }
            | Self::Delete { node, .. } => Ok(Body::Node(NodeBody::of(&node.id, item, settings))),
            Self::Append { topic, .. } => {
                let version = version.ok_or_else(Problem::internal)?;
                Ok(Body::Revision(RevisionBody::of(&topic.node.id, &topic.topic, version, item, settings)))
            }
            Self::Amend { topic, version, .. } | Self::Remove { topic, version } => {
                Ok(Body::Revision(RevisionBody::of(&topic.node.id, &topic.topic, *version, item, settings)))
            }
        }
    }

    /// The entity tag of what is there.
    fn etag_of(&self, item: &Item, settings: &Settings) -> Result<Etag, Problem> {
        match self.body(item, None, settings)? {
            Body::Node(body) => etag(&body),
            Body::Revision(body) => etag(&body),
            Body::Operation(_) => Err(Problem::internal()),
        }
    }
}

fn place_of(body: &RevisionBody) -> String {
    format!("/nodes/{}/revisions/{}/{}", encode_segment(&body.id), encode_segment(&body.topic), body.version)
}

fn failed_precondition(preconditions: &Preconditions) -> Problem {
    let at = if preconditions.if_match.is_some() { "if-match" } else { "if-none-match" };
    Problem::new(Kind::PreconditionFailed, WriteError::PreconditionFailed.to_string()).at(at)
}

/// The core's words for a node of the contract.
pub(crate) fn content(parent: Option<Id>, segment: Option<String>, attributes: json::Attributes) -> Content {
    Content { parent, segment, attributes: attributes.0 }
}

/// The same for a patch.
pub(crate) fn patch(node: contract::PatchNode) -> Patch {
    let changes = |patch: MergePatch| patch.0.into_iter().map(|(name, of)| (name, change(of))).collect();
    Patch { parent: node.parent, segment: node.segment, clear: false, attributes: changes(node.attributes) }
}

fn change(change: json::Change) -> ValueChange {
    match change {
        json::Change::Remove => ValueChange::Remove,
        json::Change::Set(value) => ValueChange::Set(value),
        json::Change::Merge(MergePatch(changes)) => {
            ValueChange::Merge(changes.into_iter().map(|(name, of)| (name, self::change(of))).collect())
        }
    }
}
