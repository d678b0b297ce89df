//! `sapwood inherited`.

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::InheritedBody;
use sapwood_engine::query::{Mode, Reader};
use sapwood_json::Attributes;

use super::Target;
use crate::printable::{line, shown};
use crate::say::say;

/// Read the values that a node inherits or sets. Each comes with the node that sets it.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood inherited d owner quota --table sapwood --endpoint http://127.0.0.1:8000
  sapwood inherited d viewers --all --table sapwood --profile prod --json

Each line has the node that has a value, how many levels it is above, and the attribute. It is right by base records, however far behind the rows
are. It ends with 0, with 1 if there is no such node, with 2 if an attribute is Sapwood's own, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Read these attributes.
    #[arg(required = true, value_name = "ATTRIBUTE")]
    attributes: Vec<String>,
    /// Read all values from the root down, not only the nearest.
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let opened = arguments.target.node.open().await?;
    let mode = if arguments.all { Mode::All } else { Mode::Nearest };
    let client = opened.client();
    let found = Reader::new(&client, &opened.settings).inherited(&opened.node, arguments.attributes, mode).await?;
    if arguments.target.json {
        say!("{}", line(&InheritedBody::of(&opened.node, mode, found))?);
        return Ok(());
    }
    for (name, values) in found.values {
        for found in values {
            let value = line(&Attributes([(name.clone(), found.value)].into()))?;
            say!("{}  {}  {value}", shown(found.from.as_str()), found.levels_up);
        }
    }
    Ok(())
}
