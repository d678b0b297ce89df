//! Subtrees that are copied while their nodes, and the copies, are moved, deleted and changed; and what must hold of
//! the copies at every moment.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::Id;
use sapwood_core::model::{AttributeValue, CopyMark, CopyOf, DeletionMode, Item};

use super::history::sequential::{is_marked, is_there, text, users_own};
use super::requests::Asked;
use super::witness::Actor;
use super::writers::{BaseWrite, Plan};
use crate::oracle::Contents;

/// The most nodes of a copy, where a schedule has such a limit.
pub(super) const COPIED_MAX: usize = 3;

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn make(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

/// A copy that is asked for: of this node, by the operation of this number.
fn copy(id: &str, number: usize, parent: Option<Option<String>>) -> Asked {
    Asked::Copy {
        id: id.to_owned(),
        top: format!("top{number}"),
        operation: operation(number),
        parent,
        is_made_id: number.is_multiple_of(2),
    }
}

fn is_top(id: &str) -> bool {
    id.starts_with("top") && !id.contains('-')
}

fn operation(number: usize) -> String {
    format!("o{number:03}")
}

/// The number of an operation.
fn number(operation: &str) -> usize {
    operation[1..].parse().unwrap()
}

/// The id of a node's copy.
fn copied(id: &str, number: usize) -> String {
    let ids = (!number.is_multiple_of(2)).then(|| format!("top{number}"));
    let source = Id::new("a").unwrap();
    let mark = CopyMark { operation: operation(number), source, born: None, ids, after: None, is_over: false };
    mark.id_of(&Id::new(id).unwrap()).unwrap().to_string()
}

/// Copies of subtrees, beside everything else that is done with nodes. With `by_hand` other clients write as well.
pub(super) fn script(rng: &mut SmallRng, writes_max: usize, by_hand: bool) -> Plan {
    let ids = &IDS[..rng.random_range(3..=IDS.len())];
    let mut settled = Vec::new();
    for (position, id) in ids.iter().enumerate() {
        let parent = ids[..position].choose(rng).filter(|_| rng.random_ratio(9, 10)).copied();
        settled.push(match rng.random_range(0..4) {
            0 if by_hand => BaseWrite::Plain { id: (*id).to_owned(), parent: parent.map(str::to_owned) },
            _ => make(id, parent),
        });
    }
    let mut known: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    let mut rest = Vec::new();
    for n in 0..rng.random_range(2..=writes_max.max(2)) {
        let (id, other) = (known.choose(rng).unwrap().clone(), known.choose(rng).unwrap().clone());
        let modes = [None, Some(DeletionMode::Delete), Some(DeletionMode::Adopt), Some(DeletionMode::Detach)];
        let number = u32::try_from(n).unwrap() + 100;
        let asked = match rng.random_range(0..24) {
            _ if n == 0 => begin(rng, ids, n, &mut known),
            0..=4 => begin(rng, ids, n, &mut known),
            5..=9 => Asked::Move { id, parent: Some(other) },
            10..=12 => Asked::Delete { id, mode: *modes.choose(rng).unwrap(), revisions: false },
            13 => Asked::Create { id: format!("made{n}"), parent: Some(id), made: true },
            14 => Asked::Create { id, parent: Some(other), made: false },
            15 => Asked::Rename { id, name: number },
            16 => Asked::Replace { id, parent: Some(other) },
            17 => Asked::Trash { id },
            18 => Asked::Restore { id, parent: None },
            19 => Asked::Move { id, parent: None },
            20 if by_hand => {
                rest.push(BaseWrite::Set { id, attribute: "parent", value: Some(AttributeValue::S(other)) });
                continue;
            }
            // What a creation of the API's made, and another client deletes within its seconds, leaves nothing that
            // tells.
            21 | 22 if by_hand && !is_top(&id) => {
                rest.push(BaseWrite::Delete { id });
                continue;
            }
            23 if by_hand => {
                let parent = Some(AttributeValue::S(other));
                rest.push(BaseWrite::Put { id, parent, segment: None, name: number });
                continue;
            }
            _ => Asked::Delete { id, mode: Some(DeletionMode::Delete), revisions: false },
        };
        rest.push(BaseWrite::Ask(asked));
    }
    Plan { settled, rest: rest.into() }
}

fn begin(rng: &mut SmallRng, ids: &[&str], n: usize, known: &mut Vec<String>) -> Asked {
    let source = *ids[..2].choose(rng).unwrap();
    let parent = match rng.random_range(0..5) {
        0 => None,
        1 => Some(None),
        _ => Some(Some(known.choose(rng).unwrap().clone())),
    };
    known.push(format!("top{n}"));
    known.extend(ids.iter().map(|id| copied(id, n)));
    let asked = copy(source, n, parent);
    if rng.random_ratio(1, 6) { Asked::Twice(Box::new(asked)) } else { asked }
}

/// `c` is copied and its copy deleted, and then `c` moves to where the copy has yet to come.
pub(super) fn moved_on(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("s", None), make("b", Some("s")), make("c", Some("s")), make("z", Some("b"))];
    let mut rest = vec![copy("s", 0, Some(None))];
    let copies = [copied("b", 0), copied("c", 0)];
    let gone = copies.choose(rng).unwrap().clone();
    let mode = [None, Some(DeletionMode::Delete)].choose(rng).copied().unwrap();
    rest.push(Asked::Delete { id: gone, mode, revisions: false });
    let to = *["z", "b"].choose(rng).unwrap();
    rest.push(Asked::Move { id: "c".to_owned(), parent: Some(to.to_owned()) });
    if rng.random_ratio(1, 4) {
        rest.swap(1, 2);
    }
    (settled, rest.into_iter().map(BaseWrite::Ask).collect())
}

/// A copy goes on below its own top, while the top or the copy of `b` is deleted or renamed.
pub(super) fn under_way(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled =
        vec![make("s", None), make("b", Some("s")), make("c", Some("b")), make("d", Some("c")), make("e", Some("b"))];
    let parent = *[None, Some("b"), Some("s"), Some("d")].choose(rng).unwrap();
    let mut rest = vec![copy("s", 0, Some(parent.map(str::to_owned)))];
    for n in 0..rng.random_range(1..=3_u32) {
        let id = ["top0".to_owned(), copied("b", 0), copied("c", 0)].choose(rng).unwrap().clone();
        let mode = *[None, Some(DeletionMode::Delete), Some(DeletionMode::Adopt)].choose(rng).unwrap();
        rest.push(match rng.random_range(0..4) {
            0 => Asked::Rename { id, name: 200 + n },
            1 => Asked::Move { id, parent: None },
            _ => Asked::Delete { id, mode, revisions: false },
        });
    }
    (settled, rest.into_iter().map(BaseWrite::Ask).collect())
}

/// A subtree is copied whose nodes have names, while nodes of the same names come in below the copy, or go.
pub(super) fn same_names(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let named = |id: &str, parent: &str, name: &str| Asked::CreateNamed {
        id: id.to_owned(),
        parent: Some(parent.to_owned()),
        name: Some(name.to_owned()),
        made: false,
    };
    let mut settled = vec![make("s", None)];
    settled.extend([named("b", "s", "y"), named("c", "s", "z"), named("d", "b", "y")].map(BaseWrite::Ask));
    if rng.random_bool(0.3) {
        // Another client gives two children one name.
        let (parent, segment) = (Some(AttributeValue::S("s".to_owned())), Some(AttributeValue::S("y".to_owned())));
        settled.push(BaseWrite::Put { id: "e".to_owned(), parent, segment, name: 1 });
    }
    let mut rest = vec![copy("s", 0, Some(None))];
    for n in 0..rng.random_range(1..=4_u32) {
        let below = ["top0".to_owned(), copied("b", 0)].choose(rng).unwrap().clone();
        let name = *["y", "y", "z", "y (2)"].choose(rng).unwrap();
        let id = format!("n{}", rng.random_range(0..3));
        rest.push(match rng.random_range(0..8) {
            0 => Asked::Segment { id, name: Some(name.to_owned()), parent: None },
            1 => Asked::Segment { id: copied("b", 0), name: Some(name.to_owned()), parent: None },
            2 => Asked::Delete { id, mode: None, revisions: false },
            3 => Asked::Move { id, parent: Some(below) },
            _ => named(&format!("n{n}"), &below, name),
        });
    }
    (settled, rest.into_iter().map(BaseWrite::Ask).collect())
}

/// What a record says of the copy that it is the top of: the operation and the source.
fn copying(item: &Item) -> Option<(String, String)> {
    named(item, "_copying", "source")
}

/// The life of the source that a record says is copied.
fn born_of(item: Option<&Item>) -> String {
    item.and_then(|item| named(item, "_copying", "born")).map_or_else(String::new, |(_, born)| born)
}

/// What a record says that it is a copy of: the operation and the node.
fn copy_of(item: &Item) -> Option<(String, String)> {
    named(item, "_copy_of", "node")
}

fn named(item: &Item, attribute: &str, name: &str) -> Option<(String, String)> {
    let Some(AttributeValue::M(map)) = item.get(attribute) else { return None };
    let map: Item = map.clone().into_iter().collect();
    Some((text(&map, "operation").to_owned(), text(&map, name).to_owned()))
}

/// A copy that was asked for.
#[derive(Debug)]
struct Operation {
    source: String,
    top: String,
    /// The copies, by the nodes that they are of.
    made: BTreeMap<String, String>,
    /// The nodes that were below the source all the time, where their rows showed them, each with its path up to it.
    stay: BTreeMap<String, Vec<String>>,
    /// The copies that have been changed since they were made, and the top, if it has.
    changed: BTreeSet<String>,
    /// How many copies have another name than what they are copies of.
    renamed: usize,
    /// True once the handler has done the last step.
    is_over: bool,
    /// What the operation's record says once the copy has ended and all of it is placed.
    ended: Option<Item>,
}

/// Sees every change in order, and what of it no copy may do.
#[derive(Default)]
pub(super) struct Judge {
    operations: BTreeMap<String, Operation>,
    /// What each node's record was, after how many changes, and who wrote it.
    states: BTreeMap<String, Vec<(usize, Option<Item>, Actor)>>,
    /// The ancestor rows: ancestor, depth and node.
    rows: BTreeSet<(String, usize, String)>,
    /// The nodes that another client has deleted.
    deleted_by_hand: BTreeSet<String>,
    /// True if a copy can be read before the parent that the same transaction puts. It is an orphan then, as one is
    /// whose parent is gone, and the operation doesn't wait until that parent is placed.
    is_torn: bool,
}

impl Judge {
    pub(super) fn new(is_torn: bool) -> Self {
        Self { is_torn, ..Self::default() }
    }

    /// Sees a change that this actor made, after so many others of nodes.
    pub(super) fn see(&mut self, record: &StreamRecord, actor: Actor, now: usize) -> Result<(), String> {
        let (pk, sk) = (record.key.pk.as_str(), record.key.sk.as_str());
        if let (Some(name), Some(item)) = (sk.strip_prefix("OPERATION#"), &record.new) {
            self.see_operation(name, item)?;
        }
        if let Some((depth, id)) = sk.strip_prefix("NODE#").and_then(|rest| rest.split_once('#')) {
            let row = (pk.to_owned(), depth.parse().unwrap(), id.to_owned());
            if record.new.is_some() {
                self.rows.insert(row);
            } else {
                self.rows.remove(&row);
                // Its node is elsewhere, or was, right before, and has no row for a moment.
                let of_source = self.operations.values_mut().filter(|operation| operation.source == pk);
                of_source.for_each(|operation| operation.stay.retain(|_, path| !path.iter().any(|at| at == id)));
            }
        }
        if sk != "NODE" {
            return Ok(());
        }
        let [old, new] = [&record.old, &record.new].map(|item| item.as_ref().filter(|item| is_there(Some(item))));
        match (old, new, actor) {
            (None, Some(new), Actor::Handler(began)) => self.judge(pk, new, began, actor)?,
            (Some(old), Some(new), actor) => self.check_mark(pk, old, new, actor)?,
            _ => {}
        }
        let state = (now, new.cloned(), actor);
        self.states.entry(pk.to_owned()).or_default().push(state);
        if new.is_none() && actor == Actor::Client {
            self.deleted_by_hand.insert(pk.to_owned());
        }
        self.leave(pk, old, new, actor);
        if let (None, Some((operation, source)), Actor::Api) = (old, new.and_then(copying), actor) {
            // The source may be gone by now, or another.
            let is_there = |source: &Item| {
                let is_same = ["", &born_of(new)].contains(&text(source, "_born"));
                !is_marked(source, None) && is_same
            };
            let is_there = self.now(&source).is_some_and(is_there);
            let stay = if is_there { self.below(&source, &operation) } else { BTreeMap::new() };
            let (top, made) = (pk.to_owned(), BTreeMap::new());
            let new = Operation {
                source,
                top,
                made,
                stay,
                changed: BTreeSet::new(),
                renamed: 0,
                is_over: false,
                ended: None,
            };
            self.operations.insert(operation, new);
        }
        Ok(())
    }

    /// Checks what the record of a copy says: it ends once, and then all that was copied and is still there, and was
    /// never changed, is below the top in the lists.
    fn see_operation(&mut self, name: &str, item: &Item) -> Result<(), String> {
        let Some(operation) = self.operations.get(name) else { return Ok(()) };
        let is_placed = !item.keys().any(|name| name.starts_with("_u_"));
        if let Some(ended) = &operation.ended {
            return if ended == item { Ok(()) } else { Err(format!("{name} had ended: {ended:?}, {item:?}")) };
        }
        if !item.contains_key("_ended") || !is_placed {
            return Ok(());
        }
        for copy in operation.made.values().filter(|_| !self.is_torn) {
            let (mut depth, mut at) = (0, copy.as_str());
            while at != operation.top && !operation.changed.contains(at) && depth <= operation.made.len() {
                let Some(above) = self.now(at) else { break };
                (depth, at) = (depth + 1, text(above, "parent"));
            }
            let row = (operation.top.clone(), depth, copy.clone());
            if at == operation.top && !operation.changed.contains(at) && !self.rows.contains(&row) {
                return Err(format!("{name} has ended, and the row of {copy} isn't there"));
            }
        }
        self.operations.get_mut(name).unwrap().ended = Some(item.clone());
        Ok(())
    }

    fn now(&self, id: &str) -> Option<&Item> {
        self.states.get(id)?.last()?.1.as_ref()
    }

    /// What a record was at any time since there were so many changes.
    fn since(&self, id: &str, began: usize) -> impl Iterator<Item = &Item> {
        let states = self.states.get(id).map_or(&[][..], Vec::as_slice);
        let first = states.partition_point(|(at, ..)| *at <= began).saturating_sub(1);
        states[first..].iter().filter_map(|(_, item, _)| item.as_ref())
    }

    /// The nodes below a source that rows show where they are, with their paths.
    fn below(&self, source: &str, operation: &str) -> BTreeMap<String, Vec<String>> {
        let mut stay = BTreeMap::new();
        for (_, depth, id) in self.rows.iter().filter(|(above, ..)| above == source) {
            let (mut path, mut at) = (vec![id.clone()], id.clone());
            while let Some(parent) = self.now(&at).map(|item| text(item, "parent").to_owned())
                && path.len() < *depth
                && parent != *source
            {
                at = parent.clone();
                path.push(parent);
            }
            let is_copied = |id: &String| {
                // Somebody else may have had the id that the copy would have.
                let is_free = !self.states.contains_key(&copied(id, number(operation)));
                let may_be = |item: &Item| {
                    let is_own = copy_of(item).is_some_and(|(of, _)| *of >= *operation);
                    !is_marked(item, None) && !is_own
                };
                is_free && self.now(id).is_some_and(may_be)
            };
            let is_whole = self.now(&at).is_some_and(|item| text(item, "parent") == source);
            // A node can be placed below one that is on its way, and has no row yet.
            let is_shown = |(above, id): (usize, &String)| {
                depth.checked_sub(above).is_some_and(|at| self.rows.contains(&(source.to_owned(), at, id.clone())))
            };
            let is_whole = is_whole && path.iter().enumerate().all(is_shown);
            if is_whole && path.len() == *depth && path.iter().all(is_copied) {
                stay.insert(id.clone(), path);
            }
        }
        stay
    }

    /// Takes out of account what is below a node that has changed, or whose copy has.
    fn leave(&mut self, id: &str, old: Option<&Item>, new: Option<&Item>, actor: Actor) {
        let names = ["parent", "segment", "_deleting", "_born", "_trashed"];
        let is_same = |names: &[&str]| match (old, new) {
            (Some(old), Some(new)) => names.iter().all(|name| old.get(*name) == new.get(*name)),
            _ => false,
        };
        let (stays, lives) = (is_same(&names), is_same(&["_deleting", "_born"]));
        for (name, operation) in &mut self.operations {
            if !stays && old.is_some() {
                operation.changed.insert(id.to_owned());
            }
            if !stays {
                operation.stay.retain(|_, path| !path.iter().any(|at| at == id));
            }
            let of = operation.made.iter().find(|(_, copy)| *copy == id).map(|(of, _)| of.clone());
            if let Some(of) = of.filter(|_| !lives && old.is_some()) {
                operation.stay.retain(|other, path| *other == of || !path.contains(&of));
            }
            if old.is_none() && !matches!(actor, Actor::Handler(_)) {
                // Somebody else has the id that a copy would have.
                let number = number(name);
                let taken = operation.stay.keys().find(|of| copied(of, number) == id).cloned();
                operation.stay.retain(|_, path| taken.as_ref().is_none_or(|taken| !path.contains(taken)));
            }
            let is_of_source = operation.source == id && !(lives && (stays || actor != Actor::Client));
            let is_of_top = operation.top == id && old.is_some() && !lives;
            if is_of_source || is_of_top {
                operation.stay.clear();
            }
            let had_mark = old.and_then(copying).is_some_and(|(of, _)| of == *name);
            let has_mark = new.and_then(copying).is_some_and(|(of, _)| of == *name);
            if had_mark && !has_mark && new.is_some() {
                operation.is_over |= matches!(actor, Actor::Handler(_));
                if actor == Actor::Client {
                    operation.stay.clear();
                }
            }
        }
    }

    /// Checks a node that the handler has made.
    fn judge(&mut self, id: &str, new: &Item, began: usize, actor: Actor) -> Result<(), String> {
        let fault = |what: &str| Err(format!("the handler made {id} of {:?}: {what}", copy_of(new)));
        let Some((name, node)) = copy_of(new) else { return fault("no copy") };
        let Some(operation) = self.operations.get(&name) else { return fault("nobody asked for that") };
        if operation.made.contains_key(&node) && !self.deleted_by_hand.contains(id) {
            return fault("made twice");
        }
        let top = self.states.get(&operation.top).map_or(&[][..], Vec::as_slice);
        let is_own_step = top.last().is_some_and(|(_, _, by)| *by == actor);
        let before = top.len().checked_sub(1 + usize::from(is_own_step)).and_then(|at| top[at].1.as_ref());
        let has_mark =
            before.is_some_and(|item| copying(item).is_some_and(|(of, _)| of == name) && !is_marked(item, None));
        if !has_mark {
            return fault("the copy was over");
        }
        let parent = text(new, "parent");
        let is_of = |of: &str| match operation.made.get(of) {
            _ if of == operation.source => operation.top == parent,
            copy => copy.is_some_and(|copy| copy == parent),
        };
        let own = |item: &Item| {
            let own = users_own(item).into_iter().filter(|(name, _)| *name != "parent");
            own.filter(|(name, _)| *name != "segment")
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Item>()
        };
        let is_source = |item: &&Item| {
            let is_copied = copy_of(item).is_none_or(|(of, _)| of < name);
            is_copied && !is_marked(item, None) && is_of(text(item, "parent")) && own(item) == own(new)
        };
        // A copy gets another name where a sibling has its own.
        let segment = text(new, "segment");
        let is_named = |item: &Item| text(item, "segment") == segment;
        let is_renamed = |item: &Item| {
            let of = Some(text(item, "segment")).filter(|of| !of.is_empty()).unwrap_or(id);
            let number = segment.strip_prefix(of).and_then(|end| end.strip_prefix(" (")?.strip_suffix(')'));
            number.is_some_and(|number| number.parse::<u64>().is_ok())
        };
        let sources: Vec<&Item> = self.since(&node, began).filter(is_source).collect();
        let renamed = !sources.iter().any(|item| is_named(item));
        if sources.is_empty() || (renamed && !sources.iter().any(|item| is_renamed(item))) {
            return fault("the node was never so");
        }
        if !self.since(parent, began).any(|item| !is_marked(item, None)) {
            return fault("its parent wasn't there");
        }
        let copy = id.to_owned();
        let operation = self.operations.get_mut(&name).unwrap();
        operation.renamed += usize::from(renamed);
        operation.made.insert(node, copy);
        Ok(())
    }

    /// Checks that nobody but the handler and other clients takes the mark of a copy away.
    fn check_mark(&self, id: &str, old: &Item, new: &Item, actor: Actor) -> Result<(), String> {
        let is_lost = old.contains_key("_copying") && !new.contains_key("_copying");
        let is_lost = is_lost || old.get("_copy_of") != new.get("_copy_of");
        match actor {
            Actor::Api | Actor::Repair if is_lost => Err(format!("{actor:?} took away what {id} copies")),
            Actor::Handler(_) if old.get("_copy_of") != new.get("_copy_of") => {
                Err(format!("{id} isn't a copy any more"))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong at the end. If records were lost, nobody tells of a copy that came and went meanwhile.
    pub(super) fn at_rest(&self, contents: &Contents, were_lost: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, operation) in &self.operations {
            let top = self.now(&operation.top).filter(|item| !is_marked(item, None));
            if top.and_then(copying).is_some_and(|(of, _)| of == *name) {
                wrong.push(format!("{name} isn't done"));
            }
            let record = contents.get(&("OPERATIONS".to_owned(), format!("OPERATION#{name}")));
            let says = |attribute: &str| record.and_then(|item| item.get(attribute)).cloned();
            let is_cut = says("_ended") == Some(AttributeValue::S("limit-reached".to_owned()));
            if is_cut && operation.made.len() + 1 < COPIED_MAX {
                wrong.push(format!("{name} had room for more than {} copies", operation.made.len()));
            }
            let unplaced =
                |node: &String| CopyOf { operation: name.clone(), node: Id::new(node.as_str()).unwrap() }.unplaced();
            let was_lost = || {
                let gone = operation.made.iter().filter(|(_, copy)| self.now(copy).and_then(copy_of).is_none());
                let gone: Vec<String> = gone.map(|(node, _)| unplaced(node)).collect();
                record.is_none_or(|item| item.keys().all(|name| !name.starts_with("_u_") || gone.contains(name)))
            };
            // Another client may have taken the mark away, or put back what has it.
            if operation.ended.is_none() && top.is_some() && operation.is_over && !(were_lost && was_lost()) {
                wrong.push(format!("{name} doesn't end: {record:?}"));
            }
            if operation.is_over && !is_cut {
                let missing = operation.stay.keys().filter(|id| !operation.made.contains_key(*id));
                wrong.extend(missing.map(|id| format!("{id} was there all the time, and {name} didn't copy it")));
            }
            let counted = record.and_then(|item| item.get("_copied"));
            let number = |count: usize| (count > 0).then(|| AttributeValue::N(count.to_string()));
            let is_by_hand = operation.made.values().any(|id| self.deleted_by_hand.contains(id));
            if !is_by_hand && counted != Some(&AttributeValue::N((operation.made.len() + 1).to_string())) {
                wrong.push(format!("{name} has made {} copies and counted {counted:?}", operation.made.len() + 1));
            }
            if !is_by_hand && says("_renamed") != number(operation.renamed) {
                wrong.push(format!("{name} has renamed {} copies: {record:?}", operation.renamed));
            }
        }
        wrong
    }
}
