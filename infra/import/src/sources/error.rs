//! Errors of opening a source.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a source can't be opened.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "`path` is the same in each; the messages say the rest")]
pub enum OpenError {
    /// There is no such file.
    #[error("{path} doesn't exist; check the name")]
    NotFound { path: PathBuf },
    /// The process may not read the file.
    #[error("{path} may not be read by this user; change its permissions, or run as its owner")]
    Permission { path: PathBuf },
    /// A directory stands where a file is expected.
    #[error("{path} is a directory, and only an export of DynamoDB can be one; name the file")]
    Directory { path: PathBuf },
    /// The file has no content.
    #[error("{path} is empty; check that it was written completely")]
    Empty { path: PathBuf },
    /// The file is UTF-16.
    #[error("{path} is UTF-16; convert it to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`")]
    Utf16 { path: PathBuf },
    /// The format can't be told.
    #[error("the format of {path} can't be told from its name and its beginning; name the format")]
    Format { path: PathBuf },
    /// An export in the format ION.
    #[error("{path} is an export in the format ION, which can't be read; export the table as DYNAMODB_JSON")]
    Ion { path: PathBuf },
    /// A directory without data files.
    #[error("{path} has no files that end in .json or .json.gz; name the export's directory, or its `data`")]
    NoFiles { path: PathBuf },
    /// A column isn't in the first row.
    #[error("{path} has no column `{column}`; its first row has {columns}. Name the column that is meant")]
    Column { path: PathBuf, column: String, columns: String },
    /// A column is in the first row twice, or has two meanings.
    #[error("{path}: the column `{column}` is named twice; leave one of the two out")]
    ColumnTwice { path: PathBuf, column: String },
    /// The first row can't be read.
    #[error("the first row of {path} can't be read: {reason}")]
    Header { path: PathBuf, reason: String },
    /// Lines end with carriage returns alone.
    #[error(
        "{path} ends its lines with carriage returns alone, so all of it is one line; convert it, for example with `tr '\\r' '\\n'`"
    )]
    LineEnds { path: PathBuf },
    /// The system refuses to read.
    #[error("{path} can't be read: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl OpenError {
    pub(crate) fn io(path: &std::path::Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::IsADirectory => Self::Directory { path },
            _ => Self::Io { path, source },
        }
    }
}
