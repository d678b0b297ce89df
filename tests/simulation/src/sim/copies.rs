//! Clients that take copies of base records, and put some or all of them back later, in any order: an operator who
//! restores what was deleted.

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use sapwood_core::model::{AttributeValue, DeletionMode, Item, has_mark, text};

use super::requests::Asked;
use super::writers::{BaseWrite, Plan};
use crate::memory::{Memory, default_key};

/// What becomes of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copying {
    /// Copies are taken of all base records that have no mark; with `marked` of the others as well.
    Take { marked: bool },
    /// One of the copies that are left is put back, in the place of whatever is there.
    PutBack,
    /// The operator waits until nothing is under way.
    Wait,
}

/// The copies that aren't put back yet.
#[derive(Debug, Default)]
pub(super) struct Copies {
    left: Vec<Item>,
}

impl Copies {
    pub(super) fn go_on(&mut self, copying: Copying, memory: &mut Memory, rng: &mut SmallRng) {
        match copying {
            Copying::Take { marked } => {
                let contents = memory.contents();
                let nodes = contents.into_iter().filter(|((_, sk), _)| sk == "NODE").map(|(_, item)| item);
                self.left = nodes.filter(|item| marked || !has_mark(Some(item))).collect();
            }
            Copying::PutBack if !self.left.is_empty() => {
                let item = self.left.swap_remove(rng.random_range(0..self.left.len()));
                let key = default_key(&item).expect("the key of a base record");
                memory.write(&key, Some(item));
            }
            Copying::PutBack | Copying::Wait => {}
        }
    }
}

fn make(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

/// Puts a node as an import does, which names no life.
fn import(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Put { id: id.to_owned(), parent: parent.map(text), segment: None, name: 0 }
}

fn move_by_hand(id: &str, parent: &str) -> BaseWrite {
    BaseWrite::Set { id: id.to_owned(), attribute: "parent", value: Some(text(parent)) }
}

fn delete(id: &str, mode: Option<DeletionMode>) -> BaseWrite {
    BaseWrite::Ask(Asked::Delete { id: id.to_owned(), mode, revisions: false })
}

/// Makes a tree, takes copies, deletes subtrees of it and moves some nodes, by the API and by hand, and puts the copies
/// back.
pub(super) fn script(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let ids = ["a", "b", "c", "d", "e"];
    let ids = &ids[..rng.random_range(2..=ids.len())];
    let mut settled = vec![make("x", None), make("y", None)];
    for (position, id) in ids.iter().enumerate() {
        // A chain mostly, below `x`.
        let above = if rng.random_bool(0.7) { position.checked_sub(1) } else { None };
        settled.push(make(id, Some(above.map_or("x", |above| ids[above]))));
    }
    let mut rest = vec![BaseWrite::Copy(Copying::Take { marked: false })];
    let mut copies = ids.len() + 2;
    for n in 0..rng.random_range(1..=writes_max.clamp(1, 6)) {
        let (id, other) = (*ids.choose(rng).unwrap(), *[ids, &["x", "y"]].concat().choose(rng).unwrap());
        rest.push(match rng.random_range(0..20) {
            0..=7 => {
                let modes = [DeletionMode::Delete, DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach];
                delete(id, modes.choose(rng).copied().filter(|_| rng.random_ratio(5, 6)))
            }
            8 => delete("x", Some(DeletionMode::Delete)),
            9 | 10 => BaseWrite::Ask(Asked::Move { id: id.to_owned(), parent: Some(other.to_owned()) }),
            11 => BaseWrite::Ask(Asked::Rename { id: id.to_owned(), name: u32::try_from(n).unwrap() }),
            12 => BaseWrite::Ask(Asked::Create { id: id.to_owned(), parent: Some(other.to_owned()), made: false }),
            13 => BaseWrite::Delete { id: id.to_owned() },
            14 | 15 => move_by_hand(id, other),
            16 => {
                copies = ids.len() + 2;
                BaseWrite::Copy(Copying::Take { marked: rng.random_ratio(1, 3) })
            }
            17 => BaseWrite::Copy(Copying::PutBack),
            _ => BaseWrite::Copy(Copying::Wait),
        });
    }
    if rng.random_ratio(2, 3) {
        rest.push(BaseWrite::Copy(Copying::Wait));
    }
    let copies = if rng.random_bool(0.5) { copies } else { rng.random_range(1..=copies) };
    rest.extend((0..copies).map(|_| BaseWrite::Copy(Copying::PutBack)));
    if rng.random_ratio(1, 4) {
        // Once everything is back, one goes again.
        rest.extend([BaseWrite::Copy(Copying::Wait), delete(ids[0], Some(DeletionMode::Delete))]);
    }
    Plan { settled, rest: rest.into() }
}

/// Moves `c`, which the API has put below `p`, away by hand, and back once `p` is deleted.
pub(super) fn there_and_back(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("p", None), make("q", None), make("c", Some("p")), make("d", Some("c"))];
    let wait = || BaseWrite::Copy(Copying::Wait);
    let mode = *[DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach].choose(rng).unwrap();
    let mut rest = vec![move_by_hand("c", "q"), wait(), delete("p", Some(mode)), wait(), move_by_hand("c", "p")];
    rest.extend(rng.random_bool(0.3).then(|| BaseWrite::Set {
        id: "c".to_owned(),
        attribute: "name",
        value: Some(AttributeValue::Bool(true)),
    }));
    (settled, rest)
}

/// Deletes a subtree, and puts all of its records back, in any order.
pub(super) fn subtree(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let ids = ["a", "b", "c", "d"];
    let ids = &ids[..rng.random_range(2..=ids.len())];
    let parents = std::iter::once("x").chain(ids.iter().copied());
    let mut settled = vec![make("x", None)];
    settled.extend(ids.iter().zip(parents).map(|(id, parent)| make(id, Some(parent))));
    settled.shuffle(rng);
    let mut rest = vec![BaseWrite::Copy(Copying::Take { marked: false })];
    rest.extend([delete("a", Some(DeletionMode::Delete)), BaseWrite::Copy(Copying::Wait)]);
    rest.extend((0..=ids.len()).map(|_| BaseWrite::Copy(Copying::PutBack)));
    (settled, rest)
}

/// Deletes a leaf that has no children to go with it, and then its parent with all that is below it; puts both back,
/// children first or not.
pub(super) fn leaf_first(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("x", None), make("p", Some("x")), make("c", Some("p"))];
    let wait = || BaseWrite::Copy(Copying::Wait);
    let mut rest = vec![BaseWrite::Copy(Copying::Take { marked: false }), delete("c", None), wait()];
    rest.extend([delete("p", Some(DeletionMode::Delete)), wait()]);
    rest.extend((0..rng.random_range(1..=3)).map(|_| BaseWrite::Copy(Copying::PutBack)));
    (settled, rest)
}

/// Imports a chain, has the API move its nodes below each other once, deletes it from above, and puts all or some of it
/// back, in any order.
pub(super) fn imported(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("x", None), make("p", Some("x")), import("c", None), import("d", Some("c"))];
    let move_to =
        |id: &str, parent: &str| BaseWrite::Ask(Asked::Move { id: id.to_owned(), parent: Some(parent.to_owned()) });
    let wait = || BaseWrite::Copy(Copying::Wait);
    let mut rest = vec![move_to("c", "p"), wait()];
    if rng.random_bool(0.5) {
        rest.extend([move_to("d", "p"), wait()]);
    }
    rest.push(BaseWrite::Copy(Copying::Take { marked: false }));
    if rng.random_bool(0.3) {
        rest.extend([delete("d", None), wait()]);
    }
    rest.extend([delete("p", Some(DeletionMode::Delete)), wait()]);
    rest.extend((0..rng.random_range(1..=4)).map(|_| BaseWrite::Copy(Copying::PutBack)));
    (settled, rest)
}
