//! What the core's errors are to a client.

use sapwood_engine::query::ReadError;
use sapwood_http::problem::{Kind, Problem};

/// The problem that a read ended with.
pub(crate) fn refused(error: ReadError) -> Problem {
    let detail = error.to_string();
    match error {
        ReadError::Table(error) => error.into(),
        // What stands in the path is a thing by its name; a parameter is a question.
        ReadError::Key { parameter: at @ ("path" | "topic"), source } => Problem::from(source).at(at),
        ReadError::Key { parameter, .. } | ReadError::Parameter { parameter, .. } => {
            Problem::new(Kind::BadParameter, detail).at(parameter)
        }
        ReadError::Position => Problem::new(Kind::BadCursor, detail).at("cursor"),
        ReadError::Absent { .. } | ReadError::Unreadable(_) | ReadError::SwitchedOff { .. } => {
            Problem::new(Kind::NotFound, detail)
        }
        _ => {
            tracing::error!(detail, "a read ended in a way that isn't known here");
            Problem::internal()
        }
    }
}
