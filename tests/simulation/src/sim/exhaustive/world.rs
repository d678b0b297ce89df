//! A small scope under way: the table, the invocations, and what can happen next.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_engine::fanout::{Fanout, Limits, Report, Run};

use super::footprints::Footprints;
use super::under_way::{Boxed, UnderWay};
use super::{Handles, Scope};
use crate::memory::Memory;
use crate::oracle::Oracle;
use crate::own;
use crate::sim::calls::{Calls, Fate, Shared, SimRetryPolicy, SimTable, WaitingCall};
use crate::sim::history::History;
use crate::sim::requests::{Asked, Sent, Values, request};
use crate::sim::schedule::passes_filter;
use crate::sim::{clock, digests};

/// What can happen next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// A client sends its next request, and its first call is carried out.
    Send(usize),
    /// The handler begins with all records that wait.
    Handle,
    /// This becomes of a call of an invocation.
    Call { id: u64, invocation: u64, fate: Fate },
    /// So much time passes that the claims of idempotency keys have ended.
    Pass,
    /// An invocation dies.
    Die { invocation: u64, is_carried_out: bool },
}

/// The numbers of requests begin here: sent again, they have another invocation.
const FIRST_REQUEST: u64 = 10;
/// The invocation of the handler that runs between the requests.
const HANDLER: u64 = 1;
/// How much time passes at once.
const PASS_SECONDS: u64 = 61;
/// Most invocations of the handler until a table has settled.
const SETTLING_MAX: u64 = 200;

/// A table at rest, and how it came to be.
pub(super) struct Start {
    memory: Memory,
    history: History,
}

pub(super) struct World {
    calls: Shared,
    settings: Arc<Settings>,
    fanout: Arc<Fanout>,
    queue: Vec<StreamRecord>,
    /// For each client the requests that it hasn't sent, and the invocation that it waits for.
    clients: Vec<(VecDeque<Sent>, Option<u64>)>,
    requests: BTreeMap<u64, (Sent, UnderWay<()>)>,
    handler: Option<(Vec<StreamRecord>, UnderWay<Report>)>,
    losses_left: u32,
    loses_handlers: bool,
    deaths_left: u32,
    passes_left: u32,
    handles: Option<Handles>,
    values: Values,
    pub(super) footprints: Footprints,
}

impl World {
    pub(super) fn new(scope: &Scope, rules: Rules, start: Option<&Start>) -> Self {
        let limits = Limits { requests_in_flight_max: 1, waits_max: 0, ..Limits::default() };
        let mut calls = Calls::new(SmallRng::seed_from_u64(0), 0, 0, 0);
        calls.patience = 1.0;
        calls.waits_max = if start.is_some() { scope.waits_max } else { u32::MAX };
        let settings = if scope.is_ordered { own::settings() } else { Settings::default() };
        let values = if scope.is_ordered { Values::Texts } else { Values::Any };
        calls.history = History::new(Schema::default(), scope.is_ordered.then(|| own::ORDER.to_owned()));
        if let Some(start) = start {
            (calls.memory, calls.history) = (start.memory.clone(), start.history.clone());
            // What was there before has been there for a while.
            calls.now += clock::WEEK;
        }
        let mut numbers = (FIRST_REQUEST..).step_by(10);
        let mut sent =
            |asked: &Asked| Sent { asked: asked.clone(), number: numbers.next().unwrap_or_default(), values };
        let clients = scope.clients.iter().map(|client| (client.iter().map(&mut sent).collect(), None)).collect();
        Self {
            calls: Arc::new(Mutex::new(calls)),
            settings: Arc::new(settings.clone()),
            fanout: Arc::new(Fanout { settings, limits, rules, ..Fanout::default() }),
            queue: Vec::new(),
            clients,
            requests: BTreeMap::new(),
            handler: None,
            losses_left: scope.losses_max,
            loses_handlers: scope.loses_handlers,
            deaths_left: scope.deaths_max,
            passes_left: scope.passes_max,
            handles: Some(scope.handles),
            values,
            footprints: Footprints::none(scope),
        }
    }

    /// Writes what is there before the clients begin, and lets it settle.
    pub(super) fn start(scope: &Scope) -> Start {
        let mut world = Self::new(scope, Rules::default(), None);
        for write in &scope.settled {
            let mut calls = world.calls.lock().unwrap();
            calls.noting(None, |calls| write.apply(&mut calls.memory, &BTreeMap::new()));
        }
        world.take_records();
        assert!(world.settle(), "the first tree settles");
        let calls = world.calls.lock().unwrap();
        Start { memory: calls.memory.clone(), history: calls.history.clone() }
    }

    fn take_records(&mut self) {
        let records: Vec<StreamRecord> = self.calls.lock().unwrap().memory.stream.drain(..).collect();
        self.queue.extend(records.into_iter().filter(|record| passes_filter(&record.key.sk)));
    }

    pub(super) fn moves(&self) -> Vec<Move> {
        let waiting = self.calls.lock().unwrap().waiting_calls();
        if let Some(call) = self.alone(&waiting) {
            return self.outcomes(&[call]);
        }
        let idle = |(sent, waits): &(VecDeque<Sent>, Option<u64>)| !sent.is_empty() && waits.is_none();
        let mut moves: Vec<Move> =
            (0..self.clients.len()).filter(|at| idle(&self.clients[*at])).map(Move::Send).collect();
        moves.extend(self.outcomes(&waiting));
        let is_idle = self.requests.is_empty() && self.handler.is_none();
        if self.passes_left > 0 && is_idle && !moves.is_empty() {
            moves.push(Move::Pass);
        }
        // A handler that begins after all requests have ended does what settling does.
        if self.handles.is_some() && !self.queue.is_empty() && !moves.is_empty() {
            moves.push(Move::Handle);
        }
        moves
    }

    /// What can become of these calls, and of their invocations meanwhile.
    fn outcomes(&self, waiting: &[WaitingCall]) -> Vec<Move> {
        let mut moves = Vec::new();
        for call in waiting {
            let of = |fate| Move::Call { id: call.id, invocation: call.invocation, fate };
            moves.push(of(Fate::Answered));
            let can_be_lost = call.invocation != HANDLER || self.loses_handlers;
            if call.is_write && self.losses_left > 0 && can_be_lost {
                moves.extend([of(Fate::Lost), of(Fate::NeverCame)]);
            }
        }
        if self.deaths_left > 0 {
            // One that dies while it reads has done no more than one that has died right after its last write.
            let can_die = |call: &&WaitingCall| call.is_write || self.footprints.is_any();
            let mut invocations: Vec<u64> = waiting.iter().filter(can_die).map(|call| call.invocation).collect();
            invocations.dedup();
            for invocation in invocations {
                moves.extend([false, true].map(|is_carried_out| Move::Die { invocation, is_carried_out }));
            }
        }
        moves
    }

    /// Who an invocation is of: the handler, or a client.
    fn who(&self, invocation: u64) -> usize {
        let client = self.clients.iter().position(|(_, waits)| *waits == Some(invocation));
        client.unwrap_or(self.clients.len())
    }

    /// True if somebody may still call the table.
    fn goes(&self, who: usize) -> bool {
        match self.clients.get(who) {
            Some((left, waits)) => !left.is_empty() || waits.is_some(),
            None => self.handler.is_some() || self.handles.is_some(),
        }
    }

    /// A call that comes to the same whenever it is carried out, because nobody else will touch what it touches.
    fn alone(&self, waiting: &[WaitingCall]) -> Option<WaitingCall> {
        let is_alone = |call: &&WaitingCall| {
            let footprint = self.calls.lock().unwrap().footprint(call.id);
            let who = self.who(call.invocation);
            let is_only = waiting.iter().filter(|other| other.invocation == call.invocation).count() == 1;
            let others = (0..=self.clients.len()).filter(|other| *other != who && self.goes(*other));
            is_only && !self.footprints.meet(&footprint, others)
        };
        waiting.iter().find(is_alone).copied()
    }

    pub(super) fn apply(&mut self, next: Move) {
        match next {
            Move::Send(client) => {
                let sent = self.clients[client].0.pop_front().unwrap();
                let invocation = self.send(sent);
                self.clients[client].1 = Some(invocation);
                self.poll(invocation);
                let first = self.calls.lock().unwrap().waiting_calls().into_iter().find(|c| c.invocation == invocation);
                if let Some(call) = first.filter(|call| !call.is_write) {
                    self.apply(Move::Call { id: call.id, invocation, fate: Fate::Answered });
                }
            }
            Move::Handle => {
                let handles = self.handles.take();
                self.handle(HANDLER);
                if handles == Some(Handles::AtOnce) {
                    self.finish_handling(HANDLER);
                }
            }
            Move::Call { id, invocation, fate } => {
                self.losses_left -= u32::from(fate != Fate::Answered);
                self.decide(id, invocation, fate);
            }
            Move::Pass => {
                self.passes_left -= 1;
                self.calls.lock().unwrap().now += PASS_SECONDS;
            }
            Move::Die { invocation, is_carried_out } => {
                self.deaths_left -= 1;
                self.calls.lock().unwrap().end(invocation, is_carried_out);
                self.take_records();
                self.die(invocation);
            }
        }
    }

    /// The same world, with invocations of its own.
    pub(super) fn copy(&self) -> Self {
        let calls = Arc::new(Mutex::new(self.calls.lock().unwrap().clone()));
        let mut wakers = Vec::new();
        let request = |(invocation, (sent, under_way)): (&u64, &(Sent, UnderWay<()>))| {
            let copy = under_way.copy(&calls, || self.request(sent, *invocation, &calls));
            wakers.extend(calls.lock().unwrap().wakers(*invocation));
            (*invocation, (sent.clone(), copy))
        };
        let requests = self.requests.iter().map(request).collect();
        let handler = self.handler.as_ref().map(|(records, under_way)| {
            let copy = under_way.copy(&calls, || self.handling(records, HANDLER, &calls));
            wakers.extend(calls.lock().unwrap().wakers(HANDLER));
            (records.clone(), copy)
        });
        self.calls.lock().unwrap().clone_into(&mut calls.lock().unwrap());
        calls.lock().unwrap().wake(wakers);
        Self {
            calls,
            settings: Arc::clone(&self.settings),
            fanout: Arc::clone(&self.fanout),
            queue: self.queue.clone(),
            clients: self.clients.clone(),
            requests,
            handler,
            footprints: self.footprints.clone(),
            ..*self
        }
    }

    fn request(&self, sent: &Sent, invocation: u64, calls: &Shared) -> Boxed<()> {
        request(sent.clone(), invocation, Arc::clone(calls), Arc::clone(&self.settings), self.fanout.rules)
    }

    fn send(&mut self, sent: Sent) -> u64 {
        // One that is sent again has another invocation.
        let is_new = |invocation: &u64| !self.calls.lock().unwrap().history.has_begun(*invocation);
        let invocation = (sent.number..).find(is_new).unwrap();
        let under_way = UnderWay::new(&self.calls, self.request(&sent, invocation, &self.calls));
        self.requests.insert(invocation, (sent, under_way));
        invocation
    }

    fn handling(&self, records: &[StreamRecord], invocation: u64, calls: &Shared) -> Boxed<Report> {
        let (fanout, calls, batch) = (Arc::clone(&self.fanout), Arc::clone(calls), records.to_vec());
        Box::pin(async move {
            let table = SimTable { calls: Arc::clone(&calls), invocation };
            let (name, now) = (invocation.to_string(), calls.lock().unwrap().now);
            fanout.run(&table, &SimRetryPolicy(calls), Run { name: &name, now }, &batch).await
        })
    }

    fn handle(&mut self, invocation: u64) {
        let records = std::mem::take(&mut self.queue);
        let log = records.iter().map(|record| digests::of(&record.sequence)).fold(1, digests::chained);
        self.calls.lock().unwrap().answered.insert(invocation, log);
        let under_way = UnderWay::new(&self.calls, self.handling(&records, invocation, &self.calls));
        self.handler = Some((records, under_way));
        self.poll(invocation);
    }

    /// Lets this become of a waiting call.
    fn decide(&mut self, id: u64, invocation: u64, fate: Fate) {
        self.calls.lock().unwrap().decide(id, fate);
        self.take_records();
        let (answer, next) = self.calls.lock().unwrap().answer(id);
        let answers = match self.requests.get_mut(&invocation) {
            Some((_, under_way)) => &mut under_way.answers,
            None => &mut self.handler.as_mut().unwrap().1.answers,
        };
        answers.extend(answer.map(|answer| (id, answer, next)));
        self.poll(invocation);
    }

    fn poll(&mut self, invocation: u64) {
        self.poll_one(invocation);
        let calls = self.calls.lock().unwrap();
        let waiting = calls.waiting_calls().into_iter().filter(|call| call.invocation == invocation);
        waiting.for_each(|call| self.footprints.met(self.who(invocation), calls.footprint(call.id)));
    }

    fn poll_one(&mut self, invocation: u64) {
        if let Some((_, under_way)) = self.requests.get_mut(&invocation) {
            if under_way.poll().is_ready() {
                self.requests.remove(&invocation);
                self.forget(invocation);
                self.goes_on(invocation);
            }
        } else if let Some((_, under_way)) = &mut self.handler
            && let Poll::Ready(report) = under_way.poll()
        {
            let (records, _) = self.handler.take().unwrap();
            self.forget(invocation);
            let failed = records.iter().position(|record| report.failed.contains(&record.sequence));
            self.requeue(&records[failed.unwrap_or(records.len())..]);
        }
    }

    fn requeue(&mut self, records: &[StreamRecord]) {
        self.queue.splice(0..0, records.iter().cloned());
    }

    /// The client that waited for this invocation goes on.
    fn goes_on(&mut self, invocation: u64) {
        for (_, waits) in &mut self.clients {
            *waits = waits.filter(|of| *of != invocation);
        }
    }

    /// Forgets what an invocation was answered, once it has ended. The history has what it said.
    fn forget(&self, invocation: u64) {
        self.calls.lock().unwrap().answered.remove(&invocation);
    }

    fn die(&mut self, invocation: u64) {
        self.forget(invocation);
        if let Some((sent, _)) = self.requests.remove(&invocation) {
            let client = self.clients.iter_mut().find(|(_, waits)| *waits == Some(invocation));
            if let Some((left, _)) = client.filter(|_| sent.asked.is_sent_again()) {
                left.push_front(sent);
            }
            self.goes_on(invocation);
        } else if let Some((records, _)) = self.handler.take() {
            self.requeue(&records);
        }
    }

    /// Has the handler do all that is left. False where it doesn't come to an end.
    fn settle(&mut self) -> bool {
        self.calls.lock().unwrap().waits_max = u32::MAX;
        // What is touched now comes after all that could be ordered in another way.
        self.footprints = self.footprints.apart();
        let from = 1_000_000;
        for invocation in from..from + SETTLING_MAX {
            if self.queue.is_empty() {
                return true;
            }
            self.handle(invocation);
            self.finish_handling(invocation);
        }
        false
    }

    /// Carries out all that the handler asks for.
    fn finish_handling(&mut self, invocation: u64) {
        while self.handler.is_some() {
            let waiting = self.calls.lock().unwrap().waiting_calls();
            let Some(call) = waiting.iter().find(|call| call.invocation == invocation) else { return };
            let id = call.id;
            self.decide(id, invocation, Fate::Answered);
        }
    }

    /// A digest of all that decides what can follow.
    pub(super) fn digest(&self) -> u64 {
        let calls = self.calls.lock().unwrap();
        let item = |(key, item): (&ItemKey, &_)| digests::of(&(&key.pk, &key.sk, digests::of_item(item)));
        let items = calls.memory.scan(0, 1, None).map(item).fold(0, u64::wrapping_add);
        let queue = self.queue.iter().map(|record| digests::of(&record.sequence)).fold(0, digests::chained);
        let sequence = calls.memory.sequence();
        let clients: Vec<_> = self.clients.iter().map(|(left, waits)| (left.len(), *waits)).collect();
        let mut waiting: Vec<_> = calls.waiting_calls().iter().map(|call| call.invocation).collect();
        waiting.sort_unstable();
        let left = (self.losses_left, self.deaths_left, self.passes_left, self.handles.is_some());
        let own = (calls.history.digest(), left, clients, waiting, &calls.answered);
        digests::of(&(items, queue, sequence, own))
    }

    /// What is wrong after all requests.
    pub(super) fn faults(mut self) -> Vec<String> {
        let settled = self.settle();
        let calls = self.calls.lock().unwrap();
        let contents = calls.memory.contents();
        let mut what = calls.history.faults();
        what.extend((!settled).then(|| "it doesn't come to rest".to_owned()));
        let oracle = if self.values == Values::Texts { own::oracle() } else { Oracle::default() };
        what.extend(oracle.differences(&contents));
        what.extend(calls.history.cycle());
        what
    }
}
