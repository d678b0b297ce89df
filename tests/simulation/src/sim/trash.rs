//! Nodes that are put into the trash and taken out again, by the API and by other clients.

use std::collections::HashMap;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::model::{AttributeValue, DeletionMode, text};

use super::copies::Copying;
use super::requests::Asked;
use super::writers::{BaseWrite, Plan};

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn make(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

fn set(id: &str, attribute: &'static str, value: Option<AttributeValue>) -> BaseWrite {
    BaseWrite::Set { id: id.to_owned(), attribute, value }
}

fn trash(id: &str) -> BaseWrite {
    BaseWrite::Ask(Asked::Trash { id: id.to_owned() })
}

fn restore(id: &str, parent: Option<Option<&str>>) -> BaseWrite {
    let parent = parent.map(|parent| parent.map(str::to_owned));
    BaseWrite::Ask(Asked::Restore { id: id.to_owned(), parent })
}

fn move_to(id: &str, parent: &str) -> BaseWrite {
    BaseWrite::Ask(Asked::Move { id: id.to_owned(), parent: Some(parent.to_owned()) })
}

fn delete(id: &str, mode: Option<DeletionMode>) -> BaseWrite {
    BaseWrite::Ask(Asked::Delete { id: id.to_owned(), mode, revisions: false })
}

/// What another client may write in the place of how a node was put into the trash.
fn said(rng: &mut SmallRng) -> AttributeValue {
    let map = |says: &[(&str, AttributeValue)]| {
        let says: HashMap<String, AttributeValue> = says.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
        AttributeValue::M(says)
    };
    match rng.random_range(0..4) {
        0 => AttributeValue::Bool(true),
        1 => map(&[("at", text("yesterday")), ("parent", text(""))]),
        2 => map(&[("at", text("2026-02-03T04:05:06.789Z"))]),
        _ => map(&[("at", text("2026-02-03T04:05:06.789Z")), ("by", text("them")), ("parent", text("a"))]),
    }
}

/// A request about the trash that has a key, is one of a batch, or names what the client has seen.
fn sent_otherwise(rng: &mut SmallRng, id: &str, other: &str) -> Asked {
    let own = || id.to_owned();
    let asked = match rng.random_range(0..5) {
        0 | 1 => Asked::Trash { id: own() },
        2 => Asked::Restore { id: own(), parent: None },
        3 => Asked::Restore { id: own(), parent: Some(Some(other.to_owned())) },
        _ => Asked::Delete { id: own(), mode: Some(DeletionMode::Delete), revisions: false },
    };
    let boxed = Box::new(asked.clone());
    match rng.random_range(0..6) {
        0 => Asked::Twice(boxed),
        1 => Asked::Keyed(boxed),
        2 => Asked::Impatient(boxed),
        3 => Asked::IfUnchanged(boxed),
        4 => Asked::Batch(vec![asked, Asked::Restore { id: own(), parent: None }]),
        _ => Asked::Batch(vec![Asked::Trash { id: own() }, Asked::Trash { id: other.to_owned() }, asked]),
    }
}

/// Everything that is done with nodes, on few of them: mostly the trash.
pub(super) fn script(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let ids = &IDS[..rng.random_range(3..=IDS.len())];
    let mut settled = Vec::new();
    for (position, id) in ids.iter().enumerate() {
        let parent = ids[..position].choose(rng).filter(|_| rng.random_ratio(4, 5));
        settled.push(match rng.random_range(0..4) {
            0 => BaseWrite::Plain { id: (*id).to_owned(), parent: parent.map(|id| (*id).to_owned()) },
            _ => make(id, parent.copied()),
        });
    }
    let by_hand = rng.random_bool(0.5);
    let rest = (0..rng.random_range(2..=writes_max.max(2))).map(|n| {
        let (id, other, number) =
            (*ids.choose(rng).unwrap(), *ids.choose(rng).unwrap(), u32::try_from(n).unwrap() + 100);
        let modes = [None, Some(DeletionMode::Delete), Some(DeletionMode::Adopt), Some(DeletionMode::Detach)];
        match rng.random_range(0..30) {
            0..=5 => trash(id),
            6..=8 => restore(id, None),
            9 => restore(id, Some(None)),
            10 => restore(id, Some(Some(other))),
            11 | 12 => delete(id, *modes.choose(rng).unwrap()),
            13 => delete(id, Some(DeletionMode::Delete)),
            14..=16 => move_to(id, other),
            17 => BaseWrite::Ask(Asked::Create { id: format!("made{n}"), parent: Some(id.to_owned()), made: true }),
            18 => BaseWrite::Ask(Asked::Create { id: id.to_owned(), parent: Some(other.to_owned()), made: false }),
            19 => BaseWrite::Ask(Asked::Rename { id: id.to_owned(), name: number }),
            20 => BaseWrite::Ask(Asked::Replace { id: id.to_owned(), parent: Some(other.to_owned()) }),
            21 => BaseWrite::Ask(sent_otherwise(rng, id, other)),
            22 | 23 if by_hand => set(id, "parent", Some(text(other))),
            24 if by_hand => set(id, "parent", None),
            25 if by_hand => set(id, "_trashed", None),
            26 if by_hand => set(id, "_trashed", Some(said(rng))),
            27 if by_hand => BaseWrite::Delete { id: id.to_owned() },
            _ if number.is_multiple_of(2) => restore(id, None),
            _ => BaseWrite::Ask(Asked::RestoreAt {
                id: id.to_owned(),
                parent: [None, Some(None), Some(Some(other.to_owned()))].choose(rng).unwrap().clone(),
                beside: other.to_owned(),
                kind: number,
            }),
        }
    });
    Plan { rest: rest.collect(), settled }
}

/// The root `p` is put into the trash and taken out again, by the API or by hand, while `c` comes in below it.
pub(super) fn and_back(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let mut settled = vec![make("x", None), make("p", None)];
    settled.push(make("c", ["x", "p"].choose(rng).copied()));
    settled.extend(["d", "e"].iter().take(rng.random_range(0..=2)).map(|id| make(id, Some("p"))));
    let comes_in = set("c", "parent", Some(text("p")));
    let (there, back) = if rng.random_bool(0.5) {
        (trash("p"), restore("p", None))
    } else {
        (set("p", "_trashed", Some(said(rng))), set("p", "_trashed", None))
    };
    let mut rest = match rng.random_range(0..3) {
        0 => vec![there, comes_in, back],
        1 => vec![comes_in, there, back],
        _ => vec![comes_in, there],
    };
    rest.extend(rng.random_bool(0.2).then(|| trash("p")));
    (settled, rest)
}

/// The root `r` is put into the trash while `n` is moved below a node that is below it.
pub(super) fn above(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("q", None), make("r", None), make("p", Some("r")), make("n", Some("q"))];
    let mut rest = vec![move_to("n", if rng.random_bool(0.5) { "p" } else { "r" }), trash("r")];
    if rng.random_bool(0.5) {
        rest.reverse();
    }
    (settled, rest)
}

/// Another client gives `n`, which is in the trash, a parent, and takes that away later.
pub(super) fn taken_out(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let mut settled = vec![make("q", None), make("n", None), make("c", Some("n"))];
    settled.push(set("n", "_trashed", Some(said(rng))));
    let mut rest = vec![set("n", "parent", Some(text("q")))];
    rest.extend(rng.random_bool(0.5).then_some(BaseWrite::Copy(Copying::Wait)));
    rest.push(match rng.random_range(0..3) {
        0 => set("n", "parent", None),
        1 => delete("q", Some(DeletionMode::Detach)),
        _ => BaseWrite::Ask(Asked::Move { id: "n".to_owned(), parent: None }),
    });
    (settled, rest)
}

/// Another client puts `a`, below which the others are in the trash, or one of these, below what is below it.
pub(super) fn cycle(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("a", None), make("b", Some("a")), make("c", Some("b")), make("d", Some("c"))];
    let (from, to) = *[("a", "c"), ("b", "d"), ("b", "c"), ("c", "d")].choose(rng).unwrap();
    let mut rest = vec![trash("a"), BaseWrite::Copy(Copying::Wait), set(from, "parent", Some(text(to)))];
    rest.extend(rng.random_bool(0.3).then(|| set(from, "parent", Some(text("a")))));
    (settled, rest)
}
