//! How the process ends, and what is said of an error. A message says what to do.

use std::process::ExitCode;

use anyhow::{Error, Result, anyhow};
use sapwood_core::keys::KeyError;
use sapwood_engine::query::ReadError;
use sapwood_engine::write::{Refusal, WriteError};
use sapwood_store::TableError;

use crate::printable::shown;

/// How a command ends. The numbers are its exit codes (`docs/operate/verify-repair.md`).
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

/// An error whose end can't be told from its type.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
struct Ended {
    exit: Exit,
    reason: String,
}

impl Exit {
    /// Returns `Done` if this is true, and otherwise `self`.
    pub(crate) fn unless(self, is_done: bool) -> Self {
        if is_done { Self::Done } else { self }
    }

    /// Returns an error that ends the process like this.
    pub(crate) fn because(self, reason: impl ToString) -> Error {
        Error::new(Ended { exit: self, reason: reason.to_string() })
    }

    /// Returns the end of a command, and prints the reason of an early one.
    pub(crate) fn of(ended: Result<impl Into<Self>>) -> Self {
        ended.map_err(of_table(NOT_READ_OR_WRITTEN, "")).map_or_else(
            |error| {
                // An error can name what a table holds.
                eprintln!("sapwood: {}", shown(&error.to_string()));
                Self::of_error(&error)
            },
            Into::into,
        )
    }

    /// An id or an option that no table can have is a wrong argument. Of nodes the API's errors tell what is so.
    fn of_error(error: &Error) -> Self {
        if let Some(Ended { exit, .. }) = error.downcast_ref() {
            return *exit;
        }
        match error.downcast_ref() {
            // Others kept writing, or no answer came: nothing is known of the node.
            Some(WriteError::Refused(Refusal::Contended | Refusal::OutcomeUnknown)) => return Self::Failed,
            Some(WriteError::Refused(_)) => return Self::Wrong,
            _ => {}
        }
        match error.downcast_ref() {
            Some(ReadError::Absent { .. } | ReadError::Unreadable(_)) => Self::Wrong,
            Some(
                ReadError::Key { .. }
                | ReadError::Parameter { .. }
                | ReadError::Reserved { .. }
                | ReadError::Position
                | ReadError::SwitchedOff { .. }
                | ReadError::NotBackfilled { .. },
            ) => Self::Usage,
            _ if error.is::<KeyError>() => Self::Usage,
            _ => Self::Failed,
        }
    }
}

/// Says what a table's error means to a command, with the words before and after it. Other errors stay as they are.
pub(crate) fn of_table(before: &'static str, after: &'static str) -> impl Fn(Error) -> Error {
    move |error| match error.downcast::<TableError>() {
        Ok(error) => anyhow!("{before}: {error}{after}"),
        Err(error) => error,
    }
}

/// The words after one of a command that remembers what it has done.
pub(crate) const GOES_ON: &str = ". The same command goes on from here";
/// The words before a table's error, unless a command has others.
pub(crate) const NOT_READ_OR_WRITTEN: &str = "the table can't be read or written";

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
