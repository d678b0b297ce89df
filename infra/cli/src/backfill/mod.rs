//! `sapwood backfill`: base records that the stream has never told of, or that look otherwise under other settings.

mod error;
mod scan;
mod write;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use indicatif::{ProgressBar, ProgressStyle};
use sapwood_import::backlog::Backlog;
use sapwood_import::cost;
use sapwood_import::work::{Level, remove};
use sapwood_table::Client;
use serde_json::json;

use crate::connect::{Connection, Patient};
use crate::pace::Pace;
use crate::transfer::InTheTable;
pub(crate) use error::BackfillError;
use scan::{Scanner, lock};
use write::{Counts, Writer};

/// Requests under way at a time.
const IN_FLIGHT_MAX: usize = 32;

/// Have the stream handler place nodes that it has never seen: those of an existing or a restored table, or all after a switch. Parents come
/// first. It can be stopped at any time: the same command goes on.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood backfill --table sapwood --endpoint http://127.0.0.1:8000 --dry-run
  sapwood backfill --table orders --profile prod --rate 500 --yes
  sapwood backfill --table sapwood --profile prod --cursors --yes

It ends with 0 if all is written, 1 if records were refused or the answer was no, 2 for wrong arguments, and 4 if it can't go on. Run `sapwood
verify` afterwards.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// Write every node, even if all of it is right already.
    #[arg(long)]
    all: bool,
    /// Start all cursors anew, and do nothing else: for a table whose stream is another than the one that they come from.
    #[arg(long, conflicts_with = "all")]
    cursors: bool,
    /// Read the table, say what the backfill costs, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Don't ask.
    #[arg(long)]
    yes: bool,
    /// Most write units a second, with all that the stream handler writes.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// Most read units a second while the table is read.
    #[arg(long, value_name = "UNITS")]
    read_rate: Option<f64>,
    /// How many parts of the table are read at a time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    segments: u32,
    /// The working file, which remembers what was done. By default it is in the current directory, and named after the table.
    #[arg(long, value_name = "FILE")]
    work: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Nodes and copies that aren't right.
    Wrong,
    /// All nodes, and copies that aren't right.
    All,
    /// Cursors.
    Cursors,
}

impl Arguments {
    fn scope(&self) -> Scope {
        match (self.cursors, self.all) {
            (true, _) => Scope::Cursors,
            (false, true) => Scope::All,
            (false, false) => Scope::Wrong,
        }
    }

    fn bar(&self, bar: ProgressBar, template: &str) -> ProgressBar {
        if self.json || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }
}

/// Returns true if everything is written.
pub(crate) async fn run(arguments: Arguments) -> Result<bool, BackfillError> {
    let (table, settings) = arguments.connection.open().await?;
    let client = Client::new(&table, &Patient, &settings.schema).named("", IN_FLIGHT_MAX);
    let path = arguments.work.clone().unwrap_or_else(|| format!("{}.backfill", arguments.connection.table).into());
    let scope = arguments.scope();
    let description = format!("{} {scope:?} {settings:?}", arguments.connection.described());
    let backlog = Mutex::new(Backlog::open(&path, &description, arguments.segments, &settings)?);
    if !lock(&backlog).is_arranged()? {
        let bar = arguments.bar(ProgressBar::new_spinner(), "{spinner} {elapsed} {human_pos} items read, {per_sec}");
        let pace = Pace::new(arguments.read_rate);
        let scanner = Scanner { client: &client, settings: &settings, scope, pace, bar: &bar };
        scanner.all(&backlog).await?;
        bar.finish_and_clear();
    }
    let mut backlog = backlog.into_inner().unwrap_or_else(PoisonError::into_inner);
    backlog.arrange(&mut InTheTable { client: &client, settings: &settings })?;
    let plan = Plan::of(&backlog)?;
    plan.print(client.usage().read_units, arguments.json);
    if arguments.dry_run {
        // What is wrong now may be right later, and the other way round.
        if backlog.done()? == 0 {
            drop(backlog);
            remove(&path);
        }
        return Ok(true);
    }
    if plan.is_empty() {
        return ended(Counts::default(), client.usage().read_units, backlog, &path, &arguments);
    }
    if !arguments.yes && !agrees()? {
        return Ok(false);
    }
    let template = "{bar:30} {human_pos} of {human_len} records, {per_sec}, {eta} left  {msg}";
    let bar = arguments.bar(ProgressBar::new(plan.records()), template);
    let mut writer = Writer::new(&client, &settings, scope, arguments.rate, &bar);
    writer.all(&mut backlog).await?;
    bar.finish_and_clear();
    ended(writer.counts, client.usage().read_units, backlog, &path, &arguments)
}

/// Says what was done. Where nothing was refused the working file has done its work.
fn ended(
    counts: Counts,
    read_units: f64,
    backlog: Backlog,
    path: &Path,
    arguments: &Arguments,
) -> Result<bool, BackfillError> {
    let Counts { redriven, right, others, others_refused } = counts;
    let refused = others_refused + backlog.levels()?.iter().map(|level| level.refused).sum::<u64>();
    if arguments.json {
        let done = json!({
            "redriven": redriven, "right": right, "others": others, "refused": refused, "read_units": read_units,
        });
        println!("{done}");
    } else {
        println!(
            "{redriven} nodes, and {others} copies or cursors are written, {right} were right by then, {refused} refused"
        );
    }
    drop(backlog);
    remove(path);
    Ok(refused == 0)
}

/// What is left to do.
struct Plan {
    /// The level, its nodes that wait, and their write units.
    levels: Vec<(usize, u64, u64)>,
    others: u64,
}

impl Plan {
    fn of(backlog: &Backlog) -> Result<Self, BackfillError> {
        let levels = backlog.levels()?.into_iter().filter_map(|level| match level.level {
            Level::Nodes(depth) => Some((depth, level.waiting(), level.units * level.waiting() / level.records.max(1))),
            Level::Revisions => None,
        });
        Ok(Self { levels: levels.filter(|(_, waiting, _)| *waiting > 0).collect(), others: backlog.others()? })
    }

    fn records(&self) -> u64 {
        self.levels.iter().map(|(_, nodes, _)| nodes).sum::<u64>() + self.others
    }

    fn is_empty(&self) -> bool {
        self.records() == 0
    }

    fn print(&self, read_units: f64, json: bool) {
        let units = self.levels.iter().map(|(.., units)| units).sum::<u64>() + self.others;
        if json {
            let nodes = self.records() - self.others;
            let plan = json!({
                "nodes": nodes, "others": self.others, "write_units": units, "dollars": cost::dollars(units), "read_units": read_units,
            });
            println!("{plan}");
            return;
        }
        let mut table = Table::new();
        table.load_style(NOTHING).set_header(["level", "nodes", "write units"]);
        for (depth, nodes, units) in &self.levels {
            table.add_row([depth.to_string(), nodes.to_string(), units.to_string()]);
        }
        table.add_row(["copies, cursors".to_owned(), self.others.to_string(), self.others.to_string()]);
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        println!("{table}");
        println!(
            "{units} write units, ${:.2} at the list price of us-east-1; {read_units:.0} read units were taken",
            cost::dollars(units)
        );
    }
}

fn agrees() -> Result<bool, BackfillError> {
    if !std::io::stdin().is_terminal() {
        return Err(BackfillError::NobodyToAsk);
    }
    print!("Backfill? [y/N] ");
    // Nothing depends on the question being seen: without an answer nothing is done.
    let _ = std::io::stdout().flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}
