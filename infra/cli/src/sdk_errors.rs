//! What calls of the SDK say when they fail.

use std::error::Error;

pub(crate) use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use sapwood_dynamodb::lacks_credentials;
#[cfg(feature = "aws")]
pub(crate) use sapwood_local::sdk_error::causes;

/// Says in a few words why a call has failed.
pub(crate) fn said<E: ProvideErrorMetadata + Error + 'static>(error: &SdkError<E>) -> String {
    lacks_credentials(error).unwrap_or_else(|| sapwood_local::sdk_error::said(error))
}

/// True if the service has refused a call with one of these codes.
pub(crate) fn is<E: ProvideErrorMetadata>(error: &SdkError<E>, codes: &[&str]) -> bool {
    error.as_service_error().and_then(ProvideErrorMetadata::code).is_some_and(|code| codes.contains(&code))
}
