//! `Idempotency-Key`: the same key gives the same answer. The record of a key is completed in the transaction that does
//! what was asked for, so a crash leaves both or neither.

use super::remove::seconds;
use super::{Stamp, WriteError, Writer};
use sapwood_core::keys::{ItemKey, Tenant};
use sapwood_core::model::{AttributeValue, Item, text, text_of, with_key};
use sapwood_table::{Action, Condition, ReadOptions, RetryPolicy, Table, TableError};

/// How long an answer is kept.
const KEPT_SECONDS: u64 = 24 * 60 * 60;

/// How long a request is thought to be worked on: longer than any function runs for the API (30 seconds).
const LEASE_SECONDS: u64 = 60;

/// Most bytes of an answer in one item.
const PART_BYTES: usize = 350 * 1_024;

const FINGERPRINT: &str = "_fingerprint";
const CLAIM: &str = "_claim";
const LEASE: &str = "_lease";
const PARTS: &str = "_parts";
const ANSWER: &str = "_answer";

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

/// What came of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Begun {
    /// Nobody has used it: do the work, and complete the claim with it.
    Claimed(Claim),
    /// It was used for this request before, and this was the answer.
    Answered(StoredAnswer),
}

/// An answer as it is kept. What it means is up to whoever keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer(pub Vec<u8>);

/// The right to answer a request with this key.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    key: Idempotency,
    token: String,
    expires: u64,
}

impl<T: Table, P: RetryPolicy> Writer<'_, T, P> {
    /// Begins the work on a request with a key.
    ///
    /// # Errors
    /// [`WriteError::InProgress`], [`WriteError::IdempotencyMismatch`].
    pub async fn begin(&self, key: &Idempotency, stamp: &Stamp) -> Result<Begun, WriteError> {
        let schema = self.client.schema();
        let record_key = schema.idempotency_key(key.tenant.as_ref(), &key.hash, 0);
        let mut attempt = 0;
        loop {
            let record = self.client.get(&record_key, &ReadOptions::default()).await?;
            let condition = match &record {
                None => Condition::Absent,
                // Ours, written by a try whose answer was lost.
                Some(record) if text_of(record, CLAIM) == Some(&stamp.token) && !record.contains_key(PARTS) => {
                    return Ok(Begun::Claimed(claim(key, stamp)));
                }
                Some(record) => {
                    let is_kept = number(record, self.settings.expires()) > stamp.seconds;
                    if is_kept && text_of(record, FINGERPRINT) != Some(&key.fingerprint) {
                        return Err(WriteError::IdempotencyMismatch);
                    }
                    if is_kept && record.contains_key(PARTS) {
                        return Ok(Begun::Answered(self.stored_answer(key, record).await?));
                    }
                    if is_kept && number(record, LEASE) > stamp.seconds {
                        return Err(WriteError::InProgress);
                    }
                    Condition::is(CLAIM, record.get(CLAIM).cloned())
                }
            };
            let claim = claim(key, stamp);
            let mut item = claim.record(&record_key, self.settings.expires(), schema);
            item.insert(LEASE.to_owned(), seconds(stamp.seconds + LEASE_SECONDS));
            if self.client.put(&item, &condition).await? {
                return Ok(Begun::Claimed(claim));
            }
            if !self.again(&mut attempt).await {
                return Err(WriteError::Contended);
            }
        }
    }

    /// What completes a claim, for the transaction that does the work. It fails where another request has taken the key
    /// over, because this one took too long.
    #[must_use]
    pub fn completion(&self, claim: &Claim, answer: &StoredAnswer) -> Vec<Action> {
        let schema = self.client.schema();
        let parts: Vec<&[u8]> = answer.0.chunks(PART_BYTES).collect();
        let key = |part| schema.idempotency_key(claim.key.tenant.as_ref(), &claim.key.hash, part);
        let expires = self.settings.expires();
        let mut actions = Vec::with_capacity(parts.len().max(1));
        let mut first = claim.record(&key(0), expires, schema);
        first.insert(PARTS.to_owned(), seconds(parts.len() as u64));
        first.insert(ANSWER.to_owned(), AttributeValue::B(parts.first().copied().unwrap_or_default().to_vec()));
        let condition =
            Condition::All(vec![Condition::is(CLAIM, Some(text(&claim.token))), Condition::is(PARTS, None)]);
        actions.push(Action::Put { key: key(0), item: first, condition });
        for (part, bytes) in parts.iter().enumerate().skip(1) {
            let mut item = with_key(&key(part), schema);
            item.insert(CLAIM.to_owned(), text(&claim.token));
            item.insert(ANSWER.to_owned(), AttributeValue::B(bytes.to_vec()));
            item.insert(expires.to_owned(), seconds(claim.expires));
            actions.push(Action::Put { key: key(part), item, condition: Condition::Always });
        }
        actions
    }

    /// Completes a claim by itself: for a request that comes to nothing, or of which each part was done on its own.
    ///
    /// # Errors
    /// [`TableError`] where the table fails.
    pub async fn complete(&self, claim: &Claim, answer: &StoredAnswer) -> Result<(), TableError> {
        self.client.transact(&self.completion(claim, answer)).await.map(|_| ())
    }

    /// Gives a claim back: nothing was done, and the same request may come again.
    ///
    /// # Errors
    /// [`TableError`] where the table fails.
    pub async fn release(&self, claim: &Claim) -> Result<(), TableError> {
        let key = self.client.schema().idempotency_key(claim.key.tenant.as_ref(), &claim.key.hash, 0);
        let condition =
            Condition::All(vec![Condition::is(CLAIM, Some(text(&claim.token))), Condition::is(PARTS, None)]);
        self.client.delete(&key, &condition).await.map(|_| ())
    }

    async fn stored_answer(&self, key: &Idempotency, first: &Item) -> Result<StoredAnswer, WriteError> {
        let schema = self.client.schema();
        let mut answer = bytes(first);
        let parts = usize::try_from(number(first, PARTS)).unwrap_or_default();
        let keys: Vec<ItemKey> =
            (1..parts).map(|part| schema.idempotency_key(key.tenant.as_ref(), &key.hash, part)).collect();
        let items = self.read(keys.clone(), &ReadOptions::default()).await?;
        for key in &keys {
            // DynamoDB deletes what has expired one by one.
            answer.extend(items.get(key).map(bytes).ok_or(WriteError::InProgress)?);
        }
        Ok(StoredAnswer(answer))
    }
}

fn claim(key: &Idempotency, stamp: &Stamp) -> Claim {
    Claim { key: key.clone(), token: stamp.token.clone(), expires: stamp.seconds + KEPT_SECONDS }
}

impl Claim {
    fn record(&self, key: &ItemKey, expires: &str, schema: &sapwood_core::keys::Schema) -> Item {
        let mut item = with_key(key, schema);
        item.insert(FINGERPRINT.to_owned(), text(&self.key.fingerprint));
        item.insert(CLAIM.to_owned(), text(&self.token));
        item.insert(expires.to_owned(), seconds(self.expires));
        item
    }
}

fn number(item: &Item, name: &str) -> u64 {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap_or(0),
        _ => 0,
    }
}

fn bytes(item: &Item) -> Vec<u8> {
    match item.get(ANSWER) {
        Some(AttributeValue::B(bytes)) => bytes.clone(),
        _ => Vec::new(),
    }
}
