//! Idempotency keys: a request is done once, and the same key gives the same outcome. The record of a key is completed
//! in the transaction that does what was asked for, so a crash leaves both or neither.

use super::attempts::{LEASE_SECONDS, Stop, done};
use super::record::{number_in, seconds};
use super::request::Stamp;
use super::{Context, Refusal};
use crate::keys::{ItemKey, Tenant};
use crate::model::{AttributeValue, Item, Settings, text, text_of, with_key};
use crate::plan::{Io, Need, Plan, Task, TaskOutcome};
use crate::request::{Action, Condition};

/// How long an outcome is kept.
pub const OUTCOME_SECONDS: u64 = 24 * 60 * 60;

/// Most bytes of an outcome in one item.
const PART_BYTES: usize = 350 * 1_024;

const FINGERPRINT: &str = "_fingerprint";
const CLAIM: &str = "_claim";
const LEASE: &str = "_lease";
const PARTS: &str = "_parts";
const OUTCOME: &str = "_outcome";

/// A key, and the request that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The caller's tenant.
    pub tenant: Option<Tenant>,
    /// A hash of the key, and of whatever else it is to hold for (the caller, say).
    pub hash: String,
    /// A hash of the request: another one with the same key is refused.
    pub fingerprint: String,
}

/// The state of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Begun {
    /// It is new: do the work, and complete the claim with it.
    Claimed(Claim),
    /// It was used for this request before, which was completed with these bytes.
    Kept(Vec<u8>),
}

/// The right to carry out the request with a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    key: Idempotency,
    token: String,
    expires: u64,
}

impl Idempotency {
    fn key(&self, part: usize, settings: &Settings) -> ItemKey {
        settings.schema.idempotency_key(self.tenant.as_ref(), &self.hash, part)
    }
}

impl Claim {
    fn new(key: &Idempotency, stamp: &Stamp) -> Self {
        Self { key: key.clone(), token: stamp.token.clone(), expires: stamp.seconds + OUTCOME_SECONDS }
    }

    /// The record of a claim, without what tells whether it is completed: its lease until then, and after that the
    /// number of parts and the first of them. docs/reference/items.md has an example.
    fn record(&self, settings: &Settings) -> Item {
        let mut item = with_key(&self.key.key(0, settings), &settings.schema);
        item.insert(FINGERPRINT.to_owned(), text(&self.key.fingerprint));
        item.insert(CLAIM.to_owned(), text(&self.token));
        item.insert(settings.expires().to_owned(), seconds(self.expires));
        item
    }

    fn leased(&self, stamp: &Stamp, settings: &Settings) -> Item {
        let mut item = self.record(settings);
        item.insert(LEASE.to_owned(), seconds(stamp.seconds + LEASE_SECONDS));
        item
    }

    /// The actions that complete the claim with these bytes. They fail where another request has taken a slow one's key
    /// over.
    #[must_use]
    pub fn completion(&self, kept: &[u8], settings: &Settings) -> Vec<Action> {
        let mut parts = kept.chunks(PART_BYTES);
        let mut first = self.record(settings);
        first.insert(PARTS.to_owned(), seconds(parts.len() as u64));
        first.insert(OUTCOME.to_owned(), AttributeValue::B(parts.next().unwrap_or_default().to_vec()));
        let first = Action::Put { key: self.key.key(0, settings), item: first, condition: self.is_open() };
        let others = parts.enumerate().map(|(position, bytes)| {
            let key = self.key.key(position + 1, settings);
            let mut item = with_key(&key, &settings.schema);
            item.insert(CLAIM.to_owned(), text(&self.token));
            item.insert(OUTCOME.to_owned(), AttributeValue::B(bytes.to_vec()));
            item.insert(settings.expires().to_owned(), seconds(self.expires));
            Action::Put { key, item, condition: Condition::Always }
        });
        std::iter::once(first).chain(others).collect()
    }

    /// The task that completes the claim and does nothing else, for a request of which each part was done on its own.
    pub fn complete(&self, kept: &[u8], settings: &Settings) -> Task {
        Task::together(self.completion(kept, settings))
    }

    /// The task that gives the claim back: nothing was done, and the same request may come again.
    pub fn release(&self, settings: &Settings) -> Task {
        Task::Write(Action::Delete { key: self.key.key(0, settings), condition: self.is_open() })
    }

    /// The key of the record that has the claim, and the first part of the outcome.
    pub(super) fn record_key(&self, settings: &Settings) -> ItemKey {
        self.key.key(0, settings)
    }

    /// True if no other request has taken this claim over.
    pub(super) fn is_held(&self, record: Option<&Item>) -> bool {
        record.is_some_and(|record| text_of(record, CLAIM) == Some(&self.token))
    }

    /// The first part of what this claim was completed with, and whether it is all of it.
    pub(super) fn kept<'r>(&self, record: Option<&'r Item>) -> Option<(&'r [u8], bool)> {
        let record = record.filter(|_| self.is_completed(record))?;
        Some((bytes(record), number_in(record, PARTS) == 1))
    }

    pub(super) fn is_completed(&self, record: Option<&Item>) -> bool {
        self.is_held(record) && record.is_some_and(|record| record.contains_key(PARTS))
    }

    /// The condition that the claim stands and isn't completed.
    fn is_open(&self) -> Condition {
        Condition::All(vec![Condition::is(CLAIM, Some(text(&self.token))), Condition::is(PARTS, None)])
    }
}

/// Begins a request with a key: claims the key, or reads what it was completed with. Refused if the key was used for
/// another request, one is in progress, or others are in the way.
pub fn begin<'a>(context: Context<'a>, key: &'a Idempotency, stamp: &'a Stamp) -> Plan<'a, Result<Begun, Refusal>> {
    Plan::new(move |io| async move { done(begun(&io, context, key, stamp).await) })
}

pub(super) async fn begun(io: &Io, context: Context<'_>, key: &Idempotency, stamp: &Stamp) -> Result<Begun, Stop> {
    let settings = context.settings;
    let claim = Claim::new(key, stamp);
    let record_key = claim.record_key(settings);
    for failed in 1.. {
        let read = io.read(Need::keys([record_key.clone()])).await?;
        let condition = match read.item(&record_key)? {
            None => Condition::Absent,
            // An attempt whose answer was lost has put it.
            Some(record) if claim.is_held(Some(record)) && !record.contains_key(PARTS) => break,
            Some(record) => {
                let is_kept = number_in(record, settings.expires()) > stamp.seconds;
                if is_kept && text_of(record, FINGERPRINT) != Some(&key.fingerprint) {
                    return Err(Refusal::IdempotencyMismatch.into());
                }
                if is_kept && record.contains_key(PARTS) {
                    return Ok(Begun::Kept(parts(io, key, record, settings).await?));
                }
                let lease = number_in(record, LEASE).saturating_sub(stamp.seconds);
                if is_kept && lease > 0 {
                    return Err(Refusal::InProgress(lease.min(LEASE_SECONDS)).into());
                }
                Condition::is(CLAIM, record.get(CLAIM).cloned())
            }
        };
        let item = claim.leased(stamp, settings);
        let put = Action::Put { key: record_key.clone(), item, condition };
        if io.one(Task::Write(put)).await? == TaskOutcome::Held {
            break;
        }
        let step = context.limits.wait(failed).ok_or(Refusal::Contended)?;
        if !io.wait(step).await? {
            return Err(Refusal::Contended.into());
        }
    }
    Ok(Begun::Claimed(claim))
}

/// Gives back the claim of a refused request with an unanswered attempt: without it none can be carried out any more.
/// Returns what the claim was completed with, if one was before. Fails with [`Refusal::OutcomeUnknown`] if the claim
/// still stands.
pub(super) async fn given_back(io: &Io, context: Context<'_>, claim: &Claim) -> Result<Option<Vec<u8>>, Stop> {
    let (settings, key) = (context.settings, claim.record_key(context.settings));
    if io.one(claim.release(settings)).await? == TaskOutcome::Held {
        return Ok(None);
    }
    let read = io.read(Need::keys([key.clone()])).await?;
    match read.item(&key)? {
        Some(record) if claim.is_completed(Some(record)) => Ok(Some(parts(io, &claim.key, record, settings).await?)),
        record if claim.is_held(record) => Err(Refusal::OutcomeUnknown.into()),
        // It was given back before, and the answer was lost; or another request has it.
        _ => Ok(None),
    }
}

/// The outcome that a key was completed with: the bytes of its first record, and of the others.
async fn parts(io: &Io, key: &Idempotency, first: &Item, settings: &Settings) -> Result<Vec<u8>, Stop> {
    let parts = usize::try_from(number_in(first, PARTS)).unwrap_or_default();
    let keys: Vec<ItemKey> = (1..parts).map(|part| key.key(part, settings)).collect();
    let mut kept = bytes(first).to_vec();
    if keys.is_empty() {
        return Ok(kept);
    }
    let read = io.read(Need::keys(keys.iter().cloned())).await?;
    for key in &keys {
        // DynamoDB deletes what has expired one by one.
        kept.extend(bytes(read.item(key)?.ok_or(Refusal::InProgress(1))?));
    }
    Ok(kept)
}

fn bytes(item: &Item) -> &[u8] {
    match item.get(OUTCOME) {
        Some(AttributeValue::B(bytes)) => bytes,
        _ => &[],
    }
}
