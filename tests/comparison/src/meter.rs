//! Counts requests, the round trips that follow one another, and capacity units. It can also let the requests of
//! several writers through one at a time, in an order drawn from a seed.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures::future::{self, Either};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::oneshot;

/// What requests took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// The number of requests.
    pub requests: u64,
    /// The number of requests that had to follow one another. A request follows every request that was answered before
    /// it was sent.
    pub round_trips: u64,
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
}

/// A meter. Clones share one count.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    turns: Option<Turns>,
}

/// The requests that wait for their turn.
#[derive(Debug)]
struct Turns {
    chance: SmallRng,
    waiting: Vec<oneshot::Sender<()>>,
    is_busy: bool,
}

/// A request that was sent. It is the last of so many that follow one another.
#[derive(Clone, Copy, Debug)]
pub struct Sent(u64);

impl Meter {
    /// Waits for the request's turn, if there are turns, and counts it.
    pub async fn begin(&self) -> Sent {
        let turn = self.0.lock().unwrap().turns.as_mut().map(|turns| {
            let (sender, turn) = oneshot::channel();
            turns.waiting.push(sender);
            turn
        });
        if let Some(turn) = turn {
            turn.await.unwrap();
        }
        let sent = {
            let spent = &mut self.0.lock().unwrap().spent;
            spent.requests += 1;
            Sent(spent.round_trips + 1)
        };
        // A caller that sends several requests at once has to begin all of them before the first is answered.
        tokio::task::yield_now().await;
        sent
    }

    /// Counts the answer to a request.
    pub fn end(&self, sent: Sent) {
        let mut state = self.0.lock().unwrap();
        state.spent.round_trips = state.spent.round_trips.max(sent.0);
        if let Some(turns) = &mut state.turns {
            turns.is_busy = false;
        }
    }

    /// Counts capacity units.
    pub fn add(&self, read_units: f64, write_units: f64) {
        let spent = &mut self.0.lock().unwrap().spent;
        spent.read_units += read_units;
        spent.write_units += write_units;
    }

    /// Takes what was counted since this was last called.
    #[must_use]
    pub fn take(&self) -> Spent {
        std::mem::take(&mut self.0.lock().unwrap().spent)
    }

    /// Runs writers of this meter in one task, and lets one request through at a time, in an order drawn from the seed.
    /// The order is the same each time, because all that the writers do between two requests is done before the next
    /// request is chosen.
    pub async fn in_turns<T>(&self, seed: u64, writers: impl Future<Output = T>) -> T {
        let turns = Turns { chance: SmallRng::seed_from_u64(seed), waiting: Vec::new(), is_busy: false };
        self.0.lock().unwrap().turns = Some(turns);
        let choosing = future::poll_fn(|_| {
            let mut state = self.0.lock().unwrap();
            let turns = state.turns.as_mut().unwrap();
            if !turns.is_busy && !turns.waiting.is_empty() {
                let next = turns.chance.random_range(0..turns.waiting.len());
                turns.is_busy = true;
                turns.waiting.remove(next).send(()).unwrap();
            }
            Poll::<()>::Pending
        });
        let Either::Left((done, _)) = future::select(pin!(writers), pin!(choosing)).await else { unreachable!() };
        self.0.lock().unwrap().turns = None;
        done
    }
}
