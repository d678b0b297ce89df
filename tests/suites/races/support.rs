//! A stack for races: trees made in batches, requests sent at the same moment.

use std::sync::Arc;

use futures::future::join_all;
use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::forest::{Forest, chance, number};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use rand::rngs::SmallRng;

pub(crate) struct Race {
    pub(crate) serving: Arc<Serving>,
    pub(crate) chance: SmallRng,
    pub(crate) runs: u64,
}

/// A node's id and its parent.
pub(crate) type Node = (String, Option<String>);

impl Race {
    /// A stack; `share`: how many of so many runs this kind has.
    pub(crate) async fn start(share: u64) -> Self {
        let serving = Arc::new(Serving::start(Way::Http, &[], &[]).await);
        Self { serving, chance: chance("RACE_SEED"), runs: number("RACE_RUNS", 200) / share }
    }

    /// Makes these nodes, parents first.
    pub(crate) async fn plant(&self, nodes: Vec<Node>) {
        for some in nodes.chunks(100) {
            let puts = some.iter().map(|(id, parent)| json!({"put": {"id": id, "parent": parent}}));
            let batch = json!({"operations": puts.collect::<Vec<_>>()});
            let answered = self.serving.send(&Asked::new("POST", "/batch").json(&batch)).await;
            let results = answered.json();
            let all = results["results"].as_array().unwrap();
            assert!(all.iter().all(|result| result["status"] == 201), "{results}");
        }
    }

    /// Plants a tree for each run: for half of the runs everything is at rest before they begin, for the others nothing.
    /// Then makes the runs.
    pub(crate) async fn run<A>(&mut self, tree: impl Fn(u64) -> Vec<Node>, mut run: A)
    where
        A: AsyncFnMut(&Arc<Serving>, &mut SmallRng, u64),
    {
        let rested = self.runs / 2;
        self.plant((0..rested).flat_map(&tree).collect()).await;
        self.serving.running.settle().await;
        for number in 0..self.runs {
            if number >= rested {
                self.plant(tree(number)).await;
            }
            run(&self.serving, &mut self.chance, number).await;
        }
    }

    /// Waits until all is at rest: the table is what its base records call for, and they make trees.
    pub(crate) async fn rest(&self) -> Forest {
        self.serving.running.settle().await;
        self.serving.running.assert_right(&Oracle::default()).await;
        let forest = Forest::of(&self.serving.running.contents().await);
        forest.assert_whole();
        forest
    }
}

/// Sends all of them at the same moment, each after so many milliseconds.
pub(crate) async fn at_once(serving: &Arc<Serving>, all: Vec<(u64, Asked)>) -> Vec<Answered> {
    let barrier = Arc::new(Barrier::new(all.len()));
    let sent = all.into_iter().map(|(after, asked)| {
        let (serving, barrier) = (Arc::clone(serving), Arc::clone(&barrier));
        tokio::spawn(async move {
            barrier.wait().await;
            tokio::time::sleep(std::time::Duration::from_millis(after)).await;
            serving.send(&asked).await
        })
    });
    join_all(sent).await.into_iter().map(Result::unwrap).collect()
}

pub(crate) fn statuses(answers: &[Answered]) -> Vec<u16> {
    answers.iter().map(|answered| answered.status).collect()
}

pub(crate) fn said(answers: &[Answered]) -> Vec<String> {
    answers.iter().map(|it| format!("{} {}", it.status, String::from_utf8_lossy(&it.body))).collect()
}

/// The last word of a problem's type.
pub(crate) fn kind(answered: &Answered) -> String {
    answered.json()["type"].as_str().unwrap().rsplit([':', '/']).next().unwrap().to_owned()
}

pub(crate) fn moved(id: &str, parent: Option<&str>) -> Asked {
    Asked::new("PATCH", format!("/nodes/{id}")).json(&json!({"parent": parent}))
}

pub(crate) fn post(target: &str, body: &Value) -> Asked {
    Asked::new("POST", target).json(body)
}
