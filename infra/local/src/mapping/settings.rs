//! The settings of a mapping.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::endpoint::{Endpoint, TableStream};
use crate::template::{EventSource, Template};

use super::{Observation, Seen};

/// The number of idle reads after which their pause grows by [`Pace::idle_poll`].
const IDLE_READS_PER_STEP: u32 = 25;

/// The settings of a mapping.
#[derive(Clone)]
pub struct Settings {
    /// The URL of the endpoint that serves the stream.
    pub url: String,
    /// The stream.
    pub stream: TableStream,
    /// The event source.
    pub source: EventSource,
    /// The function's timeout.
    pub timeout: Duration,
    /// The file that keeps the position. Without it, every start is at the starting position.
    pub position_file: Option<PathBuf>,
    /// The file of discarded records, a JSON object a line as Lambda's on S3, if the template has a destination.
    pub failures_file: Option<PathBuf>,
    /// The observer of what the mapping does.
    pub observer: Option<Observer>,
    /// The watcher of the records that the mapping reads.
    pub watcher: Option<Watcher>,
    /// The mapping's pauses and limits.
    pub pace: Pace,
}

/// A callback for what a mapping does. Several tasks call it at the same time. It must neither block nor panic.
pub type Observer = Arc<dyn Fn(&Observation) + Send + Sync>;

/// A callback for the records of a read, rejected ones too, each made as it is taken. It must not block or panic.
pub type Watcher = Arc<dyn for<'a> Fn(&mut dyn Iterator<Item = Seen<'a>>) + Send + Sync>;

/// The pauses and limits of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The pause after a read that found nothing. Lambda's is a quarter of a second; a developer wants rows at once.
    pub idle_poll: Duration,
    /// The longest such pause, after many idle reads. Every read costs CPU time, most of all in a debug build.
    pub idle_poll_max: Duration,
    /// The pause before the first retry. It doubles with every failure in a row.
    pub backoff_first: Duration,
    /// The longest pause before a retry.
    pub backoff_max: Duration,
    /// The shortest time between two saves of the position.
    pub save_every: Duration,
    /// The time between two requests for the list of shards. The mapping also asks whenever a shard has ended.
    pub look_for_shards_every: Duration,
    /// The most records of a shard that are read and not handled.
    pub records_ahead_max: usize,
}

impl Settings {
    /// Returns the template's settings on one machine ([`Template::local_event_source`]), without files and observer.
    pub fn new(endpoint: &Endpoint, stream: &TableStream, template: &Template) -> Self {
        Settings {
            url: endpoint.url.clone(),
            stream: stream.clone(),
            source: template.local_event_source(),
            timeout: template.timeout,
            position_file: None,
            failures_file: None,
            observer: None,
            watcher: None,
            pace: Pace::default(),
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            idle_poll: Duration::from_millis(20),
            idle_poll_max: Duration::from_millis(100),
            backoff_first: Duration::from_millis(100),
            backoff_max: Duration::from_secs(10),
            save_every: Duration::from_millis(100),
            look_for_shards_every: Duration::from_secs(30),
            records_ahead_max: 5_000,
        }
    }
}

impl Pace {
    /// Returns the pause after a number of idle reads in a row. It grows slowly, over seconds.
    pub(super) fn idle(&self, idle_reads: u32) -> Duration {
        self.idle_poll.saturating_mul(1 + idle_reads / IDLE_READS_PER_STEP).min(self.idle_poll_max)
    }

    /// Returns the pause after a number of failures in a row.
    pub(super) fn backoff(&self, failures_in_a_row: u32) -> Duration {
        if failures_in_a_row == 0 {
            return Duration::ZERO;
        }
        let doublings = failures_in_a_row.saturating_sub(1).min(20);
        self.backoff_first.saturating_mul(1 << doublings).min(self.backoff_max)
    }
}
