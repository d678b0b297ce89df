//! A table, its stream with the handler, and the calls that go on.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use futures::future::BoxFuture;
use sapwood_api::caller::{Caller, Known};
use sapwood_api::cursor::CursorKey;
use sapwood_api::feed::KnownFeed;
use sapwood_api::problem::{Kind, Problem};
use sapwood_api::wait::Waits;
use sapwood_api::{reads, writes};
use sapwood_core::model::Settings;
use sapwood_engine::fanout::Fanout;
use sapwood_explorer::example::Example;
use sapwood_explorer::{Explorer, Rights, TableAddress};
use sapwood_store::Deadline;
use sapwood_store::clock::now;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::source::source;
use crate::stream::Stream;
use crate::table::Turns;
use crate::{race, share};

/// The settings of the table, by their variables: those of `sapwood dev --example`.
const VARIABLES: [(&str, &str); 3] =
    [("ORDER_ATTRIBUTE", "name"), ("LINK_ATTRIBUTES", "product"), ("TOTALS", "count,size,square_feet")];

/// The key that signs cursors. Here it protects nothing.
const CURSOR_KEY: &str = "the playground: no secret";

/// The method with which a page ends a call of its own.
const CLOSE: &str = "CLOSE";

/// The longest time of a call.
const CALL_TIME_MAX: Duration = Duration::from_secs(25);

/// The most steps of a turn, so that the page stays awake.
const STEPS_MAX: usize = 400;

/// The table, what handles its stream, and the calls that go on.
pub struct World {
    table: Turns,
    stream: Stream,
    router: Router,
    calls: BTreeMap<u64, Running>,
}

/// A call: it waits for its answer, and then for the parts of the body.
enum Running {
    Answer(BoxFuture<'static, Result<Response, Infallible>>),
    Body(Body),
}

/// What the page passes in.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Passed {
    /// The first turn.
    Begin {
        /// A random number.
        seed: u64,
        /// The example that is there, unless records are shared.
        example: Option<String>,
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
        match Self::turned(world, passed) {
            Ok((parts, is_busy)) => json!({"parts": parts, "busy": is_busy}).to_string(),
            Err(error) => json!({"error": error}).to_string(),
        }
    }

    fn turned(world: &mut Option<Self>, passed: &[u8]) -> Result<(Vec<Value>, bool), String> {
        let calls = match serde_json::from_slice(passed).map_err(|error| error.to_string())? {
            Passed::Begin { seed, example } => {
                fastrand::seed(seed);
                *world = Some(Self::new(&example.unwrap_or_default())?);
                Vec::new()
            }
            Passed::Calls(calls) => calls,
        };
        let world = world.as_mut().ok_or("the first turn has to begin")?;
        calls.into_iter().for_each(|call| world.call(call));
        let mut parts = Vec::new();
        let is_busy = world.go_on(&mut parts);
        Ok((parts, is_busy))
    }

    fn new(example: &str) -> Result<Self, String> {
        let settings = Settings::read(|name| {
            VARIABLES.into_iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.to_owned())
        });
        let settings = settings.map_err(|error| error.to_string())?;
        let table = Turns::default();
        let example = match example {
            "folders" => Some(Example::Folders),
            "locations" => Some(Example::Locations),
            "orders" => Some(Example::Orders),
            "audits" => Some(Example::Audits),
            _ => None,
        };
        if let Some(example) = example {
            let filled = race::at_once(example.fill(&table.memory, &settings.schema, None));
            filled.map_err(|error| error.to_string())?;
        }
        let mut stream = Stream::at_once(table.clone(), Fanout { settings: settings.clone(), ..Fanout::default() });
        // The example is there with its rows.
        stream.settle();
        let stream = stream.in_time();
        let router = router(&table, &settings, &stream, example)?;
        Ok(Self { table, stream, router, calls: BTreeMap::new() })
    }

    fn call(&mut self, Call { id, method, path, headers, body }: Call) {
        if method == CLOSE {
            self.calls.remove(&id);
            return;
        }
        let mut request = Request::builder().method(method.as_str()).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer: BoxFuture<'static, _> = match request.body(Body::from(body.unwrap_or_default())) {
            Ok(mut request) => {
                request.extensions_mut().insert(Deadline::at(now() + CALL_TIME_MAX));
                Box::pin(self.router.clone().oneshot(request))
            }
            Err(error) => {
                let problem = Problem::new(Kind::BadParameter, error.to_string());
                Box::pin(std::future::ready(Ok(problem.into_response())))
            }
        };
        self.calls.insert(id, Running::Answer(answer));
    }

    /// Goes on with all, until nothing more can be done now. Returns true if there is more to do at once.
    fn go_on(&mut self, parts: &mut Vec<Value>) -> bool {
        for _ in 0..STEPS_MAX {
            let before = (self.table.requests.load(Ordering::Relaxed), parts.len());
            self.calls.retain(|id, call| call.go_on(*id, parts));
            self.stream.step();
            if (self.table.requests.load(Ordering::Relaxed), parts.len()) == before {
                return false;
            }
        }
        true
    }
}

impl Running {
    /// Goes on with a call, and adds the parts of its answer. Returns false at its end.
    fn go_on(&mut self, id: u64, parts: &mut Vec<Value>) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        if let Self::Answer(answer) = self {
            let Poll::Ready(Ok(response)) = answer.as_mut().poll(context) else { return true };
            let (head, body) = response.into_parts();
            let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers: Vec<_> =
                head.headers.iter().map(|(name, value)| json!([name.as_str(), text(value)])).collect();
            parts.push(json!({"id": id, "status": head.status.as_u16(), "headers": headers}));
            *self = Self::Body(body);
        }
        let Self::Body(body) = self else { return true };
        loop {
            match axum::body::HttpBody::poll_frame(Pin::new(body), context) {
                Poll::Pending => return true,
                Poll::Ready(Some(Ok(frame))) => {
                    let data = frame.into_data().unwrap_or_default();
                    parts.push(json!({"id": id, "data": String::from_utf8_lossy(&data)}));
                }
                Poll::Ready(_) => {
                    parts.push(json!({"id": id, "end": true}));
                    return false;
                }
            }
        }
    }
}

/// Makes the router of the API's calls on a table.
fn api(table: &Turns, settings: &Settings) -> Result<Router, String> {
    let tables = || {
        let table = table.clone();
        move |_: Deadline| table.clone()
    };
    let cursors = CursorKey::new(CURSOR_KEY.as_bytes()).map_err(|error| error.to_string())?;
    let (waits, feed, source) = (Waits::system(), KnownFeed::default(), source());
    let reading = reads::Shared { settings: settings.clone(), cursors, waits: waits.clone(), feed };
    let settings = settings.clone();
    let writing = writes::Shared { settings, revisions_mutable: true, trash: true, waits, source };
    let router = reads::router(reads::ApiState::new(tables(), reading))
        .merge(writes::router(writes::ApiState::new(tables(), writing)));
    Ok(router.layer(Extension(Known(Ok(Caller::named("you", None))))))
}

fn router(table: &Turns, settings: &Settings, stream: &Stream, example: Option<Example>) -> Result<Router, String> {
    let of_table = table.clone();
    let explorer = Explorer {
        tables: Arc::new(move |_| of_table.clone()),
        settings: settings.clone(),
        tenant: None,
        place: TableAddress { table: "playground".to_owned(), ..TableAddress::default() },
        rights: Rights { writes: true, trash: true },
        live: Some(stream.feed.clone()),
        trials: Some(Arc::clone(&stream.trials)),
        example: example.map(Example::telling),
        is_playground: true,
    };
    let own = race::router().merge(share::router(table.clone(), settings.schema.clone()));
    let not_found = async |request: Request| {
        Problem::new(Kind::NotFound, format!("no call has the path {}", request.uri().path())).into_response()
    };
    Ok(api(table, settings)?.nest("/playground", own).merge(explorer.calls()).fallback(not_found))
}
