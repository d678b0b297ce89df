//! What an error of the SDK means for whoever asked.

use std::error::Error;
use std::iter;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::BatchStatementError;
use sapwood_core::request::{ErrorKind, TableError};

use crate::connection::lacks_credentials;

/// The kind of a request. A refused write is the fault of its item, and a refused read is not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

pub(crate) fn give_up(message: &str) -> TableError {
    TableError::new(ErrorKind::GiveUp, message)
}

/// The status of a request that has more bytes than DynamoDB takes. No code comes with it.
const PAYLOAD_TOO_LARGE: u16 = 413;

/// `place` says where the table should be.
pub(crate) fn table_error<E>(kind: Kind, error: &SdkError<E>, place: &str) -> TableError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let failed = match error {
        SdkError::ServiceError(failed) => failed,
        // The reader asks for fewer items.
        SdkError::ResponseError(_) => return TableError::unanswered("an answer that is too large, or can't be read"),
        SdkError::ConstructionFailure(_) => return give_up("a request can't be built: is the region set?"),
        other => {
            // A retry finds no credentials.
            return match lacks_credentials(other) {
                Some(words) => give_up(&words),
                // The request wasn't sent, so a write wasn't carried out.
                None if is_about_connecting(other) => {
                    TableError::new(ErrorKind::Retry, format!("no connection to DynamoDB{place}"))
                }
                None => TableError::unanswered(format!("no connection to DynamoDB{place}")),
            };
        }
    };
    let status = failed.raw().status();
    if kind == Kind::Write && status.as_u16() == PAYLOAD_TOO_LARGE {
        return TableError::too_large("the request has more than 16 MB");
    }
    // The request was carried out, and the body isn't what it should be.
    if status.is_success() {
        return TableError::unanswered("an answer that can't be read");
    }
    let code = failed.err().code().unwrap_or("an error without a code");
    match code {
        "TransactionConflictException" => TableError::conflict(code),
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "ReplicatedWriteConflictException"
        | "RequestTimeout" => TableError::new(ErrorKind::Retry, code),
        // A proxy has sent the request twice, and the first one is under way.
        "TransactionInProgressException" => TableError::unanswered(code),
        // "The request might have succeeded", says AWS of an internal error.
        _ if status.is_server_error() => TableError::unanswered(code),
        // The message is left out, because it can quote the item.
        "ValidationException" | "ItemCollectionSizeLimitExceededException" if kind == Kind::Write => {
            TableError::new(ErrorKind::Refuse, code)
        }
        _ => {
            let place = if code == "ResourceNotFoundException" { place } else { "" };
            give_up(&format!("{code}: {}{place}", failed.err().message().unwrap_or_default()))
        }
    }
}

fn is_about_connecting(error: &(dyn Error + 'static)) -> bool {
    let mut causes = iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| cause.downcast_ref().is_some_and(hyper_util::client::legacy::Error::is_connect))
}

/// Returns the positions of a cancelled transaction's actions whose conditions failed; `None` for another error.
pub(crate) fn failed_conditions(error: &SdkError<TransactWriteItemsError>) -> Option<Vec<usize>> {
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error.as_service_error()? else {
        return None;
    };
    let codes = cancelled.cancellation_reasons().iter().map(|reason| reason.code());
    let failed = codes.enumerate().filter(|(_, code)| *code == Some("ConditionalCheckFailed"));
    Some(failed.map(|(position, _)| position).collect())
}

/// The cancellation reason of an item that another transaction holds.
const CONFLICT: &str = "TransactionConflict";

/// Returns the error of a transaction that was cancelled for another reason than a condition.
pub(crate) fn cancelled(error: &SdkError<TransactWriteItemsError>) -> Option<TableError> {
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error.as_service_error()? else {
        return None;
    };
    let codes: Vec<&str> = cancelled.cancellation_reasons().iter().filter_map(|reason| reason.code()).collect();
    let refused = ["ValidationError", "ItemCollectionSizeLimitExceeded"].into_iter().find(|code| codes.contains(code));
    Some(match refused {
        Some(code) => TableError::new(ErrorKind::Refuse, code),
        None if codes.contains(&CONFLICT) => TableError::conflict(CONFLICT),
        // The table throttles: `ThrottlingError` or `ProvisionedThroughputExceeded`.
        None => {
            TableError::new(ErrorKind::Retry, codes.into_iter().find(|code| *code != "None").unwrap_or("cancelled"))
        }
    })
}

/// Maps the error of a statement in a batch: false if the item doesn't exist.
pub(crate) fn statement_error(error: &BatchStatementError) -> Result<bool, TableError> {
    let code = error.code().map_or("an error without a code", |code| code.as_str());
    Err(match code {
        "ConditionalCheckFailed" => return Ok(false),
        CONFLICT => TableError::conflict(code),
        "ProvisionedThroughputExceeded" | "RequestLimitExceeded" | "ThrottlingError" => {
            TableError::new(ErrorKind::Retry, code)
        }
        "InternalServerError" => TableError::unanswered(code),
        // The message is left out, because it can quote the item.
        "ValidationError" | "ItemCollectionSizeLimitExceeded" => TableError::new(ErrorKind::Refuse, code),
        _ => give_up(&format!("{code}: {}", error.message().unwrap_or_default())),
    })
}
