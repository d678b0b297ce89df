//! What can be done to the stream handler of `sapwood dev`, to see that the rows end up right all the same: it is
//! killed between two of its writes, gets its records twice, or gets them late; and a row is damaged behind its back.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{Settings, Stored, key_of, rows, text};
use sapwood_store::clock::{Instant, now};
use sapwood_store::{Condition, ReadOptions, RetryPolicy, Table, TableError, Update};
use serde::Deserialize;

/// After which writes the next invocations die: the first of a move is the lineage's, the others are rows'.
const WRITES_UNTIL_DEATH: [u32; 3] = [1, 2, 3];

/// How long the stream is held back.
const HELD_BACK: Duration = Duration::from_secs(10);

const DAMAGED: &str = "name";

/// The trials that wait for the handler, whichever invocation comes.
#[derive(Debug, Default)]
pub struct Trials(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// After how many writes each of the next invocations dies; the last is the next.
    deaths: Vec<u32>,
    /// True if the next batch is delivered again.
    twice: bool,
    /// True if the stream is held back from the next batch on.
    holds: bool,
    /// Until when no batch is delivered.
    held_until: Option<Instant>,
}

/// The trials of one invocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// It dies after this many writes. The last is carried out, and the handler never hears of it.
    pub dies_after: Option<u32>,
    /// The batch is delivered again when it is handled.
    pub twice: bool,
    /// It begins so much later.
    pub late_by: Duration,
}

/// A trial that the page asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "trial", rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Kill the handler in its next invocations.
    Kill,
    Twice,
    HoldBack,
    /// Delete a row of a node, or change it.
    Damage {
        id: String,
        deletes: bool,
    },
}

impl Trials {
    /// Has something happen to the next invocations.
    pub(crate) fn order(&self, order: &Order) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match order {
            Order::Kill => waiting.deaths = WRITES_UNTIL_DEATH.iter().rev().copied().collect(),
            Order::Twice => waiting.twice = true,
            Order::HoldBack => waiting.holds = true,
            Order::Damage { .. } => {}
        }
    }

    /// Takes the trials of an invocation that begins now.
    pub fn next(&self) -> Trial {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The time counts from the first record that has to wait, however long it took to come.
        if std::mem::take(&mut waiting.holds) {
            waiting.held_until = Some(now() + HELD_BACK);
        }
        let late_by = waiting.held_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now()));
        let dies_after = waiting.deaths.last().copied();
        // A batch is delivered twice when it is handled.
        let twice = dies_after.is_none() && std::mem::take(&mut waiting.twice);
        Trial { dies_after, twice, late_by }
    }

    /// An invocation has died. The next one is in for the next death.
    pub fn died(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).deaths.pop();
    }
}

/// Deletes or changes a row of a node, as a client may that ignores records. Returns its key, if the node has a row.
pub(crate) async fn damage<T: Table, P: RetryPolicy>(
    client: &sapwood_store::Client<'_, T, P>,
    settings: &Settings,
    node: &NodeRef,
    deletes: bool,
) -> Result<Option<ItemKey>, TableError> {
    let schema = &settings.schema;
    let stored = client.get(&schema.lineage_key(node), &ReadOptions::default()).await?;
    let stored = Stored::read(stored.as_ref(), schema);
    let Some(lineage) = stored.lineage() else { return Ok(None) };
    let keys: Vec<ItemKey> = rows(&lineage.placement, node, schema).into_iter().map(|row| row.key).collect();
    let there = client.get_many(keys.iter().cloned().collect(), &ReadOptions::default()).await.all()?;
    let Some(key) = keys.into_iter().find_map(|key| key_of(there.get(&key)?, schema)) else { return Ok(None) };
    if deletes {
        client.table().delete(&key, &Condition::Always).await?;
    } else {
        let update = Update::set(DAMAGED, text("somebody has changed this row by hand"));
        client.table().update(&key, &update, &Condition::Always).await?;
    }
    Ok(Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invocations_die_until_as_many_have_died_as_were_ordered() {
        let trials = Trials::default();
        assert_eq!(trials.next(), Trial::default());
        trials.order(&Order::Kill);
        trials.order(&Order::Twice);
        let mut died = Vec::new();
        while let Some(writes) = trials.next().dies_after {
            died.push(writes);
            trials.died();
        }
        assert_eq!(died, WRITES_UNTIL_DEATH);
        assert_eq!((trials.next().twice, trials.next().twice), (false, false), "asked once, by the loop's last look");
    }

    #[test]
    fn what_is_held_back_is_late_once() {
        let trials = Trials::default();
        trials.order(&Order::HoldBack);
        assert!(trials.next().late_by > HELD_BACK / 2);
        let of_the_next_batch = trials.next().late_by;
        assert!(of_the_next_batch > HELD_BACK / 2 && of_the_next_batch < HELD_BACK, "the same ten seconds");
        assert_eq!(Trials::default().next().late_by, Duration::ZERO);
    }
}
