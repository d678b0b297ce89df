//! A table's stream: its shards, and their records as Lambda delivers them.
//!
//! Only this file, `endpoint.rs`, `record.rs` and `sdk_error.rs` name the SDK.

use std::sync::Arc;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodbstreams::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodbstreams::operation::get_shard_iterator::builders::GetShardIteratorFluentBuilder;
use aws_sdk_dynamodbstreams::types::ShardIteratorType;
use sapwood_plain_http::plain_http;

use crate::record::Record;
use crate::sdk_error::said;

/// The region and the credentials. Local engines check neither, but the SDK needs some.
const ANYTHING: &str = "local";

/// A table's stream.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    client: Client,
    pub(crate) arn: Arc<str>,
}

/// A shard of the stream.
#[derive(Debug, Clone)]
pub(crate) struct Shard {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
}

/// The position in a shard from which to read.
#[derive(Debug, Clone)]
pub enum From {
    /// The oldest record in the stream.
    Oldest,
    /// The first record that is written from now on.
    Now,
    /// The record after the one with this sequence number.
    After(String),
}

/// Returns the request for an iterator of a shard.
pub fn iterator(client: &Client, stream: &str, shard: &str, from: &From) -> GetShardIteratorFluentBuilder {
    let request = client.get_shard_iterator().stream_arn(stream).shard_id(shard);
    match from {
        From::Oldest => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
        From::Now => request.shard_iterator_type(ShardIteratorType::Latest),
        From::After(number) => {
            request.shard_iterator_type(ShardIteratorType::AfterSequenceNumber).sequence_number(number)
        }
    }
}

/// The result of one read of a shard.
#[derive(Debug)]
pub(crate) struct ShardPage {
    pub(crate) records: Vec<Record>,
    /// The iterator of the next read. None: the shard is closed, and this was its end.
    pub(crate) next: Option<String>,
}

/// Why a stream can't be read.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum StreamError {
    /// The iterator is older than some minutes. A new one is needed.
    #[error("the iterator has expired")]
    Expired,
    /// The stream no longer has the records.
    #[error("the records have been trimmed")]
    Trimmed,
    /// Any other error. It may be temporary.
    #[error("{0}")]
    Other(String),
}

impl Stream {
    pub(crate) fn new(url: &str, arn: &str) -> Self {
        let config = aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .http_client(plain_http())
            .endpoint_url(url)
            .region(Region::new(ANYTHING))
            .credentials_provider(Credentials::new(ANYTHING, ANYTHING, None, None, "a local endpoint"))
            .build();
        Stream { client: Client::from_conf(config), arn: arn.into() }
    }

    /// Returns all shards of the stream, closed ones too.
    pub(crate) async fn shards(&self) -> Result<Vec<Shard>, StreamError> {
        let mut shards = Vec::new();
        let mut last = None;
        loop {
            let request = self.client.describe_stream().stream_arn(&*self.arn).set_exclusive_start_shard_id(last);
            let output = request.send().await.map_err(failed)?;
            let Some(description) = output.stream_description else { return Ok(shards) };
            for shard in description.shards.unwrap_or_default() {
                if let Some(id) = shard.shard_id {
                    shards.push(Shard { id, parent: shard.parent_shard_id });
                }
            }
            last = description.last_evaluated_shard_id;
            if last.is_none() {
                return Ok(shards);
            }
        }
    }

    /// Returns an iterator, or `None` if the shard has no more records.
    pub(crate) async fn iterator(&self, shard: &str, from: &From) -> Result<Option<String>, StreamError> {
        Ok(iterator(&self.client, &self.arn, shard, from).send().await.map_err(failed)?.shard_iterator)
    }

    pub(crate) async fn read(&self, iterator: &str) -> Result<ShardPage, StreamError> {
        let output = self.client.get_records().shard_iterator(iterator).send().await.map_err(failed)?;
        let records = output.records.unwrap_or_default();
        Ok(ShardPage {
            records: records.into_iter().map(|record| Record::new(Arc::clone(&self.arn), record)).collect(),
            next: output.next_shard_iterator,
        })
    }
}

fn failed<E: ProvideErrorMetadata + std::error::Error + 'static>(error: SdkError<E>) -> StreamError {
    match error.code() {
        Some("ExpiredIteratorException") => StreamError::Expired,
        Some("TrimmedDataAccessException") => StreamError::Trimmed,
        _ => StreamError::Other(said(&error)),
    }
}
