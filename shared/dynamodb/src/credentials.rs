//! Requests that can't be signed.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;

/// Returns why there are no credentials, if a request failed for that, and what to do.
#[must_use]
pub fn lacks_credentials(error: &(dyn Error + 'static)) -> Option<String> {
    let mut causes = std::iter::successors(Some(error), |&error| error.source())
        .skip_while(|cause| !cause.is::<CredentialsError>())
        .peekable();
    let reason = match causes.peek()?.downcast_ref() {
        // The SDK lists where it has looked, a line each.
        Some(CredentialsError::CredentialsNotLoaded(_)) => {
            "none are in the environment, a profile or the machine's role".to_owned()
        }
        _ => causes.map(ToString::to_string).collect::<Vec<_>>().join(": "),
    };
    Some(format!("no credentials ({reason}): name a profile that has some, or log in"))
}
