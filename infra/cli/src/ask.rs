//! Questions on a terminal.

use std::io::{BufRead, IsTerminal, Write};

/// The option of a command that asks, where there is no terminal.
pub(crate) const YES: &str = "--yes to go on without asking";

/// Asks, and returns true if the answer is yes. `instead` are the options to give where there is no terminal.
pub(crate) fn agrees(question: &str, instead: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        anyhow::bail!("there is no terminal to ask on: give {instead}");
    }
    let mut stdout = std::io::stdout();
    // Nothing depends on the question being seen: without an answer nothing is done.
    let _ = write!(stdout, "{question} [y/N] ").and_then(|()| stdout.flush());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}
