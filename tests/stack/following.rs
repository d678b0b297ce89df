//! Followers of feeds over HTTP, killed and resumed at random, beside writers and a handler whose invocations die: at
//! rest each mirror is its tree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_tests::api::Asked;
use sapwood_tests::client::{self, item, node, put, s};
use sapwood_tests::oracle::Contents;
use sapwood_tests::running::{Running, TABLE};
use sapwood_tests::seeds::{chance, number};
use sapwood_tests::serving::Serving;
use serde_dynamo::AttributeValue;
use serde_json::{Value, json};

const PARAMETERS: [(&str, &str); 2] = [("Changes", "on"), ("Trash", "on")];
const ROOTS: [&str; 3] = ["r0", "r1", "r2"];
const NODES: usize = 60;
const WRITERS: usize = 16;

/// Longer than followers stay behind.
const AT_REST: Duration = Duration::from_millis(6_500);

/// The name of the feeds, as `sapwood feed begin` writes it.
pub(crate) async fn begin(running: &Running, name: &str) {
    let [pk, sk] = ["SAPWOOD", "FEED"].map(s);
    put(&running.client, TABLE, item([("PK", pk), ("SK", sk), ("name", s(name))])).await;
}

async fn stack(running: Running) -> Serving {
    let url = running.url();
    begin(&running, "first").await;
    Serving::through(running, [&url, &url], &PARAMETERS).await
}

/// A mirror of a tree, as a program keeps it: with the cursor up to which it is true.
#[derive(Clone, Default)]
struct Mirror {
    nodes: BTreeMap<String, Value>,
    cursor: Option<String>,
}

impl Mirror {
    /// Asks for a page, and does what the documentation says. Returns whether there is more.
    async fn ask(&mut self, serving: &Serving, root: &str, limit: usize) -> bool {
        let cursor = self.cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let target = format!("/nodes/{root}/changes?limit={limit}{cursor}");
        let answered = serving.send_patiently(&Asked::new("GET", target)).await;
        let page = answered.json();
        assert_eq!(answered.status, 200, "{page}");
        for change in page["changes"].as_array().unwrap() {
            let id = change["id"].as_str().unwrap().to_owned();
            if change["node"].is_null() {
                self.nodes.remove(&id);
            } else {
                self.nodes.insert(id, change["node"].clone());
            }
        }
        self.cursor = Some(page["cursor"].as_str().unwrap().to_owned());
        page["has_more"].as_bool().unwrap()
    }
}

fn at_will(chance: &mut SmallRng) -> Asked {
    let id = format!("n{}", chance.random_range(0..NODES));
    let parent = match chance.random_range(0..10) {
        0..4 => (*ROOTS.choose(chance).unwrap()).to_owned(),
        _ => format!("n{}", chance.random_range(0..NODES)),
    };
    let name = chance.random_range(0..1_000);
    match chance.random_range(0..20) {
        0..6 => Asked::new("POST", "/nodes")
            .json(&json!({"id": id, "parent": parent, "attributes": {"name": format!("new {name}")}})),
        6..10 => Asked::new("PATCH", format!("/nodes/{id}"))
            .header("content-type", "application/merge-patch+json")
            .json(&json!({"attributes": {"name": format!("changed {name}")}})),
        10..15 => Asked::new("PATCH", format!("/nodes/{id}"))
            .header("content-type", "application/merge-patch+json")
            .json(&json!({"parent": parent})),
        15 => Asked::new("PATCH", format!("/nodes/{id}"))
            .header("content-type", "application/merge-patch+json")
            .json(&json!({"parent": null})),
        16 | 17 => {
            let children = ["restrict", "delete", "adopt", "detach"].choose(chance).unwrap();
            Asked::new("DELETE", format!("/nodes/{id}?children={children}"))
        }
        18 => Asked::new("POST", format!("/nodes/{id}/trash")),
        _ => Asked::new("POST", format!("/nodes/{id}/restore")).json(&json!({})),
    }
}

async fn write(serving: Arc<Serving>, mut chance: SmallRng, until: Instant) {
    while Instant::now() < until {
        let answered = serving.send(&at_will(&mut chance)).await;
        assert!(answered.status != 400 && answered.status != 500, "{}: {}", answered.status, answered.json());
        tokio::time::sleep(Duration::from_millis(chance.random_range(0..80))).await;
    }
}

/// Follows a tree, and dies: it then goes on from what it has kept. Returns what it has kept at the end, and how often
/// it has died.
async fn follow(serving: Arc<Serving>, root: &'static str, mut chance: SmallRng, until: Instant) -> (Mirror, usize) {
    let (mut mirror, mut kept, mut deaths) = (Mirror::default(), Mirror::default(), 0);
    while Instant::now() < until {
        let limit = [1, 3, 50].choose(&mut chance).copied().unwrap();
        let life = Duration::from_millis(chance.random_range(1..400));
        let is_over = tokio::time::timeout(life, mirror.ask(&serving, root, limit)).await.is_err();
        if is_over || chance.random_ratio(1, 8) {
            (mirror, deaths) = (kept.clone(), deaths + 1);
        } else if chance.random_bool(0.6) {
            kept = mirror.clone();
        }
        tokio::time::sleep(Duration::from_millis(chance.random_range(0..300))).await;
    }
    (mirror, deaths)
}

/// The ids of a tree's nodes, by the parents of records.
fn tree(contents: &Contents, root: &str) -> BTreeSet<String> {
    let parent = |id: &str| match contents.get(&(id.to_owned(), "NODE".to_owned()))?.get("parent") {
        Some(AttributeValue::S(parent)) => Some(Some(parent.clone())),
        _ => Some(None),
    };
    let top = |id: &str| {
        let mut at = id.to_owned();
        for _ in 0..=NODES {
            match parent(&at) {
                Some(Some(above)) => at = above,
                Some(None) => return Some(at),
                None => return None,
            }
        }
        None
    };
    let ids = contents.keys().filter(|(_, sk)| sk == "NODE").map(|(pk, _)| pk.clone());
    ids.filter(|id| top(id).as_deref() == Some(root)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_that_are_killed_mirror_their_trees_beside_writers_and_dying_handlers() {
    let seconds = number("FOLLOW_SECONDS").unwrap_or(4);
    let mut chance = chance("FOLLOW_SEED");
    for _ in 0..number("FOLLOW_RUNS").unwrap_or(1) {
        let running = Running::start_mortal(&PARAMETERS, SmallRng::from_rng(&mut chance)).await;
        let serving = Arc::new(stack(running).await);
        put_roots(&serving).await;
        let until = Instant::now() + Duration::from_secs(seconds);
        let writers = (0..WRITERS)
            .map(|_| tokio::spawn(write(Arc::clone(&serving), SmallRng::from_rng(&mut chance), until)))
            .collect::<Vec<_>>();
        let followers = [ROOTS, ROOTS].concat().into_iter().map(|root| {
            let follower = follow(Arc::clone(&serving), root, SmallRng::from_rng(&mut chance), until);
            tokio::spawn(async move { (root, follower.await) })
        });
        let followers = followers.collect::<Vec<_>>();
        join_all(writers).await.into_iter().for_each(|writer| writer.unwrap());
        let mirrors: Vec<_> = join_all(followers).await.into_iter().map(|follower| follower.unwrap()).collect();
        serving.running.settle().await;
        tokio::time::sleep(AT_REST).await;
        let contents = serving.running.contents().await;
        assert!(serving.running.discarded().is_empty());
        let mut compared = 0;
        for (root, (mut mirror, deaths)) in mirrors {
            while mirror.ask(&serving, root, 50).await {}
            let wanted = tree(&contents, root);
            let found: BTreeSet<String> = mirror.nodes.keys().cloned().collect();
            assert_eq!(found, wanted, "the mirror of {root}");
            for (id, node) in mirror.nodes {
                let mut now = serving.send(&Asked::new("GET", format!("/nodes/{id}?consistent=true"))).await.json();
                // A deletion that is blocked: a feed doesn't tell of it.
                now.as_object_mut().unwrap().remove("deleting");
                assert_eq!(node, now, "{id} in the mirror of {root}");
                compared += 1;
            }
            println!("{root}: {} nodes, {deaths} deaths of the follower", wanted.len());
        }
        println!("{compared} nodes compared, after {seconds} s");
        Arc::into_inner(serving).unwrap().running.stop().await;
    }
}

async fn put_roots(serving: &Serving) {
    client::put_all(&serving.running.client, TABLE, ROOTS.map(|root| node(root, None, "a root")).to_vec()).await;
    serving.running.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_lists_then_tells_and_says_what_to_do_where_it_cannot_go_on() {
    let serving = stack(Running::start(&PARAMETERS).await).await;
    put_roots(&serving).await;
    let below = [node("a", Some("r0"), "a"), node("b", Some("a"), "b")];
    client::put_all(&serving.running.client, TABLE, below.to_vec()).await;
    serving.running.settle().await;
    let get = async |target: &str| serving.send(&Asked::new("GET", target)).await;
    let ids = |page: &Value, list: &str| -> Vec<String> {
        page[list].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };

    let now = get("/nodes/r0/changes?cursor=now").await.json();
    assert_eq!((ids(&now, "changes").len(), &now["has_more"]), (0, &json!(false)));
    let mut mirror = Mirror::default();
    while mirror.ask(&serving, "r0", 1).await {}
    assert_eq!(mirror.nodes.keys().collect::<Vec<_>>(), ["a", "b", "r0"]);
    let vain = get(&format!("/nodes/r0/changes?cursor={}", mirror.cursor.clone().unwrap())).await;
    assert_eq!(vain.json()["cursor"].as_str(), mirror.cursor.as_deref(), "nothing has changed, so it stays");

    // It moves, another goes: a request that waits is answered once that can be read.
    put(&serving.running.client, TABLE, node("b", Some("r1"), "b")).await;
    client::delete_all(&serving.running.client, TABLE, vec![("a".to_owned(), "NODE".to_owned())]).await;
    serving.running.settle().await;
    let target = format!("/nodes/r0/changes?cursor={}", mirror.cursor.clone().unwrap());
    let waited = serving.send(&Asked::new("GET", target).header("prefer", "wait=10")).await;
    assert_eq!(waited.header("preference-applied"), Some("wait=10"));
    assert!(!ids(&waited.json(), "changes").is_empty(), "{}", waited.json());
    let both_leave = async {
        while mirror.nodes.len() > 1 {
            mirror.ask(&serving, "r0", 50).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), both_leave).await.expect("both leave the mirror");
    assert_eq!(mirror.nodes.keys().collect::<Vec<_>>(), ["r0"]);
    let recent = get("/nodes/r0/recent").await.json();
    assert_eq!(ids(&recent, "items").into_iter().collect::<BTreeSet<_>>(), ["a", "b", "r0"].map(str::to_owned).into());
    let gone = recent["items"].as_array().unwrap().iter().filter(|one| one["node"].is_null()).count();
    assert!(gone == 2 && recent["items"][0]["at"].is_string(), "{recent}");

    for (target, status, kind) in [
        ("/nodes/b/changes", 409, "not-a-root"),
        ("/nodes/nowhere/changes", 404, "not-found"),
        ("/nodes/r0/changes?cursor=AA", 400, "bad-cursor"),
        ("/nodes/b/recent", 409, "not-a-root"),
        ("/nodes/nowhere/recent", 404, "not-found"),
    ] {
        let refused = get(target).await;
        assert_eq!(
            (refused.status, refused.json()["type"].as_str()),
            (status, Some(&*format!("urn:sapwood:problem:{kind}")))
        );
    }
    // Another function has no name of the feeds yet. One that has goes on with it for a minute.
    let cursor = mirror.cursor.unwrap();
    begin(&serving.running, "second").await;
    let asked = Asked::new("GET", format!("/nodes/r0/changes?cursor={cursor}"));
    assert_eq!(serving.send(&asked).await.status, 200);
    let anew = serving.for_others(sapwood_tests::serving::Way::Http, &PARAMETERS, &[]).await.send(&asked).await;
    assert_eq!((anew.status, anew.json()["type"].as_str()), (410, Some("urn:sapwood:problem:list-anew")));
    let off = serving.for_others(sapwood_tests::serving::Way::Http, &[], &[]).await.send(&asked).await;
    assert_eq!((off.status, off.json()["type"].as_str()), (409, Some("urn:sapwood:problem:changes-off")));
    serving.running.stop().await;
}
