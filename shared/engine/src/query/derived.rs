//! What the fan-out derives from a write, and whether it is there yet.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sapwood_core::keys::{Id, NodeRef, Tenant, Version};
use sapwood_core::model::Latest;
use sapwood_core::write::{Command, Outcome};
use sapwood_store::{RetryPolicy, Table};
use serde::{Deserialize, Serialize};

use super::{Progress, ReadError, Reader};

const NODES_MAX: usize = 1_000;

/// The result of a write's fan-out, in the caller's tenant. It is kept with the results of a batch, and a client
/// has it as a token, but for what is below a moved node: its token is that of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Derived {
    /// The rows of the node of this id.
    Node(String),
    /// The rows of the node of this id, and of all that is below it.
    Below(String),
    /// The copy of a topic's newest revision: the id, the topic and the version.
    Copy(String, String, u32),
    /// All that an operation deletes or copies, and the rows of the node that it is about: the ids of both.
    Operation(String, String),
}

/// A look at what is derived, which goes on where the last one stopped.
#[derive(Clone, Debug)]
pub struct Watch {
    derived: Derived,
    /// How far the walk below a moved node has come.
    position: Option<String>,
    /// True if the last look ended because it had seen enough, so that the next one needn't wait.
    pub is_cut: bool,
}

impl Derived {
    /// Returns what is to be derived from a command with this outcome. Where the stream carries out a deletion, that is
    /// the deletion itself. `below`: with a node that may have moved, or got another segment, all that is below it
    /// counts. So it does where a request that is sent again finds nothing to change: the stream may be at it still.
    #[must_use]
    pub fn of(command: &Command, outcome: &Outcome, below: bool) -> Option<Self> {
        match (outcome, command) {
            (Outcome::Node { node, created: false, .. }, command) if below && command.may_move() => {
                Some(Self::Below(node.id.as_str().to_owned()))
            }
            (Outcome::Node { node, .. }, _) | (Outcome::Deleted, Command::Delete { node, .. }) => {
                Some(Self::Node(node.id.as_str().to_owned()))
            }
            (Outcome::Revision { topic, version, .. }, _)
            | (Outcome::Deleted, Command::DeleteRevision { topic, version }) => {
                Some(Self::Copy(topic.node.id.as_str().to_owned(), topic.topic.clone(), version.number()))
            }
            (Outcome::Deleting { operation, node, .. } | Outcome::Copying { operation, node, .. }, _) => {
                Some(Self::Operation(operation.clone(), node.as_str().to_owned()))
            }
            (Outcome::Deleted, _) => None,
        }
    }

    /// Returns what is to be derived besides, from a write of a node that has appended a revision.
    #[must_use]
    pub fn of_revision(outcome: &Outcome) -> Option<Self> {
        let Outcome::Node { node, revision: Some(appended), .. } = outcome else { return None };
        Some(Self::Copy(node.id.as_str().to_owned(), appended.topic.clone(), appended.version.number()))
    }

    /// The same for a consistency token: of a moved node it covers the own rows, and not those of its subtree.
    #[must_use]
    pub fn kept(self) -> Self {
        match self {
            Self::Below(id) => Self::Node(id),
            other => other,
        }
    }

    /// The token by which a client names it: its JSON, in base64url.
    #[must_use]
    pub fn token(&self) -> String {
        // Texts and a number are always JSON.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&self.clone().kept()).unwrap_or_default())
    }

    /// Reads a token; `None` if it is none. Anybody can make one: it says what to look at, in the caller's tenant.
    #[must_use]
    pub fn of_token(token: &str) -> Option<Self> {
        let derived = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        Some(derived).filter(|derived| !matches!(derived, Self::Below(_)))
    }

    /// True if it may be about many nodes.
    #[must_use]
    pub fn is_of_many(&self) -> bool {
        matches!(self, Self::Below(_) | Self::Operation(..))
    }

    /// A look at it from its beginning.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch { derived: self.clone(), position: None, is_cut: false }
    }
}

impl Watch {
    /// True if it is as it should be.
    pub async fn is_right<T: Table, P: RetryPolicy>(
        &mut self,
        reader: &Reader<'_, T, P>,
        tenant: Option<&Tenant>,
    ) -> Result<bool, ReadError> {
        let node = |id: &str| Some(NodeRef { tenant: tenant.cloned(), id: Id::new(id).ok()? });
        match &self.derived {
            Derived::Node(id) => match node(id) {
                Some(node) => reader.is_up_to_date(&node).await,
                None => Ok(true),
            },
            Derived::Below(id) => {
                let Some(node) = node(id) else { return Ok(true) };
                self.is_cut = false;
                let below = reader.below(&node, self.position.as_deref(), NODES_MAX).await?;
                (self.position, self.is_cut) = (below.next, below.is_cut);
                Ok(below.is_up_to_date)
            }
            Derived::Copy(id, topic, version) => match (node(id), Version::new((*version).into())) {
                (Some(node), Ok(version)) => {
                    let status = reader.latest_status(&Latest { node, topic: topic.clone() }, version).await;
                    status.map(|status| status.is_up_to_date())
                }
                _ => Ok(true),
            },
            Derived::Operation(operation, id) => match (reader.operation(tenant, operation).await, node(id)) {
                (Ok(operation), Some(_)) if operation.progress == Progress::Running => Ok(false),
                // An operation is forgotten after a week.
                (Ok(_) | Err(ReadError::Absent { .. }), Some(node)) => reader.is_up_to_date(&node).await,
                (operation, _) => operation.map(|_| true),
            },
        }
    }
}
