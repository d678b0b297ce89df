//! A pass over the whole table or over a part of it, and the second looks at what it suspects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::ProgressBar;
use sapwood_core::audit::{Difference, Mended, Position, Subject, Suspects};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::audit::Page;
use sapwood_engine::subtree::{self, Subtree};
use sapwood_store::{TableError, Usage};
use serde_json::json;

use super::Comparison;
use super::looked_at::Seen;
use super::requeued::Touched;
use super::work::Work;
use crate::clock::{RateLimit, nanoseconds, now};
use crate::compare::{PAGE_ITEMS_MAX, Reading};
use crate::connect::{Connection, Patient, TableClient, Whose};
use crate::exit::Exit;
use crate::recognised::check_items;
use crate::say::{bar, count, say};

/// Most nodes that are looked at again because they are below one that was mended.
const WALKED_NODES_MAX: usize = 10_000;

/// How long to wait before each look at a suspect. From then on it is looked at as often as the last says.
const LOOKS_AFTER: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(10), Duration::from_secs(20)];

/// The longest time until all reads see all of a transaction. It is a choice: DynamoDB ends a request within seconds.
const TRANSACTION_TIME_MAX: Duration = Duration::from_secs(10);

const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// A table that is compared.
pub(super) struct Compared<'a> {
    pub(super) reading: Reading<'a, DynamoTable, Patient>,
    comparison: &'a Comparison,
    connection: &'a Connection,
    bar: ProgressBar,
    /// How many suspects the pages had.
    suspected: AtomicUsize,
    begun: Instant,
}

pub(super) struct PassResult {
    /// How much was looked at.
    pub(super) seen: Seen,
    /// True if there was more to look at again than this looks at.
    pub(super) is_cut: bool,
    /// The differences that have been the same for the settling time.
    pub(super) settled: Vec<Difference>,
    pub(super) moving: Vec<Difference>,
    /// The requests, and the units that they took.
    pub(super) usage: Usage,
    pub(super) took: Duration,
}

/// The suspects and counts of the pages so far.
type Taken = Mutex<(Suspects, Seen)>;

impl<'a> Compared<'a> {
    pub(super) fn new(
        client: &'a TableClient<'a>,
        settings: &'a Settings,
        comparison: &'a Comparison,
        connection: &'a Connection,
    ) -> Self {
        let bar = bar(None, comparison.json, "{spinner} {elapsed} {human_pos} items, {rate}  {msg}");
        let reading = Reading { client, settings, pace: RateLimit::new(comparison.rate), until: None };
        Self { reading, comparison, connection, bar, suspected: AtomicUsize::new(0), begun: now() }
    }

    /// Says how far a comparison has come that is stopped.
    pub(super) fn say_how_far(&self) {
        self.bar.finish_and_clear();
        let (items, suspects) = (self.bar.position(), self.suspected.load(Ordering::Relaxed));
        if self.comparison.json {
            say!("{}", json!({"stopped": true, "items": items, "suspects": suspects}));
            return;
        }
        let (items, suspects) = (count(items, "item"), count(suspects as u64, "suspect"));
        let next = match self.comparison.work {
            Some(_) => "the same command goes on from here",
            None => "with --work the same command goes on after a stop",
        };
        say!("stopped: {items} looked at so far, {suspects} among them that weren't looked at again; {next}");
    }

    pub(super) async fn all(&self, whose: Whose) -> Result<PassResult> {
        let found = match self.comparison.top(&self.reading.settings.schema)? {
            Some(top) => self.below(top).await?,
            None => self.whole().await?,
        };
        check_items(&found.seen.classes, whose)?;
        Ok(found)
    }

    /// Compares a node and what is below it, partition by partition.
    async fn below(&self, top: NodeRef) -> Result<PassResult> {
        let taken = Taken::new((Suspects::new(self.comparison.window()), Seen::default()));
        let mut is_there = false;
        let walk = Subtree::new(self.reading.client, top.clone()).eventually();
        let wants = |found: &mut Vec<subtree::FoundNode>| {
            is_there |= found.iter().any(|found| found.record.is_some());
            true
        };
        self.reading.below(walk, wants, |page| self.take(page, &taken)).await?;
        let (suspects, seen) = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !is_there && seen.items == 0 {
            return Err(Exit::Wrong.because(format!("there is no node `{}`, and nothing is left of one", top.id)));
        }
        Ok(self.settled(suspects, seen).await?)
    }

    fn take(&self, page: Page, taken: &Taken) {
        self.looked_at(&page);
        let (suspects, seen) = &mut *taken.lock().unwrap_or_else(PoisonError::into_inner);
        seen.add(&page);
        suspects.take(page.suspects, self.begun.elapsed());
    }

    fn looked_at(&self, page: &Page) {
        self.bar.inc(page.items);
        self.suspected.fetch_add(page.suspects.len(), Ordering::Relaxed);
    }

    async fn whole(&self) -> Result<PassResult> {
        let segments = self.segments();
        let table = match &self.comparison.work {
            Some(_) => self.connection.identity(self.reading.client.table()).await?,
            None => String::new(),
        };
        let work = &Work::open(self.comparison, segments, &table, self.reading.settings)?;
        let page = |segment, from: Option<Position>| async move {
            let page = self.reading.audit().page(segment, segments, from.as_ref(), PAGE_ITEMS_MAX).await?;
            self.looked_at(&page);
            work.take(segment, page, self.begun.elapsed())
        };
        self.reading.parts(segments, |segment| Ok(work.part(segment)), page).await?;
        let (suspects, seen) = work.found();
        let found = self.settled(suspects, seen).await?;
        work.end();
        Ok(found)
    }

    fn segments(&self) -> u32 {
        self.comparison.segments.count(self.connection.endpoint().is_some())
    }

    /// Counts the totals of these nodes and of those above them anew, from the whole table.
    pub(super) async fn recount(&self, nodes: BTreeSet<NodeRef>) -> Result<BTreeMap<NodeRef, Mended>, TableError> {
        // The time begins when this is waited for.
        let settled = async { tokio::time::sleep(TRANSACTION_TIME_MAX.min(self.comparison.window())).await };
        let pace = |used| tokio::time::sleep(self.reading.pace.take(used));
        let (name, rules) = (nanoseconds().to_string(), Rules::default());
        self.reading.audit().recount(nodes, name, rules, self.segments(), settled, pace).await
    }

    /// Looks at these subjects until each is right, or has been the same for the settling time.
    pub(super) async fn some(&self, subjects: BTreeSet<Subject>) -> Result<PassResult, TableError> {
        let (mut suspects, mut seen) = (Suspects::new(self.comparison.window()), Seen::default());
        seen.add_subjects(&subjects);
        let found = self.reading.audit().look(subjects.clone()).await?;
        suspects.take_again(&subjects, found, self.begun.elapsed());
        self.settled(suspects, seen).await
    }

    /// Looks again at what mends may have changed, and below the nodes that hand it on, after the settling time.
    pub(super) async fn again(&self, touched: &Touched) -> Result<PassResult, TableError> {
        tokio::time::sleep(self.comparison.window()).await;
        let Touched { subjects, tops } = touched;
        let mut all = Seen::default();
        all.add_subjects(subjects);
        let taken = Taken::new((Suspects::new(self.comparison.window()), Seen::default()));
        let (mut walked, mut is_cut) = (BTreeSet::new(), false);
        for top in tops {
            let wants = |found: &mut Vec<subtree::FoundNode>| {
                found.retain(|found| !walked.contains(&found.node));
                let has_room = walked.len() + found.len() <= WALKED_NODES_MAX;
                walked.extend(found.iter().filter(|_| has_room).map(|found| found.node.clone()));
                has_room
            };
            let walk = Subtree::new(self.reading.client, top.clone());
            is_cut |= !self.reading.below(walk, wants, |page| self.take(page, &taken)).await?;
        }
        let below = walked.into_iter().map(Subject::Node).filter(|node| !subjects.contains(node)).collect();
        all.add_subjects(&below);
        let (mut suspects, _) = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        let found = self.reading.audit().look(subjects.clone()).await?;
        suspects.take_again(subjects, found, self.begun.elapsed());
        Ok(PassResult { is_cut, ..self.settled(suspects, all).await? })
    }

    async fn settled(&self, mut suspects: Suspects, seen: Seen) -> Result<PassResult, TableError> {
        let began_looking = self.begun.elapsed();
        let mut waits = LOOKS_AFTER.into_iter().chain(std::iter::repeat(LOOKS_AFTER[LOOKS_AFTER.len() - 1]));
        let mut looked = false;
        while !suspects.all_count() {
            // Each suspect is looked at again at least once.
            if looked && self.begun.elapsed() > began_looking + suspects.patience() {
                break;
            }
            looked = true;
            let subjects = suspects.subjects();
            self.bar.set_message(format!("looking again at {} suspects", subjects.len()));
            let wait = waits.next().unwrap_or_default().min(self.comparison.window());
            tokio::time::sleep(wait.max(SHORTEST_WAIT)).await;
            let before = self.reading.client.usage().read_units;
            let found = self.reading.audit().look(subjects.clone()).await?;
            suspects.take_again(&subjects, found, self.begun.elapsed());
            self.reading.pay(before, 1).await;
        }
        self.bar.finish_and_clear();
        let usage = self.reading.client.usage();
        let settled = suspects.take_settled().into_iter().map(|suspect| suspect.difference).collect();
        let moving = suspects.iter().map(|suspect| suspect.difference.clone()).collect();
        Ok(PassResult { seen, is_cut: false, settled, moving, usage, took: self.begun.elapsed() })
    }
}
