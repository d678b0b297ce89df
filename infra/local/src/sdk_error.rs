//! What failed calls of the SDK say, in words for people.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// Returns the code and the message of a refusal, or the causes of a failure. An unreadable answer isn't quoted.
pub fn said<E: ProvideErrorMetadata + Error + 'static>(error: &SdkError<E>) -> String {
    if let Some((code, message)) =
        error.as_service_error().and_then(|error| Some((error.code()?, error.message().unwrap_or_default())))
    {
        return format!("{code}: {message}");
    }
    let status = error.raw_response().map(|response| response.status().as_u16());
    match (error, status) {
        (SdkError::ServiceError(_), Some(status)) => {
            format!("the answer is HTTP {status}, without a code of the service's")
        }
        (_, Some(status)) => format!("the answer is HTTP {status}: {}", causes(error)),
        (_, None) => causes(error),
    }
}

/// Returns an error and what it came from.
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
