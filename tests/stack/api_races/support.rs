//! A stack for races: trees made in batches, requests sent at the same moment.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue as Sdk;
use futures::future::join_all;
use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::client;
use sapwood_tests::forest::Forest;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::TABLE;
use sapwood_tests::seeds::{chance, number};
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use rand::rngs::SmallRng;

pub(crate) struct Race {
    pub(crate) serving: Arc<Serving>,
    pub(crate) chance: SmallRng,
    pub(crate) runs: u64,
    /// Whether other clients' trees may still be being placed as a run begins.
    pub(crate) foreign_unplaced: bool,
}

/// Who made the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Api,
    Foreign,
}

impl Writer {
    /// Whoever made the tree of this run.
    pub(crate) fn of(run: u64) -> Self {
        if (run / 2).is_multiple_of(2) { Self::Api } else { Self::Foreign }
    }
}

/// A node's id and its parent.
pub(crate) type Node = (String, Option<String>);

impl Race {
    /// A stack; `share`: how many of so many runs this kind has.
    pub(crate) async fn start(share: u64) -> Self {
        Self::start_with(share, &[]).await
    }

    /// The same with these parameters.
    pub(crate) async fn start_with(share: u64, parameters: &[(&str, &str)]) -> Self {
        let serving = Arc::new(Serving::start(Way::Http, parameters, &[]).await);
        Self {
            serving,
            chance: chance("RACE_SEED"),
            runs: number("RACE_RUNS").unwrap_or(20) / share,
            foreign_unplaced: true,
        }
    }

    /// Makes these nodes as the API leaves them, or a foreign writer: at once, since 200 runs are to be quick.
    async fn plant(&self, writer: Writer, nodes: Vec<Node>) {
        let items = nodes.into_iter().map(|(id, parent)| {
            let mut item = client::node(&id, parent.as_deref(), "a name");
            if writer == Writer::Api {
                let own = sapwood_tests::planted::as_the_api(&id, parent.as_deref());
                item.extend(own.into_iter().map(|(name, value)| (name, value.into())));
                item.insert("_rev".to_owned(), Sdk::N("1".to_owned()));
                for own in ["_created", "_updated"] {
                    item.insert(format!("{own}_at"), client::s("2026-01-01T00:00:00.000Z"));
                    item.insert(format!("{own}_by"), client::s("anna"));
                }
            }
            item
        });
        client::put_all(&self.serving.running.client, TABLE, items.collect()).await;
    }

    /// Plants a tree for each run, and makes the runs: in half of them all is at rest before they begin, the others
    /// begin while the trees of ten of them are still being placed.
    pub(crate) async fn run<A>(&mut self, tree: impl Fn(u64) -> Vec<Node>, mut run: A)
    where
        A: AsyncFnMut(&Arc<Serving>, &mut SmallRng, u64),
    {
        let (rested, step) = (self.runs / 2, 10);
        let of = |from: u64, to: u64, writer: Writer| -> Vec<Node> {
            let writer_of = |run: u64| match run < rested || self.foreign_unplaced {
                true => Writer::of(run),
                false => Writer::Api,
            };
            (from..to).filter(|run| writer_of(*run) == writer).flat_map(&tree).collect()
        };
        for number in 0..self.runs {
            let planted = match number {
                0 => rested.max(1),
                _ if number >= rested && (number - rested).is_multiple_of(step) => (number + step).min(self.runs),
                _ => number,
            };
            for writer in [Writer::Api, Writer::Foreign] {
                self.plant(writer, of(number, planted, writer)).await;
            }
            if number == 0 {
                self.serving.running.settle().await;
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
