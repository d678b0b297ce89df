//! Questions on a terminal.

use std::io::{BufRead, IsTerminal, Write};

/// There is no terminal to ask on.
#[derive(Debug, thiserror::Error)]
#[error("there is no terminal to ask on: give --yes to go on without asking")]
pub(crate) struct NobodyToAsk;

/// Asks, and returns true if the answer is yes.
pub(crate) fn agrees(question: &str) -> Result<bool, NobodyToAsk> {
    if !std::io::stdin().is_terminal() {
        return Err(NobodyToAsk);
    }
    let mut stdout = std::io::stdout();
    // Nothing depends on the question being seen: without an answer nothing is done.
    let _ = write!(stdout, "{question} [y/N] ").and_then(|()| stdout.flush());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}
