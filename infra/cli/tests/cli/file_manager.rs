//! A file manager: 16 clients create, rename, move, copy and trash files and folders, and restore them, all at the same
//! time and in one another's folders. The process with the handler is killed in the middle, again and again. Folders
//! say how much is in them, exactly.
//!
//! Each node is written by one client alone, so what a client was answered is what must be there at the end. A write
//! that got no answer may have been carried out or not.
//! `SAPWOOD_SEED` replays the choices, `FILE_STEPS` says how many each client makes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_core::model::AttributeValue;
use sapwood_tests::api::{Answered, Asked, over_http};
use sapwood_tests::client::contents;
use sapwood_tests::sim::wrong_totals;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::running::{Sapwood, TABLE};
use crate::stack::{chance, size};

const CLIENTS: usize = 16;
const KILLS: usize = 3;
const PARAMETERS: [&str; 10] = [
    "--http",
    "127.0.0.1:0",
    "--parameter",
    "Trash=on",
    "--parameter",
    "UniqueNames=exact",
    "--parameter",
    "Totals=count,size",
    "--mapping",
    "ParallelizationFactor=4",
];
/// Few, so that they are taken all the time.
const NAMES: [&str; 5] = ["notes.txt", "a", "b", "plan", "photo.jpg"];

/// What may be there of one value: what was answered last, and what writes without an answer may have made of it.
type Maybe<T> = BTreeSet<T>;

/// A node as its client knows it.
#[derive(Clone, Debug)]
struct Known {
    parent: Maybe<Option<String>>,
    name: Maybe<String>,
    is_trashed: Maybe<bool>,
    /// False if its creation got no answer.
    is_sure: bool,
    /// True if its rows were there when its creation was answered.
    is_placed: bool,
}

impl Known {
    fn new(parent: Option<&str>, name: &str) -> Self {
        Self {
            parent: [parent.map(str::to_owned)].into(),
            name: [name.to_owned()].into(),
            is_trashed: [false].into(),
            is_sure: true,
            is_placed: false,
        }
    }
}

/// Takes in what a write asked for: it was done, it was refused, or nobody knows.
fn noted<T: Ord>(known: &mut Maybe<T>, wanted: T, answer: Answer) {
    match answer {
        Answer::Done => *known = [wanted].into(),
        Answer::Refused => {}
        Answer::Unknown => {
            known.insert(wanted);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Refused,
    Unknown,
}

/// The server, which is killed and comes back on another port.
#[derive(Clone)]
struct Server(Arc<Mutex<SocketAddr>>);

impl Server {
    async fn ask(&self, asked: &Asked) -> Option<Answered> {
        let address = *self.0.lock().unwrap();
        over_http(address, asked).await
    }

    /// Asks until there is an answer.
    async fn read(&self, target: &str) -> Answered {
        loop {
            if let Some(answer) = self.ask(&Asked::new("GET", target)).await.filter(|answer| answer.status < 500) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// All items of a list.
    async fn list(&self, target: &str) -> Vec<Value> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.read(&format!("{target}{cursor}")).await;
            assert_eq!(page.status, 200, "{target}: {}", String::from_utf8_lossy(&page.body));
            let page = page.json();
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("{}cursor={next}", if target.contains('?') { "&" } else { "?" }),
                None => return items,
            }
        }
    }
}

struct Client {
    name: usize,
    server: Server,
    rng: SmallRng,
    own: BTreeMap<String, Known>,
    /// The folders that all clients put things into.
    folders: Vec<String>,
    copies: Vec<(String, String)>,
    /// How many moves were said to be done, and seen to be.
    moves_seen: usize,
    said: BTreeMap<&'static str, [u32; 3]>,
}

impl Client {
    /// Sends a write. 4xx answers must be among those that a file manager expects.
    async fn write(&mut self, what: &'static str, asked: Asked) -> (Answer, Option<Answered>) {
        let answered = self.server.ask(&asked).await;
        let answer = match answered.as_ref().map(|answer| answer.status) {
            Some(200..300) => Answer::Done,
            Some(409 | 404 | 422 | 412) => Answer::Refused,
            Some(429) => Answer::Refused,
            Some(500..600) | None => Answer::Unknown,
            Some(status) => panic!("{what}: {status} {asked:?}"),
        };
        self.said.entry(what).or_default()[answer as usize] += 1;
        // Otherwise a client would have made all its steps while the server is down.
        if answered.is_none() {
            self.server.read("/health").await;
        }
        (answer, answered)
    }

    fn anywhere(&mut self) -> String {
        let own: Vec<&String> = self.own.keys().collect();
        match self.rng.random_range(0..3) {
            0 if !own.is_empty() => (*own.choose(&mut self.rng).unwrap()).clone(),
            _ => self.folders.choose(&mut self.rng).unwrap().clone(),
        }
    }

    fn any_own(&mut self) -> Option<String> {
        let sure: Vec<&String> = self.own.iter().filter(|(_, known)| known.is_sure).map(|(id, _)| id).collect();
        sure.choose(&mut self.rng).map(|id| (*id).clone())
    }

    async fn step(&mut self, number: usize) {
        let Some(id) = self.any_own().filter(|_| self.rng.random_ratio(7, 10)) else {
            return self.create(number).await;
        };
        match self.rng.random_range(0..10) {
            0..2 => self.rename(&id).await,
            2..6 => self.moves(&id).await,
            6..8 => self.trash(&id).await,
            8 => self.restore(&id).await,
            _ => self.copy(&id).await,
        }
    }

    fn name(&mut self) -> &'static str {
        NAMES.choose(&mut self.rng).unwrap()
    }

    /// A size of a file, in KB.
    fn size(&mut self) -> f64 {
        f64::from(self.rng.random_range(0..4_000)) / 4.0
    }

    async fn create(&mut self, number: usize) {
        let (id, parent, name) = (format!("c{}-{number}", self.name), self.anywhere(), self.name());
        let body = json!({ "id": id, "parent": parent, "segment": name, "attributes": { "size": self.size() } });
        let asked = Asked::new("POST", "/nodes").json(&body).header("prefer", "wait=5");
        let (answer, answered) = self.write("create", asked).await;
        if answer == Answer::Refused {
            return;
        }
        let is_placed = answered.is_some_and(|answer| answer.status == 201);
        let known = Known { is_sure: answer == Answer::Done, is_placed, ..Known::new(Some(&parent), name) };
        self.own.insert(id, known);
    }

    async fn rename(&mut self, id: &str) {
        let name = self.name();
        let body = json!({ "segment": name, "attributes": { "size": self.size() } });
        let asked = Asked::new("PATCH", format!("/nodes/{id}")).json(&body);
        let (answer, _) = self.write("rename", asked).await;
        noted(&mut self.own.get_mut(id).unwrap().name, name.to_owned(), answer);
    }

    async fn moves(&mut self, id: &str) {
        let to = self.anywhere();
        let waits = self.rng.random_bool(0.5);
        let mut asked = Asked::new("PATCH", format!("/nodes/{id}")).json(&json!({ "parent": to }));
        if waits {
            asked = asked.header("prefer", "wait=10, below=true");
        }
        let (answer, answered) = self.write("move", asked).await;
        let known = self.own.get_mut(id).unwrap();
        noted(&mut known.parent, Some(to.clone()), answer);
        if waits && answered.is_some_and(|answer| answer.status == 200) {
            self.is_below(&to, id).await;
        }
    }

    /// What was said to be done must be seen: all of this client's own below a node are among the descendants of its
    /// new parent. No other client moves them.
    async fn is_below(&mut self, to: &str, top: &str) {
        let mut below = BTreeSet::from([top.to_owned()]);
        loop {
            let is_child = |known: &Known| {
                known.is_sure
                    && known.is_placed
                    && known.parent.len() == 1
                    && known.is_trashed == BTreeSet::from([false])
                    && known.parent.iter().flatten().any(|parent| below.contains(parent))
            };
            let more: Vec<String> =
                self.own.iter().filter(|(_, known)| is_child(known)).map(|(id, _)| id.clone()).collect();
            let before = below.len();
            below.extend(more);
            if below.len() == before {
                break;
            }
        }
        let seen: BTreeSet<String> = self
            .server
            .list(&format!("/nodes/{to}/descendants?limit=1000&consistent=true"))
            .await
            .iter()
            .map(|node| node["id"].as_str().unwrap().to_owned())
            .collect();
        let missing: Vec<&String> = below.difference(&seen).collect();
        self.moves_seen += 1;
        assert!(missing.is_empty(), "a move of {top} to {to} was done, and {missing:?} aren't below");
    }

    async fn trash(&mut self, id: &str) {
        let (answer, _) = self.write("trash", Asked::new("POST", format!("/nodes/{id}/trash"))).await;
        noted(&mut self.own.get_mut(id).unwrap().is_trashed, true, answer);
    }

    async fn restore(&mut self, id: &str) {
        let (answer, _) =
            self.write("restore", Asked::new("POST", format!("/nodes/{id}/restore")).json(&json!({}))).await;
        noted(&mut self.own.get_mut(id).unwrap().is_trashed, false, answer);
    }

    async fn copy(&mut self, id: &str) {
        let to = self.anywhere();
        let asked = Asked::new("POST", format!("/nodes/{id}/copy")).json(&json!({ "parent": to }));
        let (answer, answered) = self.write("copy", asked).await;
        if answer == Answer::Done {
            let operation = answered.unwrap().json();
            let text = |name: &str| operation[name].as_str().unwrap().to_owned();
            self.copies.push((text("id"), text("node")));
        }
    }
}

/// A base record, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    parent: Option<String>,
    name: String,
    /// The parent that it had before it was put into the trash.
    trashed: Option<Option<String>>,
}

async fn records(sapwood: &Sapwood) -> BTreeMap<String, Record> {
    let all = contents(&sapwood.client, TABLE, ["PK", "SK"]).await;
    let text = |value: &AttributeValue| if let AttributeValue::S(text) = value { Some(text.clone()) } else { None };
    let nodes = all.into_iter().filter(|((_, sort_key), _)| sort_key == "NODE");
    nodes
        .map(|((id, _), item)| {
            let trashed = item.get("_trashed").map(|value| match value {
                AttributeValue::M(trashed) => trashed.get("parent").and_then(text),
                other => panic!("{id}: {other:?}"),
            });
            let name = item.get("segment").and_then(text).unwrap_or_else(|| id.clone());
            let record = Record { parent: item.get("parent").and_then(text), name, trashed };
            (id, record)
        })
        .collect()
}

/// No two siblings have one name. What is in the trash itself has none there.
fn names_are_unique(records: &BTreeMap<String, Record>) {
    let mut holders: BTreeMap<(&Option<String>, &str), &str> = BTreeMap::new();
    for (id, record) in records.iter().filter(|(_, record)| record.trashed.is_none()) {
        if let Some(other) = holders.insert((&record.parent, &record.name), id) {
            panic!("{other} and {id} are both {} below {:?}", record.name, record.parent);
        }
    }
}

/// Each folder's totals are what is below it, by the rows and by the records.
async fn totals_are_exact(sapwood: &Sapwood) {
    let all = contents(&sapwood.client, TABLE, ["PK", "SK"]).await;
    assert_eq!(wrong_totals(&all), Vec::<String>::new());
}

/// All nodes below a node.
fn below<'a>(records: &'a BTreeMap<String, Record>, top: &'a str) -> BTreeSet<&'a str> {
    let (mut all, mut next) = (BTreeSet::new(), vec![top]);
    while let Some(parent) = next.pop() {
        let children = records.iter().filter(|(_, record)| record.parent.as_deref() == Some(parent));
        for (id, _) in children {
            if all.insert(id.as_str()) {
                next.push(id);
            }
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_sixteen_clients_were_answered_is_there_whatever_was_killed() {
    let mut rng = chance();
    let steps = size("FILE_STEPS", 25);
    let data = tempfile::tempdir().unwrap();
    let start = || Sapwood::start_on(data.path(), &PARAMETERS);
    let address = |sapwood: &Sapwood| sapwood.http.clone().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
    let mut sapwood = start();
    let server = Server(Arc::new(Mutex::new(address(&sapwood))));
    let mut folders = Vec::new();
    for n in 0..CLIENTS / 2 {
        let parent = n.checked_sub(1).map(|n| format!("F{}", n / 2));
        let body = json!({ "id": format!("F{n}"), "parent": parent, "segment": format!("folder {n}") });
        let asked = Asked::new("POST", "/nodes").json(&body).header("prefer", "wait=10");
        assert_eq!(server.ask(&asked).await.unwrap().status, 201);
        folders.push(format!("F{n}"));
    }
    let steps_made = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|name| {
            let steps_made = steps_made.clone();
            let rng = SmallRng::seed_from_u64(rng.random());
            let (server, folders) = (server.clone(), folders.clone());
            let mut client = Client {
                name,
                server,
                rng,
                own: BTreeMap::new(),
                folders,
                copies: Vec::new(),
                moves_seen: 0,
                said: BTreeMap::new(),
            };
            tokio::spawn(async move {
                for number in 0..steps {
                    client.step(number).await;
                    steps_made.fetch_add(1, Ordering::Relaxed);
                }
                client
            })
        })
        .collect();
    for kill in 1..=KILLS {
        let kills_at = CLIENTS * steps * kill / (KILLS + 1);
        while steps_made.load(Ordering::Relaxed) < kills_at && !clients.iter().all(JoinHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        sapwood.kill();
        sapwood = start();
        *server.0.lock().unwrap() = address(&sapwood);
    }
    let mut done = Vec::new();
    for client in clients {
        done.push(client.await.unwrap());
    }
    let mut said: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    for (what, counts) in done.iter().flat_map(|client| &client.said) {
        let sum = said.entry(what).or_default();
        std::iter::zip(sum, counts).for_each(|(sum, count)| *sum += count);
    }
    let moves_seen: usize = done.iter().map(|client| client.moves_seen).sum();
    println!("done, refused, unanswered: {said:?}; {moves_seen} moves were seen to be done");
    assert!(moves_seen > 0 && done.iter().any(|client| !client.copies.is_empty()));
    // A copy is done before all else is looked at.
    let begun = Instant::now();
    for (operation, _) in done.iter().flat_map(|client| &client.copies) {
        while server.read(&format!("/operations/{operation}")).await.json()["status"] == "running" {
            assert!(begun.elapsed() < Duration::from_secs(120), "copy {operation} isn't done");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    sapwood.becomes_right().await;
    totals_are_exact(&sapwood).await;

    let there = records(&sapwood).await;
    names_are_unique(&there);
    for (id, known) in done.iter().flat_map(|client| &client.own) {
        let Some(record) = there.get(id) else {
            assert!(!known.is_sure, "{id} was created, and isn't there");
            continue;
        };
        let parent = record.trashed.as_ref().unwrap_or(&record.parent);
        assert!(known.parent.contains(parent), "{id}: {record:?}, and was answered {known:?}");
        assert!(known.name.contains(&record.name), "{id}: {record:?}, and was answered {known:?}");
        assert!(known.is_trashed.contains(&record.trashed.is_some()), "{id}: {record:?}, and was answered {known:?}");
    }
    for (operation, top) in done.iter().flat_map(|client| &client.copies) {
        assert!(there.contains_key(top), "{operation} is done, and {top} isn't there");
    }
    restored(&server, &sapwood).await;
}

/// Takes everything out of the trash, each with what is below it, and where it was if nothing is in the way.
async fn restored(server: &Server, sapwood: &Sapwood) {
    let before = records(sapwood).await;
    let tops: Vec<String> =
        before.iter().filter(|(_, record)| record.trashed.is_some()).map(|(id, _)| id.clone()).collect();
    println!("{} in the trash", tops.len());
    let listed: BTreeSet<String> =
        server.list("/trash").await.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, tops.iter().cloned().collect());
    let mut left = tops.clone();
    let mut renamed = BTreeSet::new();
    while !left.is_empty() {
        let mut still = Vec::new();
        for id in &left {
            let restore = Asked::new("POST", format!("/nodes/{id}/restore")).json(&json!({}));
            let answer = server.ask(&restore.header("prefer", "wait=20, below=true")).await.unwrap();
            match (answer.status, answer.json()["type"].as_str().unwrap_or_default()) {
                (200, _) => {}
                (409, problem) if problem.ends_with("no-way-back") => still.push(id.clone()),
                (409, problem) if problem.ends_with("name-taken") => {
                    let name = json!({ "segment": format!("{id} (restored)") });
                    let rename = server.ask(&Asked::new("PATCH", format!("/nodes/{id}")).json(&name)).await.unwrap();
                    assert_eq!(rename.status, 200, "{:?}", rename.json());
                    renamed.insert(id.clone());
                    still.push(id.clone());
                }
                _ => panic!("{id}: {answer:?} {}", answer.json()),
            }
        }
        // What waits for a parent in the trash is restored after that. In a circle of such each waits for another.
        if still.len() == left.len() && !still.iter().any(|id| renamed.contains(id)) {
            let id = still.first().unwrap();
            let restore = Asked::new("POST", format!("/nodes/{id}/restore")).json(&json!({ "parent": null }));
            let answer = server.ask(&restore).await.unwrap();
            assert_eq!(answer.status, 200, "{id}: {}", answer.json());
            renamed.insert(id.clone());
            still.remove(0);
        }
        left = still;
    }
    sapwood.becomes_right().await;
    totals_are_exact(sapwood).await;
    let after = records(sapwood).await;
    names_are_unique(&after);
    for id in &tops {
        let (was, is) = (&before[id], &after[id]);
        assert_eq!(is.trashed, None, "{id}");
        if !renamed.contains(id) {
            assert_eq!((&is.parent, &is.name), (was.trashed.as_ref().unwrap(), &was.name), "{id}");
        }
        assert!(below(&after, id).is_superset(&below(&before, id)), "{id} has lost what was below it");
    }
    assert_eq!(server.list("/trash").await, Vec::<Value>::new());
}
