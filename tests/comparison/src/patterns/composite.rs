//! The composite sort key of one table for each hierarchy: the root is the partition key, and the names on the way down
//! are the sort key, as in `NE#OMAHA#68118`. An index finds the key of an id, which the seed's callers know. A rename
//! or a move changes the keys of the whole subtree, so every item is put anew and deleted.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::versions::VERSIONS;
use crate::client::{Client, Holds, Item, Of, Query, Range, Table, Write, answer, item, s, text};
use crate::pattern::Pattern;
use crate::workload::{Node, TEXT};

const NODES: Table = Table { name: "nodes", keys: &["root", "path"], index: Some((&["id"], Holds::Keys)) };

/// The pattern.
pub struct Composite(Client);

/// A key of the table.
#[derive(Clone)]
struct Place {
    root: String,
    path: String,
}

impl Place {
    fn of(item: &Item) -> Self {
        Self { root: text(item, "root").to_owned(), path: text(item, "path").to_owned() }
    }

    fn key(&self) -> Item {
        item([("root", s(&self.root)), ("path", s(&self.path))])
    }

    /// The place of a child.
    fn child(&self, name: &str) -> Self {
        Self { root: self.root.clone(), path: format!("{}#{name}", self.path) }
    }
}

fn record(node: &Node, parent: Option<&Place>) -> Item {
    let place = match parent {
        Some(parent) => parent.child(&node.name),
        None => Place { root: node.id.clone(), path: node.name.clone() },
    };
    let mut record = place.key();
    record.extend(item([("id", s(&node.id)), ("name", s(&node.name)), ("text", s(TEXT))]));
    record
}

impl Composite {
    async fn place(&self, id: &str) -> Place {
        let partition = ("id", id.to_owned());
        let found = self.0.query(Query { table: NODES.name, of: Of::Index, partition, sort: None, page: None }).await;
        Place::of(found.first().unwrap_or_else(|| panic!("{id} isn't there")))
    }

    async fn all_below(&self, place: &Place, of: Of, page: Option<usize>) -> Vec<Item> {
        let (partition, range) = (("root", place.root.clone()), Range::Begins(format!("{}#", place.path)));
        self.0.query(Query { table: NODES.name, of, partition, sort: Some(("path", range)), page }).await
    }

    /// Puts a subtree at another place, its top with this name, and then deletes it at the old one. Returns false if
    /// the top isn't there any more: somebody else has moved it meanwhile.
    async fn rewrite(&self, from: &Place, to: &Place, name: Option<&str>) -> bool {
        let (top, below) =
            futures::join!(self.0.get(NODES.name, from.key(), true), self.all_below(from, Of::TableStrongly, None));
        let Some(mut top) = top else { return false };
        top.extend(name.map(|name| ("name".to_owned(), s(name))));
        let (mut puts, mut deletes) = (Vec::new(), Vec::new());
        for mut node in [top].into_iter().chain(below) {
            let old = Place::of(&node);
            let path = format!("{}{}", to.path, &old.path[from.path.len()..]);
            node.extend(Place { root: to.root.clone(), path }.key());
            puts.push(Write::Put(node));
            deletes.push(Write::Delete(old.key()));
        }
        self.0.write(NODES.name, puts).await;
        self.0.write(NODES.name, deletes).await;
        true
    }
}

impl Pattern for Composite {
    const NAME: &'static str = "composite key";

    async fn start() -> Self {
        Self(Client::start(&[NODES, VERSIONS]).await)
    }

    async fn import(&self, nodes: &[Node]) {
        let by_id: BTreeMap<&str, &Node> = nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let records = nodes.iter().map(|node| {
            let mut up = Vec::new();
            let mut at = node;
            while let Some(parent) = &at.parent {
                at = by_id[parent.as_str()];
                up.push(at);
            }
            let root = up.pop().map(|root| Place { root: root.id.clone(), path: root.name.clone() });
            let parent = root.map(|root| up.iter().rev().fold(root, |place, node| place.child(&node.name)));
            Write::Put(record(node, parent.as_ref()))
        });
        self.0.write(NODES.name, records).await;
    }

    async fn create(&self, node: &Node) {
        let parent = match &node.parent {
            Some(parent) => Some(self.place(parent).await),
            None => None,
        };
        self.0.put(NODES.name, record(node, parent.as_ref())).await;
    }

    async fn rename(&self, id: &str, name: &str) {
        loop {
            let from = self.place(id).await;
            let path = match from.path.rsplit_once('#') {
                Some((parent, _)) => format!("{parent}#{name}"),
                None => name.to_owned(),
            };
            if self.rewrite(&from, &Place { root: from.root.clone(), path }, Some(name)).await {
                return;
            }
        }
    }

    async fn relocate(&self, id: &str, parent: &str) {
        loop {
            let (from, to) = futures::join!(self.place(id), self.place(parent));
            let name = from.path.rsplit('#').next().unwrap();
            if self.rewrite(&from, &to.child(name), None).await {
                return;
            }
        }
    }

    async fn delete(&self, id: &str) {
        let place = self.place(id).await;
        let below = self.all_below(&place, Of::TableStrongly, None).await;
        let places = below.iter().map(Place::of).chain([place]);
        self.0.write(NODES.name, places.map(|place| Write::Delete(place.key()))).await;
    }

    async fn below(&self, id: &str, levels: RangeInclusive<usize>) -> BTreeMap<String, String> {
        let place = self.place(id).await;
        let mut found = self.all_below(&place, Of::Table, None).await;
        found.retain(|item| levels.contains(&text(item, "path")[place.path.len()..].matches('#').count()));
        answer(&found, "id")
    }

    async fn page(&self, id: &str, size: usize) -> BTreeMap<String, String> {
        let place = self.place(id).await;
        answer(&self.all_below(&place, Of::Table, Some(size)).await, "id")
    }

    async fn ancestors(&self, id: &str) -> Vec<String> {
        let Place { root, path } = self.place(id).await;
        let above = path.match_indices('#').map(|(end, _)| Place { root: root.clone(), path: path[..end].to_owned() });
        let mut found = self.0.get_many(NODES.name, above.map(|place| place.key()).collect()).await;
        found.sort_by_key(|item| std::cmp::Reverse(text(item, "path").len()));
        found.iter().map(|item| text(item, "id").to_owned()).collect()
    }

    fn client(&self) -> &Client {
        &self.0
    }
}
