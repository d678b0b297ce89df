//! What calls of the SDK say when they fail.

use std::error::Error;

pub(crate) use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use sapwood_table::lacks_credentials;

/// What a failed call says, in a few words. An answer that can't be read isn't quoted: it may hold anything.
pub(crate) fn said<E: ProvideErrorMetadata + Error + 'static>(error: &SdkError<E>) -> String {
    if let Some((code, message)) =
        error.as_service_error().and_then(|error| Some((error.code()?, error.message().unwrap_or_default())))
    {
        return format!("{code}: {message}");
    }
    if let Some(words) = lacks_credentials(error) {
        return words;
    }
    let words = causes(error);
    match error.raw_response() {
        Some(response) => format!("the answer is HTTP {}: {words}", response.status().as_u16()),
        None => words,
    }
}

/// An error and what it came from.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// True if the service has refused a call with one of these codes.
pub(crate) fn is<E: ProvideErrorMetadata>(error: &SdkError<E>, codes: &[&str]) -> bool {
    error.as_service_error().and_then(ProvideErrorMetadata::code).is_some_and(|code| codes.contains(&code))
}
