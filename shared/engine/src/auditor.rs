//! The auditor: a pass over the table that never ends, a run at a time.
//!
//! A run first looks again at what the runs before it have suspected, mends what counts by now, looks at what was
//! written lately, and then goes on with the scan. What it has come to is one item, saved at the end of the run if no
//! other run has saved meanwhile. A run that dies has no effect but its repairs, and these can be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sapwood_core::audit::{Difference, Kept, Kind, Stage, State, Subject, Suspect, TRAILS, due, one_a_node};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::{FORMAT, NewerFormat, Settings, Stored};
use sapwood_core::plan::{Rule, Rules, Task, TaskOutcome};
use sapwood_core::request::Action;
use sapwood_store::{Client, Condition, ErrorKind, Query, ReadOptions, RetryPolicy, Scannable, TableError, Usage};

use crate::announce::announced;
use crate::audit::Audit;

/// The bounds of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The read units after which the scan ends. A page that has begun is looked at, so a run may take somewhat more.
    pub read_units_max: f64,
    /// Items in a page of the scan.
    pub page_items_max: usize,
    /// Most suspects that are kept, and most bytes of their keys. The item has room for 400 KB.
    pub suspects_max: usize,
    /// See [`Limits::suspects_max`].
    pub suspects_bytes_max: usize,
    /// Most repairs whose effect isn't seen yet. Where no handler takes them, repairs end here.
    pub repairs_max: usize,
    /// Most repairs without effect, one after another, in a pass: no handler takes them.
    pub unheeded_max: u64,
    /// The totals of a node with more children aren't compared: all of them are read for it, 2.5 read units each.
    pub totals_children_max: usize,
    /// A history of more bytes that was written lately isn't compared for that: all of it is read for it, and a node
    /// that is written all the time would have it read in every run. The scan comes by.
    pub recent_history_bytes_max: usize,
    /// How long a suspect must be the same until it counts.
    pub settle: Duration,
    /// The shortest time from the beginning of one pass to that of the next.
    pub pass_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_units_max: 10_000.0,
            page_items_max: 100,
            suspects_max: 200,
            suspects_bytes_max: 150_000,
            repairs_max: 100,
            unheeded_max: 10,
            totals_children_max: 2_000,
            recent_history_bytes_max: 250_000,
            settle: Duration::from_secs(600),
            pass_every: Duration::from_secs(24 * 3_600),
        }
    }
}

/// The auditor of one table.
pub struct Auditor<'a, T, P> {
    client: &'a Client<'a, T, P>,
    settings: &'a Settings,
    limits: Limits,
    rules: Rules,
    heals: bool,
}

impl Limits {
    /// The earliest time by which a run may have spent these read units, to spend all of its own evenly over this
    /// time.
    #[must_use]
    pub fn due(&self, read_units: f64, span: Duration) -> Duration {
        let share = read_units / self.read_units_max;
        if share.is_finite() { span.mul_f64(share.clamp(0.0, 1.0)) } else { Duration::ZERO }
    }
}

/// How fast a run reads, and how long.
pub trait Pace {
    /// Waits until a run that has spent these read units may go on. Returns false once there is no time for more of
    /// the scan.
    fn wait(&self, read_units: f64) -> impl Future<Output = bool>;
}

/// A run that is told whether there is time, and never waits.
impl<F: Fn() -> bool> Pace for F {
    fn wait(&self, _: f64) -> impl Future<Output = bool> {
        std::future::ready(self())
    }
}

/// What one run is told.
#[derive(Clone, Copy, Debug)]
pub struct Clock<P> {
    /// The time, in seconds since 1970.
    pub now: u64,
    /// A number of at most 19 digits, and so much above that of any other run that a name can be made of it for each
    /// repair.
    pub name: u64,
    /// How fast it reads, and how long.
    pub pace: P,
}

/// What a run has done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of items that the scan has seen.
    pub items: u64,
    /// The number of nodes and histories that were compared because they were written lately.
    pub recent: u64,
    /// How many differences were found in a million items that were compared, since the last pass began that has ended.
    pub wrong_per_million: Option<f64>,
    /// The number of suspects that are left.
    pub suspects: usize,
    /// What counts since this run.
    pub confirmed: Vec<Difference>,
    /// How much of what was mended is right now.
    pub healed: u64,
    /// What was left: a repair has changed nothing, or none is wanted.
    pub left: Vec<Difference>,
    /// What still changed for as long as it is waited for: no look can say whether it is right.
    pub restless: Vec<Difference>,
    /// What has lasted for the settling time, and doesn't count yet: it waits for what has to be mended before, or
    /// other suspects went away by themselves after a time that isn't much shorter.
    pub unconfirmed: Vec<Difference>,
    /// How many seconds a suspect must be the same now until it counts.
    pub settle: u64,
    /// Findings about base records that the scan has met.
    pub findings: u64,
    /// Seconds since the oldest key was compared.
    pub age: u64,
    /// How many seconds the pass took that this run has ended.
    pub pass_time: Option<u64>,
    /// What the requests took.
    pub usage: Usage,
    /// Why the run has done nothing at all: the auditor stands still until an operator acts.
    pub stopped: Option<String>,
    /// The attributes of the state that couldn't be true, and were set anew.
    pub impossible: Vec<&'static str>,
    /// Why the run doesn't mend anything, though it should.
    pub unfit: Option<String>,
    /// Why the run has ended early. The next one goes on.
    pub ended_by: Option<TableError>,
    /// False if another run has saved meanwhile: this one counts for nothing, but for its repairs.
    pub is_saved: bool,
}

impl<'a, T: Scannable, P: RetryPolicy> Auditor<'a, T, P> {
    /// An auditor that mends what it finds, or only reports it.
    #[must_use]
    pub fn new(client: &'a Client<'a, T, P>, settings: &'a Settings, limits: Limits, heals: bool) -> Self {
        Self { client, settings, limits, rules: Rules::default(), heals }
    }

    /// The same auditor with other rules.
    #[must_use]
    pub fn with(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Makes one run.
    ///
    /// # Errors
    /// [`TableError`] if the state can't be read or saved. What the run has done may be done again.
    pub async fn run(&self, clock: Clock<impl Pace>) -> Result<Report, TableError> {
        let key = self.settings.schema.audit_key();
        let found = self.client.get(&key, &ReadOptions::default()).await?;
        let settle = self.limits.settle;
        let kept = match &found {
            Some(item) => State::read(item, Some(settle), clock.now),
            None => Ok(Kept { state: State::new(settle, clock.now), impossible: Vec::new() }),
        };
        let Kept { state, impossible } = match kept {
            Ok(kept) => kept,
            Err(newer) => {
                let (stopped, usage) = (Some(stopped_by(newer)), self.client.usage());
                return Ok(Report { stopped, usage, ..Report::default() });
            }
        };
        let before = found.map(|item| item.get(State::RUNS).cloned());
        let report = Report { impossible, ..Report::default() };
        let mut run = Run { auditor: self, state, report, name: clock.name, now: clock.now };
        run.report.ended_by = run.work(&clock.pace).await.err();
        run.report.pass_time = run.state.end_pass(clock.now);
        let Run { mut state, mut report, .. } = run;
        state.runs += 1;
        state.saved = clock.now;
        let condition = before.map_or(Condition::Absent, |runs| Condition::is(State::RUNS, runs));
        let save = Action::Put { key, item: state.item(&self.settings.schema), condition };
        report.is_saved = self.client.carry_out(&Task::Write(save)).await.outcome? == TaskOutcome::Held;
        report.suspects = state.suspects.len();
        report.unconfirmed = state.suspects.unconfirmed().map(|suspect| suspect.difference.clone()).collect();
        report.settle = state.suspects.settle().as_secs();
        report.wrong_per_million = state.wrong_per_million();
        report.age = state.age(clock.now);
        report.usage = self.client.usage();
        Ok(report)
    }

    fn audit(&self) -> Audit<'_, T, P> {
        Audit::new(self.client, self.settings).with_totals_of(self.limits.totals_children_max)
    }
}

/// One run at work.
struct Run<'r, 'a, T, P> {
    auditor: &'r Auditor<'a, T, P>,
    state: State,
    report: Report,
    name: u64,
    now: u64,
}

impl<T: Scannable, P: RetryPolicy> Run<'_, '_, T, P> {
    async fn work(&mut self, pace: &impl Pace) -> Result<(), TableError> {
        let now = Duration::from_secs(self.now);
        let ended = self.look_and_scan(pace, now).await;
        // However the run ends: what it has mended may explain what the next one finds.
        self.explain(now).await;
        ended
    }

    async fn look_and_scan(&mut self, pace: &impl Pace, now: Duration) -> Result<(), TableError> {
        self.state.suspects.forget_old(now);
        self.look_again(pace, now).await?;
        self.mend(now).await?;
        for suspect in self.state.suspects.take_restless(now) {
            // It was the same all the time, and only waited for others.
            if suspect.difference.kind.is_left_to_repair() && self.state.suspects.counts(&suspect) {
                let of_repair = self.confirmed(vec![suspect]);
                self.leave(of_repair);
                continue;
            }
            self.state.give_up(&suspect.difference);
            self.report.restless.push(suspect.difference);
        }
        self.state.begin_pass(self.auditor.limits.pass_every, self.now);
        self.follow_trails(pace, now).await?;
        while !self.state.scanned && self.has_units() && pace.wait(self.units()).await && self.scan(now).await? {}
        Ok(())
    }

    fn units(&self) -> f64 {
        self.auditor.client.usage().read_units
    }

    fn has_units(&self) -> bool {
        self.units() < self.auditor.limits.read_units_max
    }

    /// Looks strongly at these subjects, some at a time.
    async fn look(&self, subjects: &BTreeSet<Subject>, pace: &impl Pace) -> Result<Vec<Difference>, TableError> {
        let subjects: Vec<&Subject> = subjects.iter().collect();
        let mut found = Vec::new();
        for some in subjects.chunks(SUBJECTS_AT_ONCE) {
            pace.wait(self.units()).await;
            found.extend(self.auditor.audit().look(some.iter().copied().cloned().collect()).await?);
        }
        // What waits for a node is reported with it, so the node may be found more than once.
        let mut known = BTreeSet::new();
        found.retain(|one| known.insert((one.key.clone(), one.kind)));
        Ok(found)
    }

    /// Learns which suspects lie below nodes that were mended. If that can't be read, they are taken for it: what they
    /// do teaches nothing.
    async fn explain(&mut self, now: Duration) {
        let nodes = self.state.suspects.unexplained();
        if nodes.is_empty() {
            return;
        }
        let schema = &self.auditor.settings.schema;
        let keys = nodes.iter().map(|node| schema.lineage_key(node)).collect();
        let options = ReadOptions { strong: false, attributes: None };
        let read = self.auditor.client.get_many(keys, &options).await;
        let above = |node: &NodeRef| {
            let key = schema.lineage_key(node);
            if read.failed.contains_key(&key) {
                return None;
            }
            let stored = Stored::read(read.items.get(&key), schema);
            let ancestors = stored.lineage().map(|lineage| lineage.placement.ancestors.clone()).unwrap_or_default();
            Some(ancestors.into_iter().map(|id| node.sibling(id)).collect())
        };
        let ancestors: BTreeMap<NodeRef, BTreeSet<NodeRef>> =
            nodes.iter().filter_map(|node| Some((node.clone(), above(node)?))).collect();
        self.state.suspects.explain(&ancestors, now);
    }

    async fn look_again(&mut self, pace: &impl Pace, now: Duration) -> Result<(), TableError> {
        let subjects = self.state.suspects.subjects();
        if subjects.is_empty() {
            return Ok(());
        }
        let found = self.minded(self.look(&subjects, pace).await?);
        // There may be more to find of a subject than was suspected: each copy of a long history, say.
        let awaited: BTreeSet<NodeRef> = found.iter().filter_map(|one| one.waits_for.clone()).collect();
        let (known, mut new): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| self.state.suspects.contains(one));
        // What the others wait for has to come in, or none of them would ever make room.
        let is_awaited = |one: &Difference| one.waits_for.is_none() && awaited.contains(&one.node);
        new.sort_by_key(|one| !is_awaited(one));
        let awaited = new.iter().take(AWAITED_MAX).filter(|one| is_awaited(one)).count();
        let fitting = self.fitting(&new).max(awaited);
        self.state.pass.skipped += (new.len() - fitting) as u64;
        new.truncate(fitting);
        let found = known.into_iter().chain(new).collect();
        let gone = self.state.suspects.take_again(&subjects, found, now);
        let healed = gone.iter().filter(|suspect| suspect.stage == Stage::Mended).count() as u64;
        self.state.pass.healed += healed;
        if healed > 0 {
            self.state.pass.unheeded = 0;
        }
        self.report.healed += healed;
        Ok(())
    }

    /// Mends what counts by now. What was mended already and still counts is left.
    async fn mend(&mut self, now: Duration) -> Result<(), TableError> {
        if !self.state.suspects.iter().any(|suspect| self.state.suspects.counts(suspect)) {
            return Ok(());
        }
        let is_fit = self.is_fit().await?;
        let again = self.state.suspects.take_unheeded();
        self.state.pass.unheeded += again.len() as u64;
        self.leave(again);
        let is_heeded = self.state.pass.unheeded < self.auditor.limits.unheeded_max;
        if is_fit && !is_heeded {
            self.report.unfit = Some("nothing has come of its last repairs: does the stream handler run?".to_owned());
        }
        if !is_fit || !is_heeded {
            // Nothing is mended, so nothing has to wait for anything.
            let settled = self.state.suspects.take_settled();
            let settled = self.confirmed(settled);
            self.leave(settled);
            return Ok(());
        }
        let (in_vain, waiting) = self.state.take_due();
        let under_way = self.state.suspects.iter().filter(|suspect| suspect.stage == Stage::Mended).count();
        let (of_repair, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|suspect| suspect.difference.kind.is_left_to_repair());
        if waiting.is_empty() && under_way == 0 {
            let of_repair = self.confirmed(of_repair);
            self.leave(of_repair);
        } else {
            // Totals seem wrong as long as a row below them is.
            of_repair.into_iter().for_each(|suspect| self.state.suspects.put_back(suspect));
        }
        let (in_vain, waiting) = (self.confirmed(in_vain), self.confirmed(waiting));
        self.leave(in_vain);
        let room = self.auditor.limits.repairs_max.saturating_sub(under_way);
        let due: Vec<Difference> =
            due(waiting.iter().map(|suspect| suspect.difference.clone()).collect()).into_iter().take(room).collect();
        let mut ended_by = None;
        for suspect in waiting {
            if ended_by.is_some() || !due.contains(&suspect.difference) {
                self.state.suspects.put_back(suspect);
                continue;
            }
            match self.may_mend(&suspect.difference).await {
                Ok(true) => {}
                Ok(false) => {
                    self.leave(vec![suspect]);
                    continue;
                }
                Err(error) => {
                    self.state.suspects.put_back(suspect);
                    ended_by = Some(error);
                    continue;
                }
            }
            self.name += 1;
            let audit = self.auditor.audit();
            match audit.mend(suspect.difference.clone(), self.name.to_string(), self.auditor.rules).await {
                Ok(_) => self.state.suspects.put_mended(suspect.difference, now),
                Err(error) if error.kind == ErrorKind::Refuse => self.leave(vec![suspect]),
                Err(error) => {
                    self.state.suspects.put_back(suspect);
                    ended_by = Some(error);
                }
            }
        }
        ended_by.map_or(Ok(()), Err)
    }

    /// True if a mend makes nothing worse. The handler adds to totals the difference from what a node was counted as.
    /// If that was altered, right totals are wrong afterwards: only `sapwood repair`, which counts totals anew, may
    /// mend it.
    async fn may_mend(&self, difference: &Difference) -> Result<bool, TableError> {
        let is_counted = self.auditor.settings.totals.is_some() && difference.kind.is_of_node();
        if !is_counted || !self.auditor.rules.keeps(Rule::CountHolds) {
            return Ok(true);
        }
        let audit = self.auditor.audit();
        let found = audit.look([Subject::Node(difference.node.clone())].into()).await?;
        if found.iter().any(|one| matches!(one.kind, Kind::CountAhead | Kind::EpochWrong)) {
            return Ok(false);
        }
        let is_counted_otherwise = |one: &Difference| matches!(one.kind, Kind::CountWrong | Kind::CountSurplus);
        Ok(!found.iter().any(is_counted_otherwise) || audit.count_holds(&difference.node).await?)
    }

    /// True if what counts is to be mended, by settings that are the handler's.
    async fn is_fit(&mut self) -> Result<bool, TableError> {
        if !self.auditor.heals {
            return Ok(false);
        }
        let unfit = match announced(self.auditor.client).await? {
            Ok(Some(handler)) => {
                let names = handler.differs_in(self.auditor.settings);
                if names.is_empty() {
                    return Ok(true);
                }
                format!("its settings differ from the stream handler's, in {}", names.join(", "))
            }
            Ok(None) => "no stream handler has left its settings in the table".to_owned(),
            Err(error) => error.to_string(),
        };
        self.report.unfit = Some(unfit);
        Ok(false)
    }

    /// Has these suspects count, each once.
    fn confirmed(&mut self, mut suspects: Vec<Suspect>) -> Vec<Suspect> {
        for suspect in &mut suspects {
            suspect.stage = Stage::Confirmed;
            if !std::mem::replace(&mut suspect.counted, true) {
                self.state.pass.differences += 1;
                self.report.confirmed.push(suspect.difference.clone());
            }
        }
        suspects
    }

    fn leave(&mut self, suspects: Vec<Suspect>) {
        for suspect in suspects {
            self.state.leave(&suspect.difference);
            self.report.left.push(suspect.difference);
        }
    }

    /// Looks at what was written lately, as far as a share of the units goes. What there is no room for, the pass comes
    /// by.
    async fn follow_trails(&mut self, pace: &impl Pace, now: Duration) -> Result<(), TableError> {
        let schema = &self.auditor.settings.schema;
        let query = Query {
            pk: schema.trail_key(0).pk,
            range: schema.trail_range(),
            after: None,
            limit: usize::from(TRAILS),
            descending: false,
            reading: ReadOptions { strong: false, attributes: None },
        };
        let trails = self.auditor.client.query(&query).await?.items;
        let units_max = self.units() + self.auditor.limits.read_units_max * SHARE_FOR_TRAILS;
        for some in self.state.follow(&trails, schema, self.now).chunks(RECENT_AT_ONCE) {
            if self.units() >= units_max || !self.has_units() || !pace.wait(self.units()).await {
                break;
            }
            let audit = self.auditor.audit().with_histories_of(self.auditor.limits.recent_history_bytes_max);
            let found = audit.look(some.iter().cloned().collect()).await?;
            let mut suspects = self.minded(found);
            // Those that came first are as good as any.
            suspects.truncate(self.fitting(&suspects));
            self.state.suspects.take(suspects, now);
            self.state.pass.recent += some.len() as u64;
            self.report.recent += some.len() as u64;
        }
        Ok(())
    }

    /// Looks at the next page. Returns false if its suspects have to wait until there is room for them.
    async fn scan(&mut self, now: Duration) -> Result<bool, TableError> {
        let limits = self.auditor.limits;
        let audit = self.auditor.audit();
        let page = audit.page(0, 1, self.state.position.as_ref(), limits.page_items_max).await?;
        let findings: Vec<Kind> = page.suspects.iter().map(|one| one.kind).filter(|kind| kind.is_finding()).collect();
        let tidied: Vec<Difference> = page.suspects.iter().filter(|one| one.kind.is_tidied()).cloned().collect();
        let mut suspects = self.minded(page.suspects);
        let fitting = self.fitting(&suspects);
        if fitting < suspects.len() {
            if !self.state.suspects.is_empty() {
                return Ok(false);
            }
            // No waiting makes more room. The pass goes on, and says that it hasn't looked at everything.
            self.state.pass.skipped += (suspects.len() - fitting) as u64;
            suspects.truncate(fitting);
        }
        self.state.suspects.take(suspects, now);
        self.tidy(tidied).await?;
        self.report.findings += findings.len() as u64;
        for kind in findings {
            *self.state.pass.findings.entry(kind).or_default() += 1;
        }
        self.state.pass.items += page.items;
        self.report.items += page.items;
        self.state.scanned = page.next.is_none();
        self.state.position = page.next;
        Ok(true)
    }

    /// Mends the claims of names that a page has shown, and deletes empty totals. Nothing follows them with a lag: what
    /// is to be done is decided on strong reads, and written on the condition that they still hold, so it can be done
    /// at once. What is left waits for the next pass.
    async fn tidy(&mut self, found: Vec<Difference>) -> Result<(), TableError> {
        if found.is_empty() || !self.is_fit().await? {
            return Ok(());
        }
        for one in found.into_iter().take(self.auditor.limits.repairs_max) {
            self.name += 1;
            self.auditor.audit().mend(one, self.name.to_string(), self.auditor.rules).await?;
        }
        Ok(())
    }

    /// What a run minds of what was found: one difference for each write that mends, but what this pass has left.
    fn minded(&self, mut found: Vec<Difference>) -> Vec<Difference> {
        found.retain(|one| !one.kind.is_finding() && !self.state.is_left(one));
        one_a_node(found)
    }

    /// How many of these suspects there is room for.
    fn fitting(&self, suspects: &[Difference]) -> usize {
        let bytes =
            |one: &Difference| one.key.pk.len() + one.key.sk.len() + one.node.id.as_str().len() + BYTES_OF_SUSPECT;
        let limits = self.auditor.limits;
        let mut used: usize = self.state.suspects.iter().map(|suspect| bytes(&suspect.difference)).sum();
        let room = limits.suspects_max.saturating_sub(self.state.suspects.len());
        let fits = suspects.iter().take(room).take_while(|one| {
            used += bytes(one);
            used <= limits.suspects_bytes_max
        });
        fits.count()
    }
}

/// Most suspects for which there is room because others wait for them.
const AWAITED_MAX: usize = 20;

/// What a suspect takes besides its keys: the names of its attributes, numbers, and a tenant.
const BYTES_OF_SUSPECT: usize = 400;

/// The share of a run's read units for what was written lately. It is a choice.
const SHARE_FOR_TRAILS: f64 = 0.25;

/// How many subjects of trails are looked at in one go. Each can be a page of a history, of 256 read units.
const RECENT_AT_ONCE: usize = 5;

/// How many subjects are looked at in one go, so that a run doesn't read much at once.
const SUBJECTS_AT_ONCE: usize = 25;

fn stopped_by(NewerFormat { format }: NewerFormat) -> String {
    format!(
        "the auditor's own item (SAPWOOD, AUDIT) has format {format}, and this version knows {FORMAT}: nothing is compared or mended. Deploy \
         the version that wrote it, or delete the item, and the auditor begins anew"
    )
}
