//! A table's stream from now on, or from a position.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{Record, Shard};
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::exit::Exit;
use crate::stream::{self as requests, Failed, From, iterator, patiently};

/// Shards that are read at a time.
const SHARDS_IN_FLIGHT_MAX: usize = 8;
/// The pause after a round that found nothing. Lambda asks a shard four times a second, too.
const PAUSE: Duration = Duration::from_millis(250);
/// Rounds after which shards are listed again: one lives some four hours, and a stream takes ten listings a second.
const ROUNDS_OF_A_LIST: u32 = 20;
/// How long a stream keeps its records, in seconds ([AWS: streams][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
const KEPT_SECONDS: i64 = 24 * 60 * 60;
/// How far the clocks of this machine and of AWS may differ. A record that is printed twice is better than none.
const CLOCKS_DIFFER_SECONDS: i64 = 60;

/// How far a stream is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "position")]
pub(super) struct WatchPosition {
    pub(super) stream: String,
    /// When the first of the watches that go on from one another began, in seconds since 1970.
    began: i64,
    /// When the stream was read to here, in seconds since 1970.
    pub(super) at: i64,
    /// The sequence number of the last record that was read of each shard.
    after: BTreeMap<String, String>,
    /// Shards without a record since `began`.
    unread: BTreeSet<String>,
    /// Shards that are read to their ends.
    over: BTreeSet<String>,
}

/// A shard that is read.
#[derive(Debug)]
struct ShardReader {
    from: From,
    iterator: Option<String>,
    /// True for a shard that is read from its beginning, and has come to no record since the watch began.
    is_again: bool,
}

impl ShardReader {
    fn new(from: From) -> Self {
        Self { from, iterator: None, is_again: false }
    }

    /// A shard whose place isn't known. It is read from its beginning, and what is older than the watch is left out.
    fn again() -> Self {
        Self { is_again: true, ..Self::new(From::Oldest) }
    }
}

/// A stream that is followed.
pub(super) struct Follower<'a> {
    client: &'a Client,
    arn: &'a str,
    /// In seconds since 1970.
    began: i64,
    /// When all shards were last read, in seconds since 1970.
    at: i64,
    places: BTreeMap<String, ShardReader>,
    over: BTreeSet<String>,
    rounds: u32,
    has_ended: bool,
}

impl<'a> Follower<'a> {
    /// Begins at the end of all shards that there are.
    pub(super) async fn begin(client: &'a Client, arn: &'a str) -> Result<Self> {
        let now = seconds();
        let shards = shards(client, arn).await?.into_iter().filter_map(|shard| shard.shard_id);
        let places = shards.map(|shard| (shard, ShardReader::new(From::Now))).collect();
        let over = BTreeSet::new();
        let mut follower = Self { client, arn, began: now, at: now, places, over, rounds: 0, has_ended: false };
        let iterators = stream::iter(&follower.places)
            .map(async |(shard, place)| (shard.clone(), iterator(client, arn, shard, &place.from).await));
        let iterators: Vec<_> = iterators.buffer_unordered(SHARDS_IN_FLIGHT_MAX).collect().await;
        for (shard, iterator) in iterators {
            match iterator {
                Ok(Some(iterator)) => {
                    follower.places.entry(shard).and_modify(|place| place.iterator = Some(iterator));
                }
                Ok(None) | Err(Failed::Gone) => follower.end(&shard),
                Err(failed) => return Err(unread(failed.into())),
            }
        }
        Ok(follower)
    }

    /// Goes on from a position of this stream.
    pub(super) async fn resume(client: &'a Client, arn: &'a str, position: WatchPosition) -> Result<Self> {
        let WatchPosition { began, at, after, unread, over, .. } = position;
        let after = after.into_iter().map(|(shard, number)| (shard, ShardReader::new(From::After(number))));
        let places: BTreeMap<_, _> =
            after.chain(unread.into_iter().map(|shard| (shard, ShardReader::again()))).collect();
        // A shard goes when its last record is 24 hours old.
        let there = shards(client, arn).await?;
        if !places.keys().all(|place| there.iter().any(|shard| shard.shard_id() == Some(place))) {
            return Err(too_old());
        }
        Ok(Self { client, arn, began, at, places, over, rounds: 0, has_ended: true })
    }

    /// How far the stream is read. A shard that isn't named has come since, and is read from its beginning.
    pub(super) fn position(&self) -> WatchPosition {
        let (mut after, mut unread) = (BTreeMap::new(), BTreeSet::new());
        for (shard, place) in &self.places {
            match &place.from {
                From::After(number) if !place.is_again => drop(after.insert(shard.clone(), number.clone())),
                From::Oldest if !place.is_again => {}
                _ => drop(unread.insert(shard.clone())),
            }
        }
        let (stream, over) = (self.arn.to_owned(), self.over.clone());
        WatchPosition { stream, began: self.began, at: self.at, after, unread, over }
    }

    /// Reads each shard once, and returns what was written since. The records of an item come in their order.
    pub(super) async fn round(&mut self) -> Result<Vec<Record>> {
        let now = seconds();
        if now - self.at >= KEPT_SECONDS {
            return Err(too_old());
        }
        self.rounds += 1;
        if self.has_ended || self.rounds.is_multiple_of(ROUNDS_OF_A_LIST) {
            self.has_ended = false;
            self.list().await?;
        }
        let (client, arn) = (self.client, self.arn);
        let reads = stream::iter(&self.places).map(async |(shard, place)| {
            let read = async {
                let iterator = match &place.iterator {
                    Some(iterator) => Some(iterator.clone()),
                    None => iterator(client, arn, shard, &place.from).await?,
                };
                let Some(iterator) = iterator else { return Ok((Vec::new(), None)) };
                let request = client.get_records().shard_iterator(iterator);
                let output = patiently(|| request.clone().send()).await?;
                Ok((output.records.unwrap_or_default(), output.next_shard_iterator))
            };
            (shard.clone(), read.await)
        });
        let reads: Vec<_> = reads.buffer_unordered(SHARDS_IN_FLIGHT_MAX).collect().await;
        let mut found = Vec::new();
        for (shard, read) in reads {
            let Some(place) = self.places.get_mut(&shard) else { continue };
            match read {
                Ok((records, next)) => {
                    let number = |record: &Record| record.dynamodb.as_ref()?.sequence_number.clone();
                    if let Some(last) = records.iter().rev().find_map(number) {
                        place.from = From::After(last);
                    }
                    let is_new = |record: &Record| time(record) >= self.began - CLOCKS_DIFFER_SECONDS;
                    let is_again = place.is_again;
                    place.is_again &= !records.iter().any(is_new);
                    found.extend(records.into_iter().filter(|record| !is_again || is_new(record)));
                    place.iterator = next;
                    if place.iterator.is_none() {
                        self.end(&shard);
                    }
                }
                // An iterator is good for 15 minutes, which are over if the machine slept.
                Err(Failed::Expired) if matches!(place.from, From::Now) => *place = ShardReader::again(),
                Err(Failed::Expired) => place.iterator = None,
                Err(Failed::Trimmed) => return Err(too_old()),
                Err(Failed::Gone) => self.end(&shard),
                Err(failed) => return Err(unread(failed.into())),
            }
        }
        self.at = now;
        if found.is_empty() {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(found)
    }

    fn end(&mut self, shard: &str) {
        self.places.remove(shard);
        self.over.insert(shard.to_owned());
        self.has_ended = true;
    }

    /// Takes the shards that have come since. One whose parent is still read waits: its items are the parent's.
    async fn list(&mut self) -> Result<()> {
        let shards = shards(self.client, self.arn).await?;
        // A shard is forgotten with its records, so what was read to its end needn't be kept.
        self.over.retain(|over| shards.iter().any(|shard| shard.shard_id() == Some(over)));
        for shard in shards {
            let waits = shard.parent_shard_id().is_some_and(|parent| self.places.contains_key(parent));
            let Some(shard) = shard.shard_id else { continue };
            if !waits && !self.over.contains(&shard) {
                self.places.entry(shard).or_insert(ShardReader::new(From::Oldest));
            }
        }
        Ok(())
    }
}

async fn shards(client: &Client, arn: &str) -> Result<Vec<Shard>> {
    requests::shards(client, arn).await.map_err(unread)
}

fn unread(refusal: Error) -> Error {
    anyhow!("the stream can't be read: {refusal}")
}

/// The stream no longer has what comes after the position.
fn too_old() -> Error {
    Exit::Wrong.because(
        "the stream keeps its records for 24 hours, and has no longer all that comes after the last position. Begin without --after, and read \
         the rows again (docs/guides/watch.md)",
    )
}

/// This moment, in seconds since 1970.
pub(super) fn seconds() -> i64 {
    i64::try_from(clock::seconds()).unwrap_or(i64::MAX)
}

/// When a change was made, in seconds since 1970.
pub(super) fn time(record: &Record) -> i64 {
    let time = record.dynamodb.as_ref().and_then(|change| change.approximate_creation_date_time);
    time.map_or(i64::MAX, |time| time.secs())
}
