//! The whole stack in the test's process: the engine, the stream handler behind its mapping, and both HTTP functions.

use std::collections::BTreeMap;

use sapwood_api::caller::Claims;
use sapwood_api::feed::KnownFeed;
use sapwood_api::wait::Waits;
use sapwood_api::{reads, writes};
use sapwood_dynamodb::DynamoTable;
use sapwood_http::config::{ReaderConfig, WriterConfig};
use sapwood_local::template::Template;

use crate::api::{Answered, Api, Asked};
use crate::running::{Running, TABLE, TEMPLATE};

/// The key of the API's cursors.
pub const CURSOR_KEY: &str = "a key for tests, of no secrecy";

/// How requests reach the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Requests go over a local port.
    Http,
    /// Requests are events of API Gateway.
    Gateway,
}

/// A running stack with its API.
pub struct Serving {
    /// The engine, and the stream handler.
    pub running: Running,
    /// A client of the API.
    pub api: Api,
}

impl Serving {
    /// Starts a stack with these parameters of the template. Its callers have these claims.
    pub async fn start(way: Way, parameters: &[(&str, &str)], claims: &[(&str, &str)]) -> Self {
        let running = Running::start(parameters).await;
        let url = running.url();
        let api = api([&url, &url], way, parameters, claims).await;
        Self { running, api }
    }

    /// Starts the API of a running stack. Its two functions reach the table at these URLs, the reader's first.
    pub async fn through(running: Running, urls: [&str; 2], parameters: &[(&str, &str)]) -> Self {
        let api = api(urls, Way::Http, parameters, &[]).await;
        Self { running, api }
    }

    /// Starts another API of the same table, for callers with these claims.
    pub async fn for_others(&self, way: Way, parameters: &[(&str, &str)], claims: &[(&str, &str)]) -> Api {
        let url = self.running.url();
        api([&url, &url], way, parameters, claims).await
    }

    /// Sends a request, and again while the answer is that it may be sent again: on a busy machine a function can run
    /// out of time, or of attempts. The request has a key, or changes nothing.
    pub async fn send_patiently(&self, asked: &Asked) -> Answered {
        loop {
            let answered = self.send(asked).await;
            let is_behind = || answered.json()["type"] == "urn:sapwood:problem:not-up-to-date";
            let is_early = answered.status == 409 && (answered.header("retry-after").is_some() || is_behind());
            if answered.status != 503 && !is_early {
                return answered;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    /// Waits for what a request has begun, if its answer says that it goes on. Returns the last answer.
    pub async fn ended(&self, answered: Answered) -> Answered {
        let place = answered.header("location").map(str::to_owned);
        let mut last = answered;
        while let Some(place) = place.as_ref().filter(|_| last.status == 202 || is_under_way(&last.json())) {
            last = self.send(&Asked::new("GET", place)).await;
        }
        last
    }

    /// Sends a request.
    pub async fn send(&self, asked: &Asked) -> Answered {
        self.api.send(asked).await
    }
}

/// True for an operation that runs, and for rows that are behind.
fn is_under_way(state: &serde_json::Value) -> bool {
    state["status"] == "running"
        || [&state["up_to_date"], &state["below"]["up_to_date"]].iter().any(|one| **one == false)
}

/// Starts the two functions as the template configures them, on the engine at these URLs, the reader's first.
async fn api(urls: [&str; 2], way: Way, parameters: &[(&str, &str)], claims: &[(&str, &str)]) -> Api {
    let parameters: BTreeMap<String, String> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let template = Template::parse_with(TEMPLATE, &parameters).unwrap();
    let given = BTreeMap::from([("CURSOR_KEY".to_owned(), CURSOR_KEY.to_owned())]);
    let [of_reader, of_writer] =
        ["ApiReader", "ApiWriter"].map(|function| template.environment_of(function, TABLE, &given).unwrap());
    let reader = ReaderConfig::read(|name| of_reader.get(name).cloned()).unwrap();
    let writer = WriterConfig::read(|name| of_writer.get(name).cloned()).unwrap();
    let options = reader.options.clone();
    let [table, of_writer] = urls.map(|url| DynamoTable::local(url, TABLE, reader.settings.schema.clone()));
    let ReaderConfig { settings, cursors, .. } = reader;
    let own = reads::ReaderState { cursors, feed: KnownFeed::default() };
    let tables = move |deadline| table.until(deadline);
    let reader = reads::router(reads::ApiState::new(tables, settings, Waits::system(), own));
    let WriterConfig { settings, revisions_mutable, trash, .. } = writer;
    let own = writes::WriterState { revisions_mutable, trash, source: writes::Source::system() };
    let tables = move |deadline| of_writer.until(deadline);
    let writer = writes::router(writes::ApiState::new(tables, settings, Waits::system(), own));
    let claims: Claims = claims.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    match way {
        Way::Http => Api::http(reader, writer, options, claims).await,
        Way::Gateway => Api::gateway(reader, writer, &options, claims),
    }
}
