//! `sapwood export`.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use anyhow::{Error, Result, anyhow};
use clap::Args;
use sapwood_core::audit::Class;
use sapwood_core::keys::{ItemKey, NodeRef, Tenant};
use sapwood_core::model::{Item, Settings, key_of};
use sapwood_engine::subtree::{FoundNode, Subtree};
use sapwood_import::Record;
use sapwood_store::{Client, Page, Query, ReadOptions, Scan, TableError};
use serde_json::json;

use super::formats::{Ended, Format, FormatError, FormatName, Options};
use crate::arguments::node;
use crate::clock::RateLimit;
use crate::connect::{Connection, Patient, TableClient, Whose};
use crate::exit::{Exit, GOES_ON, NOT_READ_OR_WRITTEN, of_table};
use crate::printable::shown;
use crate::recognised::{check_keys, check_nodes};
use crate::replace::Replacement;
use crate::say::{count, say};

/// Items in a page of the scan.
const PAGE_ITEMS_MAX: usize = 1_000;
/// Revisions in a page of a node's history. Those of several nodes are held at a time.
const HISTORY_PAGE_ITEMS_MAX: usize = 50;

/// Export all nodes and revisions to a file. JSON Lines, which `sapwood import` reads, keeps types and numbers. CSV and
/// graphs have nodes only.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood export --table sapwood --endpoint http://127.0.0.1:8000 > places.jsonl
  sapwood export --table sapwood --profile prod --rate 500 --output places.jsonl
  sapwood export --table sapwood --under V --format csv --output v.csv
  sapwood export --table sapwood --under V --format mermaid --show name
  sapwood export --table sapwood --format dot | dot -Tsvg > places.svg
  sapwood export --table sapwood --profile prod | sapwood import - --as-is --table copy --profile trial

Derived items aren't exported, and neither are Sapwood's own attributes, which begin with `_`. What is in the trash is exported as such; in CSV and
graphs it is a root. CSV has no lists, maps, sets, bytes, nulls and
empty texts: it says how many it left out, and with which options `sapwood import` reads the rest. CSV and graphs have no revisions.

A file gets its name once it is whole: one of that name is there until then, and stays if the export fails. What is exported can be
imported again with `sapwood import --as-is`, whatever the table holds.

--under finds nodes by rows: those of their parents, of the node that it names, and of paths. One that has lost all of them is missing. Without
it the whole table is read.

It ends with 0, 1 if a base record can't be understood (it is named, and left out) or --under names no node, 2 for wrong arguments, and 4
if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// Export this node's subtree only. The node keeps its parent, which an import asks for.
    #[arg(long, value_name = "ID")]
    under: Option<String>,
    /// Write the node that --under names as a root.
    #[arg(long, requires = "under")]
    as_root: bool,
    /// Export the nodes and revisions of this tenant only.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Set the format.
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: FormatName,
    /// Write these columns only, separated by commas (CSV).
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    /// Put an apostrophe before cells that look like formulas (CSV). They are texts that begin with =, +, -, @, a tab,
    /// a carriage return or an apostrophe. The same option of `sapwood import` takes it off.
    #[arg(long)]
    guard_formulas: bool,
    /// Show this attribute below the id (graphs). Repeat it for more attributes.
    #[arg(long = "show", value_name = "ATTRIBUTE")]
    shown: Vec<String>,
    /// Write to this file instead of the standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use at most so many read units a second, on average.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// Print JSON. It comes at the end.
    #[arg(long, requires = "output")]
    json: bool,
}

impl Arguments {
    fn extent(&self, settings: &Settings) -> Result<Extent> {
        let option = |option: &str, error: &dyn std::fmt::Display| Exit::Usage.because(format!("{option}: {error}"));
        let tenant = self.tenant.clone().map(Tenant::new).transpose().map_err(|error| option("--tenant", &error))?;
        let top = self.under.as_ref().map(|id| node(id, self.tenant.as_ref(), &settings.schema));
        let top = top.transpose().map_err(|error| option("--under", &error))?;
        if !self.columns.is_empty() && self.format != FormatName::Csv {
            return Err(option("--columns", &"only --format csv has columns"));
        }
        if self.guard_formulas && self.format != FormatName::Csv {
            return Err(option("--guard-formulas", &"only --format csv has cells"));
        }
        if !self.shown.is_empty() && !self.format.is_graph() {
            return Err(option("--show", &"only --format dot and --format mermaid show attributes"));
        }
        if self.format == FormatName::Csv && settings.schema.has_tenants() && tenant.is_none() {
            return Err(option("--format csv", &"it has no column for tenants: name one with --tenant"));
        }
        Ok(Extent { top, tenant, as_root: self.as_root })
    }
}

/// The nodes and revisions that are exported.
struct Extent {
    /// This node and what is below it. `None`: the whole table.
    top: Option<NodeRef>,
    /// Nodes and revisions of this tenant. `None`: of all.
    tenant: Option<Tenant>,
    /// True if the node at the top is written as a root.
    as_root: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    export(arguments).await.map_err(of_table(NOT_READ_OR_WRITTEN, GOES_ON))
}

async fn export(arguments: Arguments) -> Result<Exit> {
    let (table, settings, whose) = arguments.connection.opened(&Patient).await?;
    let extent = arguments.extent(&settings)?;
    check_keys(&table).await?;
    let client = Client::new(&table, &Patient, &settings.schema);
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from("the standard output"));
    let failed = |source| unwritten(FormatError::Output(source), &path, None);
    let top = extent.top.as_ref().map(|top| top.id.to_string());
    let options = Options {
        columns: arguments.columns.clone(),
        guards_formulas: arguments.guard_formulas,
        shown: arguments.shown.clone(),
    };
    let format = arguments.format.writer(options, top).map_err(|error| unwritten(error, &path, None))?;
    let to = BufWriter::new(match &arguments.output {
        Some(path) => Replacement::of(path).map_err(failed)?,
        None => Replacement::Standard(io::stdout()),
    });
    let pace = RateLimit::new(arguments.rate);
    let has_revisions = arguments.format.has_revisions();
    let counts = Counts::default();
    let mut export =
        Export { client: &client, settings: &settings, extent, pace, has_revisions, path, format, to, counts };
    match export.extent.top.clone() {
        Some(top) => export.below(top).await?,
        None => export.whole(whose).await?,
    }
    let (counts, ended) = export.end()?;
    counts.print(&ended, arguments.json);
    Ok(Exit::Wrong.unless(counts.left_out == 0))
}

struct Export<'a> {
    client: &'a TableClient<'a>,
    settings: &'a Settings,
    extent: Extent,
    pace: RateLimit,
    has_revisions: bool,
    path: PathBuf,
    format: Box<dyn Format>,
    to: BufWriter<Replacement>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    nodes: u64,
    revisions: u64,
    /// Base records that can't be understood.
    left_out: u64,
}

impl Export<'_> {
    async fn whole(&mut self, whose: Whose) -> Result<()> {
        let (mut after, mut classes) = (None, BTreeMap::new());
        loop {
            let before = self.client.usage().read_units;
            let reading = ReadOptions { strong: true, attributes: None };
            let page =
                self.client.scan(&Scan { segment: 0, segments: 1, after, limit: PAGE_ITEMS_MAX, reading }).await?;
            for item in &page.items {
                *classes.entry(Class::of(item, &self.settings.schema)).or_default() += 1;
            }
            page.items.into_iter().try_for_each(|item| self.take(item))?;
            after = page.next;
            if after.is_none() {
                return check_nodes(&classes, whose);
            }
            tokio::time::sleep(self.pace.take(self.client.usage().read_units - before)).await;
        }
    }

    /// Exports a node and what is below it.
    async fn below(&mut self, top: NodeRef) -> Result<()> {
        let mut below = Subtree::new(self.client, top.clone());
        let mut is_first = true;
        loop {
            let before = self.client.usage().read_units;
            let found = below.next().await?;
            if std::mem::take(&mut is_first) && found.iter().all(|found| found.record.is_none()) {
                return Err(Exit::Wrong.because(format!("there is no node `{}`", top.id)));
            }
            if found.is_empty() {
                return Ok(());
            }
            let nodes: Vec<NodeRef> =
                found.iter().filter(|found| found.record.is_some()).map(|found| found.node.clone()).collect();
            for FoundNode { record, .. } in found {
                record.map_or(Ok(()), |item| self.take(item))?;
            }
            if self.has_revisions {
                self.histories(&nodes).await?;
            }
            tokio::time::sleep(self.pace.take(self.client.usage().read_units - before)).await;
        }
    }

    /// Exports the revisions of these nodes. Most nodes have few, so the first of all are read side by side.
    async fn histories(&mut self, nodes: &[NodeRef]) -> Result<()> {
        let pages = self.client.all(nodes.iter().map(|node| self.history(node, None)).collect()).await;
        for (node, page) in nodes.iter().zip(pages) {
            let mut page = page?;
            loop {
                page.items.into_iter().try_for_each(|item| self.take(item))?;
                let Some(next) = page.next else { break };
                page = self.history(node, Some(next)).await?;
            }
        }
        Ok(())
    }

    /// Reads a page of a node's revisions, with the copies among them.
    fn history(
        &self,
        node: &NodeRef,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page, TableError>> + Send + use<'_> {
        let (client, schema) = (self.client, &self.settings.schema);
        let reading = ReadOptions { strong: true, attributes: None };
        let (pk, range) = (schema.partition(node), schema.revision_range());
        let query = Query { pk, range, after, limit: HISTORY_PAGE_ITEMS_MAX, descending: false, reading };
        async move { client.query(&query).await }
    }

    /// Writes the record that an item is, if it is one.
    fn take(&mut self, item: Item) -> Result<()> {
        let mut record = match record(item, self.settings) {
            None => return Ok(()),
            Some(Ok(record)) => record,
            Some(Err(reason)) => {
                eprintln!("left out: {}", shown(&reason.to_string()));
                self.counts.left_out += 1;
                return Ok(());
            }
        };
        if self.extent.tenant.is_some() && record.node().tenant != self.extent.tenant {
            return Ok(());
        }
        if let Record::Node(node) = &mut record
            && self.extent.as_root
            && Some(&node.node) == self.extent.top.as_ref()
        {
            (node.parent, node.trashed) = (None, None);
        }
        match record {
            Record::Node(_) => self.counts.nodes += 1,
            Record::Revision(_) => self.counts.revisions += 1,
        }
        let schema = &self.settings.schema;
        self.format.take(&record, &mut self.to).map_err(|error| unwritten(error, &self.path, record.key(schema).ok()))
    }

    /// Writes the rest.
    fn end(mut self) -> Result<(Counts, Ended)> {
        let ended = self.format.end(&mut self.to).and_then(|ended| {
            self.to.into_inner().map_err(io::IntoInnerError::into_error)?.keep()?;
            Ok(ended)
        });
        Ok((self.counts, ended.map_err(|error| unwritten(error, &self.path, None))?))
    }
}

impl Counts {
    /// Says what was exported, and what the format couldn't hold. The standard output may have the export itself.
    fn print(&self, ended: &Ended, json: bool) {
        let Ended { left_out, import_options } = ended;
        let (nodes, revisions) = (self.nodes, self.revisions);
        if json {
            say!(
                "{}",
                json!({
                    "nodes": nodes, "revisions": revisions, "unreadable": self.left_out,
                    "left_out": left_out, "import_options": import_options,
                })
            );
            return;
        }
        eprintln!("{} and {} are read", count(nodes, "node"), count(revisions, "revision"));
        for (name, values) in left_out {
            eprintln!("left out: {} of {}, which no cell can hold", count(*values, "value"), shown(name));
        }
        if !import_options.is_empty() {
            let words = shlex::try_join(import_options.iter().map(String::as_str));
            eprintln!("sapwood import reads it with {}", words.unwrap_or_else(|_| import_options.join(" ")));
        }
    }
}

/// Returns the record that an item is. `None` for derived items, and those of others.
fn record(item: Item, settings: &Settings) -> Option<Result<Record, String>> {
    let schema = &settings.schema;
    let key = key_of(&item, schema)?;
    let (node, sort_key) = (schema.parse_partition(&key.pk).ok()?, schema.parse_sort_key(&key.sk)?);
    let record = Record::read(item, node, sort_key, schema);
    record.map_err(|error| format!("{} | {}: {error}", key.pk, key.sk)).transpose()
}

fn unwritten(error: FormatError, path: &std::path::Path, key: Option<ItemKey>) -> Error {
    match error {
        FormatError::Output(source) => anyhow!("{} can't be written: {source}", path.display()),
        FormatError::Json(reason) => {
            let ItemKey { pk, sk } = key.unwrap_or_else(|| ItemKey::new("", ""));
            anyhow!("the item {pk} | {sk} can't be written as JSON: {reason}")
        }
        error @ FormatError::TooManyColumns { .. } => Exit::Usage.because(error),
    }
}
