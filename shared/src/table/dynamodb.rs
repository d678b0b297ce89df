//! DynamoDB itself: the only file of this crate that names its SDK.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeValue as SdkValue, ConsumedCapacity, DeleteRequest, KeysAndAttributes, PutRequest, ReturnConsumedCapacity,
    WriteRequest,
};

use super::{Condition, Deadline, ErrorKind, Found, Page, Query, Reply, Table, TableError, Write};
use crate::keys::{ItemKey, Schema};
use crate::model::{AttributeValue, Item, key_of};

/// Longest that one request may take. Below it lies the time that an invocation has left.
const CALL_TIME_MAX: Duration = Duration::from_secs(5);

/// A table of DynamoDB, over its SDK. Cheap to clone: clones share one client.
#[derive(Clone, Debug)]
pub struct DynamoTable {
    client: Client,
    name: String,
    schema: Schema,
    deadline: Option<Deadline>,
}

impl DynamoTable {
    /// The table of this name. The SDK's own retries are off: the fan-out tries again itself, in the time it has, and
    /// counts it.
    #[must_use]
    pub fn new(config: &aws_types::SdkConfig, name: impl Into<String>, schema: Schema) -> Self {
        Self::of(aws_sdk_dynamodb::config::Builder::from(config), name.into(), schema)
    }

    /// A table on an endpoint that checks no credentials: a `DynamoDB` on one machine.
    #[must_use]
    pub fn local(url: &str, name: impl Into<String>, schema: Schema) -> Self {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(url)
            .region(Region::new("local"))
            .credentials_provider(Credentials::new("local", "local", None, None, "a local endpoint"));
        Self::of(config, name.into(), schema)
    }

    fn of(config: aws_sdk_dynamodb::config::Builder, name: String, schema: Schema) -> Self {
        let client = Client::from_conf(config.retry_config(RetryConfig::disabled()).build());
        Self { client, name, schema, deadline: None }
    }

    /// The same table for one invocation: no request outlives the deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    fn key(&self, key: &ItemKey) -> HashMap<String, SdkValue> {
        let names = self.schema.names();
        HashMap::from([
            (names.partition_key.clone(), SdkValue::S(key.pk.clone())),
            (names.sort_key.clone(), SdkValue::S(key.sk.clone())),
        ])
    }

    fn found_key(&self, key: HashMap<String, SdkValue>) -> Option<ItemKey> {
        key_of(&from_sdk(key), &self.schema)
    }

    fn request(&self, write: &Write) -> Result<WriteRequest, TableError> {
        let request = WriteRequest::builder();
        let built = match write {
            Write::Put { item, .. } => {
                PutRequest::builder().set_item(Some(to_sdk(item))).build().map(|put| request.put_request(put))
            }
            Write::Delete(key) => DeleteRequest::builder()
                .set_key(Some(self.key(key)))
                .build()
                .map(|delete| request.delete_request(delete)),
        };
        built.map(|request| request.build()).map_err(|_| give_up("a request can't be built"))
    }

    fn write(&self, request: WriteRequest) -> Option<Write> {
        if let Some(put) = request.put_request {
            let item = from_sdk(put.item);
            return Some(Write::Put { key: key_of(&item, &self.schema)?, item });
        }
        self.found_key(request.delete_request?.key).map(Write::Delete)
    }

    /// Sends a request, within the time there is.
    async fn send<T, E>(
        &self,
        kind: Kind,
        request: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, TableError>
    where
        E: ProvideErrorMetadata,
    {
        let limit = self.deadline.map_or(CALL_TIME_MAX, |deadline| deadline.left().min(CALL_TIME_MAX));
        if limit.is_zero() {
            return Err(TableError::new(ErrorKind::Retry, "no time left"));
        }
        match tokio::time::timeout(limit, request).await {
            Err(_) => Err(TableError::new(ErrorKind::Retry, "no answer in time")),
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(table_error(kind, &error)),
        }
    }

    /// The same for a write with a condition: false where it doesn't hold.
    async fn send_if<T, E>(
        &self,
        request: impl Future<Output = Result<T, SdkError<E>>>,
        capacity: impl Fn(&T) -> Option<&ConsumedCapacity>,
    ) -> Result<Reply<bool>, TableError>
    where
        E: ProvideErrorMetadata,
    {
        let request = async {
            match request.await {
                Ok(output) => Ok(Some(output)),
                Err(SdkError::ServiceError(failed))
                    if failed.err().code() == Some("ConditionalCheckFailedException") =>
                {
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        };
        let output = self.send(Kind::Write, request).await?;
        Ok(Reply {
            value: output.is_some(),
            read_units: 0.0,
            // A failed condition costs as much as the write would, but isn't reported: at least one unit.
            write_units: output.as_ref().map_or(1.0, |output| units(capacity(output))),
        })
    }
}

/// What a request does: a refused read can't be blamed on the item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

fn give_up(message: &str) -> TableError {
    TableError::new(ErrorKind::GiveUp, message)
}

fn table_error<E: ProvideErrorMetadata>(kind: Kind, error: &SdkError<E>) -> TableError {
    let failed = match error {
        SdkError::ServiceError(failed) => failed,
        SdkError::ConstructionFailure(_) => return give_up("a request can't be built: is the region set?"),
        _ => return TableError::new(ErrorKind::Retry, "no connection to DynamoDB"),
    };
    let code = failed.err().code().unwrap_or("an error without a code");
    match code {
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "TransactionConflictException"
        | "TransactionInProgressException"
        | "ReplicatedWriteConflictException"
        | "InternalServerError"
        | "ServiceUnavailable"
        | "RequestTimeout" => TableError::new(ErrorKind::Retry, code),
        _ if failed.raw().status().is_server_error() => TableError::new(ErrorKind::Retry, code),
        // Its message can quote the item.
        "ValidationException" | "ItemCollectionSizeLimitExceededException" if kind == Kind::Write => {
            TableError::new(ErrorKind::Refuse, code)
        }
        _ => give_up(&format!("{code}: {}", failed.err().message().unwrap_or_default())),
    }
}

/// A condition as an expression over `#a`, its attribute, and `:v`, its value.
fn expression(condition: &Condition, partition_key: &str) -> Option<(String, String, Option<AttributeValue>)> {
    let typed = |value: &AttributeValue| if matches!(value, AttributeValue::N(_)) { "N" } else { "S" };
    Some(match condition {
        Condition::Always => return None,
        Condition::Exists => ("attribute_exists(#a)".into(), partition_key.to_owned(), None),
        Condition::Is { name, value: None } => ("attribute_not_exists(#a)".into(), (*name).to_owned(), None),
        Condition::Is { name, value } => ("#a = :v".into(), (*name).to_owned(), value.clone()),
        Condition::Below { name, value } | Condition::AtMost { name, value } => {
            let than = if matches!(condition, Condition::Below { .. }) { "<" } else { "<=" };
            let other = if typed(value) == "N" { "NOT attribute_type(#a, :n)" } else { "NOT attribute_type(#a, :s)" };
            let text = format!("attribute_not_exists(#a) OR {other} OR #a {than} :v");
            (text, (*name).to_owned(), Some(value.clone()))
        }
    })
}

/// The names and values that an expression refers to.
struct Expression {
    text: Option<String>,
    names: Option<HashMap<String, String>>,
    values: Option<HashMap<String, SdkValue>>,
}

impl Expression {
    fn of(condition: &Condition, schema: &Schema) -> Self {
        let Some((text, name, value)) = expression(condition, &schema.names().partition_key) else {
            return Self { text: None, names: None, values: None };
        };
        let mut values = HashMap::new();
        for (placeholder, kind) in [(":n", "N"), (":s", "S")] {
            if text.contains(placeholder) {
                values.insert(placeholder.to_owned(), SdkValue::S(kind.to_owned()));
            }
        }
        values.extend(value.map(|value| (":v".to_owned(), sdk_value(value))));
        Self {
            text: Some(text),
            names: Some(HashMap::from([("#a".to_owned(), name)])),
            values: (!values.is_empty()).then_some(values),
        }
    }
}

fn units(capacity: Option<&ConsumedCapacity>) -> f64 {
    capacity.and_then(ConsumedCapacity::capacity_units).unwrap_or_default()
}

fn sdk_value(value: AttributeValue) -> SdkValue {
    value.into()
}

fn to_sdk(item: &Item) -> HashMap<String, SdkValue> {
    item.iter().map(|(name, value)| (name.clone(), sdk_value(value.clone()))).collect()
}

fn from_sdk(item: HashMap<String, SdkValue>) -> Item {
    item.into_iter().map(|(name, value)| (name, AttributeValue::from(value))).map(sorted).collect()
}

/// With its sets sorted: DynamoDB keeps no order in them, and equal items must compare equal.
fn sorted((name, mut value): (String, AttributeValue)) -> (String, AttributeValue) {
    crate::model::sort_sets(&mut value);
    (name, value)
}

impl Table for DynamoTable {
    async fn get_many(&self, keys: &[ItemKey]) -> Result<Reply<Found>, TableError> {
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(keys.iter().map(|key| self.key(key)).collect()))
            .consistent_read(true)
            .build()
            .map_err(|_| give_up("a request can't be built"))?;
        let request = self
            .client
            .batch_get_item()
            .request_items(&self.name, keys)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
        let items = output.responses.unwrap_or_default().into_values().flatten().map(from_sdk).collect();
        let unprocessed = output.unprocessed_keys.unwrap_or_default().into_values().flat_map(|left| left.keys);
        let unprocessed = unprocessed.filter_map(|key| self.found_key(key)).collect();
        Ok(Reply { value: Found { items, unprocessed }, read_units, write_units: 0.0 })
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        let requests: Vec<WriteRequest> = writes.iter().map(|write| self.request(write)).collect::<Result<_, _>>()?;
        let request = self
            .client
            .batch_write_item()
            .request_items(&self.name, requests)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let output = self.send(Kind::Write, request.send()).await?;
        let write_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
        let left = output.unprocessed_items.unwrap_or_default().into_values().flatten();
        Ok(Reply { value: left.filter_map(|request| self.write(request)).collect(), read_units: 0.0, write_units })
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let Expression { text, names, values } = Expression::of(condition, &self.schema);
        let request = self
            .client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(to_sdk(item)))
            .set_condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let Expression { text, names, values } = Expression::of(condition, &self.schema);
        let request = self
            .client
            .delete_item()
            .table_name(&self.name)
            .set_key(Some(self.key(key)))
            .set_condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn set(
        &self,
        key: &ItemKey,
        attribute: &str,
        value: &AttributeValue,
        condition: &Condition,
    ) -> Result<Reply<bool>, TableError> {
        let Expression { text, names, values } = Expression::of(condition, &self.schema);
        let request = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(self.key(key)))
            .update_expression("SET #set = :set")
            .set_condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .expression_attribute_names("#set", attribute)
            .expression_attribute_values(":set", sdk_value(value.clone()))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        let Query { pk, range, after, limit, descending } = query;
        let names = self.schema.names();
        let start = after.as_ref().map(|sk| self.key(&ItemKey::new(pk, sk)));
        let request = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
            .expression_attribute_names("#pk", &names.partition_key)
            .expression_attribute_names("#sk", &names.sort_key)
            .expression_attribute_values(":pk", SdkValue::S(pk.clone()))
            .expression_attribute_values(":from", SdkValue::S(range.from.clone()))
            .expression_attribute_values(":to", SdkValue::S(range.to.clone()))
            .set_exclusive_start_key(start)
            .limit(i32::try_from(*limit).unwrap_or(i32::MAX))
            .scan_index_forward(!descending)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = units(output.consumed_capacity());
        let next = output.last_evaluated_key.and_then(|key| self.found_key(key)).map(|key| key.sk);
        let items = output.items.unwrap_or_default().into_iter().map(from_sdk).collect();
        Ok(Reply { value: Page { items, next }, read_units, write_units: 0.0 })
    }
}
