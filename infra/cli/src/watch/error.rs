//! Errors of `sapwood watch`.

use sapwood_core::keys::KeyError;

use crate::connect::ConnectError;
use crate::exit::{Exit, Failure};
use crate::stream::StreamRefusal;

/// Why a subtree can't be watched. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The id or the tenant is none.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The table can't be described.
    #[error("the table can't be described: {0}")]
    Table(String),
    /// The table has no stream, or one that shows too little.
    #[error("the table has no stream with new and old images; `sapwood doctor` says what a deployment needs")]
    NoStream,
    /// Too many read the stream already.
    #[error(
        "{functions} functions read the stream already, and {most} readers are the most that it has room for. One more can throttle the \
         handler, and rows would follow later; --third-reader reads all the same"
    )]
    Crowded {
        /// How many there are.
        functions: usize,
        /// How many there may be, with this one.
        most: usize,
    },
    /// Nobody says how many read the stream.
    #[error(
        "who reads the stream can't be told: {0}. docs/policies/watch.json has what is needed (lambda:ListEventSourceMappings); \
         --third-reader reads all the same"
    )]
    Readers(String),
    /// The position is one of another stream.
    #[error(
        "--after is a position in {0}, and the table's stream is another one now. Its rows may have changed in between: begin without \
         --after, and read them (docs/watching.md)"
    )]
    OtherStream(String),
    /// The stream has no longer what comes after the position.
    #[error(
        "the stream keeps its records for 24 hours, and has no longer all that comes after the last position. Begin without --after, and read \
         the rows again (docs/watching.md)"
    )]
    TooOld,
    /// The stream can't be read.
    #[error("the stream can't be read: {0}")]
    Stream(#[from] StreamRefusal),
    /// What was read can't be printed.
    #[error("it can't be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Failure for WatchError {
    fn exit(&self) -> Exit {
        match self {
            Self::Key(_) => Exit::Usage,
            Self::Crowded { .. } | Self::OtherStream(_) | Self::TooOld => Exit::Wrong,
            _ => Exit::Failed,
        }
    }
}
