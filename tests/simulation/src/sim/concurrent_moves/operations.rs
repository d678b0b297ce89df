//! The operations of a run, and how each is carried out.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema, Version};
use sapwood_core::model::{AttributeValue, Item, Latest, Settings, text};
use sapwood_core::plan::Rules;
use sapwood_engine::write::{
    Children, Command, Content, Idempotency, Limits, Outcome, Patch, Prefetched, Request, Stamp, Tiebreak, ValueChange,
    WriteError, Writer,
};
use sapwood_store::Client;

use super::super::calls::{Shared, SimRetryPolicy, SimTable};
use super::super::history::Asking;
use super::MoveProfile;
use crate::memory::default_key;
use crate::planted::as_the_api;

/// One operation.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Create {
        id: String,
        is_made_id: bool,
        parent: Option<String>,
    },
    Replace {
        id: String,
        parent: Option<String>,
    },
    /// Changes the parent to this one, to none (`Some(None)`), or not at all (`None`). With `name` the name changes,
    /// too.
    Patch {
        id: String,
        parent: Option<Option<String>>,
        name: bool,
    },
    Delete {
        id: String,
    },
    Append {
        id: String,
    },
}

/// The answer to an operation.
#[derive(Debug)]
pub(super) enum Answer {
    Written { item: Item, version: Option<Version> },
    Deleted,
    Refused(WriteError),
}

/// The items that exist before a run, and the operations of the run.
pub(super) struct Operations {
    pub(super) before: Vec<(ItemKey, Item)>,
    pub(super) operations: Vec<Operation>,
}

/// The attribute that every write changes.
pub(super) const NAME: &str = "name";

const IDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The idempotency key of the operation of this number.
fn idempotency(number: usize) -> Idempotency {
    Idempotency { tenant: None, hash: format!("{number}"), fingerprint: "the request".to_owned() }
}

/// The key of the record that is completed together with the operation of this number.
pub(super) fn record_key(number: usize) -> ItemKey {
    Schema::default().idempotency_key(None, &idempotency(number).hash, 0)
}

/// True if the operation of this number has an idempotency key.
pub(super) fn has_key(number: usize) -> bool {
    number.is_multiple_of(3)
}

pub(super) fn token(number: usize) -> String {
    format!("write {number}")
}

pub(super) fn operations(rng: &mut SmallRng, profile: &MoveProfile) -> Operations {
    let ids = &IDS[..rng.random_range(3..=IDS.len())];
    // Deep trees have more races than flat ones.
    let is_deep = profile.moves_alone || rng.random_bool(0.6);
    let there = if profile.moves_alone { ids.len() } else { rng.random_range(2..=ids.len()) };
    let mut before = Vec::new();
    for (position, id) in ids[..there].iter().enumerate() {
        let above = if is_deep { position.saturating_sub(2)..position } else { 0..position };
        let parent = ids[above].choose(rng).filter(|_| rng.random_ratio(9, 10));
        before.push(record(id, parent.copied(), rng.random_bool(0.8)));
    }
    let deletes = rng.random_bool(0.5);
    let count = rng.random_range(2..=profile.operations_max.max(2));
    let mut names: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    let mut operations = Vec::new();
    for number in 0..count {
        let operation = if profile.moves_alone { a_move(rng, &names) } else { any(rng, &mut names, number, deletes) };
        operations.push(operation);
    }
    Operations { before, operations }
}

/// Returns a node as the API has written it, or, without `is_ours`, as another client has.
fn record(id: &str, parent: Option<&str>, is_ours: bool) -> (ItemKey, Item) {
    let key = Schema::default().node_key(&node(id));
    let mut item = Item::from([("PK".to_owned(), text(&key.pk)), ("SK".to_owned(), text(&key.sk))]);
    item.insert(NAME.to_owned(), text("before"));
    item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
    if is_ours {
        item.insert("_rev".to_owned(), AttributeValue::N("1".to_owned()));
        item.extend(as_the_api(id, parent));
    }
    (default_key(&item).unwrap(), item)
}

fn a_move(rng: &mut SmallRng, names: &[String]) -> Operation {
    let id = names.choose(rng).unwrap().clone();
    Operation::Patch { id, parent: Some(names.choose(rng).cloned()), name: false }
}

fn any(rng: &mut SmallRng, names: &mut Vec<String>, number: usize, deletes: bool) -> Operation {
    let id = names.choose(rng).unwrap().clone();
    let other = names.choose(rng).unwrap().clone();
    let parent = rng.random_ratio(9, 10).then(|| other.clone());
    match rng.random_range(0..20) {
        0 | 1 => Operation::Create { id, is_made_id: false, parent },
        2 => {
            let id = format!("made {number}");
            names.push(id.clone());
            Operation::Create { id, is_made_id: true, parent }
        }
        3 | 4 => Operation::Replace { id, parent },
        5 | 6 if deletes => Operation::Delete { id },
        7 | 8 => Operation::Patch { id, parent: None, name: true },
        9 => Operation::Append { id: names[0].clone() },
        _ => Operation::Patch { id, parent: Some(parent), name: rng.random_bool(0.5) },
    }
}

fn node(id: &str) -> NodeRef {
    Id::new(id).unwrap().into()
}

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

impl Operation {
    fn command(&self, number: usize) -> Command {
        let name = text(token(number));
        let content = |parent: &Option<String>| Content {
            parent: parent.as_deref().map(id),
            segment: None,
            attributes: Item::from([(NAME.to_owned(), name.clone())]),
            ..Content::default()
        };
        match self {
            Self::Create { id, is_made_id, parent } => {
                Command::Create { node: node(id), is_made_id: *is_made_id, content: content(parent) }
            }
            Self::Replace { id, parent } => Command::Replace { node: node(id), content: content(parent) },
            Self::Patch { id: of, parent, name: is_named } => {
                let mut patch = Patch { parent: parent.clone().map(|p| p.as_deref().map(id)), ..Patch::default() };
                if *is_named {
                    patch.attributes.insert(NAME.to_owned(), ValueChange::Set(name));
                }
                Command::Patch { node: node(of), patch }
            }
            Self::Append { id } => {
                let topic = Latest { node: node(id), topic: "Audit".to_owned() };
                Command::Append { topic, attributes: content(&None).attributes }
            }
            Self::Delete { id } => {
                let (children, operation) = (Children::Restrict, "none".to_owned());
                Command::Delete { node: node(id), children, revisions: false, operation }
            }
        }
    }
}

/// Carries out operations one after another, as a batch of the API does. What several of them need is read before.
pub(super) async fn run(
    operations: Vec<(usize, Operation)>,
    invocation: u64,
    calls: Shared,
    rules: Rules,
) -> Vec<(usize, Answer)> {
    let settings = Settings::default();
    let table = SimTable { calls: Arc::clone(&calls), invocation };
    let retry_policy = SimRetryPolicy(Arc::clone(&calls));
    let session = Client::new(&table, &retry_policy, &settings.schema);
    let limits = Limits { attempts_max: 12, revision_page_items_max: 2, ..Limits::default() };
    let writer = Writer::new(&session, &settings).with(limits, rules);
    let commands: Vec<Command> = operations.iter().map(|(number, operation)| operation.command(*number)).collect();
    let mut prefetched = Prefetched::default();
    let since = calls.lock().unwrap().history.now();
    writer.read_ahead(&commands.iter().collect::<Vec<_>>(), &mut prefetched).await;
    let mut answers = Vec::new();
    for ((number, _), command) in operations.into_iter().zip(&commands) {
        let seconds = calls.lock().unwrap().now;
        let at = format!("2026-01-01T00:00:00.{number:03}Z");
        let stamp =
            Stamp { at, seconds, by: "simulation".to_owned(), token: token(number), tiebreak: Tiebreak::default() };
        let idempotency = has_key(number).then(|| idempotency(number));
        let request = Request { idempotency, ..Request::new(stamp) };
        let asking = Asking::Api(Box::new(command.clone()));
        calls.lock().unwrap().history.called(invocation, asking, request.clone(), since);
        let done = writer.write_once(command, &request, Some(&mut prefetched)).await;
        calls.lock().unwrap().history.answered(invocation, done.clone());
        let answer = match done.map(|answered| answered.outcome) {
            Ok(Outcome::Node { item, .. }) => Answer::Written { item, version: None },
            Ok(Outcome::Revision { item, version, .. }) => Answer::Written { item, version: Some(version) },
            Ok(Outcome::Deleted | Outcome::Deleting { .. }) => Answer::Deleted,
            Ok(Outcome::Copying { .. }) => unreachable!("nobody copies here"),
            Err(error) => Answer::Refused(error),
        };
        answers.push((number, answer));
    }
    answers
}
