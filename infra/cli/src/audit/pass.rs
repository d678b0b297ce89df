//! A pass over the whole table, and the second looks at what it suspects.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use sapwood_core::audit::{Difference, Subject};
use sapwood_core::model::Settings;
use sapwood_engine::audit::Audit;
use sapwood_table::{Client, DynamoTable, TableError, Usage};

use super::Comparison;
use super::suspects::Suspects;
use crate::clock::now;
use crate::connect::Patient;
use crate::pace::Pace;

/// Items in a page of the scan.
const PAGE_ITEMS_MAX: usize = 500;

/// A table that is compared.
pub(super) struct Compared<'a> {
    client: &'a Client<'a, DynamoTable, Patient>,
    settings: &'a Settings,
    comparison: &'a Comparison,
    pace: Pace,
    bar: ProgressBar,
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
    ) -> Self {
        let shows = std::io::stderr().is_terminal() && !comparison.json;
        let bar = if shows { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {human_pos} items, {per_sec}  {msg}") {
            bar.set_style(style);
        }
        Self { client, settings, comparison, pace: Pace::new(comparison.rate), bar }
    }

    fn audit(&self) -> Audit<'_, DynamoTable, Patient> {
        Audit::new(self.client, self.settings)
    }

    /// Compares the whole table.
    pub(super) async fn whole(&self) -> Result<Found, TableError> {
        let begun = now();
        let (suspects, items) = (Mutex::new(Suspects::new(self.comparison.settle())), AtomicU64::new(0));
        let segments = self.comparison.segments;
        let parts = (0..segments).map(|segment| self.part(segment, segments, &suspects, &items));
        futures::future::try_join_all(parts).await?;
        let suspects = suspects.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.settled(suspects, items.into_inner(), begun).await
    }

    async fn part(
        &self,
        segment: u32,
        segments: u32,
        suspects: &Mutex<Suspects>,
        items: &AtomicU64,
    ) -> Result<(), TableError> {
        let mut from = None;
        loop {
            let before = self.client.usage().read_units;
            let page = self.audit().page(segment, segments, from.as_ref(), PAGE_ITEMS_MAX).await?;
            items.fetch_add(page.items, Ordering::Relaxed);
            self.bar.inc(page.items);
            suspects.lock().unwrap_or_else(PoisonError::into_inner).take(page.suspects, now());
            let Some(next) = page.next else { return Ok(()) };
            from = Some(next);
            // Parts that run side by side share what they take: on average each pays for its own.
            let used = (self.client.usage().read_units - before) / f64::from(segments);
            tokio::time::sleep(self.pace.take(used)).await;
        }
    }

    /// Looks at these subjects until each is right, or has been the same for the settling time.
    pub(super) async fn some(&self, subjects: BTreeSet<Subject>) -> Result<Found, TableError> {
        let begun = now();
        let mut suspects = Suspects::new(self.comparison.settle());
        let found = self.audit().look(subjects.clone()).await?;
        suspects.take_again(&subjects, found, now());
        self.settled(suspects, 0, begun).await
    }

    async fn settled(&self, mut suspects: Suspects, items: u64, begun: Instant) -> Result<Found, TableError> {
        let began_looking = now();
        for look in 0.. {
            let subjects = suspects.to_look_at();
            let Some(wait) = suspects.wait_before(look, began_looking, now()).filter(|_| !subjects.is_empty()) else {
                break;
            };
            self.bar.set_message(format!("looking again at {} suspects", subjects.len()));
            tokio::time::sleep(wait).await;
            let found = self.audit().look(subjects.clone()).await?;
            suspects.take_again(&subjects, found, now());
        }
        self.bar.finish_and_clear();
        let (settled, moving) = suspects.settled();
        Ok(Found { items, settled, moving, usage: self.client.usage(), took: begun.elapsed() })
    }
}
