//! `Prefer: wait`: an answer is held until what was written can be read everywhere, or a deletion has ended.

use std::time::Duration;

use sapwood_core::keys::{Id, NodeRef, Tenant, Version};
use sapwood_core::model::Latest;
use sapwood_core::write::{Command, Outcome};
use sapwood_engine::query::{Progress, Reader};
use sapwood_http::headers::Wait;
use sapwood_table::{Client, Deadline, RetryPolicy, Table};
use serde::{Deserialize, Serialize};

use crate::state::Shared;

/// The first pause between two looks, and the longest: the fan-out takes some 100 ms on a quiet table.
const FIRST_PAUSE: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How much of the time of a request is kept for writing its answer.
const RESERVED: Duration = Duration::from_millis(1_500);

/// What the fan-out derives from a write, in the caller's tenant. It is kept with the results of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Derived {
    /// The rows of the node of this id.
    Node(String),
    /// The copy of a topic's newest revision: the id, the topic and the version.
    Copy(String, String, u32),
    /// All that an operation deletes, and the rows of the node that it is about: the ids of both.
    Operation(String, String),
}

impl Derived {
    /// What is to be derived from a command with this outcome. Where the stream carries out a deletion, that is the
    /// deletion itself.
    #[must_use]
    pub fn of(command: &Command, outcome: &Outcome) -> Option<Self> {
        match (outcome, command) {
            (Outcome::Node { node, .. }, _) | (Outcome::Deleted, Command::Delete { node, .. }) => {
                Some(Self::Node(node.id.as_str().to_owned()))
            }
            (Outcome::Revision { topic, version, .. }, _)
            | (Outcome::Deleted, Command::DeleteRevision { topic, version }) => {
                Some(Self::Copy(topic.node.id.as_str().to_owned(), topic.topic.clone(), version.number()))
            }
            (Outcome::Deleting { operation, node, .. }, _) => {
                Some(Self::Operation(operation.clone(), node.as_str().to_owned()))
            }
            (Outcome::Deleted, _) => None,
        }
    }

    /// True if it is as it should be. A read that fails counts as one that came too early.
    pub async fn is_right<T: Table, P: RetryPolicy>(&self, reader: &Reader<'_, T, P>, tenant: Option<&Tenant>) -> bool {
        let node = |id: &str| Some(NodeRef { tenant: tenant.cloned(), id: Id::new(id).ok()? });
        let is_right = match self {
            Self::Node(id) => match node(id) {
                Some(node) => reader.is_up_to_date(&node).await,
                None => return true,
            },
            Self::Copy(id, topic, version) => match (node(id), Version::new((*version).into())) {
                (Some(node), Ok(version)) => {
                    let status = reader.latest_status(&Latest { node, topic: topic.clone() }, version).await;
                    status.map(|status| status.is_up_to_date())
                }
                _ => return true,
            },
            Self::Operation(operation, id) => match (reader.operation(tenant, operation).await, node(id)) {
                (Ok(operation), Some(node)) if operation.progress == Progress::Done => {
                    reader.is_up_to_date(&node).await
                }
                (operation, _) => operation.map(|_| false),
            },
        };
        is_right.unwrap_or(false)
    }
}

/// Returns true if everything is derived before the time is up. While waiting is in vain there is one look. A read that
/// fails counts as one that came too early: the write is done.
pub(crate) async fn until_derived<T: Table>(
    client: &Client<'_, T, Deadline>,
    shared: &Shared,
    tenant: Option<&Tenant>,
    deadline: Deadline,
    wait: Wait,
    derived: &[Derived],
) -> bool {
    let Some(longest) = wait.duration() else { return true };
    let now = || shared.source.now().seconds;
    let longest = if shared.waits.are_in_vain(tenant, now()) { Duration::ZERO } else { longest };
    // The client's wait and the time of the request are both measured by the deadline, the only clock here.
    let end = deadline.left().saturating_sub(longest).max(RESERVED);
    let reader = Reader::new(client, &shared.settings);
    let mut pause = FIRST_PAUSE;
    for of in derived {
        loop {
            if of.is_right(&reader, tenant).await {
                break;
            }
            let left = deadline.left().saturating_sub(end);
            if left.is_zero() {
                // A deletion of many nodes takes its time, and says nothing of the fan-out.
                if !longest.is_zero() && !matches!(of, Derived::Operation(..)) {
                    shared.waits.ended_in_vain(tenant, now());
                }
                return false;
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    true
}
