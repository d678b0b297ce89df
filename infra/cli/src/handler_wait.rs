//! Waits for the stream handler.

use std::time::Duration;

use indicatif::ProgressBar;
use sapwood_store::Backoff;

use crate::clock::now;

/// How often the handler's work is looked at, and for how long it may not get on.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// The times between looks while nothing happens.
    backoff: Backoff,
    gives_up_after: Duration,
}

/// For parents: what waits for them is next.
pub(crate) const FOR_PARENTS: Patience =
    Patience { backoff: Backoff::new(20, 2_000), gives_up_after: Duration::from_secs(120) };
/// For nodes that the handler places by itself. A look costs a comparison, and no look only a second write.
pub(crate) const FOR_WHAT_IS_HANDED_DOWN: Patience =
    Patience { backoff: Backoff::new(500, 2_000), gives_up_after: Duration::from_secs(15) };

/// The stream handler doesn't place the parents.
#[derive(Debug, thiserror::Error)]
#[error(
    "for {seconds} s the stream handler has placed none of the {waiting} parents that the next nodes wait for. See whether it runs; the same command goes on from here"
)]
pub(crate) struct NotPlaced {
    /// How long nothing happened.
    seconds: u64,
    /// The number of parents.
    waiting: usize,
}

/// Waits until no parent is left that isn't placed. `left` looks how many there are.
pub(crate) async fn placed(
    bar: &ProgressBar,
    patience: Patience,
    mut left: impl AsyncFnMut() -> anyhow::Result<usize>,
) -> anyhow::Result<()> {
    let (mut since, mut looks) = (now(), 0);
    let mut before = None;
    loop {
        let waiting = left().await?;
        if waiting == 0 {
            break;
        }
        if before.is_none_or(|before| waiting < before) {
            (since, looks, before) = (now(), 0, Some(waiting));
        }
        let waited = now().saturating_duration_since(since);
        if waited > patience.gives_up_after {
            return Err(NotPlaced { seconds: waited.as_secs(), waiting }.into());
        }
        bar.set_message(format!("waiting for the stream handler to place {waiting} parents"));
        tokio::time::sleep(patience.backoff.wait(looks)).await;
        looks += 1;
    }
    bar.set_message("");
    Ok(())
}
