//! `sapwood totals`.

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::TotalsBody;
use sapwood_engine::query::Reader;

use super::Target;
use crate::printable::{line, shown};
use crate::say::say;

/// Read a node's subtree totals (they need `Totals`).
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood totals d --table sapwood --endpoint http://127.0.0.1:8000
  sapwood totals d --table sapwood --profile prod --json

A line has the number of nodes below it (`count`), that of its children (`children`), or an attribute's sum. \
Where nodes have something that can't be added up, a line has their number. They follow the rows, a moment later. It
ends with 0, with 1 if there is no such node, with 2 if the table keeps no totals, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let opened = arguments.target.node.open().await?;
    let client = opened.client();
    let found = Reader::new(&client, &opened.settings).totals(&opened.node, true).await?;
    if arguments.target.json {
        say!("{}", line(&TotalsBody::from(found))?);
        return Ok(());
    }
    say!("count  {}", found.count);
    say!("children  {}", found.children);
    for (name, sum) in found.sums {
        say!("sum of {}  {sum}", shown(&name));
    }
    if found.left_out > 0 {
        say!("left out of the sums  {}", found.left_out);
    }
    Ok(())
}
