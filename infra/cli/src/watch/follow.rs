//! A table's stream from now on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::Record;
use futures::{StreamExt, stream};

use crate::clock;
use crate::stream::{Failed, From, StreamRefusal, iterator, patiently, shards};

/// Shards that are read at a time.
const SHARDS_IN_FLIGHT_MAX: usize = 8;
/// The pause after a round that found nothing. Lambda asks a shard four times a second, too.
const PAUSE: Duration = Duration::from_millis(250);
/// Rounds after which shards are listed again. A shard takes no new records after some four hours, and DescribeStream
/// ten calls a second of all who read the stream.
const ROUNDS_OF_A_LIST: u32 = 20;

/// A shard that is read.
#[derive(Debug)]
struct Place {
    from: From,
    iterator: Option<String>,
    /// True for a shard that is read from its beginning because its place was lost.
    is_again: bool,
}

/// A stream that is followed.
pub(super) struct Follower<'a> {
    client: &'a Client,
    arn: &'a str,
    /// In seconds since 1970.
    began: i64,
    places: BTreeMap<String, Place>,
    over: BTreeSet<String>,
    rounds: u32,
    has_ended: bool,
    /// True once records have passed that nobody has read.
    pub(super) has_missed: bool,
}

impl<'a> Follower<'a> {
    /// Begins at the end of all shards that there are.
    pub(super) async fn begin(client: &'a Client, arn: &'a str) -> Result<Self, StreamRefusal> {
        let began = i64::try_from(clock::seconds()).unwrap_or(i64::MAX);
        let mut follower = Self {
            client,
            arn,
            began,
            places: BTreeMap::new(),
            over: BTreeSet::new(),
            rounds: 0,
            has_ended: false,
            has_missed: false,
        };
        for shard in shards(client, arn).await?.into_iter().filter_map(|shard| shard.shard_id) {
            follower.places.insert(shard, Place { from: From::Now, iterator: None, is_again: false });
        }
        let iterators = stream::iter(&follower.places)
            .map(async |(shard, place)| (shard.clone(), iterator(client, arn, shard, &place.from).await));
        let iterators: Vec<_> = iterators.buffer_unordered(SHARDS_IN_FLIGHT_MAX).collect().await;
        for (shard, iterator) in iterators {
            match iterator {
                Ok(Some(iterator)) => {
                    follower.places.entry(shard).and_modify(|place| place.iterator = Some(iterator));
                }
                Ok(None) | Err(Failed::Gone) => follower.end(&shard),
                Err(failed) => return Err(failed.into()),
            }
        }
        Ok(follower)
    }

    /// Reads each shard once, and returns what was written since. The records of an item come in their order.
    pub(super) async fn round(&mut self) -> Result<Vec<Record>, StreamRefusal> {
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
                    let (is_again, began) = (place.is_again, self.began);
                    found.extend(records.into_iter().filter(|record| !is_again || time(record) >= began));
                    place.iterator = next;
                    if place.iterator.is_none() {
                        self.end(&shard);
                    }
                }
                // An iterator is good for 15 minutes, which are over if the machine slept.
                Err(Failed::Expired) => match place.from {
                    From::After(_) => place.iterator = None,
                    From::Now | From::Oldest => {
                        *place = Place { from: From::Oldest, iterator: None, is_again: true };
                    }
                },
                Err(Failed::Trimmed) => {
                    self.has_missed = true;
                    *place = Place { from: From::Oldest, iterator: None, is_again: true };
                }
                Err(Failed::Gone) => self.end(&shard),
                Err(failed) => return Err(failed.into()),
            }
        }
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
    async fn list(&mut self) -> Result<(), StreamRefusal> {
        let shards = shards(self.client, self.arn).await?;
        // A shard is forgotten with its records, so what was read to its end needn't be kept.
        self.over.retain(|over| shards.iter().any(|shard| shard.shard_id() == Some(over)));
        for shard in shards {
            let waits = shard.parent_shard_id().is_some_and(|parent| self.places.contains_key(parent));
            let Some(shard) = shard.shard_id else { continue };
            if !waits && !self.over.contains(&shard) {
                let new = Place { from: From::Oldest, iterator: None, is_again: false };
                self.places.entry(shard).or_insert(new);
            }
        }
        Ok(())
    }
}

/// When a change was made, in seconds since 1970.
pub(super) fn time(record: &Record) -> i64 {
    let time = record.dynamodb.as_ref().and_then(|change| change.approximate_creation_date_time);
    time.map_or(i64::MAX, |time| time.secs())
}
