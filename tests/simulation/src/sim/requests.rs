//! Requests to the HTTP API: the API's own writes on the simulated table, one call at a time.

use std::pin::Pin;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::keys::{Id, NodeRef};
use sapwood_core::model::{AttributeValue, DeletionMode, Item, Latest, Settings};
use sapwood_core::plan::Rules;
use sapwood_engine::write::{
    Children, Command, Content, Idempotency, Limits, Patch, Request, Spot, Stamp, Turn, ValueChange, Writer,
};
use sapwood_table::Client;

use super::calls::{Shared, SimRetryPolicy, SimTable};
use crate::own;

/// One request.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// Creates a node. With `made` the API made the id, otherwise the caller chose it.
    Create { id: String, parent: Option<String>, made: bool },
    /// Moves a node, or makes it a root.
    Move { id: String, parent: Option<String> },
    /// Changes an attribute.
    Rename { id: String, name: u32 },
    /// Puts a node somewhere among its siblings: first, last, or before or after another node.
    Place { id: String, beside: String, kind: u32 },
    /// Puts a node in the place of one or of none.
    Replace { id: String, parent: Option<String> },
    /// Appends a revision.
    Append { id: String },
    /// Deletes a node. Without a mode it must have no children.
    Delete { id: String, mode: Option<DeletionMode>, revisions: bool },
    /// Sends a request twice, with one idempotency key.
    Twice(Box<Asked>),
}

fn node(id: &str) -> NodeRef {
    Id::new(id).unwrap().into()
}

/// Begins a request. Its answer is ignored, because only what it wrote counts.
pub(super) fn request(
    asked: Asked,
    number: u64,
    calls: Shared,
    settings: Settings,
    rules: Rules,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let (asked, twice) = match asked {
            Asked::Twice(asked) => (*asked, true),
            asked => (asked, false),
        };
        let table = SimTable { calls: Arc::clone(&calls), invocation: number };
        let retry_policy = SimRetryPolicy(calls);
        let session = Client::new(&table, &retry_policy, &settings.schema);
        let limits = Limits { attempts_max: 8, ..Limits::default() };
        let writer = Writer::new(&session, &settings).with(limits, rules);
        let stamp = Stamp {
            at: format!("2026-01-01T00:00:{number:06}Z"),
            seconds: 1_000,
            by: "somebody".to_owned(),
            token: format!("t{number}"),
            turn: Turn::new(number, ""),
        };
        let id = |text: &String| Id::new(text.as_str()).unwrap();
        let attributes = |number: u64| own::attributes(u32::try_from(number % 1_000).unwrap());
        let command = match &asked {
            Asked::Create { id: own, parent, made } => {
                let content =
                    Content { parent: parent.as_ref().map(id), attributes: attributes(number), ..Content::default() };
                Command::Create { node: node(own), is_made_id: *made, content }
            }
            Asked::Move { id: own, parent } => {
                let patch = Patch { parent: Some(parent.as_ref().map(id)), ..Patch::default() };
                Command::Patch { node: node(own), patch }
            }
            Asked::Rename { id: own, name: new } => {
                let new = attributes(u64::from(*new));
                let attributes = new.into_iter().map(|(name, value)| (name, ValueChange::Set(value))).collect();
                Command::Patch { node: node(own), patch: Patch { attributes, ..Patch::default() } }
            }
            Asked::Place { id: own, beside, kind } => {
                let spot = match kind % 4 {
                    0 => Spot::First,
                    1 => Spot::Last,
                    2 => Spot::Before(id(beside)),
                    _ => Spot::After(id(beside)),
                };
                Command::Patch { node: node(own), patch: Patch { spot: Some(spot), ..Patch::default() } }
            }
            Asked::Replace { id: own, parent } => {
                let content =
                    Content { parent: parent.as_ref().map(id), attributes: attributes(number), ..Content::default() };
                Command::Replace { node: node(own), content }
            }
            Asked::Append { id: own } => {
                let topic = Latest { node: node(own), topic: "Audit".to_owned() };
                Command::Append {
                    topic,
                    attributes: Item::from([("text".to_owned(), AttributeValue::N("0".to_owned()))]),
                }
            }
            Asked::Delete { id: own, mode, revisions } => {
                let children = mode.map_or(Children::Restrict, Children::With);
                Command::Delete { node: node(own), children, revisions: *revisions, operation: format!("o{number}") }
            }
            Asked::Twice(_) => unreachable!("it is unwrapped above"),
        };
        let idempotency = Idempotency { tenant: None, hash: format!("k{number}"), fingerprint: String::new() };
        let request = Request { idempotency: twice.then_some(idempotency), ..Request::new(stamp) };
        let _ = writer.write(&command, &request).await;
        if twice {
            let token = format!("t{number} again");
            let again = Request { stamp: Stamp { token, ..request.stamp.clone() }, ..request };
            let _ = writer.write(&command, &again).await;
        }
    })
}

/// Draws a request on these nodes. An id that the API makes is added to them.
pub(super) fn any(rng: &mut SmallRng, ids: &mut Vec<String>, number: u32) -> Asked {
    let id = ids.choose(rng).unwrap().clone();
    let other = ids.choose(rng).unwrap().clone();
    let parent = Some(other).filter(|_| rng.random_ratio(9, 10));
    let asked = match rng.random_range(0..18) {
        0..=5 => {
            let modes = [
                Some(DeletionMode::Delete),
                Some(DeletionMode::Delete),
                Some(DeletionMode::Adopt),
                Some(DeletionMode::Adopt),
                Some(DeletionMode::Detach),
                None,
            ];
            let mode = *modes.choose(rng).unwrap();
            // Without children a deletion of the revisions is marked, too.
            Asked::Delete { id, mode, revisions: rng.random_ratio(1, 3) }
        }
        6..=8 => {
            let made = format!("made{number}");
            ids.push(made.clone());
            Asked::Create { id: made, parent: Some(id), made: true }
        }
        9..=11 => Asked::Create { id, parent, made: false },
        12..=14 => Asked::Move { id, parent },
        15 => match (number % 2, parent) {
            (0, Some(beside)) => Asked::Place { id, beside, kind: number / 2 },
            _ => Asked::Rename { id, name: number },
        },
        16 => Asked::Replace { id, parent },
        _ => Asked::Append { id },
    };
    if rng.random_ratio(1, 8) { Asked::Twice(Box::new(asked)) } else { asked }
}
