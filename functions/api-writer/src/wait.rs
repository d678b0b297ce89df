//! `Prefer: wait`: the answer is held until what was written can be read everywhere.

use std::time::Duration;

use sapwood_core::keys::{NodeRef, Version};
use sapwood_core::model::{Latest, Settings};
use sapwood_core::write::{Command, Outcome};
use sapwood_engine::query::Reader;
use sapwood_http::headers::Wait;
use sapwood_table::{Client, Deadline, Table};

/// The first pause between two looks, and the longest: the fan-out takes some 100 ms on a quiet table.
const FIRST_PAUSE: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What is kept of the time of a request to write its answer.
const RESERVED: Duration = Duration::from_millis(1_500);

/// What the fan-out derives from a write.
#[derive(Clone, Debug)]
pub(crate) enum Derived {
    /// The rows of a node.
    Node(NodeRef),
    /// The copy of a topic's newest revision.
    Copy(Latest, Version),
}

impl Derived {
    /// What is still to be derived from a command with this outcome. Nothing: the stream carries the deletion out.
    pub(crate) fn of(command: &Command, outcome: &Outcome) -> Option<Self> {
        match (outcome, command) {
            (Outcome::Node { node, .. }, _) | (Outcome::Deleted, Command::Delete { node, .. }) => {
                Some(Self::Node(node.clone()))
            }
            (Outcome::Revision { topic, version, .. }, _)
            | (Outcome::Deleted, Command::DeleteRevision { topic, version }) => {
                Some(Self::Copy(topic.clone(), *version))
            }
            (Outcome::Deleted | Outcome::Deleting { .. }, _) => None,
        }
    }
}

/// Returns true if everything is derived before the time is up. A look that fails is as good as one too early: the write is done.
pub(crate) async fn until_derived<T: Table>(
    client: &Client<'_, T, Deadline>,
    settings: &Settings,
    deadline: Deadline,
    wait: Wait,
    derived: &[Derived],
) -> bool {
    let Some(longest) = wait.duration() else { return true };
    // The time of the request counts as well; both are measured by its deadline, which is all the clock that is known here.
    let end = deadline.left().saturating_sub(longest).max(RESERVED);
    let reader = Reader::new(client, settings);
    let mut pause = FIRST_PAUSE;
    for of in derived {
        loop {
            let status = match of {
                Derived::Node(node) => reader.status(node).await,
                Derived::Copy(topic, version) => reader.latest_status(topic, *version).await,
            };
            if status.is_ok_and(|status| status.is_up_to_date()) {
                break;
            }
            let left = deadline.left().saturating_sub(end);
            if left.is_zero() {
                return false;
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    true
}
