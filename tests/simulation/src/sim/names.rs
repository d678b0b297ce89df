//! Names that no two siblings have: nodes that are created, renamed, moved, put into the trash and deleted, by the API
//! and by other clients, and a judge who sees every change.
//!
//! The judge knows nothing of how names are claimed but where claims are. Wherever the API has given a node its name
//! among its siblings, the claim of that name is this node's from then on, for as long as the node has the name: so no
//! two such nodes have one name. Other clients, and the handler where it hands children to another parent, ask nobody.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::fanout::StreamRecord;
use sapwood_core::model::{AttributeValue, DeletionMode, Item, UniqueNames, text};

use super::history::sequential;
use super::requests::Asked;
use super::witness::Actor;
use super::writers::{BaseWrite, Plan};

/// The children of `p` and of `q`, and a root.
const IDS: [&str; 5] = ["a", "b", "c", "d", "x"];
/// Names, some of which are one but for case or form. The last is an id, too.
const NAMES: [&str; 6] = ["y", "Y", "é", "E\u{301}", "p", "x"];

fn ask(asked: Asked) -> BaseWrite {
    BaseWrite::Ask(asked)
}

fn set(id: &str, attribute: &'static str, value: Option<AttributeValue>) -> BaseWrite {
    BaseWrite::Set { id: id.to_owned(), attribute, value }
}

fn name(rng: &mut SmallRng) -> Option<String> {
    // Few names, so that they meet.
    let names = if rng.random_bool(0.7) { &NAMES[..2] } else { &NAMES[..] };
    rng.random_ratio(5, 6).then(|| (*names.choose(rng).unwrap()).to_owned())
}

/// A parent, which is mostly the same one.
fn parent(rng: &mut SmallRng) -> Option<String> {
    [Some("p"), Some("p"), Some("p"), Some("q"), None].choose(rng).unwrap().map(str::to_owned)
}

/// Writes that are about few names below few parents.
pub(super) fn script(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let plain =
        |id: &str, parent: Option<&str>| BaseWrite::Plain { id: id.to_owned(), parent: parent.map(str::to_owned) };
    let mut settled = vec![plain("g", None), plain("p", Some("g")), plain("q", Some("g"))];
    let by_hand = rng.random_bool(0.4);
    let ids = &IDS[..rng.random_range(2..=IDS.len())];
    for id in ids {
        if rng.random_bool(0.5) {
            settled.push(if by_hand && rng.random_ratio(1, 4) {
                let (parent, segment) = (Some(text("p")), name(rng).map(text));
                BaseWrite::Put { id: (*id).to_owned(), parent, segment, name: 1 }
            } else {
                ask(create(rng, id))
            });
        }
    }
    let rest = (0..rng.random_range(2..=writes_max.max(2))).map(|n| {
        let id = *ids.choose(rng).unwrap();
        match rng.random_range(0..20) {
            0 if by_hand => set(id, "segment", name(rng).map(text)),
            1 if by_hand => set(id, "parent", parent(rng).map(text)),
            2 if by_hand => BaseWrite::Delete { id: id.to_owned() },
            3 if by_hand => BaseWrite::PutBack { id: id.to_owned() },
            4 if by_hand => set(id, "_deleting", None),
            5 if by_hand => set(id, "_trashed", None),
            6 => {
                let parts = (0..rng.random_range(2..=4)).map(|_| request(rng, ids, n)).collect();
                ask(Asked::Batch(parts))
            }
            7 => ask(Asked::Twice(Box::new(request(rng, ids, n)))),
            8 => ask(Asked::Keyed(Box::new(request(rng, ids, n)))),
            9 => ask(Asked::Impatient(Box::new(request(rng, ids, n)))),
            10 => ask(Asked::IfUnchanged(Box::new(request(rng, ids, n)))),
            _ => ask(request(rng, ids, n)),
        }
    });
    Plan { rest: rest.collect(), settled }
}

/// `a` has a name below `p`, and another client renames or moves it. Others come to have the name, and perhaps `a`
/// again.
pub(super) fn taken_over(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let plain = |id: &str| BaseWrite::Plain { id: id.to_owned(), parent: None };
    let parent = || Some("p".to_owned());
    let named = |id: &str| {
        let (id, name) = (id.to_owned(), Some("y".to_owned()));
        ask(Asked::CreateNamed { id, parent: parent(), name, made: false })
    };
    let mut settled = vec![plain("p"), plain("q"), named("a")];
    let (away, back) = if rng.random_bool(0.5) {
        (set("a", "segment", Some(text("z"))), set("a", "segment", Some(text("y"))))
    } else {
        (set("a", "parent", Some(text("q"))), set("a", "parent", Some(text("p"))))
    };
    let others = [
        named("b"),
        named("c"),
        ask(Asked::Segment { id: "d".to_owned(), name: Some("y".to_owned()), parent: None }),
        ask(Asked::Segment { id: "a".to_owned(), name: Some("y".to_owned()), parent: Some(parent()) }),
    ];
    settled.push(ask(Asked::CreateNamed { id: "d".to_owned(), parent: parent(), name: None, made: false }));
    let mut rest = vec![away];
    rest.extend((0..rng.random_range(1..=2)).map(|_| others.choose(rng).unwrap().clone()));
    rest.extend(rng.random_bool(0.6).then_some(back));
    rest.extend(rng.random_bool(0.3).then(|| others.choose(rng).unwrap().clone()));
    (settled, rest)
}

fn create(rng: &mut SmallRng, id: &str) -> Asked {
    Asked::CreateNamed { id: id.to_owned(), parent: parent(rng), name: name(rng), made: false }
}

fn request(rng: &mut SmallRng, ids: &[&str], number: usize) -> Asked {
    let asked = request_of(rng, ids, number);
    if rng.random_ratio(1, 3) { Asked::Renaming(Box::new(asked)) } else { asked }
}

fn request_of(rng: &mut SmallRng, ids: &[&str], number: usize) -> Asked {
    let id = (*ids.choose(rng).unwrap()).to_owned();
    let beside = (*ids.choose(rng).unwrap()).to_owned();
    match rng.random_range(0..24) {
        0..=4 => create(rng, &id),
        5 | 6 => {
            let id = format!("made{number}x{}", rng.random_range(0..1_000));
            Asked::CreateNamed { id, parent: parent(rng), name: name(rng), made: true }
        }
        7..=10 => Asked::Segment { id, name: name(rng), parent: None },
        11 => Asked::Segment { id, name: name(rng), parent: Some(parent(rng)) },
        12 | 13 => Asked::Move { id, parent: parent(rng) },
        14 => Asked::ReplaceNamed { id, parent: parent(rng), name: name(rng) },
        15 => Asked::Place { id, beside, kind: rng.random_range(0..4) },
        16 | 17 => Asked::Trash { id },
        18 | 19 => Asked::Restore { id, parent: [None, None, Some(parent(rng))].choose(rng).unwrap().clone() },
        20 | 21 => {
            let modes = [None, Some(DeletionMode::Delete), Some(DeletionMode::Adopt)];
            Asked::Delete { id, mode: *modes.choose(rng).unwrap(), revisions: rng.random_bool(0.2) }
        }
        22 => {
            // From above: the handler deletes the children, or hands them to `g`.
            let modes = [DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach];
            let id = (*["p", "q"].choose(rng).unwrap()).to_owned();
            Asked::Delete { id, mode: Some(*modes.choose(rng).unwrap()), revisions: false }
        }
        _ => Asked::Create {
            id: (*["p", "q"].choose(rng).unwrap()).to_owned(),
            parent: Some("g".to_owned()),
            made: false,
        },
    }
}

/// Where the claim of a name is: partition and sort key.
type Place = (String, String);

/// A node that has a name.
struct Named {
    place: Place,
    /// The same by each way to compare names: a repair leaves a claim of one that another handler's settings call for.
    any: Vec<Place>,
    /// True if the API has given it the name.
    by_api: bool,
}

/// Who has seen every change of nodes and claims.
pub(super) struct Judge {
    names: UniqueNames,
    named: BTreeMap<String, Named>,
    claims: BTreeMap<Place, String>,
}

impl Judge {
    pub(super) fn new(names: UniqueNames) -> Self {
        Self { names, named: BTreeMap::new(), claims: BTreeMap::new() }
    }

    /// Sees a change that this actor made. The records of a transaction come in the order of its actions.
    pub(super) fn see(&mut self, record: &StreamRecord, actor: Actor) -> Result<(), String> {
        let (id, sk) = (&record.key.pk, &record.key.sk);
        if sk.starts_with("NAME#") || sk.starts_with("ROOTNAME#") {
            let place = (id.clone(), sk.clone());
            match &record.new {
                Some(claim) => self.claims.insert(place, sequential::text(claim, "_node").to_owned()),
                None => self.claims.remove(&place),
            };
        }
        if sk != "NODE" {
            return Ok(());
        }
        let by = |names| record.new.as_ref().and_then(|item| place(item, id, names));
        let before = self.named.remove(id);
        let Some(now) = by(self.names) else { return Ok(()) };
        let any: Vec<Place> = [UniqueNames::Exact, UniqueNames::Caseless].into_iter().filter_map(by).collect();
        if let Some(same) = before.filter(|before| before.place == now) {
            self.named.insert(id.clone(), Named { any, ..same });
            return Ok(());
        }
        let holder = self.claims.get(&now).filter(|holder| *holder != id);
        // A copy claims its name, or gets another one.
        let is_copied = matches!(actor, Actor::Handler(_)) && record.old.is_none();
        let is_by_api = actor == Actor::Api && record.new.as_ref().is_some_and(|item| item.contains_key("_write"));
        let by_api = is_by_api || is_copied;
        if let Some(holder) = holder.filter(|_| by_api)
            && self.named.get(holder).is_some_and(|named| named.place == now)
        {
            return Err(format!("the API gave {id} the name {now:?}, which is {holder}'s"));
        }
        self.named.insert(id.clone(), Named { place: now, any, by_api });
        Ok(())
    }

    /// Returns what is wrong once repairs have mended all that they can: each name has a claim of a node that has it,
    /// and each claim is of such a node.
    pub(super) fn mended(&self) -> Vec<String> {
        let has = |id: &String, place: &Place| self.named.get(id).is_some_and(|named| named.place == *place);
        let may_have = |id: &String, place: &Place| self.named.get(id).is_some_and(|named| named.any.contains(place));
        let left = self.claims.iter().filter(|(place, id)| !may_have(id, place));
        let left = left.map(|(place, id)| format!("{id} has claimed {place:?}, and hasn't the name"));
        let is_claimed = |place: &Place| self.claims.get(place).is_some_and(|id| has(id, place));
        let unclaimed = self.named.iter().filter(|(_, named)| !is_claimed(&named.place));
        left.chain(unclaimed.map(|(id, named)| format!("nobody has claimed {:?} of {id}", named.place))).collect()
    }

    /// Checks what must hold between two writes.
    pub(super) fn check(&self) -> Result<(), String> {
        for (id, named) in self.named.iter().filter(|(_, named)| named.by_api) {
            let claimed = self.claims.get(&named.place);
            if claimed != Some(id) {
                return Err(format!("the API gave {id} the name {:?}, and the claim is of {claimed:?}", named.place));
            }
        }
        Ok(())
    }
}

/// Where the claim of the name is that a node has by its record.
fn place(item: &Item, id: &str, names: UniqueNames) -> Option<Place> {
    let parent = sequential::text(item, "parent");
    let is_gone =
        !sequential::is_there(Some(item)) || sequential::is_marked(item, None) || sequential::trashed(item).is_some();
    if is_gone || sequential::is_odd(item) {
        return None;
    }
    let name = compared(name_of(item, id), names);
    Some(match parent {
        "" => ("ROOTS".to_owned(), format!("ROOTNAME#{name}")),
        parent => (parent.to_owned(), format!("NAME#{name}")),
    })
}

fn name_of<'a>(item: &'a Item, id: &'a str) -> &'a str {
    match sequential::text(item, "segment") {
        "" => id,
        segment => segment,
    }
}

/// A name as names are compared, of those that are written here.
fn compared(name: &str, names: UniqueNames) -> String {
    match names {
        UniqueNames::Caseless => name.to_lowercase().replace("e\u{301}", "é"),
        UniqueNames::Exact | UniqueNames::Off => name.to_owned(),
    }
}

/// True if a node has this name somewhere, but for case and form.
pub(super) fn has_name(item: &Item, id: &str, name: &str) -> bool {
    let has = |names| place(item, id, names).is_some() && compared(name_of(item, id), names) == compared(name, names);
    has(UniqueNames::Caseless)
}
