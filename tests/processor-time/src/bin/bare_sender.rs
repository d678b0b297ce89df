//! Sends requests with DynamoDB's SDK and does nothing else: what the handler's processor time is measured against
//! (docs/internals/performance.md).
//!
//! It is a function. The first event is a list of requests, each an operation and its body, which become the SDK's own
//! types. The next event has them sent, as many at a time as the handler sends.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Mutex;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, KeysAndAttributes, PutRequest, ReturnConsumedCapacity, WriteRequest,
};
use futures::StreamExt as _;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use sapwood_core::fanout::Limits;
use serde_dynamo::Item;
use serde_json::{Value, json};

/// A request that is ready to be sent.
type Request = Pin<Box<dyn Future<Output = ()> + Send>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let variable = |name: &str| std::env::var(name).unwrap();
    let (id, secret) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"));
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(variable("AWS_ENDPOINT_URL_DYNAMODB"))
        .region(Region::new(variable("AWS_REGION")))
        .credentials_provider(Credentials::new(id, secret, None, None, "environment"))
        .retry_config(RetryConfig::disabled());
    let client = &Client::from_conf(config.build());
    let in_flight = Limits::default().requests_in_flight_max;
    let ready = &Mutex::new(Vec::<Request>::new());
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        let Value::Array(requests) = event.payload else {
            let all = std::mem::take(&mut *ready.lock().unwrap());
            futures::stream::iter(all).buffer_unordered(in_flight).collect::<Vec<()>>().await;
            return Ok::<_, Error>(json!({}));
        };
        let all = requests.iter().map(|request| made(client, request[0].as_str().unwrap(), &request[1]));
        *ready.lock().unwrap() = all.collect();
        Ok(json!({}))
    }))
    .await
}

fn item(value: &Value) -> HashMap<String, AttributeValue> {
    serde_json::from_value::<Item>(value.clone()).unwrap().into()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn names(request: &Value) -> Option<HashMap<String, String>> {
    let names = request["ExpressionAttributeNames"].as_object()?;
    Some(names.iter().map(|(name, value)| (name.clone(), text(value).unwrap())).collect())
}

fn values(request: &Value) -> Option<HashMap<String, AttributeValue>> {
    request["ExpressionAttributeValues"].is_object().then(|| item(&request["ExpressionAttributeValues"]))
}

/// Makes a request of its body. What it takes to make it isn't measured.
fn made(client: &Client, operation: &str, request: &Value) -> Request {
    let total = ReturnConsumedCapacity::Total;
    match operation {
        "batchgetitem" => {
            let tables = request["RequestItems"].as_object().unwrap().iter();
            let tables = tables.map(|(table, asked)| {
                let keys = asked["Keys"].as_array().unwrap().iter().map(item).collect();
                let asked = KeysAndAttributes::builder()
                    .set_keys(Some(keys))
                    .set_consistent_read(asked["ConsistentRead"].as_bool())
                    .set_projection_expression(text(&asked["ProjectionExpression"]))
                    .set_expression_attribute_names(names(asked));
                (table.clone(), asked.build().unwrap())
            });
            let sent =
                client.batch_get_item().set_request_items(Some(tables.collect())).return_consumed_capacity(total);
            Box::pin(async { drop(sent.send().await.unwrap()) })
        }
        "batchwriteitem" => {
            let tables = request["RequestItems"].as_object().unwrap().iter();
            let tables = tables.map(|(table, writes)| {
                let writes = writes.as_array().unwrap().iter().map(|write| match write.get("PutRequest") {
                    Some(put) => {
                        let put = PutRequest::builder().set_item(Some(item(&put["Item"]))).build().unwrap();
                        WriteRequest::builder().put_request(put).build()
                    }
                    None => {
                        let key = item(&write["DeleteRequest"]["Key"]);
                        let delete = DeleteRequest::builder().set_key(Some(key)).build().unwrap();
                        WriteRequest::builder().delete_request(delete).build()
                    }
                });
                (table.clone(), writes.collect())
            });
            let sent =
                client.batch_write_item().set_request_items(Some(tables.collect())).return_consumed_capacity(total);
            Box::pin(async { drop(sent.send().await.unwrap()) })
        }
        "putitem" => {
            let sent = client
                .put_item()
                .set_table_name(text(&request["TableName"]))
                .set_item(Some(item(&request["Item"])))
                .set_condition_expression(text(&request["ConditionExpression"]))
                .set_expression_attribute_names(names(request))
                .set_expression_attribute_values(values(request))
                .return_consumed_capacity(total);
            Box::pin(async { drop(sent.send().await.unwrap()) })
        }
        "query" => {
            let sent = client
                .query()
                .set_table_name(text(&request["TableName"]))
                .set_consistent_read(request["ConsistentRead"].as_bool())
                .set_key_condition_expression(text(&request["KeyConditionExpression"]))
                .set_projection_expression(text(&request["ProjectionExpression"]))
                .set_expression_attribute_names(names(request))
                .set_expression_attribute_values(values(request))
                .set_limit(request["Limit"].as_i64().map(|limit| i32::try_from(limit).unwrap()))
                .return_consumed_capacity(total);
            Box::pin(async { drop(sent.send().await.unwrap()) })
        }
        other => panic!("the bare sender has no {other}"),
    }
}
