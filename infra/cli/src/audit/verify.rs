//! `sapwood verify`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use sapwood_store::Client;

use super::pass::{Compared, PassResult};
use super::{Comparison, difference_file, report};
use crate::connect::{Connection, Patient};
use crate::exit::Exit;
use crate::recognised::check_keys;
use crate::stop_signal;

/// Compare all derived items with the base records. It writes nothing, and the table may be in use.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood verify --table sapwood --endpoint http://127.0.0.1:8000
  sapwood verify --table sapwood --profile prod --rate 500 --report differences.jsonl
  sapwood verify --table sapwood --parameter PathRows=off --json
  sapwood verify --table sapwood --profile prod --under V

--under reads less than a pass over the whole table, and sees less: neither surplus rows outside of the subtree, nor nodes that no row leads
to (their parent's, that of the node that --under names, a path row).

It ends with 0 if nothing is wrong, 1 if something is or --under names no node, 2 for wrong arguments, 3 if something still changed or
Ctrl-C has stopped it, and 4 if the table can't be
read, nothing in it is recognised, or a newer handler has written something that can't be compared.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    comparison: Comparison,
    /// Write all differences to this file, one JSON object a line. `sapwood repair --report` takes it.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let (table, settings, whose) = arguments.connection.open_and_tell().await?;
    check_keys(&table).await?;
    let client = Client::new(&table, &Patient, &settings.schema);
    let compared = Compared::new(&client, &settings, &arguments.comparison, &arguments.connection);
    let stopped = stop_signal::catch(false)?;
    let found = tokio::select! {
        found = compared.all(whose) => found?,
        () = stopped => {
            compared.say_how_far();
            return Ok(Exit::Unfinished);
        }
    };
    report::print(&found, whose, arguments.comparison.json);
    if let Some(path) = &arguments.report {
        difference_file::write(path, &found.settled)?;
    }
    Ok(exit(&found))
}

/// Findings are about base records, which only their owner can judge.
pub(super) fn exit(found: &PassResult) -> Exit {
    if !report::faults(&found.settled).is_empty() {
        Exit::Wrong
    } else if report::unjudged(found) > 0 {
        Exit::Failed
    } else if found.is_cut || !report::faults(&found.moving).is_empty() {
        Exit::Unfinished
    } else {
        Exit::Done
    }
}
