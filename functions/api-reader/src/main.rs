//! The Lambda function: reads the environment, makes one client for the life of the process, and waits for requests.

use std::error::Error;
use std::process::ExitCode;

use api_reader::{Config, Shared, State, router, waits};
use sapwood_dynamodb::{Connection, DynamoTable};
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
    let config = Config::read(variable)?;
    let table = DynamoTable::new(
        &Connection::read(variable)?,
        https_client(),
        config.table_name,
        config.settings.schema.clone(),
    );
    table.connect().await;
    let Config { settings, cursors, options, .. } = config;
    let state = State::new(move |deadline| table.until(deadline), Shared { settings, cursors, waits: waits() });
    serve::run_lambda(router(state), options).await
}
