//! The scheduler of a run.

mod invocations;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{ItemKey, Names, Schema};
use sapwood_core::model::{AttributeValue, Copied, Epoch, Item, Settings, Totals, UniqueNames, has_mark};
use sapwood_engine::fanout::{Fanout, Limits, Report};

use super::calls::{Calls, Shared};
use super::clock;
use super::copies::{Copies, Copying};
use super::damage::damage_totals;
use super::drills::Drill;
use super::followers::{Followers, Seen};
use super::history::History;
use super::names;
use super::outages::Operator;
use super::priorities::{Priorities, Who};
use super::profile::{Profile, Writers};
use super::repairs::{REPAIRS_AT_REST, audits, backfill, damage, repair};
use super::requests::{Asked, Sent, Values, request};
use super::subtrees::{COPIED_MAX, Judge};
use super::totals;
use super::witness::{Actor, Witness};
use super::writers::{BaseWrite, SCALED, script};
use crate::memory::Wire;
use crate::oracle::{Contents, Oracle};
use crate::own;
use crate::seeds::number;
use crate::unfinished::unfinished;

/// A run that ended without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The number of scheduler steps.
    pub steps: usize,
    /// A hash of what happened, call by call.
    pub trace: u64,
}

/// A run that ended with a fault.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The seed that replays the run.
    pub seed: u64,
    /// What is wrong.
    pub what: Vec<String>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.what.join("; "))
    }
}

type Running = Pin<Box<dyn Future<Output = Report> + Send>>;

pub(super) struct Invocation {
    future: Running,
    records: Arc<[StreamRecord]>,
}

pub(super) struct World<'a> {
    /// For each record that is delivered again: its item, and the invocation that didn't finish it.
    pub(super) unfinished: BTreeMap<String, (ItemKey, u64)>,
    pub(super) profile: &'a Profile,
    pub(super) calls: Shared,
    pub(super) fanout: Arc<Fanout>,
    /// The records to deliver, in the stream's order.
    pub(super) queue: Vec<StreamRecord>,
    /// The records that were delivered and handled.
    pub(super) history: Vec<StreamRecord>,
    pub(super) running: BTreeMap<u64, Invocation>,
    /// The requests to the API that are under way.
    pub(super) requests: BTreeMap<u64, Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The requests to the API, by the numbers of their invocations.
    asked: BTreeMap<u64, Sent>,
    /// The witness of every change, in profiles that delete nodes.
    pub(super) witness: Option<Witness>,
    /// Who sees names, where no two siblings are to have one.
    names: Option<names::Judge>,
    /// True while handlers with other totals, and with none, run side by side.
    switches_totals: bool,
    /// True if totals are wrong until they are mended.
    has_damaged_totals: bool,
    /// Who sees what is counted, where totals are kept.
    totals: Option<totals::Judge>,
    /// The judge of copied subtrees, in the same profiles.
    judge: Judge,
    /// What was wrong with a request that was carried out when its invocation ended.
    ended_wrong: Option<Vec<String>>,
    /// The newest copy of each node that has a mark.
    marked: BTreeMap<ItemKey, Item>,
    copies: Copies,
    /// After how many changes of nodes each invocation of the handler began.
    began: BTreeMap<u64, usize>,
    /// Who wrote last.
    pub(super) actor: Actor,
    pub(super) invocations: u64,
    /// Those who follow the feeds of trees.
    pub(super) followers: Followers,
    /// True once a feed has begun.
    pub(super) has_feed: bool,
    /// What followers may be shown.
    pub(super) seen: Seen,
    crashes_left: usize,
    late_left: usize,
    repairs_left: usize,
    /// The numbers of the repairs, redrives included.
    repairs: BTreeSet<u64>,
    /// The numbers of the redrives.
    redrives: BTreeSet<u64>,
    pub(super) operator: Operator,
    /// In profiles with races: who goes on.
    priorities: Option<Priorities>,
    /// When each invocation and each request began.
    begun_at: BTreeMap<u64, u64>,
    /// How often time passes yet.
    passes_left: usize,
    /// Requests that their clients send again, and how often they did.
    again: Vec<Sent>,
    sent_again: BTreeMap<u64, u32>,
    /// Most invocations at a time.
    workers: usize,
    /// True once the first tree has settled. No faults are injected before that.
    begun: bool,
    /// True if each change is printed (`SAPWOOD_TRACE=1`).
    traces: bool,
}

/// Most times that a client sends one request again.
const AGAIN_MAX: u32 = 3;

/// Runs one schedule.
///
/// # Errors
/// A [`Fault`] that lists where the table differs from what its base records call for, and what else is wrong.
pub fn run(seed: u64, profile: &Profile) -> Result<Run, Fault> {
    played(seed, profile).map(|(run, _)| run)
}

/// The number of requests of a schedule that took over the claim of their idempotency key from an owner that had died.
///
/// # Errors
/// As [`run`].
pub fn claims_taken_over(seed: u64, profile: &Profile) -> Result<usize, Fault> {
    played(seed, profile).map(|(_, taken_over)| taken_over)
}

fn played(seed: u64, profile: &Profile) -> Result<(Run, usize), Fault> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut script = script(&mut rng, profile.writers, profile.writes_max);
    if profile.switches_totals {
        script.rest.extend([BaseWrite::Copy(Copying::Wait), BaseWrite::NewEpoch]);
    }
    let all = own::settings();
    let settings = Settings {
        order: all.order.filter(|_| rng.random_ratio(2, 3)).map(|by_hand| {
            // Not drawn, so that the other schedules stay what they are.
            if seed % 7 == 3 && profile.writers != Writers::Answers { own::order_by_several() } else { by_hand }
        }),
        links: if rng.random_ratio(2, 3) { all.links } else { BTreeSet::new() },
        path_rows: profile.writers == Writers::Moves || rng.random_ratio(4, 5),
        root_rows: rng.random_ratio(4, 5),
        schema: Schema::new(Names::default(), profile.writers == Writers::Tenants).unwrap(),
        names: match profile.writers {
            // Not drawn either. What is copied claims its names.
            Writers::Subtrees | Writers::MixedSubtrees if seed % 5 == 2 => UniqueNames::Exact,
            writers if !writers.name_siblings() => UniqueNames::Off,
            _ if seed.is_multiple_of(2) => UniqueNames::Exact,
            _ => UniqueNames::Caseless,
        },
        changes: profile.follows,
        totals: profile.totals.then(|| Totals::of(totals::ATTRIBUTES.map(str::to_owned))),
        ..Settings::default()
    };
    let slice_items_max = [1, 2, 3, 100][rng.random_range(0..4)];
    let limits = Limits {
        touch_slice_items_max: slice_items_max,
        action_slice_items_max: slice_items_max,
        copy_step_items_max: slice_items_max.min(90),
        copy_steps_max: slice_items_max.min(2),
        // Not drawn either.
        copied_nodes_max: if profile.writers == Writers::Subtrees && seed % 8 == 5 { COPIED_MAX } else { 10_000 },
        count_actions_max: (slice_items_max + 1).min(100),
        // One request of rows at a time, where slices are of one child.
        bytes_in_flight_max: if slice_items_max == 1 { 1 } else { Limits::default().bytes_in_flight_max },
        orphan_page_items_max: [1, 2, 100][rng.random_range(0..3)],
        revision_page_items_max: [1, 2, 100][rng.random_range(0..3)],
        requests_in_flight_max: [1, 2, 8][rng.random_range(0..3)],
        heavy_bytes: if profile.looks { 0 } else { usize::MAX },
        waits_max: 2,
        rounds_max: [2, 20][rng.random_range(0..2)],
    };
    let failure_percent = profile.failure_percent.unwrap_or_else(|| [0, 2, 10, 25][rng.random_range(0..4)]);
    let stall_percent = [0, 5, 15][rng.random_range(0..3)];
    let crashes_left = if rng.random_bool(0.5) { profile.crashes_max } else { 0 };
    let late_left = if rng.random_bool(0.5) { profile.late_max } else { 0 };
    let workers = rng.random_range(1..=5);
    let mut world = World {
        unfinished: BTreeMap::new(),
        profile,
        calls: Arc::new(Mutex::new(Calls::new(rng, 0, failure_percent, stall_percent))),
        names: settings.names.is_on().then(|| names::Judge::new(settings.names)),
        switches_totals: profile.switches_totals,
        has_damaged_totals: false,
        totals: settings.totals.as_ref().map(|_| totals::Judge::default()),
        fanout: Arc::new(Fanout { settings, limits, rules: profile.rules(), ..Fanout::default() }),
        queue: Vec::new(),
        history: Vec::new(),
        running: BTreeMap::new(),
        requests: BTreeMap::new(),
        asked: BTreeMap::new(),
        witness: profile.writers.delete_nodes().then(|| Witness::new(profile.writers.are_the_api())),
        judge: Judge::new(profile.torn),
        ended_wrong: None,
        marked: BTreeMap::new(),
        copies: Copies::default(),
        began: BTreeMap::new(),
        actor: Actor::Client,
        invocations: 0,
        followers: Followers::default(),
        has_feed: !profile.switches_feeds,
        seen: Seen::default(),
        crashes_left,
        late_left,
        repairs_left: profile.repairs_max,
        repairs: BTreeSet::new(),
        redrives: BTreeSet::new(),
        operator: Operator::default(),
        priorities: None,
        begun_at: BTreeMap::new(),
        passes_left: 0,
        again: Vec::new(),
        sent_again: BTreeMap::new(),
        workers,
        begun: false,
        traces: number("SAPWOOD_TRACE").is_some(),
    };
    if matches!(profile.writers, Writers::Adoptions | Writers::Heirs | Writers::Returns) {
        world.calls.lock().unwrap().stall_steps_max = 300;
    }
    {
        let mut calls = world.calls.lock().unwrap();
        calls.request_bytes_max = profile.request_bytes_max;
        calls.wire = (profile.writers == Writers::Heavy).then(|| Wire::DYNAMODB.scaled(SCALED));
        calls.is_silent = profile.silent_413;
        calls.looks_end = profile.looks;
    }
    if profile.races {
        let mut calls = world.calls.lock().unwrap();
        calls.stall_percent = 0;
        world.priorities = Some(Priorities::new([5, 12, 30][calls.rng.random_range(0..3)]));
    }
    {
        let mut calls = world.calls.lock().unwrap();
        let settings = &world.fanout.settings;
        let by_hand = settings.order.as_ref().filter(|order| order.by_hand);
        calls.history = History::new(settings.schema.clone(), by_hand.map(|order| order.attribute().to_owned()));
        calls.loses_requests = matches!(profile.writers, Writers::Answers | Writers::Drill(Drill::LostCreation));
        calls.patience = if profile.writers == Writers::Answers { 0.9 } else { calls.patience };
    }
    let fault = |what: Vec<String>| Fault { seed, what };
    let mut steps = 0;
    for write in script.settled {
        world.write(write, false);
    }
    world.settle(&mut VecDeque::new(), &mut steps, &BTreeSet::new()).map_err(&fault)?;
    world.begin().map_err(&fault)?;
    let watched = world.watched();
    world.settle(&mut script.rest, &mut steps, &watched).map_err(&fault)?;

    world.mend_all(&mut steps).map_err(&fault)?;

    let contents = world.calls.lock().unwrap().memory.contents();
    let unlike_trees = world.unlike_trees(&contents);
    let calls = world.calls.lock().unwrap();
    let settings = &world.fanout.settings;
    let oracle = Oracle {
        path_rows: settings.path_rows,
        root_rows: settings.root_rows,
        tenants: settings.schema.has_tenants(),
        order: settings.order.as_ref().map(ToString::to_string),
        links: if settings.links.is_empty() { Vec::new() } else { own::oracle().links },
        copied: (settings.copied != Copied::All).then(|| vec!["text"]),
        ..Oracle::default()
    };
    let mut what = oracle.differences(&contents);
    let unfinished = unfinished(&contents, &world.fanout.settings);
    what.extend(unfinished.into_iter().map(|pk| format!("{pk} isn't where it belongs")));
    what.extend(still_trashed(&contents));
    what.extend(unlike_trees);
    what.extend(world.witness.iter().flat_map(Witness::at_rest));
    what.extend(world.names.iter().filter(|_| profile.repairs_max > 0).flat_map(names::Judge::mended));
    what.extend(world.judge.at_rest(&contents, profile.outages_max > 0));
    let wrong_totals = world.totals.iter().flat_map(|_| totals::wrong_places(&contents, &totals::ATTRIBUTES));
    // In a cycle they can't be compared, and nobody mends them before it ends.
    let is_judged = |pk: &str| !world.has_damaged_totals || !totals::is_in_cycle(pk, &contents);
    what.extend(wrong_totals.filter(|(pk, _)| is_judged(pk)).map(|(_, what)| what));
    let is_tidied = world.totals.is_some() && profile.repairs_max > 0;
    what.extend(is_tidied.then(|| totals::empty_totals(&contents)).into_iter().flatten());
    what.extend(calls.history.faults());
    what.extend(calls.history.cycle().filter(|_| profile.writers.are_the_api() || profile.writers == Writers::Answers));
    if what.is_empty() { Ok((Run { steps, trace: calls.trace }, calls.history.taken_over())) } else { Err(fault(what)) }
}

/// The nodes that have a parent again, and whose records still say that they were put into the trash. Once the parent
/// goes, they would be back there.
fn still_trashed(contents: &Contents) -> impl Iterator<Item = String> {
    let is_text = |item: &Item, name: &str| matches!(item.get(name), Some(AttributeValue::S(text)) if !text.is_empty());
    let is_one = move |item: &Item| {
        let is_understood = !item.contains_key("segment") || is_text(item, "segment");
        item.contains_key("_trashed") && is_text(item, "parent") && is_understood
    };
    let nodes = contents.iter().filter(move |((_, sk), item)| sk == "NODE" && is_one(item));
    nodes.map(|((pk, _), _)| format!("{pk} has a parent, and still says that it is in the trash"))
}

impl World<'_> {
    fn write(&mut self, write: BaseWrite, is_last: bool) {
        self.actor = Actor::Client;
        let asked = match write {
            BaseWrite::Ask(asked) => asked,
            BaseWrite::Copy(copying) => {
                let calls = Arc::clone(&self.calls);
                return calls
                    .lock()
                    .unwrap()
                    .noting(None, |Calls { memory, rng, .. }| self.copies.go_on(copying, memory, rng));
            }
            BaseWrite::NewEpoch => {
                // The last write of such a run, and nothing is under way.
                self.switches_totals &= !is_last;
                self.calls.lock().unwrap().is_epoch_unfinished = true;
                return self.begin_backfill();
            }
            write => {
                if matches!(write, BaseWrite::Make { .. }) {
                    self.actor = Actor::Api;
                }
                let mut calls = self.calls.lock().unwrap();
                return calls.noting(None, |calls| write.apply(&mut calls.memory, &self.marked));
            }
        };
        let number = self.invocations;
        let is_impatient = matches!(asked, Asked::Impatient(_));
        let values = if self.profile.writers == Writers::Answers { Values::Texts } else { Values::Any };
        let sent = Sent { asked, number, values };
        if is_impatient {
            self.send(sent.clone());
        }
        self.send(sent);
    }

    fn write_next(&mut self, rest: &mut VecDeque<BaseWrite>) {
        let write = rest.pop_front().unwrap();
        self.write(write, rest.is_empty());
    }

    /// Sends a request to the API.
    fn send(&mut self, sent: Sent) {
        let invocation = self.invocations;
        self.invocations += 1;
        let (calls, rules) = (Arc::clone(&self.calls), self.fanout.rules);
        let settings = Arc::new(self.fanout.settings.clone());
        self.begins(invocation);
        self.requests.insert(invocation, request(sent.clone(), invocation, calls, settings, rules));
        self.asked.insert(invocation, sent);
        self.poll(invocation);
    }

    /// Notes that an invocation begins now. Returns the time.
    fn begins(&mut self, invocation: u64) -> u64 {
        let now = self.calls.lock().unwrap().now;
        self.begun_at.insert(invocation, now);
        now
    }

    fn repair(&mut self) {
        self.repairs_left -= 1;
        let number = self.invocations;
        self.invocations += 1;
        // While others write, every other repair is the auditor's.
        let begin = if self.repairs_left % 2 == 1 { audits } else { repair };
        let future = begin(number, Arc::clone(&self.calls), self.fanout.settings.clone(), self.fanout.rules);
        self.requests.insert(number, future);
        self.repairs.insert(number);
        self.actor = Actor::Repair;
        self.poll(number);
    }

    /// True if totals are to be begun anew, or an epoch was begun that nobody has ended. Of two commands the first may
    /// end before the other begins its own.
    fn is_epoch_unfinished(&self) -> bool {
        let key = self.fanout.settings.schema.epoch_key();
        let calls = self.calls.lock().unwrap();
        calls.is_epoch_unfinished || calls.memory.get(&key).is_some_and(|item| item.contains_key(Epoch::UNFINISHED))
    }

    /// Begins all totals anew.
    fn begin_backfill(&mut self) {
        let (calls, settings, rules) = (Arc::clone(&self.calls), self.fanout.settings.clone(), self.fanout.rules);
        self.begin_redrive(|number| backfill(number, calls, settings, rules));
    }

    /// Begins a redrive, which `make` makes of its number.
    pub(super) fn begin_redrive(&mut self, make: impl FnOnce(u64) -> Pin<Box<dyn Future<Output = ()> + Send>>) {
        let number = self.invocations;
        self.invocations += 1;
        self.requests.insert(number, make(number));
        self.repairs.insert(number);
        self.redrives.insert(number);
        self.actor = Actor::Repair;
        self.poll(number);
    }

    /// Ends all redrives that are under way.
    pub(super) fn end_redrives(&mut self) {
        for number in std::mem::take(&mut self.redrives) {
            if self.requests.remove(&number).is_some() {
                self.calls.lock().unwrap().crash(number);
            }
        }
    }

    /// Repairs a table at rest, until nothing is left to mend.
    fn mend_all(&mut self, steps: &mut usize) -> Result<(), Vec<String>> {
        if self.profile.repairs_max == 0 {
            return Ok(());
        }
        self.calls.lock().unwrap().failures_left = 0;
        (self.crashes_left, self.late_left) = (0, 0);
        for _ in 0..REPAIRS_AT_REST {
            self.repairs_left = 1;
            let before = self.calls.lock().unwrap().memory.sequence();
            self.repair();
            self.settle(&mut VecDeque::new(), steps, &BTreeSet::new())?;
            // The next one would find nothing to mend, either.
            if self.calls.lock().unwrap().memory.sequence() == before {
                break;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Vec<String>> {
        if self.profile.writers.take_time() {
            // Some time after the first tree, or at once.
            let seconds = [0, 30, 61, 120, clock::TWO_DAYS][self.roll(5)];
            self.passes_left = [0, 3][self.roll(2)];
            self.pass(seconds)?;
        }
        if self.profile.repairs_max > 0
            && matches!(self.profile.writers, Writers::Any | Writers::Nodes | Writers::Moves)
        {
            damage(&mut self.calls.lock().unwrap());
        }
        if self.profile.repairs_max > 0 && self.profile.writers == Writers::Totals && self.roll(2) == 0 {
            let mut calls = self.calls.lock().unwrap();
            let Calls { memory, rng, .. } = &mut *calls;
            for _ in 0..3 {
                damage_totals(memory, rng);
            }
            memory.stream.clear();
            self.has_damaged_totals = true;
        }
        self.begun = true;
        self.witness.iter_mut().for_each(Witness::begins);
        self.history.clear();
        self.operator.outages_left = self.profile.outages_max;
        let mut calls = self.calls.lock().unwrap();
        calls.failures_left = self.profile.failures_max;
        calls.has_limbo = self.profile.limbo;
        calls.history.is_torn = self.profile.torn;
        calls.has_conditional_limbo = !matches!(self.profile.writers, Writers::MixedDeletions | Writers::Returns);
        Ok(())
    }

    /// Time passes. Functions end that have run for as long as they may, and no request of theirs is carried out later.
    pub(super) fn pass(&mut self, seconds: u64) -> Result<(), Vec<String>> {
        if seconds >= clock::REQUEST_SECONDS_MAX {
            self.calls.lock().unwrap().show_all();
            loop {
                let ended = self.calls.lock().unwrap().end_one();
                let Some(invocation) = ended else { break };
                self.actor = self.actor(invocation);
                self.take_records()?;
            }
        }
        let now = {
            let mut calls = self.calls.lock().unwrap();
            calls.now += seconds;
            calls.now
        };
        let is_over = |id: &u64, most: u64| now - self.begun_at.get(id).copied().unwrap_or(now) > most;
        let of_the_api = |id: &&u64| self.asked.get(id).is_some_and(|sent| !matches!(sent.asked, Asked::Import(_)));
        let requests = self.requests.keys().filter(of_the_api).filter(|id| is_over(id, clock::API_SECONDS_MAX));
        let handlers = self.running.keys().filter(|id| is_over(id, clock::HANDLER_SECONDS_MAX));
        let over: Vec<u64> = requests.chain(handlers).copied().collect();
        for id in over {
            self.end(id);
            self.take_records()?;
        }
        Ok(())
    }

    /// Some time passes: days only where nothing is under way, because a record waits in the stream for a day at most.
    fn pass_some(&mut self) -> Result<(), Vec<String>> {
        self.passes_left -= 1;
        let is_idle = self.queue.is_empty() && self.running.is_empty() && self.requests.is_empty();
        let seconds = clock::JUMPS[self.roll(clock::JUMPS.len())];
        let days = is_idle && self.again.is_empty() && self.passes_left == 0;
        self.pass(if days { clock::TWO_DAYS } else { seconds })
    }

    /// A client sends a request again, at once or when the claim of its key has ended.
    fn send_again(&mut self) -> Result<(), Vec<String>> {
        let position = self.roll(self.again.len());
        let sent = self.again.swap_remove(position);
        if self.profile.writers.take_time() && self.roll(2) == 0 {
            self.pass(61)?;
        }
        self.send(sent);
        Ok(())
    }

    /// The client of this request sends it again later, a few times.
    fn will_send_again(&mut self, id: u64) {
        let Some(sent) = self.asked.get(&id).filter(|sent| sent.asked.is_sent_again()) else { return };
        let times = self.sent_again.entry(sent.number).or_default();
        if *times < AGAIN_MAX {
            *times += 1;
            self.again.push(sent.clone());
        }
    }

    /// Runs the schedule until everything is written and delivered, and nothing runs any more.
    fn settle(
        &mut self,
        rest: &mut VecDeque<BaseWrite>,
        steps: &mut usize,
        watched: &BTreeSet<String>,
    ) -> Result<(), Vec<String>> {
        loop {
            *steps += 1;
            if *steps > self.profile.steps_max {
                return Err(vec![self.unrest()]);
            }
            if self.profile.follows {
                self.calls.lock().unwrap().tick();
                // That drill is short, and its fault shows only between two requests of an invocation.
                let every = if self.profile.writers == Writers::Drill(Drill::GoneElsewhere) { 3 } else { 12 };
                if self.begun && self.roll(every) == 0 {
                    self.follow();
                }
            }
            // A reader can see something new only after a change.
            let is_new = self.take_records()?;
            if let Some(wrong) = self.ended_wrong.take() {
                return Err(wrong);
            }
            if is_new {
                self.look(watched)?;
            }
            let waiting = self.calls.lock().unwrap().waiting();
            let at_rest = self.queue.is_empty() && self.running.is_empty() && self.requests.is_empty();
            if at_rest && self.is_epoch_unfinished() {
                // The command that had begun the epoch has died.
                self.begin_backfill();
                continue;
            }
            if rest.is_empty() && at_rest && self.again.is_empty() && !self.operator.is_needed() {
                if self.land_one() {
                    continue;
                }
                return Ok(());
            }
            let can_start = self.can_start();
            let is_waited_for = matches!(rest.front(), Some(BaseWrite::Copy(Copying::Wait)));
            let can_write = !rest.is_empty() && (at_rest || !is_waited_for);
            match self.roll(100) {
                0..=3 if can_write && self.priorities.is_none() => self.write_next(rest),
                4..=14 if can_start && self.priorities.is_none() => _ = self.start(),
                15 if self.begun && self.crashes_left > 0 && self.running.len() + self.requests.len() > 0 => {
                    self.crash()
                }
                16 if self.begun && self.late_left > 0 && !self.history.is_empty() => self.redeliver(),
                22 | 23
                    if self.priorities.is_some() && self.begun && self.late_left > 0 && !self.history.is_empty() =>
                {
                    self.redeliver();
                }
                17 if self.begun && self.operator.outages_left > 0 && !self.history.is_empty() => self.outage()?,
                24 | 25 if self.begun && self.repairs_left > 0 => self.repair(),
                26 if self.begun && self.passes_left > 0 => self.pass_some()?,
                27 | 28 if !self.again.is_empty() => self.send_again()?,
                18 if self.operator.is_needed() => self.redrive(),
                19..=21 if self.profile.limbo => _ = self.land_one(),
                _ if self.priorities.is_some() => self.go_on(rest, can_write),
                _ if waiting > 0 => self.step(None),
                _ if can_start => _ = self.start(),
                _ if can_write => self.write_next(rest),
                _ if self.operator.is_needed() => self.redrive(),
                _ => {}
            }
        }
    }

    /// Carries out a request that was left without an answer. Returns false if there is none.
    fn land_one(&mut self) -> bool {
        let landed = self.calls.lock().unwrap().land_one();
        self.actor = landed.map_or(self.actor, |invocation| self.actor(invocation));
        landed.is_some()
    }

    /// What keeps a run from its end.
    fn unrest(&self) -> String {
        let (records, again) = (self.queue.len(), self.again.len());
        let handlers: Vec<&u64> = self.running.keys().collect();
        let requests: Vec<_> = self.requests.keys().map(|id| (id, self.asked.get(id))).collect();
        let waiting = self.calls.lock().unwrap().waiting_calls();
        format!(
            "the run doesn't come to rest: {records} records, {again} requests to send again, \
             invocations {handlers:?}, requests {requests:?}, calls {waiting:?}"
        )
    }

    /// Lets the one with the highest priority go on.
    fn go_on(&mut self, rest: &mut VecDeque<BaseWrite>, can_write: bool) {
        let mut able: Vec<Who> = self.calls.lock().unwrap().who_waits().into_iter().map(Who::Invocation).collect();
        able.extend(can_write.then_some(Who::Clients));
        able.extend(self.can_start().then_some(Who::Stream));
        match self.pick(&able) {
            Some(Who::Clients) => self.write_next(rest),
            Some(Who::Invocation(invocation)) => self.step(Some(invocation)),
            Some(Who::Stream) if !self.start() => {
                // Each record waits for an invocation that is under way.
                able.retain(|who| matches!(who, Who::Invocation(_)));
                if let Some(Who::Invocation(invocation)) = self.pick(&able) {
                    self.step(Some(invocation));
                }
            }
            Some(Who::Stream) | None => {}
        }
    }

    fn pick(&mut self, able: &[Who]) -> Option<Who> {
        self.priorities.as_mut()?.pick(able, &mut self.calls.lock().unwrap().rng)
    }

    fn can_start(&self) -> bool {
        !self.queue.is_empty() && self.running.len() < self.workers
    }

    /// Carries out a part of a call that waits, of this invocation or of any.
    pub(super) fn step(&mut self, invocation: Option<u64>) {
        let invocation = self.calls.lock().unwrap().step(invocation);
        self.actor = self.actor(invocation);
        self.poll(invocation);
    }

    pub(super) fn roll(&self, below: usize) -> usize {
        self.calls.lock().unwrap().rng.random_range(0..below)
    }

    /// Takes the records of the table's stream, and queues those that pass the event source's filter. Returns true if
    /// there were any.
    pub(super) fn take_records(&mut self) -> Result<bool, Vec<String>> {
        let mut calls = self.calls.lock().unwrap();
        let any = !calls.memory.stream.is_empty();
        for record in calls.memory.stream.drain(..) {
            if let ("NODE", Some(item)) = (&*record.key.sk, record.new.as_ref().filter(|item| has_mark(Some(item)))) {
                self.marked.insert(record.key.clone(), item.clone());
            }
            if self.traces {
                println!("{:?}: {} {} = {:?}", self.actor, record.key.pk, record.key.sk, record.new);
            }
            if self.profile.follows {
                self.seen.see(&record, &self.fanout.settings.schema);
            }
            if let Some(witness) = &mut self.witness {
                witness.see(&record, self.actor).map_err(|what| vec![what])?;
                if record.key.sk == "NODE" {
                    self.running.values().for_each(|invocation| witness.taken(&invocation.records));
                }
                self.judge.see(&record, self.actor, witness.changes()).map_err(|what| vec![what])?;
            }
            if let Some(names) = &mut self.names {
                names.see(&record, self.actor).map_err(|what| vec![what])?;
            }
            if let Some(totals) = self.totals.as_mut().filter(|_| !self.has_damaged_totals) {
                totals.see(&record);
            }
            if passes_filter(&record.key.sk) {
                self.queue.push(record);
            }
        }
        if let Some(totals) = self.totals.as_mut().filter(|_| !self.has_damaged_totals) {
            totals.check().map_err(|what| vec![what])?;
        }
        if let Some(names) = &self.names {
            names.check().map_err(|what| vec![what])?;
        }
        Ok(any)
    }

    fn actor(&self, invocation: u64) -> Actor {
        if let Some(sent) = self.asked.get(&invocation) {
            // An import leaves no name of its own, as other clients do.
            if matches!(sent.asked, Asked::Import(_)) { Actor::Client } else { Actor::Api }
        } else if self.repairs.contains(&invocation) {
            Actor::Repair
        } else {
            Actor::Handler(self.began.get(&invocation).copied().unwrap_or_default())
        }
    }

    /// The nodes that a reader must see below `top` at every moment. There are none in profiles without a reader.
    fn watched(&self) -> BTreeSet<String> {
        if self.profile.writers != Writers::Readers {
            return BTreeSet::new();
        }
        self.below_top()
    }

    fn below_top(&self) -> BTreeSet<String> {
        let calls = self.calls.lock().unwrap();
        let rows = calls.memory.keys("top").filter_map(|sk| sk.strip_prefix("NODE#"));
        rows.filter_map(|rest| rest.split_once('#')).map(|(_, id)| id.to_owned()).collect()
    }

    fn look(&self, watched: &BTreeSet<String>) -> Result<(), Vec<String>> {
        if watched.is_empty() {
            return Ok(());
        }
        let seen = self.below_top();
        match watched.difference(&seen).next() {
            Some(missing) => Err(vec![format!("a reader misses {missing} below `top`")]),
            None => Ok(()),
        }
    }
}

/// True if the event source's filter lets records of this sort key through. It is written here again, independently of
/// the product.
pub(super) fn passes_filter(sk: &str) -> bool {
    let digits = |rest: &str, from: u8| rest.bytes().next().is_some_and(|b| (from..=b'9').contains(&b));
    matches!(sk, "NODE" | "LINEAGE" | "CASCADE")
        || sk.strip_prefix('v').is_some_and(|rest| match rest.as_bytes().first() {
            Some(b'0') => digits(&rest[1..], b'0'),
            Some(b'a'..=b'c') => digits(&rest[1..], b'1'),
            _ => digits(rest, b'1'),
        })
}
