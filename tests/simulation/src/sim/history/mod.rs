//! What the API was asked, what it answered, and every change of a base record between, in the table's order. From
//! that: whether the answers are those of calls that were carried out one after another, each at once, at a moment
//! between the call and its answer (linearizability), for each node and each topic.
//!
//! Checkers of linearizability search for such an order, because they see calls and answers alone. The simulated table
//! shows the order: a call takes effect with the change that it makes of its record, and no two changes happen at once.
//! So each call is judged by itself. One with an effect has exactly one, at a moment in its time, and made of the
//! record what the call asks for. One without an effect (a refusal, or an answer that nothing changes) has a moment in
//! its time at which that was right. One without an answer may have an effect at any time after the call, and no second
//! one. A request that is sent again with its idempotency key counts as one.
//!
//! `judge.rs` and `refusals.rs` judge the calls, and `sequential.rs` says what one call makes of one record. None of
//! these files shares code with the product's decisions.

mod judge;
mod refusals;
pub(super) mod sequential;

use std::collections::BTreeMap;
use std::sync::Arc;

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::Item;
use sapwood_engine::write::{Answered, Command, Outcome, Refusal, Request, WriteError};

use super::digests;
use super::footprint::is_claim;

/// What was asked for.
#[derive(Clone, Debug)]
pub enum Asking {
    /// A request to the API.
    Api(Box<Command>),
    /// The import of this number puts this record if there is none of its key. It may have begun to in a run before.
    Import(u64, Item),
}

/// What was answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is done.
    Done(Answered),
    /// It is refused.
    Refused(Refusal),
    /// Nobody knows whether it was done.
    Unknown,
    /// The table has failed, and it isn't done.
    Failed,
    /// The import's record is there.
    Imported,
    /// There is another record of the import's key.
    Another,
    /// The record of the import's key is being deleted.
    BeingDeleted,
}

impl Answer {
    /// True if the answer of a batch can be kept that has this one: the next time it would be the same.
    pub(super) fn is_final(&self) -> bool {
        let is_passing =
            |refusal: &Refusal| matches!(refusal, Refusal::Contended | Refusal::InProgress(_) | Refusal::NotUpToDate);
        match self {
            Self::Unknown | Self::Failed => false,
            Self::Refused(refusal) => !is_passing(refusal),
            _ => true,
        }
    }

    fn digest(&self) -> u64 {
        match self {
            Self::Done(Answered { outcome: Outcome::Node { item, created, revision, .. }, is_repeated }) => {
                digests::of(&(digests::of_item(item), created, format!("{revision:?}"), is_repeated))
            }
            Self::Done(Answered { outcome: Outcome::Revision { item, created, version, .. }, is_repeated }) => {
                digests::of(&(digests::of_item(item), created, version.number(), is_repeated))
            }
            other => digests::of(&format!("{other:?}")),
        }
    }
}

impl From<Result<Answered, WriteError>> for Answer {
    fn from(answer: Result<Answered, WriteError>) -> Self {
        match answer {
            Ok(answered) => Self::Done(answered),
            Err(WriteError::Refused(Refusal::OutcomeUnknown)) => Self::Unknown,
            Err(WriteError::Refused(refusal)) => Self::Refused(refusal),
            Err(WriteError::Table(_)) => Self::Failed,
        }
    }
}

/// A call. Times are numbers of changes.
#[derive(Clone, Debug)]
struct Call {
    invocation: u64,
    asking: Asking,
    request: Request,
    /// When its batch began to read, if it is one of a batch.
    since: usize,
    called: usize,
    answer: Option<(usize, Answer)>,
    /// The changes that it made.
    effects: Vec<(ItemKey, usize)>,
    /// Where one of its writes got no answer: what it reads after the last of these is as it was then, or newer.
    lost_since: Option<usize>,
    /// True if one of its writes failed, so its claim may still stand.
    has_failed: bool,
    /// True if the rows of its node didn't show the node's place and life at some time since the call.
    was_unplaced: bool,
}

impl Call {
    /// True if one of its writes got no answer.
    fn is_lost(&self) -> bool {
        self.lost_since.is_some()
    }
}

/// A batch with an idempotency key. Its parts are calls of their own.
#[derive(Clone, Debug, Hash)]
struct KeyedBatch {
    invocation: u64,
    key: String,
    parts: usize,
    called: usize,
    /// When it was called, in seconds since 1970.
    seconds: u64,
    answer: Option<(usize, BatchAnswer)>,
}

/// What came of the key of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchAnswer {
    /// Its parts are answered.
    Done {
        /// True if its claim is completed or given back, and the batch was told so.
        is_settled: bool,
    },
    /// It was answered as it was before.
    Kept,
    /// Another request with the key is under way.
    InProgress,
    /// Others kept coming in between.
    Contended,
    /// It is refused for another reason.
    Refused,
    /// The table has failed.
    Failed,
}

impl From<WriteError> for BatchAnswer {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused(Refusal::InProgress(_)) => Self::InProgress,
            WriteError::Refused(Refusal::Contended) => Self::Contended,
            WriteError::Refused(_) => Self::Refused,
            WriteError::Table(_) => Self::Failed,
        }
    }
}

/// What became of a record of an import in the runs before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// It was never sent, or wasn't written.
    Unsent,
    /// It may have been written, since this time.
    Sent(u64),
    Written,
}

/// A change of a record: when it happened, and what the record is since.
#[derive(Clone, Debug)]
struct Change {
    at: usize,
    item: Option<Item>,
    /// True if another client has deleted the record, and nothing else with it.
    is_traceless: bool,
}

/// The calls, and the changes of base records.
#[derive(Clone, Debug, Default)]
pub struct History {
    calls: Vec<Arc<Call>>,
    changes: Arc<BTreeMap<ItemKey, Vec<Change>>>,
    /// The lineages as they are now, by their partition keys.
    lineages: Arc<BTreeMap<String, Item>>,
    /// For each change, the first of those that were made at once with it.
    together: Vec<usize>,
    /// When claims of names have changed.
    claimed: Vec<usize>,
    now: usize,
    /// The newest call of each invocation.
    newest: BTreeMap<u64, usize>,
    batches: Vec<KeyedBatch>,
    schema: Arc<Schema>,
    /// The attribute that orders siblings by hand.
    order: Option<String>,
    /// True if reads may see a part of a transaction's writes before the others.
    pub(super) is_torn: bool,
}

impl History {
    /// A history of a table that is kept like this.
    #[must_use]
    pub fn new(schema: Schema, order: Option<String>) -> Self {
        Self { schema: Arc::new(schema), order, ..Self::default() }
    }

    /// The number of changes so far.
    #[must_use]
    pub fn now(&self) -> usize {
        self.now
    }

    /// An invocation begins a call. `since` is when it began to read for it.
    pub fn called(&mut self, invocation: u64, asking: Asking, request: Request, since: usize) {
        self.newest.insert(invocation, self.calls.len());
        let call = Call {
            invocation,
            asking,
            request,
            since,
            called: self.now,
            answer: None,
            effects: Vec::new(),
            lost_since: None,
            has_failed: false,
            was_unplaced: false,
        };
        self.calls.push(Arc::new(call));
        self.look_at_rows();
    }

    fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().map(|call| &**call)
    }

    fn call(&mut self, call: usize) -> &mut Call {
        Arc::make_mut(&mut self.calls[call])
    }

    /// An invocation answers its newest call.
    ///
    /// # Panics
    /// Where it has none.
    pub fn answered(&mut self, invocation: u64, answer: impl Into<Answer>) {
        let answer = (self.now, answer.into());
        self.call(self.newest[&invocation]).answer = Some(answer);
    }

    /// How many calls took over the claim of their key, whose owner had died.
    pub(super) fn taken_over(&self) -> usize {
        let takes = |call: &&Call| {
            let is_dead = |other: &Call| {
                other.answer.is_none()
                    && other.effects.is_empty()
                    && other.request.stamp.seconds < call.request.stamp.seconds
            };
            !call.effects.is_empty() && self.with_the_key(call).any(|(other, _)| is_dead(other))
        };
        self.calls().filter(takes).count()
    }

    /// An invocation begins a batch with an idempotency key, of so many parts.
    pub fn batch_called(&mut self, invocation: u64, key: String, parts: usize, seconds: u64) {
        let called = self.now;
        self.batches.push(KeyedBatch { invocation, key, parts, called, seconds, answer: None });
    }

    /// An invocation answers its batch.
    pub fn batch_answered(&mut self, invocation: u64, answer: BatchAnswer) {
        let now = self.now;
        let own = self.batches.iter_mut().filter(|batch| batch.invocation == invocation);
        own.for_each(|batch| batch.answer = Some((now, answer)));
    }

    /// True if the newest call of an invocation was told that its key is in use, or its batch was.
    pub(super) fn is_in_progress(&self, invocation: u64) -> bool {
        let call = self.newest(invocation).map(|call| &self.calls[call]);
        let is_told = |batch: &KeyedBatch| matches!(batch.answer, Some((_, BatchAnswer::InProgress)));
        self.batches.iter().any(|batch| batch.invocation == invocation && is_told(batch))
            || call.is_some_and(|call| matches!(call.answer, Some((_, Answer::Refused(Refusal::InProgress(_))))))
    }

    /// The newest call of an invocation. None where the invocation isn't a request to the API.
    pub(super) fn newest(&self, invocation: u64) -> Option<usize> {
        self.newest.get(&invocation).copied()
    }

    /// True if an invocation has begun a call or a batch.
    pub(super) fn has_begun(&self, invocation: u64) -> bool {
        self.newest(invocation).is_some() || self.batches.iter().any(|batch| batch.invocation == invocation)
    }

    /// What an import's working file says of a record that the import of this number wrote, or began to write.
    pub(super) fn import_before(&self, number: u64, item: &Item) -> Before {
        let is_of = |call: &&Call| matches!(&call.asking, Asking::Import(of, other) if *of == number && other == item);
        let of_it = || self.calls().filter(is_of);
        if of_it().any(|call| matches!(call.answer, Some((_, Answer::Imported)))) {
            return Before::Written;
        }
        let is_unknown = |call: &&Call| matches!(call.answer, None | Some((_, Answer::Unknown)));
        of_it().find(is_unknown).map_or(Before::Unsent, |call| Before::Sent(call.request.stamp.seconds))
    }

    /// True if the request of this call has an idempotency key.
    pub(super) fn has_key(&self, call: usize) -> bool {
        self.calls[call].request.idempotency.is_some()
    }

    /// A write of this call gets no answer. Reads see the table now as it was at this time, or later. What a batch does
    /// once its last part is answered is no part's.
    ///
    /// # Panics
    /// Where there is no such call.
    pub fn lost(&mut self, call: usize, seen_since: usize) {
        self.failed(call);
        if self.calls[call].answer.is_none() {
            self.call(call).lost_since = Some(seen_since);
        }
    }

    /// A write of this call fails.
    ///
    /// # Panics
    /// Where there is no such call.
    pub fn failed(&mut self, call: usize) {
        if self.calls[call].answer.is_none() {
            self.call(call).has_failed = true;
        }
    }

    /// When a batch began to read what its next operation goes by, if it did so at this time for the one before: after
    /// an attempt without an answer it reads anew. With a key it may be the claim that got no answer.
    pub(super) fn read_since(&self, invocation: u64, since: usize) -> usize {
        let call = self.newest(invocation).filter(|call| !self.has_key(*call));
        call.and_then(|call| self.calls[call].lost_since).map_or(since, |lost| lost.max(since))
    }

    /// Takes changes of the table, which this call has made at once, or somebody else.
    ///
    /// # Panics
    /// Where there is no such call.
    pub fn changed(&mut self, records: &[StreamRecord], by: Option<usize>) {
        for record in records.iter().filter(|record| record.key.sk == "LINEAGE") {
            match &record.new {
                Some(item) => Arc::make_mut(&mut self.lineages).insert(record.key.pk.clone(), item.clone()),
                None => Arc::make_mut(&mut self.lineages).remove(&record.key.pk),
            };
        }
        let first = self.now + 1;
        if records.iter().any(|record| is_claim(&record.key.sk)) {
            self.claimed.push(self.now);
        }
        for record in records.iter().filter(|record| is_base(&record.key.sk)) {
            self.now += 1;
            self.together.push(first);
            let is_traceless = record.new.is_none() && by.is_none() && records.len() == 1;
            let change = Change { at: self.now, item: record.new.clone(), is_traceless };
            Arc::make_mut(&mut self.changes).entry(record.key.clone()).or_default().push(change);
            if let Some(call) = by {
                let now = self.now;
                self.call(call).effects.push((record.key.clone(), now));
            }
        }
        self.look_at_rows();
    }

    /// Notes for each call under way whether the rows of its node are behind.
    fn look_at_rows(&mut self) {
        for at in 0..self.calls.len() {
            let Call { answer: None, was_unplaced: false, asking: Asking::Api(command), .. } = &*self.calls[at] else {
                continue;
            };
            let key = self.schema.node_key(sequential::node(command));
            let lineage = self.lineages.get(&key.pk);
            // The record and the lineage are read one after the other.
            let was_unplaced = self
                .states(&key, self.calls[at].called, self.now)
                .any(|state| !refusals::is_placed(&key.pk, state, lineage));
            if was_unplaced {
                self.call(at).was_unplaced = true;
            }
        }
    }

    /// A digest of all that the judge looks at.
    pub(super) fn digest(&self) -> u64 {
        let of_call = |call: &Call| {
            let answered = call.answer.as_ref().map(|(at, answer)| (*at, answer.digest()));
            let sent = (format!("{:?}", call.request.preconditions), call.request.stamp.seconds);
            let noted = (call.lost_since, call.has_failed, call.was_unplaced, &call.effects);
            digests::of(&(call.since, call.called, answered, sent, noted))
        };
        let of_change = |key: &ItemKey, change: &Change| {
            let item = change.item.as_ref().map(digests::of_item);
            digests::of(&(&key.pk, &key.sk, change.at, item, change.is_traceless))
        };
        let changes =
            self.changes.iter().flat_map(|(key, changes)| changes.iter().map(move |change| of_change(key, change)));
        let moments = digests::of(&(&self.together, &self.claimed, &self.batches));
        self.calls().map(of_call).chain(changes).fold(moments, digests::chained)
    }

    /// What no order of the calls explains.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let wrong = (0..self.calls.len()).filter_map(|call| {
            let what = self.judge(&self.calls[call]).err()?;
            Some(format!("{what}: {}", self.describe(call)))
        });
        wrong.chain(self.repeated()).chain(self.imported_twice()).chain(self.wrong_batches()).collect()
    }

    /// A cycle among the nodes, if there is one now.
    #[must_use]
    pub fn cycle(&self) -> Option<String> {
        let parent = |key: &ItemKey| {
            let parent = sequential::text(self.state(key, self.now)?, "parent");
            (!parent.is_empty()).then(|| ItemKey::new(parent, "NODE"))
        };
        self.changes.keys().filter(|key| key.sk == "NODE").find_map(|key| {
            let above = std::iter::successors(parent(key), parent).take(self.changes.len());
            above.into_iter().any(|above| above == *key).then(|| format!("{} is below itself", key.pk))
        })
    }

    fn describe(&self, call: usize) -> String {
        let Call { asking, request, called, answer, effects, .. } = &*self.calls[call];
        format!("{asking:?} by {} at {called} was answered {answer:?}, its changes: {effects:?}", request.stamp.token)
    }

    /// The time of the last change of a transaction of a call, which has made this change.
    fn end(&self, call: &Call, at: usize) -> usize {
        let makes = |at: usize| call.effects.iter().any(|(_, made)| *made == at);
        (at..).take_while(|at| makes(*at)).last().unwrap_or(at)
    }

    fn state(&self, key: &ItemKey, at: usize) -> Option<&Item> {
        let changes = self.changes.get(key)?;
        changes[..changes.partition_point(|change| change.at <= at)].last()?.item.as_ref()
    }

    /// True if a record isn't there at this time, because another client has deleted it.
    fn is_traceless(&self, key: &ItemKey, at: usize) -> bool {
        let changes = self.changes.get(key).map_or(&[][..], Vec::as_slice);
        changes[..changes.partition_point(|change| change.at <= at)].last().is_some_and(|change| change.is_traceless)
    }

    /// What a record was from one time to another.
    fn states(&self, key: &ItemKey, from: usize, until: usize) -> impl Iterator<Item = Option<&Item>> {
        let changes = self.changes.get(key).map_or(&[][..], Vec::as_slice);
        let inside = changes.iter().filter(move |change| from < change.at && change.at <= until);
        std::iter::once(self.state(key, from)).chain(inside.map(|change| change.item.as_ref()))
    }

    fn node(&self, like: &NodeRef, id: &Id) -> ItemKey {
        self.schema.node_key(&like.sibling(id.clone()))
    }
}

/// True for the sort keys of nodes and revisions.
fn is_base(sk: &str) -> bool {
    sk == "NODE" || sequential::version(sk).is_some()
}
