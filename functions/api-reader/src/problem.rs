//! The problems that errors of reads become.

use sapwood_engine::query::ReadError;
use sapwood_http::problem::{Kind, Problem};

/// Returns the problem of a read that failed.
pub(crate) fn refused(error: ReadError) -> Problem {
    let detail = error.to_string();
    match error {
        ReadError::Table(error) => error.into(),
        // The path names a thing, so a bad segment is a bad key. A parameter is only a question.
        ReadError::Key { parameter: at @ ("path" | "topic"), source } => Problem::from(source).at(at),
        ReadError::Key { parameter, .. } | ReadError::Parameter { parameter, .. } => {
            Problem::new(Kind::BadParameter, detail).at(parameter)
        }
        ReadError::Reserved { parameter, .. } => Problem::new(Kind::ReservedName, detail).at(parameter),
        ReadError::TooLarge { .. } => Problem::new(Kind::ItemTooLarge, detail),
        ReadError::NewerAudit { .. } => {
            tracing::error!(detail, "the audit can't be told");
            Problem::new(Kind::Unavailable, detail)
        }
        ReadError::Position => Problem::new(Kind::BadCursor, detail).at("cursor"),
        ReadError::Absent { .. }
        | ReadError::Unreadable(_)
        | ReadError::SwitchedOff { .. }
        | ReadError::NotBackfilled { .. } => Problem::new(Kind::NotFound, detail),
        _ => {
            tracing::error!(detail, "unmapped read error");
            Problem::internal()
        }
    }
}
