//! Small scopes, searched whole: a few requests, one run of the handler, one lost answer and one death, in every order
//! in which the table may carry their calls out. Random schedules find what happens often. This finds what can happen
//! at all.
//!
//! The search goes depth first, and replays a schedule from its start where it goes back. Two schedules that have come
//! to the same table, the same history, and the same answers to each invocation go on in the same way, so what follows
//! is searched once. The number of schedules counts all of them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{AttributeValue, BORN, DeletionMode, Settings, text};
use sapwood_core::plan::Rules;
use sapwood_engine::fanout::{Fanout, Limits, Report, Run};

use super::calls::{Calls, Fate, Shared, SimRetryPolicy, SimTable};
use super::history::History;
use super::requests::{Asked, Sent, Values, request};
use super::schedule::passes_filter;
use super::writers::BaseWrite;
use super::{clock, digests};
use crate::memory::Memory;
use crate::oracle::Oracle;
use crate::own;
use crate::planted::as_the_api;

/// What is searched.
#[derive(Clone, Debug)]
pub struct Scope {
    /// What the clients ask for, in words.
    pub name: String,
    /// What is there before.
    settled: Vec<BaseWrite>,
    /// The clients. Each sends its requests one after another.
    clients: Vec<Vec<Asked>>,
    /// Most calls whose answer is lost, or that are lost themselves.
    losses_max: u32,
    /// True if the answers that the handler waits for can be lost, too.
    loses_handlers: bool,
    /// Most functions that die.
    deaths_max: u32,
    /// How often more time passes than a claim of an idempotency key lasts, while nothing is under way.
    passes_max: u32,
    /// The most times that a client of the table tries one thing again.
    waits_max: u32,
    /// True if siblings are ordered by hand.
    is_ordered: bool,
    /// How the handler runs once between the requests. It runs after them in any case.
    handles: Handles,
}

/// How the handler runs between the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handles {
    /// All of its calls are carried out at once.
    AtOnce,
    /// Its calls are carried out in any order among the others.
    Between,
}

/// What a search has come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Searched {
    /// The number of schedules.
    pub schedules: u128,
    /// The number of states that differ.
    pub states: usize,
}

/// What can happen next.
#[derive(Clone, Copy, Debug)]
enum Move {
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
struct Start {
    memory: Memory,
    history: History,
}

/// What is under way, and comes to this.
type UnderWay<T> = Pin<Box<dyn Future<Output = T> + Send>>;

struct World {
    calls: Shared,
    fanout: Fanout,
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
}

impl World {
    fn new(scope: &Scope, rules: Rules, start: Option<&Start>) -> Self {
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
            fanout: Fanout { settings, limits, rules, ..Fanout::default() },
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
        }
    }

    /// Writes what is there before the clients begin, and lets it settle.
    fn start(scope: &Scope) -> Start {
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

    fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        let idle = |(sent, waits): &(VecDeque<Sent>, Option<u64>)| !sent.is_empty() && waits.is_none();
        moves.extend((0..self.clients.len()).filter(|at| idle(&self.clients[*at])).map(Move::Send));
        let waiting = self.calls.lock().unwrap().waiting_calls();
        for call in &waiting {
            let of = |fate| Move::Call { id: call.id, invocation: call.invocation, fate };
            moves.push(of(Fate::Answered));
            let can_be_lost = call.invocation != HANDLER || self.loses_handlers;
            if call.is_write && self.losses_left > 0 && can_be_lost {
                moves.extend([of(Fate::Lost), of(Fate::NeverCame)]);
            }
        }
        if self.deaths_left > 0 {
            let mut invocations: Vec<u64> = waiting.iter().map(|call| call.invocation).collect();
            invocations.dedup();
            for invocation in invocations {
                let writes = waiting.iter().any(|call| call.invocation == invocation && call.is_write);
                let ways = if writes { &[false, true][..] } else { &[false] };
                moves.extend(ways.iter().map(|way| Move::Die { invocation, is_carried_out: *way }));
            }
        }
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

    fn apply(&mut self, next: Move) {
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
                self.calls.lock().unwrap().decide(id, fate);
                self.take_records();
                self.poll(invocation);
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

    fn send(&mut self, sent: Sent) -> u64 {
        // One that is sent again has another invocation.
        let is_new = |invocation: &u64| self.calls.lock().unwrap().history.newest(*invocation).is_none();
        let invocation = (sent.number..).find(is_new).unwrap();
        let (calls, settings, rules) = (Arc::clone(&self.calls), self.fanout.settings.clone(), self.fanout.rules);
        self.requests.insert(invocation, (sent.clone(), request(sent, invocation, calls, settings, rules)));
        invocation
    }

    fn handle(&mut self, invocation: u64) {
        let records = std::mem::take(&mut self.queue);
        let log = records.iter().map(|record| digests::of(&record.sequence)).fold(1, digests::chained);
        self.calls.lock().unwrap().answered.insert(invocation, log);
        let (fanout, calls, batch) = (self.fanout.clone(), Arc::clone(&self.calls), records.clone());
        let now = self.calls.lock().unwrap().now;
        let future = Box::pin(async move {
            let table = SimTable { calls: Arc::clone(&calls), invocation };
            let name = invocation.to_string();
            fanout.run(&table, &SimRetryPolicy(calls), Run { name: &name, now }, &batch).await
        });
        self.handler = Some((records, future));
        self.poll(invocation);
    }

    fn poll(&mut self, invocation: u64) {
        let mut context = Context::from_waker(Waker::noop());
        if let Some((_, future)) = self.requests.get_mut(&invocation) {
            if future.as_mut().poll(&mut context).is_ready() {
                self.requests.remove(&invocation);
                self.goes_on(invocation);
            }
        } else if let Some((_, future)) = &mut self.handler
            && let Poll::Ready(report) = future.as_mut().poll(&mut context)
        {
            let (records, _) = self.handler.take().unwrap();
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

    fn die(&mut self, invocation: u64) {
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
            self.calls.lock().unwrap().decide(call.id, Fate::Answered);
            self.take_records();
            self.poll(invocation);
        }
    }

    /// A digest of all that decides what can follow.
    fn digest(&self) -> u64 {
        let calls = self.calls.lock().unwrap();
        let item = |(key, item): (&ItemKey, &_)| digests::of(&(&key.pk, &key.sk, digests::of_item(item)));
        let items = calls.memory.scan(0, 1, None).map(item).fold(0, u64::wrapping_add);
        let queue = self.queue.iter().map(|record| digests::of(&record.sequence)).fold(0, digests::chained);
        let sequence = calls.memory.sequence();
        let clients: Vec<_> = self.clients.iter().map(|(left, waits)| (left.len(), *waits)).collect();
        let waiting: Vec<_> = calls.waiting_calls().iter().map(|call| call.invocation).collect();
        let answered: Vec<_> = calls.answered.iter().filter(|(of, _)| **of < 1_000_000).collect();
        let left = (self.losses_left, self.deaths_left, self.passes_left, self.handles.is_some());
        let own = (calls.history.digest(), left, clients, waiting, answered);
        digests::of(&(items, queue, sequence, own))
    }

    /// What is wrong after all requests.
    fn faults(mut self) -> Vec<String> {
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

/// A schedule that ends wrong.
struct Wrong {
    moves: Vec<Move>,
    what: Vec<String>,
}

struct Search<'a> {
    scope: &'a Scope,
    rules: Rules,
    start: Start,
    /// For each state the number of schedules that go on from it.
    seen: HashMap<u64, u128>,
}

impl Search<'_> {
    fn begin(&self) -> World {
        World::new(self.scope, self.rules, Some(&self.start))
    }

    fn replay(&self, moves: &[Move]) -> World {
        let mut world = self.begin();
        moves.iter().for_each(|next| world.apply(*next));
        world
    }

    /// Searches what can follow these moves, which have led to this world. Returns the number of schedules.
    fn explore(&mut self, world: World, moves: &mut Vec<Move>) -> Result<u128, Wrong> {
        let digest = world.digest();
        if let Some(schedules) = self.seen.get(&digest) {
            return Ok(*schedules);
        }
        let next = world.moves();
        let mut schedules = 0;
        let mut here = Some(world);
        for one in next {
            let mut world = here.take().unwrap_or_else(|| self.replay(moves));
            world.apply(one);
            moves.push(one);
            schedules += self.explore(world, moves)?;
            moves.pop();
        }
        if let Some(world) = here {
            let what = world.faults();
            if !what.is_empty() {
                return Err(Wrong { moves: moves.clone(), what });
            }
            schedules = 1;
        }
        self.seen.insert(digest, schedules);
        Ok(schedules)
    }
}

/// Searches a scope.
///
/// # Errors
/// The first schedule that ends wrong, and what is wrong with it.
pub fn search_scope(scope: &Scope, rules: Rules) -> Result<Searched, String> {
    let mut search = Search { scope, rules, start: World::start(scope), seen: HashMap::new() };
    match search.explore(search.begin(), &mut Vec::new()) {
        Ok(schedules) => Ok(Searched { schedules, states: search.seen.len() }),
        Err(Wrong { moves, what }) => {
            let moves: Vec<String> = moves.iter().map(|next| format!("{next:?}")).collect();
            Err(format!("{}: {}\nafter {}", scope.name, what.join("; "), moves.join(", ")))
        }
    }
}

fn make(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

fn create(id: &str, parent: &str) -> Asked {
    Asked::Create { id: id.to_owned(), parent: Some(parent.to_owned()), made: false }
}

fn replace(id: &str, parent: &str) -> Asked {
    Asked::Replace { id: id.to_owned(), parent: Some(parent.to_owned()) }
}

fn rename(id: &str, name: u32) -> Asked {
    Asked::Rename { id: id.to_owned(), name }
}

fn move_to(id: &str, parent: &str) -> Asked {
    Asked::Move { id: id.to_owned(), parent: Some(parent.to_owned()) }
}

fn trash(id: &str) -> Asked {
    Asked::Trash { id: id.to_owned() }
}

fn restore(id: &str, parent: Option<Option<&str>>) -> Asked {
    Asked::Restore { id: id.to_owned(), parent: parent.map(|parent| parent.map(str::to_owned)) }
}

/// A node that was put into the trash, from below the node of this id as it was made.
fn trashed(id: &str, parent: &str) -> [BaseWrite; 2] {
    let said = [("at", "2025-12-24T00:00:00.000Z"), ("by", "somebody"), ("parent", parent)];
    let mut said: HashMap<String, AttributeValue> =
        said.iter().map(|(name, value)| ((*name).to_owned(), text(*value))).collect();
    let life = as_the_api(parent, None).into_iter().find(|(name, _)| name == BORN);
    said.extend(life.map(|(_, life)| ("born".to_owned(), life)));
    let value = Some(AttributeValue::M(said));
    [make(id, None), BaseWrite::Set { id: id.to_owned(), attribute: "_trashed", value }]
}

fn delete(id: &str, mode: Option<DeletionMode>) -> Asked {
    Asked::Delete { id: id.to_owned(), mode, revisions: false }
}

fn revised(version: u32) -> BaseWrite {
    BaseWrite::Revise { id: "p".to_owned(), version, topic: "Audit", text: 0 }
}

fn scope(settled: Vec<BaseWrite>, clients: Vec<Vec<Asked>>) -> Scope {
    let before: Vec<String> = settled.iter().map(|write| format!("{write:?}")).collect();
    let name = format!("{clients:?} on {}", before.join(", "));
    Scope {
        name,
        settled,
        clients,
        losses_max: 1,
        loses_handlers: false,
        deaths_max: 1,
        passes_max: 1,
        waits_max: 1,
        is_ordered: false,
        handles: Handles::Between,
    }
}

fn place(id: &str, kind: u32, beside: &str) -> Asked {
    Asked::Place { id: id.to_owned(), beside: beside.to_owned(), kind }
}

fn append() -> Asked {
    Asked::Append { id: "p".to_owned() }
}

fn with_revision(asked: Asked) -> Asked {
    Asked::WithRevision(Box::new(asked))
}

fn unrevise(version: u32) -> Asked {
    Asked::Unrevise { id: "p".to_owned(), version }
}

/// The scopes in which an answer that is lost once had a write carried out twice, or decided anew. Each has one client
/// that waits for its answer, while another sends one request after another.
#[must_use]
pub fn few_scopes() -> Vec<Scope> {
    let (p, q, n) = (make("p", None), make("q", None), make("n", Some("p")));
    let two = |one: Vec<Asked>, other: Vec<Asked>| vec![one, other];
    let with_node = || vec![p.clone(), q.clone(), n.clone()];
    let scopes = [
        scope(vec![p.clone()], two(vec![create("n", "p")], vec![replace("n", "p"), delete("n", None)])),
        scope(vec![p.clone(), n.clone()], two(vec![delete("n", None)], vec![delete("n", None), create("n", "p")])),
        scope(vec![p.clone(), n.clone()], two(vec![rename("n", 1)], vec![rename("n", 2)])),
        scope(with_node(), two(vec![move_to("n", "p")], vec![move_to("n", "q")])),
        scope([vec![p.clone()], (1..=3).map(revised).collect()].concat(), two(vec![unrevise(3)], vec![append()])),
        scope(
            vec![p.clone()],
            two(vec![create("n", "p")], vec![create("k", "n"), delete("n", None), move_to("p", "k")]),
        ),
        scope(vec![p.clone()], two(vec![with_revision(rename("p", 1))], vec![append(), unrevise(1)])),
        scope(vec![p.clone(), revised(1)], two(vec![with_revision(rename("p", 1))], vec![rename("p", 2), unrevise(2)])),
        scope(vec![p.clone()], two(vec![with_revision(create("n", "p"))], vec![delete("n", None)])),
    ];
    // No function dies, and the handler is never interrupted, so that the search is short.
    scopes.map(|scope| Scope { deaths_max: 0, passes_max: 0, handles: Handles::AtOnce, ..scope }).into()
}

/// Every pair of requests of every kind, on one node, on a node and its parent, among siblings, and on one topic; with
/// idempotency keys, in batches, and beside an import; and requests that decide three times. In groups, each with a
/// name.
#[must_use]
pub fn all_scopes() -> Vec<(&'static str, Vec<Scope>)> {
    let (p, q, n, k) = (make("p", None), make("q", None), make("n", Some("p")), make("k", Some("n")));
    let subtree = || Some(DeletionMode::Delete);
    let pairs = |settled: &[BaseWrite], some: &[Asked], others: &[Asked]| {
        let pair = |one: &Asked, other: &Asked| scope(settled.to_vec(), vec![vec![one.clone()], vec![other.clone()]]);
        some.iter().flat_map(|one| others.iter().map(|other| pair(one, other)).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let distinct = |settled: &[BaseWrite], all: &[Asked]| {
        let ends = |at: usize| pairs(settled, &all[at..=at], &all[at..]);
        (0..all.len()).flat_map(ends).collect::<Vec<_>>()
    };
    let own = [
        create("n", "p"),
        replace("n", "p"),
        replace("n", "q"),
        rename("n", 1),
        move_to("n", "q"),
        delete("n", None),
        delete("n", subtree()),
        delete("n", Some(DeletionMode::Adopt)),
        delete("n", Some(DeletionMode::Detach)),
    ];
    let boxed = |asked: &Asked| Box::new(asked.clone());
    let mut keyed: Vec<Asked> = own.iter().map(|asked| Asked::Keyed(boxed(asked))).collect();
    keyed.push(Asked::IfUnchanged(boxed(&own[3])));
    keyed.push(Asked::Batch(vec![own[0].clone(), own[3].clone()]));
    keyed.push(Asked::Import(vec![("n".to_owned(), Some("p".to_owned()))]));
    let child = [create("k", "n"), rename("k", 1), move_to("k", "n"), move_to("p", "k"), delete("k", None)];
    let topic = [append(), unrevise(1), unrevise(2), Asked::Amend { id: "p".to_owned(), version: 1 }];
    let keyed_topic: Vec<Asked> = topic.iter().map(|asked| Asked::Keyed(boxed(asked))).collect();
    let (absent, present) = (vec![p.clone(), q.clone()], vec![p.clone(), q.clone(), n.clone()]);
    let with_child = [present.clone(), vec![k]].concat();
    let revisions: Vec<BaseWrite> = std::iter::once(p).chain((1..=2).map(revised)).collect();
    let documents = [rename("p", 1), Asked::Replace { id: "p".to_owned(), parent: None }].map(with_revision);
    let keyed_documents: Vec<Asked> = documents.iter().map(|asked| Asked::Keyed(boxed(asked))).collect();
    let on_node = [rename("p", 2), delete("p", None), delete("p", subtree())];
    let of_document = [documents.to_vec(), topic.to_vec(), on_node.to_vec()].concat();
    let of_family = |settled: &[BaseWrite]| -> Vec<Scope> {
        let pairs = pairs(settled, &own, &child).into_iter();
        pairs.map(|scope| Scope { loses_handlers: true, ..scope }).collect()
    };
    let mut groups = vec![
        ("those that were wrong once", few_scopes()),
        ("siblings", places(&present)),
        ("three decisions", thirds(&present, &own)),
        ("a topic", distinct(&revisions, &topic)),
        ("a topic, with keys", pairs(&revisions, &keyed_topic, &topic)),
        ("a node and its topic", pairs(&revisions, &documents, &of_document)),
        ("a node and its topic, with keys", pairs(&revisions, &keyed_documents, &of_document)),
        ("a node with a revision that isn't there", pairs(&absent, &[with_revision(create("n", "p"))], &own)),
        ("a node that isn't there", distinct(&absent, &own)),
        ("a node", distinct(&present, &own)),
        ("a node that isn't there, with keys", pairs(&absent, &keyed, &own)),
        ("a node, with keys", pairs(&present, &keyed, &own)),
        ("a node, and a child that isn't there", of_family(&present)),
        ("a node and its child", of_family(&with_child)),
    ];
    groups.extend(of_the_trash());
    groups
}

/// A node that is put into the trash, or taken out, while it or a node above it is written, moved, put into the trash
/// or deleted.
fn of_the_trash() -> [(&'static str, Vec<Scope>); 3] {
    let (p, q, n) = (make("p", None), make("q", None), make("n", Some("p")));
    let subtree = || Some(DeletionMode::Delete);
    let live = vec![p.clone(), q.clone(), n];
    let in_trash = [vec![p, q], trashed("n", "p").into()].concat();
    let asked = [trash("n"), restore("n", None), restore("n", Some(None)), restore("n", Some(Some("q")))];
    let keyed = |asked: &Asked| Asked::Keyed(Box::new(asked.clone()));
    let unchanged = Asked::IfUnchanged(Box::new(delete("n", subtree())));
    let sent = [keyed(&asked[0]), keyed(&asked[1]), unchanged, Asked::Batch(vec![trash("n"), restore("n", None)])];
    let own = [create("n", "p"), replace("n", "q"), rename("n", 1), move_to("n", "q"), delete("n", None)];
    let modes = [DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach];
    let own = own.into_iter().chain(modes.map(|mode| delete("n", Some(mode)))).chain(asked.clone());
    let above = [
        trash("p"),
        delete("p", None),
        delete("p", subtree()),
        delete("p", Some(DeletionMode::Adopt)),
        delete("p", Some(DeletionMode::Detach)),
        move_to("p", "q"),
        move_to("p", "n"),
        move_to("q", "n"),
        create("k", "n"),
    ];
    let others: Vec<Asked> = own.chain(above).collect();
    let settled = [&live, &in_trash];
    let of = |some: &[Asked]| {
        let pairs = some.iter().flat_map(|one| others.iter().map(|other| vec![vec![one.clone()], vec![other.clone()]]));
        let pairs: Vec<_> = pairs.collect();
        settled.into_iter().flat_map(move |settled| pairs.clone().into_iter().map(|pair| scope(settled.clone(), pair)))
    };
    let alone = of(&asked).map(|scope| Scope { loses_handlers: true, ..scope });
    let thirds = [
        vec![trash("n"), restore("n", None)],
        vec![restore("n", None), trash("n")],
        vec![restore("n", None), delete("n", None)],
        vec![delete("p", None), create("p", "q")],
        vec![trash("p"), restore("p", None)],
    ];
    let thirds = settled.into_iter().flat_map(|settled| {
        let pairs = asked.iter().flat_map(|one| thirds.iter().map(|others| vec![vec![one.clone()], others.clone()]));
        pairs.map(|clients| scope(settled.clone(), clients)).collect::<Vec<_>>()
    });
    let at_once = |scope| Scope { passes_max: 0, deaths_max: 0, handles: Handles::AtOnce, ..scope };
    [
        ("the trash", alone.collect()),
        ("the trash, with keys and in batches", of(&sent).collect()),
        ("the trash, three decisions", thirds.map(|scope| at_once(Scope { waits_max: 2, ..scope })).collect()),
    ]
}

/// Every way to place `n` beside `m`, or to create it there, while `n` or `m` is written, moved, placed or deleted.
fn places(settled: &[BaseWrite]) -> Vec<Scope> {
    let siblings = [settled, &[make("m", Some("p")), make("l", Some("p"))]].concat();
    let created = Asked::CreateAt { id: "o".to_owned(), parent: Some("p".to_owned()), beside: "m".to_owned(), kind: 3 };
    let ways = (0..4).map(|kind| place("n", kind, "m")).chain([created.clone(), Asked::Keyed(Box::new(created))]);
    let others = [
        rename("n", 1),
        move_to("n", "q"),
        move_to("m", "q"),
        delete("n", None),
        delete("m", None),
        place("m", 3, "n"),
        place("l", 3, "m"),
        create("o", "p"),
    ];
    let pairs = ways.flat_map(|one| others.iter().map(move |other| vec![vec![one.clone()], vec![other.clone()]]));
    let of = |clients| Scope {
        is_ordered: true,
        passes_max: 0,
        deaths_max: 0,
        handles: Handles::AtOnce,
        ..scope(siblings.clone(), clients)
    };
    pairs.map(of).collect()
}

/// Requests that decide up to three times, because one answer is lost and two others write in between.
fn thirds(settled: &[BaseWrite], own: &[Asked]) -> Vec<Scope> {
    let others = [
        vec![rename("n", 1), rename("n", 2)],
        vec![delete("n", None), create("n", "p")],
        vec![rename("n", 1), delete("n", None)],
        vec![move_to("n", "q"), move_to("n", "p")],
        vec![replace("n", "q"), rename("n", 1)],
    ];
    let pairs = own.iter().flat_map(|one| others.iter().map(move |others| vec![vec![one.clone()], others.clone()]));
    let of = |clients| Scope {
        waits_max: 2,
        passes_max: 0,
        deaths_max: 0,
        handles: Handles::AtOnce,
        ..scope(settled.to_vec(), clients)
    };
    pairs.map(of).collect()
}
