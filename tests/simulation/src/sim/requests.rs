//! Requests to the HTTP API: the API's own writes on the simulated table, one call at a time.

use std::pin::Pin;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::keys::{Id, NodeRef, Version};
use sapwood_core::model::{AttributeValue, DeletionMode, ETag, Item, Latest, Settings, text};
use sapwood_core::plan::Rules;
use sapwood_engine::write::{
    Begun, Children, Command, Content, Idempotency, Imported, ImportedRecord, Limits, NewRevision, OnConflict, Patch,
    Preconditions, Prefetched, Request, Spot, Stamp, Tags, Tiebreak, ValueChange, Writer,
};
use sapwood_store::Client;

use super::calls::{Shared, SimRetryPolicy, SimTable};
use super::history::{Answer, Asking, BatchAnswer, Before};
use crate::own;

/// One request.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// Creates a node. With `made` the API made the id, otherwise the caller chose it.
    Create { id: String, parent: Option<String>, made: bool },
    /// Creates a node with a name, or with none but its id.
    CreateNamed { id: String, parent: Option<String>, name: Option<String>, made: bool },
    /// Gives a node a name, or none, and another parent or none, if one is named.
    Segment { id: String, name: Option<String>, parent: Option<Option<String>> },
    /// Puts a node with a name, or with none, in the place of one or of none.
    ReplaceNamed { id: String, parent: Option<String>, name: Option<String> },
    /// Moves a node, or makes it a root.
    Move { id: String, parent: Option<String> },
    /// Changes an attribute.
    Rename { id: String, name: u32 },
    /// Puts a node somewhere among its siblings: first, last, or before or after another node.
    Place { id: String, beside: String, kind: u32 },
    /// Creates a node somewhere among its siblings, in the same ways.
    CreateAt { id: String, parent: Option<String>, beside: String, kind: u32 },
    /// Puts a node in the place of one or of none.
    Replace { id: String, parent: Option<String> },
    /// Asks for a write of a node, and appends a revision with it.
    WithRevision(Box<Asked>),
    /// The same, and the node gets another name where a sibling has its own.
    Renaming(Box<Asked>),
    /// Appends a revision.
    Append { id: String },
    /// Puts a revision in the place of the one that is there.
    Amend { id: String, version: u32 },
    /// Deletes a revision.
    Unrevise { id: String, version: u32 },
    /// Puts a node into the trash.
    Trash { id: String },
    /// Takes a node out of the trash, to where it was, or below this parent, or as a root.
    Restore { id: String, parent: Option<Option<String>> },
    /// The same, and puts it somewhere among its siblings.
    RestoreAt { id: String, parent: Option<Option<String>>, beside: String, kind: u32 },
    /// Copies a node with all that is below it: beside it, or below this parent, or as a root.
    Copy { id: String, top: String, operation: String, parent: Option<Option<String>>, is_made_id: bool },
    /// Deletes a node. Without a mode it must have no children.
    Delete { id: String, mode: Option<DeletionMode>, revisions: bool },
    /// Asks for something if the node is still as it is when the request is sent.
    IfUnchanged(Box<Asked>),
    /// Sends a request twice, with one idempotency key.
    Twice(Box<Asked>),
    /// Sends a request with an idempotency key, and again to another function where this one dies.
    Keyed(Box<Asked>),
    /// Sends a request with an idempotency key to two functions at once.
    Impatient(Box<Asked>),
    /// Asks for these, one after another. What several of them need is read before.
    Batch(Vec<Asked>),
    /// The same with an idempotency key, and again to another function where this one dies.
    KeyedBatch(Vec<Asked>),
    /// Imports nodes that are wholly new: those of these ids, each below this parent.
    Import(Vec<(String, Option<String>)>),
}

impl Asked {
    /// True if the client sends the request again where a function dies.
    pub(super) fn is_sent_again(&self) -> bool {
        matches!(self, Self::Keyed(_) | Self::KeyedBatch(_) | Self::Import(_))
    }

    /// The same with a revision, if it is a write that can have one.
    fn with_revision(self) -> Self {
        match self {
            Self::Create { .. }
            | Self::Replace { .. }
            | Self::Rename { .. }
            | Self::Move { .. }
            | Self::Place { .. }
            | Self::CreateAt { .. } => Self::WithRevision(Box::new(self)),
            other => other,
        }
    }

    fn command(&self, number: u64, values: Values) -> Command {
        let id = |text: &String| Id::new(text.as_str()).unwrap();
        let attributes = |number: u64| values.attributes(number);
        let spot = |beside: &String, kind: u32| match kind % 4 {
            0 => Spot::First,
            1 => Spot::Last,
            2 => Spot::Before(id(beside)),
            _ => Spot::After(id(beside)),
        };
        let content = |parent: &Option<String>| Content {
            parent: parent.as_ref().map(id),
            attributes: attributes(number),
            ..Content::default()
        };
        let topic = |own: &String| Latest { node: node(own), topic: "Audit".to_owned() };
        let said = |number: u64| Item::from([("text".to_owned(), AttributeValue::N(number.to_string()))]);
        let version = |number: u32| Version::new(number.into()).unwrap();
        let restored = |own: &String, parent, spot| {
            let (segment, on_conflict) = (None, OnConflict::Fail);
            Command::Restore { node: node(own), parent, segment, spot, on_conflict }
        };
        match self {
            Self::Create { id: own, parent, made } => {
                Command::Create { node: node(own), is_made_id: *made, content: content(parent) }
            }
            Self::CreateNamed { id: own, parent, name, made } => {
                let content = Content { segment: name.clone(), ..content(parent) };
                Command::Create { node: node(own), is_made_id: *made, content }
            }
            Self::Segment { id: own, name, parent } => {
                let parent = parent.as_ref().map(|parent| parent.as_ref().map(id));
                let patch = Patch { segment: Some(name.clone()), parent, ..Patch::default() };
                Command::Patch { node: node(own), patch }
            }
            Self::ReplaceNamed { id: own, parent, name } => {
                let content = Content { segment: name.clone(), ..content(parent) };
                Command::Replace { node: node(own), content }
            }
            Self::Move { id: own, parent } => {
                let patch = Patch { parent: Some(parent.as_ref().map(id)), ..Patch::default() };
                Command::Patch { node: node(own), patch }
            }
            Self::Rename { id: own, name: new } => {
                let new = attributes(u64::from(*new));
                let attributes = new.into_iter().map(|(name, value)| (name, ValueChange::Set(value))).collect();
                Command::Patch { node: node(own), patch: Patch { attributes, ..Patch::default() } }
            }
            Self::Place { id: own, beside, kind } => {
                let spot = Some(spot(beside, *kind));
                Command::Patch { node: node(own), patch: Patch { spot, ..Patch::default() } }
            }
            Self::CreateAt { id: own, parent, beside, kind } => {
                let mut content = Content { spot: Some(spot(beside, *kind)), ..content(parent) };
                content.attributes.remove(own::ORDER);
                Command::Create { node: node(own), is_made_id: false, content }
            }
            Self::Replace { id: own, parent } => Command::Replace { node: node(own), content: content(parent) },
            Self::WithRevision(asked) => {
                let mut command = asked.command(number, values);
                let revision = NewRevision { topic: "Audit".to_owned(), attributes: said(number), if_match: None };
                match &mut command {
                    Command::Create { content, .. } | Command::Replace { content, .. } => {
                        content.revision = Some(revision);
                    }
                    Command::Patch { patch, .. } => patch.revision = Some(revision),
                    _ => unreachable!("it writes no node"),
                }
                command
            }
            Self::Renaming(asked) => {
                let mut command = asked.command(number, values);
                match &mut command {
                    Command::Create { content: Content { on_conflict, .. }, .. }
                    | Command::Replace { content: Content { on_conflict, .. }, .. }
                    | Command::Patch { patch: Patch { on_conflict, .. }, .. }
                    | Command::Restore { on_conflict, .. }
                    | Command::Copy { on_conflict, .. } => *on_conflict = OnConflict::Rename,
                    _ => {}
                }
                command
            }
            Self::Append { id: own } => Command::Append { topic: topic(own), attributes: said(0) },
            Self::Amend { id: own, version: of } => {
                Command::Amend { topic: topic(own), version: version(*of), attributes: said(number) }
            }
            Self::Unrevise { id: own, version: of } => {
                Command::DeleteRevision { topic: topic(own), version: version(*of) }
            }
            Self::Trash { id: own } => Command::Trash { node: node(own) },
            Self::Restore { id: own, parent } => {
                let parent = parent.as_ref().map(|parent| parent.as_ref().map(id));
                restored(own, parent, None)
            }
            Self::RestoreAt { id: own, parent, beside, kind } => {
                let parent = parent.as_ref().map(|parent| parent.as_ref().map(id));
                restored(own, parent, Some(spot(beside, *kind)))
            }
            Self::Copy { id: own, top, operation, parent, is_made_id } => Command::Copy {
                source: node(own),
                node: node(top),
                is_made_id: *is_made_id,
                parent: parent.as_ref().map(|parent| parent.as_ref().map(id)),
                segment: None,
                spot: None,
                on_conflict: OnConflict::Fail,
                operation: operation.clone(),
            },
            Self::Delete { id: own, mode, revisions } => {
                let children = mode.map_or(Children::Restrict, Children::With);
                Command::Delete { node: node(own), children, revisions: *revisions, operation: format!("o{number}") }
            }
            Self::IfUnchanged(asked) | Self::Twice(asked) | Self::Keyed(asked) | Self::Impatient(asked) => {
                asked.command(number, values)
            }
            Self::Batch(_) | Self::KeyedBatch(_) | Self::Import(_) => unreachable!("several commands"),
        }
    }

    /// The node that the request wants unchanged.
    fn unchanged(&self) -> Option<NodeRef> {
        match self {
            Self::IfUnchanged(asked) => match asked.command(0, Values::Any) {
                Command::Create { node, .. }
                | Command::Replace { node, .. }
                | Command::Patch { node, .. }
                | Command::Trash { node }
                | Command::Restore { node, .. }
                | Command::Delete { node, .. } => Some(node),
                _ => None,
            },
            Self::Twice(asked) | Self::Keyed(asked) | Self::Impatient(asked) => asked.unchanged(),
            _ => None,
        }
    }
}

/// A request that is sent. Its number makes it what it is: one that is sent again has the same.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) asked: Asked,
    pub(super) number: u64,
    pub(super) values: Values,
}

/// By what the nodes that are written are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// By numbers and texts.
    Any,
    /// By texts or nothing, so that there is room for others by hand.
    Texts,
}

impl Values {
    fn attributes(self, number: u64) -> Item {
        let number = u32::try_from(number % 1_000).unwrap();
        match self {
            Self::Any => own::attributes(number),
            Self::Texts => own::texts(number),
        }
    }
}

fn node(id: &str) -> NodeRef {
    Id::new(id).unwrap().into()
}

/// Begins a request. The history takes its answer.
pub(super) fn request(
    sent: Sent,
    invocation: u64,
    calls: Shared,
    settings: Arc<Settings>,
    rules: Rules,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let Sent { asked, number, values } = sent;
        let table = SimTable { calls: Arc::clone(&calls), invocation };
        let retry_policy = SimRetryPolicy(Arc::clone(&calls));
        let session = Client::new(&table, &retry_policy, &settings.schema);
        let limits = Limits { attempts_max: 8, ..Limits::default() };
        let writer = Writer::new(&session, &settings).with(limits, rules);
        let seconds = calls.lock().unwrap().now;
        let token = if invocation == number { format!("t{number}") } else { format!("t{number} by {invocation}") };
        let stamp = Stamp {
            at: format!(
                "2026-01-01T{:02}:{:02}:{:02}.{:03}Z",
                number / 3_600_000,
                number / 60_000 % 60,
                number / 1_000 % 60,
                number % 1_000
            ),
            seconds,
            by: "somebody".to_owned(),
            tiebreak: Tiebreak::new(seconds * 1_000_000 + number, &token),
            token,
        };
        let answer = async |command: &Command, request: &Request, since: usize, prefetched: Option<&mut Prefetched>| {
            let asking = Asking::Api(Box::new(command.clone()));
            calls.lock().unwrap().history.called(invocation, asking, request.clone(), since);
            let answer = Answer::from(writer.write_once(command, request, prefetched).await);
            let is_final = answer.is_final();
            calls.lock().unwrap().history.answered(invocation, answer);
            is_final
        };
        let since = calls.lock().unwrap().seen_since();
        match &asked {
            Asked::Batch(operations) | Asked::KeyedBatch(operations) => {
                let key = matches!(asked, Asked::KeyedBatch(_)).then(|| format!("k{number}"));
                let answered = |answer: BatchAnswer| calls.lock().unwrap().history.batch_answered(invocation, answer);
                let claim = match &key {
                    None => None,
                    Some(key) => {
                        let (key, parts) = (key.clone(), operations.len());
                        calls.lock().unwrap().history.batch_called(invocation, key.clone(), parts, seconds);
                        match writer.begin(&idempotency(key), &stamp).await {
                            Ok(Begun::Claimed(claim)) => Some(claim),
                            Ok(Begun::Kept(_)) => return answered(BatchAnswer::Kept),
                            Err(error) => return answered(error.into()),
                        }
                    }
                };
                let commands: Vec<Command> = (0..)
                    .zip(operations)
                    .map(|(part, operation)| operation.command(number + 100 * part, values))
                    .collect();
                let mut prefetched = Prefetched::default();
                writer.read_ahead(&commands.iter().collect::<Vec<_>>(), &mut prefetched).await;
                let (mut is_final, mut since) = (true, since);
                for (part, command) in (0..).zip(&commands) {
                    let token = format!("{} part {part}", stamp.token);
                    let stamp = Stamp { token, tiebreak: Tiebreak { part, ..stamp.tiebreak }, ..stamp.clone() };
                    let idempotency = key.as_ref().map(|key| idempotency(format!("{key} part {part}")));
                    let request = Request { idempotency, ..Request::new(stamp) };
                    is_final &= answer(command, &request, since, Some(&mut prefetched)).await;
                    since = calls.lock().unwrap().history.read_since(invocation, since);
                }
                if let Some(claim) = claim {
                    // A claim that can't be completed or given back runs out by itself.
                    let end = if is_final { writer.complete(&claim, &[1]).await } else { writer.release(&claim).await };
                    answered(BatchAnswer::Done { is_settled: end.is_ok() });
                }
            }
            Asked::Import(nodes) => {
                for (id, parent) in nodes {
                    let item = imported(id, parent.as_deref(), values.attributes(number), &settings);
                    let before = calls.lock().unwrap().history.import_before(number, &item);
                    if before == Before::Written {
                        continue;
                    }
                    let asking = Asking::Import(number, item.clone());
                    calls.lock().unwrap().history.called(invocation, asking, Request::new(stamp.clone()), since);
                    let answer = import(&writer, &node(id), &item, before, stamp.seconds, &settings).await;
                    calls.lock().unwrap().history.answered(invocation, answer);
                }
            }
            asked => {
                let is_keyed = matches!(asked, Asked::Twice(_) | Asked::Keyed(_) | Asked::Impatient(_));
                let key = idempotency(format!("k{number}"));
                let preconditions =
                    asked.unchanged().map(|node| if_match(&calls, &node, &settings)).unwrap_or_default();
                let request =
                    Request { idempotency: is_keyed.then_some(key), preconditions, ..Request::new(stamp.clone()) };
                let command = asked.command(number, values);
                answer(&command, &request, since, None).await;
                if matches!(asked, Asked::Twice(_)) {
                    let token = format!("{} again", stamp.token);
                    let (seconds, since) = {
                        let calls = calls.lock().unwrap();
                        (calls.now, calls.seen_since())
                    };
                    let again = Request { stamp: Stamp { token, seconds, ..stamp }, ..request };
                    answer(&command, &again, since, None).await;
                }
            }
        }
    })
}

fn idempotency(hash: String) -> Idempotency {
    Idempotency { tenant: None, hash, fingerprint: String::new() }
}

/// That a node is what it is now, or that there is none.
fn if_match(calls: &Shared, node: &NodeRef, settings: &Settings) -> Preconditions {
    let calls = calls.lock().unwrap();
    match calls.memory.get(&settings.schema.node_key(node)) {
        Some(item) => {
            let tag = ETag::of(item, &settings.schema);
            Preconditions { if_match: Some(Tags::These(vec![tag])), ..Preconditions::default() }
        }
        None => Preconditions { if_none_match: Some(Tags::Any), ..Preconditions::default() },
    }
}

/// The record that an import has of a node.
fn imported(id: &str, parent: Option<&str>, attributes: Item, settings: &Settings) -> Item {
    let key = settings.schema.node_key(&node(id));
    let mut item = Item::from([("PK".to_owned(), text(&key.pk)), ("SK".to_owned(), text(&key.sk))]);
    item.extend(attributes);
    item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
    item
}

/// Looks at a record that is being deleted.
const LOOKS_MAX: u32 = 3;

/// Imports a node as `sapwood import` does.
async fn import(
    writer: &Writer<'_, SimTable, SimRetryPolicy>,
    node: &NodeRef,
    item: &Item,
    before: Before,
    now: u64,
    settings: &Settings,
) -> Answer {
    let key = settings.schema.node_key(node);
    let (since, may_be_written) = if let Before::Sent(since) = before { (since, true) } else { (now, false) };
    let record = ImportedRecord { node, key, item: item.clone(), since, may_be_written, now, looks_max: LOOKS_MAX };
    match writer.import(record).await {
        Ok(Imported::Written) => Answer::Imported,
        Ok(Imported::Another) => Answer::Another,
        Ok(Imported::BeingDeleted) => Answer::BeingDeleted,
        // A read that fails ends the command, whatever has become of the write before.
        Ok(Imported::Unknown(_) | Imported::OutOfTime) | Err(_) => Answer::Unknown,
    }
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

/// Draws a request on `n`, which can be placed beside `l` and `m`, on `k` below it, or on the topic of `p`, and how it
/// is sent.
pub(super) fn colliding(rng: &mut SmallRng, of_topic: bool, number: u32) -> Asked {
    let mut one = |number: u32| {
        let asked = if of_topic { of_the_topic(rng, number) } else { of_the_node(rng, number) };
        // Not drawn, so that the other requests of a seed stay what they are.
        if number % 3 == 2 { asked.with_revision() } else { asked }
    };
    let asked = one(number);
    let others = vec![asked.clone(), one(number + 10), one(number + 20)];
    let asked = Box::new(asked);
    match rng.random_range(0..12) {
        0 => Asked::Twice(asked),
        1 => Asked::Keyed(asked),
        2 => Asked::Impatient(asked),
        3 => Asked::Batch(others),
        6 => Asked::KeyedBatch(others),
        4 if !of_topic => Asked::IfUnchanged(asked),
        5 if !of_topic => Asked::Import(vec![("n".to_owned(), Some("p".to_owned()))]),
        _ => *asked,
    }
}

fn of_the_topic(rng: &mut SmallRng, number: u32) -> Asked {
    let (id, version) = ("p".to_owned(), rng.random_range(1..=3));
    match rng.random_range(0..6) {
        0..=2 if number % 2 == 1 => Asked::WithRevision(Box::new(Asked::Rename { id, name: number })),
        0..=2 => Asked::Append { id },
        3 => Asked::Amend { id, version },
        _ => Asked::Unrevise { id, version },
    }
}

fn of_the_node(rng: &mut SmallRng, number: u32) -> Asked {
    let id = if rng.random_ratio(4, 5) { "n" } else { "k" }.to_owned();
    let parent = if id == "k" { Some("n") } else { *[Some("p"), Some("q"), None].choose(rng).unwrap() };
    let parent = parent.map(str::to_owned);
    let beside = (*["l", "m", "n", "k"].choose(rng).unwrap()).to_owned();
    match rng.random_range(0..16) {
        12..=14 => Asked::Place { id, beside, kind: rng.random_range(0..4) },
        15 => Asked::CreateAt { id, parent, beside, kind: rng.random_range(0..4) },
        0..=2 => Asked::Create { id, parent, made: false },
        3 | 4 => Asked::Replace { id, parent },
        5 | 6 => Asked::Rename { id, name: number },
        7 | 8 => Asked::Move { id, parent },
        9 => Asked::Delete { id, mode: Some(DeletionMode::Delete), revisions: false },
        _ => Asked::Delete { id, mode: None, revisions: false },
    }
}
