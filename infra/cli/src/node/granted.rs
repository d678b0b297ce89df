//! `sapwood granted`.

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::GrantedBody;
use sapwood_engine::query::{Granting, Reader};

use super::Target;
use crate::exit::Exit;
use crate::printable::{line, shown};
use crate::say::say;

/// Check whether a node or an ancestor names a principal. The output has that node and attribute.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood granted d viewers ada GROUP#ops --table sapwood --endpoint http://127.0.0.1:8000
  sapwood granted d viewers ada --table sapwood --profile prod --json

Each line has a node that grants it, how many levels it is above, and whom it names, the nearest first. It is right by base records, however far behind
the rows are. In the trash nothing is granted, unless --in-trash is given. It ends with 0 if it is granted, with 1 if it isn't or there is no such
node, with 2 if the attribute is Sapwood's own, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Read principals from this attribute.
    attribute: String,
    /// Check these principals: a user and the user's groups.
    #[arg(required = true, value_name = "PRINCIPAL")]
    principals: Vec<String>,
    /// Evaluate grants in the trash, too.
    #[arg(long)]
    in_trash: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let opened = arguments.target.node.open().await?;
    let Arguments { attribute, principals, in_trash, .. } = arguments;
    let granting = Granting::new(attribute, principals, in_trash, &opened.settings.schema)?;
    let client = opened.client();
    let found = Reader::new(&client, &opened.settings).granted(&opened.node, &granting).await?;
    let body = GrantedBody::of(&opened.node, found);
    if arguments.target.json {
        say!("{}", line(&body)?);
    } else {
        for grant in &body.by {
            let principals: Vec<_> = grant.principals.iter().map(|principal| shown(principal)).collect();
            say!("{}  {}  {}", shown(&grant.id), grant.levels_up, principals.join("  "));
        }
    }
    Ok(Exit::Wrong.unless(body.allowed))
}
