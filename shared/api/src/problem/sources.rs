//! The problems that errors of the table, of keys and of JSON become.

use sapwood_core::keys::KeyError;
use sapwood_json::{Fault, JsonError};
use sapwood_store::{ErrorKind, TableError};

use super::{Kind, Problem};

/// The longest path to a field that a problem repeats, in characters.
const FIELD_CHARS_MAX: usize = 200;

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        let kind = match error.fault() {
            Fault::Malformed => Kind::BadJson,
            Fault::Value => Kind::BadValue,
            Fault::Reserved => Kind::ReservedName,
            Fault::Key => Kind::BadKey,
        };
        let problem = Self::new(kind, error.to_string());
        match error.path() {
            "" => problem,
            path => problem.at(path.chars().take(FIELD_CHARS_MAX).collect::<String>()),
        }
    }
}

impl From<TableError> for Problem {
    /// The table's own text is logged, and isn't part of the answer.
    fn from(error: TableError) -> Self {
        match error.kind {
            ErrorKind::Retry => {
                tracing::warn!(%error, "the table didn't answer in time");
                Self::new(Kind::Unavailable, "the table is busy; try again in a moment")
            }
            ErrorKind::Refuse if error.is_too_large() => {
                tracing::warn!(%error, "the table rejects a request");
                let detail = "the writes of this request have more than 16 MB as JSON together; make the item smaller, or change fewer items at once";
                Self::new(Kind::ItemTooLarge, detail)
            }
            ErrorKind::Refuse => {
                tracing::warn!(%error, "the table rejects an item");
                Self::new(
                    Kind::BadValue,
                    "the table refuses this item; keep it under 400 KB with all names, and nested less than 32 deep",
                )
            }
            ErrorKind::GiveUp => {
                tracing::error!(%error, "the table can't be used");
                Self::internal()
            }
        }
    }
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        match error {
            // No request can cause these errors: the deployment's settings are wrong.
            KeyError::Tenancy { .. } | KeyError::Name { .. } => {
                tracing::error!(%error, "the deployment's settings make no keys");
                Self::internal()
            }
            error => Self::new(Kind::BadKey, error.to_string()),
        }
    }
}

impl Problem {
    /// The problem of an internal error. The log says what it is.
    pub fn internal() -> Self {
        Self::new(Kind::Internal, "an internal error, which the log describes; try again, and report it if it persists")
    }
}
