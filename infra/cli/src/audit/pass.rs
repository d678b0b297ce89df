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
use sapwood_engine::audit::{Audit, Page};
use sapwood_engine::subtree::Subtree;
use sapwood_store::{Client, TableError, Usage};
use serde_json::json;

use super::Comparison;
use super::seen::Seen;
use super::touched::Touched;
use super::work::Work;
use crate::clock::{nanoseconds, now};
use crate::connect::{Connection, Patient, Whose};
use crate::exit::Exit;
use crate::rate_limit::RateLimit;
use crate::recognised::check_items;
use crate::say::{bar, count, say};

/// Items in a page of the scan, or of a partition.
const PAGE_ITEMS_MAX: usize = 500;

/// Most nodes that are looked at again because they are below one that was mended.
const WALKED_NODES_MAX: usize = 10_000;

/// How long to wait before each look at a suspect. From then on it is looked at as often as the last says.
const LOOKS_AFTER: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(10), Duration::from_secs(20)];

/// How long a transaction takes at most until all reads see all of it. It is a choice: DynamoDB ends a request within
/// seconds.
const TRANSACTION_TIME_MAX: Duration = Duration::from_secs(10);

const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// A table that is compared.
pub(super) struct Compared<'a> {
    client: &'a Client<'a, DynamoTable, Patient>,
    settings: &'a Settings,
    comparison: &'a Comparison,
    connection: &'a Connection,
    pace: RateLimit,
    bar: ProgressBar,
    /// How many suspects the pages had.
    suspected: AtomicUsize,
    begun: Instant,
}

/// What a pass has found.
pub(super) struct Found {
    /// How much was looked at.
    pub(super) seen: Seen,
    /// True if there was more to look at again than this looks at.
    pub(super) is_cut: bool,
    /// What has been wrong for the settling time.
    pub(super) settled: Vec<Difference>,
    /// What still changes.
    pub(super) moving: Vec<Difference>,
    /// What the requests took.
    pub(super) usage: Usage,
    /// How long it took.
    pub(super) took: Duration,
}

impl<'a> Compared<'a> {
    pub(super) fn new(
        client: &'a Client<'a, DynamoTable, Patient>,
        settings: &'a Settings,
        comparison: &'a Comparison,
        connection: &'a Connection,
    ) -> Self {
        let bar = bar(None, comparison.json, "{spinner} {elapsed} {human_pos} items, {rate}  {msg}");
        let (pace, suspected) = (RateLimit::new(comparison.rate), AtomicUsize::new(0));
        Self { client, settings, comparison, connection, pace, bar, suspected, begun: now() }
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

    fn audit(&self) -> Audit<'_, DynamoTable, Patient> {
        Audit::new(self.client, self.settings)
    }

    /// Compares all that is to be compared.
    pub(super) async fn all(&self, whose: Whose) -> Result<Found> {
        let found = match self.comparison.top(&self.settings.schema)? {
            Some(top) => self.below(top).await?,
            None => self.whole().await?,
        };
        check_items(found.seen.classes(), whose)?;
        Ok(found)
    }

    /// Compares a node and what is below it, partition by partition.
    async fn below(&self, top: NodeRef) -> Result<Found> {
        let (suspects, seen) = (Mutex::new(Suspects::new(self.comparison.settle())), Mutex::new(Seen::default()));
        let mut below = Subtree::new(self.client, top.clone()).eventually();
        let mut is_there = false;
        loop {
            let before = self.client.usage().read_units;
            let found = below.next().await?;
            if found.is_empty() {
                break;
            }
            is_there |= found.iter().any(|found| found.record.is_some());
            let partitions = found.iter().map(|found| self.partition(&found.node, &suspects, &seen)).collect();
            self.client.all(partitions).await.into_iter().collect::<Result<(), TableError>>()?;
            tokio::time::sleep(self.pace.take(self.client.usage().read_units - before)).await;
        }
        let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !is_there && seen.items == 0 {
            return Err(Exit::Wrong.because(format!("there is no node `{}`, and nothing is left of one", top.id)));
        }
        let suspects = suspects.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(self.settled(suspects, seen).await?)
    }

    async fn partition(
        &self,
        node: &NodeRef,
        suspects: &Mutex<Suspects>,
        seen: &Mutex<Seen>,
    ) -> Result<(), TableError> {
        let mut from = None;
        loop {
            let page = self.audit().partition(node, from.as_ref(), PAGE_ITEMS_MAX).await?;
            from = self.taken(page, suspects, seen);
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// Takes what a page has shown, and returns where the next one begins.
    fn taken(&self, page: Page, suspects: &Mutex<Suspects>, seen: &Mutex<Seen>) -> Option<Position> {
        seen.lock().unwrap_or_else(PoisonError::into_inner).add(&page);
        self.looked_at(&page);
        suspects.lock().unwrap_or_else(PoisonError::into_inner).take(page.suspects, self.begun.elapsed());
        page.next
    }

    fn looked_at(&self, page: &Page) {
        self.bar.inc(page.items);
        self.suspected.fetch_add(page.suspects.len(), Ordering::Relaxed);
    }

    /// Compares the whole table.
    async fn whole(&self) -> Result<Found> {
        let segments = self.comparison.segments.count(self.connection.endpoint().is_some());
        let table = match &self.comparison.work {
            Some(_) => self.connection.identity(self.client.table()).await?,
            None => String::new(),
        };
        let work = Work::open(self.comparison, segments, &table, self.settings)?;
        let parts = (0..segments).map(|segment| self.part(segment, segments, &work));
        futures::future::try_join_all(parts).await?;
        let (suspects, seen) = work.found();
        let found = self.settled(suspects, seen).await?;
        work.end();
        Ok(found)
    }

    async fn part(&self, segment: u32, segments: u32, work: &Work) -> Result<()> {
        while let Some(from) = work.next(segment) {
            let before = self.client.usage().read_units;
            let page = self.audit().page(segment, segments, from.as_ref(), PAGE_ITEMS_MAX).await?;
            self.looked_at(&page);
            work.take(segment, page, self.begun.elapsed())?;
            // Parts that run side by side share what they take: on average each pays for its own.
            let used = (self.client.usage().read_units - before) / f64::from(segments);
            tokio::time::sleep(self.pace.take(used)).await;
        }
        Ok(())
    }

    /// Counts the totals of these nodes and of those above them anew, from the whole table.
    pub(super) async fn recount(&self, nodes: BTreeSet<NodeRef>) -> Result<BTreeMap<NodeRef, Mended>, TableError> {
        let segments = self.comparison.segments.count(self.connection.endpoint().is_some());
        // The time begins when this is waited for.
        let settled = async { tokio::time::sleep(TRANSACTION_TIME_MAX.min(self.comparison.settle())).await };
        let pace = |used| tokio::time::sleep(self.pace.take(used));
        self.audit().recount(nodes, nanoseconds().to_string(), Rules::default(), segments, settled, pace).await
    }

    /// Looks at these subjects until each is right, or has been the same for the settling time.
    pub(super) async fn some(&self, subjects: BTreeSet<Subject>) -> Result<Found, TableError> {
        let (mut suspects, mut seen) = (Suspects::new(self.comparison.settle()), Seen::default());
        seen.add_subjects(&subjects);
        let found = self.audit().look(subjects.clone()).await?;
        suspects.take_again(&subjects, found, self.begun.elapsed());
        self.settled(suspects, seen).await
    }

    /// Looks again at what mends may have changed, and at what is below the nodes from which the handler hands on what
    /// it has written. That takes it a while, so the look waits for the settling time.
    pub(super) async fn again(&self, touched: &Touched) -> Result<Found, TableError> {
        tokio::time::sleep(self.comparison.settle()).await;
        let Touched { subjects, tops } = touched;
        let mut all = Seen::default();
        all.add_subjects(subjects);
        let (suspects, ignored) = (Mutex::new(Suspects::new(self.comparison.settle())), Mutex::new(Seen::default()));
        let (mut walked, mut is_cut) = (BTreeSet::new(), false);
        for top in tops {
            let mut below = Subtree::new(self.client, top.clone());
            loop {
                let before = self.client.usage().read_units;
                let mut found = below.next().await?;
                if found.is_empty() {
                    break;
                }
                found.retain(|found| !walked.contains(&found.node));
                if walked.len() + found.len() > WALKED_NODES_MAX {
                    is_cut = true;
                    break;
                }
                let partitions = found.iter().map(|found| self.partition(&found.node, &suspects, &ignored)).collect();
                self.client.all(partitions).await.into_iter().collect::<Result<(), TableError>>()?;
                walked.extend(found.into_iter().map(|found| found.node));
                tokio::time::sleep(self.pace.take(self.client.usage().read_units - before)).await;
            }
        }
        let below = walked.into_iter().map(Subject::Node).filter(|node| !subjects.contains(node)).collect();
        all.add_subjects(&below);
        let mut suspects = suspects.into_inner().unwrap_or_else(PoisonError::into_inner);
        let found = self.audit().look(subjects.clone()).await?;
        suspects.take_again(subjects, found, self.begun.elapsed());
        Ok(Found { is_cut, ..self.settled(suspects, all).await? })
    }

    async fn settled(&self, mut suspects: Suspects, seen: Seen) -> Result<Found, TableError> {
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
            let wait = waits.next().unwrap_or_default().min(self.comparison.settle());
            tokio::time::sleep(wait.max(SHORTEST_WAIT)).await;
            let before = self.client.usage().read_units;
            let found = self.audit().look(subjects.clone()).await?;
            suspects.take_again(&subjects, found, self.begun.elapsed());
            tokio::time::sleep(self.pace.take(self.client.usage().read_units - before)).await;
        }
        self.bar.finish_and_clear();
        let settled = suspects.take_settled().into_iter().map(|suspect| suspect.difference).collect();
        let moving = suspects.iter().map(|suspect| suspect.difference.clone()).collect();
        Ok(Found { seen, is_cut: false, settled, moving, usage: self.client.usage(), took: self.begun.elapsed() })
    }
}
