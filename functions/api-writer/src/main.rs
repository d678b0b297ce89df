//! The Lambda function: reads the environment, makes one client for the life of the process, and waits for requests.

use std::error::Error;
use std::process::ExitCode;

use api_writer::{Config, Shared, Source, State, router};
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
    let Config { settings, revisions_mutable, trash, options, .. } = config;
    let source = Source::system();
    let shared = Shared { settings, revisions_mutable, trash, waits: source.waits(), source };
    let state = State::new(move |deadline| table.until(deadline), shared);
    serve::run_lambda(router(state), options).await
}
