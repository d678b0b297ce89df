//! The requests of the load, by chance, and what their answers tell.

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_tests::api::{Answered, Asked};
use serde_json::{Value, json};

use super::record::{Done, Manner, Record, What};

/// A write that a request asks for.
#[derive(Clone, Debug)]
pub(crate) enum Intent {
    Write { id: Option<String>, mark: u64, parent: Option<Option<String>> },
    Delete { id: String, mode: &'static str },
    Append { id: String, topic: &'static str, mark: u64 },
}

/// A request with the writes that it asks for; a read has none.
pub(crate) struct Wanted {
    pub(crate) kind: &'static str,
    pub(crate) asked: Asked,
    pub(crate) intents: Vec<Intent>,
}

/// How a tree is used, and which of its nodes may be there. Its root, the first, stays.
pub(crate) struct Tree {
    pub(crate) manner: Manner,
    pub(crate) ids: Vec<String>,
}

impl Tree {
    fn any(&self, chance: &mut SmallRng) -> String {
        self.ids.choose(chance).unwrap().clone()
    }

    /// Any but the root.
    fn any_below(&self, chance: &mut SmallRng) -> String {
        self.ids[1..].choose(chance).unwrap_or(&self.ids[0]).clone()
    }
}

const TOPICS: [&str; 2] = ["Audit", "Inspection#wheel"];

fn ask(method: &str, target: &str, body: &Value) -> Asked {
    Asked::new(method, target).json(body)
}

fn put(id: Option<String>, mark: u64, parent: String) -> Intent {
    Intent::Write { id, mark, parent: Some(Some(parent)) }
}

/// A request to a tree; `number` is its mark, and no other request has it or one of the three after it.
pub(crate) fn draw(tree: &Tree, chance: &mut SmallRng, number: u64) -> Wanted {
    let (id, parent) = (tree.any_below(chance), tree.any(chance));
    let is_root = id == tree.ids[0];
    let marked = json!({"mark": number});
    let target = format!("/nodes/{id}");
    let one = |kind, asked, intent| Wanted { kind, asked, intents: vec![intent] };
    match chance.random_range(0..100) {
        0..12 => {
            let body = json!({"parent": parent, "attributes": marked});
            one("create", ask("POST", "/nodes", &body), put(None, number, parent))
        }
        12..22 => {
            let id = format!("n{number}");
            let body = json!({"id": id, "parent": parent, "attributes": marked});
            one("create with an id", ask("POST", "/nodes", &body), put(Some(id), number, parent))
        }
        22..38 => {
            let intent = Intent::Write { id: Some(id), mark: number, parent: None };
            one("patch", ask("PATCH", &target, &json!({"attributes": marked})), intent)
        }
        38..48 if !is_root => {
            let body = json!({"parent": parent, "attributes": marked});
            one("move", ask("PATCH", &target, &body), put(Some(id), number, parent))
        }
        48..54 if !is_root => {
            let body = json!({"parent": parent, "attributes": marked});
            one("replace", ask("PUT", &target, &body), put(Some(id), number, parent))
        }
        54..60 if !is_root => {
            let modes: &[&str] = match tree.manner {
                Manner::Plain => &["restrict"],
                Manner::Releasing => &["restrict", "adopt", "detach"],
                Manner::Cutting => &["restrict", "delete"],
            };
            let mode = modes.choose(chance).unwrap();
            one(mode, Asked::new("DELETE", format!("{target}?children={mode}")), Intent::Delete { id, mode })
        }
        60..72 => {
            let topic = TOPICS.choose(chance).unwrap();
            let id = tree.ids[chance.random_range(0..tree.ids.len().min(5))].clone();
            let target = format!("/nodes/{id}/revisions/{}", topic.replace('#', "~23"));
            let asked = ask("POST", &target, &json!({"attributes": marked}));
            one("revision", asked, Intent::Append { id, topic, mark: number })
        }
        72..77 => batch(tree, chance, number),
        _ => {
            let reads = [
                "",
                "/children",
                "/descendants?max_depth=2",
                "/tree?max_depth=2",
                "/ancestors?consistent=true",
                "/count",
                "/revisions",
                "/latest",
                "/propagation",
            ];
            let target = match chance.random_range(0..12) {
                0 => "/roots?limit=20".to_owned(),
                1 => format!("/paths/{}?limit=20", tree.ids[0]),
                _ => format!("{target}{}", reads.choose(chance).unwrap()),
            };
            Wanted { kind: "read", asked: Asked::new("GET", target), intents: Vec::new() }
        }
    }
}

fn batch(tree: &Tree, chance: &mut SmallRng, number: u64) -> Wanted {
    let (parent, patched) = (tree.any(chance), tree.any_below(chance));
    let new = format!("n{number}");
    let operations = json!({"operations": [
        {"put": {"id": new, "parent": parent, "attributes": {"mark": number}}},
        {"put": {"parent": new, "attributes": {"mark": number + 1}}},
        {"patch": {"id": patched, "attributes": {"mark": number + 2}}},
        {"revision": {"id": tree.ids[0], "topic": "Audit", "attributes": {"mark": number + 3}}},
    ]});
    let intents = vec![
        put(Some(new.clone()), number, parent),
        put(None, number + 1, new),
        Intent::Write { id: Some(patched), mark: number + 2, parent: None },
        Intent::Append { id: tree.ids[0].clone(), topic: "Audit", mark: number + 3 },
    ];
    Wanted { kind: "batch", asked: ask("POST", "/batch", &operations), intents }
}

/// Keeps what an answer acknowledges.
pub(crate) fn keep(
    record: &mut Record,
    tree: &mut Tree,
    wanted: &Wanted,
    answered: &Answered,
    (began, ended): (u64, u64),
) {
    let answers: Vec<(u64, Value)> = match wanted.kind {
        "read" => return,
        "batch" => {
            let body = answered.json();
            let all = body["results"].as_array().unwrap();
            all.iter().map(|result| (result["status"].as_u64().unwrap(), result["body"].clone())).collect()
        }
        _ if answered.body.is_empty() => vec![(answered.status.into(), Value::Null)],
        _ => vec![(answered.status.into(), answered.json())],
    };
    assert_eq!(answers.len(), wanted.intents.len());
    for (intent, (status, body)) in wanted.intents.iter().zip(answers) {
        assert!(status < 500, "{intent:?}: {status} {body}");
        if status >= 300 {
            continue;
        }
        match intent {
            Intent::Append { id, topic, mark } => record.appended(id, topic, body["version"].as_u64().unwrap(), *mark),
            Intent::Write { id, mark, parent } => {
                let answered = body["id"].as_str().unwrap().to_owned();
                assert_eq!(id.as_ref().unwrap_or(&answered), &answered);
                let what = What::Wrote { mark: *mark, parent: parent.clone() };
                record.add(tree.manner, &answered, Done { what, began, ended });
                if status == 201 && !tree.ids.contains(&answered) {
                    tree.ids.push(answered);
                }
            }
            Intent::Delete { id, mode } => {
                let what = if status == 204 { What::Deleted } else { What::Removed { subtree: *mode == "delete" } };
                record.add(tree.manner, id, Done { what, began, ended });
                // Half of them are asked for again, though they are gone.
                if ended.is_multiple_of(2) {
                    tree.ids.retain(|known| known != id);
                }
            }
        }
    }
}
