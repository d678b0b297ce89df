//! What is wrong with a file, and where.

use std::fmt;

/// The place of a record in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The index of the file in [`Source::files`](crate::sources::Source::files).
    pub file: usize,
    /// The line at which the record begins, from 1.
    pub line: u64,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The line can't be read, or isn't of its format.
    Unreadable,
    /// Sapwood or DynamoDB can't keep the record: its id, a name, a value or its size.
    Refused,
    /// The record is there twice.
    Duplicate,
    /// The node's parent is neither in the file nor in the table.
    MissingParent,
    /// The node is below itself.
    Cycle,
    /// The node has more ancestors than a tree may have levels.
    TooDeep,
}

impl FaultKind {
    /// All kinds, in the order in which they are reported.
    pub const ALL: [Self; 6] =
        [Self::Unreadable, Self::Refused, Self::Duplicate, Self::MissingParent, Self::Cycle, Self::TooDeep];
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "unreadable",
            Self::Refused => "refused",
            Self::Duplicate => "duplicate",
            Self::MissingParent => "missing parent",
            Self::Cycle => "cycle",
            Self::TooDeep => "too deep",
        })
    }
}

/// A fault of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The fault, and what to do about it.
    pub message: String,
}

impl Fault {
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Unreadable, message: message.into() }
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Refused, message: message.into() }
    }
}

/// The most characters of an id that a message repeats.
const QUOTED_CHARACTERS_MAX: usize = 80;

/// Returns a text as a message repeats it: between backticks, and cut if it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARACTERS_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
