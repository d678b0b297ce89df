//! The standard output, whose reader may go away.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

use crate::FAILED;

/// Prints a line. `println!` would panic where nobody reads any more, as in `sapwood tree D | head -1`.
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
        std::process::exit(i32::from(FAILED));
    }
}
