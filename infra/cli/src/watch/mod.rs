//! `sapwood watch`: what is below a node, as it changes.

mod follow;

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow};
use aws_sdk_dynamodb::types::StreamViewType;
use aws_sdk_dynamodbstreams::primitives::{DateTime, DateTimeFormat};
use aws_sdk_dynamodbstreams::types::{AttributeValue, Record};
use aws_types::SdkConfig;
use clap::Args;
use sapwood_core::keys::{DEPTH_MAX, ItemKey, Schema};
use sapwood_core::model::{Item, key_of, sort_sets};
use sapwood_explorer::change::{Change, Watched};
use sapwood_explorer::live::Record as ReadRecord;
use sapwood_local::mapping::Seen;
use serde::Serialize;

use self::follow::{Follower, WatchPosition, seconds, time};
use crate::exit::Exit;
use crate::node::{NodeArguments, Opened};
use crate::printable::{line, shown};
use crate::say::say;
use crate::sdk_errors::said;
use crate::stream::client;

/// Readers that a shard of a stream has room for ([AWS: streams][aws]), and of a global table.
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.Lambda.html
const READERS_MAX: usize = 2;
const READERS_MAX_GLOBAL: usize = 1;

/// The longest time between two positions, in seconds. A stream goes on where nothing changes below the node.
const POSITION_EVERY_SECONDS: i64 = 60;

/// Stream changes in a subtree. They begin now, or at a position.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood watch V --table sapwood --endpoint http://127.0.0.1:8000
  sapwood watch V --table sapwood --profile prod --depth 1 --json
  sapwood watch turbine-7 --table sapwood --profile prod --revisions

Each line is a row: a node's id, and its depth below the node that is watched, which itself has the depth 0. A node has gone when its last row has. \
With --json there are lines of the kind `position` as well: --after goes on from one, for 24 hours.

It reads the table's stream beside the handler, until it is stopped. A shard has room for two readers, on a global table for one: where the handler \
and another function read it, the command refuses to be the third. It ends with 1 if it refuses, or if the position is too old, with 2 for wrong arguments, and with 4 if the \
stream can't be read. docs/guides/watch.md says how a function of yours watches.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    node: NodeArguments,
    /// Watch at most so many levels below the node. By default all are watched.
    #[arg(long, value_name = "LEVELS", default_value_t = DEPTH_MAX, hide_default_value = true)]
    depth: usize,
    /// Watch the newest revisions of the node's topics instead.
    #[arg(long, conflicts_with = "depth")]
    revisions: bool,
    /// Continue from this position, which an earlier run has printed. With --json it is the last line of the kind
    /// `position`.
    #[arg(long, value_name = "POSITION", value_parser = position)]
    after: Option<WatchPosition>,
    /// Read the stream even if it may already have two readers.
    #[arg(long)]
    third_reader: bool,
    /// Use this Lambda endpoint, such as an emulator's. It checks no credentials.
    #[arg(long, value_name = "URL")]
    services_endpoint: Option<String>,
    /// Print JSON. Each line is an object.
    #[arg(long)]
    json: bool,
}

fn position(text: &str) -> Result<WatchPosition, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no position that `watch --json` has printed: {error}"))
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let Arguments { node, depth, revisions, after, third_reader, services_endpoint, json } = arguments;
    let (connection, Opened { settings, node, .. }) = (&node.connection, node.open().await?);
    let schema = &settings.schema;
    let config = connection.config_of(connection.endpoint()).await?;
    let (arn, is_global) = stream(&config, &connection.table).await?;
    if let Some(other) = after.as_ref().filter(|position| position.stream != arn) {
        return Err(Exit::Wrong.because(format!(
            "--after is a position in {}, and the table's stream is another one now. Its rows may have changed in between: begin without \
             --after, and read them (docs/guides/watch.md)",
            other.stream
        )));
    }
    // An endpoint of DynamoDB alone has no functions.
    let services = connection.config_of_services(&config, services_endpoint.as_deref())?;
    if let Some(services) = services.filter(|_| !third_reader) {
        check_readers(&services, &arn, is_global).await?;
    }
    let client = client(&config);
    let mut follower = match after {
        Some(position) => Follower::resume(&client, &arn, position).await?,
        None => Follower::begin(&client, &arn).await?,
    };
    eprintln!("watching, as one more reader of {arn}");
    let watched = Watched { node: &node, schema, depth_max: depth, revisions };
    let mut next_position = 0;
    loop {
        for record in follower.round().await? {
            let at = time(&record);
            let Some(change) = read(&watched, record) else { continue };
            let at = DateTime::from_secs(at).fmt(DateTimeFormat::DateTime).unwrap_or_default();
            if json {
                say!("{}", line(&Line { time: &at, change: &change })?);
                next_position = 0;
            } else {
                say!("{at}  {}", change.line(shown));
            }
        }
        if json && seconds() >= next_position {
            say!("{}", line(&follower.position())?);
            next_position = seconds() + POSITION_EVERY_SECONDS;
        }
    }
}

/// A line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    #[serde(flatten)]
    change: &'a Change,
}

fn read(watched: &Watched<'_>, record: Record) -> Option<Change> {
    let change = record.dynamodb?;
    let key = key_of(&item(change.keys?), watched.schema)?;
    watched.change(&key, change.old_image.map(item).as_ref(), change.new_image.map(item).as_ref())
}

/// A record that the local mapping has read, for pages.
pub(crate) fn recorded(seen: &Seen<'_>, schema: &Schema) -> ReadRecord {
    let names = schema.names();
    let text = |name: &String| seen.keys[name]["S"].as_str().unwrap_or_default().to_owned();
    let event = ["INSERT", "REMOVE"].into_iter().find(|event| *event == seen.event).unwrap_or("MODIFY");
    ReadRecord {
        event,
        key: ItemKey { pk: text(&names.partition_key), sk: text(&names.sort_key) },
        old: seen.old.cloned().map(item),
        new: seen.new.cloned().map(item),
        goes_on: seen.is_wanted,
    }
}

fn item(attributes: HashMap<String, AttributeValue>) -> Item {
    let mut item: Item = attributes.into_iter().map(|(name, value)| (name, value.into())).collect();
    item.values_mut().for_each(sort_sets);
    item
}

/// The name of the table's stream, and true if the table has replicas.
async fn stream(config: &SdkConfig, table: &str) -> Result<(String, bool)> {
    let request = aws_sdk_dynamodb::Client::new(config).describe_table().table_name(table);
    let described = request.send().await.map_err(|error| anyhow!("the table can't be described: {}", said(&error)))?;
    let no_stream = "the table has no stream with new and old images; `sapwood doctor` says what a deployment needs";
    let table = described.table.context(no_stream)?;
    let has_images = table.stream_specification().is_some_and(|stream| {
        stream.stream_enabled() && stream.stream_view_type() == Some(&StreamViewType::NewAndOldImages)
    });
    let arn = table.latest_stream_arn().filter(|_| has_images).context(no_stream)?;
    Ok((arn.to_owned(), !table.replicas().is_empty()))
}

/// Checks that the stream has room for one more reader.
#[cfg(not(feature = "aws"))]
async fn check_readers(_: &SdkConfig, _: &str, _: bool) -> Result<()> {
    Err(crate::connect::no_aws())
}

/// Checks that the stream has room for one more reader.
#[cfg(feature = "aws")]
async fn check_readers(config: &SdkConfig, arn: &str, is_global: bool) -> Result<()> {
    let request = aws_sdk_lambda::Client::new(config).list_event_source_mappings().event_source_arn(arn);
    let mappings: Result<Vec<_>, _> = request.into_paginator().items().send().collect().await;
    let mappings = mappings.map_err(|error| {
        anyhow!(
            "who reads the stream can't be told: {}. docs/policies/watch.json has what is needed (lambda:ListEventSourceMappings); \
             --third-reader reads all the same",
            said(&error)
        )
    })?;
    let functions = mappings.iter().filter(|mapping| mapping.state() != Some("Disabled")).count();
    let most = if is_global { READERS_MAX_GLOBAL } else { READERS_MAX };
    if functions < most {
        return Ok(());
    }
    Err(Exit::Wrong.because(format!(
        "{functions} functions read the stream already, and {most} readers are the most that it has room for. One more can throttle the \
         handler, and rows would follow later; --third-reader reads all the same"
    )))
}
