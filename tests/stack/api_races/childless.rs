//! Deletions of nodes that show no children, and a child that comes in before, at the same moment, or in the same
//! batch. Both may be answered as done. Then the child is adopted, and never out of sight.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::serving::Serving;
use serde_json::json;

use super::support::{Node, Race, at_once, kind, moved, post, said};

/// What comes in below `gone`, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Comes {
    /// A new node, and then the deletion.
    Created,
    /// A new node and the deletion at once.
    CreatedAtOnce,
    /// The node `m` with a child, and then the deletion.
    Moved,
    /// The same at once.
    MovedAtOnce,
    /// A copy of `m` with its child, and then the deletion.
    Copied,
    /// A new node and the deletion in one batch.
    InOneBatch,
    /// A new node, and then the deletion with its token.
    WithToken,
    /// A new node, the deletion, and `gone` once more with its deletion.
    BeforeAnotherLife,
}

const ALL: [Comes; 8] = [
    Comes::Created,
    Comes::CreatedAtOnce,
    Comes::Moved,
    Comes::MovedAtOnce,
    Comes::Copied,
    Comes::InOneBatch,
    Comes::WithToken,
    Comes::BeforeAnotherLife,
];

fn tree(run: u64) -> Vec<Node> {
    let name = |id: &str| format!("r{run}-{id}");
    let nodes = [("top", None), ("gone", Some("top")), ("outside", None), ("m", Some("outside")), ("n", Some("m"))];
    nodes.into_iter().map(|(id, parent): (&str, Option<&str>)| (name(id), parent.map(name))).collect()
}

/// What was answered to the node that comes in, and to the deletion.
type Answers = (Answered, Answered);

async fn one(serving: &Arc<Serving>, chance: &mut SmallRng, run: u64, comes: Comes) -> Answers {
    let name = |id: &str| format!("r{run}-{id}");
    let create = || post("/nodes", &json!({"id": name("new"), "parent": name("gone")}));
    let come = match comes {
        Comes::Moved | Comes::MovedAtOnce => moved(&name("m"), Some(&name("gone"))),
        Comes::Copied => {
            post(&format!("/nodes/{}/copy", name("m")), &json!({"parent": name("gone"), "ids": name("new")}))
        }
        _ => create(),
    };
    let delete = || Asked::new("DELETE", format!("/nodes/{}", name("gone")));
    match comes {
        Comes::Created | Comes::Moved | Comes::Copied => (serving.send(&come).await, serving.send(&delete()).await),
        Comes::CreatedAtOnce | Comes::MovedAtOnce => {
            let (before, after) = (chance.random_range(0..6), chance.random_range(0..6));
            let mut answers = at_once(serving, vec![(before, come), (after, delete())]).await;
            let deleted = answers.remove(1);
            (answers.remove(0), deleted)
        }
        Comes::InOneBatch => {
            let operations =
                json!([{"put": {"id": name("new"), "parent": name("gone")}}, {"delete": {"id": name("gone")}}]);
            let answered = serving.send(&post("/batch", &json!({"operations": operations}))).await;
            let results = answered.json()["results"].clone();
            assert_eq!((&results[0]["status"], &results[1]["status"]), (&json!(201), &json!(409)), "{results}");
            assert!(results[1]["problem"]["type"].as_str().unwrap().ends_with("has-children"), "{results}");
            (answered.clone(), answered)
        }
        Comes::WithToken => {
            let came = serving.send(&come).await;
            let token = came.header("sapwood-consistency-token").unwrap().to_owned();
            let target = format!("/nodes/{}?written={token}", name("gone"));
            let deleted = serving.send(&Asked::new("DELETE", target).header("prefer", "wait=10")).await;
            assert_eq!((deleted.status, &*kind(&deleted)), (409, "has-children"));
            (came, deleted)
        }
        Comes::BeforeAnotherLife => {
            let (came, deleted) = (serving.send(&come).await, serving.send(&delete()).await);
            if deleted.status == 204 {
                let again = json!({"id": name("gone"), "parent": name("top")});
                serving.send(&post("/nodes", &again).header("prefer", "wait=5")).await;
                serving.send(&delete()).await;
            }
            (came, deleted)
        }
    }
}

/// Nothing that was answered is out of sight: each node that came in is below a node that is there, or is a root.
async fn nothing_is_out_of_sight(parameters: &[(&str, &str)], tells: impl Fn(Comes) -> bool) {
    let mut race = Race::start_with(1, parameters).await;
    let mut answers: BTreeMap<u64, (Comes, Answers)> = BTreeMap::new();
    race.run(tree, async |serving, chance, run| {
        let comes = ALL[usize::try_from(run).unwrap() % ALL.len()];
        let answered = one(serving, chance, run, comes).await;
        answers.insert(run, (comes, answered));
    })
    .await;
    let forest = race.rest().await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (run, (comes, (came, deleted))) in answers {
        *counts.entry(format!("{comes:?} {} {}", came.status, deleted.status)).or_default() += 1;
        let name = |id: &str| format!("r{run}-{id}");
        let id = name(if matches!(comes, Comes::Moved | Comes::MovedAtOnce) { "m" } else { "new" });
        let is_told = deleted.status == 409 || comes == Comes::InOneBatch;
        assert!(!tells(comes) || is_told, "run {run}, {comes:?}: {:?}", said(&[came, deleted]));
        if came.status < 300 {
            assert!(forest.has(&id), "run {run}, {comes:?}: {id} is lost");
            let parent = forest.parent(&id);
            assert!(parent.is_none_or(|parent| forest.has(parent)), "run {run}, {comes:?}: {id} is out of sight");
            let may_be = [name("gone"), name("top")];
            assert!(
                parent.is_some_and(|parent| may_be.contains(&parent.to_owned())),
                "run {run}, {comes:?}: {parent:?}"
            );
        }
    }
    println!("{parameters:?}: {counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_comes_in_while_its_parent_is_deleted_is_never_out_of_sight() {
    nothing_is_out_of_sight(&[], |comes| matches!(comes, Comes::InOneBatch | Comes::WithToken)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_names_are_claimed_a_deletion_knows_of_each_child_that_was_answered() {
    let tells = |comes| !matches!(comes, Comes::CreatedAtOnce | Comes::MovedAtOnce);
    nothing_is_out_of_sight(&[("UniqueNames", "exact")], tells).await;
}
