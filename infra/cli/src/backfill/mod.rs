//! `sapwood backfill`: base records that the stream has never told of, or that look otherwise under other settings.

mod scan;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use sapwood_core::audit::NotBegun;
use sapwood_core::model::{Announcement, Epoch, Settings};
use sapwood_core::plan::Rules;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::audit::Audit;
use sapwood_import::backlog::Backlog;
use sapwood_import::cost;
use sapwood_import::work::Level;
use sapwood_store::Client;
use serde_json::json;

use crate::arguments::Segments;
use crate::clock::{RateLimit, nanoseconds};
use crate::compare::Reading;
use crate::connect::{Connection, Patient, TableClient, Whose, left_by_handler};
use crate::exit::{Exit, GOES_ON, NOT_READ_OR_WRITTEN, of_table};
use crate::recognised::check_keys;
use crate::say::{agrees, bar, count, table};
use crate::transfer::InTheTable;
use scan::{Scanner, lock};
use write::{Counts, Writer};

/// Requests under way at a time.
const IN_FLIGHT_MAX: usize = 32;

/// How old a working file may be that a backfill goes on from.
const SCAN_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Reconcile nodes that the stream handler has never seen. They are those of an existing or a restored table, or all
/// nodes after you change a parameter. Parents come first. You can stop it at any time: the same command resumes.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood backfill --table sapwood --endpoint http://127.0.0.1:8000 --dry-run
  sapwood backfill --table orders --profile prod --rate 500 --yes
  sapwood backfill --table sapwood --profile prod --cursors --yes
  sapwood backfill --table sapwood --profile prod --names --yes
  sapwood backfill --table sapwood --profile prod --totals --yes

It ends with 0 if all is written, 1 if records were refused or the answer was no, 2 for wrong arguments, and 4 if it can't go on. Run `sapwood
verify` afterwards.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// Requeue every node, even if its rows are right.
    #[arg(long)]
    all: bool,
    /// Restart all checkpoints, and do nothing else. A table with a new stream needs it.
    #[arg(long, conflicts_with = "all")]
    cursors: bool,
    /// Add missing name reservations, delete wrong ones, and do nothing else. Use it after UniqueNames was changed, or
    /// after an import.
    #[arg(long, conflicts_with_all = ["all", "cursors"])]
    names: bool,
    /// Recount all totals, and do nothing else. Use it after Totals was changed, and after a restore. The parts of
    /// earlier totals are deleted.
    #[arg(long, conflicts_with_all = ["all", "cursors", "names"])]
    totals: bool,
    /// Report what the backfill would cost, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation.
    #[arg(long)]
    yes: bool,
    /// Use at most so many write units a second, the stream handler's included.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// Use at most so many read units a second while the table is read.
    #[arg(long, value_name = "UNITS")]
    read_rate: Option<f64>,
    #[command(flatten)]
    segments: Segments,
    /// Save the progress in this file. By default it is in the current directory, and named after the table.
    #[arg(long, value_name = "FILE")]
    work: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The nodes and items that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Nodes and copies that aren't right.
    Wrong,
    /// All nodes, and copies that aren't right.
    All,
    Cursors,
    Names,
    /// All nodes, only so that they are counted, and parts of totals.
    Totals,
}

impl Arguments {
    fn scope(&self) -> Scope {
        match (self.totals, self.names, self.cursors, self.all) {
            (true, ..) => Scope::Totals,
            (false, true, ..) => Scope::Names,
            (false, false, true, _) => Scope::Cursors,
            (false, false, false, true) => Scope::All,
            (false, false, false, false) => Scope::Wrong,
        }
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    backfill(arguments).await.map_err(of_table(NOT_READ_OR_WRITTEN, GOES_ON))
}

async fn backfill(arguments: Arguments) -> Result<Exit> {
    let (table, settings, whose) = arguments.connection.open_and_tell().await?;
    check_keys(&table).await?;
    let others = match whose {
        Whose::Parameters => left_by_handler(&table).await?.map(|left| others(&left, &settings)).unwrap_or_default(),
        Whose::Handler | Whose::Defaults => Vec::new(),
    };
    others.iter().for_each(|words| eprintln!("{words}"));
    let client = Client::new(&table, &Patient, &settings.schema).named("", IN_FLIGHT_MAX);
    let scope = arguments.scope();
    check_scope(scope, &settings)?;
    let description = format!("{} {scope:?} {settings:?}", arguments.connection.identity(&table).await?);
    let reading = Source { client: &client, settings: &settings, whose, scope, description, arguments: &arguments };
    let mut backlog = reading.read(false).await?;
    let mut plan = Plan::of(&backlog, scope)?;
    plan.print(client.usage().read_units, arguments.json);
    if arguments.dry_run {
        backlog.forget()?;
        return Ok(Exit::Done);
    }
    let audit = Audit::new(&client, &settings);
    if plan.is_empty() {
        let is_over = match backlog.begun()? {
            Some((epoch, name)) => audit.end_epoch(Epoch(epoch), &name, Rules::default()).await?,
            None => true,
        };
        if is_over {
            return ended(Counts::default(), client.usage().read_units, whose, backlog, &arguments);
        }
        // Another epoch was begun since, in which nothing of this is counted.
    }
    if !arguments.yes {
        let question = if others.is_empty() { "Backfill?" } else { "Backfill with other settings than the handler's?" };
        let answer = agrees(question, "--yes to write without asking, or --dry-run");
        if !matches!(answer, Ok(true)) {
            backlog.forget()?;
            return answer.map(|_| Exit::Wrong);
        }
    }
    if scope == Scope::Totals {
        backlog = reading.begin_totals(&audit, backlog).await?;
        plan = Plan::of(&backlog, scope)?;
    }
    let template = "{bar:30} {human_pos} of {human_len} records, {rate}, {eta} left  {msg}";
    let bar = bar(Some(plan.records()), arguments.json, template);
    let mut writer = Writer::new(&client, &settings, scope, arguments.rate, &bar);
    writer.all(&mut backlog).await?;
    if let Some((epoch, name)) = backlog.begun()? {
        end_epoch(&audit, epoch, &name).await?;
    }
    bar.finish_and_clear();
    ended(writer.counts, client.usage().read_units, whose, backlog, &arguments)
}

fn check_scope(scope: Scope, settings: &Settings) -> Result<()> {
    match scope {
        Scope::Names if !settings.names.is_on() => bail!(
            "UniqueNames is off here (UNIQUE_NAMES), so there are no names to claim: deploy the parameter first, or name it with --parameter"
        ),
        Scope::Totals if settings.totals.is_none() => bail!(
            "Totals is empty here (TOTALS), so there is nothing to count: deploy the parameter first, or name it with --parameter"
        ),
        _ => Ok(()),
    }
}

/// The table that a working file is made of.
struct Source<'a> {
    client: &'a TableClient<'a>,
    settings: &'a Settings,
    whose: Whose,
    scope: Scope,
    /// The table and the options, for the working file.
    description: String,
    arguments: &'a Arguments,
}

impl Source<'_> {
    /// Reads the table into the working file, as far as it isn't there. `strong`: no node may be missed, however new.
    async fn read(&self, strong: bool) -> Result<Backlog> {
        let &Self { client, settings, whose, scope, arguments, .. } = self;
        let segments = arguments.segments.count(arguments.connection.endpoint().is_some());
        let path = arguments.work.clone().unwrap_or_else(|| format!("{}.backfill", arguments.connection.table).into());
        let backlog = Mutex::new(opened(&path, &self.description, segments, settings)?);
        if !lock(&backlog).is_arranged()? {
            let bar = bar(None, arguments.json, "{spinner} {elapsed} {human_pos} items read, {rate}");
            let reading = Reading { client, settings, pace: RateLimit::new(arguments.read_rate), until: None };
            let scanner = Scanner { reading, scope, bar: &bar, seen: Mutex::default(), whose, strong };
            scanner.all(&backlog).await?;
            bar.finish_and_clear();
        }
        let mut backlog = backlog.into_inner().unwrap_or_else(PoisonError::into_inner);
        backlog.arrange(&mut InTheTable { client, settings })?;
        Ok(backlog)
    }

    /// Begins all totals anew, and the working file with them, unless this command has begun the present epoch.
    async fn begin_totals(&self, audit: &Audit<'_, DynamoTable, Patient>, backlog: Backlog) -> Result<Backlog> {
        let begun = backlog.begun()?;
        let name = begun.as_ref().map_or_else(|| nanoseconds().to_string(), |(_, name)| name.clone());
        let used: Vec<Epoch> = backlog.epochs()?.into_iter().map(Epoch).collect();
        let Epoch(epoch) = audit.begin_epoch(&used, &name, Rules::default()).await?.map_err(not_begun)?;
        if begun.is_some_and(|(before, _)| before == epoch) {
            return Ok(backlog);
        }
        // A node that has come since its part was read is counted in the epoch before, and would be missed in this one.
        backlog.delete();
        let backlog = self.read(true).await?;
        backlog.begin(epoch, &name)?;
        Ok(backlog)
    }
}

/// Notes that all nodes are written, so that handlers count them: `sapwood doctor` has nothing to say then.
async fn end_epoch(audit: &Audit<'_, DynamoTable, Patient>, epoch: u32, name: &str) -> Result<()> {
    let is_ended = audit.end_epoch(Epoch(epoch), name, Rules::default()).await?;
    if is_ended { Ok(()) } else { Err(not_begun(NotBegun::Taken)) }
}

fn not_begun(reason: NotBegun) -> anyhow::Error {
    match reason {
        NotBegun::Taken => anyhow!(
            "somebody else has begun all totals anew meanwhile. Let that end; the same command begins them once more"
        ),
        NotBegun::Newer(newer) => {
            anyhow!("the totals can't be begun anew: {newer}. Use the version of sapwood that has written it")
        }
        NotBegun::AllAround => anyhow!(
            "the totals can't be begun anew: somebody has written epochs that lie all around the circle of their numbers. `sapwood repair` brings them \
             together first"
        ),
    }
}

/// Says in which variables the parameters differ from the handler's settings.
fn others(left: &Announcement, settings: &Settings) -> Vec<String> {
    let ours = Announcement::of(settings, &left.release);
    let value =
        |of: &Announcement, name: &str| of.variables.get(name).map_or("nothing".to_owned(), |v| format!("`{v}`"));
    let words = left.differs_in(settings).into_iter().map(|name| {
        let (handlers, given) = (value(left, name), value(&ours, name));
        format!("{name}: the handler has left {handlers}, and the parameters say {given}")
    });
    words.collect()
}

/// Opens the working file. One that is a day old begins anew: what it has read of the table is too old.
fn opened(path: &Path, description: &str, segments: u32, settings: &Settings) -> Result<Backlog> {
    let backlog = Backlog::open(path, description, segments, settings)?;
    let age = backlog.written_before().and_then(|last| last.elapsed().ok());
    if age.is_none_or(|age| age <= SCAN_AGE_MAX) {
        return Ok(backlog);
    }
    eprintln!("the working file {} is older than a day: the table is read anew", path.display());
    backlog.delete();
    Ok(Backlog::open(path, description, segments, settings)?)
}

/// Says what was done. Where nothing was refused the working file has done its work.
fn ended(counts: Counts, read_units: f64, whose: Whose, backlog: Backlog, arguments: &Arguments) -> Result<Exit> {
    let Counts { redriven, right, others, others_refused } = counts;
    let refused = others_refused + backlog.levels()?.iter().map(|level| level.refused).sum::<u64>();
    if arguments.json {
        let done = json!({
            "redriven": redriven, "right": right, "others": others, "refused": refused, "read_units": read_units,
            "settings": whose,
        });
        println!("{done}");
    } else {
        println!(
            "{}, and {others} copies, cursors or claims are written, {right} were right by then, {refused} refused",
            count(redriven, "node")
        );
    }
    backlog.delete();
    Ok(Exit::Wrong.unless(refused == 0))
}

/// The records that wait.
struct Plan {
    /// The level, its nodes that wait, and their write units.
    levels: Vec<(usize, u64, u64)>,
    others: u64,
    scope: Scope,
}

impl Plan {
    fn of(backlog: &Backlog, scope: Scope) -> Result<Self> {
        let levels = backlog.levels()?.into_iter().filter_map(|level| match level.level {
            // A touch, what the node is counted as, and a lane of each ancestor, in a transaction of its own at worst.
            Level::Nodes(depth) if scope == Scope::Totals => {
                Some((depth, level.waiting(), level.waiting() * (3 + 2 * depth as u64)))
            }
            Level::Nodes(depth) => Some((depth, level.waiting(), level.units * level.waiting() / level.records.max(1))),
            Level::Revisions => None,
        });
        Ok(Self { levels: levels.filter(|(_, waiting, _)| *waiting > 0).collect(), others: backlog.others()?, scope })
    }

    fn records(&self) -> u64 {
        self.levels.iter().map(|(_, nodes, _)| nodes).sum::<u64>() + self.others
    }

    fn is_empty(&self) -> bool {
        self.records() == 0
    }

    fn print(&self, read_units: f64, json: bool) {
        // A name is claimed by a transaction of a check and a write.
        let (what, units_of_one) = match self.scope {
            Scope::Names => ("claims of names", 4),
            Scope::Totals => ("parts of totals", 1),
            Scope::Wrong | Scope::All | Scope::Cursors => ("copies, cursors", 1),
        };
        let of_others = self.others * units_of_one;
        let units = self.levels.iter().map(|(.., units)| units).sum::<u64>() + of_others;
        if json {
            let nodes = self.records() - self.others;
            let plan = json!({
                "nodes": nodes, "others": self.others, "write_units": units, "dollars": cost::dollars(units), "read_units": read_units,
            });
            println!("{plan}");
            return;
        }
        let levels = self.levels.iter();
        let rows = levels.map(|(depth, nodes, units)| [depth.to_string(), nodes.to_string(), units.to_string()]);
        let others = [what.to_owned(), self.others.to_string(), of_others.to_string()];
        println!("{}", table(["level", "nodes", "write units"], rows.chain([others]).collect(), 0));
        println!(
            "{units} write units, ${:.2} at the list price of us-east-1; {read_units:.0} read units were taken",
            cost::dollars(units)
        );
    }
}
