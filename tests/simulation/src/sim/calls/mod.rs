//! Calls to the simulated table. Each waits for its turn and is carried out one item at a time.

mod carry_out;
mod table;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use rand::RngExt;
use rand::rngs::SmallRng;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;
use sapwood_store::{
    Action, Condition, ErrorKind, Found, Page, Query, Scan, Scanned, TableError, Transacted, Update, Write,
};

pub(super) use self::table::{SimRetryPolicy, SimTable, Skewed};
use super::footprint::Footprint;
use super::history::History;
use super::{clock, digests};
use crate::memory::{Memory, Wire, default_key};

/// What a call asks for.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Get(Vec<ItemKey>),
    /// Each write with the item that it puts, if it puts one.
    Write(Vec<(Write, Option<Item>)>),
    Put(Item, Condition),
    Delete(ItemKey, Condition),
    Update(ItemKey, Update, Condition),
    Together(Vec<Action>),
    Transact(Vec<Action>),
    Query(Query),
    Scan(Scan),
}

impl Ask {
    /// True if it may change the table.
    fn is_write(&self) -> bool {
        !matches!(self, Self::Get(_) | Self::Query(_) | Self::Scan(_))
    }

    fn footprint(&self) -> Footprint {
        match self {
            Self::Get(keys) => Footprint::of_items(keys),
            Self::Query(query) => Footprint::of_range(&query.pk, &query.range.from, &query.range.to),
            Self::Scan(_) => unreachable!("nobody scans in a small scope"),
            Self::Write(writes) => Footprint::of_writes(writes.iter().map(|(write, _)| write.key())),
            Self::Put(item, _) => Footprint::of_writes(&default_key(item)),
            Self::Delete(key, _) | Self::Update(key, ..) => Footprint::of_writes([key]),
            Self::Together(actions) => Footprint::of_writes(actions.iter().map(Action::key)),
            Self::Transact(actions) => Footprint::of_actions(actions),
        }
    }
}

/// What becomes of a call where a schedule says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is carried out and answered.
    Answered,
    /// It is carried out, and its answer is lost.
    Lost,
    /// It is lost itself.
    NeverCame,
}

/// A call that waits, as a schedule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingCall {
    pub(super) id: u64,
    pub(super) invocation: u64,
    /// True if it may change the table.
    pub(super) is_write: bool,
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Found(Found),
    Unprocessed(Vec<Write>),
    Held(bool),
    Updated(Vec<Result<bool, TableError>>),
    Transacted(Transacted),
    Page(Page),
    Scanned(Scanned),
    Failed(TableError),
}

impl Answer {
    fn digest(&self) -> u64 {
        let items = match self {
            Self::Found(found) => &found.items,
            Self::Page(page) => &page.items,
            other => return digests::of(&format!("{other:?}")),
        };
        items.iter().map(digests::of_item).fold(0, digests::chained)
    }
}

/// An item as it was before a transaction that is being carried out.
#[derive(Clone)]
struct Unseen {
    /// Whose transaction it is.
    invocation: u64,
    /// How many changes there were before it.
    since: usize,
    item: Option<Item>,
}

#[derive(Clone)]
struct Call {
    invocation: u64,
    /// The request to the API that it is for, in the history.
    asked: Option<usize>,
    ask: Ask,
    /// The number of items of a batch that are done.
    done: usize,
    found: Found,
    unprocessed: Vec<Write>,
    updated: Vec<Result<bool, TableError>>,
    waker: Waker,
}

/// The calls that wait, and their table.
#[derive(Clone)]
pub(super) struct Calls {
    pub(super) memory: Memory,
    pub(super) rng: SmallRng,
    /// The number of calls that may still fail.
    pub(super) failures_left: usize,
    /// The share of calls that fail, in percent.
    pub(super) failure_percent: u32,
    /// The share of answers after which an invocation stalls, in percent.
    pub(super) stall_percent: u32,
    /// Most bytes of a BatchWriteItem of several items.
    pub(super) request_bytes_max: usize,
    /// What goes through the wire, if that is less than can come up.
    pub(super) wire: Option<Wire>,
    /// True if the table says nothing of what is wrong with a request that is too large.
    pub(super) is_silent: bool,
    /// True if time for looks at rows is over now and then.
    pub(super) looks_end: bool,
    /// Most steps that an invocation stalls.
    pub(super) stall_steps_max: u32,
    /// The invocations that stall, each with the number of steps that are left. What others do meanwhile makes races.
    pub(super) stalled: BTreeMap<u64, u32>,
    /// True if a request that got no answer may be carried out later.
    pub(super) has_limbo: bool,
    /// True if that holds for conditional requests, too. Their conditions don't see that another client changed a
    /// record there and back.
    pub(super) has_conditional_limbo: bool,
    /// True if a request of the API may get no answer because it never came to the table. Otherwise one without an
    /// answer was carried out.
    pub(super) loses_requests: bool,
    /// How probably a client of the table tries again.
    pub(super) patience: f64,
    /// The most times that a client tries one thing again.
    pub(super) waits_max: u32,
    /// What the API was asked and has answered.
    pub(super) history: History,
    /// True while nodes are still to be counted in the epoch that was begun last.
    pub(super) is_epoch_unfinished: bool,
    /// The time, in seconds since 1970.
    pub(super) now: u64,
    /// Where feeds are followed: milliseconds that have passed besides.
    pub(super) ms: u64,
    /// The invocations of the release before feeds, to which their format is a newer one.
    pub(super) older: BTreeSet<u64>,
    /// Items that a transaction has written, as reads still see them.
    unseen: BTreeMap<ItemKey, Unseen>,
    /// Requests without an answer that may still be carried out, each with its invocation and what it is for.
    limbo: Vec<(u64, Option<usize>, Ask)>,
    waiting: BTreeMap<u64, Call>,
    answers: BTreeMap<u64, Answer>,
    /// For each invocation a digest of the answers that it got, in schedules that say what becomes of each call.
    pub(super) answered: BTreeMap<u64, u64>,
    next: u64,
    /// A hash of the calls that were carried out, to compare two runs.
    pub(super) trace: u64,
}

pub(super) type Shared = Arc<Mutex<Calls>>;

impl Calls {
    pub(super) fn new(rng: SmallRng, failures_left: usize, failure_percent: u32, stall_percent: u32) -> Self {
        Self {
            memory: Memory::default(),
            rng,
            failures_left,
            failure_percent,
            stall_percent,
            request_bytes_max: usize::MAX,
            wire: None,
            is_silent: false,
            looks_end: false,
            stall_steps_max: 60,
            stalled: BTreeMap::new(),
            has_limbo: false,
            has_conditional_limbo: false,
            loses_requests: false,
            patience: 0.6,
            waits_max: u32::MAX,
            history: History::default(),
            is_epoch_unfinished: false,
            now: clock::BEGINNING,
            ms: 0,
            older: BTreeSet::new(),
            unseen: BTreeMap::new(),
            limbo: Vec::new(),
            waiting: BTreeMap::new(),
            answers: BTreeMap::new(),
            answered: BTreeMap::new(),
            next: 0,
            trace: 0xcbf2_9ce4_8422_2325,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn coin(&mut self) -> bool {
        self.rng.random_bool(0.5)
    }

    pub(super) fn mark(&mut self, value: u64) {
        self.trace = (self.trace ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Carries out what an invocation has left without an answer. That is the latest moment for it: its records are
    /// delivered again.
    pub(super) fn end_limbo(&mut self, invocation: u64) {
        self.unseen.retain(|_, unseen| unseen.invocation != invocation);
        while let Some(position) = self.limbo.iter().position(|(of, ..)| *of == invocation) {
            self.land(position);
        }
    }

    /// Has all reads see this item as it is. Its stream record comes after that, and so does any other write of it.
    pub(super) fn show(&mut self, key: &ItemKey) {
        self.unseen.remove(key);
    }

    /// Has all reads see all that was written.
    pub(super) fn show_all(&mut self) {
        self.unseen.clear();
    }

    /// An item as reads see it.
    fn seen_item(&self, key: &ItemKey) -> Option<&Item> {
        self.unseen.get(key).map_or_else(|| self.memory.get(key), |unseen| unseen.item.as_ref())
    }

    /// After how many changes the table was as reads may still see it.
    pub(super) fn seen_since(&self) -> usize {
        self.unseen.values().map(|unseen| unseen.since).min().unwrap_or_else(|| self.history.now())
    }

    /// The table as reads see it.
    fn seen(&self) -> Cow<'_, Memory> {
        if self.unseen.is_empty() {
            return Cow::Borrowed(&self.memory);
        }
        let mut seen = self.memory.clone();
        self.unseen.iter().for_each(|(key, unseen)| seen.write(key, unseen.item.clone()));
        Cow::Owned(seen)
    }

    /// Carries out one request that was left without an answer, if there is one. Returns the number of its invocation.
    pub(super) fn land_one(&mut self) -> Option<u64> {
        let position = (!self.limbo.is_empty()).then(|| self.rng.random_range(0..self.limbo.len()))?;
        let invocation = self.limbo[position].0;
        self.land(position);
        Some(invocation)
    }

    /// Carries out one request that was left without an answer, or ends it for good. Returns the number of its
    /// invocation, if there is one.
    pub(super) fn end_one(&mut self) -> Option<u64> {
        if self.coin() {
            return self.land_one();
        }
        self.limbo.pop().map(|(invocation, ..)| invocation)
    }

    /// Settles what an invocation of the API has left without an answer, before it looks again: it is carried out now,
    /// or never. DynamoDB ends a request within the time in which the API waits for its answer (*Not guaranteed* in
    /// docs/reference/guarantees.md). What completes the claim of a key may be carried out at any later time: between
    /// two reads of a look, after it, or once the request has been answered. So may what writes a record that is there,
    /// where the connection ended early: its condition doesn't hold again once the record has been written.
    fn settle_limbo(&mut self, invocation: u64) {
        let mut left = Vec::new();
        while let Some(position) = self.limbo.iter().position(|(of, asked, _)| *of == invocation && asked.is_some()) {
            let (_, asked, ask) = &self.limbo[position];
            let has_key = asked.is_some_and(|asked| self.history.has_key(asked));
            if (has_key || needs_record(ask)) && self.rng.random_ratio(if has_key { 3 } else { 1 }, 4) {
                left.push(self.limbo.remove(position));
            } else if self.coin() {
                self.land(position);
            } else {
                self.limbo.remove(position);
            }
        }
        if left.is_empty() {
            self.unseen.retain(|_, unseen| unseen.invocation != invocation);
        }
        self.limbo.extend(left);
    }

    fn land(&mut self, position: usize) {
        let (_, asked, ask) = self.limbo.remove(position);
        self.noting(asked, |calls| match ask {
            Ask::Write(writes) => writes.iter().for_each(|write| calls.apply(write)),
            Ask::Together(actions) => actions.iter().for_each(|action| _ = calls.of_together(action)),
            Ask::Transact(actions) => _ = calls.transact(&actions),
            ask => _ = calls.conditional(&ask),
        });
    }

    /// Does something to the table, and notes in the history what has changed, by this request to the API or by
    /// somebody else.
    pub(super) fn noting<V>(&mut self, asked: Option<usize>, act: impl FnOnce(&mut Self) -> V) -> V {
        let before = self.memory.stream.len();
        let done = act(self);
        self.history.changed(&self.memory.stream[before..], asked);
        done
    }

    /// Leaves a request without an answer: it is carried out later, or never.
    fn leave(&mut self, invocation: u64, asked: Option<usize>, ask: Ask) -> Option<Answer> {
        let can_stay = self.has_limbo && (self.has_conditional_limbo || matches!(ask, Ask::Write(_)));
        if !can_stay || !self.rng.random_bool(0.5) {
            return None;
        }
        self.limbo.push((invocation, asked, ask));
        asked.iter().for_each(|asked| self.note_loss(*asked));
        Some(Answer::Failed(TableError::unanswered("in limbo")))
    }

    fn note_loss(&mut self, asked: usize) {
        let since = self.seen_since();
        self.history.lost(asked, since);
    }

    /// The error of a request that got no answer. The handler is told of one that failed for another reason: it doesn't
    /// tell them apart where it looks again.
    fn lose(&mut self, asked: Option<usize>) -> TableError {
        let Some(asked) = asked else { return injected() };
        self.note_loss(asked);
        TableError::unanswered("lost")
    }

    /// The error of a request that isn't carried out.
    fn refuse(&mut self, asked: Option<usize>) -> TableError {
        let is_lost = asked.is_some() && self.loses_requests && self.coin();
        if is_lost {
            return self.lose(asked);
        }
        asked.iter().for_each(|asked| self.history.failed(*asked));
        injected()
    }

    /// Carries out one of a request's writes. Without a result it has failed, and may have been carried out all the
    /// same. An error answers the whole request, whose other writes are `rest`, this one among them.
    fn one_write<V>(
        &mut self,
        invocation: u64,
        rest: impl FnOnce() -> Ask,
        write: impl Fn(&mut Self) -> V,
    ) -> Result<Option<V>, Answer> {
        if !self.fails() {
            return Ok(Some(write(self)));
        }
        if let Some(answer) = self.leave(invocation, None, rest()) {
            return Err(answer);
        }
        // Half of the writes that fail are carried out all the same.
        if self.rng.random_bool(0.5) {
            _ = write(self);
        }
        if self.rng.random_bool(0.5) { Err(Answer::Failed(injected())) } else { Ok(None) }
    }

    fn fails(&mut self) -> bool {
        let fails = self.failures_left > 0 && self.rng.random_ratio(self.failure_percent, 100);
        self.failures_left -= usize::from(fails);
        fails
    }

    /// The invocations that wait for a call, and don't stall. If all of them stall, it is all of them.
    pub(super) fn who_waits(&self) -> Vec<u64> {
        let waiting = || self.waiting.values().map(|call| call.invocation);
        let going: Vec<u64> = waiting().filter(|invocation| !self.stalled.contains_key(invocation)).collect();
        if going.is_empty() { waiting().collect() } else { going }
    }

    /// Carries out a part of a waiting call that is picked at random, of this invocation if one is named. Returns the
    /// number of its invocation.
    pub(super) fn step(&mut self, invocation: Option<u64>) -> u64 {
        self.stalled.retain(|_, steps| {
            *steps -= 1;
            *steps > 0
        });
        let going = self.waiting.iter().filter(|(_, call)| match invocation {
            Some(one) => call.invocation == one,
            None => !self.stalled.contains_key(&call.invocation),
        });
        let mut ids: Vec<u64> = going.map(|(&id, _)| id).collect();
        if ids.is_empty() {
            ids.extend(self.waiting.keys());
        }
        let id = ids[self.rng.random_range(0..ids.len())];
        let mut call = self.waiting.remove(&id).unwrap();
        let invocation = call.invocation;
        if self.rng.random_ratio(self.stall_percent, 100) {
            let steps = self.rng.random_range(2..self.stall_steps_max);
            self.stalled.insert(invocation, steps);
        }
        self.mark(id);
        if !self.unseen.is_empty() && self.rng.random_ratio(1, 8) {
            let position = self.rng.random_range(0..self.unseen.len());
            let key = self.unseen.keys().nth(position).cloned();
            key.iter().for_each(|key| self.show(key));
        }
        let asked = call.asked;
        if asked.is_some() {
            self.settle_limbo(invocation);
        }
        let answer = self.noting(asked, |calls| calls.carry_out(&mut call));
        match answer {
            Some(answer) => {
                // A function of the API waits for an answer that doesn't come, and others go on meanwhile.
                if self.loses_requests && matches!(&answer, Answer::Failed(error) if error.is_unanswered()) {
                    let steps = self.rng.random_range(2..self.stall_steps_max);
                    self.stalled.insert(invocation, steps);
                }
                call.waker.wake_by_ref();
                self.answers.insert(id, answer);
            }
            None => {
                self.waiting.insert(id, call);
            }
        }
        invocation
    }

    /// The calls that wait, the oldest first.
    pub(super) fn waiting_calls(&self) -> Vec<WaitingCall> {
        let seen = |(id, call): (&u64, &Call)| WaitingCall {
            id: *id,
            invocation: call.invocation,
            is_write: call.ask.is_write(),
        };
        self.waiting.iter().map(seen).collect()
    }

    /// What a waiting call touches.
    pub(super) fn footprint(&self, id: u64) -> Footprint {
        self.waiting[&id].ask.footprint()
    }

    /// Lets this become of a waiting call, all of it at once.
    pub(super) fn decide(&mut self, id: u64, fate: Fate) {
        let mut call = self.waiting.remove(&id).unwrap();
        let asked = call.asked;
        let done = (fate != Fate::NeverCame).then(|| self.carry_out_whole(&mut call));
        let answer = match (fate, done) {
            (Fate::Answered, Some(answer)) => answer,
            _ => Answer::Failed(self.lose(asked)),
        };
        let digest = self.answered.entry(call.invocation).or_default();
        *digest = digests::chained(*digest, answer.digest());
        call.waker.wake_by_ref();
        self.answers.insert(id, answer);
    }

    /// What a call was answered, if nobody has taken the answer, and the number of the next call.
    pub(super) fn answer(&self, id: u64) -> (Option<Answer>, u64) {
        (self.answers.get(&id).cloned(), self.next)
    }

    /// Answers a call as it was answered before, while the next call had this number.
    pub(super) fn answer_again(&mut self, id: u64, answer: Answer, next: u64) {
        self.waiting.remove(&id).unwrap().waker.wake();
        self.answers.insert(id, answer);
        self.next = next;
    }

    /// What the waiting calls of an invocation wake.
    pub(super) fn wakers(&self, invocation: u64) -> Vec<(u64, Waker)> {
        let own = self.waiting.iter().filter(|(_, call)| call.invocation == invocation);
        own.map(|(id, call)| (*id, call.waker.clone())).collect()
    }

    /// Has these calls wake these futures.
    pub(super) fn wake(&mut self, wakers: Vec<(u64, Waker)>) {
        wakers.into_iter().for_each(|(id, waker)| self.waiting.get_mut(&id).unwrap().waker = waker);
    }

    /// Lets an invocation die, with what it waits for carried out or not.
    pub(super) fn end(&mut self, invocation: u64, is_carried_out: bool) {
        let waits = self.waiting_calls().into_iter().filter(|call| call.invocation == invocation);
        for WaitingCall { id, .. } in waits {
            let mut call = self.waiting.remove(&id).unwrap();
            if is_carried_out {
                self.carry_out_whole(&mut call);
            }
        }
    }

    fn carry_out_whole(&mut self, call: &mut Call) -> Answer {
        self.noting(call.asked, |calls| {
            loop {
                if let Some(answer) = calls.carry_out(call) {
                    return answer;
                }
            }
        })
    }

    /// Lets an invocation die. Some of its waiting calls are carried out, in part or whole, and none is answered.
    pub(super) fn crash(&mut self, invocation: u64) {
        let ids: Vec<u64> =
            self.waiting.iter().filter(|(_, c)| c.invocation == invocation).map(|(&id, _)| id).collect();
        for id in ids {
            let call = self.waiting.remove(&id).unwrap();
            self.noting(call.asked, |calls| calls.leave_half_done(&call));
        }
    }
}

fn injected() -> TableError {
    TableError::new(ErrorKind::Retry, "injected")
}

/// True for a write that needs a record to be as it was read, and puts none that has to be absent.
fn needs_record(ask: &Ask) -> bool {
    let puts_new = |action: &Action| matches!(action, Action::Put { condition, .. } if *condition != Condition::Always);
    match ask {
        Ask::Transact(actions) => !actions.iter().any(puts_new),
        ask => matches!(ask, Ask::Update(..) | Ask::Delete(..)),
    }
}
