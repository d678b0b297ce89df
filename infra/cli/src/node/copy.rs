//! `sapwood copy`.

use anyhow::Result;
use clap::Args;
use sapwood_api::writes::Source;
use sapwood_core::keys::{Id, NodeRef};
use sapwood_engine::write::{Command, OnConflict};

use super::Target;
use super::write::{SpotArguments, Writing};
use crate::exit::Exit;

/// Copy a node and its subtree.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood copy V --table sapwood --endpoint http://127.0.0.1:8000
  sapwood copy V --to W --ids acme --table sapwood --profile prod --wait
  sapwood copy V --root --segment 'Folder V (copy)' --json --table sapwood --profile prod

The copy stands beside the node, unless --to or --root says otherwise. Its top is created at once, and the stream handler copies what is below:
the operation, which is printed, is one of the HTTP API's. Each node is copied once, as it is at its turn, with its attributes, links and place;
revisions aren't copied. A node can be copied below itself.

It ends with 0, 1 if the copy is refused or there is no such node, 3 if --wait ends before the copy is made, and 4 if the table can't be read or
written.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Set the parent of the copy.
    #[arg(long, value_name = "PARENT")]
    to: Option<String>,
    /// Make the copy a root.
    #[arg(long, conflicts_with = "to")]
    root: bool,
    /// Set the copy's name in paths.
    #[arg(long)]
    segment: Option<String>,
    /// Set the id of the copy, the prefix of the ids below it. Without it the ids are UUIDs.
    #[arg(long, value_name = "ID")]
    ids: Option<String>,
    #[command(flatten)]
    placing: SpotArguments,
    #[command(flatten)]
    writing: Writing,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let opened = arguments.target.node.open_to_write().await?;
    let to = arguments.to.map(Id::new).transpose()?;
    let source = Source::system();
    let is_made_id = arguments.ids.is_none();
    let id = Id::new(arguments.ids.unwrap_or_else(|| source.name()))?;
    let command = Command::Copy {
        source: opened.node.clone(),
        node: NodeRef { tenant: opened.node.tenant.clone(), id },
        is_made_id,
        parent: if arguments.root { Some(None) } else { to.map(Some) },
        segment: arguments.segment,
        on_conflict: OnConflict::default(),
        spot: arguments.placing.spot()?,
        operation: source.operation(),
    };
    let outcome = arguments.writing.write(&opened, &command).await?;
    arguments.writing.follow(&opened, &outcome, arguments.target.json, "copied").await
}
