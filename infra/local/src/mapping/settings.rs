use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::endpoint::{Endpoint, TableStream};
use crate::template::{EventSource, Template};

use super::Observation;

const IDLE_READS_PER_STEP: u32 = 25;

/// What a mapping needs to know.
#[derive(Clone)]
pub struct Settings {
    /// The endpoint that serves the stream.
    pub url: String,
    /// The stream.
    pub stream: TableStream,
    /// The mapping as the template configures it.
    pub source: EventSource,
    /// How long an invocation may take.
    pub timeout: Duration,
    /// The file that keeps the position. None: every start is at the starting position.
    pub position_file: Option<PathBuf>,
    /// The file that records go to which were given up, one JSON object a line, as Lambda's S3 destination has them. Used
    /// where the template has a failure destination.
    pub failures_file: Option<PathBuf>,
    /// Who is told of every invocation.
    pub observer: Option<Observer>,
    /// How quickly things are done.
    pub pace: Pace,
}

/// Who is told of what a mapping does, from several tasks at a time. It must neither block nor panic.
pub type Observer = Arc<dyn Fn(&Observation) + Send + Sync>;

/// How quickly a mapping works, and how much it takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long to wait after a read that found nothing. Lambda's is a quarter of a second; at a desk rows should be there
    /// at once.
    pub idle_poll: Duration,
    /// How long that wait becomes while nothing happens: a read costs some CPU, a debug build's most of all.
    pub idle_poll_max: Duration,
    /// How long to wait before the first retry; doubled with every failure in a row.
    pub backoff_first: Duration,
    /// How long to wait before any retry at most.
    pub backoff_max: Duration,
    /// How often the position is saved at most.
    pub save_every: Duration,
    /// How often to look for new shards, besides whenever one is closed.
    pub look_for_shards_every: Duration,
    /// How many records of a shard are read ahead of those that are handled.
    pub records_ahead_max: usize,
}

impl Settings {
    /// A mapping as the template has it, without files and observer.
    pub fn new(endpoint: &Endpoint, stream: &TableStream, template: &Template) -> Self {
        Settings {
            url: endpoint.url().to_owned(),
            stream: stream.clone(),
            source: template.event_source().clone(),
            timeout: template.timeout(),
            position_file: None,
            failures_file: None,
            observer: None,
            pace: Pace::default(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("url", &self.url)
            .field("stream", &self.stream)
            .field("source", &self.source)
            .finish_non_exhaustive()
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
    /// How long to wait after so many reads in a row that found nothing: it grows slowly, over seconds.
    pub(super) fn idle(&self, idle_reads: u32) -> Duration {
        self.idle_poll.saturating_mul(1 + idle_reads / IDLE_READS_PER_STEP).min(self.idle_poll_max)
    }

    /// How long to wait after so many failures in a row.
    pub(super) fn backoff(&self, failures_in_a_row: u32) -> Duration {
        if failures_in_a_row == 0 {
            return Duration::ZERO;
        }
        let doublings = failures_in_a_row.saturating_sub(1).min(20);
        self.backoff_first.saturating_mul(1 << doublings).min(self.backoff_max)
    }
}
