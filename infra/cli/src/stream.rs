//! Requests to a table's stream.

use anyhow::{Error, anyhow};
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::config::Builder;
use aws_sdk_dynamodbstreams::config::retry::RetryConfig;
use aws_sdk_dynamodbstreams::types::Shard;
use aws_types::SdkConfig;
use sapwood_dynamodb::lacks_credentials;
use sapwood_local::stream;
pub(crate) use sapwood_local::stream::From;
use sapwood_store::RetryPolicy;

use crate::connect::Patient;
use crate::sdk_errors::{ProvideErrorMetadata, SdkError, said};

/// Makes a client of streams, without a request.
pub(crate) fn client(config: &SdkConfig) -> Client {
    // `patiently` tries again.
    Client::from_conf(Builder::from(config).retry_config(RetryConfig::disabled()).build())
}

/// Returns all shards of a stream, closed ones too.
pub(crate) async fn shards(client: &Client, arn: &str) -> anyhow::Result<Vec<Shard>> {
    let (mut shards, mut after) = (Vec::new(), None);
    loop {
        let request = client.describe_stream().stream_arn(arn).set_exclusive_start_shard_id(after);
        let page = patiently(|| request.clone().send()).await?.stream_description;
        let Some(page) = page else { return Ok(shards) };
        shards.extend(page.shards.unwrap_or_default());
        after = page.last_evaluated_shard_id;
        if after.is_none() {
            return Ok(shards);
        }
    }
}

/// Returns an iterator of a shard. There is none if the shard has no more records.
pub(crate) async fn iterator(client: &Client, arn: &str, shard: &str, from: &From) -> Result<Option<String>, Failed> {
    let request = stream::iterator(client, arn, shard, from);
    Ok(patiently(|| request.clone().send()).await?.shard_iterator)
}

/// Sends a request, and again while it is throttled or unanswered: a shard takes two readers.
pub(crate) async fn patiently<T, E, F>(send: impl Fn() -> F) -> Result<T, Failed>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    F: Future<Output = Result<T, SdkError<E>>>,
{
    let mut attempt = 0;
    loop {
        match send().await.map_err(|error| Failed::of(&error)) {
            Err(Failed::ForNow(_)) if Patient.wait(attempt).await => attempt += 1,
            answered => return answered,
        }
    }
}

pub(crate) enum Failed {
    /// The iterator is too old.
    Expired,
    /// The stream no longer has the record.
    Trimmed,
    Gone,
    /// The same request may be answered later.
    ForNow(Error),
    /// No retry helps.
    Refused(Error),
}

impl Failed {
    fn of<E: ProvideErrorMetadata + std::error::Error + 'static>(error: &SdkError<E>) -> Self {
        let is_theirs = error.raw_response().is_some_and(|response| response.status().is_server_error());
        match error.as_service_error().and_then(ProvideErrorMetadata::code) {
            Some("ExpiredIteratorException") => Self::Expired,
            Some("TrimmedDataAccessException") => Self::Trimmed,
            Some("ResourceNotFoundException") => Self::Gone,
            Some(
                code @ ("LimitExceededException"
                | "ProvisionedThroughputExceededException"
                | "RequestLimitExceeded"
                | "ThrottlingException"),
            ) => Self::ForNow(anyhow!(
                "it is read too often ({code}). A shard takes two readers, and the handler is one: stop others, and run the same command again"
            )),
            Some("AccessDeniedException") => Self::Refused(anyhow!(
                "access is denied. docs/policies/redrive.json and watch.json have what is needed: dynamodb:DescribeStream, dynamodb:GetShardIterator and dynamodb:GetRecords on the stream"
            )),
            Some(
                code @ ("ExpiredTokenException"
                | "IncompleteSignatureException"
                | "InvalidSignatureException"
                | "MissingAuthenticationTokenException"
                | "UnrecognizedClientException"),
            ) => Self::Refused(anyhow!(
                "DynamoDB refuses the credentials ({code}). Log in again, or name another profile"
            )),
            _ if is_theirs => Self::ForNow(anyhow!("DynamoDB says {}", said(error))),
            Some(_) => Self::Refused(anyhow!("DynamoDB says {}", said(error))),
            None => match (lacks_credentials(error), error.raw_response()) {
                (Some(words), _) => Self::Refused(Error::msg(words)),
                (None, Some(_)) => Self::Refused(anyhow!("DynamoDB says {}", said(error))),
                (None, None) => {
                    Self::ForNow(anyhow!("no whole answer came ({}). Run the same command again", said(error)))
                }
            },
        }
    }
}

impl std::convert::From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        let lost = |how: &str| anyhow!("{how} again and again. Run the same command again");
        match failed {
            Failed::Expired => lost("an iterator expires"),
            Failed::Trimmed => lost("the oldest record goes before it is read"),
            Failed::Gone => anyhow!(
                "there is no such stream in the region that was asked. TableStreamArn, an output of the stack, is its name, and --region names the region; a stream that was switched off can be read for 24 hours"
            ),
            Failed::ForNow(refusal) | Failed::Refused(refusal) => refusal,
        }
    }
}
