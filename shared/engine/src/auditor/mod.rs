//! The auditor: a pass over the table that never ends, a run at a time.
//!
//! A run first looks again at what the runs before it have suspected, mends what counts by now, looks at what was
//! written lately, and then goes on with the scan. What it has come to is one item, saved at the end of the run if no
//! other run has saved meanwhile. A run that dies has no effect but its repairs, and these can be repeated.

use std::time::Duration;

use sapwood_core::audit::{AuditorState, Difference, Kept};
use sapwood_core::model::{FORMAT, NewerFormat, Settings};
use sapwood_core::plan::{Rules, Task, TaskOutcome};
use sapwood_core::request::Action;
use sapwood_store::{Client, Condition, ReadOptions, RetryPolicy, Scannable, TableError, Usage};

use crate::audit::Audit;

mod run;

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
    /// Larger histories that were written lately are left to the scan, because a comparison reads them whole.
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
    /// The earliest time by which a run may have spent these read units, to spend all of its own evenly over `span`.
    #[must_use]
    pub fn due(&self, read_units: f64, span: Duration) -> Duration {
        let share = read_units / self.read_units_max;
        if share.is_finite() { span.mul_f64(share.clamp(0.0, 1.0)) } else { Duration::ZERO }
    }
}

/// How fast a run reads, and how long.
pub trait Pace {
    /// Waits until a run that has spent these read units may go on. Returns false once the scan is out of time.
    fn wait(&self, read_units: f64) -> impl Future<Output = bool>;
}

/// A run that is told whether there is time, and never waits.
impl<F: Fn() -> bool> Pace for F {
    fn wait(&self, _: f64) -> impl Future<Output = bool> {
        std::future::ready(self())
    }
}

/// The time and the pace of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock<P> {
    /// The time, in seconds since 1970.
    pub now: u64,
    /// A number of at most 19 digits, so far above that of any other run that each repair has a name of its own.
    pub name: u64,
    /// How fast it reads, and how long.
    pub pace: P,
}

/// The outcome of a run.
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
    /// The differences that count since this run.
    pub confirmed: Vec<Difference>,
    /// How much of what was mended is right now.
    pub healed: u64,
    /// The differences that were left: a repair has changed nothing, or none is wanted.
    pub left: Vec<Difference>,
    /// The differences that still changed for as long as a run waits: no look can say whether they are right.
    pub restless: Vec<Difference>,
    /// The differences that have lasted for the settling time and don't count yet: they wait for others, or for longer.
    pub unconfirmed: Vec<Difference>,
    /// How many seconds a suspect must be the same now until it counts.
    pub settle: u64,
    /// Findings about base records that the scan has met.
    pub findings: u64,
    /// Seconds since the oldest key was compared.
    pub age: u64,
    /// How many seconds the pass took that this run has ended.
    pub pass_time: Option<u64>,
    /// The usage of the requests.
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
            Some(item) => AuditorState::read(item, Some(settle), clock.now),
            None => Ok(Kept { state: AuditorState::new(settle, clock.now), impossible: Vec::new() }),
        };
        let Kept { state, impossible } = match kept {
            Ok(kept) => kept,
            Err(newer) => {
                let (stopped, usage) = (Some(stopped_by(newer)), self.client.usage());
                return Ok(Report { stopped, usage, ..Report::default() });
            }
        };
        let before = found.map(|item| item.get(AuditorState::RUNS).cloned());
        let report = Report { impossible, ..Report::default() };
        let mut run = run::Run { auditor: self, state, report, name: clock.name, now: clock.now };
        run.report.ended_by = run.work(&clock.pace).await.err();
        run.report.pass_time = run.state.end_pass(clock.now);
        let run::Run { mut state, mut report, .. } = run;
        state.runs += 1;
        state.saved = clock.now;
        let condition = before.map_or(Condition::Absent, |runs| Condition::is(AuditorState::RUNS, runs));
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

fn stopped_by(NewerFormat { format }: NewerFormat) -> String {
    format!(
        "the auditor's own item (SAPWOOD, AUDIT) has format {format}, and this version knows {FORMAT}: nothing is compared or mended. Deploy \
         the version that wrote it, or delete the item, and the auditor begins anew"
    )
}
