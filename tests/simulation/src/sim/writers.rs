//! What clients write in a run.

use std::collections::{BTreeMap, VecDeque};

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, DeletionMode, ITEM_BYTES_MAX, Item, UNDER};

use super::copies::{self, Copying};
use super::drills;
use super::names;
use super::profile::Writers;
use super::requests::{self, Asked};
use super::{subtrees, totals, trash};

use crate::memory::Memory;
use crate::own;
use crate::planted::as_the_api;
use crate::shapes::SHAPES;

/// One base write.
#[derive(Clone, Debug)]
pub(super) enum BaseWrite {
    /// Puts a node in the place of whatever is there.
    Put {
        id: String,
        parent: Option<AttributeValue>,
        segment: Option<AttributeValue>,
        name: u32,
    },
    /// Sets or removes one attribute of a node, if the node exists.
    Set {
        id: String,
        attribute: &'static str,
        value: Option<AttributeValue>,
    },
    /// Gives a node other attributes of its own, if the node exists.
    Amend {
        id: String,
        number: u32,
    },
    Delete {
        id: String,
    },
    /// Puts a node as the API would have written it.
    Make {
        id: String,
        parent: Option<String>,
    },
    /// The same, but for `_under`: other clients move the node.
    Plain {
        id: String,
        parent: Option<String>,
    },
    /// Puts the newest copy of a node that has a mark, whatever has become of the node since somebody read it.
    PutBack {
        id: String,
    },
    /// Takes copies of base records, or puts one back.
    Copy(Copying),
    /// Begins all totals anew, and has all nodes placed again.
    NewEpoch,
    /// Writes several at once.
    Together(Vec<BaseWrite>),
    /// Sends a request to the API, which takes several calls.
    Ask(Asked),
    Revise {
        id: String,
        version: u32,
        topic: &'static str,
        text: u32,
    },
    Unrevise {
        id: String,
        version: u32,
        topic: &'static str,
    },
}

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

impl BaseWrite {
    pub(super) fn apply(&self, memory: &mut Memory, marked: &BTreeMap<ItemKey, Item>) {
        let key = |id: &str, sk: String| ItemKey::new(id, sk);
        let keyed = |key: &ItemKey| Item::from([("PK".to_owned(), s(&key.pk)), ("SK".to_owned(), s(&key.sk))]);
        match self {
            Self::Put { id, parent, segment, name } => {
                let key = key(id, "NODE".to_owned());
                let mut item = keyed(&key);
                item.extend(own::attributes(*name));
                item.extend(parent.clone().map(|value| ("parent".to_owned(), value)));
                item.extend(segment.clone().map(|value| ("segment".to_owned(), value)));
                memory.write(&key, Some(item));
            }
            Self::Set { id, attribute, value } => {
                let key = key(id, "NODE".to_owned());
                let Some(mut item) = memory.get(&key).cloned() else { return };
                match value {
                    Some(value) => item.insert((*attribute).to_owned(), value.clone()),
                    None => item.remove(*attribute),
                };
                memory.write(&key, Some(item));
            }
            Self::Amend { id, number } => {
                let key = key(id, "NODE".to_owned());
                let Some(mut item) = memory.get(&key).cloned() else { return };
                own::rewrite(&mut item, *number);
                memory.write(&key, Some(item));
            }
            Self::Make { id, parent } | Self::Plain { id, parent } => {
                let key = key(id, "NODE".to_owned());
                let mut item = keyed(&key);
                item.insert("_rev".to_owned(), AttributeValue::N("1".to_owned()));
                item.insert("_created_at".to_owned(), s("before"));
                item.extend(parent.clone().map(|parent| ("parent".to_owned(), s(parent))));
                item.extend(as_the_api(id, parent.as_deref()));
                if matches!(self, Self::Plain { .. }) {
                    item.remove(UNDER);
                }
                memory.write(&key, Some(item));
            }
            Self::PutBack { id } => {
                let key = key(id, "NODE".to_owned());
                let copy = marked.get(&key).cloned();
                copy.into_iter().for_each(|item| memory.write(&key, Some(item)));
            }
            Self::Together(writes) => writes.iter().for_each(|write| write.apply(memory, marked)),
            Self::Ask(_) | Self::Copy(_) | Self::NewEpoch => unreachable!("it isn't a single write"),
            Self::Delete { id } => memory.write(&key(id, "NODE".to_owned()), None),
            Self::Revise { id, version, topic, text } => {
                let key = key(id, revision(*version, topic));
                let mut item = keyed(&key);
                item.insert("text".to_owned(), AttributeValue::N(text.to_string()));
                memory.write(&key, Some(item));
            }
            Self::Unrevise { id, version, topic } => memory.write(&key(id, revision(*version, topic)), None),
        }
    }
}

fn revision(version: u32, topic: &str) -> String {
    if version < 1000 { format!("v{version:03}_{topic}") } else { format!("va{version}_{topic}") }
}

/// The writes of a run. The table settles after the first ones; the rest comes with faults.
pub(super) struct Plan {
    pub(super) settled: Vec<BaseWrite>,
    pub(super) rest: VecDeque<BaseWrite>,
}

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const TOPICS: [&str; 2] = ["Audit", "Audit#wheel"];
const VERSIONS: [u32; 5] = [1, 2, 3, 999, 1000];

pub(super) fn script(rng: &mut SmallRng, writers: Writers, writes_max: usize) -> Plan {
    let ids = &IDS[..rng.random_range(3..=IDS.len())];
    match writers {
        Writers::Readers => readers(rng, writes_max),
        Writers::Flips => flips(rng, writes_max),
        Writers::Revisions => revisions(rng, writes_max),
        Writers::Deletions => deletions(rng, writes_max, false),
        Writers::MixedDeletions => deletions(rng, writes_max, true),
        Writers::Heavy => heavy(rng, writes_max),
        Writers::Adoptions => adoptions(rng, writes_max),
        Writers::Heirs => heirs(rng, writes_max),
        Writers::Returns => returns(rng, writes_max),
        Writers::Answers => answers(rng, writes_max),
        Writers::Copies => copies::script(rng, writes_max),
        Writers::Trash => trash::script(rng, writes_max),
        Writers::Totals => totals::script(rng, writes_max),
        Writers::Names => names::script(rng, writes_max),
        Writers::Subtrees => subtrees::script(rng, writes_max, false),
        Writers::MixedSubtrees => subtrees::script(rng, writes_max, true),
        Writers::Drill(drill) => drills::script(rng, drill),
        Writers::Deep => deep(rng, writes_max),
        Writers::Any | Writers::Nodes | Writers::Moves | Writers::Tenants => {
            // Long segments: two fit a key, and three don't.
            let long = rng.random_ratio(1, 10);
            let settled = if rng.random_bool(0.6) { tree(rng, ids) } else { Vec::new() };
            let writes = rng.random_range(2..=writes_max.max(2));
            let rest =
                (0..writes).map(|name| any(rng, ids, writers, long, u32::try_from(name).unwrap() + 100)).collect();
            let script = Plan { settled, rest };
            if writers == Writers::Tenants { of_tenants(rng, script) } else { script }
        }
    }
}

/// Draws a tree of these ids, parents first.
fn tree(rng: &mut SmallRng, ids: &[&str]) -> Vec<BaseWrite> {
    let mut writes = Vec::new();
    for (position, id) in ids.iter().enumerate() {
        let parent = ids[..position].choose(rng).filter(|_| rng.random_ratio(9, 10));
        writes.push(BaseWrite::Put {
            id: (*id).to_owned(),
            parent: parent.map(|p| s(*p)),
            segment: rng.random_ratio(1, 5).then(|| s(format!("seg {id}"))),
            name: u32::try_from(position).unwrap(),
        });
    }
    writes
}

fn any(rng: &mut SmallRng, ids: &[&str], writers: Writers, long: bool, name: u32) -> BaseWrite {
    let id = (*ids.choose(rng).unwrap()).to_owned();
    if writers == Writers::Any && rng.random_ratio(1, 5) {
        return revise(rng, &ids[..2], &TOPICS, name);
    }
    if writers == Writers::Moves {
        let value = (rng.random_ratio(14, 15)).then(|| s(*ids.choose(rng).unwrap()));
        return match rng.random_range(0..10) {
            0 => BaseWrite::Set { id, attribute: "segment", value: segment(rng, long) },
            1 => BaseWrite::Amend { id, number: name },
            _ => BaseWrite::Set { id, attribute: "parent", value },
        };
    }
    match rng.random_range(0..20) {
        0..=5 => BaseWrite::Put { id, parent: parent(rng, ids), segment: segment(rng, long), name },
        6..=11 => BaseWrite::Set { id, attribute: "parent", value: parent(rng, ids) },
        12 | 13 => BaseWrite::Amend { id, number: name },
        14 | 15 => BaseWrite::Set { id, attribute: "segment", value: segment(rng, long) },
        _ => BaseWrite::Delete { id },
    }
}

fn revise(rng: &mut SmallRng, ids: &[&str], topics: &[&'static str], text: u32) -> BaseWrite {
    let (id, topic) = ((*ids.choose(rng).unwrap()).to_owned(), *topics.choose(rng).unwrap());
    let version = *VERSIONS.choose(rng).unwrap();
    if rng.random_ratio(1, 2) {
        BaseWrite::Unrevise { id, version, topic }
    } else {
        BaseWrite::Revise { id, version, topic, text }
    }
}

/// Puts, amends and deletes revisions of few topics, so that the writes meet.
fn revisions(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let topics = &TOPICS[..rng.random_range(1..=TOPICS.len())];
    let ids = &IDS[..1];
    let settled = VERSIONS.iter().filter(|_| rng.random_bool(0.7));
    let settled = settled
        .map(|&version| BaseWrite::Revise { id: ids[0].to_owned(), version, topic: topics[0], text: 0 })
        .collect();
    let rest = (0..rng.random_range(2..=writes_max.max(2)))
        .map(|n| revise(rng, ids, topics, u32::try_from(n).unwrap() + 100))
        .collect();
    Plan { settled, rest }
}

/// Moves `p` from `x` to `y` and back, while `c` below it is written.
fn flips(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let put = |id: &str, parent: Option<&str>| BaseWrite::Put {
        id: id.to_owned(),
        parent: parent.map(s),
        segment: None,
        name: 0,
    };
    let settled = vec![put("x", None), put("y", None), put("p", Some("x")), put("c", Some("p"))];
    let moved =
        |id: &str, parent: &str| BaseWrite::Set { id: id.to_owned(), attribute: "parent", value: Some(s(parent)) };
    let rest = (0..rng.random_range(2..=writes_max.clamp(2, 6)))
        .map(|name| match rng.random_range(0..6) {
            0 => moved("p", "x"),
            1 | 2 => moved("p", "y"),
            3 => moved("c", "p"),
            4 => moved("c", "x"),
            _ => BaseWrite::Amend { id: "c".to_owned(), number: u32::try_from(name).unwrap() },
        })
        .collect();
    Plan { settled, rest }
}

/// Gives each write to one of two tenants. What is settled is both tenants'.
fn of_tenants(rng: &mut SmallRng, script: Plan) -> Plan {
    let of = |tenant: &str, mut write: BaseWrite| {
        use BaseWrite::{Amend, Delete, Put, Set};
        if let Put { id, .. } | Set { id, .. } | Amend { id, .. } | Delete { id } = &mut write {
            *id = format!("TENANT#{tenant}#{id}");
        }
        write
    };
    let both = |write: &BaseWrite| [of("x", write.clone()), of("y", write.clone())];
    let settled = script.settled.iter().flat_map(both).collect();
    let rest = script.rest.into_iter().map(|write| of(["x", "y"].choose(rng).unwrap(), write)).collect();
    Plan { settled, rest }
}

/// Makes a chain of about a hundred nodes below two roots, and moves and renames nodes near its ends.
fn deep(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let put = |id: String, parent: Option<&str>| BaseWrite::Put { id, parent: parent.map(s), segment: None, name: 0 };
    let length = rng.random_range(95..=101_usize);
    let mut settled = vec![put("r".to_owned(), None), put("q".to_owned(), None)];
    settled.extend((0..length).map(|depth| {
        let above = depth.checked_sub(1).map_or("r".to_owned(), |above| format!("n{above:02}"));
        put(format!("n{depth:02}"), Some(&above))
    }));
    let rest = (0..rng.random_range(1..=writes_max.clamp(1, 3))).map(|_| {
        let depth = *[0, 1, length / 2, length - 2, length - 1].choose(rng).unwrap();
        let id = format!("n{depth:02}");
        match rng.random_range(0..4) {
            0 => BaseWrite::Set { id, attribute: "segment", value: segment(rng, true) },
            1 => BaseWrite::Delete { id },
            _ => BaseWrite::Set { id, attribute: "parent", value: ["r", "q", "n00", "n50"].choose(rng).map(|p| s(*p)) },
        }
    });
    Plan { rest: rest.collect(), settled }
}

/// Draws a parent attribute: mostly a node's id, and sometimes none, an id that is never created, an empty one, or one
/// of a wrong type.
fn parent(rng: &mut SmallRng, ids: &[&str]) -> Option<AttributeValue> {
    match rng.random_range(0..30) {
        0..=3 => None,
        4 => Some(s("never")),
        5 => Some(s("")),
        6 => Some(AttributeValue::N("1".to_owned())),
        _ => Some(s(*ids.choose(rng).unwrap())),
    }
}

fn segment(rng: &mut SmallRng, long: bool) -> Option<AttributeValue> {
    match rng.random_range(0..12) {
        0..=4 => None,
        5 => Some(AttributeValue::Bool(true)),
        6 => Some(s("x#/%!")),
        7 => Some(s("a")),
        n if long => Some(s(format!("{n}").repeat(400))),
        n => Some(s(format!("{n}"))),
    }
}

/// Makes the root `top`, parents below it that don't move, and subtrees below these that do.
fn readers(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let put = |id: &str, parent: Option<&str>| BaseWrite::Put {
        id: id.to_owned(),
        parent: parent.map(s),
        segment: None,
        name: 0,
    };
    let stays = ["p", "q", "r"];
    let mut settled = vec![put("top", None), put("p", Some("top")), put("q", Some("top")), put("r", Some("p"))];
    for (id, below) in [("a", "a1"), ("b", "b1")] {
        settled.push(put(id, stays.choose(rng).copied()));
        settled.push(put(below, Some(id)));
        settled.push(put(&format!("{below}x"), Some(below)));
    }
    let rest = (0..rng.random_range(1..=writes_max.clamp(1, 6)))
        .map(|_| BaseWrite::Set {
            id: (*["a", "b"].choose(rng).unwrap()).to_owned(),
            attribute: "parent",
            value: stays.choose(rng).map(|p| s(*p)),
        })
        .collect();
    Plan { settled, rest }
}

/// Makes a tree with revisions, and requests on it. With `mixed` other clients write the tree and change it as well.
fn deletions(rng: &mut SmallRng, writes_max: usize, mixed: bool) -> Plan {
    let ids = &IDS[..rng.random_range(3..=IDS.len())];
    let mut settled = tree(rng, ids);
    for write in &mut settled {
        if let (false, BaseWrite::Put { id, parent, .. }) = (mixed && rng.random_ratio(1, 3), &write) {
            let parent = parent.as_ref().map(|parent| match parent {
                AttributeValue::S(parent) => parent.clone(),
                other => unreachable!("{other:?} in a tree"),
            });
            *write = BaseWrite::Make { id: id.clone(), parent };
        }
    }
    settled.extend((0..rng.random_range(0..4_u32)).map(|text| revised(rng, ids, text)));
    let mut known: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    let writes = rng.random_range(2..=writes_max.max(2));
    let rest = (0..u32::try_from(writes).unwrap()).map(|n| match rng.random_range(0..20) {
        0 => revise(rng, ids, &TOPICS, n + 100),
        1..=9 if mixed => any(rng, ids, Writers::Nodes, false, n + 100),
        _ => BaseWrite::Ask(requests::any(rng, &mut known, n + 100)),
    });
    Plan { rest: rest.collect(), settled }
}

/// How many times as small as DynamoDB's the limits are where nodes are heavy.
pub(super) const SCALED: usize = 100;

/// The same as mixed deletions, with values of every shape in some nodes. The largest are as large as a node may be.
fn heavy(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let mut script = deletions(rng, writes_max, true);
    let ids: Vec<String> = IDS.iter().map(|id| (*id).to_owned()).collect();
    let mut bulk = || {
        let (_, shape) = SHAPES[rng.random_range(0..SHAPES.len())];
        let most = ITEM_BYTES_MAX / SCALED;
        let bytes = if rng.random_bool(0.5) { most } else { rng.random_range(50..most) };
        let id = ids[rng.random_range(0..ids.len())].clone();
        BaseWrite::Set { id, attribute: "bulk", value: Some(shape(bytes)) }
    };
    script.settled.extend([bulk(), bulk(), bulk()]);
    let others = std::mem::take(&mut script.rest);
    script.rest = others
        .into_iter()
        .enumerate()
        .flat_map(|(n, one)| (n % 3 == 0).then(&mut bulk).into_iter().chain([one]))
        .collect();
    script
}

/// Deletes `n` below `p` so that `p` adopts its children, and moves `p` below them.
fn adoptions(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let make =
        |id: &str, parent: Option<&str>| BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) };
    let settled = vec![make("p", None), make("n", Some("p"))];
    let move_to = |id: &str, parent: &str| Asked::Move { id: id.to_owned(), parent: Some(parent.to_owned()) };
    let create =
        |id: &str, parent: &str, made| Asked::Create { id: id.to_owned(), parent: Some(parent.to_owned()), made };
    let delete = Asked::Delete { id: "n".to_owned(), mode: Some(DeletionMode::Adopt), revisions: false };
    let mut rest = vec![create("made1", "n", true), delete];
    rest.extend((0..rng.random_range(2..=writes_max.clamp(2, 6))).map(|_| match rng.random_range(0..8) {
        0 => create("made2", "n", true),
        1 => create("n", "made1", false),
        2 => move_to("p", "made2"),
        _ => move_to("p", "made1"),
    }));
    Plan { settled, rest: rest.into_iter().map(BaseWrite::Ask).collect() }
}

/// Deletes the nodes of a chain, and creates nodes in it.
fn heirs(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let chain = &IDS[..rng.random_range(3..=4)];
    let parents = std::iter::once(None).chain(chain.iter().map(|id| Some((*id).to_owned())));
    let settled = chain.iter().zip(parents).map(|(id, parent)| BaseWrite::Make { id: (*id).to_owned(), parent });
    let rest = (0..rng.random_range(3..=writes_max.max(3))).map(|n| {
        let at = rng.random_range(1..chain.len());
        let (id, above) = (chain[at].to_owned(), chain[rng.random_range(0..chain.len())].to_owned());
        match rng.random_range(0..12) {
            0..=3 => Asked::Delete { id, mode: Some(DeletionMode::Adopt), revisions: false },
            10 | 11 => Asked::Delete { id, mode: None, revisions: rng.random_ratio(1, 8) },
            4 => Asked::Delete { id, mode: Some(DeletionMode::Delete), revisions: false },
            5..=7 => Asked::Create { id: format!("made{n}"), parent: Some(id), made: true },
            _ => Asked::Create { id, parent: Some(above), made: false },
        }
    });
    Plan { rest: rest.map(BaseWrite::Ask).collect(), settled: settled.collect() }
}

/// Asks for everything that the API does, of `n` and of `k` below it, so that the requests meet.
fn answers(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let make =
        |id: &str, parent: Option<&str>| BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) };
    let mut settled = vec![make("p", None), make("q", None)];
    settled.extend(rng.random_bool(0.5).then(|| make("n", Some("p"))));
    settled.extend(["l", "m"].iter().take(rng.random_range(0..=2)).map(|id| make(id, Some("p"))));
    settled.extend(rng.random_bool(0.3).then(|| make("k", Some("n"))));
    settled.extend((1..=rng.random_range(0..=2)).map(|version| BaseWrite::Revise {
        id: "p".to_owned(),
        version,
        topic: "Audit",
        text: 0,
    }));
    let of_topic = rng.random_ratio(1, 3);
    let mut rest: VecDeque<BaseWrite> = (0..rng.random_range(2..=writes_max.clamp(2, 6)))
        .map(|number| BaseWrite::Ask(requests::colliding(rng, of_topic, u32::try_from(number).unwrap() + 100)))
        .collect();
    // In one run of four another client puts `n` as well. Its records have nothing of the API's. Drawn aside, so that
    // the other runs stay what they are.
    let rng = &mut rng.clone();
    if rng.random_range(0..4) == 0 {
        let put = |name| BaseWrite::Put { id: "n".to_owned(), parent: Some(s("p")), segment: None, name };
        settled.retain(|write| !matches!(write, BaseWrite::Make { id, .. } if id == "n"));
        settled.push(put(7));
        for name in 0..rng.random_range(1..=2) {
            rest.insert(rng.random_range(0..=rest.len()), put(200 + name));
        }
    }
    Plan { rest, settled }
}

/// Deletes `a`, and `b` below it, with their revisions, while another client writes them or takes the marks back.
fn returns(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let make =
        |id: &str, parent: Option<&str>| BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) };
    let mut settled = vec![make("a", None), make("b", Some("a"))];
    settled.extend((0..rng.random_range(1..4_u32)).map(|text| revised(rng, &IDS[..2], text)));
    let rest = (0..rng.random_range(2..=writes_max.max(2))).map(|n| {
        let (n, id) = (u32::try_from(n).unwrap(), (*["a", "b"].choose(rng).unwrap()).to_owned());
        match rng.random_range(0..10) {
            0..=2 => {
                let mode = *[DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach].choose(rng).unwrap();
                BaseWrite::Ask(Asked::Delete { id, mode: Some(mode), revisions: true })
            }
            3 => {
                let parent = (id == "b").then(|| s("a"));
                BaseWrite::Put { id, parent, segment: None, name: n }
            }
            4 | 5 => BaseWrite::Set { id, attribute: "_deleting", value: None },
            6 => BaseWrite::PutBack { id },
            7 => BaseWrite::Amend { id, number: n },
            _ => revised(rng, &IDS[..2], n),
        }
    });
    Plan { rest: rest.collect(), settled }
}

fn revised(rng: &mut SmallRng, ids: &[&str], text: u32) -> BaseWrite {
    let (id, topic) = ((*ids.choose(rng).unwrap()).to_owned(), *TOPICS.choose(rng).unwrap());
    BaseWrite::Revise { id, version: *VERSIONS.choose(rng).unwrap(), topic, text }
}
