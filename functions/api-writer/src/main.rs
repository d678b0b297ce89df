//! The Lambda function that writes base records: it reads the environment, makes one client for the life of the
//! process, and waits for requests.

use std::error::Error;
use std::process::ExitCode;

use sapwood_api::wait::Waits;
use sapwood_api::writes::{ApiState, Source, WriterState, router};
use sapwood_dynamodb::{Connection, DynamoTable};
use sapwood_http::config::WriterConfig;
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
    let WriterConfig { table_name, settings, revisions_mutable, trash, options } = WriterConfig::read(variable)?;
    let table = DynamoTable::new(&Connection::read(variable)?, https_client(), table_name, settings.schema.clone());
    table.connect().await;
    let own = WriterState { revisions_mutable, trash, source: Source::system() };
    let state = ApiState::new(move |deadline| table.until(deadline), settings, Waits::system(), own);
    serve::run_lambda(router(state), options).await
}
