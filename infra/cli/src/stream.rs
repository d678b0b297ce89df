//! Requests to a table's stream.

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::config::Builder;
use aws_sdk_dynamodbstreams::config::retry::RetryConfig;
use aws_sdk_dynamodbstreams::types::{Shard, ShardIteratorType};
use aws_types::SdkConfig;
use sapwood_dynamodb::lacks_credentials;
use sapwood_import::failed_records::NoKey;
use sapwood_store::RetryPolicy;

use crate::connect::Patient;
use crate::sdk::{ProvideErrorMetadata, SdkError, said};

/// Makes a client of streams, without a request.
pub(crate) fn client(config: &SdkConfig) -> Client {
    // `patiently` tries again.
    Client::from_conf(Builder::from(config).retry_config(RetryConfig::disabled()).build())
}

/// Where to read a shard from.
#[derive(Clone, Debug)]
pub(crate) enum From {
    Now,
    Oldest,
    After(String),
}

/// Returns all shards of a stream, closed ones too.
pub(crate) async fn shards(client: &Client, arn: &str) -> Result<Vec<Shard>, StreamRefusal> {
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
    let request = client.get_shard_iterator().stream_arn(arn).shard_id(shard);
    let request = match from {
        From::Now => request.shard_iterator_type(ShardIteratorType::Latest),
        From::Oldest => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
        From::After(number) => {
            request.shard_iterator_type(ShardIteratorType::AfterSequenceNumber).sequence_number(number)
        }
    };
    Ok(patiently(|| request.clone().send()).await?.shard_iterator)
}

/// Why a stream gives no records, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamRefusal {
    /// The caller may not read it.
    #[error(
        "access is denied. docs/policies/redrive.json and watch.json have what is needed: dynamodb:DescribeStream, dynamodb:GetShardIterator and dynamodb:GetRecords on the stream"
    )]
    Denied,
    /// The stream isn't there.
    #[error(
        "there is no such stream in the region that was asked. TableStreamArn, an output of the stack, is its name, and --region names the region; a stream that was switched off can be read for 24 hours"
    )]
    NoStream,
    /// There are no credentials.
    #[error("{0}")]
    NoCredentials(String),
    /// DynamoDB doesn't take the credentials.
    #[error("DynamoDB refuses the credentials ({0}). Log in again, or name another profile")]
    Credentials(String),
    /// Too many read the stream.
    #[error(
        "it is read too often ({0}). A shard takes two readers, and the handler is one: stop others, and run the same command again"
    )]
    Busy(String),
    /// The place in a shard was lost each time.
    #[error("{0} again and again. Run the same command again")]
    Unplaced(&'static str),
    /// A record names no item of the table.
    #[error(transparent)]
    Key(#[from] NoKey),
    /// No answer came.
    #[error("no whole answer came ({0}). Run the same command again")]
    Unanswered(String),
    /// DynamoDB answers something else.
    #[error("DynamoDB says {0}")]
    Other(String),
}

/// Sends a request, and again while it is throttled or not answered: DescribeStream takes ten calls a second, and a
/// shard two readers.
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

/// What a failed request means.
pub(crate) enum Failed {
    /// The iterator is too old.
    Expired,
    /// The stream no longer has the record.
    Trimmed,
    /// The stream or the shard isn't there.
    Gone,
    /// The same request may be answered later.
    ForNow(StreamRefusal),
    /// Nothing helps.
    Refused(StreamRefusal),
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
            ) => Self::ForNow(StreamRefusal::Busy(code.to_owned())),
            Some("AccessDeniedException") => Self::Refused(StreamRefusal::Denied),
            Some(
                code @ ("ExpiredTokenException"
                | "IncompleteSignatureException"
                | "InvalidSignatureException"
                | "MissingAuthenticationTokenException"
                | "UnrecognizedClientException"),
            ) => Self::Refused(StreamRefusal::Credentials(code.to_owned())),
            _ if is_theirs => Self::ForNow(StreamRefusal::Other(said(error))),
            Some(_) => Self::Refused(StreamRefusal::Other(said(error))),
            None => match (lacks_credentials(error), error.raw_response()) {
                (Some(words), _) => Self::Refused(StreamRefusal::NoCredentials(words)),
                (None, Some(_)) => Self::Refused(StreamRefusal::Other(said(error))),
                (None, None) => Self::ForNow(StreamRefusal::Unanswered(said(error))),
            },
        }
    }
}

impl std::convert::From<Failed> for StreamRefusal {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Expired => Self::Unplaced("an iterator expires"),
            Failed::Trimmed => Self::Unplaced("the oldest record goes before it is read"),
            Failed::Gone => Self::NoStream,
            Failed::ForNow(refusal) | Failed::Refused(refusal) => refusal,
        }
    }
}
