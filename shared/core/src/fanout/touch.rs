//! Touches: a write into a base record by which its own stream record has the node placed again.

use super::context::Context;
use crate::keys::{Id, ItemKey, NodeRef};
use crate::model::{TOUCHED, touch_value};
use crate::plan::{Failure, Problem, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition, Update};

/// Touches a child, if it exists, so that it is placed again.
pub(super) fn touch(context: &Context<'_>, node: &NodeRef, child: Id, sequence: &str) -> Task {
    Task::Write(Action::Update {
        key: context.schema().node_key(&node.sibling(child)),
        update: Update::set(TOUCHED, touch_value(sequence, node)),
        condition: if context.rules.keeps(Rule::TouchExists) { Condition::Exists } else { Condition::Always },
    })
}

/// The problems of nodes that the table refuses to touch. No retry would help, so their parent's record isn't kept
/// waiting for them.
pub(super) fn untouched(
    keys: Vec<ItemKey>,
    outcomes: &[Result<TaskOutcome, Failure>],
) -> impl Iterator<Item = Problem> {
    let refused = keys.into_iter().zip(outcomes).filter(|(_, outcome)| **outcome == Err(Failure::Refused));
    refused.map(|(key, _)| {
        let reason = "the record has no room for a touch, so the node keeps its rows where a node above it was before; make it smaller";
        Problem { key, reason: reason.to_owned(), unreadable: false }
    })
}
