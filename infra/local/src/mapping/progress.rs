//! How far a mapping has come: which records were read and aren't handled yet, and whether more are left to read.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use crate::stream::Shard;

use super::position::{ShardPosition, StreamPosition};

/// The progress of a mapping. All its tasks share it.
#[derive(Debug)]
pub struct Progress {
    state: Mutex<ProgressState>,
    changes: watch::Sender<u64>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct ProgressState {
    /// A logical clock that orders reads of the stream and the handling of records.
    tick: u64,
    /// The tick of the last request for the list of shards.
    looked: u64,
    /// The tick at which a record was last read or handled.
    active: u64,
    /// The number of records that were read.
    admitted: u64,
    /// The number of records that were read and aren't handled.
    outstanding: usize,
    /// The number of changes of the position.
    moves: u64,
    has_stopped: bool,
    shards: BTreeMap<String, ShardState>,
}

#[derive(Debug, Default)]
struct ShardState {
    phase: Phase,
    /// All records up to this one are handled.
    after: Option<String>,
    /// The records after it that were read, in stream order.
    window: VecDeque<Slot>,
    /// The number of the window's first record, counted from the shard's first record that was read.
    window_start: u64,
    outstanding: usize,
    /// The tick at which the last read began that found nothing.
    drained: u64,
}

#[derive(Debug)]
struct Slot {
    sequence_number: String,
    is_handled: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The shard waits until its parent has ended.
    #[default]
    Waiting,
    Reading,
    /// The shard is closed, and all its records are handled, since this tick.
    Ended(u64),
}

/// The mapping was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event source mapping was stopped")]
pub struct Stopped;

impl Progress {
    pub(super) fn from(position: StreamPosition) -> Self {
        let mut state = ProgressState::default();
        for (id, shard) in position.shards {
            let restored = match shard {
                ShardPosition::After(number) => ShardState { after: Some(number), ..ShardState::default() },
                ShardPosition::Ended => ShardState { phase: Phase::Ended(0), ..ShardState::default() },
            };
            state.shards.insert(id, restored);
        }
        Progress { state: Mutex::new(state), changes: watch::channel(0).0, wake: Notify::new() }
    }

    /// Returns the position and the number of its changes.
    pub(super) fn position(&self, stream: &str) -> (StreamPosition, u64) {
        let state = self.lock();
        let shards = state.shards.iter().filter_map(|(id, shard)| {
            let position = match (shard.phase, &shard.after) {
                (Phase::Ended(_), _) => ShardPosition::Ended,
                (_, Some(number)) => ShardPosition::After(number.clone()),
                (_, None) => return None,
            };
            Some((id.clone(), position))
        });
        (StreamPosition { stream: stream.to_owned(), shards: shards.collect() }, state.moves)
    }

    /// Returns a tick for a read of the stream that begins now: later than everything that happened so far.
    pub(super) fn tick(&self) -> u64 {
        let mut state = self.lock();
        state.tick += 1;
        state.tick
    }

    /// Takes the list of shards of `began`. Returns those to read now, parents first, each with where to go on.
    pub(super) fn look(&self, shards: &[Shard], began: u64) -> Vec<(String, Option<String>)> {
        let mut state = self.lock();
        // A shard that has left the stream matters only while it is read.
        state.shards.retain(|id, shard| shard.phase == Phase::Reading || shards.iter().any(|listed| listed.id == *id));
        for shard in shards {
            state.shards.entry(shard.id.clone()).or_default();
        }
        let mut ready = Vec::new();
        for shard in shards {
            let parent = shard.parent.as_ref().and_then(|parent| state.shards.get(parent));
            let parent_is_done = parent.is_none_or(|parent| matches!(parent.phase, Phase::Ended(_)));
            if let Some(own) = state.shards.get_mut(&shard.id)
                && own.phase == Phase::Waiting
                && parent_is_done
            {
                own.phase = Phase::Reading;
                ready.push((shard.id.clone(), own.after.clone()));
            }
        }
        state.looked = began;
        drop(state);
        self.changed();
        ready
    }

    /// Takes records that were read, each with whether the function gets it. Returns the numbers of those that it does.
    pub(super) fn admit(&self, shard: &str, records: Vec<(String, bool)>) -> Vec<u64> {
        let mut state = self.lock();
        let ProgressState { tick, active, admitted, outstanding, shards, .. } = &mut *state;
        let Some(own) = shards.get_mut(shard) else { return Vec::new() };
        *tick += 1;
        *active = *tick;
        let mut numbers = Vec::new();
        for (sequence_number, is_wanted) in records {
            *admitted += 1;
            if is_wanted {
                numbers.push(own.window_start + own.window.len() as u64);
                own.outstanding += 1;
                *outstanding += 1;
            }
            own.window.push_back(Slot { sequence_number, is_handled: !is_wanted });
        }
        let has_moved = own.advance();
        state.moves += u64::from(has_moved);
        drop(state);
        self.changed();
        numbers
    }

    /// Takes the numbers of records that were handled or discarded.
    pub(super) fn handled(&self, shard: &str, numbers: impl IntoIterator<Item = u64>) {
        let mut state = self.lock();
        let ProgressState { tick, active, outstanding, shards, .. } = &mut *state;
        let Some(own) = shards.get_mut(shard) else { return };
        *tick += 1;
        *active = *tick;
        for number in numbers {
            let slot = number
                .checked_sub(own.window_start)
                .and_then(|place| usize::try_from(place).ok())
                .and_then(|place| own.window.get_mut(place));
            if let Some(slot) = slot.filter(|slot| !slot.is_handled) {
                slot.is_handled = true;
                own.outstanding -= 1;
                *outstanding -= 1;
            }
        }
        let has_moved = own.advance();
        state.moves += u64::from(has_moved);
        drop(state);
        self.changed();
    }

    /// Notes that a read that began at `tick` found nothing.
    pub(super) fn drained(&self, shard: &str, tick: u64) {
        if let Some(own) = self.lock().shards.get_mut(shard) {
            own.drained = tick;
        }
        self.changed();
    }

    /// Notes that a shard is closed and all its records are handled.
    pub(super) fn ended(&self, shard: &str) {
        let mut state = self.lock();
        state.tick += 1;
        state.moves += 1;
        let now = state.tick;
        if let Some(own) = state.shards.get_mut(shard) {
            own.phase = Phase::Ended(now);
        }
        drop(state);
        self.changed();
    }

    pub(super) fn stopped(&self) {
        self.lock().has_stopped = true;
        self.changed();
    }

    /// Resolves when the shard has fewer than `outstanding_max` records that aren't handled.
    pub(super) async fn below(&self, shard: &str, outstanding_max: usize) {
        self.until(|state| state.shards.get(shard).is_none_or(|own| own.outstanding < outstanding_max).then_some(()))
            .await;
    }

    /// Resolves when an idle reader should read at once.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Returns the number of records that were read from the stream and aren't handled yet.
    pub fn outstanding(&self) -> usize {
        self.lock().outstanding
    }

    /// Returns true if nothing was left to read or to handle when the stream was last read.
    pub fn is_caught_up(&self) -> bool {
        let state = self.lock();
        state.outstanding == 0 && state.is_drained_since(state.active)
    }

    /// Resolves when everything written before the call is handled, and everything that the handling has written. It
    /// may never resolve while clients keep writing or a record keeps failing.
    pub async fn settled(&self) -> Result<(), Stopped> {
        loop {
            // No invocation runs at this moment, so everything written so far is in the stream ...
            let (since, admitted) = self
                .until(|state| match (state.has_stopped, state.outstanding) {
                    (true, _) => Some(Err(Stopped)),
                    (false, 0) => Some(Ok((state.tick, state.admitted))),
                    (false, _) => None,
                })
                .await?;
            self.wake.notify_waiters();
            // ... and reads that begin after it find nothing. If they find a record, its handling may write more.
            let is_settled = self
                .until(|state| match state {
                    ProgressState { has_stopped: true, .. } => Some(Err(Stopped)),
                    state if state.admitted != admitted => Some(Ok(false)),
                    state => state.is_drained_since(since).then_some(Ok(true)),
                })
                .await?;
            if is_settled {
                return Ok(());
            }
        }
    }

    async fn until<T>(&self, found: impl Fn(&ProgressState) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        loop {
            if let Some(value) = found(&self.lock()) {
                return value;
            }
            // The sender is in `self`, so this can't fail.
            let _ = changes.changed().await;
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        // No code that can panic runs while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressState {
    /// Returns true if every shard was read to its end after `tick`, and no shard can be unknown.
    fn is_drained_since(&self, tick: u64) -> bool {
        self.looked > 0
            && self.shards.values().all(|shard| match shard.phase {
                Phase::Waiting => false,
                Phase::Reading => shard.drained > tick,
                // The list of shards was read since then, so its children are known.
                Phase::Ended(when) => self.looked > when,
            })
    }
}

impl ShardState {
    /// Moves the position past the handled records at the window's start. Returns true if it has moved.
    fn advance(&mut self) -> bool {
        let mut has_moved = false;
        while self.window.front().is_some_and(|slot| slot.is_handled) {
            self.after = self.window.pop_front().map(|slot| slot.sequence_number);
            self.window_start += 1;
            has_moved = true;
        }
        has_moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(id: &str, parent: Option<&str>) -> Shard {
        Shard { id: id.to_owned(), parent: parent.map(str::to_owned) }
    }

    fn look(progress: &Progress, shards: &[Shard]) -> Vec<String> {
        let began = progress.tick();
        progress.look(shards, began).into_iter().map(|(id, _)| id).collect()
    }

    fn read(progress: &Progress, shard: &str, numbers: &[u64], is_wanted: impl Fn(u64) -> bool) -> Vec<u64> {
        progress.admit(shard, numbers.iter().map(|&number| (number.to_string(), is_wanted(number))).collect())
    }

    fn after(progress: &Progress, shard: &str) -> Option<ShardPosition> {
        progress.position("stream").0.shards.get(shard).cloned()
    }

    #[test]
    fn the_position_is_never_past_a_record_that_is_not_handled() {
        let progress = Progress::from(StreamPosition::default());
        look(&progress, &[shard("a", None)]);
        let numbers = read(&progress, "a", &[1, 2, 3, 4, 5], |number| number != 4);
        assert_eq!(progress.outstanding(), 4);
        assert_eq!(after(&progress, "a"), None);
        progress.handled("a", [numbers[1], numbers[2]]);
        assert_eq!(after(&progress, "a"), None);
        progress.handled("a", [numbers[0]]);
        // Not 3: record 4 was kept out by the filter, so nothing is left to do with it.
        assert_eq!(after(&progress, "a"), Some(ShardPosition::After("4".to_owned())));
        // Handled twice is handled once.
        progress.handled("a", [numbers[0], numbers[3], numbers[3]]);
        assert_eq!(after(&progress, "a"), Some(ShardPosition::After("5".to_owned())));
        assert_eq!(progress.outstanding(), 0);
    }

    #[test]
    fn a_child_shard_waits_for_its_parent() {
        let shards = [shard("child", Some("parent")), shard("parent", Some("trimmed")), shard("other", None)];
        let progress = Progress::from(StreamPosition::default());
        assert_eq!(look(&progress, &shards), ["parent", "other"]);
        assert_eq!(look(&progress, &shards), [""; 0]);
        progress.ended("parent");
        assert_eq!(look(&progress, &shards), ["child"]);
    }

    #[test]
    fn a_restart_reads_ended_shards_no_more() {
        let shards = [shard("parent", None), shard("child", Some("parent"))];
        let progress = Progress::from(StreamPosition::default());
        look(&progress, &shards);
        progress.ended("parent");
        look(&progress, &shards);
        read(&progress, "child", &[7], |_| false);
        let restarted = Progress::from(progress.position("stream").0);
        let began = restarted.tick();
        assert_eq!(restarted.look(&shards, began), [("child".to_owned(), Some("7".to_owned()))]);
    }

    #[test]
    fn a_shard_that_has_ended_is_settled_once_its_children_were_looked_for() {
        let progress = Progress::from(StreamPosition::default());
        assert!(!progress.is_caught_up());
        look(&progress, &[shard("parent", None)]);
        assert!(!progress.is_caught_up());
        let began = progress.tick();
        progress.drained("parent", began);
        assert!(progress.is_caught_up());
        progress.ended("parent");
        assert!(!progress.is_caught_up());
        let shards = [shard("parent", None), shard("child", Some("parent"))];
        look(&progress, &shards);
        assert!(!progress.is_caught_up());
        let began = progress.tick();
        progress.drained("child", began);
        assert!(progress.is_caught_up());
    }

    #[tokio::test]
    async fn a_read_begun_before_the_call_settles_nothing() {
        let progress = Progress::from(StreamPosition::default());
        look(&progress, &[shard("a", None)]);
        let before = progress.tick();
        let settled = progress.settled();
        tokio::pin!(settled);
        assert!(poll_once(settled.as_mut()).is_none());
        progress.drained("a", before);
        assert!(poll_once(settled.as_mut()).is_none());
        let since = progress.tick();
        progress.drained("a", since);
        assert_eq!(poll_once(settled.as_mut()), Some(Ok(())));
    }

    fn poll_once<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.poll(&mut context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
    }
}
