//! The stream handler with another bound for its requests in flight, `REQUESTS_IN_FLIGHT_MAX`. The deployed function's
//! is a constant.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::time::SystemTime;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use sapwood_core::fanout::Limits;
use sapwood_dynamodb::{Connection, DynamoTable};
use sapwood_engine::fanout::Fanout;
use sapwood_handlers::stream::{Config, Handler};
use sapwood_plain_http::plain_http;
use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let variable = |name: &str| std::env::var(name).ok();
    let requests_in_flight_max = variable("REQUESTS_IN_FLIGHT_MAX").unwrap().parse().unwrap();
    let config = Config::read(variable)?;
    let table =
        DynamoTable::new(&Connection::read(variable)?, plain_http(), config.table_name, config.settings.schema.clone());
    table.connect().await;
    let limits = Limits { requests_in_flight_max, ..Limits::default() };
    let handler = &Handler::new(Fanout { settings: config.settings, limits, ..Fanout::default() }, table);
    lambda_runtime::run(service_fn(|event: LambdaEvent<Box<RawValue>>| async move {
        let left = event.context.deadline().duration_since(SystemTime::now()).unwrap();
        let payload = Box::<str>::from(event.payload);
        handler.handle(payload, &event.context.request_id, left).await.map_err(Error::from)
    }))
    .await
}
