//! Errors of opening a source.

use std::io;
use std::path::Path;

use thiserror::Error;

/// Why a source can't be opened, and what to do.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct OpenError(pub(crate) String);

impl OpenError {
    /// Returns the error of a file or a directory, of which the words go on.
    pub(crate) fn of(path: &Path, words: &str) -> Self {
        Self(format!("{} {words}", path.display()))
    }

    pub(crate) fn directory(path: &Path) -> Self {
        Self::of(path, "is a directory, and only an export of DynamoDB can be one; name the file")
    }

    pub(crate) fn ion(path: &Path) -> Self {
        Self::of(path, "is an export in the format ION, which can't be read; export the table as DYNAMODB_JSON")
    }

    pub(crate) fn column_twice(path: &Path, column: &str) -> Self {
        Self(format!("{}: the column `{column}` is named twice; leave one of the two out", path.display()))
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::of(path, "doesn't exist; check the name"),
            io::ErrorKind::PermissionDenied => {
                Self::of(path, "may not be read by this user; change its permissions, or run as its owner")
            }
            io::ErrorKind::IsADirectory => Self::directory(path),
            _ => Self::of(path, &format!("can't be read: {source}")),
        }
    }
}
