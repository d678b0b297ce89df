//! `sapwood trash`.

use anyhow::Result;
use clap::{Arg, ArgAction, Args, Subcommand};
use sapwood_api::contract::TrashBody;
use sapwood_api::writes::Source;
use sapwood_core::keys::{Id, NodeRef, Tenant, TrashTime};
use sapwood_core::model::{BaseNode, DeletionMode, ETag, Settings};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::query::{InTrash, ListOptions, Order, Reader};
use sapwood_engine::write::{Children, Command, OnConflict, Refusal, Tags, WriteError};
use sapwood_store::{Client, ReadOptions};

use super::write::{SpotArguments, Writing};
use super::{Opened, Target, whole_pages};
use crate::connect::{Connection, Patient, TableClient};
use crate::exit::{Exit, of_table};
use crate::printable::{line, shown};
use crate::say::{YES, agrees, say};

/// List what is in the trash, restore it, or delete it for good.
#[derive(Args)]
#[command(arg = json())]
#[command(after_help = "Examples:
  sapwood trash list --table sapwood --endpoint http://127.0.0.1:8000
  sapwood trash restore V --table sapwood --profile prod --wait
  sapwood trash empty --older-than 30d --yes --table sapwood --profile prod

sapwood rm --trash puts a node there, with all that is below it. What the API puts there is the same. Nothing empties the trash by itself: run
`sapwood trash empty --older-than 30d --yes` on a schedule of your own.

It ends with 0, 1 if it is refused, there is no such node or the answer was no, 3 if --wait ends before all is done, and 4 if the table can't be
read or written.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// `--json` before the command, which is the command's own.
fn json() -> Arg {
    Arg::new("json").long("json").global(true).action(ArgAction::SetTrue).help("Print JSON. It is that of the HTTP API")
}

#[derive(Subcommand)]
enum What {
    /// List the nodes in the trash, newest first. Each has its time, its writer and its former parent.
    #[command(after_help = "Examples:
  sapwood trash list --table sapwood --endpoint http://127.0.0.1:8000
  sapwood trash list --older-than 30d --json --table sapwood --profile prod")]
    List(Whose),
    Restore(RestoreArguments),
    Empty(EmptyArguments),
}

/// The table, and whose trash.
#[derive(Args)]
struct Whose {
    #[command(flatten)]
    connection: Connection,
    /// Set the tenant, in a table with tenants.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Print JSON. It is that of the HTTP API.
    #[arg(long)]
    json: bool,
    /// Select nodes in the trash for so long: 30d, 12h, 45m or 10s. Nodes without a trash time are skipped.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    older_than: Option<u64>,
}

/// Restore a node and its subtree from the trash.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood trash restore V --table sapwood --endpoint http://127.0.0.1:8000
  sapwood trash restore V --to W --table sapwood --profile prod --wait

It is refused if the parent that the node had is gone, if another node has its id, or if it is in the trash as well: name another with --to, or --root.")]
struct RestoreArguments {
    #[command(flatten)]
    target: Target,
    /// Set another parent than the former one.
    #[arg(long, value_name = "PARENT")]
    to: Option<String>,
    /// Make the node a root.
    #[arg(long, conflicts_with = "to")]
    root: bool,
    #[command(flatten)]
    placing: SpotArguments,
    #[command(flatten)]
    writing: Writing,
}

/// Delete nodes in the trash permanently, oldest first. Their subtrees are deleted, too. Nodes that are restored
/// meanwhile stay.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood trash empty --table sapwood --endpoint http://127.0.0.1:8000
  sapwood trash empty --older-than 30d --revisions --yes --table sapwood --profile prod

Each is an operation of the HTTP API's, which the stream handler carries out. Without a terminal it needs --yes.")]
struct EmptyArguments {
    #[command(flatten)]
    whose: Whose,
    /// Delete the revisions, too.
    #[arg(long)]
    revisions: bool,
    /// Skip the confirmation.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    writing: Writing,
}

/// Reads how long ago: a number and a unit.
fn seconds(text: &str) -> Result<u64, &'static str> {
    let wanted = "write it as a number and a unit: 30d, 12h, 45m or 10s";
    let unit = text.chars().next_back().ok_or(wanted)?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wanted)?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(wanted),
    };
    number.checked_mul(seconds).ok_or("that is too long ago")
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    match arguments.what {
        What::List(whose) => list(whose).await,
        What::Restore(arguments) => restore(arguments).await,
        What::Empty(arguments) => empty(arguments).await.map_err(of_table("the table can't be read", "")),
    }
}

struct Trash<'a> {
    reader: Reader<'a, DynamoTable, Patient>,
    tenant: Option<Tenant>,
    order: Order,
    until: Option<TrashTime>,
    options: ListOptions,
    is_over: bool,
}

impl<'a> Trash<'a> {
    fn open(whose: &Whose, client: &'a TableClient<'a>, settings: &'a Settings, order: Order) -> Result<Self> {
        let tenant = whose.tenant.clone().map(Tenant::new).transpose()?;
        let until = whose.older_than.and_then(|seconds| TrashTime::parse(&Source::system().ago(seconds)));
        let options = whole_pages();
        Ok(Self { reader: Reader::new(client, settings), tenant, order, until, options, is_over: false })
    }

    /// The next page; `None` after the last.
    async fn next(&mut self) -> Result<Option<Vec<InTrash>>> {
        if self.is_over {
            return Ok(None);
        }
        let page = self.reader.trash(self.tenant.as_ref(), self.order, self.until.as_ref(), &self.options).await?;
        self.options.after = page.next;
        self.is_over = self.options.after.is_none();
        // Of one that another client has put there nobody may know when that was: it may have been just now.
        let is_timed = |found: &InTrash| self.until.is_none() || found.trashed.at != TrashTime::unknown();
        Ok(Some(page.items.into_iter().filter(is_timed).collect()))
    }
}

async fn list(whose: Whose) -> Result<Exit> {
    let (table, settings) = whose.connection.open().await?;
    let client = Client::new(&table, &Patient, &settings.schema);
    let mut trash = Trash::open(&whose, &client, &settings, Order::Descending)?;
    while let Some(found) = trash.next().await? {
        for body in found.into_iter().map(TrashBody::from) {
            say!("{}", if whose.json { line(&body)? } else { words(&body) });
        }
    }
    Ok(Exit::Done)
}

fn words(body: &TrashBody) -> String {
    let said = |text: &Option<String>| text.as_ref().map_or_else(|| "?".to_owned(), |text| shown(text).into_owned());
    let parent =
        body.trashed.parent.as_ref().map_or_else(|| "as a root".to_owned(), |id| format!("from {}", shown(id)));
    format!("{}  {}  by {}  {parent}", said(&body.trashed.at), shown(&body.id), said(&body.trashed.by))
}

async fn restore(arguments: RestoreArguments) -> Result<Exit> {
    let opened = arguments.target.node.open_to_write().await?;
    let to = arguments.to.map(Id::new).transpose()?;
    let parent = if arguments.root { Some(None) } else { to.map(Some) };
    let (spot, on_conflict) = (arguments.placing.spot()?, OnConflict::default());
    let command = Command::Restore { node: opened.node.clone(), parent, segment: None, spot, on_conflict };
    arguments.writing.carry_out(&opened, &command, arguments.target.json).await
}

async fn empty(arguments: EmptyArguments) -> Result<Exit> {
    let (table, settings) = arguments.whose.connection.open_to_write(&Patient).await?;
    let question = "Delete what is in the trash for good, with all that is below it?";
    if !arguments.yes && !agrees(question, YES)? {
        return Ok(Exit::Wrong);
    }
    let client = Client::new(&table, &Patient, &settings.schema);
    let mut trash = Trash::open(&arguments.whose, &client, &settings, Order::Ascending)?;
    let (mut is_done, mut is_refused) = (true, false);
    while let Some(found) = trash.next().await? {
        for entry in found {
            let node = NodeRef { tenant: trash.tenant.clone(), id: entry.id };
            let Some(tag) = tag_in_trash(&client, &node, trash.until.as_ref(), &settings).await? else { continue };
            let opened = Opened { table: table.clone(), settings: settings.clone(), node };
            match purge(&arguments, &opened, tag).await? {
                Exit::Done => {}
                Exit::Unfinished => is_done = false,
                _ => is_refused = true,
            }
        }
    }
    Ok(if is_refused { Exit::Wrong } else { Exit::Unfinished.unless(is_done) })
}

/// Returns the tag of a record that is in the trash since then or longer. Rows may lag behind a restore.
async fn tag_in_trash(
    client: &TableClient<'_>,
    node: &NodeRef,
    until: Option<&TrashTime>,
    settings: &Settings,
) -> Result<Option<ETag>> {
    let schema = &settings.schema;
    let Some(item) = client.get(&schema.node_key(node), &ReadOptions::default()).await? else { return Ok(None) };
    let tag = ETag::of(&item, schema);
    let Ok(base) = BaseNode::read(item, node, schema) else { return Ok(None) };
    let is_old = base
        .trashed
        .is_some_and(|trashed| until.is_none_or(|until| trashed.at != TrashTime::unknown() && trashed.at <= *until));
    Ok((is_old && base.deleting.is_none()).then_some(tag))
}

/// Deletes a node that is in the trash, unless its record has changed since.
async fn purge(arguments: &EmptyArguments, opened: &Opened, tag: ETag) -> Result<Exit> {
    let command = Command::Delete {
        node: opened.node.clone(),
        children: Children::With(DeletionMode::Delete),
        revisions: arguments.revisions,
        operation: Source::system().operation(),
    };
    let mut writing = arguments.writing.clone();
    writing.if_match = Some(Tags::These(vec![tag]));
    let outcome = match writing.write(opened, &command).await {
        Err(WriteError::Refused(Refusal::PreconditionFailed(_) | Refusal::NotFound | Refusal::BeingDeleted { .. })) => {
            eprintln!("sapwood: {} has changed meanwhile, and is left where it is", shown(opened.node.id.as_str()));
            return Ok(Exit::Done);
        }
        // The others are deleted all the same.
        Err(error @ WriteError::Refused(_)) => {
            eprintln!("sapwood: {}: {}", shown(opened.node.id.as_str()), shown(&error.to_string()));
            return Ok(Exit::Wrong);
        }
        outcome => outcome?,
    };
    writing.finish(opened, &command, &outcome, arguments.whose.json).await
}
