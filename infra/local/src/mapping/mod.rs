//! An event source mapping between a table's stream and a function, as Lambda runs it.
//!
//! These rules are Lambda's:
//! - The mapping reads every shard of the stream, parents before their children. Records that the filter rejects never
//!   reach the function.
//! - A shard has as many concurrent batches as the parallelization factor says, and never two with records of the same
//!   item.
//! - A batch that fails, in whole or from some record on, is retried with growing pauses, and bisected if so
//!   configured, until it is handled, was retried too often or is too old. Discarded records go to the on-failure
//!   destination.
//! - The position never passes a record that isn't handled, so every record is handled at least once.
//!
//! These differ:
//! - The parallelization factor is 1 unless it is set for this machine
//!   ([`Template::local_event_source`](crate::template::Template::local_event_source)).
//! - Workers are chosen by item, not by partition key. A function can rely on order per item only.
//! - A record doesn't age while no mapping runs.
//! - The stream is polled more often. Records of writes that changed nothing, which only dynoxide makes, are left out.
//! - With `LATEST`, the position is saved from the first record on. Records that are written before that, while no
//!   mapping runs, are missed.

mod batch;
mod context;
mod destination;
mod invocation;
mod observation;
mod position;
mod progress;
mod reader;
mod settings;
mod shards;
mod worker;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::filter::{Filter, FilterError};
use crate::stream::Stream;

pub use self::invocation::Function;
pub use self::observation::{DiscardReason, Observation, Outcome, Seen};
pub use self::progress::{Progress, Stopped};
pub use self::settings::{Observer, Pace, Settings, Watcher};

use self::context::Context;
use self::destination::Destination;
use self::position::StreamPosition;

/// A running event source mapping. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Mapping {
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
    /// How far the mapping has come.
    pub progress: Arc<Progress>,
}

/// Why a mapping doesn't start, or failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum MappingError {
    /// A filter pattern isn't supported.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The file with the position can't be read.
    #[error("the position {path} can't be read: {source}. Delete it to handle all records of the stream again")]
    Position { path: PathBuf, source: io::Error },
    /// A task of the mapping panicked.
    #[error("the event source mapping failed: {0}")]
    Failed(String),
}

impl Mapping {
    /// Starts a mapping in the current Tokio runtime.
    pub fn start(settings: Settings, function: impl Function) -> Result<Self, MappingError> {
        let stream = Stream::new(&settings.url, &settings.stream.arn);
        let filter = Filter::new(&settings.source.filter_patterns)?;
        let position = match &settings.position_file {
            Some(path) => position::load(path, &stream.arn)
                .map_err(|source| MappingError::Position { path: path.clone(), source })?,
            None => StreamPosition::default(),
        };
        let is_resumed = !position.shards.is_empty();
        let progress = Arc::new(Progress::from(position));
        let (stop, stopped) = watch::channel(false);
        let destination =
            settings.failures_file.clone().filter(|_| settings.source.has_failure_destination).map(Destination::new);
        let context = Arc::new(Context {
            settings,
            stream,
            filter,
            function: Arc::new(function),
            progress: Arc::clone(&progress),
            destination,
            started: SystemTime::now(),
            stop: stopped,
        });
        let running = tokio::spawn(shards::run(context, is_resumed));
        Ok(Mapping { stop, running, progress })
    }

    /// See [`Progress::settled`].
    pub async fn settled(&self) -> Result<(), Stopped> {
        self.progress.settled().await
    }

    /// Stops the mapping: running invocations end, no other starts, and the position is saved.
    pub async fn stop(self) -> Result<(), MappingError> {
        self.stop.send_replace(true);
        self.running.await.map_err(|error| MappingError::Failed(error.to_string()))
    }
}
