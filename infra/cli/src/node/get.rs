//! `sapwood get`.

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::NodeBody;
use sapwood_api::headers::etag_text;
use sapwood_core::model::ETag;
use sapwood_engine::query::Reader;

use super::Target;
use crate::printable::{line, shown};
use crate::say::say;

/// Read a node's base record. The output has the tag that `--if-match` takes.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood get V --table sapwood --endpoint http://127.0.0.1:8000
  sapwood get V --table sapwood --profile prod --json

It ends with 0, with 1 if there is no such node, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let opened = arguments.target.node.open().await?;
    let base = Reader::new(&opened.client(), &opened.settings).node(&opened.node, true).await?;
    let etag = etag_text(&ETag::of(&base.item, &opened.settings.schema));
    let body = NodeBody { etag: Some(etag), ..NodeBody::of(&opened.node.id, &base.item, &opened.settings) };
    if arguments.target.json {
        say!("{}", line(&body)?);
        return Ok(());
    }
    let attributes = line(&body.attributes)?;
    let fields = [
        ("id", Some(body.id)),
        ("parent", body.parent),
        ("segment", body.segment),
        ("attributes", Some(attributes)),
        ("created", together(body.created_at, body.created_by)),
        ("updated", together(body.updated_at, body.updated_by)),
        ("deleting", body.deleting.map(|operation| format!("by operation {operation}"))),
        ("tag", body.etag),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            // JSON is escaped already.
            let value = if matches!(name, "attributes" | "tag") { value } else { shown(&value).into_owned() };
            say!("{name:10}  {value}");
        }
    }
    Ok(())
}

/// When and by whom.
pub(super) fn together(at: Option<String>, by: Option<String>) -> Option<String> {
    Some(format!("{}  {}", at?, by?))
}
