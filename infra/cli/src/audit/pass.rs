//! A pass over the whole table or over a part of it, and the second looks at what it suspects.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use sapwood_core::audit::{Difference, Position, Subject, Suspects};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_engine::audit::{Audit, Page};
use sapwood_engine::below::Below;
use sapwood_table::{Client, DynamoTable, TableError, Usage};

use super::work::Work;
use super::{AuditError, Comparison};
use crate::clock::now;
use crate::connect::{Connection, Patient};
use crate::pace::Pace;
use crate::say::style;

/// Items in a page of the scan, or of a partition.
const PAGE_ITEMS_MAX: usize = 500;

/// How long to wait before each look at a suspect. From then on it is looked at as often as the last says.
const LOOKS_AFTER: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(10), Duration::from_secs(20)];

const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// A table that is compared.
pub(super) struct Compared<'a> {
    client: &'a Client<'a, DynamoTable, Patient>,
    settings: &'a Settings,
    comparison: &'a Comparison,
    connection: &'a Connection,
    pace: Pace,
    bar: ProgressBar,
    begun: Instant,
}

/// What a pass has found.
pub(super) struct Found {
    /// The number of items.
    pub(super) items: u64,
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
        let shows = std::io::stderr().is_terminal() && !comparison.json;
        let bar = if shows { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Some(style) = style("{spinner} {elapsed} {human_pos} items, {rate}  {msg}") {
            bar.set_style(style);
        }
        Self { client, settings, comparison, connection, pace: Pace::new(comparison.rate), bar, begun: now() }
    }

    fn audit(&self) -> Audit<'_, DynamoTable, Patient> {
        Audit::new(self.client, self.settings)
    }

    /// Compares all that is to be compared.
    pub(super) async fn all(&self) -> Result<Found, AuditError> {
        match self.comparison.top(&self.settings.schema)? {
            Some(top) => self.below(top).await,
            None => self.whole().await,
        }
    }

    /// Compares a node and what is below it, partition by partition.
    async fn below(&self, top: NodeRef) -> Result<Found, AuditError> {
        let (suspects, items) = (Mutex::new(Suspects::new(self.comparison.settle())), AtomicU64::new(0));
        let mut below = Below::new(self.client, top.clone()).eventually();
        let mut is_there = false;
        loop {
            let before = self.client.usage().read_units;
            let found = below.next().await?;
            if found.is_empty() {
                break;
            }
            is_there |= found.iter().any(|found| found.record.is_some());
            let partitions = found.iter().map(|found| self.partition(&found.node, &suspects, &items)).collect();
            self.client.all(partitions).await.into_iter().collect::<Result<(), TableError>>()?;
            tokio::time::sleep(self.pace.take(self.client.usage().read_units - before)).await;
        }
        let items = items.into_inner();
        if !is_there && items == 0 {
            return Err(AuditError::Absent(top.id));
        }
        let suspects = suspects.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(self.settled(suspects, items).await?)
    }

    async fn partition(&self, node: &NodeRef, suspects: &Mutex<Suspects>, items: &AtomicU64) -> Result<(), TableError> {
        let mut from = None;
        loop {
            let page = self.audit().partition(node, from.as_ref(), PAGE_ITEMS_MAX).await?;
            from = self.taken(page, suspects, items);
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// Takes what a page has shown, and returns where the next one begins.
    fn taken(&self, page: Page, suspects: &Mutex<Suspects>, items: &AtomicU64) -> Option<Position> {
        items.fetch_add(page.items, Ordering::Relaxed);
        self.bar.inc(page.items);
        suspects.lock().unwrap_or_else(PoisonError::into_inner).take(page.suspects, self.begun.elapsed());
        page.next
    }

    /// Compares the whole table.
    async fn whole(&self) -> Result<Found, AuditError> {
        let segments = self.comparison.segments.count(self.connection);
        let table = match &self.comparison.work {
            Some(_) => self.connection.identity(self.client.table()).await?,
            None => String::new(),
        };
        let work = Work::open(self.comparison, segments, &table, self.settings)?;
        let parts = (0..segments).map(|segment| self.part(segment, segments, &work));
        futures::future::try_join_all(parts).await?;
        let (suspects, items) = work.found();
        let found = self.settled(suspects, items).await?;
        work.end();
        Ok(found)
    }

    async fn part(&self, segment: u32, segments: u32, work: &Work) -> Result<(), AuditError> {
        while let Some(from) = work.next(segment) {
            let before = self.client.usage().read_units;
            let page = self.audit().page(segment, segments, from.as_ref(), PAGE_ITEMS_MAX).await?;
            self.bar.inc(page.items);
            work.take(segment, page, self.begun.elapsed())?;
            // Parts that run side by side share what they take: on average each pays for its own.
            let used = (self.client.usage().read_units - before) / f64::from(segments);
            tokio::time::sleep(self.pace.take(used)).await;
        }
        Ok(())
    }

    /// Looks at these subjects until each is right, or has been the same for the settling time.
    pub(super) async fn some(&self, subjects: BTreeSet<Subject>) -> Result<Found, TableError> {
        let mut suspects = Suspects::new(self.comparison.settle());
        let found = self.audit().look(subjects.clone()).await?;
        suspects.take_again(&subjects, found, self.begun.elapsed());
        self.settled(suspects, 0).await
    }

    async fn settled(&self, mut suspects: Suspects, items: u64) -> Result<Found, TableError> {
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
        Ok(Found { items, settled, moving, usage: self.client.usage(), took: self.begun.elapsed() })
    }
}
