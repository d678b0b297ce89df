//! The scopes that are searched.

use std::collections::HashMap;

use sapwood_core::model::{AttributeValue, BORN, DeletionMode, text};

use super::{Handles, Scope};
use crate::planted::as_the_api;
use crate::sim::requests::Asked;
use crate::sim::writers::BaseWrite;

fn make(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

fn create(id: &str, parent: &str) -> Asked {
    Asked::Create { id: id.to_owned(), parent: Some(parent.to_owned()), made: false }
}

fn replace(id: &str, parent: &str) -> Asked {
    Asked::Replace { id: id.to_owned(), parent: Some(parent.to_owned()) }
}

fn rename(id: &str, name: u32) -> Asked {
    Asked::Rename { id: id.to_owned(), name }
}

fn move_to(id: &str, parent: &str) -> Asked {
    Asked::Move { id: id.to_owned(), parent: Some(parent.to_owned()) }
}

fn trash(id: &str) -> Asked {
    Asked::Trash { id: id.to_owned() }
}

fn restore(id: &str, parent: Option<Option<&str>>) -> Asked {
    Asked::Restore { id: id.to_owned(), parent: parent.map(|parent| parent.map(str::to_owned)) }
}

/// A node that was put into the trash, from below the node of this id as it was made.
fn trashed(id: &str, parent: &str) -> [BaseWrite; 2] {
    let said = [("at", "2025-12-24T00:00:00.000Z"), ("by", "somebody"), ("parent", parent)];
    let mut said: HashMap<String, AttributeValue> =
        said.iter().map(|(name, value)| ((*name).to_owned(), text(*value))).collect();
    let life = as_the_api(parent, None).into_iter().find(|(name, _)| name == BORN);
    said.extend(life.map(|(_, life)| ("born".to_owned(), life)));
    let value = Some(AttributeValue::M(said));
    [make(id, None), BaseWrite::Set { id: id.to_owned(), attribute: "_trashed", value }]
}

fn delete(id: &str, mode: Option<DeletionMode>) -> Asked {
    Asked::Delete { id: id.to_owned(), mode, revisions: false }
}

fn revised(version: u32) -> BaseWrite {
    BaseWrite::Revise { id: "p".to_owned(), version, topic: "Audit", text: 0 }
}

fn scope(settled: Vec<BaseWrite>, clients: Vec<Vec<Asked>>) -> Scope {
    let before: Vec<String> = settled.iter().map(|write| format!("{write:?}")).collect();
    let name = format!("{clients:?} on {}", before.join(", "));
    Scope {
        name,
        settled,
        clients,
        losses_max: 1,
        loses_handlers: false,
        deaths_max: 1,
        passes_max: 1,
        waits_max: 1,
        is_ordered: false,
        handles: Handles::Between,
    }
}

fn place(id: &str, kind: u32, beside: &str) -> Asked {
    Asked::Place { id: id.to_owned(), beside: beside.to_owned(), kind }
}

fn append() -> Asked {
    Asked::Append { id: "p".to_owned() }
}

fn with_revision(asked: Asked) -> Asked {
    Asked::WithRevision(Box::new(asked))
}

fn unrevise(version: u32) -> Asked {
    Asked::Unrevise { id: "p".to_owned(), version }
}

/// The scopes in which an answer that is lost once had a write carried out twice, or decided anew. Each has one client
/// that waits for its answer, while another sends one request after another.
#[must_use]
pub fn few_scopes() -> Vec<Scope> {
    let (p, q, n) = (make("p", None), make("q", None), make("n", Some("p")));
    let two = |one: Vec<Asked>, other: Vec<Asked>| vec![one, other];
    let with_node = || vec![p.clone(), q.clone(), n.clone()];
    let scopes = [
        scope(vec![p.clone()], two(vec![create("n", "p")], vec![replace("n", "p"), delete("n", None)])),
        scope(vec![p.clone(), n.clone()], two(vec![delete("n", None)], vec![delete("n", None), create("n", "p")])),
        scope(vec![p.clone(), n.clone()], two(vec![rename("n", 1)], vec![rename("n", 2)])),
        scope(with_node(), two(vec![move_to("n", "p")], vec![move_to("n", "q")])),
        scope([vec![p.clone()], (1..=3).map(revised).collect()].concat(), two(vec![unrevise(3)], vec![append()])),
        scope(
            vec![p.clone()],
            two(vec![create("n", "p")], vec![create("k", "n"), delete("n", None), move_to("p", "k")]),
        ),
        scope(vec![p.clone()], two(vec![with_revision(rename("p", 1))], vec![append(), unrevise(1)])),
        scope(vec![p.clone(), revised(1)], two(vec![with_revision(rename("p", 1))], vec![rename("p", 2), unrevise(2)])),
        scope(vec![p.clone()], two(vec![with_revision(create("n", "p"))], vec![delete("n", None)])),
    ];
    // No function dies, and the handler is never interrupted, so that the search is short.
    scopes.map(|scope| Scope { deaths_max: 0, passes_max: 0, handles: Handles::AtOnce, ..scope }).into()
}

/// Every pair of requests of every kind, on one node, on a node and its parent, among siblings, and on one topic; with
/// idempotency keys, in batches, and beside an import; and requests that decide three times. In groups, each with a
/// name.
#[must_use]
pub fn all_scopes() -> Vec<(&'static str, Vec<Scope>)> {
    let (p, q, n, k) = (make("p", None), make("q", None), make("n", Some("p")), make("k", Some("n")));
    let subtree = || Some(DeletionMode::Delete);
    let pairs = |settled: &[BaseWrite], some: &[Asked], others: &[Asked]| {
        let pair = |one: &Asked, other: &Asked| scope(settled.to_vec(), vec![vec![one.clone()], vec![other.clone()]]);
        some.iter().flat_map(|one| others.iter().map(|other| pair(one, other)).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let distinct = |settled: &[BaseWrite], all: &[Asked]| {
        let ends = |at: usize| pairs(settled, &all[at..=at], &all[at..]);
        (0..all.len()).flat_map(ends).collect::<Vec<_>>()
    };
    let own = [
        create("n", "p"),
        replace("n", "p"),
        replace("n", "q"),
        rename("n", 1),
        move_to("n", "q"),
        delete("n", None),
        delete("n", subtree()),
        delete("n", Some(DeletionMode::Adopt)),
        delete("n", Some(DeletionMode::Detach)),
    ];
    let boxed = |asked: &Asked| Box::new(asked.clone());
    let mut keyed: Vec<Asked> = own.iter().map(|asked| Asked::Keyed(boxed(asked))).collect();
    keyed.push(Asked::IfUnchanged(boxed(&own[3])));
    keyed.push(Asked::Batch(vec![own[0].clone(), own[3].clone()]));
    keyed.push(Asked::KeyedBatch(vec![own[0].clone(), own[3].clone()]));
    keyed.push(Asked::Import(vec![("n".to_owned(), Some("p".to_owned()))]));
    let child = [create("k", "n"), rename("k", 1), move_to("k", "n"), move_to("p", "k"), delete("k", None)];
    let topic = [append(), unrevise(1), unrevise(2), Asked::Amend { id: "p".to_owned(), version: 1 }];
    let keyed_topic: Vec<Asked> = topic.iter().map(|asked| Asked::Keyed(boxed(asked))).collect();
    let (absent, present) = (vec![p.clone(), q.clone()], vec![p.clone(), q.clone(), n.clone()]);
    let with_child = [present.clone(), vec![k]].concat();
    let revisions: Vec<BaseWrite> = std::iter::once(p).chain((1..=2).map(revised)).collect();
    let documents = [rename("p", 1), Asked::Replace { id: "p".to_owned(), parent: None }].map(with_revision);
    let keyed_documents: Vec<Asked> = documents.iter().map(|asked| Asked::Keyed(boxed(asked))).collect();
    let on_node = [rename("p", 2), delete("p", None), delete("p", subtree())];
    let of_document = [documents.to_vec(), topic.to_vec(), on_node.to_vec()].concat();
    let of_family = |settled: &[BaseWrite]| -> Vec<Scope> {
        let pairs = pairs(settled, &own, &child).into_iter();
        pairs.map(|scope| Scope { loses_handlers: true, ..scope }).collect()
    };
    let mut groups = vec![
        ("those that were wrong once", few_scopes()),
        ("siblings", places(&present)),
        ("three decisions", thirds(&present, &own)),
        ("a topic", distinct(&revisions, &topic)),
        ("a topic, with keys", pairs(&revisions, &keyed_topic, &topic)),
        ("a node and its topic", pairs(&revisions, &documents, &of_document)),
        ("a node and its topic, with keys", pairs(&revisions, &keyed_documents, &of_document)),
        ("a node with a revision that isn't there", pairs(&absent, &[with_revision(create("n", "p"))], &own)),
        ("a node that isn't there", distinct(&absent, &own)),
        ("a node", distinct(&present, &own)),
        ("a node that isn't there, with keys", pairs(&absent, &keyed, &own)),
        ("a node, with keys", pairs(&present, &keyed, &own)),
        ("a node, and a child that isn't there", of_family(&present)),
        ("a node and its child", of_family(&with_child)),
    ];
    groups.extend(of_the_trash());
    groups
}

/// A node that is put into the trash, or taken out, while it or a node above it is written, moved, put into the trash
/// or deleted.
fn of_the_trash() -> [(&'static str, Vec<Scope>); 3] {
    let (p, q, n) = (make("p", None), make("q", None), make("n", Some("p")));
    let subtree = || Some(DeletionMode::Delete);
    let live = vec![p.clone(), q.clone(), n];
    let in_trash = [vec![p, q], trashed("n", "p").into()].concat();
    let asked = [trash("n"), restore("n", None), restore("n", Some(None)), restore("n", Some(Some("q")))];
    let keyed = |asked: &Asked| Asked::Keyed(Box::new(asked.clone()));
    let unchanged = Asked::IfUnchanged(Box::new(delete("n", subtree())));
    let sent = [keyed(&asked[0]), keyed(&asked[1]), unchanged, Asked::Batch(vec![trash("n"), restore("n", None)])];
    let own = [create("n", "p"), replace("n", "q"), rename("n", 1), move_to("n", "q"), delete("n", None)];
    let modes = [DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach];
    let own = own.into_iter().chain(modes.map(|mode| delete("n", Some(mode)))).chain(asked.clone());
    let above = [
        trash("p"),
        delete("p", None),
        delete("p", subtree()),
        delete("p", Some(DeletionMode::Adopt)),
        delete("p", Some(DeletionMode::Detach)),
        move_to("p", "q"),
        move_to("p", "n"),
        move_to("q", "n"),
        create("k", "n"),
    ];
    let others: Vec<Asked> = own.chain(above).collect();
    let settled = [&live, &in_trash];
    let of = |some: &[Asked]| {
        let pairs = some.iter().flat_map(|one| others.iter().map(|other| vec![vec![one.clone()], vec![other.clone()]]));
        let pairs: Vec<_> = pairs.collect();
        settled.into_iter().flat_map(move |settled| pairs.clone().into_iter().map(|pair| scope(settled.clone(), pair)))
    };
    let alone = of(&asked).map(|scope| Scope { loses_handlers: true, ..scope });
    let thirds = [
        vec![trash("n"), restore("n", None)],
        vec![restore("n", None), trash("n")],
        vec![restore("n", None), delete("n", None)],
        vec![delete("p", None), create("p", "q")],
        vec![trash("p"), restore("p", None)],
    ];
    let thirds = settled.into_iter().flat_map(|settled| {
        let pairs = asked.iter().flat_map(|one| thirds.iter().map(|others| vec![vec![one.clone()], others.clone()]));
        pairs.map(|clients| scope(settled.clone(), clients)).collect::<Vec<_>>()
    });
    let at_once = |scope| Scope { passes_max: 0, deaths_max: 0, handles: Handles::AtOnce, ..scope };
    [
        ("the trash", alone.collect()),
        ("the trash, with keys and in batches", of(&sent).collect()),
        ("the trash, three decisions", thirds.map(|scope| at_once(Scope { waits_max: 2, ..scope })).collect()),
    ]
}

/// Every way to place `n` beside `m`, or to create it there, while `n` or `m` is written, moved, placed or deleted.
fn places(settled: &[BaseWrite]) -> Vec<Scope> {
    let siblings = [settled, &[make("m", Some("p")), make("l", Some("p"))]].concat();
    let created = Asked::CreateAt { id: "o".to_owned(), parent: Some("p".to_owned()), beside: "m".to_owned(), kind: 3 };
    let ways = (0..4).map(|kind| place("n", kind, "m")).chain([created.clone(), Asked::Keyed(Box::new(created))]);
    let others = [
        rename("n", 1),
        move_to("n", "q"),
        move_to("m", "q"),
        delete("n", None),
        delete("m", None),
        place("m", 3, "n"),
        place("l", 3, "m"),
        create("o", "p"),
    ];
    let pairs = ways.flat_map(|one| others.iter().map(move |other| vec![vec![one.clone()], vec![other.clone()]]));
    let of = |clients: Vec<Vec<Asked>>| {
        // A client sends again what has a key, if its function dies.
        let deaths_max = u32::from(matches!(clients[0][0], Asked::Keyed(_)));
        let scope = scope(siblings.clone(), clients);
        Scope { is_ordered: true, passes_max: deaths_max, deaths_max, handles: Handles::AtOnce, ..scope }
    };
    pairs.map(of).collect()
}

/// Requests that decide up to three times, because one answer is lost and two others write in between.
fn thirds(settled: &[BaseWrite], own: &[Asked]) -> Vec<Scope> {
    let others = [
        vec![rename("n", 1), rename("n", 2)],
        vec![delete("n", None), create("n", "p")],
        vec![rename("n", 1), delete("n", None)],
        vec![move_to("n", "q"), move_to("n", "p")],
        vec![replace("n", "q"), rename("n", 1)],
    ];
    let pairs = own.iter().flat_map(|one| others.iter().map(move |others| vec![vec![one.clone()], others.clone()]));
    let of = |clients| Scope {
        waits_max: 2,
        passes_max: 0,
        deaths_max: 0,
        handles: Handles::AtOnce,
        ..scope(settled.to_vec(), clients)
    };
    pairs.map(of).collect()
}
