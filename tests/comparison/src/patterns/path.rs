//! The path pattern of the seed: a node has the id of its root and the path of ids from there, and an index sorts the
//! nodes of a root by path. A rename leaves paths of ids alone; a move rewrites the subtree.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::versions::VERSIONS;
use crate::client::{Client, Holds, Item, Of, Query, Range, Table, Write, answer, item, s, text};
use crate::pattern::Pattern;
use crate::workload::{Node, TEXT};

const NODES: Table = Table { name: "nodes", keys: &["id"], index: Some((&["root", "path"], Holds::Everything)) };

/// The pattern.
pub struct Path(Client);

/// Where the nodes below a node are: their root, and how their paths begin.
struct Inside {
    root: String,
    path: String,
}

impl Inside {
    /// The inside of a node that is stored. A root has neither `root` nor `path`.
    fn of(node: &Item) -> Self {
        let id = text(node, "id");
        if node.contains_key("root") {
            Self { root: text(node, "root").to_owned(), path: format!("{}{id}/", text(node, "path")) }
        } else {
            Self { root: id.to_owned(), path: "/".to_owned() }
        }
    }

    /// The attributes of a node there. `rest` is the end of its path.
    fn place(&self, rest: &str) -> Item {
        item([("root", s(&self.root)), ("path", s(format!("{}{rest}", self.path)))])
    }
}

fn key(id: &str) -> Item {
    item([("id", s(id))])
}

fn record(node: &Node, inside: Option<&Inside>) -> Item {
    let mut record = item([("id", s(&node.id)), ("name", s(&node.name)), ("text", s(TEXT))]);
    record.extend(inside.into_iter().flat_map(|inside| inside.place("")));
    record
}

impl Path {
    async fn node(&self, id: &str, is_strong: bool) -> Item {
        self.0.get(NODES.name, key(id), is_strong).await.unwrap()
    }

    async fn query(&self, inside: &Inside, range: Range, page: Option<usize>) -> Vec<Item> {
        let partition = ("root", inside.root.clone());
        self.0.query(Query { table: NODES.name, of: Of::Index, partition, sort: Some(("path", range)), page }).await
    }

    async fn all_in(&self, inside: &Inside) -> Vec<Item> {
        self.query(inside, Range::Begins(inside.path.clone()), None).await
    }
}

impl Pattern for Path {
    const NAME: &'static str = "path";

    async fn start() -> Self {
        Self(Client::start(&[NODES, VERSIONS]).await)
    }

    async fn import(&self, nodes: &[Node]) {
        let parents: BTreeMap<&str, Option<&str>> =
            nodes.iter().map(|node| (node.id.as_str(), node.parent.as_deref())).collect();
        let records = nodes.iter().map(|node| {
            let mut up = Vec::new();
            let mut parent = node.parent.as_deref();
            while let Some(id) = parent {
                up.push(id);
                parent = parents[id];
            }
            let inside = up.pop().map(|root| {
                let path = up.iter().rev().fold("/".to_owned(), |path, id| format!("{path}{id}/"));
                Inside { root: root.to_owned(), path }
            });
            Write::Put(record(node, inside.as_ref()))
        });
        self.0.write(NODES.name, records).await;
    }

    async fn create(&self, node: &Node) {
        let inside = match &node.parent {
            Some(parent) => Some(Inside::of(&self.node(parent, true).await)),
            None => None,
        };
        self.0.put(NODES.name, record(node, inside.as_ref())).await;
    }

    async fn rename(&self, id: &str, name: &str) {
        self.0.set(NODES.name, key(id), "name", s(name)).await;
    }

    async fn relocate(&self, id: &str, parent: &str) {
        let (node, parent) = futures::join!(self.node(id, true), self.node(parent, true));
        let (from, to) = (Inside::of(&node), Inside::of(&parent));
        let below = self.all_in(&from).await;
        let moved = below.into_iter().map(|mut one| {
            let rest = text(&one, "path").strip_prefix(&from.path).unwrap();
            one.extend(to.place(&format!("{id}/{rest}")));
            one
        });
        let mut top = node;
        top.extend(to.place(""));
        self.0.write(NODES.name, moved.chain([top]).map(Write::Put)).await;
    }

    async fn delete(&self, id: &str) {
        let below = self.all_in(&Inside::of(&self.node(id, true).await)).await;
        let ids = below.iter().map(|item| text(item, "id")).chain([id]);
        self.0.write(NODES.name, ids.map(|id| Write::Delete(key(id)))).await;
    }

    async fn below(&self, id: &str, levels: RangeInclusive<usize>) -> BTreeMap<String, String> {
        let inside = Inside::of(&self.node(id, false).await);
        if levels == (1..=1) {
            return answer(&self.query(&inside, Range::Is(s(&inside.path)), None).await, "id");
        }
        let mut found = self.all_in(&inside).await;
        let level = |item: &Item| 1 + text(item, "path")[inside.path.len()..].matches('/').count();
        found.retain(|item| levels.contains(&level(item)));
        answer(&found, "id")
    }

    async fn page(&self, id: &str, size: usize) -> BTreeMap<String, String> {
        let inside = Inside::of(&self.node(id, false).await);
        answer(&self.query(&inside, Range::Begins(inside.path.clone()), Some(size)).await, "id")
    }

    async fn ancestors(&self, id: &str) -> Vec<String> {
        let node = self.node(id, false).await;
        if !node.contains_key("root") {
            return Vec::new();
        }
        let nearest_first = text(&node, "path").rsplit('/').filter(|id| !id.is_empty());
        nearest_first.chain([text(&node, "root")]).map(str::to_owned).collect()
    }

    fn client(&self) -> &Client {
        &self.0
    }
}
