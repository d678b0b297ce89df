//! `sapwood verify` and `sapwood repair`, the real binary, on a table that is damaged at random, behind the handler's
//! back: each damage has a tree of its own, so that whatever is found or written has one reason.
//!
//! `DAMAGES=300` does so many (`.ci/full`); `SAPWOOD_SEED` replays a run.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue::{Bool, L, M, N};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_tests::client::{node, put, put_all, s};
use sapwood_tests::oracle::Contents;
use sapwood_tests::running::{Running, TABLE, total};

use crate::stack::{Attributes, assert_right, chance, ends_with, lines, records, revision, sapwood, size, words};

/// What is done to a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damage {
    RowLost,
    RowChanged,
    RowInvented,
    LineageLost,
    LineageChanged,
    LineageUnsettled,
    LineageBuried,
    RecordLost,
    CopyLost,
    CopyChanged,
    CopyInvented,
    CursorLeft,
    MarkLeft,
    RecordPutBack,
}

impl Damage {
    pub(crate) const ALL: [Self; 14] = [
        Self::RowLost,
        Self::RowChanged,
        Self::RowInvented,
        Self::LineageLost,
        Self::LineageChanged,
        Self::LineageUnsettled,
        Self::LineageBuried,
        Self::RecordLost,
        Self::CopyLost,
        Self::CopyChanged,
        Self::CopyInvented,
        Self::CursorLeft,
        Self::MarkLeft,
        Self::RecordPutBack,
    ];

    /// The kind by which it is named: all twelve kinds of faults are among them.
    fn kind(self) -> &'static str {
        match self {
            Self::RowLost => "row-missing",
            Self::RowChanged => "row-wrong",
            Self::RowInvented => "row-surplus",
            Self::LineageLost | Self::LineageBuried => "lineage-missing",
            Self::LineageChanged => "lineage-wrong",
            Self::LineageUnsettled => "lineage-rows",
            Self::RecordLost => "lineage-surplus",
            Self::CopyLost => "copy-missing",
            Self::CopyChanged => "copy-wrong",
            Self::CopyInvented => "copy-surplus",
            Self::CursorLeft => "cursor-stuck",
            Self::MarkLeft => "deletion-stuck",
            Self::RecordPutBack => "record-put-back",
        }
    }

    /// True if the nodes below look wrong as well: they are compared with the lineage above them.
    fn is_handed_down(self) -> bool {
        matches!(self, Self::LineageLost | Self::LineageChanged | Self::LineageBuried)
    }

    /// The write units that mending it may take, in a tree of so many derived items, of which `own` are the node's. A
    /// write of ours is among them. No item has more than 1 KB.
    fn units_max(self, own: usize, tree: usize) -> usize {
        match self {
            // The node's record, and all of its rows; `LineageUnsettled` writes the lineage, too.
            Self::RowLost | Self::RowChanged => 1 + own - 1,
            Self::LineageUnsettled => 1 + own,
            // A transaction of a check and a deletion.
            Self::RowInvented => 4,
            Self::CopyLost | Self::CopyChanged | Self::CopyInvented => 1,
            // Two lineages and the rows, twice; and those of the nodes below, which are touched and written by us.
            Self::LineageLost | Self::LineageChanged | Self::LineageBuried => 3 * tree + 4,
            // Put and deleted; the rows and the lineage are deleted.
            Self::RecordLost => 2 + own,
            // The cursor, its deletion, and a touch of each child.
            Self::CursorLeft => 2 + tree,
            // The record, lineage, rows, a tombstone, cursors.
            Self::MarkLeft => own + 8,
            Self::RecordPutBack => 1,
        }
    }
}

/// The parameters of a table with an order and links.
const KINDS: [(&str, &str); 2] = [("OrderAttribute", "rank"), ("LinkAttributes", "tags")];

/// A table, and trees of it.
pub(crate) struct Trees {
    pub(crate) running: Running,
    /// The parameters of its handler.
    parameters: &'static [(&'static str, &'static str)],
    rng: SmallRng,
    before: Contents,
}

/// What was done to one tree.
#[derive(Debug)]
pub(crate) struct Done {
    tree: usize,
    damage: Damage,
    key: (String, String),
    node: String,
}

fn is_row(sk: &str) -> bool {
    ["NODE#", "PATH#", "ROOT#", "ORPHAN#", "CHILD#", "ORDERED#", "LINK#"].iter().any(|prefix| sk.starts_with(prefix))
}

/// The tree that an item belongs to: ids are `t<tree>-<letter>`.
fn tree_of(pk: &str, item: &str) -> usize {
    let id = if pk.starts_with('t') { pk } else { item.rsplit('#').next().unwrap() };
    id.trim_start_matches('t').split('-').next().unwrap().parse().unwrap_or_else(|_| panic!("{pk} | {item}"))
}

impl Trees {
    /// So many trees of three to eight nodes each, all of which have come to rest. Nobody reads the stream then. Every
    /// second table has an order and links.
    pub(crate) async fn grown(count: usize, mut rng: SmallRng) -> Self {
        let parameters = if rng.random_bool(0.5) { &KINDS[..] } else { &[] };
        let mut running = Running::start(parameters).await;
        let mut items = Vec::new();
        for tree in 0..count {
            let id = |n: usize| format!("t{tree}-{}", char::from(b'a' + n as u8));
            // Some trees are an orphan's.
            let missing = format!("t{tree}-missing");
            items.push(node(&id(0), rng.random_ratio(1, 5).then_some(&*missing), "top"));
            for n in 1..rng.random_range(3..=8) {
                let above = id(rng.random_range(0..n));
                let mut item = node(&id(n), Some(&above), "a name");
                if rng.random_ratio(1, 4) {
                    item.insert("segment".to_owned(), s("named"));
                }
                if rng.random_ratio(3, 4) {
                    item.insert("rank".to_owned(), N(rng.random_range(0..3).to_string()));
                }
                if rng.random_ratio(1, 2) {
                    item.insert(
                        "tags".to_owned(),
                        L([id(rng.random_range(0..8)), format!("t{tree}-tag")].map(s).to_vec()),
                    );
                }
                items.push(item);
            }
            for version in 1..=rng.random_range(1..4) {
                items.push(revision(&id(0), &format!("v{version:03}_Audit")));
            }
        }
        put_all(&running.client, TABLE, items).await;
        running.pause().await;
        running.announce().await;
        let before = running.contents().await;
        Self { running, parameters, rng, before }
    }

    /// Reads the stream again, from now on.
    pub(crate) async fn resume(&mut self) {
        self.running.resume(self.parameters).await;
    }

    /// An item of a tree.
    fn one_of(&mut self, tree: usize, is_one: impl Fn(&str) -> bool) -> (String, String) {
        let of_tree = |(pk, sk): &&(String, String)| is_one(sk) && tree_of(pk, sk) == tree;
        let keys: Vec<_> = self.before.keys().filter(of_tree).cloned().collect();
        keys.choose(&mut self.rng).unwrap().clone()
    }

    /// A node of a tree that has no children.
    fn leaf(&mut self, tree: usize) -> String {
        let is_above = |id: &str| self.before.keys().any(|(pk, sk)| pk == id && sk.starts_with("NODE#"));
        let of_tree = |(pk, sk): &&(String, String)| sk == "NODE" && tree_of(pk, sk) == tree && !is_above(pk);
        let leaves: Vec<_> = self.before.keys().filter(of_tree).map(|(pk, _)| pk.clone()).collect();
        leaves.choose(&mut self.rng).unwrap().clone()
    }

    /// The item as a foreign client sees it.
    async fn get(&self, (pk, sk): &(String, String)) -> Attributes {
        let get = self.running.client.get_item().table_name(TABLE).consistent_read(true);
        get.key("PK", s(pk)).key("SK", s(sk)).send().await.unwrap().item.unwrap()
    }

    async fn delete(&self, (pk, sk): &(String, String)) {
        let delete = self.running.client.delete_item().table_name(TABLE);
        delete.key("PK", s(pk)).key("SK", s(sk)).send().await.unwrap();
    }

    /// Changes attributes of an item; those without a value go.
    async fn change(
        &self,
        key: &(String, String),
        attributes: Vec<(&str, Option<aws_sdk_dynamodb::types::AttributeValue>)>,
    ) {
        let mut item = self.get(key).await;
        for (name, value) in attributes {
            match value {
                Some(value) => item.insert(name.to_owned(), value),
                None => item.remove(name),
            };
        }
        put(&self.running.client, TABLE, item).await;
    }

    /// Damages a tree, as a fault of ours, a lost record or somebody's hand would.
    async fn damage(&mut self, tree: usize, damage: Damage) -> Done {
        let anew = |pk: &str, sk: &str| Attributes::from([("PK", pk), ("SK", sk)].map(|(n, v)| (n.to_owned(), s(v))));
        let deletion = |operation: &str| {
            let mark = [("mode", s("delete")), ("operation", s(operation)), ("revisions", Bool(false))];
            Attributes::from(mark.map(|(name, value)| (name.to_owned(), value)))
        };
        let lineage = |id: &str| (id.to_owned(), "LINEAGE".to_owned());
        let (key, node) = match damage {
            Damage::RowLost => {
                let key = self.one_of(tree, is_row);
                let shown = self.before[&key]["_id"].clone();
                self.delete(&key).await;
                (key, text(&shown))
            }
            Damage::RowChanged => {
                let key = self.one_of(tree, |sk| is_row(sk) && !sk.starts_with("ORPHAN#"));
                let shown = self.before[&key]["_id"].clone();
                self.change(&key, vec![("name", Some(s("changed")))]).await;
                (key, text(&shown))
            }
            Damage::RowInvented => {
                let row = self.one_of(tree, |sk| sk.starts_with("NODE#"));
                let key = (format!("t{tree}-nobody"), row.1.clone());
                let shown = text(&self.before[&row]["_id"]);
                let mut item = self.get(&row).await;
                item.insert("PK".to_owned(), s(&key.0));
                put(&self.running.client, TABLE, item).await;
                (key, shown)
            }
            Damage::LineageLost => {
                let key = self.one_of(tree, |sk| sk == "LINEAGE");
                self.delete(&key).await;
                (key.clone(), key.0)
            }
            Damage::LineageChanged => {
                let key = self.one_of(tree, |sk| sk == "LINEAGE");
                let others = [format!("t{tree}-x"), format!("t{tree}-y")];
                self.change(&key, vec![("ancestors", Some(L(others.map(s).to_vec())))]).await;
                (key.clone(), key.0)
            }
            Damage::LineageUnsettled => {
                let key = self.one_of(tree, |sk| sk == "LINEAGE");
                self.change(&key, vec![("rows_pending", Some(Bool(true)))]).await;
                (key.clone(), key.0)
            }
            Damage::LineageBuried => {
                let key = self.one_of(tree, |sk| sk == "LINEAGE");
                let gone = ["ancestors", "path", "root", "orphan", "order", "links"].map(|name| (name, None));
                let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
                let buried = [
                    ("deleting", Some(M(deletion("an old one")))),
                    ("deleted", Some(N(now.to_string()))),
                    ("_expires", Some(N((now + 1_209_600).to_string()))),
                ];
                self.change(&key, gone.into_iter().chain(buried).collect()).await;
                (key.clone(), key.0)
            }
            Damage::RecordLost => {
                let leaf = self.leaf(tree);
                self.delete(&(leaf.clone(), "NODE".to_owned())).await;
                (lineage(&leaf), leaf)
            }
            Damage::CopyLost | Damage::CopyChanged => {
                let key = self.one_of(tree, |sk| sk.starts_with("v0_"));
                match damage {
                    Damage::CopyLost => self.delete(&key).await,
                    _ => self.change(&key, vec![("_version", Some(N("9".to_owned())))]).await,
                }
                (key.clone(), key.0)
            }
            Damage::CopyInvented => {
                let id = self.one_of(tree, |sk| sk == "NODE").0;
                let mut item = anew(&id, "v0_Nothing");
                item.insert("_version".to_owned(), N("3".to_owned()));
                put(&self.running.client, TABLE, item).await;
                ((id.clone(), "v0_Nothing".to_owned()), id)
            }
            Damage::CursorLeft => {
                let id = self.one_of(tree, |sk| sk == "NODE").0;
                let mut item = anew(&id, "CASCADE");
                item.extend([
                    ("format".to_owned(), N("1".to_owned())),
                    ("sequence".to_owned(), s(format!("{:0>40}", 7))),
                ]);
                put(&self.running.client, TABLE, item).await;
                ((id.clone(), "CASCADE".to_owned()), id)
            }
            Damage::MarkLeft => {
                let leaf = self.leaf(tree);
                let key = (leaf.clone(), "NODE".to_owned());
                let mark = deletion("lost");
                self.change(&key, vec![("_deleting", Some(M(mark.clone())))]).await;
                if self.rng.random_bool(0.5) {
                    let heir = self.before[&key].get("parent").map(|parent| ("heir".to_owned(), s(text(parent))));
                    let mark = M(mark.into_iter().chain(heir).collect());
                    self.change(&lineage(&leaf), vec![("deleting", Some(mark))]).await;
                }
                (key, leaf)
            }
            Damage::RecordPutBack => {
                let id = format!("t{tree}-back");
                let mut item = anew(&id, "NODE");
                item.insert("_put_back".to_owned(), s("17"));
                put(&self.running.client, TABLE, item).await;
                ((id.clone(), "NODE".to_owned()), id)
            }
        };
        Done { tree, damage, key, node }
    }

    /// The derived items of a tree, and those that show one node.
    fn derived(&self, done: &Done) -> (usize, usize) {
        let is_derived = |sk: &str| is_row(sk) || sk == "LINEAGE";
        let of_tree = self.before.iter().filter(|((pk, sk), _)| is_derived(sk) && tree_of(pk, sk) == done.tree);
        let shows = |(key, item): &(&(String, String), &sapwood_tests::oracle::Item)| {
            item.get("_id").map(text).as_ref().unwrap_or(&key.0) == &done.node
        };
        let (all, own): (Vec<_>, Vec<_>) = (of_tree.clone().collect(), of_tree.filter(shows).collect());
        (own.len(), all.len())
    }

    /// Does damage to every tree, all kinds about as often.
    pub(crate) async fn damage_all(&mut self, trees: usize) -> Vec<Done> {
        let mut done = Vec::new();
        for tree in 0..trees {
            done.push(self.damage(tree, Damage::ALL[tree % Damage::ALL.len()]).await);
        }
        done
    }
}

fn text(value: &sapwood_core::model::AttributeValue) -> String {
    match value {
        sapwood_core::model::AttributeValue::S(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

/// The kinds and keys of what was confirmed, by tree. Findings are left out.
fn confirmed(printed: &str) -> BTreeMap<usize, BTreeSet<(String, String, String)>> {
    let mut trees: BTreeMap<usize, BTreeSet<_>> = BTreeMap::new();
    for line in lines(printed).iter().filter(|line| line["state"] == "confirmed") {
        let [kind, pk, sk, node] = ["kind", "pk", "sk", "node"].map(|name| line[name].as_str().unwrap().to_owned());
        if !["orphan", "unreadable", "cycle", "no-order"].contains(&&*kind) {
            trees.entry(tree_of(&node, &sk)).or_default().insert((kind, pk, sk));
        }
    }
    trees
}

/// The attributes that handler and repairs write into base records.
const OURS: [&str; 2] = ["_redriven", "_touched"];

async fn damages_are_named_and_mended_and_nothing_else_is_written(count: usize, rng: SmallRng) {
    let mut trees = Trees::grown(count, rng).await;
    let done = trees.damage_all(count).await;
    trees.resume().await;
    trees.running.take();
    let (running, before) = (&trees.running, &trees.before);
    let proxy = running.another_proxy().await;
    let damaged = running.contents().await;

    // Each is named, and nothing but what follows from it.
    let found = confirmed(&ends_with(1, &proxy.url(), &["verify", "--json", "--confirmation-window", "1"]));
    for one in &done {
        let named = found.get(&one.tree).unwrap_or_else(|| panic!("{one:?} isn't found"));
        let (pk, sk) = one.key.clone();
        let itself = (one.damage.kind().to_owned(), pk, sk);
        assert!(named.contains(&itself), "{one:?} isn't among {named:?}");
        // A lineage that names other ancestors doesn't name the rows that are there.
        assert!(named.len() == 1 || one.damage.is_handed_down(), "{one:?}: more is found: {named:?}");
    }
    assert_eq!(found.len(), done.len(), "what wasn't damaged is right");
    assert_eq!(running.contents().await, damaged, "verify writes nothing");

    let limit = (count * 20).to_string();
    let repair = ["repair", "--json", "--confirmation-window", "1", "--yes", "--max-differences", &limit];
    let repaired = sapwood(&proxy.url(), &repair);
    assert_eq!(repaired.status.code(), Some(0), "{}", words(&repaired));
    assert_right(running).await;

    // Base records are as they were, but for what the damage itself asks for.
    let after = running.contents().await;
    let ends = |one: &&Done| matches!(one.damage, Damage::RecordLost | Damage::MarkLeft);
    let ended: BTreeSet<&str> = done.iter().filter(ends).map(|one| &*one.node).collect();
    let mut wanted = records(before, &OURS);
    wanted.retain(|(pk, _), _| !ended.contains(&**pk));
    assert_eq!(records(&after, &OURS), wanted);
    let written = |name: &str, (key, item): (&(String, String), &sapwood_tests::oracle::Item)| {
        key.1 == "NODE" && item.get(name) != before.get(key).and_then(|item| item.get(name))
    };
    let by_tree: BTreeMap<usize, &Done> = done.iter().map(|one| (one.tree, one)).collect();
    for (key, item) in after.iter().filter(|((pk, _), _)| pk != crate::stack::OURS) {
        let one = by_tree[&tree_of(&key.0, &key.1)];
        if written("_redriven", (key, item)) {
            assert!(key.0 == one.node || one.damage.is_handed_down(), "{key:?} is redriven: {one:?}");
        }
        if written("_touched", (key, item)) {
            assert!(one.damage.is_handed_down() || one.damage == Damage::CursorLeft, "{key:?} is touched: {one:?}");
        }
    }
    // What is derived is what it was before the damage. A lineage that was damaged can have another life.
    let derived = |contents: &Contents| -> Contents {
        let all = contents.iter().filter(|((_, sk), _)| is_row(sk) || sk == "LINEAGE" || sk.starts_with("v0_"));
        let shown = |key: &(String, String), item: &sapwood_tests::oracle::Item| {
            item.get("_id").map(text).unwrap_or_else(|| key.0.clone())
        };
        let all = all.filter(|(key, item)| !ended.contains(&*shown(key, item)));
        all.map(|(key, item)| {
            let item = item.iter().filter(|(name, _)| !["born", "earlier"].contains(&name.as_str()));
            (key.clone(), item.map(|(name, value)| (name.clone(), value.clone())).collect())
        })
        .collect()
    };
    assert_eq!(derived(&after), derived(before));

    // Nothing else was written: the units say so.
    let handler = total(&running.take().1).usage.write_units;
    // A transaction takes two units for each of its two actions.
    let ours = ["PutItem", "UpdateItem", "DeleteItem"].map(|name| proxy.count(name)).iter().sum::<usize>()
        + 4 * proxy.count("TransactWriteItems");
    let allowed: usize = done
        .iter()
        .map(|one| {
            let (own, tree) = trees.derived(one);
            one.damage.units_max(own, tree)
        })
        .sum();
    println!("{count} damages: {handler} write units of the handler, {ours} of repair, {allowed} allowed");
    assert!(handler + ours as f64 <= allowed as f64);
    let all = before.len();
    assert!(proxy.count("BatchWriteItem") == 0, "a repair writes no rows; the table has {all} items");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_damage_is_named_and_mended_and_nothing_else_is_written() {
    let mut rng = chance();
    let mut left = size("DAMAGES", 30);
    while left > 0 {
        let some = left.min(60);
        damages_are_named_and_mended_and_nothing_else_is_written(some, SmallRng::seed_from_u64(rng.random())).await;
        left -= some;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_repairs_at_once_beside_a_writer_mend_sixty_damages() {
    let mut trees = Trees::grown(60, chance()).await;
    trees.damage_all(60).await;
    trees.resume().await;
    let url = trees.running.url();
    let repair = || {
        let url = url.clone();
        let arguments = ["repair", "--confirmation-window", "1", "--yes", "--max-differences", "5000"];
        tokio::task::spawn_blocking(move || crate::stack::command(&url, &arguments).output().unwrap())
    };
    let (one, other) = (repair(), repair());
    let client = &trees.running.client;
    while !(one.is_finished() && other.is_finished()) {
        // Renames and moves between the trees, of nodes that are there or come to be.
        let (id, to) = (trees.rng.random_range(0..60), trees.rng.random_range(0..60));
        put(client, TABLE, node(&format!("t{id}-w"), Some(&format!("t{to}-a")), "by the writer")).await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for repair in [one, other] {
        let repaired = repair.await.unwrap();
        assert!(matches!(repaired.status.code(), Some(0 | 1 | 3)), "{}", words(&repaired));
    }
    // What they have left to one another is mended by one.
    trees.running.settle().await;
    let last = ["repair", "--confirmation-window", "1", "--yes", "--max-differences", "5000"];
    ends_with(0, &url, &last);
    assert_right(&trees.running).await;
}
