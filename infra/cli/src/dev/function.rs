//! The stream handler as the function that the mapping invokes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sapwood_core::keys::Schema;
use sapwood_engine::fanout::Report;
use sapwood_explorer::live::{handled, milliseconds};
use sapwood_explorer::{Feed, Trial, Trials};
use sapwood_handlers::stream::{Handler, response};
use sapwood_local::mapping::Function;
use serde_json::{Value, json};

use super::mortal::Way;
use super::output::{Output, keys};

pub(super) struct HandlerFunction {
    handler: Handler,
    output: Arc<Output>,
    invocations: AtomicU64,
    watched: Option<Watched>,
}

/// The explorer's view of the handler, and its means to disturb it.
pub(super) struct Watched {
    pub(super) feed: Feed,
    pub(super) trials: Arc<Trials>,
    /// A handler on a way on which it can die.
    pub(super) mortal: Handler,
    pub(super) way: Way,
    pub(super) schema: Schema,
}

/// Most items of a batch that an event names.
const NAMED_MAX: usize = 1_000;

impl HandlerFunction {
    pub(super) fn new(handler: Handler, output: Arc<Output>, watched: Option<Watched>) -> Self {
        Self { handler, output, invocations: AtomicU64::new(0), watched }
    }

    /// Runs a handler on a batch, and says what it did.
    #[allow(clippy::disallowed_methods, reason = "this stands in for Lambda, which knows the remaining time")]
    async fn run(&self, handler: &Handler, event: &str, deadline: Instant, again: bool) -> Result<Report, String> {
        let begun = Instant::now();
        let request_id = format!("local-{}", self.invocations.fetch_add(1, Ordering::Relaxed) + 1);
        self.tell(event, || json!({"type": "begun"}));
        let report = handler.run(event, &request_id, deadline.saturating_duration_since(begun)).await;
        let report = report.map_err(|error| error.to_string())?;
        let took = begun.elapsed();
        self.output.fan_out(event, &report, took);
        self.tell(event, || handled(&report, took, again));
        Ok(report)
    }

    /// Tells the pages that watch what happens to a batch.
    fn tell(&self, event: &str, make: impl FnOnce() -> Value) {
        let Some(Watched { feed, schema, .. }) = &self.watched else { return };
        feed.send(|| {
            let (mut told, all, names) = (make(), keys(event), schema.names());
            let named =
                all.iter().take(NAMED_MAX).map(|keys| [keys.get(&names.partition_key), keys.get(&names.sort_key)]);
            (told["items"], told["count"]) = (json!(named.collect::<Vec<_>>()), json!(all.len()));
            told
        });
    }

    /// Runs the handler on a way on which it dies.
    async fn killed(&self, watched: &Watched, event: &str, deadline: Instant, writes: u32) -> Result<Value, String> {
        let run = self.run(&watched.mortal, event, deadline, false);
        match watched.way.until(writes, run).await {
            // It needed fewer writes than that.
            Some(ended) => answer(&ended?),
            None => {
                watched.trials.died();
                self.tell(event, || json!({"type": "killed", "writes": writes}));
                Err(format!("killed after {writes} writes, because the explorer asked for it"))
            }
        }
    }
}

impl Function for HandlerFunction {
    async fn invoke(&self, event: String, deadline: Instant) -> Result<Value, String> {
        let trial = self.watched.as_ref().map(|watched| watched.trials.next()).unwrap_or_default();
        let Trial { dies_after, twice, late_by } = trial;
        if !late_by.is_zero() {
            self.tell(&event, || json!({"type": "held", "milliseconds": milliseconds(late_by)}));
            tokio::time::sleep(late_by).await;
        }
        if let (Some(writes), Some(watched)) = (dies_after, &self.watched) {
            return self.killed(watched, &event, deadline, writes).await;
        }
        let report = self.run(&self.handler, &event, deadline, false).await?;
        if twice {
            return answer(&self.run(&self.handler, &event, deadline, true).await?);
        }
        answer(&report)
    }
}

fn answer(report: &Report) -> Result<Value, String> {
    serde_json::to_value(response(report)).map_err(|error| error.to_string())
}
