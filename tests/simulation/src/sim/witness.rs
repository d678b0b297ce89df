//! A witness sees every change of a base record, in order, and reports the changes that the handler had no reason to make. The
//! oracle can't know them, because it sees only the end.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::model::{AttributeValue, Item};
use sapwood_core::plan::StreamRecord;

/// Who made a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    /// Another client, or the first tree of the run.
    Client,
    /// A request to the API.
    Api,
    /// The stream's handler.
    Handler,
}

/// A mark of a base record: the operation, its mode, and true if revisions are deleted as well.
type Mark = (String, String, bool);

#[derive(Clone, Debug)]
struct Node {
    item: Item,
    /// The marks that the node's parent has had since this record last changed in a way that shows. Each is a reason to act on
    /// the node.
    reasons: BTreeSet<Mark>,
}

/// A deleted node, as it was last.
#[derive(Clone, Debug)]
struct Deleted {
    parent: Option<String>,
    mark: Option<Mark>,
}

/// A witness, with what it has seen.
pub(super) struct Witness {
    /// True if only the API writes.
    strict: bool,
    nodes: BTreeMap<String, Node>,
    deleted: BTreeMap<String, Deleted>,
    /// Every mark so far.
    marks: BTreeSet<Mark>,
    /// The nodes that were created again.
    again: BTreeSet<String>,
    /// For each operation that deletes a subtree: its node, and the nodes that were below that node all the time.
    below: BTreeMap<String, (String, BTreeSet<String>)>,
    /// The children that a node's rows showed when its lineage said that the node is being deleted.
    shown: BTreeMap<String, BTreeSet<String>>,
    /// The ancestor rows at depth 1: parent and child.
    rows: BTreeSet<(String, String)>,
    /// For each revision: true if it may be deleted, and true if it existed when its node was marked.
    revisions: BTreeMap<(String, String), (bool, bool)>,
}

fn text(item: &Item, name: &str) -> Option<String> {
    match item.get(name) {
        Some(AttributeValue::S(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    }
}

fn mark(item: &Item, name: &str) -> Option<Mark> {
    let Some(AttributeValue::M(map)) = item.get(name) else { return None };
    let map: Item = map.clone().into_iter().collect();
    Some((text(&map, "operation")?, text(&map, "mode")?, map.get("revisions") == Some(&AttributeValue::Bool(true))))
}

/// True if the handler can't tell two base records apart. It knows a record that the API has written by a few attributes, so
/// another client's change of other attributes doesn't show. A touch changes nothing that the handler has read.
fn is_same(old: &Item, new: &Item) -> bool {
    let shown = ["parent", "segment", "_under", "_deleting", "_rev", "_created_at", "_updated_at"];
    let others = || old.keys().chain(new.keys()).map(String::as_str).filter(|name| *name != "_touched");
    let is_equal = |name: &str| old.get(name) == new.get(name);
    if old.contains_key("_rev") { shown.into_iter().all(is_equal) } else { others().all(is_equal) }
}

impl Node {
    /// The node's parent. A record that can't be understood has none.
    fn parent(&self) -> Option<String> {
        let is_odd = |name: &str| self.item.contains_key(name) && text(&self.item, name).is_none();
        text(&self.item, "parent").filter(|_| !is_odd("segment"))
    }

    fn mark(&self) -> Option<Mark> {
        mark(&self.item, "_deleting")
    }

    fn is_under(&self, parent: &str) -> bool {
        text(&self.item, "_under").as_deref() == Some(parent)
    }
}

impl Witness {
    pub(super) fn new(strict: bool) -> Self {
        Self {
            strict,
            nodes: BTreeMap::new(),
            deleted: BTreeMap::new(),
            marks: BTreeSet::new(),
            again: BTreeSet::new(),
            below: BTreeMap::new(),
            shown: BTreeMap::new(),
            rows: BTreeSet::new(),
            revisions: BTreeMap::new(),
        }
    }

    /// Sees a change that this actor made.
    pub(super) fn see(&mut self, record: &StreamRecord, actor: Actor) -> Result<(), String> {
        let (pk, sk) = (record.key.pk.as_str(), record.key.sk.as_str());
        if let Some(child) = sk.strip_prefix("NODE#0001#") {
            let row = (pk.to_owned(), child.to_owned());
            if record.new.is_some() {
                self.rows.insert(row)
            } else {
                self.rows.remove(&row)
            };
        } else if sk == "LINEAGE" {
            let mark = |item: &Option<Item>| item.as_ref().and_then(|item| mark(item, "deleting"));
            if mark(&record.new).is_some() && mark(&record.old) != mark(&record.new) {
                // A row of a child that has left is still on its way out.
                let is_child = |child: &str| self.nodes.get(child).and_then(Node::parent).is_some_and(|at| at == pk);
                let shown = self.rows.iter().filter(|(parent, child)| parent == pk && is_child(child));
                let shown = shown.map(|(_, child)| child.clone());
                self.shown.insert(pk.to_owned(), shown.collect());
            }
        } else if sk == "NODE" {
            self.check(pk, record, actor)?;
            self.take(pk, record, actor);
            if self.strict {
                self.check_api()?;
            }
        } else if sk.starts_with('v') && !sk.starts_with("v0_") {
            let key = (pk.to_owned(), sk.to_owned());
            let before = self.revisions.remove(&key);
            if record.new.is_some() {
                self.revisions.insert(key, (false, false));
            } else if actor == Actor::Handler && before.is_none_or(|(may_go, _)| !may_go) {
                return Err(format!("revision {sk} of {pk} was deleted without being asked for"));
            }
        }
        self.add_reasons();
        Ok(())
    }

    /// Checks that the handler may make a record.
    fn check(&self, id: &str, record: &StreamRecord, actor: Actor) -> Result<(), String> {
        if actor != Actor::Handler {
            return Ok(());
        }
        let Some(old) = self.nodes.get(id) else { return Err(format!("the handler made {id}")) };
        let Some(new) = &record.new else {
            let Some((operation, _, revisions)) = old.mark() else {
                return Err(format!("{id} was deleted without a mark"));
            };
            let mut kept = self.revisions.iter().filter(|((pk, _), (_, marked))| pk == id && *marked);
            return match kept.next() {
                Some(((_, sk), _)) if revisions => Err(format!("{operation} deleted {id} before its revision {sk}")),
                _ => Ok(()),
            };
        };
        let ours = ["_touched", "_deleting", "parent", "_under"];
        let others = |item: &Item| {
            item.iter()
                .filter(|(n, _)| !ours.contains(&n.as_str()))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect::<Item>()
        };
        if others(new) != others(&old.item) {
            return Err(format!("the handler changed attributes of {id}"));
        }
        let marked = mark(new, "_deleting");
        if marked != old.mark() {
            let because = marked.as_ref().is_some_and(|mark| mark.1 == "delete" && old.reasons.contains(mark));
            if !because {
                return Err(format!("{id} was marked {marked:?} without a reason: {:?}", old.reasons));
            }
        }
        let parent = Node { item: new.clone(), reasons: BTreeSet::new() }.parent();
        if parent != old.parent() { self.check_child_action(id, old, parent) } else { Ok(()) }
    }

    /// Checks that the handler may make a child a root, or give it this parent.
    fn check_child_action(&self, id: &str, old: &Node, parent: Option<String>) -> Result<(), String> {
        let by = |mode: &str| old.reasons.iter().any(|(_, m, _)| m == mode);
        let from = old.parent().unwrap_or_default();
        let heirs = self.heirs(&from);
        match parent {
            None if by("detach") => Ok(()),
            None if by("adopt") => {
                // The child becomes a root if there is no heir, or if the adoption would make a cycle.
                let there = heirs.iter().find(|heir| self.nodes.contains_key(*heir));
                match there.filter(|heir| {
                    self.strict
                        && !self.is_below(heir, id)
                        && !self.again.contains(*heir)
                        && !self.again.contains(&from)
                }) {
                    Some(heir) => Err(format!("{id} became a root, and {heir} should have adopted it")),
                    None => Ok(()),
                }
            }
            Some(parent) if by("adopt") => {
                let exists = self.nodes.contains_key(&parent) || self.nodes.contains_key(&from);
                // If other clients move nodes that are being deleted, a tombstone can name an old heir.
                if (heirs.contains(&parent) && exists) || !self.strict {
                    Ok(())
                } else {
                    Err(format!("{parent} adopted {id}"))
                }
            }
            parent => Err(format!("{id} was put under {parent:?} without a reason: {:?}", old.reasons)),
        }
    }

    /// Returns the nodes that may adopt a child of this node: its parent, and, if that was deleted as well, the parent's parent.
    /// A node that was created again counts with its former parent, too.
    fn heirs(&self, node: &str) -> Vec<String> {
        let mut heirs: Vec<String> = Vec::new();
        let mut next = vec![node.to_owned()];
        while let Some(at) = next.pop() {
            let was = self.deleted.get(&at).and_then(|deleted| deleted.parent.clone());
            let is = self.nodes.get(&at).and_then(Node::parent);
            for heir in is.into_iter().chain(was).filter(|heir| !heirs.contains(heir)).collect::<Vec<_>>() {
                if self.deleted.contains_key(&heir) {
                    next.push(heir.clone());
                }
                heirs.push(heir);
            }
        }
        heirs
    }

    /// Returns a node's parent. A deleted node has its last one.
    fn parent_of(&self, id: &str) -> Option<String> {
        match self.nodes.get(id) {
            Some(node) => node.parent(),
            None => self.deleted.get(id).and_then(|deleted| deleted.parent.clone()),
        }
    }

    /// Returns a node's ancestor path, deleted nodes included.
    fn path(&self, id: &str) -> Vec<String> {
        let mut path: Vec<String> = Vec::new();
        let mut next = self.parent_of(id);
        while let Some(at) = next
            && !path.contains(&at)
        {
            next = self.parent_of(&at);
            path.push(at);
        }
        path
    }

    fn is_below(&self, id: &str, above: &str) -> bool {
        id == above || self.path(id).iter().any(|at| at == above)
    }

    fn take(&mut self, id: &str, record: &StreamRecord, actor: Actor) {
        let old = self.nodes.get(id).cloned();
        match &record.new {
            Some(item) => {
                let same = old.as_ref().filter(|old| is_same(&old.item, item));
                let reasons = same.map(|old| old.reasons.clone()).unwrap_or_default();
                self.nodes.insert(id.to_owned(), Node { item: item.clone(), reasons });
                if self.deleted.contains_key(id) {
                    self.again.insert(id.to_owned());
                }
            }
            None => {
                let last = self.nodes.remove(id);
                let (parent, mark) = last.map_or((None, None), |node| (node.parent(), node.mark()));
                self.deleted.insert(id.to_owned(), Deleted { parent, mark });
            }
        }
        let before = old.as_ref().and_then(Node::mark);
        let marked = self.nodes.get(id).and_then(Node::mark);
        if let Some(mark) = marked.clone().filter(|mark| Some(mark) != before.as_ref()) {
            self.marks.insert(mark.clone());
            if mark.2 {
                self.revisions.iter_mut().filter(|((pk, _), _)| pk == id).for_each(|(_, seen)| seen.1 = true);
            }
            if actor == Actor::Api && mark.1 == "delete" {
                // A node is below only if every node between exists. Otherwise it is an orphan, or below one.
                let is_whole = |path: &[String]| {
                    path.iter()
                        .position(|at| at == id)
                        .is_some_and(|at| path[..at].iter().all(|at| self.nodes.contains_key(at)))
                };
                let below = self.nodes.keys().filter(|other| *other != id && is_whole(&self.path(other)));
                self.below.insert(mark.0, (id.to_owned(), below.cloned().collect()));
            }
        }
        // A node that is created again, or loses its mark, or is deleted by another client, takes the nodes below it out of
        // account.
        let returned = record.new.is_some() && (old.is_none() || (before.is_some() && marked.is_none()));
        let deleted = record.new.is_none() && actor != Actor::Handler;
        if actor == Actor::Client {
            for shown in self.shown.values_mut() {
                shown.remove(id);
            }
        }
        self.forget(|witness, member| {
            (returned && witness.is_below(member, id)) || (deleted && member != id && witness.is_below(member, id))
        });
        if returned || deleted {
            self.below.retain(|_, (node, _)| node != id);
        }
        // An orphan that another client wrote, and that the node's rows didn't show in time, waits for its parent.
        let waits: Vec<String> = self.nodes.keys().filter(|id| self.waits(id)).cloned().collect();
        self.forget(|witness, member| waits.iter().any(|orphan| witness.is_below(member, orphan)));
        let nodes: BTreeMap<String, String> =
            self.below.iter().map(|(operation, (node, _))| (operation.clone(), node.clone())).collect();
        for (operation, node) in nodes {
            let Some((_, members)) = self.below.remove(&operation) else { continue };
            // A node that another client puts below an orphan of a deleted node has left the subtree, even if that orphan was once
            // below the same node.
            let is_inside = |member: &str| {
                let path = self.path(member);
                let above = path.iter().position(|at| *at == node);
                above.is_some_and(|at| path[..at].iter().all(|at| members.contains(at)))
            };
            let members = members.iter().filter(|member| is_inside(member)).cloned().collect();
            self.below.insert(operation, (node, members));
        }
    }

    fn forget(&mut self, is_out: impl Fn(&Self, &str) -> bool) {
        let mut below = std::mem::take(&mut self.below);
        for (_, members) in below.values_mut() {
            members.retain(|member| !is_out(self, member));
        }
        self.below = below;
    }

    fn waits(&self, id: &str) -> bool {
        let node = &self.nodes[id];
        let Some(parent) = node.parent() else { return false };
        let shown = self.shown.get(&parent).is_some_and(|shown| shown.contains(id));
        node.mark().is_none() && !self.nodes.contains_key(&parent) && !node.is_under(&parent) && !shown
    }

    /// Adds the present mark of each node's parent to the reasons to act on the node.
    fn add_reasons(&mut self) {
        let ids: Vec<String> = self.nodes.keys().cloned().collect();
        for id in ids {
            let node = &self.nodes[&id];
            let Some(parent) = node.parent().filter(|parent| *parent != id) else { continue };
            let reasons: BTreeSet<Mark> = match self.nodes.get(&parent) {
                Some(parent) => parent.mark().into_iter().collect(),
                None if !node.is_under(&parent) => BTreeSet::new(),
                None if !self.strict => self.marks.clone(),
                None => {
                    let above = std::iter::once(parent.clone()).chain(self.heirs(&parent));
                    above.filter_map(|id| self.deleted.get(&id)).filter_map(|deleted| deleted.mark.clone()).collect()
                }
            };
            self.nodes.get_mut(&id).unwrap().reasons.extend(reasons);
        }
        for ((pk, _), (may_go, _)) in &mut self.revisions {
            *may_go |= self.nodes.get(pk).and_then(Node::mark).is_some_and(|mark| mark.2);
        }
    }

    /// Checks what holds if only the API writes: no node is in a cycle, and `_under` names the parent.
    fn check_api(&self) -> Result<(), String> {
        for (id, node) in &self.nodes {
            if node.parent() != text(&node.item, "_under") {
                return Err(format!("{id} isn't under its parent"));
            }
            let mut at = node.parent();
            for _ in 0..self.nodes.len() {
                if at.as_ref() == Some(id) {
                    return Err(format!("{id} is below itself"));
                }
                at = at.and_then(|at| self.nodes.get(&at)?.parent());
            }
        }
        Ok(())
    }

    /// Returns what is wrong at the end.
    pub(super) fn at_rest(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (operation, (node, members)) in &self.below {
            let left = members.iter().filter(|member| self.nodes.contains_key(*member));
            wrong.extend(
                left.map(|left| format!("{left} was below {node} all the time, and {operation} didn't delete it")),
            );
        }
        for (id, node) in &self.nodes {
            let parent = node.parent();
            if let Some(parent) = parent.filter(|parent| self.strict && !self.nodes.contains_key(parent)) {
                wrong.push(format!("{id} is an orphan of {parent}"));
            }
        }
        wrong
    }
}
