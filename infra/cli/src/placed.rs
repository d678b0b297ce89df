//! Waits for the stream handler.

use std::time::Duration;

use indicatif::ProgressBar;

use crate::clock::now;

/// How long the stream handler may place no parent.
pub(crate) const PARENTS_WITHIN: Duration = Duration::from_secs(120);
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

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

/// Waits until no parent is left that isn't placed. `left` looks how many there are, and none may go for as long as
/// `patience` at most.
pub(crate) async fn placed<E: From<NotPlaced>>(
    bar: &ProgressBar,
    patience: Duration,
    mut left: impl AsyncFnMut() -> Result<usize, E>,
) -> Result<(), E> {
    let (mut since, mut wait) = (now(), FIRST_WAIT);
    let mut before = None;
    loop {
        let waiting = left().await?;
        if waiting == 0 {
            break;
        }
        if before.is_none_or(|before| waiting < before) {
            (since, wait, before) = (now(), FIRST_WAIT, Some(waiting));
        }
        let waited = now().saturating_duration_since(since);
        if waited > patience {
            return Err(NotPlaced { seconds: waited.as_secs(), waiting }.into());
        }
        bar.set_message(format!("waiting for the stream handler to place {waiting} parents"));
        tokio::time::sleep(wait).await;
        wait = wait.saturating_mul(2).min(LONGEST_WAIT);
    }
    bar.set_message("");
    Ok(())
}
