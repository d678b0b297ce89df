//! `sapwood export`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use sapwood_core::keys::{ItemKey, SortKey};
use sapwood_core::model::{BaseNode, Item, Settings, key_of};
use sapwood_http::json::Attributes;
use sapwood_import::sources::jsonl;
use sapwood_import::{Node, Record, Revision};
use sapwood_table::{Client, ReadOptions, Scan};

use super::TransferError;
use crate::connect::{Connection, Patient};
use crate::pace::Pace;

/// Items in a page of the scan.
const PAGE_ITEMS_MAX: usize = 1_000;

/// Write all nodes and revisions as JSON Lines, which `sapwood import` reads. Types and numbers stay as they are.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood export --table sapwood --endpoint http://127.0.0.1:8000 > places.jsonl
  sapwood export --table sapwood --profile prod --rate 500 --output places.jsonl

Derived items aren't exported, and neither are Sapwood's own attributes, which begin with `_`. A base record that can't be understood is
named, and left out; the command then ends with 1.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// The file; by default the standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Most read units a second, on average.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
}

/// Returns true if every record is exported.
pub(crate) async fn run(arguments: Arguments) -> Result<bool, TransferError> {
    let (table, settings) = arguments.connection.open().await?;
    let client = Client::new(&table, &Patient, &settings.schema);
    let pace = Pace::new(arguments.rate);
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from("the standard output"));
    let failed = |source| TransferError::Output { path: path.clone(), source };
    let mut to: Box<dyn Write> = match &arguments.output {
        Some(path) => Box::new(BufWriter::new(File::create(path).map_err(failed)?)),
        None => Box::new(BufWriter::new(io::stdout())),
    };
    let (mut after, mut is_whole) = (None, true);
    loop {
        let before = client.usage().read_units;
        let reading = ReadOptions { strong: true, attributes: None };
        let page = client.scan(&Scan { segment: 0, segments: 1, after, limit: PAGE_ITEMS_MAX, reading }).await?;
        for item in page.items {
            match record(item, &settings) {
                None => {}
                Some(Ok(record)) => {
                    let line = jsonl::write(&record).map_err(|error| unwritable(&record, &settings, &error))?;
                    writeln!(to, "{line}").map_err(failed)?;
                }
                Some(Err(reason)) => {
                    eprintln!("left out: {reason}");
                    is_whole = false;
                }
            }
        }
        after = page.next;
        if after.is_none() {
            to.flush().map_err(failed)?;
            return Ok(is_whole);
        }
        tokio::time::sleep(pace.take(client.usage().read_units - before)).await;
    }
}

/// Returns the record that an item is. `None` for derived items, and those of others.
fn record(item: Item, settings: &Settings) -> Option<Result<Record, String>> {
    let schema = &settings.schema;
    let key = key_of(&item, schema)?;
    let node = schema.parse_partition(&key.pk).ok()?;
    match schema.parse_sort_key(&key.sk)? {
        SortKey::Node => {
            let attributes = Attributes::of_node(&item, schema);
            let base = match BaseNode::read(item, &node, schema) {
                Ok(base) => base,
                Err(error) => return Some(Err(format!("{} | {}: {error}", key.pk, key.sk))),
            };
            let BaseNode { parent, segment, .. } = base;
            Some(Ok(Record::Node(Node { node, parent, segment, attributes })))
        }
        SortKey::Revision { version, topic } => {
            let attributes = Attributes::of_revision(&item, schema);
            Some(Ok(Record::Revision(Revision { node, topic, version, attributes })))
        }
        _ => None,
    }
}

fn unwritable(record: &Record, settings: &Settings, error: &serde_json::Error) -> TransferError {
    let key = record.key(&settings.schema).unwrap_or_else(|_| ItemKey::new("", ""));
    TransferError::Item { pk: key.pk, sk: key.sk, reason: error.to_string() }
}
