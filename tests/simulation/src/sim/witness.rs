//! A witness sees every change of a base record, in order, and reports the changes that the handler had no reason to
//! make. The oracle can't know them, because it sees only the end.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, Item, times_written};

/// Who made a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    /// Another client, or the first tree of the run.
    Client,
    /// A request to the API.
    Api,
    /// The stream's handler. The invocation began after so many changes of nodes.
    Handler(usize),
    /// A repair.
    Repair,
}

/// A mark of a base record: the operation, its mode, and true if revisions are deleted as well.
type Mark = (String, String, bool);

#[derive(Clone, Debug)]
struct Node {
    item: Item,
    /// The marks that the node's parent has had since this record last changed in a way that shows. Each is a reason to
    /// act on the node.
    reasons: BTreeSet<Mark>,
    /// True if another client has put the node where it is, or back after its life had ended. No deletion that was over
    /// before is a reason to act on it.
    stays: bool,
    /// The sequence number of the first record that shows it as it is now.
    since: String,
    /// The record whose mark another client has taken back, until the lineage shows that the handler has seen it.
    taken_back: Option<Item>,
}

/// A deleted node, as it was last.
#[derive(Clone, Debug)]
struct Deleted {
    parent: Option<String>,
    mark: Option<Mark>,
    /// The life that has ended.
    born: Option<String>,
    /// True if another client has deleted it. Nothing remembers that.
    by_client: bool,
    /// The life of the parent that the node was put under.
    born_of_parent: Option<String>,
}

/// A witness, with what it has seen.
pub(super) struct Witness {
    /// True if only the API writes.
    strict: bool,
    nodes: BTreeMap<String, Node>,
    deleted: BTreeMap<String, Deleted>,
    /// The lives that have ended, by id and name. A life that another client began has the name that the lineage gave
    /// it.
    ended: BTreeMap<(String, String), Deleted>,
    /// Those of them that have a tombstone.
    buried: BTreeSet<(String, String)>,
    /// The nodes of which lineage or tombstone say that a life is ending or has ended, until the handler sees the next
    /// one.
    ending: BTreeSet<String>,
    /// The lives that lineages name.
    named: BTreeMap<String, String>,
    /// Every mark so far.
    marks: BTreeSet<Mark>,
    /// The number of the last change of each node's parent, and of each operation's mark.
    moved: BTreeMap<String, usize>,
    marked: BTreeMap<String, usize>,
    changes: usize,
    /// The nodes that were created again.
    again: BTreeSet<String>,
    /// For each node the states of its record that have ended, each with the number of the change that ended it.
    earlier: BTreeMap<String, Vec<(usize, Node)>>,
    /// For each operation that deletes a subtree: its node, and the nodes that were below that node all the time.
    below: BTreeMap<String, (String, BTreeSet<String>)>,
    /// The children that a node's rows showed when its lineage said that the node is being deleted.
    shown: BTreeMap<String, BTreeSet<String>>,
    /// The ancestor rows at depth 1: parent and child.
    rows: BTreeSet<(String, String)>,
    /// For each revision: true if it may be deleted, and true if it existed when its node was marked.
    revisions: BTreeMap<(String, String), (bool, bool)>,
    /// The nodes that another client has written or deleted since the first tree has settled.
    foreign: BTreeSet<String>,
    /// True once a week has passed: nothing counts any more that deletions have left.
    is_forgetful: bool,
}

fn text(item: &Item, name: &str) -> Option<String> {
    text_of(item.get(name)).map(str::to_owned)
}

fn text_of(value: Option<&AttributeValue>) -> Option<&str> {
    match value {
        Some(AttributeValue::S(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}

fn mark(item: &Item, name: &str) -> Option<Mark> {
    let Some(AttributeValue::M(map)) = item.get(name) else { return None };
    let revisions = map.get("revisions") == Some(&AttributeValue::Bool(true));
    Some((text_of(map.get("operation"))?.to_owned(), text_of(map.get("mode"))?.to_owned(), revisions))
}

/// True if the handler can't tell a base record that it has read from one that took its place. It knows a record that
/// the API has written by a few attributes, so another client's change of other attributes doesn't show. It knows any
/// other record by all attributes that it has read, so one that came in since doesn't show. A touch changes nothing
/// that the handler has read.
fn is_same(read: &Item, now: &Item) -> bool {
    let own = [
        "parent",
        "segment",
        "_born",
        "_under",
        "_deleting",
        "_trashed",
        "_copying",
        "_rev",
        "_created_at",
        "_updated_at",
    ];
    let others = read.keys().map(String::as_str).filter(|name| *name != "_touched" && !read.contains_key("_rev"));
    own.into_iter().chain(others).all(|name| read.get(name) == now.get(name))
}

/// A node's parent. A record that can't be understood has none.
fn parent_of(item: &Item) -> Option<&str> {
    let segment = item.get("segment");
    let is_odd = segment.is_some() && text_of(segment).is_none();
    text_of(item.get("parent")).filter(|_| !is_odd)
}

impl Node {
    fn parent(&self) -> Option<&str> {
        parent_of(&self.item)
    }

    fn mark(&self) -> Option<Mark> {
        mark(&self.item, "_deleting")
    }

    /// The life of this parent that the API or an operation has put the node under.
    fn born_of(&self, parent: &str) -> Option<String> {
        let Some(AttributeValue::M(map)) = self.item.get("_under").filter(|_| self.says_under(parent)) else {
            return None;
        };
        text_of(map.get("born")).map(str::to_owned)
    }

    /// True if the API or an operation has put the node under this parent.
    fn says_under(&self, parent: &str) -> bool {
        matches!(self.item.get("_under"), Some(AttributeValue::M(map)) if text_of(map.get("parent")) == Some(parent))
    }
}

impl Witness {
    pub(super) fn new(strict: bool) -> Self {
        Self {
            strict,
            nodes: BTreeMap::new(),
            deleted: BTreeMap::new(),
            ended: BTreeMap::new(),
            buried: BTreeSet::new(),
            ending: BTreeSet::new(),
            named: BTreeMap::new(),
            marks: BTreeSet::new(),
            moved: BTreeMap::new(),
            marked: BTreeMap::new(),
            changes: 0,
            again: BTreeSet::new(),
            earlier: BTreeMap::new(),
            below: BTreeMap::new(),
            shown: BTreeMap::new(),
            rows: BTreeSet::new(),
            revisions: BTreeMap::new(),
            foreign: BTreeSet::new(),
            is_forgetful: false,
        }
    }

    /// The first tree has settled, whoever wrote it. What it has without a parent counts as another client's.
    pub(super) fn begins(&mut self) {
        let is_orphan = |node: &Node| node.parent().is_some_and(|parent| !self.nodes.contains_key(parent));
        self.foreign = self.nodes.iter().filter(|(_, node)| is_orphan(node)).map(|(id, _)| id.clone()).collect();
    }

    /// The record of a change of this item is lost: nothing shows any more that another client has put a node where it
    /// is.
    pub(super) fn lost(&mut self, key: &ItemKey) {
        if let Some(node) = self.nodes.get_mut(&key.pk).filter(|_| key.sk == "NODE") {
            node.stays = false;
        }
        self.add_reasons();
    }

    /// An invocation has these records, and nodes may have changed since it took them. The newest of a node decides by
    /// whom the node was put where it is. An old one, of a write that was equal to what another client has put back
    /// since, looks like that of the client.
    pub(super) fn taken(&mut self, records: &[StreamRecord]) {
        let nodes = records.iter().filter(|record| record.key.sk == "NODE");
        let newest: BTreeMap<&str, &StreamRecord> = nodes.map(|record| (&*record.key.pk, record)).collect();
        for (id, record) in newest {
            let Some(node) = self.nodes.get_mut(id).filter(|node| node.stays) else { continue };
            // All that the handler compares.
            let names = ["parent", "_born", "_under", "_rev", "_touched", "_deleting"];
            let looks = |new: &Item| names.iter().all(|name| new.get(*name) == node.item.get(*name));
            if record.sequence < node.since && record.new.as_ref().is_some_and(looks) {
                node.stays = false;
                self.add_reasons();
            }
        }
    }

    /// The number of changes of nodes so far.
    pub(super) fn changes(&self) -> usize {
        self.changes
    }

    /// No tombstone counts any more, so nobody knows what became of the lives that have one.
    pub(super) fn forget_buried(&mut self) {
        self.is_forgetful = true;
        let buried = std::mem::take(&mut self.buried);
        self.ended.retain(|life, _| !buried.contains(life));
        for (id, _) in buried {
            self.shown.remove(&id);
        }
        self.forget_waiting();
    }

    /// An orphan that another client wrote, and that the node's rows didn't show in time, waits for its parent.
    fn forget_waiting(&mut self) {
        let waits: Vec<String> = self.nodes.keys().filter(|id| self.waits(id)).cloned().collect();
        self.forget(|witness, member| waits.iter().any(|orphan| witness.is_below(member, orphan)));
    }

    /// Sees a change that this actor made.
    pub(super) fn see(&mut self, record: &StreamRecord, actor: Actor) -> Result<(), String> {
        let (pk, sk) = (record.key.pk.as_str(), record.key.sk.as_str());
        if let Some(child) = sk.strip_prefix("NODE#0001#") {
            let row = (pk.to_owned(), child.to_owned());
            if record.new.is_some() {
                self.rows.insert(row)
            } else {
                // The deletion may have looked while there was no row.
                self.shown.entry(row.0.clone()).or_default().remove(child);
                self.rows.remove(&row)
            };
        } else if sk == "LINEAGE" {
            let mark = |item: &Option<Item>| item.as_ref().and_then(|item| mark(item, "deleting"));
            if record.new.as_ref().is_some_and(|item| item.contains_key("deleting")) {
                self.ending.insert(pk.to_owned());
            } else {
                self.ending.remove(pk);
            }
            if let Some(item) = &record.new
                && let Some(born) = text(item, "born")
            {
                if item.contains_key("deleted") {
                    self.buried.insert((pk.to_owned(), born.clone()));
                }
                self.named.insert(pk.to_owned(), born);
            }
            if mark(&record.new).is_none()
                && let Some(node) = self.nodes.get_mut(pk)
            {
                node.taken_back = None;
            }
            if mark(&record.new).is_some() && mark(&record.old) != mark(&record.new) {
                // A row of a child that has left is still on its way out.
                let is_child = |child: &str| self.nodes.get(child).and_then(Node::parent).is_some_and(|at| at == pk);
                let shown = self.rows.iter().filter(|(parent, child)| parent == pk && is_child(child));
                let shown = shown.map(|(_, child)| child.clone());
                self.shown.insert(pk.to_owned(), shown.collect());
            }
        } else if sk == "NODE" {
            // What a repair has put back, to delete it again, is nobody's.
            let is_put_back = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.contains_key("_put_back"));
            let mut seen = Cow::Borrowed(record);
            if is_put_back(&record.old) {
                seen.to_mut().old = None;
            }
            if is_put_back(&record.new) {
                seen.to_mut().new = None;
            }
            if seen.old.is_none() && seen.new.is_none() {
                return Ok(());
            }
            if actor == Actor::Client {
                self.foreign.insert(pk.to_owned());
            } else if actor == Actor::Api
                && record.new.as_ref().is_some_and(|new| new.contains_key("_under"))
                && record.new.as_ref().and_then(|new| new.get("_under"))
                    != record.old.as_ref().and_then(|old| old.get("_under"))
            {
                self.foreign.remove(pk);
            }
            self.check(pk, &seen, actor)?;
            self.take(pk, &seen, actor);
            if self.strict {
                self.check_api()?;
                self.check_marks()?;
            }
            self.add_reasons();
        } else if sk.starts_with('v') && !sk.starts_with("v0_") {
            let key = (pk.to_owned(), sk.to_owned());
            let before = self.revisions.remove(&key);
            if record.new.is_some() {
                self.revisions.insert(key, (false, false));
            } else if matches!(actor, Actor::Handler(_)) && before.is_none_or(|(may_go, _)| !may_go) {
                return Err(format!("revision {sk} of {pk} was deleted without being asked for"));
            }
            self.add_reasons();
        }
        Ok(())
    }

    /// Checks that the handler may make a record.
    fn check(&self, id: &str, record: &StreamRecord, actor: Actor) -> Result<(), String> {
        let began = match actor {
            Actor::Client | Actor::Api => return Ok(()),
            Actor::Repair if record.new.is_none() => return Err(format!("a repair deleted {id}")),
            Actor::Repair => return Ok(()),
            Actor::Handler(began) => began,
        };
        // Copies have a judge of their own.
        if record.new.as_ref().is_some_and(|new| new.contains_key("_copy_of")) && !self.nodes.contains_key(id) {
            return Ok(());
        }
        let Some(mut old) = self.nodes.get(id).cloned() else { return Err(format!("the handler made {id}")) };
        // Where the record is what it was when the invocation read it, no condition can tell what came in between.
        for (ended, earlier) in self.earlier.get(id).into_iter().flatten() {
            if *ended > began && is_same(&earlier.item, &old.item) {
                old.reasons.extend(earlier.reasons.clone());
            }
        }
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
        let ours = ["_touched", "_deleting", "parent", "_under", "_rev", "_trashed", "_copying"];
        let others = |item: &Item| {
            item.iter()
                .filter(|(n, _)| !ours.contains(&n.as_str()))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect::<Item>()
        };
        if others(new) != others(&old.item) {
            return Err(format!("the handler changed attributes of {id}"));
        }
        let (was_trashed, is_trashed) = (old.item.get("_trashed"), new.get("_trashed"));
        if was_trashed != is_trashed && (is_trashed.is_some() || old.parent().is_none()) {
            return Err(format!("the handler changed `_trashed` of {id}: {:?} to {new:?}", old.item));
        }
        let is_put = new.contains_key("_under") && ["parent", "_under"].iter().any(|n| new.get(*n) != old.item.get(*n));
        if times_written(Some(new)) != times_written(Some(&old.item)) + usize::from(is_put) {
            return Err(format!("the handler counted wrong in {id}: {:?} to {new:?}", old.item));
        }
        let marked = mark(new, "_deleting");
        if marked != old.mark() {
            let because = marked.as_ref().is_some_and(|mark| mark.1 == "delete" && old.reasons.contains(mark));
            if !because {
                return Err(format!("{id} was marked {marked:?} without a reason: {:?}", old.reasons));
            }
        }
        let parent = parent_of(new);
        if parent == old.parent() { Ok(()) } else { self.check_child_action(id, &old, parent) }
    }

    /// Checks that the handler may make a child a root, or give it this parent.
    fn check_child_action(&self, id: &str, old: &Node, parent: Option<&str>) -> Result<(), String> {
        let by = |mode: &str| old.reasons.iter().any(|(_, m, _)| m == mode);
        let from = old.parent().unwrap_or_default().to_owned();
        match parent {
            None if by("detach") => Ok(()),
            None if by("adopt") => {
                // The child becomes a root if there is no heir, or if the adoption would make a cycle, or where another
                // life of an heir was the last to end. A node that was deleted without a mark has left no tombstone.
                let heirs = self.heirs(&from, |deleted| deleted.mark.is_some());
                let there = heirs.iter().find(|heir| self.nodes.contains_key(*heir));
                match there.filter(|heir| {
                    self.strict
                        && !self.is_below(heir, id)
                        && !self.again.contains(&from)
                        && !heirs.iter().any(|heir| self.again.contains(heir))
                }) {
                    Some(heir) => Err(format!("{id} became a root, and {heir} should have adopted it")),
                    None => Ok(()),
                }
            }
            Some(parent) if by("adopt") => {
                let heirs = self.heirs(&from, |_| true);
                let exists = self.nodes.contains_key(parent) || self.nodes.contains_key(&from);
                // If other clients move nodes that are being deleted, a tombstone can name an old heir.
                if (heirs.iter().any(|heir| heir == parent) && exists) || !self.strict {
                    Ok(())
                } else {
                    Err(format!("{parent} adopted {id}"))
                }
            }
            parent => Err(format!("{id} was put under {parent:?} without a reason: {:?}", old.reasons)),
        }
    }

    /// Returns the nodes that may adopt a child of this node: its parent, and, if that was deleted as well, and this
    /// holds of it, the parent's parent. A node that was created again counts with its former parent, too.
    fn heirs(&self, node: &str, goes_on: impl Fn(&Deleted) -> bool) -> Vec<String> {
        let mut heirs: Vec<String> = Vec::new();
        let mut next = vec![node.to_owned()];
        while let Some(at) = next.pop() {
            let was = self.deleted.get(&at).and_then(|deleted| deleted.parent.clone());
            let is = self.nodes.get(&at).and_then(Node::parent).map(str::to_owned);
            for heir in is.into_iter().chain(was).filter(|heir| !heirs.contains(heir)).collect::<Vec<_>>() {
                if self.deleted.get(&heir).is_some_and(&goes_on) {
                    next.push(heir.clone());
                }
                heirs.push(heir);
            }
        }
        heirs
    }

    /// Returns a node's parent. A deleted node has its last one.
    fn last_parent(&self, id: &str) -> Option<&str> {
        match self.nodes.get(id) {
            Some(node) => node.parent(),
            None => self.deleted.get(id).and_then(|deleted| deleted.parent.as_deref()),
        }
    }

    /// Returns a node's ancestor path, deleted nodes included.
    fn path<'a>(&'a self, id: &str) -> Vec<&'a str> {
        let mut path: Vec<&str> = Vec::new();
        let mut next = self.last_parent(id);
        while let Some(at) = next
            && !path.contains(&at)
        {
            next = self.last_parent(at);
            path.push(at);
        }
        path
    }

    fn is_below(&self, id: &str, above: &str) -> bool {
        id == above || self.path(id).contains(&above)
    }

    fn take(&mut self, id: &str, record: &StreamRecord, actor: Actor) {
        let old = self.nodes.get(id).cloned();
        let parent = |item: &Option<Item>| item.as_ref().and_then(|item| text(item, "parent"));
        self.changes += 1;
        if parent(&record.old) != parent(&record.new) {
            self.moved.insert(id.to_owned(), self.changes);
        }
        if let Some(old) = old.as_ref().filter(|old| record.new.as_ref().is_none_or(|new| !is_same(&old.item, new))) {
            self.earlier.entry(id.to_owned()).or_default().push((self.changes, old.clone()));
        }
        match &record.new {
            Some(item) => {
                // A repair changes nothing of what the owner has asked for, nor of what was asked of it.
                let same = old.as_ref().filter(|old| actor == Actor::Repair || is_same(&old.item, item));
                let reasons = same.map(|old| old.reasons.clone()).unwrap_or_default();
                let taken_back = old
                    .as_ref()
                    .and_then(|old| if old.mark().is_some() { Some(old.item.clone()) } else { old.taken_back.clone() });
                let stays = self.stays(id, old.as_ref(), item, actor);
                let since = same.map_or_else(|| record.sequence.clone(), |old| old.since.clone());
                self.nodes.insert(id.to_owned(), Node { item: item.clone(), reasons, stays, since, taken_back });
                if self.deleted.contains_key(id) {
                    self.again.insert(id.to_owned());
                }
            }
            None => {
                let Some(mut last) = self.nodes.remove(id) else { return };
                // The handler knows the node as it was when it had its mark.
                if let Some(item) = last.taken_back.take().filter(|_| last.mark().is_none()) {
                    last.item = item;
                }
                let (parent, mut mark) = (last.parent().map(str::to_owned), last.mark());
                if actor == Actor::Api {
                    // It deletes no node that has a mark. What comes in meanwhile is adopted.
                    mark = Some((String::new(), "adopt".to_owned(), false));
                }
                let born_of_parent = parent.as_ref().and_then(|parent| last.born_of(parent));
                let born = text(&last.item, "_born").or_else(|| self.named.get(id).cloned());
                let by_client = actor == Actor::Client;
                let deleted = Deleted { parent, mark, born, by_client, born_of_parent };
                if let Some(born) = deleted.born.clone() {
                    let life = (id.to_owned(), born);
                    // What another client puts and deletes before the handler sees it leaves no trace: lineage and
                    // tombstone go on about the life that an operation ends, and the API, too, has named that one to
                    // those that it put under the node.
                    let is_unseen = deleted.mark.is_none() && self.ending.contains(id);
                    let ended = self.ended.entry(life).or_insert_with(|| deleted.clone());
                    if !(is_unseen && ended.mark.is_some()) {
                        *ended = deleted.clone();
                    }
                }
                self.deleted.insert(id.to_owned(), deleted);
            }
        }
        let before = old.as_ref().and_then(Node::mark);
        let marked = self.nodes.get(id).and_then(Node::mark);
        if let Some(mark) = marked.clone().filter(|mark| Some(mark) != before.as_ref()) {
            self.marks.insert(mark.clone());
            // A mark that another client puts back is equal to the one before. Nobody can tell what came in between.
            if mark.2 && actor != Actor::Client {
                self.revisions.iter_mut().filter(|((pk, _), _)| pk == id).for_each(|(_, seen)| seen.1 = true);
            }
            if actor == Actor::Api && mark.1 == "delete" {
                // A node is below only if every node between exists, and is the life that the next one was put under.
                // Otherwise it is an orphan, or below one, or may be. A life that another client began has no name in
                // its record, and isn't one that has ended.
                let is_of_this_life = |child: &str, parent: &str| {
                    let born = self.nodes.get(parent).and_then(|parent| text(&parent.item, "_born"));
                    let seen = self.nodes.get(child).and_then(|child| child.born_of(parent));
                    let has_ended = |born: String| self.ended.contains_key(&(parent.to_owned(), born));
                    if born.is_none() { !seen.is_some_and(has_ended) } else { seen.is_none() || born == seen }
                };
                let is_whole = |other: &str, path: &[&str]| {
                    let Some(above) = path.iter().position(|at| *at == id) else { return false };
                    let children = std::iter::once(other).chain(path.iter().copied());
                    path[..above].iter().all(|at| self.nodes.contains_key(*at))
                        && children.zip(&path[..=above]).all(|(child, parent)| is_of_this_life(child, parent))
                };
                let below = self.nodes.keys().filter(|other| *other != id && is_whole(other, &self.path(other)));
                let below = below.cloned().collect();
                self.marked.insert(mark.0.clone(), self.changes);
                self.below.insert(mark.0, (id.to_owned(), below));
            }
        }
        // A node that is created again, or loses its mark, or is deleted by another client, takes the nodes below it
        // out of account.
        let returned = record.new.is_some() && (old.is_none() || (before.is_some() && marked.is_none()));
        let deleted = record.new.is_none() && !matches!(actor, Actor::Handler(_));
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
        self.forget_waiting();
        let nodes: BTreeMap<String, String> =
            self.below.iter().map(|(operation, (node, _))| (operation.clone(), node.clone())).collect();
        for (operation, node) in nodes {
            let Some((_, members)) = self.below.remove(&operation) else { continue };
            // A node that another client puts below an orphan of a deleted node has left the subtree, even if that
            // orphan was once below the same node.
            let is_inside = |member: &str| {
                let path = self.path(member);
                let above = path.iter().position(|at| *at == node);
                above.is_some_and(|at| path[..at].iter().all(|at| members.contains(*at)))
            };
            let members = members.iter().filter(|member| is_inside(member)).cloned().collect();
            self.below.insert(operation, (node, members));
        }
    }

    /// Whether no deletion that was over before is a reason to act on a node, now that this actor has written it.
    fn stays(&self, id: &str, old: Option<&Node>, new: &Item, actor: Actor) -> bool {
        let is_put =
            ["parent", "_under"].iter().any(|name| old.is_none_or(|old| old.item.get(*name) != new.get(*name)));
        match (actor, old) {
            _ if !is_put => old.is_some_and(|old| old.stays),
            (Actor::Client, Some(_)) => true,
            // The API names each life that it begins.
            (Actor::Client, None) => text(new, "_born").is_none_or(|born| {
                self.deleted.get(id).is_some_and(|ended| !ended.by_client && ended.born == Some(born))
            }),
            // It has removed `_under`, and nothing else.
            (Actor::Handler(_), Some(old)) if old.item.get("parent") == new.get("parent") => old.stays,
            _ => false,
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
        let Some(parent) = node.parent().filter(|parent| !self.nodes.contains_key(*parent)) else { return false };
        let shown = self.shown.get(parent).is_some_and(|shown| shown.contains(id));
        let seen = node.born_of(parent).is_some_and(|born| self.ended.contains_key(&(parent.to_owned(), born)));
        node.mark().is_none() && !seen && !shown
    }

    /// Returns the marks of the life that a node was put under, and, where that life had an heir, of the heir's. What
    /// was put under an earlier life is adopted, if the last one is deleted with its children.
    fn reasons_of_ended(&self, parent: &str, born: Option<String>) -> BTreeSet<Mark> {
        let mut reasons = BTreeSet::new();
        if born.is_some() {
            let lives = self.ended.iter().filter(|((id, _), _)| id == parent);
            let marks = lives.filter_map(|((_, life), ended)| Some((life, ended.mark.clone()?)));
            reasons.extend(marks.filter(|(life, _)| Some(*life) != born.as_ref()).map(
                |(_, (operation, mode, revisions))| {
                    (operation, if mode == "delete" { "adopt".to_owned() } else { mode }, revisions)
                },
            ));
        }
        let mut next = born.map(|born| (parent.to_owned(), born));
        for _ in 0..=self.ended.len() {
            let Some(ended) = next.take().and_then(|life| self.ended.get(&life)) else { break };
            reasons.extend(ended.mark.clone());
            next = ended.parent.clone().zip(ended.born_of_parent.clone());
        }
        reasons
    }

    /// Adds the present mark of each node's parent to the reasons to act on the node.
    fn add_reasons(&mut self) {
        let mut added: Vec<(String, BTreeSet<Mark>)> = Vec::new();
        for (id, node) in &self.nodes {
            let Some(parent) = node.parent().filter(|parent| parent != id) else { continue };
            let reasons: BTreeSet<Mark> = match self.nodes.get(parent) {
                Some(parent) => parent.mark().into_iter().collect(),
                None if node.stays => continue,
                // The life had no name yet. Only the API's deletion of it, or of a later one, says what becomes of it.
                None if node.says_under(parent) && node.born_of(parent).is_none() => {
                    let lives = self.ended.iter().filter(|((id, _), _)| id == parent);
                    let last = self.deleted.get(parent);
                    let ended = lives.map(|(_, ended)| ended).chain(last);
                    let marks = ended.filter_map(|ended| ended.mark.clone());
                    marks.flat_map(|mark| [(mark.0.clone(), "adopt".to_owned(), mark.2), mark]).collect()
                }
                None => self.reasons_of_ended(parent, node.born_of(parent)),
            };
            if !reasons.is_subset(&node.reasons) {
                added.push((id.clone(), reasons));
            }
        }
        for (id, reasons) in added {
            self.nodes.get_mut(&id).unwrap().reasons.extend(reasons);
        }
        for ((pk, _), (may_go, _)) in &mut self.revisions {
            *may_go |= self.nodes.get(pk).and_then(Node::mark).is_some_and(|mark| mark.2);
        }
    }

    /// Checks what holds if only the API writes: no node is in a cycle, and `_under` names the parent.
    fn check_api(&self) -> Result<(), String> {
        for (id, node) in &self.nodes {
            if node.parent().is_some_and(|parent| node.born_of(parent).is_none()) {
                return Err(format!("{id} isn't under its parent"));
            }
            let mut at = node.parent();
            for _ in 0..self.nodes.len() {
                if at == Some(id.as_str()) {
                    return Err(format!("{id} is below itself"));
                }
                at = at.and_then(|at| self.nodes.get(at)?.parent());
            }
        }
        Ok(())
    }

    /// Checks that a mark stands on each node that is on its way out, or on its way up. The API therefore refuses at
    /// every moment to move something there, which would be deleted though it was promised. A node whose rows lag gets
    /// its mark when it is placed: one that was moved inside of the subtree since then, or that isn't shown by its
    /// parent's rows yet.
    fn check_marks(&self) -> Result<(), String> {
        for (operation, (node, members)) in &self.below {
            if let Some(member) = members.iter().find(|member| !self.is_covered(member, self.marked[operation])) {
                return Err(format!("{operation} deletes {member} below {node}, and no mark stands on its way up"));
            }
        }
        Ok(())
    }

    fn is_covered(&self, member: &str, since: usize) -> bool {
        let mut at = member;
        for _ in 0..=self.nodes.len() {
            let Some(node) = self.nodes.get(at) else { break };
            if node.mark().is_some() {
                return true;
            }
            let Some(parent) = node.parent() else { return false };
            if !self.nodes.contains_key(parent) {
                // What was below an earlier life isn't below this one.
                let is_another = self.deleted.get(parent).is_some_and(|life| life.born != node.born_of(parent));
                let was_shown = self.shown.get(parent).is_some_and(|shown| shown.contains(at));
                let was_moved = self.moved.get(at).is_some_and(|moved| *moved > since);
                return is_another || was_moved || !was_shown;
            }
            at = parent;
        }
        true
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
        wrong.extend(self.out_of_sight());
        wrong
    }

    /// The nodes that are in no list: the API or an operation has put each under a parent that isn't there any more,
    /// and no other client has written either of them.
    fn out_of_sight(&self) -> impl Iterator<Item = String> {
        self.nodes.iter().filter(|_| !self.is_forgetful).filter_map(|(id, node)| {
            let parent = node.parent().filter(|parent| !self.nodes.contains_key(*parent))?;
            let is_ours = |id: &str| !self.foreign.contains(id);
            let is_put_there = node.says_under(parent);
            let by_api = |id: &str| self.deleted.get(id).is_some_and(|ended| !ended.by_client);
            (is_put_there && is_ours(id) && (is_ours(parent) || by_api(parent)))
                .then(|| format!("{id} is an orphan of {parent}"))
        })
    }
}
