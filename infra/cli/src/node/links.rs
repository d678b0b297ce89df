//! `sapwood links`.

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::LinkBody;
use sapwood_core::keys::Id;
use sapwood_engine::query::{Linking, Reader};

use super::{Target, whole_pages};
use crate::printable::{line, shown};
use crate::say::say;

/// List the nodes whose attribute refers to an id. They come from rows that the stream handler writes.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood links PRODUCT#mouse product --table sapwood --endpoint http://127.0.0.1:8000
  sapwood links PRODUCT#mouse product --table sapwood --profile prod --ancestors CUSTOMER#
  sapwood links ada viewers --table sapwood --profile prod --below plans

Each line has a node and its ancestors, nearest first. The id needn't be a node's: it can be a tag. It ends with 0, with 2 if the stack keeps no
links by this attribute, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Read the references of this attribute.
    attribute: String,
    /// List only nodes with an ancestor whose id begins so. Only such ancestors are printed.
    #[arg(long, value_name = "PREFIX")]
    ancestors: Option<String>,
    /// List only this node, its ancestors and descendants.
    #[arg(long, value_name = "ID")]
    below: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let opened = arguments.target.node.open().await?;
    let client = opened.client();
    let reader = Reader::new(&client, &opened.settings);
    let around = arguments.below.map(Id::new).transpose()?;
    let linking = Linking { ancestor_prefix: arguments.ancestors, around, ..Linking::default() };
    let mut options = whole_pages();
    loop {
        let page = reader.links(&opened.node, &arguments.attribute, &linking, &options).await?;
        for found in page.items {
            let body = LinkBody::from(found);
            let ids = [&body.id].into_iter().chain(body.ancestors.iter().flatten());
            let words: Vec<String> = ids.map(|id| shown(id).into_owned()).collect();
            say!("{}", if arguments.target.json { line(&body)? } else { words.join("  ") });
        }
        options.after = page.next;
        if options.after.is_none() {
            return Ok(());
        }
    }
}
