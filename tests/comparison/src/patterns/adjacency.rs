//! An adjacency list: a node names its parent, and an index lists the children of each. To read a subtree is a Query
//! for each node.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::versions::VERSIONS;
use crate::client::{Client, Holds, IN_FLIGHT_MAX, Item, Of, Query, Table, Write, answer, item, s, side_by_side, text};
use crate::pattern::{ALL, Pattern};
use crate::workload::{Node, TEXT};

const NODES: Table = Table { name: "nodes", keys: &["id"], index: Some((&["parent", "id"], Holds::Everything)) };

/// The pattern.
pub struct Adjacency(Client);

impl Adjacency {
    async fn children(&self, id: &str, page: Option<usize>) -> Vec<Item> {
        let partition = ("parent", id.to_owned());
        self.0.query(Query { table: NODES.name, of: Of::Index, partition, sort: None, page }).await
    }

    /// Walks down, level by level, and stops when it has so many nodes.
    async fn walk(&self, id: &str, levels: RangeInclusive<usize>, enough: usize) -> Vec<Item> {
        let (mut found, mut parents) = (Vec::new(), vec![id.to_owned()]);
        for level in 1..=*levels.end() {
            let mut children = Vec::new();
            for some in parents.chunks(IN_FLIGHT_MAX) {
                let looks = some.iter().map(|id| self.children(id, None)).collect();
                children.extend(side_by_side(looks).await.into_iter().flatten());
                if levels.contains(&level) && found.len() + children.len() >= enough {
                    break;
                }
            }
            parents = children.iter().map(|child| text(child, "id").to_owned()).collect();
            if levels.contains(&level) {
                found.append(&mut children);
            }
            if parents.is_empty() || found.len() >= enough {
                break;
            }
        }
        found.truncate(enough);
        found
    }
}

fn key(id: &str) -> Item {
    item([("id", s(id))])
}

fn record(node: &Node) -> Item {
    let mut record = item([("id", s(&node.id)), ("name", s(&node.name)), ("text", s(TEXT))]);
    record.extend(node.parent.iter().map(|parent| ("parent".to_owned(), s(parent))));
    record
}

impl Pattern for Adjacency {
    const NAME: &'static str = "adjacency list";

    async fn start() -> Self {
        Self(Client::start(&[NODES, VERSIONS]).await)
    }

    async fn import(&self, nodes: &[Node]) {
        self.0.write(NODES.name, nodes.iter().map(|node| Write::Put(record(node)))).await;
    }

    async fn create(&self, node: &Node) {
        self.0.put(NODES.name, record(node)).await;
    }

    async fn rename(&self, id: &str, name: &str) {
        self.0.set(NODES.name, key(id), "name", s(name)).await;
    }

    async fn relocate(&self, id: &str, parent: &str) {
        self.0.set(NODES.name, key(id), "parent", s(parent)).await;
    }

    async fn delete(&self, id: &str) {
        let below = self.walk(id, 1..=ALL, usize::MAX).await;
        let ids = below.iter().map(|item| text(item, "id")).chain([id]);
        self.0.write(NODES.name, ids.map(|id| Write::Delete(key(id)))).await;
    }

    async fn below(&self, id: &str, levels: RangeInclusive<usize>) -> BTreeMap<String, String> {
        answer(&self.walk(id, levels, usize::MAX).await, "id")
    }

    async fn page(&self, id: &str, size: usize) -> BTreeMap<String, String> {
        answer(&self.walk(id, 1..=ALL, size).await, "id")
    }

    async fn ancestors(&self, id: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut at = id.to_owned();
        loop {
            let node = self.0.get(NODES.name, key(&at), false).await;
            let Some(parent) = node.and_then(|node| Some(node.get("parent")?.as_s().unwrap().clone())) else {
                return found;
            };
            if found.len() > ALL {
                return found;
            }
            found.push(parent.clone());
            at = parent;
        }
    }

    fn client(&self) -> &Client {
        &self.0
    }
}
