//! `sapwood import`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;

use anyhow::{Error, Result, anyhow};
use clap::{Args, ValueEnum};
use sapwood_core::keys::Tenant;
use sapwood_core::model::Settings;
use sapwood_dynamodb::DynamoTable;
use sapwood_import::sources::{Source, Spooled};
use sapwood_import::work::{Level, LevelProgress, Work, WorkError};
use sapwood_import::{CsvOptions, Format, Options, TreebeardOptions, cost};
use sapwood_store::{Client, NoRetries};
use serde_json::json;

use super::InTheTable;
use super::write::Writer;
use crate::clock::RateLimit;
use crate::connect::{Connection, NoSettings, Patient, TableClient};
use crate::exit::{Exit, GOES_ON, NOT_READ_OR_WRITTEN, of_table};
use crate::printable::shown;
use crate::replace::Replacement;
use crate::say::{bar, count, say, table};
use crate::stop_signal;

/// Requests under way at a time.
const IN_FLIGHT_MAX: usize = 32;

/// Import the nodes and revisions of a file. They are checked as a whole first, and parents are written first. You can
/// stop it at any time: the same command resumes.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood import places.jsonl --table sapwood --endpoint http://127.0.0.1:8000
  sapwood import staff.csv --id employee --parent manager --table sapwood --dry-run
  sapwood import zip.csv --levels Country,State,City,Zip --number population --table sapwood --rate 500
  sapwood import AWSDynamoDB/01234/ --table sapwood --profile prod
  sapwood import - --as-is --table copy --profile trial

A line of JSON Lines is a node, {\"id\": \"d\", \"parent\": \"V\", \"segment\": \"docs\", \"attributes\": {}}, or a revision,
{\"node\": \"eq\", \"topic\": \"Audit\", \"version\": 3, \"attributes\": {}}. Nothing is written while the file has a fault.

A node that is being deleted is waited for, and then written; below a parent that is being deleted nothing is written. The working file
belongs to this file and this table. What was refused is tried again by the next run.

It ends with 0 if everything is written, 1 if the file has faults or records were refused, 2 for wrong arguments, 3 if Ctrl-C has stopped
it while it wrote, and 4 if it can't go on.")]
pub(crate) struct Arguments {
    /// Read JSON Lines, CSV, treebeard's dump_bulk or a DynamoDB export, or .gz. `-` is the standard input; it and
    /// pipes are copied into a temporary file first.
    file: PathBuf,
    #[command(flatten)]
    connection: Connection,
    /// Set the format if the file's name and beginning don't show it.
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Set the tenant of records that name none.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Read ids from this column (CSV). By default `id`.
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Read the parent's id from this column (CSV). By default `parent` or `parent_id`.
    #[arg(long, value_name = "COLUMN")]
    parent: Option<String>,
    /// Read paths such as Top.Science from this column (CSV). They name the parents, as in ltree. By default `path`, if
    /// no column has the parent's id.
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["parent", "levels"])]
    path: Option<String>,
    /// Read the segment from this column or field (CSV, treebeard).
    #[arg(long, value_name = "COLUMN")]
    segment: Option<String>,
    /// Read this column as numbers (CSV). Repeat it for more columns.
    #[arg(long = "number", value_name = "COLUMN")]
    numbers: Vec<String>,
    /// Read paths from these columns, from the top (CSV). Separate them by commas. Each is a level.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', conflicts_with_all = ["id", "parent"])]
    levels: Vec<String>,
    /// Set the separator of cells (CSV). By default a comma, and a tab in files that end in .tsv.
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<char>,
    /// Set the most lines of a quoted cell (CSV). More lines are reported as an unclosed quote. By default 100.
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(u64).range(1..))]
    cell_lines: Option<u64>,
    /// Remove the apostrophes of `sapwood export --guard-formulas` (CSV).
    #[arg(long)]
    guard_formulas: bool,
    /// Accept whatever a table can hold: the file is a copy of one. Parents that are nowhere, cycles, nodes with more
    /// than 98 ancestors and records of up to 400 KB are written as they are, with the same findings of `sapwood
    /// verify`.
    #[arg(long)]
    as_is: bool,
    /// Check the file, report the cost, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Use at most so many write units a second, the stream handler's included.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// Skip waiting for parents. The stream handler then reconciles many nodes twice.
    #[arg(long)]
    no_wait: bool,
    /// Save the progress in this file. By default it is beside the input, and ends in .import.
    #[arg(long, value_name = "FILE")]
    work: Option<PathBuf>,
    /// Print JSON. It comes at the end.
    #[arg(long)]
    json: bool,
}

/// The formats, by their names.
#[derive(Clone, Copy, ValueEnum)]
enum FormatName {
    Jsonl,
    Csv,
    Treebeard,
    Dynamodb,
}

impl Arguments {
    fn options(&self, settings: &Settings, table: Option<&str>) -> Result<Options> {
        let tenant = self.tenant.as_ref().map(|tenant| Tenant::new(tenant.clone())).transpose();
        let delimiter = self.delimiter.map(u8::try_from).transpose();
        let format = self.format.map(|format| match format {
            FormatName::Jsonl => Format::JsonLines,
            FormatName::Csv => Format::Csv,
            FormatName::Treebeard => Format::Treebeard,
            FormatName::Dynamodb => Format::DynamoDb,
        });
        Ok(Options {
            format,
            settings: settings.clone(),
            table: table.map(str::to_owned),
            as_is: self.as_is,
            tenant: tenant.map_err(|error| Exit::Usage.because(format!("--tenant: {error}")))?,
            csv: CsvOptions {
                id: self.id.clone(),
                parent: self.parent.clone(),
                path: self.path.clone(),
                segment: self.segment.clone(),
                numbers: self.numbers.clone(),
                levels: self.levels.clone(),
                delimiter: delimiter.map_err(|_| Exit::Usage.because("--delimiter: one ASCII character"))?,
                cell_lines_max: self.cell_lines,
                guards_formulas: self.guard_formulas,
            },
            treebeard: TreebeardOptions { segment: self.segment.clone() },
        })
    }
}

/// The file, and its working file.
struct Input {
    spooled: Option<Spooled>,
    file: PathBuf,
    work: PathBuf,
    refused: PathBuf,
}

impl Input {
    fn of(arguments: &Arguments) -> Result<Self> {
        let spooled = Spooled::of(&arguments.file)?;
        let beside = |path: &Path, ending: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let file = spooled.as_ref().map_or_else(|| arguments.file.clone(), Spooled::path);
        // The refused records of a pipe stay when its copy goes.
        let refused = spooled.as_ref().map_or(&*file, |spooled| &*spooled.name);
        let refused =
            beside(arguments.work.as_deref().filter(|_| spooled.is_some()).unwrap_or(refused), ".refused.jsonl");
        let work = arguments.work.clone().unwrap_or_else(|| beside(&file, ".import"));
        Ok(Self { spooled, file, work, refused })
    }

    fn source(&self, options: &Options) -> Result<Source> {
        let mut source = Source::open(&self.file, options)?;
        source.name = self.spooled.as_ref().map(|spooled| spooled.name.clone());
        Ok(source)
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    import(arguments).await.map_err(of_table(NOT_READ_OR_WRITTEN, GOES_ON))
}

async fn import(arguments: Arguments) -> Result<Exit> {
    let input = Input::of(&arguments)?;
    let Some((table, settings, identity)) = opened(&arguments, &input).await? else { return Ok(Exit::Wrong) };
    let client = Client::new(&table, &Patient, &settings.schema).named("", IN_FLIGHT_MAX);
    let options = arguments.options(&settings, identity.as_deref())?;
    let Some(mut work) = checked(&arguments, &client, &options, &input)? else { return Ok(Exit::Wrong) };
    let levels = work.levels()?;
    if arguments.dry_run {
        print_plan(&levels, arguments.json);
        work.forget()?;
        return Ok(Exit::Done);
    }
    let summary = work.summary()?;
    let template = "{bar:30} {human_pos} of {human_len} records, {rate}, {eta} left  {msg}";
    let bar = bar(Some(summary.nodes + summary.revisions), arguments.json, template);
    let (pace, waits, as_is) = (RateLimit::new(arguments.rate), !arguments.no_wait, arguments.as_is);
    let writer = Writer { client: &client, settings: &settings, pace, bar, waits, as_is };
    writer.bar.set_position(summary.written + summary.refused);
    let stopped = stop_signal::catch(false)?;
    writer.all(&mut work, pin!(stopped)).await?;
    writer.bar.finish_and_clear();
    ended(&arguments, work, &input)
}

/// An open table, its settings, and which table it is.
type Opened = (DynamoTable, Settings, Option<String>);

/// Opens the table. Faults of the file are found without a table that can't be reached: then there is `None`.
async fn opened(arguments: &Arguments, input: &Input) -> Result<Option<Opened>> {
    let connection = &arguments.connection;
    let local = connection.settings()?;
    // This finds faults of the file as such.
    input.source(&arguments.options(&local, None)?)?;
    let identified = async |(table, settings): (DynamoTable, Settings)| {
        let identity = connection.identity(&table).await?;
        Ok(Some((table, settings, Some(identity))))
    };
    match connection.open_to_write(&NoRetries).await {
        Err(error) if error.is::<NoSettings>() => {}
        opened => return identified(opened?).await,
    }
    let table = connection.table(local.schema.clone()).await?;
    let client = Client::new(&table, &Patient, &local.schema).named("", IN_FLIGHT_MAX);
    match checked(arguments, &client, &arguments.options(&local, None)?, input) {
        Ok(None) => return Ok(None),
        // It is made once the table is reached.
        Ok(Some(work)) => work.forget()?,
        // Records that are written were checked with the table's own settings.
        Err(error) if matches!(error.downcast_ref(), Some(WorkError::OtherOptions { .. })) => {}
        Err(error) => return Err(error),
    }
    match connection.open_to_write(&Patient).await {
        Err(error) if error.is::<NoSettings>() && arguments.dry_run => {
            eprintln!("{error}: the import is planned with those of --parameter and the template's defaults");
            Ok(Some((table, local, None)))
        }
        opened => identified(opened?).await,
    }
}

/// Reads the file into the working file and checks it as a whole. `None` if it says faults; then nothing is left of it.
fn checked(arguments: &Arguments, client: &TableClient<'_>, options: &Options, input: &Input) -> Result<Option<Work>> {
    let mut source = input.source(options)?;
    let mut work = Work::open(&input.work, &source, options)?;
    let checking = (|| {
        while work.load_some(&mut source)? {}
        let mut in_the_table = InTheTable { client, settings: &options.settings };
        while work.check_some(&mut in_the_table)? {}
        work.faults()
    })();
    let faults = match checking {
        Ok(faults) if faults.is_empty() => {
            let summary = work.summary()?;
            if summary.nodes + summary.revisions > 0 {
                return Ok(Some(work));
            }
            work.forget()?;
            return Err(Exit::Wrong.because(format!(
                "{} has no record: nothing is written. Check that it was written completely",
                arguments.file.display()
            )));
        }
        Ok(faults) => faults,
        Err(error) => {
            work.forget()?;
            return Err(error.into());
        }
    };
    work.forget()?;
    faults.to_string().lines().for_each(|fault| eprintln!("{}", shown(fault)));
    eprintln!("{}: nothing is written", count(faults.count(), "fault"));
    if arguments.json {
        say!("{}", json!({"written": 0, "faults": faults.count()}));
    }
    Ok(None)
}

/// Says what was written. Where nothing was refused the working file has done its work.
fn ended(arguments: &Arguments, work: Work, input: &Input) -> Result<Exit> {
    let summary = work.summary()?;
    if arguments.json {
        say!("{}", json!({"written": summary.written, "refused": summary.refused, "units": summary.units}));
    } else {
        let verb = if summary.written == 1 { "is" } else { "are" };
        say!("{} {verb} written, {} refused", count(summary.written, "record"), summary.refused);
    }
    if summary.refused == 0 {
        work.delete();
        return Ok(Exit::Done);
    }
    let refused = &input.refused;
    let failed = |source: io::Error| anyhow!("{} can't be written: {source}", refused.display());
    let mut file = BufWriter::new(Replacement::of(refused).map_err(failed)?);
    work.refused::<Error>(|line, reason| {
        eprintln!("refused: {}", shown(reason));
        writeln!(file, "{line}").map_err(failed)
    })?;
    file.into_inner().map_err(|error| failed(error.into_error()))?.keep().map_err(failed)?;
    eprintln!("the refused records are in {}; the same command tries them again", refused.display());
    Ok(Exit::Wrong)
}

fn print_plan(levels: &[LevelProgress], json: bool) {
    let units: u64 = levels.iter().map(|level| level.units).sum();
    if json {
        let records: u64 = levels.iter().map(|level| level.records).sum();
        say!("{}", json!({"records": records, "units": units, "dollars": cost::dollars(units)}));
        return;
    }
    let row = |level: &LevelProgress| {
        let name = match level.level {
            Level::Nodes(depth) => depth.to_string(),
            Level::Revisions => "revisions".to_owned(),
        };
        [name, level.records.to_string(), level.bytes.to_string(), level.units.to_string()]
    };
    say!("{}", table(["level", "records", "bytes", "write units"], levels.iter().map(row).collect(), 0));
    say!("{units} write units, ${:.2} at the list price of us-east-1", cost::dollars(units));
}
