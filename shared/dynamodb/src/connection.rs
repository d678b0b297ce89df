//! Which DynamoDB is asked, and with which credentials requests are signed.

use std::error::Error;
use std::fmt;

use aws_credential_types::provider::error::CredentialsError;
use sapwood_core::model::VariableError;

/// The region, the endpoint and the credentials of requests to DynamoDB.
#[derive(Clone)]
pub struct Connection {
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// The endpoint's URL; `None` for the region's own.
    pub endpoint_url: Option<String>,
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret of the access key.
    pub secret_access_key: String,
    /// The token that temporary credentials come with.
    pub session_token: Option<String>,
}

const SET_BY_LAMBDA: &str = "what Lambda sets in a function's environment";

impl Connection {
    /// Reads the variables that Lambda sets in a function's environment from `lookup`. An empty one counts as not set.
    ///
    /// | variable | value |
    /// |---|---|
    /// | `AWS_REGION`, or `AWS_DEFAULT_REGION` | the table's region |
    /// | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` | the credentials |
    /// | `AWS_SESSION_TOKEN` | the token of temporary credentials, which Lambda's are; none for a user's own |
    /// | `AWS_ENDPOINT_URL_DYNAMODB`, or `AWS_ENDPOINT_URL` | another endpoint than the region's own, such as `http://127.0.0.1:8000` |
    ///
    /// The credentials are read once, because a process ends before they expire. Profiles, web identities and instance
    /// metadata are for the command line.
    ///
    /// # Errors
    /// [`VariableError::Missing`] for the region or the credentials.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, VariableError> {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let needed = |name: &'static str| given(name).ok_or(VariableError::Missing { name, expected: SET_BY_LAMBDA });
        Ok(Self {
            region: needed("AWS_REGION").or_else(|missing| given("AWS_DEFAULT_REGION").ok_or(missing))?,
            endpoint_url: given("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| given("AWS_ENDPOINT_URL")),
            access_key_id: needed("AWS_ACCESS_KEY_ID")?,
            secret_access_key: needed("AWS_SECRET_ACCESS_KEY")?,
            session_token: given("AWS_SESSION_TOKEN"),
        })
    }

    /// An endpoint that checks no credentials: a DynamoDB on one machine.
    #[must_use]
    pub fn local(url: &str) -> Self {
        let anything = || "local".to_owned();
        Self {
            region: anything(),
            endpoint_url: Some(url.to_owned()),
            access_key_id: anything(),
            secret_access_key: anything(),
            session_token: None,
        }
    }
}

impl fmt::Debug for Connection {
    /// Shows no credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, endpoint_url, .. } = self;
        f.debug_struct("Connection").field("region", region).field("endpoint_url", endpoint_url).finish_non_exhaustive()
    }
}

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
