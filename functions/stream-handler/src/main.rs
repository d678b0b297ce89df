//! The Lambda function: reads the environment, makes one client for the life of the process, and waits for events.

use std::time::SystemTime;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use sapwood::fanout::Fanout;
use sapwood::table::DynamoTable;
use serde_json::value::RawValue;
use stream_handler::{Config, Handler};
use tracing::level_filters::LevelFilter;

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
async fn main() -> Result<(), Error> {
    // Lambda reads `timestamp` and `level` of each line; without the time it takes every line as INFO.
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().and_then(|level| level.parse().ok());
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_ansi(false)
        .with_max_level(level.unwrap_or(LevelFilter::INFO))
        .init();
    let config =
        Config::read(|name| std::env::var(name).ok()).inspect_err(|error| tracing::error!(%error, "settings"))?;
    let aws = aws_config::load_from_env().await;
    let table = DynamoTable::new(&aws, config.table_name, config.settings.schema.clone());
    let handler = &Handler::new(Fanout { settings: config.settings, ..Fanout::default() }, table);
    lambda_runtime::run(service_fn(|event: LambdaEvent<Box<RawValue>>| async move {
        let left = event.context.deadline().duration_since(SystemTime::now()).unwrap_or_default();
        handler.handle(event.payload.get(), &event.context.request_id, left).await.map_err(Error::from)
    }))
    .await
}
