//! Errors of `sapwood verify` and `sapwood repair`.

use std::io;
use std::path::PathBuf;

use sapwood_core::keys::{Id, KeyError};
use sapwood_store::TableError;

use crate::ask::NobodyToAsk;
use crate::connect::ConnectError;
use crate::exit::{Exit, Failure};
use crate::recognised::Unrecognised;

/// Why a table can't be compared or repaired. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuditError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Nothing in the table is recognised.
    #[error(transparent)]
    Unrecognised(#[from] Unrecognised),
    /// A request failed for good.
    #[error("the table can't be read or written: {0}")]
    Table(#[from] TableError),
    /// A report can't be written or read.
    #[error("the report {path} can't be {action}: {source}")]
    Report {
        /// The report's file.
        path: PathBuf,
        /// `written` or `read`.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// A line of a report isn't one of ours.
    #[error("line {line} of the report {path} isn't a difference; give the file that `sapwood verify --report` wrote")]
    Line {
        /// The report's file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A working file can't be written or read.
    #[error("the working file {path} can't be {action}: {source}")]
    Work {
        /// The file.
        path: PathBuf,
        /// `written` or `read`.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// It isn't a working file.
    #[error("{path} isn't the working file of a pass: name another with --work, or delete it")]
    NoWork {
        /// The file.
        path: PathBuf,
    },
    /// It is another pass's.
    #[error(
        "{path} is the working file of another pass: the table, its settings or --segments differ. Name another file, or delete it to begin anew"
    )]
    OtherWork {
        /// The file.
        path: PathBuf,
    },
    /// No handler writes the rows.
    #[error(
        "no stream handler has left its settings in this table, so nobody would write the rows: deploy the handler of this release, and write any record"
    )]
    NoHandler,
    /// With other settings than the handler's everything looks wrong.
    #[error(
        "the settings differ from those that the stream handler has left in the table, in {}: leave out --parameter, and the handler's count",
        names.join(", ")
    )]
    OtherSettings {
        /// The variables that differ.
        names: Vec<&'static str>,
    },
    /// There is more to mend than any accident makes.
    #[error(
        "{found} differences are more than --max-differences {limit}: with wrong settings everything looks wrong. Compare --parameter with those of the stack; give a higher limit if they are right. Where most are counts or totals, begin all totals anew instead: \
         sapwood backfill --totals"
    )]
    TooMany {
        /// What was found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// There is no terminal to ask on.
    #[error(transparent)]
    NobodyToAsk(#[from] NobodyToAsk),
    /// The process can't wait for signals.
    #[error("can't wait for Ctrl-C: {0}")]
    Signal(io::Error),
    /// The id or the tenant is none.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// Nothing is there to compare.
    #[error("there is no node `{0}`, and nothing is left of one")]
    Absent(Id),
}

impl Failure for AuditError {
    fn exit(&self) -> Exit {
        match self {
            Self::Absent(_) => Exit::Wrong,
            Self::Key(_) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}
