//! A function that does nothing: what the others' start-up is measured against (docs/internals/performance.md).

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(|_: LambdaEvent<Value>| async { Ok::<_, Error>(json!({})) })).await
}
