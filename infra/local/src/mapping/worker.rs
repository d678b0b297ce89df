use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc;

use super::batch::{self, Batch, Delivery, Response};
use super::context::Context;
use super::destination::FailedBatch;
use super::{DiscardReason, Function, Observation, Outcome, invocation};

/// Lambda's limit for an event, in bytes.
const EVENT_BYTES_MAX: usize = 6 * 1024 * 1024;

/// A worker of a shard: one invocation at a time, in the shard's order, with all records of an item.
pub(super) struct Worker<F> {
    pub(super) context: Arc<Context<F>>,
    pub(super) shard: Arc<str>,
    pub(super) queue: mpsc::UnboundedReceiver<Vec<Delivery>>,
    pub(super) waiting: VecDeque<Delivery>,
}

impl<F: Function> Worker<F> {
    /// Handles records until the queue is closed and empty, or the mapping is stopped.
    pub(super) async fn run(mut self) {
        while let Some(deliveries) = self.next_batch().await {
            if self.handle(deliveries).await.is_none() {
                return;
            }
        }
    }

    /// Returns the waiting records, up to the batch size. Within the batching window it waits for more.
    async fn next_batch(&mut self) -> Option<Vec<Delivery>> {
        if self.waiting.is_empty() {
            let arrived = tokio::select! {
                biased;
                () = self.context.stopped() => return None,
                arrived = self.queue.recv() => arrived?,
            };
            self.waiting.extend(arrived);
        }
        let source = &self.context.settings.source;
        let window_end = tokio::time::Instant::now() + source.batching_window;
        loop {
            while let Ok(arrived) = self.queue.try_recv() {
                self.waiting.extend(arrived);
            }
            if self.waiting.len() >= source.batch_size_max || self.queue.is_closed() {
                break;
            }
            tokio::select! {
                () = self.context.stopped() => return None,
                () = tokio::time::sleep_until(window_end) => break,
                arrived = self.queue.recv() => match arrived {
                    Some(arrived) => self.waiting.extend(arrived),
                    None => break,
                },
            }
        }
        let mut bytes = 0;
        let fitting = self.waiting.iter().take(source.batch_size_max).take_while(|delivery| {
            bytes += delivery.text.len();
            bytes <= EVENT_BYTES_MAX
        });
        let count = fitting.count().max(1);
        Some(self.waiting.drain(..count).collect())
    }

    /// Handles a batch to its end. Returns `None` if the mapping was stopped before all records were handled.
    async fn handle(&self, deliveries: Vec<Delivery>) -> Option<()> {
        let mut batches = vec![Batch { deliveries, failures: 0 }];
        let mut failures_in_a_row = 0;
        while let Some(mut batch) = batches.pop() {
            self.discard_old(&mut batch).await;
            if batch.deliveries.is_empty() {
                continue;
            }
            if self.context.is_stopped() {
                return None;
            }
            let response = self.invoke(&batch.deliveries).await;
            let invocations = batch.failures.saturating_add(1);
            let next = batch::next(batch, &response, &self.context.settings.source);
            failures_in_a_row = match (next.handled.is_empty(), next.again.is_empty()) {
                (true, _) => failures_in_a_row + 1,
                (false, false) => 1,
                (false, true) => 0,
            };
            self.handled(&next.handled);
            self.discard(next.discarded, DiscardReason::RetriesExhausted, invocations).await;
            if !next.again.is_empty() && self.context.pause(self.backoff(failures_in_a_row)).await.is_none() {
                return None;
            }
            batches.extend(next.again.into_iter().rev());
        }
        Some(())
    }

    async fn invoke(&self, deliveries: &[Delivery]) -> Response {
        let Context { settings, function, .. } = &*self.context;
        let began = Instant::now();
        let returned = invocation::invoke(function, invocation::event(deliveries), settings.timeout).await;
        let response = batch::parse_response(returned, deliveries, settings.source.reports_batch_item_failures);
        self.context.observe(|| Observation::Invoked {
            shard: self.shard.to_string(),
            records: deliveries.len(),
            outcome: match &response {
                Response::Handled => Outcome::Handled,
                Response::FailedFrom(place) => Outcome::Partly { again: deliveries.len() - place },
                Response::Failed(reason) => Outcome::Failed { reason: reason.clone() },
            },
            duration: began.elapsed(),
        });
        response
    }

    /// Discards the records that are too old. The oldest come first.
    async fn discard_old(&self, batch: &mut Batch) {
        let Some(age_max) = self.context.settings.source.record_age_max else { return };
        let now = SystemTime::now();
        let is_old = |delivery: &Delivery| {
            // The time in which the mapping didn't run doesn't count, or a laptop would discard records overnight.
            let since = delivery.created.max(self.context.started);
            now.duration_since(since).is_ok_and(|age| age > age_max)
        };
        let young = batch.deliveries.iter().position(|delivery| !is_old(delivery)).unwrap_or(batch.deliveries.len());
        let rest = batch.deliveries.split_off(young);
        let old = std::mem::replace(&mut batch.deliveries, rest);
        self.discard(old, DiscardReason::TooOld, batch.failures).await;
    }

    async fn discard(&self, deliveries: Vec<Delivery>, reason: DiscardReason, invocations: u32) {
        let (Some(first), Some(last)) = (deliveries.first(), deliveries.last()) else { return };
        let (first, last) = (&first.sequence_number, &last.sequence_number);
        tracing::error!(shard = %self.shard, first, last, reason = reason.condition(), "records discarded");
        for delivery in &deliveries {
            self.context.observe(|| Observation::Discarded {
                shard: self.shard.to_string(),
                sequence_number: delivery.sequence_number.clone(),
                keys: delivery.keys.clone(),
                reason,
            });
        }
        let (context, shard) = (Arc::clone(&self.context), Arc::clone(&self.shard));
        let kept = tokio::task::spawn_blocking(move || {
            let batch = FailedBatch {
                stream: &context.stream.arn,
                shard: &shard,
                event: invocation::event(&deliveries),
                deliveries: &deliveries,
                reason,
                invocations,
            };
            if let Some(destination) = &context.destination
                && let Err(error) = destination.write(batch)
            {
                // As in Lambda, an on-failure destination that fails doesn't block the shard.
                context
                    .trouble(format!("discarded records couldn't be written to the on-failure destination: {error}"));
            }
            context.progress.handled(&shard, deliveries.iter().map(|delivery| delivery.number));
        });
        if let Err(error) = kept.await {
            self.context
                .trouble(format!("discarded records couldn't be written to the on-failure destination: {error}"));
        }
    }

    fn handled(&self, deliveries: &[Delivery]) {
        if !deliveries.is_empty() {
            self.context.progress.handled(&self.shard, deliveries.iter().map(|delivery| delivery.number));
        }
    }

    fn backoff(&self, failures_in_a_row: u32) -> Duration {
        self.context.settings.pace.backoff(failures_in_a_row)
    }
}
