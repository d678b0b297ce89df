//! `sapwood changes` and `sapwood feed`: the feed of a tree, read by the API's own code.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use sapwood_api::contract::ChangeBody;
use sapwood_core::keys::{NodeRef, Schema};
use sapwood_core::model::{CLOCKS_APART_MS, FeedName, Settings};
use sapwood_core::plan::{Rules, Task};
use sapwood_core::request::{Action, Condition};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::query::{CHANGES_MAX, Followed, Reader};
use sapwood_store::{Client, RetryPolicy, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::clock::nanoseconds;
use crate::connect::{Connection, Patient};
use crate::exit::Exit;
use crate::node::{NodeArguments, Opened};
use crate::printable::line;
use crate::replace::replace;
use crate::say::say;

/// How long a follower pauses after a look that found nothing.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Most looks in vain, each of half a read unit, before the cursor moves on: a minute.
const LOOKS_MAX: usize = 30;

/// List a tree, then what changed since, by its feed.
#[derive(Args)]
#[command(mut_arg("id", |id| id.help("Name the tree's root")))]
#[command(after_help = "Examples:
  sapwood changes D --table sapwood --endpoint http://127.0.0.1:8000
  sapwood changes D --table sapwood --profile prod --cursor d.cursor >> d.jsonl
  sapwood changes D --table sapwood --profile prod --cursor d.cursor --follow

Each line is a JSON object with an `id`, and the `node` as it is now: null if it isn't in the tree. First come all nodes of the tree. A line can come twice.
This machine's clock has to be right to 1.5 seconds; one that is ahead is refused. With --cursor, print into a file: the cursor doesn't know what a pipe has lost.

It ends with 0, with 1 if there is no such root, the cursor is too old or the clock is ahead, with 2 if the feeds haven't begun, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    tree: NodeArguments,
    /// Go on with what changes from now on, until the command is stopped.
    #[arg(long)]
    follow: bool,
    /// Begin at the cursor in this file, if it is there, and keep the cursor in it.
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
}

/// Where a run has ended, as the file has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cursor {
    feed: String,
    tree: String,
    tenant: Option<String>,
    is_listing: bool,
    since: u64,
    after: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let Arguments { tree, follow, cursor: path } = arguments;
    let opened = tree.open().await?;
    let (client, Opened { settings, node, .. }) = (opened.client(), &opened);
    check_on(settings)?;
    check_clock(&opened.table).await?;
    let reader = Reader::new(&client, settings);
    let begun = || Exit::Usage.because("the table's feeds haven't begun; run `sapwood feed begin`");
    let feed = reader.feed_name(true).await?.ok_or_else(begun)?.0;
    let mut from = match path.as_deref().map(kept).transpose()?.flatten() {
        Some(cursor) => resumed(cursor, &feed, node)?,
        None => {
            if let Some(parent) = reader.node(node, true).await?.parent {
                let words = format!(
                    "{} has the parent {parent}, and a feed is of a whole tree: name its farthest ancestor",
                    node.id
                );
                return Err(Exit::Wrong.because(words));
            }
            Followed::begin(Patient.now_ms(), Rules::default())
        }
    };
    loop {
        let page = reader.changes(node, &from, Patient.now_ms(), (CHANGES_MAX, Rules::default())).await?;
        for change in &page.changes {
            say!("{}", line(&ChangeBody::of(change, None, settings))?);
        }
        from = page.followed;
        if let Some(path) = &path {
            let cursor = line(&Cursor::of(&from, &feed, node))?;
            replace(path, cursor.as_bytes()).with_context(|| format!("{} can't be written", path.display()))?;
        }
        if page.more {
            continue;
        }
        if !follow {
            return Ok(());
        }
        for _ in 0..LOOKS_MAX {
            tokio::time::sleep(LOOK_EVERY).await;
            if reader.has_changes(node, from.since(), Patient.now_ms()).await? {
                break;
            }
        }
        check_clock(&opened.table).await?;
        if from.is_too_old(Patient.now_ms()) || reader.feed_name(false).await?.is_none_or(|now| now.0 != feed) {
            return Err(anew());
        }
    }
}

fn check_on(settings: &Settings) -> Result<()> {
    let words = "the table keeps no feeds (CHANGES): deploy Changes=on first, or name it with --parameter";
    if settings.changes { Ok(()) } else { Err(Exit::Usage.because(words)) }
}

/// Refuses a clock that is ahead of DynamoDB's by more than a feed allows: changes would be missing.
async fn check_clock(table: &DynamoTable) -> Result<()> {
    let mut attempt = 0;
    let (asked, time) = loop {
        let asked = Patient.now_ms();
        match table.time().await {
            Ok(time) => break (asked, time),
            Err(error) if !Patient.wait(attempt).await => return Err(error.into()),
            Err(_) => attempt += 1,
        }
    };
    // The endpoint says whole seconds.
    let ahead = time.map_or(0, |time| asked.saturating_sub((time + 1) * 1_000));
    if ahead <= CLOCKS_APART_MS {
        return Ok(());
    }
    Err(Exit::Wrong.because(format!(
        "this machine's clock is {ahead} ms ahead of the table's endpoint, so changes would be missing: set the clock that is wrong"
    )))
}

fn kept(path: &Path) -> Result<Option<Cursor>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} can't be read", path.display())),
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(cursor) => Ok(Some(cursor)),
            Err(error) => Err(Exit::Usage.because(format!("{} is no cursor of `changes`: {error}", path.display()))),
        },
    }
}

fn resumed(cursor: Cursor, feed: &str, tree: &NodeRef) -> Result<Followed> {
    let tenant = tree.tenant.as_ref().map(sapwood_core::keys::Tenant::as_str);
    if (cursor.tree.as_str(), cursor.tenant.as_deref()) != (tree.id.as_str(), tenant) {
        return Err(Exit::Usage.because(format!("--cursor is of another tree, {}", cursor.tree)));
    }
    let Cursor { is_listing, since, after, .. } = cursor;
    let from = if is_listing { Followed::Listing { since, after } } else { Followed::Changes { since, after } };
    let now = Patient.now_ms();
    if cursor.feed == feed && !from.is_too_old(now) && from.since() <= now { Ok(from) } else { Err(anew()) }
}

fn anew() -> anyhow::Error {
    Exit::Wrong.because(
        "the cursor is older than 30 days, ahead of this machine's clock, or of a feed that has ended: changes may be missing. Delete its file, \
         list the tree anew, and put it in the place of your mirror",
    )
}

impl Cursor {
    fn of(followed: &Followed, feed: &str, tree: &NodeRef) -> Self {
        let (Followed::Listing { since, after } | Followed::Changes { since, after }) = followed;
        Self {
            feed: feed.to_owned(),
            tree: tree.id.to_string(),
            tenant: tree.tenant.as_ref().map(|tenant| tenant.as_str().to_owned()),
            is_listing: matches!(followed, Followed::Listing { .. }),
            since: *since,
            after: after.clone(),
        }
    }
}

/// Begin all feeds again: followers list their trees.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood feed begin --table sapwood --endpoint http://127.0.0.1:8000
  sapwood feed begin --table sapwood --profile prod

Run it a minute after every function has Changes=on, and again after it was off, after a restore, and after stream records were lost.

It ends with 0, with 2 if the table keeps no feeds, and with 4 if it can't be written.")]
pub(crate) struct FeedArguments {
    /// Say what to do.
    #[arg(value_parser = ["begin"])]
    action: String,
    #[command(flatten)]
    connection: Connection,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn feed(arguments: FeedArguments) -> Result<()> {
    let FeedArguments { action: _, connection, json } = arguments;
    let (table, settings) = connection.open().await?;
    check_on(&settings)?;
    let name = begin(&table, &settings.schema, Condition::Always).await?;
    say!("{}", if json { json!({ "feed": name }).to_string() } else { format!("the feeds have begun as {name}") });
    Ok(())
}

/// Begins the feeds of a table whose only handler is about to start, or ends them, as the settings say.
pub(crate) async fn begin_or_end(table: &impl Table, settings: &Settings) -> Result<()> {
    match settings.changes {
        true => _ = begin(table, &settings.schema, Condition::Absent).await?,
        false => _ = table.delete(&settings.schema.feed_key(), &Condition::Always).await?,
    }
    Ok(())
}

async fn begin(table: &impl Table, schema: &Schema, condition: Condition) -> Result<String> {
    let feed = FeedName(nanoseconds().to_string());
    let put = Action::Put { key: schema.feed_key(), item: feed.item(schema), condition };
    Client::new(table, &Patient, schema).carry_out(&Task::Write(put)).await.outcome?;
    Ok(feed.0)
}
