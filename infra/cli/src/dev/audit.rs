//! The auditor of the local stack.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use sapwood_dynamodb::DynamoTable;
use sapwood_handlers::audit::{Config, Handler};
use sapwood_local::template::Template;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::output::Output;
use crate::clock::now;

/// The logical id of the function in the template.
const AUDITOR: &str = "Auditor";

/// The time between runs. On AWS it is 5 minutes.
const RUNS_EVERY: Duration = Duration::from_secs(10);
/// How long a difference must stay the same until it counts: a few runs, as on AWS.
const SETTLE: Duration = Duration::from_secs(30);
/// The time from one pass to the next.
const PASSES_EVERY: Duration = Duration::from_secs(60);
/// The read units of a run, which it spends evenly: the embedded engine has one thread.
const READ_UNITS_MAX: f64 = 500.0;
/// The time that a run has: until the next one.
const RUN_TIME: Duration = RUNS_EVERY;

/// Makes the auditor of a table, as the template configures it.
pub(super) fn handler(template: &Template, name: &str, table: &DynamoTable, shows: bool) -> Result<Handler> {
    let variables = template.environment_of(AUDITOR, name, &BTreeMap::new())?;
    let mut config = Config::read(|name| variables.get(name).cloned())?;
    // A demonstration doesn't wait.
    let wait = |time: Duration| if shows { Duration::ZERO } else { time };
    if !shows {
        config.limits.read_units_max = READ_UNITS_MAX;
    }
    (config.limits.settle, config.limits.pass_every) = (wait(SETTLE), wait(PASSES_EVERY));
    Ok(Handler::new(config, table.clone()))
}

/// The auditor, run by run, until it is stopped.
pub(super) struct Audit {
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Audit {
    pub(super) fn start(handler: Handler, output: Arc<Output>) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            let mut began = Instant::from_std(now());
            while tokio::time::timeout_at(began + RUNS_EVERY, &mut stopped).await.is_err() {
                began = Instant::from_std(now());
                match handler.run(RUN_TIME).await {
                    Ok(report) => output.audit(&report),
                    Err(error) => output.trouble("audit", &error.to_string()),
                }
            }
        });
        Self { stop, running }
    }

    pub(super) async fn stop(self) {
        // The task may have ended by itself, and a panic in it was printed.
        let _ = self.stop.send(());
        let _ = self.running.await;
    }
}
