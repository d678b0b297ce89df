//! The thread that serves the engine.

use std::convert::Infallible;
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dynoxide::Database;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::EngineError;
use super::sweep::Sweep;

/// How long running requests may take when the engine stops. A client that never finishes one doesn't block it.
const GRACE: Duration = Duration::from_secs(3);

/// The time from a pass of the sweep to the next, at least. DynamoDB takes days, too long for a developer.
const PASSES_EVERY: Duration = Duration::from_secs(5);

/// The pause after a page of the sweep, in times of the page: the sweep takes at most a fiftieth of the thread's time.
const PAUSE_FACTOR: u32 = 49;

/// The engine's thread, because SQLite's statements block. Its end closes the file.
#[derive(Debug)]
pub(super) struct Server {
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<(), String>>,
}

impl Server {
    pub(super) fn start(listener: TcpListener, database: Database, sweep: Sweep) -> Result<Self, EngineError> {
        let (stop, stopped) = watch::channel(false);
        let failed = |error: std::io::Error| EngineError::Server(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let thread = thread::Builder::new()
            .name("dynamodb".to_owned())
            .spawn(move || serve(&runtime, listener, database, sweep, stopped))
            .map_err(failed)?;
        Ok(Server { stop, thread })
    }

    pub(super) async fn stop(self) -> Result<(), EngineError> {
        self.stop.send_replace(true);
        let joined = tokio::task::spawn_blocking(|| self.thread.join()).await;
        match joined {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(reason))) => Err(EngineError::Server(reason)),
            Ok(Err(_)) | Err(_) => Err(EngineError::Server("its thread panicked".to_owned())),
        }
    }
}

fn serve(
    runtime: &Runtime,
    listener: TcpListener,
    database: Database,
    sweep: Sweep,
    stopped: watch::Receiver<bool>,
) -> Result<(), String> {
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        let served = dynoxide::server::serve_with_shutdown(listener, database, told_to_stop(stopped.clone()));
        tokio::select! {
            result = served => result,
            () = async { told_to_stop(stopped).await; tokio::time::sleep(GRACE).await } => Ok(()),
            never = keep_sweeping(sweep) => match never {},
        }
    })
}

/// Resolves when the engine is stopped or dropped.
async fn told_to_stop(mut stopped: watch::Receiver<bool>) {
    // An error means that the engine was dropped.
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Deletes what has expired, a page at a time.
async fn keep_sweeping(mut sweep: Sweep) -> Infallible {
    loop {
        let begun = Instant::now();
        let is_last = match sweep.page().await {
            Ok(page) => page.is_last,
            Err(error) => {
                tracing::warn!(%error, "expired items could not be deleted");
                true
            }
        };
        let pause = pause_after(begun.elapsed());
        tokio::time::sleep(if is_last { pause.max(PASSES_EVERY) } else { pause }).await;
    }
}

/// The pause after a page of the sweep.
fn pause_after(took: Duration) -> Duration {
    took.saturating_mul(PAUSE_FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_takes_a_fiftieth_of_the_time_at_most() {
        for took in [1, 999, 1_000_000, 7_000_000_000].map(Duration::from_nanos) {
            assert!(took * 50 <= took + pause_after(took), "{took:?}");
        }
    }
}
