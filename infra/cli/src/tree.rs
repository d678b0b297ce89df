//! `sapwood tree`.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::{DescendantBody, TotalsBody};
use sapwood_core::keys::{Id, ItemKey, NodeRef};
use sapwood_core::model::{AttributeValue, Settings, Stored, rows};
use sapwood_engine::query::{Descendant, Fields, ListOptions, Reader, Totals, Tree};
use sapwood_store::{ReadOptions, TableError};
use serde_json::{Value, json};

use crate::connect::TableClient;
use crate::exit::of_table;
use crate::node::{NodeArguments, Opened};
use crate::printable::{json as json_of, shown, shown_json};
use crate::say::say;

/// Draw a subtree.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood tree D --table sapwood --endpoint http://127.0.0.1:8000
  sapwood tree D --table sapwood --depth 2 --show name --rows
  sapwood tree D --table sapwood --depth 2 --totals
  sapwood tree D --table sapwood --json

At most 5,000 nodes are drawn. It ends with 0, with 1 if there is no such node, and with 4 if the table can't be read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    node: NodeArguments,
    /// Draw at most so many levels below the node. By default all are drawn.
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Show this attribute beside the id. Repeat it for more attributes.
    #[arg(long = "show", value_name = "ATTRIBUTE")]
    shown: Vec<String>,
    /// Show subtree totals beside each node (they need `Totals`).
    #[arg(long)]
    totals: bool,
    /// Show the items behind each node: its lineage and its rows.
    #[arg(long)]
    rows: bool,
    /// Print JSON. Each line is a node, by depth, with its depth, its parent and all attributes that rows carry.
    #[arg(long, conflicts_with = "shown")]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    tree(arguments).await.map_err(of_table("the table can't be read", ""))
}

async fn tree(arguments: Arguments) -> Result<()> {
    let opened = arguments.node.open().await?;
    let (client, Opened { settings, node, .. }) = (opened.client(), &opened);
    let options = ListOptions { strong: true, fields: Fields::all(), bounds: Tree::BOUNDS, ..ListOptions::default() };
    let reader = Reader::new(&client, settings);
    let tree = reader.tree(node, arguments.depth, &options).await?;
    let mut totals = BTreeMap::new();
    if arguments.totals {
        let nodes: Vec<NodeRef> = tree.nodes.iter().map(|found| node.sibling(found.id.clone())).collect();
        totals = reader.totals_of_nodes(&nodes, true).await?;
    }
    if arguments.json {
        return print_json(&client, settings, node, tree, totals, arguments.rows).await;
    }
    let lines = drawn(&tree, &arguments.shown, |id| totals.get(&node.sibling(id.clone())));
    for (index, line, guides) in lines {
        say!("{line}");
        if arguments.rows {
            let of = node.sibling(tree.nodes[index].id.clone());
            for item in items(&client, settings, &of).await?.lines() {
                say!("{guides}{item}");
            }
        }
    }
    if tree.next.is_some() {
        say!("… and more: begin at a lower node, or take fewer levels with --depth");
    }
    Ok(())
}

/// Prints an object for each node, and one that says so if there are more.
async fn print_json(
    client: &TableClient<'_>,
    settings: &Settings,
    top: &NodeRef,
    tree: Tree,
    mut totals: BTreeMap<NodeRef, Totals>,
    rows: bool,
) -> Result<()> {
    for found in tree.nodes {
        let of = top.sibling(found.id.clone());
        // As text: a value of serde_json's would have fewer digits.
        let mut body = DescendantBody::from(found);
        body.totals = totals.remove(&of).map(TotalsBody::from);
        let mut line = json_of(&body)?;
        if rows {
            let items = json_of(&items(client, settings, &of).await?.json())?;
            line.truncate(line.len() - 1);
            line = format!("{line},\"items\":{items}}}");
        }
        say!("{}", shown_json(line));
    }
    if tree.next.is_some() {
        say!("{}", json!({"more": true}));
    }
    Ok(())
}

/// A node's position in a tree, its line, and what stands before the lines of its items.
type Drawn = (usize, String, String);

/// Draws a tree. Nothing recurses, however deep it is.
fn drawn<'t>(tree: &Tree, names: &[String], totals: impl Fn(&Id) -> Option<&'t Totals>) -> Vec<Drawn> {
    let mut lines = Vec::with_capacity(tree.nodes.len());
    // The next to draw is the last: its position, what stands before it, and before what is below it.
    let mut left: Vec<(usize, String, String)> =
        tree.tops.iter().rev().map(|top| (*top, String::new(), String::new())).collect();
    while let Some((index, before, below)) = left.pop() {
        let found = &tree.nodes[index];
        let children = &tree.children[index];
        let guides = format!("{below}{}", if children.is_empty() { "    " } else { "│   " });
        lines.push((index, format!("{before}{}", label(found, names, totals(&found.id))), guides));
        for (position, child) in children.iter().enumerate().rev() {
            let (branch, rest) =
                if position + 1 == children.len() { ("└── ", "    ") } else { ("├── ", "│   ") };
            left.push((*child, format!("{below}{branch}"), format!("{below}{rest}")));
        }
    }
    lines
}

fn label(node: &Descendant, names: &[String], totals: Option<&Totals>) -> String {
    let mut label = shown(node.id.as_str()).into_owned();
    for name in names {
        let Some(value) = node.attributes.get(name) else { continue };
        let _ = write!(label, "  {}={}", shown(name), shown(value_of(value)));
    }
    // Where nothing is below, there is nothing to say.
    if let Some(Totals { count, sums, .. }) = totals.filter(|totals| totals.count > 0) {
        let sums: String = sums.iter().map(|(name, sum)| format!(", {} {sum}", shown(name))).collect();
        let _ = write!(label, "  ({count} below{sums})");
    }
    label
}

/// A value beside an id.
pub(crate) fn value_of(value: &AttributeValue) -> &str {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text,
        AttributeValue::Bool(true) => "true",
        AttributeValue::Bool(false) => "false",
        _ => "…",
    }
}

/// The items behind a node.
struct Items {
    lineage: Option<ItemKey>,
    /// The rows that the lineage names, and true if they are there.
    rows: Vec<(ItemKey, bool)>,
}

impl Items {
    fn lines(&self) -> Vec<String> {
        let Some(lineage) = &self.lineage else { return vec!["no lineage".to_owned()] };
        let missing = |is_there: bool| if is_there { "" } else { "  missing" };
        let named = |key: &ItemKey| format!("{} | {}", shown(&key.pk), shown(&key.sk));
        let row = |(key, is_there): &(ItemKey, bool)| named(key) + missing(*is_there);
        std::iter::once(named(lineage)).chain(self.rows.iter().map(row)).collect()
    }

    fn json(&self) -> Value {
        let key = |key: &ItemKey| json!({"pk": key.pk, "sk": key.sk});
        let row = |(key, is_there): &(ItemKey, bool)| json!({"pk": key.pk, "sk": key.sk, "missing": !is_there});
        json!({"lineage": self.lineage.as_ref().map(key), "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }
}

async fn items(client: &TableClient<'_>, settings: &Settings, node: &NodeRef) -> Result<Items, TableError> {
    let schema = &settings.schema;
    let key = schema.lineage_key(node);
    let stored = Stored::read(client.get(&key, &ReadOptions::default()).await?.as_ref(), schema);
    let Some(lineage) = stored.lineage() else { return Ok(Items { lineage: None, rows: Vec::new() }) };
    let keys: Vec<_> = rows(&lineage.placement, node, schema).into_iter().map(|row| row.key).collect();
    let there = client.get_many(keys.iter().cloned().collect(), &ReadOptions::default()).await.all()?;
    let row = |row: ItemKey| (row.clone(), there.contains_key(&row));
    Ok(Items { lineage: Some(key), rows: keys.into_iter().map(row).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::model::Decimal;
    use sapwood_engine::query::Page;

    #[test]
    #[allow(clippy::unwrap_used)]
    fn branches_end_where_siblings_end() {
        let node = |id: &str, parent: Option<&str>, depth| Descendant {
            id: Id::new(id).unwrap(),
            parent: parent.map(|parent| Id::new(parent).unwrap()),
            depth,
            place: None,
            segment: None,
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
        let found = drawn(&tree, &[], |_| None);
        let lines: Vec<&str> = found.iter().map(|(_, line, _)| line.as_str()).collect();
        assert_eq!(lines, ["D", "├── V", "│   └── d", "└── W", "    └── e"]);
        let guides: Vec<&str> = found.iter().map(|(_, _, guides)| guides.as_str()).collect();
        assert_eq!(guides, ["│   ", "│   │   ", "│           ", "    │   ", "            "]);
        assert_eq!(drawn(&tree, &["name".to_owned()], |_| None)[2].1, "│   └── d  name=d\\u{a}");
        let totals = |count| Totals {
            count,
            children: count.min(1),
            sums: [("size".to_owned(), Decimal::value("2.5").unwrap())].into(),
            left_out: 0,
        };
        let (one, none) = (totals(1), totals(0));
        let lines = drawn(&tree, &[], |id| Some(if id.as_str() == "V" { &one } else { &none }));
        assert_eq!((lines[1].1.as_str(), lines[2].1.as_str()), ("├── V  (1 below, size 2.5)", "│   └── d"));
    }
}
