//! Errors of `sapwood doctor`.

use sapwood_core::model::VariableError;
use sapwood_local::template::TemplateError;

use crate::connect::ConnectError;
use crate::exit::Failure;

/// Why nothing can be looked at. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The table can't be described.
    #[error("the table can't be described{0}: {1}. The policy docs/policies/doctor.json has what is needed")]
    Table(String, String),
    /// The template can't be read with the table's settings.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The settings that the handler has left can't be read.
    #[error(transparent)]
    Settings(#[from] VariableError),
}

impl Failure for DoctorError {}
