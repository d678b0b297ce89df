//! Counts how a call uses its table: the round trips that follow one another, the requests by their kinds, and the
//! actions of its transactions.

use std::collections::BTreeMap;
use std::sync::Mutex;

use sapwood_store::Action;

use crate::intercept::{Intercept, Observer, Request};

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// The number of round trips that follow one another. A round trip begins with a request while no other is under
    /// way.
    pub round_trips: usize,
    /// The number of requests by their names.
    pub requests: BTreeMap<&'static str, usize>,
    /// The number of requests that only read.
    pub reads: usize,
    /// The actions of each transaction.
    pub transactions: Vec<Vec<Action>>,
    under_way: usize,
}

impl Counted {
    /// The number of requests that write.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.requests.values().sum::<usize>() - self.reads
    }
}

/// The observer that counts.
#[derive(Debug, Default)]
pub struct RoundTrips(Mutex<Counted>);

impl RoundTrips {
    /// Returns a table whose requests are counted.
    pub fn of<T>(table: T) -> Intercept<T, Self> {
        Intercept { table, observer: Self::default() }
    }

    /// Takes what was counted since this was last called.
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
        // A caller that sends several requests at once has to begin all of them before the first is answered.
        tokio::task::yield_now().await;
    }

    fn after(&self, _request: &Request<'_>) {
        self.0.lock().unwrap().under_way -= 1;
    }
}
