//! Requests to the HTTP API: the API's own writes on the simulated table, one call at a time.

use std::pin::Pin;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::keys::{Id, NodeRef};
use sapwood_core::model::{AttributeValue, DeletionMode, Item, Settings};
use sapwood_engine::write::{Children, Command, Content, Limits, Patch, Request, Stamp, ValueChange, Writer};
use sapwood_table::Client;

use super::calls::{Shared, SimRetryPolicy, SimTable};

/// One request.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// Creates a node. With `made` the API made the id, otherwise the caller chose it.
    Create { id: String, parent: Option<String>, made: bool },
    /// Moves a node, or makes it a root.
    Move { id: String, parent: Option<String> },
    /// Changes an attribute.
    Rename { id: String, name: u32 },
    /// Deletes a node.
    Delete { id: String, mode: DeletionMode, revisions: bool },
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
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let table = SimTable { calls: Arc::clone(&calls), invocation: number };
        let retry_policy = SimRetryPolicy(calls);
        let session = Client::new(&table, &retry_policy, &settings.schema);
        let limits = Limits { attempts_max: 8, ..Limits::default() };
        let writer = Writer::new(&session, &settings).with(limits, sapwood_core::plan::Rules::default());
        let stamp = Stamp {
            at: format!("2026-01-01T00:00:{number:06}Z"),
            seconds: 1_000,
            by: "somebody".to_owned(),
            token: format!("t{number}"),
        };
        let id = |text: &String| Id::new(text.as_str()).unwrap();
        let name = |name: u32| AttributeValue::N(name.to_string());
        let command = match &asked {
            Asked::Create { id: own, parent, made } => {
                let attributes = Item::from([("name".to_owned(), name(0))]);
                let content = Content { parent: parent.as_ref().map(id), segment: None, attributes };
                Command::Create { node: node(own), is_made_id: *made, content }
            }
            Asked::Move { id: own, parent } => {
                let patch = Patch { parent: Some(parent.as_ref().map(id)), ..Patch::default() };
                Command::Patch { node: node(own), patch }
            }
            Asked::Rename { id: own, name: new } => {
                let attributes = [("name".to_owned(), ValueChange::Set(name(*new)))].into();
                Command::Patch { node: node(own), patch: Patch { attributes, ..Patch::default() } }
            }
            Asked::Delete { id: own, mode, revisions } => {
                let (children, operation) = (Children::With(*mode), format!("o{number}"));
                Command::Delete { node: node(own), children, revisions: *revisions, operation }
            }
        };
        let _ = writer.write(&command, &Request::new(stamp)).await;
    })
}

/// Draws a request on these nodes. An id that the API makes is added to them.
pub(super) fn any(rng: &mut SmallRng, ids: &mut Vec<String>, number: u32) -> Asked {
    let id = ids.choose(rng).unwrap().clone();
    let other = ids.choose(rng).unwrap().clone();
    let parent = Some(other).filter(|_| rng.random_ratio(9, 10));
    match rng.random_range(0..16) {
        0..=5 => {
            let mode = *[
                DeletionMode::Delete,
                DeletionMode::Delete,
                DeletionMode::Adopt,
                DeletionMode::Adopt,
                DeletionMode::Detach,
            ]
            .choose(rng)
            .unwrap();
            Asked::Delete { id, mode, revisions: rng.random_ratio(1, 3) }
        }
        6..=8 => {
            let made = format!("made{number}");
            ids.push(made.clone());
            Asked::Create { id: made, parent: Some(id), made: true }
        }
        9..=11 => Asked::Create { id, parent, made: false },
        12..=14 => Asked::Move { id, parent },
        _ => Asked::Rename { id, name: number },
    }
}
