//! The settings, connections and progress of a mapping, for all its tasks.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use crate::filter::Filter;
use crate::stream::Stream;

use super::destination::Destination;
use super::progress::Progress;
use super::{Observation, Settings};

pub(super) struct Context<F> {
    pub(super) settings: Settings,
    pub(super) stream: Stream,
    pub(super) filter: Filter,
    pub(super) function: Arc<F>,
    pub(super) progress: Arc<Progress>,
    pub(super) destination: Option<Destination>,
    pub(super) started: SystemTime,
    pub(super) stop: watch::Receiver<bool>,
}

impl<F> Context<F> {
    /// Resolves when the mapping is stopped or dropped.
    pub(super) async fn stopped(&self) {
        // An error means that the mapping was dropped.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.stop.borrow() || self.stop.has_changed().is_err()
    }

    /// Waits. Returns `None` if the mapping was stopped meanwhile.
    pub(super) async fn pause(&self, duration: Duration) -> Option<()> {
        tokio::select! {
            biased;
            () = self.stopped() => None,
            () = tokio::time::sleep(duration) => Some(()),
        }
    }

    pub(super) fn observe(&self, observation: impl FnOnce() -> Observation) {
        if let Some(observer) = &self.settings.observer {
            observer(&observation());
        }
    }

    pub(super) fn trouble(&self, reason: String) {
        tracing::warn!(reason, "the event source mapping has trouble");
        self.observe(|| Observation::Trouble { reason });
    }
}
