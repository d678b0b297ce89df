//! A client that isn't ours: the AWS SDK as any user has it.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{AttributeValue as Sdk, DeleteRequest, PutRequest, WriteRequest};
use sapwood_core::model::sort_sets;
use serde_dynamo::AttributeValue;

use crate::oracle::{Contents, Item};

/// Makes a client of the DynamoDB at `url`.
#[must_use]
pub fn client(url: &str) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(url)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "test"))
        .build();
    Client::from_conf(config)
}

/// Makes a text attribute.
#[must_use]
pub fn s(text: impl Into<String>) -> Sdk {
    Sdk::S(text.into())
}

/// Makes an item of these attributes.
#[must_use]
pub fn item<const N: usize>(attributes: [(&str, Sdk); N]) -> HashMap<String, Sdk> {
    attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Makes a node's base record with an attribute `name`.
#[must_use]
pub fn node(id: &str, parent: Option<&str>, name: &str) -> HashMap<String, Sdk> {
    let mut item = item([("PK", s(id)), ("SK", s("NODE")), ("name", s(name))]);
    item.extend(parent.map(|parent| ("parent".to_owned(), s(parent))));
    item
}

/// Puts an item.
pub async fn put(client: &Client, table: &str, item: HashMap<String, Sdk>) {
    client.put_item().table_name(table).set_item(Some(item)).send().await.unwrap();
}

/// Puts items, 25 a request.
pub async fn put_all(client: &Client, table: &str, items: Vec<HashMap<String, Sdk>>) {
    for chunk in items.chunks(25) {
        let puts = chunk.iter().map(|item| {
            let put = PutRequest::builder().set_item(Some(item.clone())).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        });
        write(client, table, puts.collect()).await;
    }
}

/// Deletes items, 25 a request.
pub async fn delete_all(client: &Client, table: &str, keys: Vec<(String, String)>) {
    for chunk in keys.chunks(25) {
        let deletes = chunk.iter().map(|(pk, sk)| {
            let key = item([("PK", s(pk)), ("SK", s(sk))]);
            let delete = DeleteRequest::builder().set_key(Some(key)).build().unwrap();
            WriteRequest::builder().delete_request(delete).build()
        });
        write(client, table, deletes.collect()).await;
    }
}

async fn write(client: &Client, table: &str, mut requests: Vec<WriteRequest>) {
    while !requests.is_empty() {
        let output = client.batch_write_item().request_items(table, requests).send().await.unwrap();
        requests = output.unprocessed_items.unwrap_or_default().remove(table).unwrap_or_default();
    }
}

/// Reads the whole table, strongly consistent.
pub async fn contents(client: &Client, table: &str, keys: [&str; 2]) -> Contents {
    let mut contents = Contents::new();
    let mut start = None;
    loop {
        let scan = client.scan().table_name(table).consistent_read(true).set_exclusive_start_key(start);
        let output = scan.send().await.unwrap();
        for found in output.items.unwrap_or_default() {
            let item: Item = found
                .into_iter()
                .map(|(name, value)| {
                    let mut value = AttributeValue::from(value);
                    sort_sets(&mut value);
                    (name, value)
                })
                .collect();
            let key = keys.map(|name| match item.get(name) {
                Some(AttributeValue::S(text)) => text.clone(),
                other => panic!("a key attribute {name} is {other:?}"),
            });
            let [pk, sk] = key;
            contents.insert((pk, sk), item);
        }
        start = output.last_evaluated_key;
        if start.is_none() {
            return contents;
        }
    }
}
