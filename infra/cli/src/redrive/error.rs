//! Errors of `sapwood redrive`.

use sapwood_import::work::WorkError;
use sapwood_table::TableError;

use crate::connect::ConnectError;

/// Why records can't be redriven. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RedriveError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The keys can't be kept.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A request to the table failed for good.
    #[error(
        "the table can't be read or written: {0}. Run the same command again: what is done already is only done once more"
    )]
    Table(#[from] TableError),
    /// A name of a bucket can't be read.
    #[error("{0} isn't a place in S3; write it as s3://BUCKET or s3://BUCKET/PREFIX")]
    Place(String),
    /// S3 refuses.
    #[error("{what} can't be read: {reason}. Nothing is written")]
    Bucket {
        /// The bucket or the object.
        what: String,
        /// The reason.
        reason: String,
    },
}
