//! `sapwood tree`.

use std::fmt::Write;

use clap::Args;
use sapwood_core::keys::{Id, ItemKey, KeyError, NodeRef, SortKey, Tenant};
use sapwood_core::model::{AttributeValue, Settings, Stored, rows};
use sapwood_engine::query::{Descendant, Fields, ListOptions, ReadError, Reader, Tree};
use sapwood_table::{Client, DynamoTable, ReadOptions, TableError};

use crate::connect::{ConnectError, Connection, Patient};

/// Draw a node and what is below it.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood tree D --table sapwood --endpoint http://127.0.0.1:8000
  sapwood tree D --table sapwood --depth 2 --show name --rows

At most 5,000 nodes are drawn. It ends with 0, with 1 if there is no such node, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    /// The node's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
    /// The node's tenant, in a table with tenants.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// How many levels below the node are drawn. By default all are.
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Show this attribute beside the id. Repeat it for more attributes.
    #[arg(long = "show", value_name = "ATTRIBUTE")]
    shown: Vec<String>,
    /// Name the items behind each node: its lineage, and the rows that this names.
    #[arg(long)]
    rows: bool,
}

/// Why a tree can't be drawn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The tree can't be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The rows can't be read.
    #[error("the table can't be read: {0}")]
    Table(#[from] TableError),
    /// The id or the tenant is none.
    #[error("{0}")]
    Key(#[from] KeyError),
}

impl TreeError {
    /// True if the node isn't there.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Read(ReadError::Absent { .. } | ReadError::Unreadable(_)))
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), TreeError> {
    let (table, settings) = arguments.connection.open().await?;
    let client = Client::new(&table, &Patient, &settings.schema);
    let tenant = arguments.tenant.clone().map(Tenant::new).transpose()?;
    let node = NodeRef { tenant, id: Id::new(arguments.id.clone())? };
    // A node of the wrong kind of table is refused here, and not by an empty answer.
    settings.schema.item_key(&node, &SortKey::Node)?;
    let options = ListOptions { strong: true, fields: Fields::all(), after: None, bounds: Tree::BOUNDS };
    let tree = Reader::new(&client, &settings).tree(&node, arguments.depth, &options).await?;
    let lines = drawn(&tree, &arguments.shown);
    for (index, line) in lines {
        println!("{line}");
        if arguments.rows {
            let of = node.sibling(tree.nodes[index].id.clone());
            let indent = " ".repeat(line.chars().take_while(|c| "│├└─ ".contains(*c)).count() + 4);
            for item in items(&client, &settings, &of).await? {
                println!("{indent}{item}");
            }
        }
    }
    if tree.next.is_some() {
        println!("… and more: begin at a lower node, or take fewer levels with --depth");
    }
    Ok(())
}

/// Draws a tree: the position of each node, and its line. Nothing recurses, however deep the tree is.
fn drawn(tree: &Tree, shown: &[String]) -> Vec<(usize, String)> {
    let mut lines = Vec::with_capacity(tree.nodes.len());
    // The next to draw is the last: its position, what stands before it, and before what is below it.
    let mut left: Vec<(usize, String, String)> =
        tree.tops.iter().rev().map(|top| (*top, String::new(), String::new())).collect();
    while let Some((index, before, below)) = left.pop() {
        lines.push((index, format!("{before}{}", label(&tree.nodes[index], shown))));
        let children = &tree.children[index];
        for (position, child) in children.iter().enumerate().rev() {
            let (branch, rest) =
                if position + 1 == children.len() { ("└── ", "    ") } else { ("├── ", "│   ") };
            left.push((*child, format!("{below}{branch}"), format!("{below}{rest}")));
        }
    }
    lines
}

fn label(node: &Descendant, shown: &[String]) -> String {
    let mut label = node.id.to_string();
    for name in shown {
        let value = match node.attributes.get(name) {
            Some(AttributeValue::S(text)) => text.clone(),
            Some(AttributeValue::N(digits)) => digits.clone(),
            Some(AttributeValue::Bool(value)) => value.to_string(),
            Some(_) => "…".to_owned(),
            None => continue,
        };
        // A text can hold anything, a line's end included.
        let _ = write!(label, "  {name}={}", value.escape_debug());
    }
    label
}

/// The items behind a node, one a line.
async fn items(
    client: &Client<'_, DynamoTable, Patient>,
    settings: &Settings,
    node: &NodeRef,
) -> Result<Vec<String>, TableError> {
    let schema = &settings.schema;
    let key = schema.lineage_key(node);
    let stored = Stored::read(client.get(&key, &ReadOptions::default()).await?.as_ref(), schema);
    let Some(lineage) = stored.lineage() else { return Ok(vec!["no lineage".to_owned()]) };
    let keys: Vec<_> = rows(&lineage.placement, node, schema).into_iter().map(|row| row.key).collect();
    let there = client.get_many(keys.iter().cloned().collect(), &ReadOptions::default()).await.all()?;
    let missing = |key: &ItemKey| if there.contains_key(key) { "" } else { "  missing" };
    let row = |key: &ItemKey| format!("{} | {}{}", key.pk, key.sk, missing(key));
    Ok(std::iter::once(format!("{} | {}", key.pk, key.sk)).chain(keys.iter().map(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_engine::query::Page;

    #[test]
    #[allow(clippy::unwrap_used)]
    fn branches_end_where_siblings_end() {
        let node = |id: &str, parent: Option<&str>, depth| Descendant {
            id: Id::new(id).unwrap(),
            parent: parent.map(|parent| Id::new(parent).unwrap()),
            depth,
            attributes: [("name".to_owned(), AttributeValue::S(format!("{id}\n")))].into(),
            truncated: false,
        };
        let items = vec![
            node("D", None, 0),
            node("V", Some("D"), 1),
            node("W", Some("D"), 1),
            node("d", Some("V"), 2),
            node("e", Some("W"), 2),
        ];
        let tree = Tree::nest(Page { items, next: None });
        let lines: Vec<String> = drawn(&tree, &[]).into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines, ["D", "├── V", "│   └── d", "└── W", "    └── e"]);
        assert_eq!(drawn(&tree, &["name".to_owned()])[2].1, "│   └── d  name=d\\n");
    }
}
