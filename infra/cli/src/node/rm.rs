//! `sapwood rm`.

use anyhow::Result;
use clap::{Args, ValueEnum};
use sapwood_api::contract;
use sapwood_api::writes::Source;
use sapwood_core::model::Latest;
use sapwood_engine::query::{Fields, ListOptions, Order, ReadError, Reader};
use sapwood_engine::write::{Children, Command, Outcome, Refusal, WriteError};
use serde_json::json;

use super::write::Writing;
use super::{Opened, Target, whole_pages};
use crate::exit::Exit;
use crate::printable::shown;
use crate::say::{YES, agrees, count, say};

/// Delete a node, or put it into the trash. --children sets what happens to its children. Its revisions stay unless
/// --revisions is given. With it, revisions without a node are deleted, too.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood rm d --table sapwood --endpoint http://127.0.0.1:8000
  sapwood rm V --children adopt --table sapwood --profile prod --wait
  sapwood rm V --trash --table sapwood --profile prod
  sapwood rm D --children delete --revisions --yes --json --table sapwood

With --children restrict, and without --revisions, the node is deleted at once. Otherwise it is marked, even if it has no children, and the
stream handler carries the deletion out: the operation, which is printed, is one of the HTTP API's. --revisions holds even where
RevisionsMutable keeps the API from it, and where there are revisions but no node. It asks before it deletes, and without a terminal it needs
--yes. docs/operate/recovery.md says what else keeps data of a person.

--trash holds even where Trash keeps the API from it; the stream handler must know the trash. sapwood trash restores it.

It ends with 0, 1 if the deletion is refused, there is no such node or the answer was no, 3 if --wait ends before the deletion, and 4 if the
table can't be read or written.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Put the node and its subtree into the trash. No confirmation is asked for.
    #[arg(long, conflicts_with_all = ["children", "revisions"])]
    trash: bool,
    /// Set what happens to the children.
    #[arg(long, value_name = "HOW", default_value = "restrict")]
    children: ChildrenName,
    /// Delete the node's revisions, too. With --children delete, delete those of its subtree. If the node is gone,
    /// delete the revisions that it has left.
    #[arg(long)]
    revisions: bool,
    /// Skip the confirmation.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    writing: Writing,
}

#[derive(Clone, Copy, ValueEnum)]
enum ChildrenName {
    /// Delete nothing if there are children.
    #[value(alias = "refuse")]
    Restrict,
    /// Delete them and their subtrees.
    Delete,
    /// Move them to the node's parent.
    Adopt,
    /// Make them roots.
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

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let opened = arguments.target.node.open_to_write().await?;
    let (writing, json) = (&arguments.writing, arguments.target.json);
    if arguments.trash {
        let command = Command::Trash { node: opened.node.clone() };
        return writing.carry_out(&opened, &command, json).await;
    }
    if !arguments.yes && !agrees(&arguments.children.question(opened.node.id.as_str()), YES)? {
        return Ok(Exit::Wrong);
    }
    let command = Command::Delete {
        node: opened.node.clone(),
        children: arguments.children.of_api().mode().map_or(Children::Restrict, Children::With),
        revisions: arguments.revisions,
        operation: Source::system().operation(),
    };
    let outcome = match writing.write(&opened, &command).await {
        Err(WriteError::Refused(Refusal::NotFound)) if arguments.revisions && writing.if_match.is_none() => {
            return delete_revisions(writing, &opened, json).await;
        }
        outcome => outcome?,
    };
    match &outcome {
        Outcome::Deleting { .. } => writing.follow(&opened, &outcome, json, "deleted").await,
        _ => writing.finish(&opened, &command, &outcome, json).await,
    }
}

/// Deletes the revisions of an id without a node, and waits until their copies have gone as well, if that is wanted.
async fn delete_revisions(writing: &Writing, opened: &Opened, json: bool) -> Result<Exit> {
    let client = opened.client();
    let (reader, node) = (Reader::new(&client, &opened.settings), &opened.node);
    let mut options = ListOptions { fields: Fields::only([])?, ..whole_pages() };
    let mut deleted = 0;
    loop {
        let page = reader.revisions(node, Order::Ascending, &options).await?;
        for revision in page.items {
            let topic = Latest { node: node.clone(), topic: revision.topic };
            let command = Command::DeleteRevision { topic, version: revision.version };
            match writing.write(opened, &command).await {
                Ok(_) => deleted += 1,
                // Another client was faster.
                Err(WriteError::Refused(Refusal::NotFound)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        options.after = page.next;
        if options.after.is_none() {
            break;
        }
    }
    let id = node.id.as_str();
    match json {
        true => say!("{}", json!({"node": id, "status": "done", "revisions": deleted})),
        false => {
            say!("{} of {} {} deleted", count(deleted, "revision"), shown(id), if deleted == 1 { "is" } else { "are" })
        }
    }
    let copies = async || match reader.latest_of_all(node, "", &options).await {
        Err(ReadError::Absent { .. }) => Ok(true),
        page => Ok(page?.items.is_empty()),
    };
    writing.until(copies).await
}
