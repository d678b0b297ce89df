//! `sapwood move`.

use anyhow::Result;
use clap::Args;
use sapwood_core::keys::Id;
use sapwood_engine::write::{Command, Patch};

use super::Target;
use super::write::{SpotArguments, Writing};
use crate::exit::Exit;

/// Move a node and its subtree.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood move d --to V --table sapwood --endpoint http://127.0.0.1:8000
  sapwood move V --root --table sapwood --profile prod --wait
  sapwood move d --to V --after e --table sapwood --profile prod

The rules are the HTTP API's: a node can't come to be below itself, its new parent must be there, and nothing gets too deep. The stream
handler then moves the rows of all that is below. It ends with 0, 1 if the move is refused or there is no such node, 3 if --wait ends before
all that is below is placed, and 4 if the table can't be read or written.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Set the new parent.
    #[arg(long, value_name = "PARENT", required_unless_present = "root")]
    to: Option<String>,
    /// Make the node a root.
    #[arg(long, conflicts_with = "to")]
    root: bool,
    #[command(flatten)]
    placing: SpotArguments,
    #[command(flatten)]
    writing: Writing,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let opened = arguments.target.node.open_to_write().await?;
    let parent = arguments.to.map(Id::new).transpose()?;
    let patch = Patch { parent: Some(parent), spot: arguments.placing.spot()?, ..Patch::default() };
    let command = Command::Patch { node: opened.node.clone(), patch };
    arguments.writing.carry_out(&opened, &command, arguments.target.json).await
}
