//! The table's stream: the records of the last 24 hours, handled or not.
//!
//! Where AWS documents what is relied on here: [GetRecords], [GetShardIterator], [DescribeStream], and [streams] as a
//! whole.
//!
//! [GetRecords]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
//! [GetShardIterator]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html
//! [DescribeStream]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_DescribeStream.html
//! [streams]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::operation::get_records::GetRecordsOutput;
use aws_sdk_dynamodbstreams::primitives::{DateTime, DateTimeFormat};
use aws_sdk_dynamodbstreams::types::AttributeValue;
use futures::{Stream, StreamExt, stream};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::padded;
use sapwood_import::failed_records::key_of;

use crate::clock;
use crate::connect::Connection;
use crate::stream::{Failed, From, client, iterator, patiently};

/// Shards that are read at a time. One page of each is held in memory, which has at most 1,000 records or 1 MB.
const SHARDS_IN_FLIGHT_MAX: usize = 8;
/// Empty pages in a row after which an open shard, which never ends, is left. AWS says "it might take multiple calls to
/// get to a portion of the shard that contains stream records", and not how many.
const EMPTY_PAGES_MAX: u32 = 20;
/// The pause after an empty page. Lambda asks a shard four times a second, too.
const EMPTY_PAGE_PAUSE: Duration = Duration::from_millis(250);
/// The most that this machine's clock can be slow, in seconds. AWS denies requests whose time is further off.
const CLOCK_SLOW_MAX: i64 = 5 * 60;
/// Iterators of a shard that may be of no use, one after another.
const USELESS_ITERATORS_MAX: u32 = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamArn(String);

impl StreamArn {
    /// Reads the name of a stream of this table: `arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/stream/TIME`.
    pub(super) fn parse(text: &str, table: &str) -> Result<Self> {
        let no_arn = || {
            anyhow!(
                "{text} isn't the ARN of a table's stream, which is written arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/stream/TIME. TableStreamArn, an output of the stack, is one"
            )
        };
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", _, "dynamodb", _, _, resource] = parts[..] else {
            return Err(no_arn());
        };
        match resource.split('/').collect::<Vec<_>>()[..] {
            ["table", found, "stream", time] if !time.is_empty() && found == table => Ok(Self(text.to_owned())),
            ["table", found, "stream", time] if !time.is_empty() => {
                bail!("the stream is that of the table {found}, and --table names {table}. Nothing is written")
            }
            _ => Err(no_arn()),
        }
    }
}

/// A stream that is read from its beginning.
pub(super) struct TableStream<'a> {
    client: Client,
    pub(super) arn: &'a str,
    schema: &'a Schema,
    /// A record that is younger, in seconds since 1970, was written after the command began.
    young: i64,
}

/// A part of a stream.
#[derive(Debug)]
pub(super) struct Shard {
    id: String,
    /// The number of the last record, if the shard is closed, in the form of [`padded`].
    ending: Option<String>,
}

/// The records of one request.
#[derive(Debug, Default)]
pub(super) struct StreamPage {
    /// The keys of the records that the handler takes.
    pub(super) keys: Vec<ItemKey>,
    pub(super) records: u64,
    /// The time of the oldest one.
    pub(super) oldest: Option<DateTime>,
    /// True if older records are gone.
    pub(super) is_trimmed: bool,
}

impl<'a> TableStream<'a> {
    /// Makes a client of the stream, without a request.
    pub(super) async fn open(connection: &Connection, arn: &'a StreamArn, schema: &'a Schema) -> Result<Self> {
        Ok(Self {
            client: client(&connection.config_of(connection.endpoint()).await?),
            arn: &arn.0,
            schema,
            young: i64::try_from(clock::seconds()).unwrap_or(i64::MAX).saturating_add(CLOCK_SLOW_MAX),
        })
    }

    /// Returns all shards, and true if the stream has had older ones. Later shards have later records.
    pub(super) async fn shards(&self) -> Result<(Vec<Shard>, bool)> {
        let (mut shards, mut parents) = (Vec::new(), BTreeSet::new());
        for shard in crate::stream::shards(&self.client, self.arn).await? {
            let Some(id) = shard.shard_id else { continue };
            let ending = shard.sequence_number_range.and_then(|range| range.ending_sequence_number);
            parents.extend(shard.parent_shard_id);
            shards.push(Shard { id, ending: ending.as_deref().map(padded) });
        }
        for shard in &shards {
            parents.remove(&shard.id);
        }
        Ok((shards, !parents.is_empty()))
    }

    /// Reads shards side by side, each from its oldest record. Only keys are collected, so their order doesn't matter.
    pub(super) fn pages(&self, shards: Vec<Shard>) -> impl Stream<Item = Result<StreamPage>> + Unpin + use<'_, 'a> {
        let readings = shards.into_iter().map(|shard| Reading {
            stream: self,
            shard,
            iterator: None,
            last: None,
            empty: 0,
            useless: 0,
            is_over: false,
        });
        let pages = readings.map(|reading| Box::pin(stream::try_unfold(reading, Reading::next)));
        stream::iter(pages).flatten_unordered(SHARDS_IN_FLIGHT_MAX)
    }
}

/// A shard, while it is read.
struct Reading<'a> {
    stream: &'a TableStream<'a>,
    shard: Shard,
    /// None at first, and where a new one is needed.
    iterator: Option<String>,
    /// The number of the last record that was read.
    last: Option<String>,
    /// Empty pages in a row.
    empty: u32,
    /// Iterators in a row that were of no use.
    useless: u32,
    is_over: bool,
}

impl Reading<'_> {
    async fn next(mut self) -> Result<Option<(StreamPage, Self)>> {
        if self.is_over {
            return Ok(None);
        }
        if self.empty > 0 {
            tokio::time::sleep(EMPTY_PAGE_PAUSE).await;
        }
        let page = match self.ask().await {
            Ok(Some(output)) => self.take(output)?,
            Ok(None) => {
                self.is_over = true;
                StreamPage::default()
            }
            // The shard has reached its age, perhaps before it was listed.
            Err(Failed::Gone) => {
                self.is_over = true;
                StreamPage { is_trimmed: true, ..StreamPage::default() }
            }
            // An iterator lasts 15 minutes, and the machine may sleep. The next one continues after the last record.
            Err(Failed::Expired) if self.useless < USELESS_ITERATORS_MAX => {
                (self.iterator, self.useless) = (None, self.useless + 1);
                StreamPage::default()
            }
            // The next record has reached its age, and the next iterator is at the oldest one that is left.
            Err(Failed::Trimmed) if self.useless < USELESS_ITERATORS_MAX => {
                (self.iterator, self.last, self.useless) = (None, None, self.useless + 1);
                StreamPage { is_trimmed: true, ..StreamPage::default() }
            }
            Err(failed) => return Err(failed.into()),
        };
        Ok(Some((page, self)))
    }

    /// Asks for the next page. There is none if the shard gives no iterator.
    async fn ask(&mut self) -> Result<Option<GetRecordsOutput>, Failed> {
        let TableStream { client, arn, .. } = self.stream;
        if self.iterator.is_none() {
            let from = self.last.clone().map_or(From::Oldest, From::After);
            self.iterator = iterator(client, arn, &self.shard.id, &from).await?;
        }
        let Some(iterator) = &self.iterator else { return Ok(None) };
        let request = client.get_records().shard_iterator(iterator);
        patiently(|| request.clone().send()).await.map(Some)
    }

    fn take(&mut self, output: GetRecordsOutput) -> Result<StreamPage> {
        let records = output.records.unwrap_or_default();
        let mut page = StreamPage { records: records.len() as u64, ..StreamPage::default() };
        self.iterator = output.next_shard_iterator;
        self.empty = if records.is_empty() { self.empty + 1 } else { 0 };
        self.useless = 0;
        for change in records.into_iter().filter_map(|record| record.dynamodb) {
            let mut attributes = change.keys.unwrap_or_default();
            let key = key_of(self.stream.schema, |name| match attributes.remove(name) {
                Some(AttributeValue::S(text)) => Some(text),
                _ => None,
            })?;
            if self.stream.schema.passes_filter(&key.sk) {
                page.keys.push(key);
            }
            if let Some(time) = change.approximate_creation_date_time {
                self.is_over |= time.secs() > self.stream.young;
                page.oldest = page.oldest.into_iter().chain([time]).min();
            }
            if let Some(number) = change.sequence_number {
                // Engines on one machine have shards with an end that go on all the same.
                self.is_over |= self.shard.ending.as_ref().is_some_and(|ending| padded(&number) >= *ending);
                self.last = Some(number);
            }
        }
        // A closed shard is read to its end, however many of its pages are empty.
        let is_left = self.shard.ending.is_none() && self.empty >= EMPTY_PAGES_MAX;
        self.is_over |= self.iterator.is_none() || is_left;
        Ok(page)
    }
}

/// A time for people.
pub(super) fn shown(time: DateTime) -> String {
    time.fmt(DateTimeFormat::DateTime).unwrap_or_default()
}
