//! `sapwood redrive`: the items of records that the event source gave up or lost, handled again.

#[cfg(feature = "aws")]
mod bucket;
mod sources;
mod table_stream;

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use sapwood_core::audit::Redriven;
use sapwood_core::keys::ItemKey;
use sapwood_core::plan::Rules;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::audit::Audit;
use sapwood_import::failed_records::LostKeys;
use sapwood_store::{Client, ErrorKind};
use serde_json::json;

use self::sources::{Reader, Source};
use self::table_stream::TableStream;
use crate::arguments::endpoint;
use crate::clock::{RateLimit, nanoseconds};
use crate::connect::{Connection, Patient, TableClient};
use crate::exit::{Exit, NOT_READ_OR_WRITTEN, of_table};
use crate::printable::{shown, shown_json};
use crate::say::{bar, count};

/// Items that are taken at a time.
const PAGE_KEYS_MAX: usize = 512;
/// Nodes whose items are redriven at a time.
const IN_FLIGHT_MAX: usize = 16;

/// Requeue the items of discarded or lost stream records. The event source has given these records up.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood redrive s3://sapwood-failedrecords-1x2y/ --table sapwood --profile prod
  sapwood redrive failed/ more.json --table sapwood --dry-run
  sapwood redrive failed-records.jsonl --table sapwood --endpoint http://127.0.0.1:8000
  sapwood redrive arn:aws:dynamodb:eu-west-1:123456789012:table/sapwood/stream/2026-11-21T09:05:00.000 --table sapwood

The ARN of the table's stream stands for all records that are still in it, handled or not: those of the last 24 hours. Any other source has
JSON objects with a `payload`, which is an event or its text, as Lambda puts them into the bucket of failed records. All sources are read
before anything is written. No record is replayed. The command can be stopped, repeated, and run while others write.

It ends with 0 if every item is redriven, 1 if a source can't be read (nothing is written then) or an item couldn't be redriven, 2 for wrong
arguments, and 4 if it can't go on.")]
pub(crate) struct Arguments {
    /// Read a file, a directory, s3://BUCKET/PREFIX, or the table's stream (ARN).
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,
    #[command(flatten)]
    connection: Connection,
    /// Use this S3 endpoint. It checks no credentials. AWS_ENDPOINT_URL_S3 names one that does.
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    s3_endpoint: Option<String>,
    /// The endpoint that the SDK takes from the environment.
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_S3", hide = true)]
    s3_endpoint_of_environment: Option<String>,
    /// Report what would be done, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Use at most so many write units a second, on average. The stream handler's come on top.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// Print JSON. Each line is an object.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let after = ". Run the same command again: what is done already is only done once more";
    redrive(arguments).await.map_err(of_table(NOT_READ_OR_WRITTEN, after))
}

async fn redrive(arguments: Arguments) -> Result<Exit> {
    let parse = |text: &String| Source::parse(text, &arguments.connection.table);
    let sources = arguments.sources.iter().map(parse).collect::<Result<Vec<_>>>()?;
    let (table, settings) = arguments.connection.open().await?;
    let mut reader = Reader { schema: &settings.schema, keys: LostKeys::new()?, unreadable: 0 };
    for source in &sources {
        match source {
            Source::Path(path) => reader.path(path)?,
            Source::Bucket { bucket, prefix } => {
                let path_style = arguments.s3_endpoint_of_environment.is_some();
                let endpoint = arguments.s3_endpoint.as_deref();
                reader.bucket(&arguments.connection, endpoint, path_style, (bucket, prefix)).await?;
            }
            Source::Stream(arn) => {
                let stream = TableStream::open(&arguments.connection, arn, &settings.schema).await?;
                let bar = bar(None, arguments.json, "{spinner} {elapsed} {human_pos} records read, {rate}");
                reader.stream(&stream, &bar).await?;
            }
        }
    }
    if reader.unreadable > 0 {
        let unreadable = reader.unreadable;
        let noun = if unreadable == 1 { "file or object" } else { "files or objects" };
        eprintln!("{unreadable} {noun} can't be read: nothing is written");
        return Ok(Exit::Wrong);
    }
    let client = Client::new(&table, &Patient, &settings.schema);
    let template = "{bar:30} {human_pos} of {human_len} items, {rate}, {eta} left";
    let bar = bar(Some(reader.keys.count()?), arguments.json, template);
    let (audit, first_name) = (Audit::new(&client, &settings), nanoseconds());
    let redriving = Redriving { audit, is_dry: arguments.dry_run, json: arguments.json, bar, first_name };
    let is_whole = redriving.all(&client, &reader.keys, &RateLimit::new(arguments.rate)).await?;
    Ok(Exit::Wrong.unless(is_whole))
}

struct Redriving<'a> {
    audit: Audit<'a, DynamoTable, Patient>,
    is_dry: bool,
    json: bool,
    bar: ProgressBar,
    /// The names of redrives count from here. A write that changes nothing makes no stream record.
    first_name: u128,
}

/// An item's outcome, or the reason of a refusal.
type Outcome = (ItemKey, Result<Redriven, String>);

impl Redriving<'_> {
    async fn all(&self, client: &TableClient<'_>, keys: &LostKeys, pace: &RateLimit) -> Result<bool> {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let (mut after, mut position) = (None, 0);
        loop {
            let page = keys.next(after.as_ref(), PAGE_KEYS_MAX)?;
            let Some(last) = page.last() else { break };
            after = Some(last.clone());
            let before = client.usage().write_units;
            // The items of one partition are redriven one after another.
            let nodes: Vec<(u128, Vec<ItemKey>)> = page
                .chunk_by(|one, other| one.pk == other.pk)
                .map(|keys| {
                    let first = position;
                    position += keys.len() as u128;
                    (self.first_name + first, keys.to_vec())
                })
                .collect();
            let mut outcomes =
                stream::iter(nodes.into_iter().map(|(name, keys)| self.node(name, keys))).buffered(IN_FLIGHT_MAX);
            while let Some(outcomes) = outcomes.try_next().await? {
                for outcome in outcomes {
                    *counts.entry(self.print(&outcome)).or_default() += 1;
                    self.bar.inc(1);
                }
            }
            tokio::time::sleep(pace.take(client.usage().write_units - before)).await;
        }
        self.bar.finish_and_clear();
        self.ended(&counts, client.usage().write_units);
        let couldnt = [REFUSED, Redriven::Newer.as_str()];
        Ok(couldnt.iter().all(|name| !counts.contains_key(name)))
    }

    async fn node(&self, first_name: u128, keys: Vec<ItemKey>) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(keys.len());
        for (key, name) in keys.into_iter().zip(first_name..) {
            let redriven = if self.is_dry {
                self.audit.would_redrive(key.clone()).await
            } else {
                self.audit.redrive(key.clone(), name.to_string(), Rules::default()).await
            };
            outcomes.push(match redriven {
                Ok(redriven) => (key, Ok(redriven)),
                // A record of 400 KB has no room for the attribute. The others are redriven.
                Err(error) if error.kind == ErrorKind::Refuse => (key, Err(error.to_string())),
                Err(error) => return Err(error.into()),
            });
        }
        Ok(outcomes)
    }

    /// Prints a line, and returns the outcome's name.
    fn print(&self, (key, outcome): &Outcome) -> &'static str {
        let name = outcome.as_ref().map_or(REFUSED, |redriven| redriven.as_str());
        let reason = match outcome {
            Ok(Redriven::Newer) => Some("a newer version of the handler has written it; use that version of sapwood"),
            Ok(_) => None,
            Err(reason) => Some(reason.as_str()),
        };
        let (pk, sk) = (json!(key.pk), json!(key.sk));
        self.bar.suspend(|| match self.json {
            true => {
                let verb = if self.is_dry { "would" } else { "done" };
                let mut line = json!({"pk": pk, "sk": sk, verb: name});
                if let Some(reason) = reason {
                    line["reason"] = json!(reason);
                }
                println!("{}", shown_json(line.to_string()));
            }
            false => println!("{name:<16} {} {}", shown_json(pk.to_string()), shown_json(sk.to_string())),
        });
        if let Some(reason) = reason {
            self.bar.suspend(|| eprintln!("{} can't be redriven: {}", shown_json(format!("{pk} {sk}")), shown(reason)));
        }
        name
    }

    fn ended(&self, counts: &BTreeMap<&'static str, u64>, units: f64) {
        let items: u64 = counts.values().sum();
        if self.json {
            println!("{}", json!({"items": items, "counts": counts, "write_units": units}));
            return;
        }
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let ending = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
        println!("{}{}{ending}", count(items, "item"), if self.is_dry { " (nothing is written)" } else { "" });
    }
}

/// The name of an item that the table refuses to change.
const REFUSED: &str = "refused";
