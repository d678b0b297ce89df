//! How the process ends.

use std::process::ExitCode;

use crate::printable::shown;

/// How a command ends. The numbers are its exit codes (`docs/tools.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is done, and all is right.
    Done = 0,
    /// The command is refused, or finds something wrong.
    Wrong = 1,
    /// An argument is wrong. The number is clap's.
    Usage = 2,
    /// Something isn't done or still changes, and the command doesn't wait for it any longer.
    Unfinished = 3,
    /// The command failed, or couldn't compare everything: nothing is said about the table.
    Failed = 4,
}

/// Why a command ended early. Its message says what to do.
pub(crate) trait Failure: std::error::Error {
    /// The end of the process.
    fn exit(&self) -> Exit {
        Exit::Failed
    }
}

impl Exit {
    /// `Done` if this is true, and otherwise `self`.
    pub(crate) fn unless(self, is_done: bool) -> Self {
        if is_done { Self::Done } else { self }
    }

    /// The end of a command. The reason of an early one is printed.
    pub(crate) fn of(ended: Result<impl Into<Self>, impl Failure>) -> Self {
        ended.map_or_else(
            |error| {
                // An error can name what a table holds.
                eprintln!("sapwood: {}", shown(&error.to_string()));
                error.exit()
            },
            Into::into,
        )
    }
}

impl From<()> for Exit {
    fn from((): ()) -> Self {
        Self::Done
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
