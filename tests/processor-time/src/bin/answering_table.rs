//! A table in memory that answers DynamoDB's requests at once, or after a time that it is told. Every condition holds,
//! and updates change nothing, so it is no DynamoDB: it is there so that the processor time of who asks can be
//! measured.
//!
//! It prints its address. Besides DynamoDB's operations it knows `Keep` (remember the items by a name), `Reset` (go
//! back to the items of that name), `Delay` (answer after so many microseconds), `Record` (`true`: write down the
//! requests) and `Recorded` (return and forget what was written down).
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// The items as JSON. Most are never read again, so they are taken apart only then.
type Items = BTreeMap<(String, String), Arc<RawValue>>;

/// A BatchWriteItem. Whatever the table spends on it, the handler would wait for.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchWrite<'a> {
    #[serde(borrow)]
    request_items: BTreeMap<String, Vec<Write<'a>>>,
}

#[derive(Deserialize)]
enum Write<'a> {
    #[serde(borrow)]
    PutRequest(Put<'a>),
    DeleteRequest(Delete),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Put<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Delete {
    key: Keys,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Keys {
    pk: Text,
    sk: Text,
}

#[derive(Deserialize)]
struct Text {
    #[serde(rename = "S")]
    text: String,
}

#[derive(Default)]
struct Table {
    items: Items,
    kept: BTreeMap<String, Items>,
    delay: Duration,
    is_recording: bool,
    recorded: Vec<(String, Box<RawValue>)>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let table = Rc::new(RefCell::new(Table::default()));
    let tasks = tokio::task::LocalSet::new();
    tasks
        .run_until(async {
            while let Ok((stream, _)) = listener.accept().await {
                // A connection that breaks is its client's affair.
                tokio::task::spawn_local(serve(stream, Rc::clone(&table)));
            }
        })
        .await;
}

/// Serves a connection, request by request, until the client closes it.
async fn serve(mut stream: TcpStream, table: Rc<RefCell<Table>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_lowercase();
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(':'));
            lines.filter(|(found, _)| *found == name).map(|(_, value)| value.trim().to_owned()).next()
        };
        let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
        let target = header("x-amz-target").unwrap_or_default();
        while buffer.len() < end + length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let came = Instant::now();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let (answer, delay) = {
            let mut table = table.borrow_mut();
            (table.answer(operation, &buffer[end..end + length]), table.delay)
        };
        buffer.drain(..end + length);
        if !delay.is_zero() {
            tokio::time::sleep_until(came + delay).await;
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\
             x-amzn-RequestId: 5TVJ2O2TF1HQQTNSV5MEJ8A8NBVV4KQNSO5AEMVJF66Q9ASUAAJG\r\n\r\n",
            answer.len()
        );
        stream.write_all(&[head.as_bytes(), answer.as_bytes()].concat()).await?;
    }
}

impl Table {
    fn answer(&mut self, operation: &str, body: &[u8]) -> String {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let is_of_dynamodb = !matches!(operation, "keep" | "reset" | "delay" | "record" | "recorded");
        if self.is_recording && is_of_dynamodb {
            let body = String::from_utf8(body.to_vec()).unwrap();
            self.recorded.push((operation.to_owned(), RawValue::from_string(body).unwrap()));
        }
        if operation == "batchwriteitem" {
            return self.batch_write(&serde_json::from_slice(body).unwrap()).to_string();
        }
        let request: Value = serde_json::from_slice(body).unwrap();
        match operation {
            "keep" => drop(self.kept.insert(text(&request), self.items.clone())),
            "reset" => self.items = self.kept[request.as_str().unwrap()].clone(),
            "delay" => self.delay = Duration::from_micros(request.as_u64().unwrap()),
            "record" => self.is_recording = request.as_bool().unwrap(),
            "recorded" => return serde_json::to_string(&std::mem::take(&mut self.recorded)).unwrap(),
            "batchgetitem" => return self.batch_get(&request).to_string(),
            "query" => return self.query(&request).to_string(),
            "putitem" => {
                self.put(&RawValue::from_string(request["Item"].to_string()).unwrap());
                return json!({"ConsumedCapacity": capacity(&request, 1)}).to_string();
            }
            "deleteitem" => {
                self.items.remove(&key(&request["Key"]));
                return json!({"ConsumedCapacity": capacity(&request, 1)}).to_string();
            }
            "updateitem" => return json!({"ConsumedCapacity": capacity(&request, 1)}).to_string(),
            "transactwriteitems" => return json!({}).to_string(),
            "batchexecutestatement" => {
                let count = request["Statements"].as_array().unwrap().len();
                let responses = vec![json!({"TableName": "sapwood"}); count];
                let capacity = json!([{"TableName": "sapwood", "CapacityUnits": count}]);
                return json!({"Responses": responses, "ConsumedCapacity": capacity}).to_string();
            }
            other => panic!("the table has no {other}"),
        }
        "{}".to_owned()
    }

    fn put(&mut self, item: &RawValue) {
        let Keys { pk, sk } = serde_json::from_str(item.get()).unwrap();
        self.items.insert((pk.text, sk.text), Arc::from(item.to_owned()));
    }

    fn batch_get(&self, request: &Value) -> Value {
        let tables = request["RequestItems"].as_object().unwrap();
        let responses = tables.iter().map(|(table, asked)| {
            let keys = asked["Keys"].as_array().unwrap();
            let found = keys.iter().filter_map(|wanted| self.items.get(&key(wanted)));
            (table.clone(), found.map(|item| projected(item, asked)).collect::<Value>())
        });
        let capacity: Vec<_> = tables.keys().map(|table| json!({"TableName": table, "CapacityUnits": 100.0})).collect();
        json!({"Responses": responses.collect::<Map<_, _>>(), "UnprocessedKeys": {}, "ConsumedCapacity": capacity})
    }

    fn batch_write(&mut self, request: &BatchWrite<'_>) -> Value {
        let mut capacity = Vec::new();
        for (table, writes) in &request.request_items {
            for write in writes {
                match write {
                    Write::PutRequest(put) => self.put(put.item),
                    Write::DeleteRequest(Delete { key: Keys { pk, sk } }) => {
                        self.items.remove(&(pk.text.clone(), sk.text.clone()));
                    }
                }
            }
            capacity.push(json!({"TableName": table, "CapacityUnits": writes.len()}));
        }
        json!({"UnprocessedItems": {}, "ConsumedCapacity": capacity})
    }

    /// Answers `#p = :pk AND #s BETWEEN :from AND :to`.
    fn query(&self, request: &Value) -> Value {
        let condition = request["KeyConditionExpression"].as_str().unwrap();
        let values = condition.split(' ').filter(|word| word.starts_with(':'));
        let values: Vec<_> =
            values.map(|name| request["ExpressionAttributeValues"][name]["S"].as_str().unwrap().to_owned()).collect();
        let [pk, from, to] = values.try_into().unwrap();
        let limit = request["Limit"].as_u64().map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
        let found = self.items.range((pk.clone(), from)..=(pk, to)).take(limit);
        let found: Vec<_> = found.map(|(_, item)| projected(item, request)).collect();
        json!({"Count": found.len(), "Items": found, "ConsumedCapacity": capacity(request, 1)})
    }
}

fn capacity(request: &Value, units: u32) -> Value {
    json!({"TableName": request["TableName"], "CapacityUnits": units})
}

fn key(item: &Value) -> (String, String) {
    let [pk, sk] = ["PK", "SK"].map(|name| item[name]["S"].as_str().unwrap().to_owned());
    (pk, sk)
}

/// Returns the attributes that a request asks for.
fn projected(item: &RawValue, request: &Value) -> Value {
    let item: Map<String, Value> = serde_json::from_str(item.get()).unwrap();
    let Some(projection) = request["ProjectionExpression"].as_str() else { return Value::Object(item) };
    let names = projection.split(", ").map(|name| request["ExpressionAttributeNames"][name].as_str().unwrap());
    names.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone()))).collect()
}
