//! Counts how a call of ours uses its table: round trips that follow one another, requests by their kind, and what its
//! transactions hold.

use std::collections::BTreeMap;
use std::sync::Mutex;

use sapwood_table::Action;

use crate::intercept::{Intercept, Observer, Request};

/// What was counted so far.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// How often nothing was under way and then something was: the round trips that follow one another.
    pub round_trips: usize,
    /// Requests by their names.
    pub requests: BTreeMap<&'static str, usize>,
    /// Requests that only read.
    pub reads: usize,
    /// The actions of each transaction.
    pub transactions: Vec<Vec<Action>>,
    under_way: usize,
}

impl Counted {
    /// Requests that write.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.requests.values().sum::<usize>() - self.reads
    }
}

/// The observer that counts.
#[derive(Debug, Default)]
pub struct RoundTrips(Mutex<Counted>);

impl RoundTrips {
    /// A table whose requests are counted.
    pub fn of<T>(table: T) -> Intercept<T, Self> {
        Intercept { table, observer: Self::default() }
    }

    /// What was counted since this was last asked.
    pub fn take(&self) -> Counted {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Observer for RoundTrips {
    async fn before(&self, request: &Request<'_>) {
        {
            let mut counted = self.0.lock().unwrap();
            counted.round_trips += usize::from(counted.under_way == 0);
            counted.under_way += 1;
            *counted.requests.entry(request.name()).or_default() += 1;
            counted.reads += usize::from(request.is_read());
            if let Request::Transact(actions) = request {
                counted.transactions.push(actions.to_vec());
            }
        }
        // Whoever asks for several things at once begins all of them before the first is answered, however fast that is.
        tokio::task::yield_now().await;
    }

    fn after(&self, _request: &Request<'_>) {
        self.0.lock().unwrap().under_way -= 1;
    }
}
