//! The thread that serves the engine.

use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dynoxide::Database;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::EngineError;

/// How long running requests may take when the engine stops. A client that never finishes one doesn't block it.
const GRACE: Duration = Duration::from_secs(3);

/// The time between two deletions of expired items. DynamoDB takes days, which is too long for a developer.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// The engine's thread. Its SQLite statements block, so they don't run on the caller's runtime. When the thread has ended,
/// every task that uses the database has ended too, and the file is closed.
#[derive(Debug)]
pub(super) struct Server {
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<(), String>>,
}

impl Server {
    pub(super) fn start(listener: TcpListener, database: Database) -> Result<Self, EngineError> {
        let (stop, stopped) = watch::channel(false);
        let failed = |error: std::io::Error| EngineError::Server(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let thread = thread::Builder::new()
            .name("dynamodb".to_owned())
            .spawn(move || serve(&runtime, listener, database, stopped))
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
    stopped: watch::Receiver<bool>,
) -> Result<(), String> {
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        let sweeping = tokio::spawn(sweep(database.clone()));
        let served = dynoxide::server::serve_with_shutdown(listener, database, told_to_stop(stopped.clone()));
        let result = tokio::select! {
            result = served => result,
            () = async { told_to_stop(stopped).await; tokio::time::sleep(GRACE).await } => Ok(()),
        };
        sweeping.abort();
        result
    })
}

/// Resolves when the engine is stopped or dropped.
async fn told_to_stop(mut stopped: watch::Receiver<bool>) {
    // An error means that the engine was dropped.
    let _ = stopped.wait_for(|stop| *stop).await;
}

async fn sweep(database: Database) {
    let mut every = tokio::time::interval(SWEEP_EVERY);
    loop {
        every.tick().await;
        if let Err(error) = database.sweep_ttl() {
            tracing::warn!(%error, "expired items could not be deleted");
        }
    }
}
