//! An event source mapping between a table's stream and a function, as Lambda runs it.
//!
//! What is the same as Lambda's: every shard of the stream is read, parents before their children. Records that the filter
//! keeps out never reach the function. Per shard, as many batches are under way as the parallelization factor says, and
//! never two with records of the same item. A batch that fails, in whole or from some record on, is tried again with growing
//! pauses, cut in two if so configured, until it is handled, tried too often or too old; what is given up goes to the failure
//! destination. The position is never past a record that isn't handled, so whatever happens each is handled at least once.
//!
//! What differs:
//! - Workers are chosen by item, not by partition key: order per item is all a function may rely on.
//! - A record's age doesn't grow while no mapping runs.
//! - The stream is polled more often, and records of writes that changed nothing, which dynoxide makes, are left out.
//! - Starting at LATEST, a position is kept from the first record on: what is written while the mapping is off before there
//!   was one is missed.

mod batch;
mod context;
mod destination;
mod function;
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

pub use self::function::Function;
pub use self::observation::{DiscardReason, Observation, Outcome};
pub use self::progress::Stopped;
pub use self::settings::{Observer, Pace, Settings};

use self::context::Context;
use self::destination::Destination;
use self::position::Position;
use self::progress::Progress;

/// A running event source mapping. Dropping it stops it too, without waiting until it has.
#[derive(Debug)]
pub struct Mapping {
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
    status: Status,
}

/// How far a mapping is. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Status {
    progress: Arc<Progress>,
}

/// Why a mapping doesn't start, or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// A filter pattern isn't understood.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The file with the position can't be read.
    #[error("the position {path} can't be read: {source}. Delete it to handle all records that the stream has again")]
    Position {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// A task of the mapping ended with a panic.
    #[error("the event source mapping failed: {0}")]
    Failed(String),
}

impl Mapping {
    /// Starts a mapping, in the Tokio runtime that it is called in.
    pub fn start(settings: Settings, function: impl Function) -> Result<Self, MappingError> {
        let stream = Stream::new(&settings.url, &settings.stream.arn);
        let filter = Filter::new(&settings.source.filter_patterns)?;
        let position = match &settings.position_file {
            Some(path) => position::load(path, stream.arn())
                .map_err(|source| MappingError::Position { path: path.clone(), source })?,
            None => Position::default(),
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
        Ok(Mapping { stop, running, status: Status { progress } })
    }

    /// A handle that tells how far it is.
    pub fn status(&self) -> Status {
        self.status.clone()
    }

    /// See [`Status::settled`].
    pub async fn settled(&self) -> Result<(), Stopped> {
        self.status.settled().await
    }

    /// Stops it: invocations under way end, none is begun, the position is saved.
    pub async fn stop(self) -> Result<(), MappingError> {
        self.stop.send_replace(true);
        self.running.await.map_err(|error| MappingError::Failed(error.to_string()))
    }
}

impl Status {
    /// How many records were read from the stream and aren't handled yet.
    pub fn outstanding(&self) -> usize {
        self.progress.outstanding()
    }

    /// Whether, when the stream was last read, nothing was left to read or to handle.
    pub fn is_caught_up(&self) -> bool {
        self.progress.is_caught_up()
    }

    /// Resolves once everything written before the call is handled, and so is everything that was written by handling it.
    /// With somebody else writing on and on it may never; with a record that fails and is tried for hours, not for hours.
    pub async fn settled(&self) -> Result<(), Stopped> {
        self.progress.settled().await
    }
}
