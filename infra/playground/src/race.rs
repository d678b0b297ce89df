//! Ann and Bob move two folders at the same moment, those of the README's picture: once with the real calls and the
//! real handler, and once the blog's way. Whose request comes next is drawn from a seed.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use axum::Router;
use axum::extract::{Json, Query};
use axum::routing::get;
use futures::FutureExt;
use futures::future::{FusedFuture, join};
use sapwood_api::problem::{Kind, Problem};
use sapwood_core::keys::{DEPTH_MAX, Id};
use sapwood_core::model::{Settings, own_id};
use sapwood_core::write::{Command, Patch, Request};
use sapwood_engine::fanout::Fanout;
use sapwood_engine::write::Writer;
use sapwood_explorer::example::Filling;
use sapwood_simulation::fixture::at_once;
use sapwood_simulation::oracle::Oracle;
use sapwood_store::{Client, Condition};
use serde::{Deserialize, Serialize};

use crate::blog::pattern::{ALL, Pattern};
use crate::blog::patterns::replication::Replication;
use crate::blog::workload::{Model, Node};
use crate::source::source;
use crate::stream::Stream;
use crate::table::{Patience, Turns};

/// The tree of the picture.
const TREE: [(&str, Option<&str>); 5] = [
    ("drive", None),
    ("team", Some("drive")),
    ("plans", Some("team")),
    ("2026", Some("plans")),
    ("archive", Some("drive")),
];
/// Ann's move, and Bob's.
const MOVES: [(&str, &str); 2] = [("plans", "archive"), ("2026", "team")];
/// The most runs of one call.
const RUNS_MAX: u64 = 50;

pub(crate) fn router() -> Router {
    Router::new().route("/race", get(race))
}

#[derive(Deserialize)]
struct Asked {
    seed: u64,
    runs: u64,
}

/// What is listed below each folder.
type Lists = BTreeMap<String, Vec<String>>;

/// How often the lists were those of the records, and the last lists that weren't, if there are any.
#[derive(Default, Serialize)]
struct Counted {
    right: u64,
    wrong: u64,
    lists: Lists,
}

impl Counted {
    fn count(&mut self, (is_right, lists): (bool, Lists)) {
        self.right += u64::from(is_right);
        self.wrong += u64::from(!is_right);
        if !is_right || self.wrong == 0 {
            self.lists = lists;
        }
    }
}

#[derive(Default, Serialize)]
struct Race {
    sapwood: Counted,
    blog: Counted,
    wanted: Lists,
}

async fn race(Query(Asked { seed, runs }): Query<Asked>) -> Result<Json<Race>, Problem> {
    let model = moved();
    let wanted = model.0.keys().map(|id| (id.clone(), model.below(id, 1..=ALL).into_keys().collect())).collect();
    let mut race = Race { wanted, ..Race::default() };
    for seed in seed..seed + runs.min(RUNS_MAX) {
        let counted = with_sapwood(seed).map_err(|error| Problem::new(Kind::Unavailable, error.to_string()))?;
        race.sapwood.count(counted);
        race.blog.count(at_once(with_the_blogs_code(seed)));
    }
    Ok(Json(race))
}

fn nodes() -> Vec<Node> {
    TREE.map(|(id, parent)| Node::new(id, parent)).to_vec()
}

/// The tree after both moves.
fn moved() -> Model {
    let mut model = Model::of(&nodes());
    MOVES.into_iter().for_each(|(id, parent)| model.relocate(id, parent));
    model
}

fn with_sapwood(seed: u64) -> Result<(bool, Lists), Box<dyn Error>> {
    let (table, settings) = (Turns::default(), Settings::default());
    let schema = &settings.schema;
    let filling = Filling { table: &table.table, schema, tenant: None, condition: Condition::Always };
    for (id, parent) in TREE {
        at_once(filling.node(id, parent, id, []))?;
    }
    let mut stream = Stream::at_once(table.clone(), Fanout { settings: settings.clone(), ..Fanout::default() });
    stream.settle();
    // Each moves a folder as a call of the API does.
    let client = Client::new(&table, &Patience(None), schema);
    let mut moves = MOVES.map(|(id, parent)| {
        let (client, settings) = (&client, &settings);
        let move_folder = async move {
            let patch = Patch { parent: Some(Some(Id::new(parent)?)), ..Patch::default() };
            let command = Command::Patch { node: Id::new(id)?.into(), patch };
            Writer::new(client, settings).write(&command, &Request::new(source().stamp("you"))).await?;
            Ok::<_, Box<dyn Error>>(())
        };
        move_folder.boxed_local().fuse()
    });
    let mut chance = fastrand::Rng::with_seed(seed);
    while !moves.iter().all(FusedFuture::is_terminated) || !stream.is_idle() {
        match moves.get_mut(chance.usize(..=MOVES.len())) {
            Some(one) => match one.poll_unpin(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(done) => done?,
                Poll::Pending => {}
            },
            None => stream.step(),
        }
    }
    let contents = table.table.0.lock().unwrap_or_else(PoisonError::into_inner).contents();
    let rows = schema.depth_range(1, DEPTH_MAX);
    let below = |(id, _): (&str, _)| {
        let listed = contents.iter().filter(|((pk, sk), _)| pk == id && (&rows.from..=&rows.to).contains(&sk));
        let mut ids: Vec<String> = listed.filter_map(|(_, row)| Some(own_id(row)?.to_string())).collect();
        ids.sort();
        (id.to_owned(), ids)
    };
    Ok((Oracle::default().differences(&contents).is_empty(), TREE.into_iter().map(below).collect()))
}

async fn with_the_blogs_code(seed: u64) -> (bool, Lists) {
    let pattern = Replication::start().await;
    pattern.import(&nodes()).await;
    let [ann, bob] = MOVES.map(|(id, parent)| pattern.relocate(id, parent));
    pattern.client().meter.in_turns(seed, join(ann, bob)).await;
    let mut lists = Lists::new();
    for (id, _) in TREE {
        lists.insert(id.to_owned(), pattern.below(id, 1..=ALL).await.into_keys().collect());
    }
    (moved().wrong(&pattern).await.is_empty(), lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_moves_at_once_are_right_with_the_handler_and_not_always_with_the_blogs_code() {
        let is_right =
            |seed| with_sapwood(seed).is_ok_and(|(is_right, lists)| is_right && lists["archive"] == ["plans"]);
        let right = (0..20).filter(|seed| is_right(*seed)).count();
        assert_eq!(right, 20);
        let right = (0..200).filter(|seed| at_once(with_the_blogs_code(*seed)).0).count();
        println!("the blog's code was right {right} times of 200");
        assert!((1..180).contains(&right), "{right}");
    }
}
