//! `sapwood rm`.

use api_writer::Source;
use clap::{Args, ValueEnum};
use sapwood_engine::write::{Children, Command, Outcome};
use sapwood_http::contract;

use super::write::Writing;
use super::{NodeError, Target};
use crate::ask::agrees;
use crate::exit::Exit;
use crate::printable::shown;

/// Delete a node, or put it into the trash. What becomes of its children, --children says; its revisions stay unless
/// --revisions is given.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood rm d --table sapwood --endpoint http://127.0.0.1:8000
  sapwood rm V --children adopt --table sapwood --profile prod --wait
  sapwood rm V --trash --table sapwood --profile prod
  sapwood rm D --children delete --revisions --yes --json --table sapwood

With --children restrict, and without --revisions, the node is deleted at once. Otherwise it is marked, even if it has no children, and the
stream handler carries the deletion out: the operation, which is printed, is one of the HTTP API's. --revisions holds even where
RevisionsMutable keeps the API from it. It asks before it deletes, and without a terminal it needs --yes.

--trash holds even where Trash keeps the API from it; the stream handler must know the trash. sapwood trash restores it.

It ends with 0, 1 if the deletion is refused, there is no such node or the answer was no, 3 if --wait ends before the deletion, and 4 if the
table can't be read or written.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Put the node into the trash, with all that is below it. It doesn't ask.
    #[arg(long, conflicts_with_all = ["children", "revisions"])]
    trash: bool,
    /// What becomes of the children.
    #[arg(long, value_name = "HOW", default_value = "restrict")]
    children: ChildrenName,
    /// Delete the node's revisions as well, and with --children delete those of all that is below.
    #[arg(long)]
    revisions: bool,
    /// Don't ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    writing: Writing,
}

/// What becomes of the children, by the API's words.
#[derive(Clone, Copy, ValueEnum)]
enum ChildrenName {
    /// There must be none: else nothing is deleted.
    #[value(alias = "refuse")]
    Restrict,
    /// They are deleted, with all that is below them.
    Delete,
    /// They move to the node's parent.
    Adopt,
    /// They become roots.
    Detach,
}

impl ChildrenName {
    fn of_api(self) -> contract::Children {
        match self {
            Self::Restrict => contract::Children::Restrict,
            Self::Delete => contract::Children::Delete,
            Self::Adopt => contract::Children::Adopt,
            Self::Detach => contract::Children::Detach,
        }
    }

    fn question(self, id: &str) -> String {
        let children = match self {
            Self::Restrict => "",
            Self::Delete => " and all that is below it",
            Self::Adopt => ", and move its children to its parent",
            Self::Detach => ", and make its children roots",
        };
        format!("Delete {}{children}?", shown(id))
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit, NodeError> {
    let opened = arguments.target.open_to_write().await?;
    let client = opened.client();
    if arguments.trash {
        let command = Command::Trash { node: opened.node.clone() };
        let outcome = arguments.writing.write(&client, &opened, &command).await?;
        let is_done = arguments.writing.finish(&client, &opened, &command, &outcome, arguments.target.json).await?;
        return Ok(Exit::Unfinished.unless(is_done));
    }
    if !arguments.yes && !agrees(&arguments.children.question(opened.node.id.as_str()))? {
        return Ok(Exit::Wrong);
    }
    let command = Command::Delete {
        node: opened.node.clone(),
        children: arguments.children.of_api().mode().map_or(Children::Restrict, Children::With),
        revisions: arguments.revisions,
        operation: Source::system().operation(),
    };
    let (writing, json) = (&arguments.writing, arguments.target.json);
    let outcome = writing.write(&client, &opened, &command).await?;
    let is_done = match &outcome {
        Outcome::Deleting { .. } => writing.follow(&client, &opened, &outcome, json, "deleted").await?,
        _ => writing.finish(&client, &opened, &command, &outcome, json).await?,
    };
    Ok(Exit::Unfinished.unless(is_done))
}
