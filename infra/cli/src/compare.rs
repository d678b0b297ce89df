//! Reads a table through the comparison, page by page: all parts of it side by side, or a node and what is below it.
//! `verify`, `repair`, `backfill` and the explorer say what becomes of each page.

use std::time::Instant;

use anyhow::Result;
use futures::future::try_join_all;
use sapwood_core::audit::Position;
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_engine::audit::{Audit, Page};
use sapwood_engine::subtree::{FoundNode, Subtree};
use sapwood_import::backlog::Part;
use sapwood_store::{Client, RetryPolicy, Table, TableError};

use crate::clock::{RateLimit, now};

/// Items in a page of the scan, or of a partition.
pub(crate) const PAGE_ITEMS_MAX: usize = 500;

/// A table that is compared.
pub(crate) struct Reading<'a, T, P> {
    pub(crate) client: &'a Client<'a, T, P>,
    pub(crate) settings: &'a Settings,
    /// The most read units a second.
    pub(crate) pace: RateLimit,
    /// After this moment nothing more is read.
    pub(crate) until: Option<Instant>,
}

impl<'a, T: Table, P: RetryPolicy> Reading<'a, T, P> {
    pub(crate) fn audit(&self) -> Audit<'a, T, P> {
        Audit::new(self.client, self.settings)
    }

    /// Reads the parts of the table side by side: `part` says where one goes on, `page` reads and keeps a page. False:
    /// cut.
    pub(crate) async fn parts<F: Future<Output = Result<()>>>(
        &self,
        segments: u32,
        part: impl Fn(u32) -> Result<Part>,
        page: impl Fn(u32, Option<Position>) -> F,
    ) -> Result<bool> {
        let (part, page) = (&part, &page);
        let parts = (0..segments).map(|segment| async move {
            while let Part::At(from) = part(segment)? {
                if self.is_over() {
                    return anyhow::Ok(false);
                }
                let before = self.client.usage().read_units;
                page(segment, from).await?;
                // Parts that run side by side share what they take: on average each pays for its own.
                self.pay(before, segments).await;
            }
            Ok(true)
        });
        Ok(try_join_all(parts).await?.into_iter().all(|is_whole| is_whole))
    }

    /// Compares the partitions of a walk's nodes. `wants` leaves out nodes, or ends the walk with false. False: cut.
    pub(crate) async fn below(
        &self,
        mut walk: Subtree<'_, T, P>,
        mut wants: impl FnMut(&mut Vec<FoundNode>) -> bool,
        take: impl Fn(Page) + Sync,
    ) -> Result<bool, TableError> {
        loop {
            let before = self.client.usage().read_units;
            let mut found = walk.next().await?;
            if found.is_empty() {
                return Ok(true);
            }
            if self.is_over() || !wants(&mut found) {
                return Ok(false);
            }
            let partitions = found.iter().map(|found| self.partition(&found.node, &take)).collect();
            let compared: Result<Vec<bool>, TableError> = self.client.all(partitions).await.into_iter().collect();
            if compared?.contains(&false) {
                return Ok(false);
            }
            self.pay(before, 1).await;
        }
    }

    async fn partition(&self, node: &NodeRef, take: &(impl Fn(Page) + Sync)) -> Result<bool, TableError> {
        let mut from = None;
        loop {
            if self.is_over() {
                return Ok(false);
            }
            let mut page = self.audit().partition(node, from.as_ref(), PAGE_ITEMS_MAX).await?;
            from = page.next.take();
            take(page);
            if from.is_none() {
                return Ok(true);
            }
        }
    }

    /// Waits until what was read since then is paid, shared by so many.
    pub(crate) async fn pay(&self, before: f64, shares: u32) {
        let used = (self.client.usage().read_units - before) / f64::from(shares);
        tokio::time::sleep(self.pace.take(used)).await;
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| now() > until)
    }
}
