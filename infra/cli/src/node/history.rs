//! `sapwood history`.

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::RevisionBody;
use sapwood_core::model::Latest;
use sapwood_engine::query::{Bounds, Fields, ListOptions, Order, Reader};
use serde_json::json;

use super::Target;
use super::get::together;
use crate::printable::{line, shown, word};
use crate::say::say;

/// Read the revisions of a node, newest first. Without a topic, those of all topics come by version.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood history eq --table sapwood --endpoint http://127.0.0.1:8000
  sapwood history eq Audit --limit 10 --table sapwood --profile prod --json
  sapwood history eq Audit --all --table sapwood

Where more revisions follow, the last line says how to go on; with --json it is {\"next\": …}. Revisions need no node of their id. It ends
with 0, with 1 if there is neither a node nor a revision, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Read this topic only.
    topic: Option<String>,
    /// Read at most so many revisions.
    #[arg(long, value_name = "N", default_value = "100")]
    limit: NonZeroUsize,
    /// Read all revisions.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Continue after this position, which an earlier call has printed.
    #[arg(long, value_name = "POSITION")]
    after: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let opened = arguments.target.node.open().await?;
    let client = opened.client();
    let reader = Reader::new(&client, &opened.settings);
    let topic = arguments.topic.map(|topic| Latest { node: opened.node.clone(), topic });
    let (mut left, mut after) = (if arguments.all { usize::MAX } else { arguments.limit.get() }, arguments.after);
    loop {
        let bounds = Bounds::items(left.min(Bounds::ITEMS_MAX));
        let options = ListOptions { strong: true, fields: Fields::all(), after, bounds, ..ListOptions::default() };
        let page = match &topic {
            Some(topic) => reader.topic(topic, Order::Descending, &options).await?,
            None => reader.revisions(&opened.node, Order::Descending, &options).await?,
        };
        left = left.saturating_sub(page.items.len());
        for found in page.items {
            let body = RevisionBody::listed(&opened.node, found);
            say!("{}", if arguments.target.json { line(&body)? } else { words(body)? });
        }
        after = page.next;
        match &after {
            None => return Ok(()),
            Some(next) if left == 0 && arguments.target.json => say!("{}", json!({"next": next})),
            Some(next) if left == 0 => say!("… and more: add --after {}", word(next)),
            Some(_) => continue,
        }
        return Ok(());
    }
}

/// A revision as a line.
fn words(body: RevisionBody) -> Result<String> {
    let written = together(body.updated_at, body.updated_by).unwrap_or_default();
    Ok(format!("{}  {}  {}  {}", shown(&body.topic), body.version, shown(&written), line(&body.attributes)?))
}
