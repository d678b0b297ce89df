//! The seed's replication at the time of writing: a node has a copy for each of its ancestors, with the relative depth,
//! and an index lists the copies of an ancestor by depth. The writes are those of [the seed's
//! code](https://github.com/jasonwadsworth/blog-code/tree/main/working-with-hierarchy-data-in-dynamodb), batched where
//! it sends them one by one.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::versions::VERSIONS;
use crate::client::{Client, Holds, Item, Of, Query, Range, Table, Write, answer, item, n, number, s, text};
use crate::pattern::{ALL, Pattern};
use crate::workload::{Node, TEXT};

const NODES: Table = Table {
    name: "nodes",
    keys: &["id", "+relativeDepth"],
    index: Some((&["ancestorId", "+relativeDepth"], Holds::Everything)),
};

/// The pattern.
pub struct Replication(Client);

fn key(id: &str, depth: usize) -> Item {
    item([("id", s(id)), ("relativeDepth", n(depth))])
}

/// The copy of a node for the ancestor at this relative depth. The copy at depth 0 is the node itself.
fn copy(node: &Item, depth: usize, ancestor: &str) -> Item {
    let mut copy = node.clone();
    copy.extend(item([("relativeDepth", n(depth)), ("ancestorId", s(ancestor))]));
    copy
}

fn record(node: &Node) -> Item {
    let mut record = item([("id", s(&node.id)), ("name", s(&node.name)), ("text", s(TEXT))]);
    record.extend(node.parent.iter().map(|parent| ("parentId".to_owned(), s(parent))));
    record
}

impl Replication {
    /// A node's copies, by relative depth: the ids of its ancestors, itself first.
    async fn copies(&self, id: &str, of: Of) -> Vec<Item> {
        self.0.query(Query { table: NODES.name, of, partition: ("id", id.to_owned()), sort: None, page: None }).await
    }

    async fn descendants(&self, id: &str, levels: RangeInclusive<usize>, page: Option<usize>) -> Vec<Item> {
        let range = Range::Between(n(*levels.start()), n(*levels.end()));
        let (partition, sort) = (("ancestorId", id.to_owned()), Some(("relativeDepth", range)));
        self.0.query(Query { table: NODES.name, of: Of::Index, partition, sort, page }).await
    }
}

impl Pattern for Replication {
    const NAME: &'static str = "replication";

    async fn start() -> Self {
        Self(Client::start(&[NODES, VERSIONS]).await)
    }

    async fn import(&self, nodes: &[Node]) {
        let parents: BTreeMap<&str, Option<&str>> =
            nodes.iter().map(|node| (node.id.as_str(), node.parent.as_deref())).collect();
        let copies = nodes.iter().flat_map(|node| {
            let record = record(node);
            let up = std::iter::successors(Some(node.id.as_str()), |id| parents[id]).enumerate();
            up.map(|(depth, ancestor)| Write::Put(copy(&record, depth, ancestor))).collect::<Vec<_>>()
        });
        self.0.write(NODES.name, copies).await;
    }

    async fn create(&self, node: &Node) {
        let record = record(node);
        let ancestors = match &node.parent {
            Some(parent) => self.copies(parent, Of::TableStrongly).await,
            None => Vec::new(),
        };
        let above = ancestors.iter().map(|above| (1 + number(above, "relativeDepth"), text(above, "ancestorId")));
        let copies = above.chain([(0, node.id.as_str())]).map(|(depth, ancestor)| copy(&record, depth, ancestor));
        self.0.write(NODES.name, copies.map(Write::Put)).await;
    }

    async fn rename(&self, id: &str, name: &str) {
        let copies = self.copies(id, Of::TableStrongly).await;
        let renamed = copies.into_iter().map(|mut copy| {
            copy.insert("name".to_owned(), s(name));
            Write::Put(copy)
        });
        self.0.write(NODES.name, renamed).await;
    }

    async fn relocate(&self, id: &str, parent: &str) {
        let (old, new, below) = futures::join!(
            self.copies(id, Of::TableStrongly),
            self.copies(parent, Of::TableStrongly),
            self.descendants(id, 0..=ALL, None)
        );
        let mut writes = Vec::new();
        for mut node in below {
            let level = number(&node, "relativeDepth");
            let id = text(&node, "id").to_owned();
            if level == 0 {
                node.insert("parentId".to_owned(), s(parent));
                writes.push(Write::Put(node.clone()));
            }
            // A copy for another ancestor at the same depth takes the place of the old one.
            for ancestor in &new {
                let depth = level + 1 + number(ancestor, "relativeDepth");
                writes.push(Write::Put(copy(&node, depth, text(ancestor, "ancestorId"))));
            }
            writes.extend((level + 1 + new.len()..level + old.len()).map(|depth| Write::Delete(key(&id, depth))));
        }
        self.0.write(NODES.name, writes).await;
    }

    async fn delete(&self, id: &str) {
        let (own, below) = futures::join!(self.copies(id, Of::TableStrongly), self.descendants(id, 0..=ALL, None));
        let keys = below.iter().flat_map(|node| {
            let depths = 0..own.len() + number(node, "relativeDepth");
            depths.map(|depth| Write::Delete(key(text(node, "id"), depth)))
        });
        self.0.write(NODES.name, keys).await;
    }

    async fn below(&self, id: &str, levels: RangeInclusive<usize>) -> BTreeMap<String, String> {
        answer(&self.descendants(id, levels, None).await, "id")
    }

    async fn page(&self, id: &str, size: usize) -> BTreeMap<String, String> {
        answer(&self.descendants(id, 1..=ALL, Some(size)).await, "id")
    }

    async fn ancestors(&self, id: &str) -> Vec<String> {
        let copies = self.copies(id, Of::Table).await;
        copies.iter().skip(1).map(|copy| text(copy, "ancestorId").to_owned()).collect()
    }

    fn client(&self) -> &Client {
        &self.0
    }
}
