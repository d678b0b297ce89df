//! The Lambda function. It reads the environment, makes one auditor for the life of the process, and makes a run for
//! each event.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use sapwood_dynamodb::{Connection, DynamoTable};
use sapwood_handlers::audit::{Config, Handler, answer};
use sapwood_https::https_client;
use sapwood_telemetry::log::{self, Invocation};
use serde_json::Value;

/// The time of an invocation whose deadline has already passed: the function's `Timeout` in template.yaml.
const DEFAULT_TIME: Duration = Duration::from_secs(300);

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
        &config.table_name,
        config.settings.schema.clone(),
    );
    let handler = &Handler::new(config, table);
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        // If the deadline has already passed, the event is cargo lambda's: it sends a deadline in the year 1970.
        let left = event.context.deadline().duration_since(SystemTime::now()).unwrap_or(DEFAULT_TIME);
        let Context { request_id, invoked_function_arn: arn, xray_trace_id: trace, .. } = &event.context;
        // The schedule's events have ids.
        let correlation_id = event.payload.get("id").and_then(Value::as_str);
        log::began(&Invocation { request_id, arn, correlation_id, trace: trace.as_deref() });
        handler.run(left).await.map(|report| answer(&report)).map_err(Error::from)
    }))
    .await
}
