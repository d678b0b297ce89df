//! What is said and asked on a terminal. The reader of the standard output may go away.

use std::fmt::Arguments;
use std::io::{BufRead, ErrorKind, IsTerminal, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use crate::exit::Exit;

/// Prints a line. `println!` would panic where the reader has gone, as in `sapwood tree D | head -1`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::line(format_args!($($words)*))
    };
}
pub(crate) use say;

/// Prints a line, and ends the process if it can't: without its output a command is of no use.
pub(crate) fn line(line: Arguments<'_>) {
    if let Err(error) = writeln!(std::io::stdout(), "{line}") {
        if error.kind() != ErrorKind::BrokenPipe {
            eprintln!("sapwood: the standard output can't be written: {error}");
        }
        std::process::exit(Exit::Failed as i32);
    }
}

/// A count with its noun, for example `1 record` or `3 records`.
pub(crate) fn count(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The option of a command that asks, where there is no terminal.
pub(crate) const YES: &str = "--yes to go on without asking";

/// Asks, and returns true if the answer is yes. `instead` are the options to give where there is no terminal.
pub(crate) fn agrees(question: &str, instead: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        anyhow::bail!("there is no terminal to ask on: give {instead}");
    }
    let mut stdout = std::io::stdout();
    // If the question isn't seen, no answer comes, and nothing is done.
    let _ = write!(stdout, "{question} [y/N] ").and_then(|()| stdout.flush());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A table without lines, whose columns from this one on have numbers.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: Vec<[String; N]>, numbers_from: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header).add_rows(rows);
    for column in table.column_iter_mut().skip(numbers_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A bar on the standard error, or a spinner without a length; hidden beside JSON. `{rate}` is how much goes by a
/// second.
pub(crate) fn bar(length: Option<u64>, json: bool, template: &str) -> ProgressBar {
    if json || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("rate", |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            // A bar that can't be written is no reason to stop.
            let _ = write!(to, "{}", rate(state.per_sec()));
        }));
    }
    bar
}

fn rate(per_second: f64) -> String {
    format!("{}/s", HumanCount(per_second.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::{count, rate};

    #[test]
    fn one_is_one_and_rates_are_whole() {
        assert_eq!([0, 1, 2].map(|n| count(n, "record")), ["0 records", "1 record", "2 records"]);
        assert_eq!([24_743.946_1, 0.4, f64::INFINITY.min(1e9)].map(rate), ["24,744/s", "0/s", "1,000,000,000/s"]);
    }
}
