//! The Lambda function. It reads the environment, makes one handler for the life of the process, and handles events.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use sapwood_dynamodb::{Connection, DynamoTable};
use sapwood_engine::fanout::Fanout;
use sapwood_handlers::stream::{Config, Handler};
use sapwood_https::https_client;
use sapwood_telemetry::log::{self, Invocation};
use serde_json::value::RawValue;

/// The time of an invocation whose deadline has already passed: the function's `Timeout` in template.yaml.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
async fn main() -> ExitCode {
    log::init(|name| std::env::var(name).ok());
    log::ended(run().await)
}

#[allow(clippy::disallowed_methods, reason = "the environment is read here and nowhere else; an invocation has an end")]
async fn run() -> Result<(), Error> {
    let variable = |name: &str| std::env::var(name).ok();
    let config = Config::read(variable)?;
    let table = DynamoTable::new(
        &Connection::read(variable)?,
        https_client(),
        config.table_name,
        config.settings.schema.clone(),
    );
    table.connect().await;
    let fanout = Fanout { settings: config.settings, ..Fanout::default() };
    let handler = &Handler::new(fanout, table).measured(config.metrics).announcing();
    lambda_runtime::run(service_fn(|event: LambdaEvent<Box<RawValue>>| async move {
        // If the deadline has already passed, the event is cargo lambda's: it sends a deadline in the year 1970.
        let left = event.context.deadline().duration_since(SystemTime::now()).unwrap_or(DEFAULT_TIME);
        let Context { request_id, invoked_function_arn: arn, xray_trace_id: trace, .. } = &event.context;
        log::began(&Invocation { request_id, arn, correlation_id: None, trace: trace.as_deref() });
        let payload = Box::<str>::from(event.payload);
        handler.handle(payload, request_id, left).await.map_err(Error::from)
    }))
    .await
}
