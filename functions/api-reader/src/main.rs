//! The Lambda function that reads: it reads the environment, makes one client for the life of the process, and waits
//! for requests.

use std::error::Error;
use std::process::ExitCode;

use sapwood_api::feed::KnownFeed;
use sapwood_api::reads::{ApiState, ReaderState, router};
use sapwood_api::wait::Waits;
use sapwood_dynamodb::{Connection, DynamoTable};
use sapwood_http::config::ReaderConfig;
use sapwood_http::serve;
use sapwood_https::https_client;
use sapwood_telemetry::log;

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
async fn main() -> ExitCode {
    log::init(|name| std::env::var(name).ok());
    log::ended(run().await)
}

#[allow(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
async fn run() -> Result<(), Box<dyn Error + Send + Sync>> {
    let variable = |name: &str| std::env::var(name).ok();
    let ReaderConfig { table_name, settings, cursors, options } = ReaderConfig::read(variable)?;
    let table = DynamoTable::new(&Connection::read(variable)?, https_client(), table_name, settings.schema.clone());
    table.connect().await;
    let own = ReaderState { cursors, feed: KnownFeed::default() };
    let state = ApiState::new(move |deadline| table.until(deadline), settings, Waits::system(), own);
    serve::run_lambda(router(state), options).await
}
