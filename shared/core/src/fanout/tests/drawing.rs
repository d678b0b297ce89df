//! Draws trees from text, plans what happens to them, and prints plans as text.

use std::collections::BTreeMap;

use crate::fanout::{PlaceInput, PlacePlan, Settle, place, placement};
use crate::keys::{Id, ItemKey, NodeRef, Schema, Tenant};
use crate::model::{
    AttributeValue, BaseNode, DELETING, DeletionMark, DeletionMode, Item, Lineage, Placement, PlacementInput, Row,
    Settings, Stored, key_of, text,
};
use crate::plan::Rules;

/// A drawn tree: the base records and the lineages of a table.
pub(super) struct Tree<'a> {
    settings: &'a Settings,
    tenant: Option<Tenant>,
    bases: BTreeMap<Id, Item>,
    lineages: BTreeMap<Id, Stored>,
}

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

impl<'a> Tree<'a> {
    pub(super) fn drawn(tree: &str, settings: &'a Settings) -> Self {
        let tenant = settings.schema.has_tenants().then(|| Tenant::new("acme").unwrap());
        let mut drawn = Self { settings, tenant, bases: BTreeMap::new(), lineages: BTreeMap::new() };
        let lines: Vec<&str> = tree.lines().filter(|line| !line.trim().is_empty()).collect();
        let margin = lines.iter().map(|line| indent(line)).min().unwrap_or(0);
        let mut path: Vec<Id> = Vec::new();
        for line in lines {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap();
            path.truncate((indent(line) - margin) / 2);
            let node = id(name.trim_start_matches('-'));
            if !name.starts_with('-') {
                drawn.write(&node, path.last());
                words.for_each(|word| drawn.describe(&node, word));
            }
            path.push(node);
        }
        drawn
    }

    /// Reads one word after a node's id. A segment or an attribute settles the node again, so the other words come
    /// after those.
    fn describe(&mut self, node: &Id, word: &str) {
        let lineage = |tree: &Self| tree.lineages[node].lineage().unwrap().clone();
        if let Some(segment) = word.strip_prefix('/') {
            self.set(node, "segment", segment);
        } else if let Some((name, value)) = word.split_once('=') {
            self.set(node, name, value);
        } else if let Some(row) = word.strip_prefix("stale_rows:") {
            let (pk, sk) = row.split_once('|').unwrap();
            let mut lineage = lineage(self);
            lineage.stale_rows.push(ItemKey::new(pk, sk));
            self.lineages.insert(node.clone(), Stored::Lineage(lineage));
            return;
        } else {
            let stored = match word {
                "unplaced" => Stored::Absent,
                "malformed" => Stored::Malformed,
                "rows_pending" => Stored::Lineage(Lineage { rows_pending: true, ..lineage(self) }),
                _ => panic!("{word}?"),
            };
            self.lineages.insert(node.clone(), stored);
            return;
        }
        self.settle(node);
    }

    fn write(&mut self, node: &Id, parent: Option<&Id>) {
        let names = self.settings.schema.names();
        let key = self.settings.schema.node_key(&self.reference(node));
        let mut item = self.bases.remove(node).unwrap_or_default();
        item.extend([(names.partition_key.clone(), text(key.pk)), (names.sort_key.clone(), text(key.sk))]);
        item.remove(&names.parent);
        item.extend(parent.map(|parent| (names.parent.clone(), text(parent.as_str()))));
        self.bases.insert(node.clone(), item);
        if !self.lineages.contains_key(node) {
            self.settle(node);
        }
    }

    fn set(&mut self, node: &Id, name: &str, value: &str) {
        self.bases.get_mut(node).expect("a drawn node").insert(name.to_owned(), text(value));
    }

    /// Gives a drawn node the lineage that it has at rest. The nodes above it are drawn already.
    fn settle(&mut self, node: &Id) {
        let placement = self.wanted(node);
        let lineage = Lineage { placement, born: Some("1".to_owned()), ..Lineage::default() };
        self.lineages.insert(node.clone(), Stored::Lineage(lineage));
    }

    fn wanted(&self, node: &Id) -> Placement {
        let base = self.base(node).unwrap();
        let parent = self.parent(node, &base);
        let node = self.reference(node);
        let (base, parent) = (&base, parent.as_ref());
        placement(&PlacementInput { node: &node, base, parent, settings: self.settings, rules: Rules::default() })
    }

    fn reference(&self, id: &Id) -> NodeRef {
        NodeRef { tenant: self.tenant.clone(), id: id.clone() }
    }

    fn base(&self, node: &Id) -> Option<BaseNode> {
        let item = self.bases.get(node)?.clone();
        BaseNode::read(item, &self.reference(node), &self.settings.schema).ok()
    }

    /// Returns the placement of a node's parent, as the fan-out reads it.
    fn parent(&self, node: &Id, base: &BaseNode) -> Option<Placement> {
        let parent = base.parent.as_ref().filter(|parent| *parent != node)?;
        Some(self.lineages.get(parent)?.lineage()?.placement.clone())
    }

    /// Carries out a change, such as `move d under V`. Returns what the handler plans then, and keeps the lineage that
    /// the plan writes.
    pub(super) fn happens(&mut self, change: &str) -> Planned {
        let words: Vec<&str> = change.split_whitespace().collect();
        let node = id(words[1]);
        match words[..] {
            ["create" | "move", _, "under", parent] => self.write_base(&node, Some(&id(parent))),
            ["create", _] | ["move", _, "to", "the", "top"] => self.write_base(&node, None),
            ["set", _, assignment] => {
                let (name, value) = assignment.split_once('=').unwrap();
                self.set(&node, name, value);
            }
            ["unset", _, name] => {
                self.bases.get_mut(&node).unwrap().remove(name);
            }
            ["delete", _] => {
                self.bases.remove(&node);
            }
            ["mark", _, mode] => {
                let mode = DeletionMode::parse(mode).unwrap();
                let deleting = DeletionMark { mode, operation: "op".to_owned(), revisions: false, mark: None };
                self.bases.get_mut(&node).unwrap().insert(DELETING.to_owned(), deleting.value());
            }
            // The record says nothing new: it is delivered twice, or about an attribute that no row carries.
            ["write" | "touch", _] | ["put", _, "back"] => {}
            _ => panic!("{change}?"),
        }
        let base = self.base(&node);
        let parent = base.as_ref().and_then(|base| self.parent(&node, base));
        let stored = self.lineages.get(&node).cloned().unwrap_or(Stored::Absent);
        let input = PlaceInput {
            node: &self.reference(&node),
            base: base.as_ref(),
            stored: &stored,
            parent: parent.as_ref(),
            is_predicted: false,
            standing: None,
            only_touched: ["touch", "mark"].contains(&words[0]),
            mark_went: (words[0] == "put").then_some("5"),
            now: 7,
            new_life: "1",
        };
        let plan = place(&input, self.settings, Rules::default());
        let schema = &self.settings.schema;
        match (&plan.settle, &plan.intent) {
            (Settle::Delete, _) => drop(self.lineages.remove(&node)),
            (Settle::Write(item), _) | (Settle::Keep, Some(item)) => {
                self.lineages.insert(node, Stored::read(Some(item), schema));
            }
            (Settle::Keep, None) => {}
        }
        let item = |row: &Row| Some(row.item(&self.reference(&id(words[1])), base.as_ref()?, self.settings));
        Planned { puts: plan.puts.iter().filter_map(item).collect(), plan }
    }

    /// Writes a base record and leaves the lineage as it is, because placing the node is what is tested.
    fn write_base(&mut self, node: &Id, parent: Option<&Id>) {
        let before = self.lineages.get(node).cloned();
        self.write(node, parent);
        match before {
            Some(stored) => self.lineages.insert(node.clone(), stored),
            None => self.lineages.remove(node),
        };
    }
}

/// What the handler plans for a node, with the items of the rows that it puts.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) plan: PlacePlan,
    pub(super) puts: Vec<Item>,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Prints a plan's writes in their order, one a line.
fn written(planned: &Planned, schema: &Schema) -> Vec<String> {
    let Planned { plan, puts } = planned;
    let mut lines = Vec::new();
    lines.extend(plan.intent.iter().map(|item| format!("intent {}", lineage(item, schema))));
    for item in puts {
        let ItemKey { pk, sk } = key_of(item, schema).unwrap();
        lines.push(format!("put {pk} {sk}{}", attributes(item, schema)));
    }
    lines.extend(plan.deletes.iter().map(|ItemKey { pk, sk }| format!("delete {pk} {sk}")));
    match &plan.settle {
        Settle::Keep => {}
        Settle::Write(item) => lines.push(format!("settle {}", lineage(item, schema))),
        Settle::Delete => lines.push("delete the lineage".to_owned()),
    }
    if lines.is_empty() {
        assert!(plan.is_empty());
        lines.push("nothing".to_owned());
    }
    lines
}

/// Prints a lineage's item, such as `V > D, path V/d`, or `nowhere` if it names no row. Prints tombstones, too.
fn lineage(item: &Item, schema: &Schema) -> String {
    let (deleting, restarted) = match Stored::read(Some(item), schema) {
        Stored::Lineage(lineage) => (lineage.deleting, lineage.restarted),
        Stored::Tombstone(tombstone) => (Some(tombstone.deletion), None),
        other => panic!("{other:?}"),
    };
    let deleting = deleting.map(|deletion| {
        let heir = deletion
            .heir
            .map(|heir| format!(" to {}{}", heir.id, if heir.born.is_some() { ", seen there" } else { "" }));
        let again = restarted.map(|sequence| format!(", again at {sequence}")).unwrap_or_default();
        format!("deleting {}{}{again}", deletion.mark.mode.as_str(), heir.unwrap_or_default())
    });
    if item.contains_key("deleted") {
        assert!(!item.contains_key("ancestors"));
        return format!("tombstone, {}, until {}", deleting.unwrap(), plain(&item["_expires"]));
    }
    let texts = |name: &str, between: &str| match &item[name] {
        AttributeValue::L(list) => list.iter().map(plain).collect::<Vec<_>>().join(between),
        other => panic!("{name} is {other:?}"),
    };
    let mut line = texts("ancestors", " > ");
    if !texts("path", "/").is_empty() {
        line += &format!(", path {}", texts("path", "/"));
    }
    let flags = ["root", "orphan", "rows_pending"]
        .into_iter()
        .filter(|flag| item.get(*flag) == Some(&AttributeValue::Bool(true)));
    flags.for_each(|flag| line += &format!(", {flag}"));
    if let Some(AttributeValue::L(rows)) = item.get("stale_rows") {
        let keys = rows.iter().map(|row| match row {
            AttributeValue::M(map) => key_of(&map.clone().into_iter().collect(), schema).unwrap(),
            other => panic!("{other:?}"),
        });
        let keys: Vec<String> = keys.map(|ItemKey { pk, sk }| format!("{pk} {sk}")).collect();
        line += &format!(", stale_rows {}", keys.join(" + "));
    }
    line += &deleting.map(|deleting| format!(", {deleting}")).unwrap_or_default();
    if line.is_empty() { "nowhere".to_owned() } else { line.trim_start_matches(", ").to_owned() }
}

/// Prints the copied attributes of a row. The others repeat what its key says.
fn attributes(item: &Item, schema: &Schema) -> String {
    let names = schema.names();
    let own = [names.partition_key.as_str(), &names.sort_key, "_id", "_depth", "_parent"];
    assert!(!item.contains_key(DELETING), "a row says that its node is being deleted");
    let others = item.iter().filter(|(name, _)| !own.contains(&name.as_str()) && *name != &names.parent);
    others.map(|(name, value)| format!(" {name}={}", plain(value))).collect()
}

fn plain(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::N(digits) => digits.clone(),
        AttributeValue::Bool(flag) => flag.to_string(),
        other => format!("{other:?}"),
    }
}

/// Draws a tree, carries out changes one after another (separated by `;`), and compares what is planned for each.
pub(super) fn check(tree: &str, changes: &str, expected: &str) {
    check_with(&Settings::default(), tree, changes, expected);
}

pub(super) fn check_with(settings: &Settings, tree: &str, changes: &str, expected: &str) {
    let mut tree = Tree::drawn(tree, settings);
    let plans: Vec<Planned> = changes.split(';').map(|change| tree.happens(change)).collect();
    let lines = plans.iter().flat_map(|plan| written(plan, &settings.schema));
    let expected = expected.lines().map(str::trim).filter(|line| !line.is_empty());
    assert_eq!(lines.collect::<Vec<_>>().join("\n"), expected.collect::<Vec<_>>().join("\n"), "{changes}");
}

/// A part of the drive D from the seed document `hierarchy-path-and-replication`.
pub(super) const DRIVE: &str = "
    D
      III
      V
        d
          i
";
