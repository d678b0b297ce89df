//! `sapwood latest`.

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::LatestBody;
use sapwood_core::model::Latest;
use sapwood_engine::query::{Reader, Revision};

use super::{Target, whole_pages};
use crate::printable::{line, shown};
use crate::say::say;

/// Read the newest revision of each topic of a node. These are the latest items (`v0_`), which the stream handler
/// writes.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood latest eq --table sapwood --endpoint http://127.0.0.1:8000
  sapwood latest eq Audit --table sapwood --profile prod --json

A copy follows its revision by a moment. It ends with 0, with 1 if there is no such topic, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Read this topic only.
    topic: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let opened = arguments.target.node.open().await?;
    let client = opened.client();
    let reader = Reader::new(&client, &opened.settings);
    let mut options = whole_pages();
    if let Some(topic) = arguments.topic {
        let topic = Latest { node: opened.node.clone(), topic };
        return print(reader.latest(&topic, &options).await?, arguments.target.json);
    }
    loop {
        let page = reader.latest_of_all(&opened.node, "", &options).await?;
        page.items.into_iter().try_for_each(|found| print(found, arguments.target.json))?;
        options.after = page.next;
        if options.after.is_none() {
            return Ok(());
        }
    }
}

fn print(found: Revision, json: bool) -> Result<()> {
    let body = LatestBody::from(found);
    let words = format!("{}  {}  {}", shown(&body.topic), body.version, line(&body.attributes)?);
    say!("{}", if json { line(&body)? } else { words });
    Ok(())
}
