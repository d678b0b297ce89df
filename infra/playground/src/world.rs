//! A table, its stream with the handler, and the calls that go on.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Extension, Router};
use futures::FutureExt;
use futures::future::ready;
use futures::stream::{BoxStream, StreamExt, once};
use sapwood_api::caller::{Caller, Known};
use sapwood_api::cursor::CursorKey;
use sapwood_api::feed::KnownFeed;
use sapwood_api::problem::{Kind, Problem};
use sapwood_api::wait::Waits;
use sapwood_api::{reads, writes};
use sapwood_core::keys::{Schema, SortKey};
use sapwood_core::model::{AttributeValue, Item, Settings, TRASHED, key_of};
use sapwood_engine::fanout::Fanout;
use sapwood_explorer::example::{Example, PARAMETERS};
use sapwood_explorer::{Explorer, Rights, TableAddress};
use sapwood_json::{Attributes, Numbers};
use sapwood_simulation::fixture::at_once;
use sapwood_store::clock::now;
use sapwood_store::{Condition, Deadline, Table};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::race;
use crate::source::source;
use crate::stream::Stream;
use crate::table::Turns;

/// The key that signs cursors. Here it protects nothing.
const CURSOR_KEY: &[u8] = b"the playground: no secret";

/// The method with which a page ends a call of its own.
const CLOSE: &str = "CLOSE";

/// The longest time of a call.
const CALL_TIME_MAX: Duration = Duration::from_secs(25);

/// The most steps of a turn, so that the page stays awake.
const STEPS_MAX: usize = 400;

type Failed = Box<dyn std::error::Error>;

/// The table, what handles its stream, and the calls that go on.
pub struct World {
    table: Turns,
    stream: Stream,
    router: Router,
    /// The parts of each call's answer, as they come.
    calls: BTreeMap<u64, BoxStream<'static, Value>>,
}

/// What the page passes in.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Passed {
    /// The first turn.
    Begin {
        /// A random number.
        seed: u64,
        /// The example that is there.
        example: Option<Example>,
        /// The base records that are there, of a link.
        records: Vec<Box<RawValue>>,
    },
    /// A turn with these new calls.
    Calls(Vec<Call>),
}

#[derive(Deserialize)]
struct Call {
    id: u64,
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Option<String>,
}

impl World {
    /// Runs a turn: begins what the page passes in as JSON, and goes on with all. Returns JSON: the parts of answers,
    /// and whether there is more to do at once.
    pub fn turn(world: &mut Option<Self>, passed: &[u8]) -> String {
        let turned = Self::turned(world, passed);
        turned.unwrap_or_else(|error| json!({"error": error.to_string()})).to_string()
    }

    fn turned(world: &mut Option<Self>, passed: &[u8]) -> Result<Value, Failed> {
        let calls = match serde_json::from_slice(passed)? {
            Passed::Begin { seed, example, records } => {
                fastrand::seed(seed);
                *world = Some(Self::new(example, &records)?);
                Vec::new()
            }
            Passed::Calls(calls) => calls,
        };
        let world = world.as_mut().ok_or("the first turn has to begin")?;
        calls.into_iter().for_each(|call| world.call(call));
        let mut parts = Vec::new();
        let is_busy = world.go_on(&mut parts);
        Ok(json!({"parts": parts, "busy": is_busy}))
    }

    fn new(example: Option<Example>, records: &[Box<RawValue>]) -> Result<Self, Failed> {
        // A variable has the name of its parameter, in capitals.
        let settings = Settings::read(|variable| {
            let is_its = |parameter: &str| parameter.eq_ignore_ascii_case(&variable.replace('_', ""));
            PARAMETERS.into_iter().find(|(parameter, _)| is_its(parameter)).map(|(_, value)| value.to_owned())
        })?;
        let table = Turns::default();
        if let Some(example) = example {
            at_once(example.fill(&table.table, &settings.schema, None))?;
        }
        // What is no record of a node or a revision, or too large for one, is left out.
        for Attributes(record) in records.iter().filter_map(|record| sapwood_json::read(record.get().as_bytes()).ok()) {
            if is_base(&record, &settings.schema) {
                _ = at_once(table.table.put(&record, &Condition::Always));
            }
        }
        let mut stream = Stream::at_once(table.clone(), Fanout { settings: settings.clone(), ..Fanout::default() });
        // An example is there with its rows. Those of a link, which may have any size, come while the page is awake.
        if example.is_some() {
            stream.settle();
        }
        let stream = stream.in_time();
        let router = router(&table, &settings, &stream, example)?;
        Ok(Self { table, stream, router, calls: BTreeMap::new() })
    }

    fn call(&mut self, Call { id, method, path, headers, body }: Call) {
        if method == CLOSE {
            self.calls.remove(&id);
            return;
        }
        let request = Request::builder().method(method.as_str()).uri(path);
        let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        let request = request.extension(Deadline::at(now() + CALL_TIME_MAX));
        let answer = match request.body(Body::from(body.unwrap_or_default())) {
            Ok(request) => self.router.clone().oneshot(request).boxed(),
            Err(error) => {
                let problem = Problem::new(Kind::BadParameter, error.to_string());
                ready(Ok(problem.into_response())).boxed()
            }
        };
        let parts = answer.map(|Ok(response)| {
            let (head, body) = response.into_parts();
            let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers: Vec<_> =
                head.headers.iter().map(|(name, value)| json!([name.as_str(), text(value)])).collect();
            let first = json!({"status": head.status.as_u16(), "headers": headers});
            let data =
                body.into_data_stream().map(|data| json!({"data": String::from_utf8_lossy(&data.unwrap_or_default())}));
            once(async { first }).chain(data).chain(once(async { json!({"end": true}) }))
        });
        self.calls.insert(id, parts.flatten_stream().boxed());
    }

    /// Goes on with all, until nothing more can be done now. Returns true if there is more to do at once.
    fn go_on(&mut self, parts: &mut Vec<Value>) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        for _ in 0..STEPS_MAX {
            let before = (self.table.observer.requests.load(Ordering::Relaxed), parts.len());
            self.calls.retain(|id, call| {
                loop {
                    match call.poll_next_unpin(context) {
                        Poll::Ready(Some(mut part)) => {
                            part["id"] = json!(id);
                            parts.push(part);
                        }
                        polled => return polled.is_pending(),
                    }
                }
            });
            self.stream.step();
            if (self.table.observer.requests.load(Ordering::Relaxed), parts.len()) == before {
                return false;
            }
        }
        true
    }
}

fn router(table: &Turns, settings: &Settings, stream: &Stream, example: Option<Example>) -> Result<Router, Failed> {
    let tables = || {
        let table = table.clone();
        move |_: Deadline| table.clone()
    };
    let (cursors, waits, feed) = (CursorKey::new(CURSOR_KEY)?, Waits::system(), KnownFeed::default());
    let of_reads = reads::ReaderState { cursors, feed };
    let of_writes = writes::WriterState { revisions_mutable: true, trash: true, source: source() };
    let of_reads = reads::ApiState::new(tables(), settings.clone(), waits.clone(), of_reads);
    let of_writes = writes::ApiState::new(tables(), settings.clone(), waits, of_writes);
    let explorer = Explorer {
        tables: Arc::new(tables()),
        settings: settings.clone(),
        tenant: None,
        place: TableAddress { table: "playground".to_owned(), ..TableAddress::default() },
        rights: Rights { writes: true, trash: true },
        live: Some(stream.feed.clone()),
        trials: Some(Arc::clone(&stream.trials)),
        example: example.map(Example::telling),
        is_playground: true,
    };
    let (of_records, schema) = (table.clone(), settings.schema.clone());
    let own = race::router().route("/records", get(async move || records(&of_records, &schema)));
    let not_found = async |request: Request| {
        Problem::new(Kind::NotFound, format!("no call has the path {}", request.uri().path())).into_response()
    };
    let calls = reads::router(of_reads)
        .merge(writes::router(of_writes))
        .layer(Extension(Known(Ok(Caller::named("you", None)))));
    Ok(calls.nest("/playground", own).merge(explorer.calls()).fallback(not_found))
}

/// True for the records that users write. The handler writes all else, so a link has only these.
fn is_base(item: &Item, schema: &Schema) -> bool {
    let sort_key = key_of(item, schema).and_then(|key| schema.parse_sort_key(&key.sk));
    matches!(sort_key, Some(SortKey::Node | SortKey::Revision { .. }))
}

/// The base records as JSON.
fn records(table: &Turns, schema: &Schema) -> Result<Vec<u8>, Problem> {
    let contents = table.table.0.lock().unwrap_or_else(PoisonError::into_inner).contents();
    let mut base: Vec<Item> = contents.into_values().filter(|item| is_base(item, schema)).collect();
    // Elsewhere a parent has another life, so a restoration takes any of its id.
    for item in &mut base {
        if let Some(AttributeValue::M(mark)) = item.get_mut(TRASHED) {
            mark.remove("born");
        }
    }
    let base: Vec<_> = base.into_iter().map(Attributes).collect();
    sapwood_json::to_vec(&base, Numbers::Strings).map_err(|_| Problem::internal())
}
