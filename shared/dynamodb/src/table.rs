//! A table of DynamoDB.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, ConfigBag, Credentials, Intercept, Region, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeValue as SdkValue, BatchStatementRequest, ConditionCheck, ConsumedCapacity, Delete, KeyType,
    KeysAndAttributes, Put, ReturnConsumedCapacity, TransactWriteItem, Update as SdkUpdate, WriteRequest,
};
use bytes::Bytes;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, key_of, with_key};

use crate::connection::Connection;
use crate::errors::{Kind, cancelled, failed_conditions, give_up, statement_error, table_error};
use crate::expressions::{Expressions, quoted};
use crate::https::https_client;
use crate::values::{WRITE_BYTES, from_sdk, put_object, sdk_value, to_sdk};
use sapwood_store::{
    ANSWER_BYTES_MAX, Action, Condition, Deadline, ErrorKind, Found, Page, Query, ReadOptions, Reply, Scan, Scannable,
    Scanned, Table, TableError, Transacted, Update, Write,
};

/// Longest time that one request may take, unless [`DynamoTable::waiting`] sets another. It is a choice: several
/// attempts fit the time of an invocation. An invocation that has less time left ends its request sooner.
const CALL_TIME_MAX: Duration = Duration::from_secs(5);

/// Longest time that [`DynamoTable::connect`] may take. Lambda gives a function ten seconds to start.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(1);

/// A table of DynamoDB, over its SDK. A clone is cheap, because clones share one client of the SDK.
#[derive(Clone, Debug)]
pub struct DynamoTable {
    client: Client,
    name: String,
    /// Where it is, for errors.
    place: String,
    schema: Schema,
    deadline: Option<Deadline>,
    /// Longest time that one request may take.
    call_time_max: Duration,
}

/// Says where the tables of a configuration are, as in ` in eu-central-1` or ` at http://127.0.0.1:8000`.
#[must_use]
pub fn place_of(config: &aws_types::SdkConfig) -> String {
    place(config.endpoint_url(), config.region().map_or("no region", Region::as_ref))
}

fn place(endpoint_url: Option<&str>, region: &str) -> String {
    endpoint_url.map_or_else(|| format!(" in {region}"), |url| format!(" at {url}"))
}

impl DynamoTable {
    /// Makes a table by its name. The SDK's own retries are off, because [`sapwood_store::Client`] retries in the time
    /// that it has, and counts.
    #[must_use]
    pub fn new(connection: &Connection, name: impl Into<String>, schema: Schema) -> Self {
        let Connection { region, endpoint_url, access_key_id, secret_access_key, session_token } = connection.clone();
        let mut credentials = Credentials::builder()
            .access_key_id(access_key_id)
            .secret_access_key(secret_access_key)
            .provider_name("environment");
        credentials.set_session_token(session_token);
        let mut config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(https_client())
            .region(Region::new(region))
            .credentials_provider(credentials.build())
            .retry_config(RetryConfig::disabled());
        let place = place(endpoint_url.as_deref(), &connection.region);
        config.set_endpoint_url(endpoint_url);
        Self {
            client: Client::from_conf(config.build()),
            name: name.into(),
            place,
            schema,
            deadline: None,
            call_time_max: CALL_TIME_MAX,
        }
    }

    /// Makes a table with the region and the credentials of a configuration, which may renew them.
    #[must_use]
    pub fn of(config: &aws_types::SdkConfig, name: impl Into<String>, schema: Schema) -> Self {
        let place = place_of(config);
        let config = aws_sdk_dynamodb::config::Builder::from(config)
            .http_client(https_client())
            .retry_config(RetryConfig::disabled());
        Self {
            client: Client::from_conf(config.build()),
            name: name.into(),
            place,
            schema,
            deadline: None,
            call_time_max: CALL_TIME_MAX,
        }
    }

    /// Makes a table on an endpoint that checks no credentials, such as DynamoDB Local.
    #[must_use]
    pub fn local(url: &str, name: impl Into<String>, schema: Schema) -> Self {
        Self::new(&Connection::local(url), name, schema)
    }

    /// Reads an item that doesn't exist (half a read unit), and ignores the outcome. For its first request the SDK
    /// loads credentials and root certificates, looks up the endpoint and opens a connection. If it does so while the
    /// function starts, no event waits for it.
    pub async fn connect(&self) {
        let nothing = self.schema.operation_key(None, "nothing");
        let reading = ReadOptions { strong: false, attributes: None };
        // A fault here comes up again at the first request of an event, and is reported there.
        drop(tokio::time::timeout(CONNECT_TIME_MAX, self.read_many(&[nothing], &reading)).await);
    }

    /// Asks for the names of the table's partition key and sort key. `None` for a table without a sort key.
    ///
    /// # Errors
    /// [`TableError`] if the table isn't there, or if the caller may not see it (`dynamodb:DescribeTable`).
    pub async fn key_names(&self) -> Result<Option<(String, String)>, TableError> {
        let output = self.send(Kind::Read, self.client.describe_table().table_name(&self.name).send()).await?;
        let keys = output.table.and_then(|table| table.key_schema).unwrap_or_default();
        let named =
            |wanted: KeyType| keys.iter().find(|key| key.key_type == wanted).map(|key| key.attribute_name.clone());
        Ok(named(KeyType::Hash).zip(named(KeyType::Range)))
    }

    /// What no other table has, for example `arn:aws:dynamodb:eu-west-1:123456789012:table/sapwood 7ab6… 1796000000`:
    /// the ARN, the id and the time of creation. One that is deleted and made anew has another.
    ///
    /// # Errors
    /// [`TableError`] if the table isn't there, or if the caller may not see it (`dynamodb:DescribeTable`).
    pub async fn identity(&self) -> Result<String, TableError> {
        let output = self.send(Kind::Read, self.client.describe_table().table_name(&self.name).send()).await?;
        let table = output.table.unwrap_or_else(|| aws_sdk_dynamodb::types::TableDescription::builder().build());
        let created = table.creation_date_time().map(ToString::to_string);
        let parts = [table.table_arn(), table.table_id(), created.as_deref()];
        Ok(parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }

    /// The schema of the table's keys.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The same table with another schema.
    #[must_use]
    pub fn with(self, schema: Schema) -> Self {
        Self { schema, ..self }
    }

    /// Returns the table for one invocation. No request outlives the deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// Returns the table with another limit for the time that one request may take. An engine on the same machine loses
    /// no request: one that isn't answered waits in a queue, and whoever sends it again makes the queue longer.
    #[must_use]
    pub fn waiting(self, call_time_max: Duration) -> Self {
        Self { call_time_max, ..self }
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

    /// The body of a BatchWriteItem. The SDK would write the same, of a copy of each item in types of its own.
    fn batch_body(&self, writes: &[Write]) -> serde_json::Result<Vec<u8>> {
        let bytes: usize = writes.iter().map(Write::sent_bytes).sum();
        let mut body = Vec::with_capacity(bytes + (1 + writes.len()) * WRITE_BYTES);
        body.extend(br#"{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"#);
        serde_json::to_writer(&mut body, &self.name)?;
        body.extend(b":[");
        for (position, write) in writes.iter().enumerate() {
            if position > 0 {
                body.push(b',');
            }
            match write {
                Write::Put { item, .. } => put_object(&mut body, br#"{"PutRequest":{"Item":"#, item)?,
                Write::PutRow { row, shown } => {
                    let (own, copies) = row.attributes(shown, &self.schema);
                    let own = own.iter().map(|(name, value)| (*name, value));
                    let copies = copies.map(|(name, value)| (name.as_str(), value));
                    put_object(&mut body, br#"{"PutRequest":{"Item":"#, own.chain(copies))?;
                }
                Write::Delete(key) | Write::DeleteRow { key, .. } => {
                    put_object(&mut body, br#"{"DeleteRequest":{"Key":"#, &with_key(key, &self.schema))?;
                }
            }
            body.extend(b"}}");
        }
        body.extend(b"]}}");
        Ok(body)
    }

    /// The key of a write that is left unprocessed.
    fn left_key(&self, request: WriteRequest) -> Option<ItemKey> {
        let attributes = match (request.put_request, request.delete_request) {
            (Some(put), _) => put.item,
            (None, delete) => delete?.key,
        };
        self.found_key(attributes)
    }

    /// Sends a request. It ends within the time for a request, and before the deadline.
    async fn send<T, E>(
        &self,
        kind: Kind,
        request: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, TableError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let limit = self.deadline.map_or(self.call_time_max, |deadline| deadline.left().min(self.call_time_max));
        if limit.is_zero() {
            return Err(TableError::new(ErrorKind::Retry, "no time left"));
        }
        match tokio::time::timeout(limit, request).await {
            // Nothing is too large for the time that a deadline leaves.
            Err(_) if limit < self.call_time_max => Err(TableError::unanswered("no answer before the end")),
            Err(_) => Err(TableError::late("no answer in time")),
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(table_error(kind, &error, &self.place)),
        }
    }

    /// Sends a write with a condition. Returns false if the condition doesn't hold.
    async fn send_if<T, E>(
        &self,
        request: impl Future<Output = Result<T, SdkError<E>>>,
        capacity: impl Fn(&T) -> Option<&ConsumedCapacity>,
    ) -> Result<Reply<bool>, TableError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
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
            // A failed condition costs as much as the write would. DynamoDB doesn't report the units, so the least is
            // counted.
            write_units: output.as_ref().map_or(1.0, |output| units(capacity(output))),
        })
    }
}

/// Refuses an answer that is too large, by its length and before it is read.
#[derive(Debug)]
struct AnswerLimit {
    bytes_max: usize,
}

impl AnswerLimit {
    /// The limit of an answer to a read of this many items. One item has no limit: less can't be asked for.
    fn of(items: usize) -> Self {
        Self { bytes_max: if items > 1 { ANSWER_BYTES_MAX } else { usize::MAX } }
    }
}

impl Intercept for AnswerLimit {
    fn name(&self) -> &'static str {
        "AnswerLimit"
    }

    fn read_after_transmit(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let length = context.response().headers().get("content-length").and_then(|length| length.parse().ok());
        let is_too_long = length.is_some_and(|length: usize| length > self.bytes_max);
        if is_too_long { Err("the answer has too many bytes".into()) } else { Ok(()) }
    }
}

fn units(capacity: Option<&ConsumedCapacity>) -> f64 {
    capacity.and_then(ConsumedCapacity::capacity_units).unwrap_or_default()
}

impl DynamoTable {
    /// The statement that updates an item if it exists: PartiQL's UPDATE makes none. Or the one that deletes an item
    /// where an attribute has a value.
    fn statement(&self, action: &Action) -> Result<BatchStatementRequest, TableError> {
        let names = self.schema.names();
        let [table, pk, sk] = [&self.name, &names.partition_key, &names.sort_key].map(|name| quoted(name));
        let (verb, set, also) = match action {
            Action::Update { update, .. } => {
                let set = update.set.keys().map(|name| format!(" SET {} = ?", quoted(name)));
                let remove = update.remove.iter().map(|name| format!(" REMOVE {}", quoted(name)));
                (format!("UPDATE {table}{}", set.chain(remove).collect::<String>()), Some(&update.set), None)
            }
            Action::Delete { condition: Condition::Is { name, value: Some(value) }, .. } => {
                (format!("DELETE FROM {table}"), None, Some((format!(" AND {} = ?", quoted(name)), value)))
            }
            Action::Put { .. } | Action::Delete { .. } | Action::Check { .. } => {
                return Err(give_up("no statement can do this"));
            }
        };
        let (and, value) = also.unzip();
        let set = set.into_iter().flat_map(Item::values).cloned().map(sdk_value);
        let keys = [&action.key().pk, &action.key().sk].map(|text| SdkValue::S(text.clone()));
        BatchStatementRequest::builder()
            .statement(format!("{verb} WHERE {pk} = ? AND {sk} = ?{}", and.unwrap_or_default()))
            .set_parameters(Some(set.chain(keys).chain(value.cloned().map(sdk_value)).collect()))
            .build()
            .map_err(|_| give_up("a request can't be built"))
    }

    fn action(&self, action: &Action) -> Result<TransactWriteItem, TableError> {
        let mut expressions = Expressions::default();
        let condition = expressions.condition(action.condition(), &self.schema.names().partition_key);
        let item = TransactWriteItem::builder();
        let built = match action {
            Action::Put { item: put, .. } => Put::builder()
                .table_name(&self.name)
                .set_item(Some(to_sdk(put)))
                .set_condition_expression(condition)
                .set_expression_attribute_names(expressions.names())
                .set_expression_attribute_values(expressions.values())
                .build()
                .map(|put| item.put(put)),
            Action::Update { key, update, .. } => SdkUpdate::builder()
                .table_name(&self.name)
                .set_key(Some(self.key(key)))
                .set_update_expression(expressions.update(update))
                .set_condition_expression(condition)
                .set_expression_attribute_names(expressions.names())
                .set_expression_attribute_values(expressions.values())
                .build()
                .map(|update| item.update(update)),
            Action::Delete { key, .. } => Delete::builder()
                .table_name(&self.name)
                .set_key(Some(self.key(key)))
                .set_condition_expression(condition)
                .set_expression_attribute_names(expressions.names())
                .set_expression_attribute_values(expressions.values())
                .build()
                .map(|delete| item.delete(delete)),
            Action::Check { key, .. } => ConditionCheck::builder()
                .table_name(&self.name)
                .set_key(Some(self.key(key)))
                .set_condition_expression(condition)
                .set_expression_attribute_names(expressions.names())
                .set_expression_attribute_values(expressions.values())
                .build()
                .map(|check| item.condition_check(check)),
        };
        built.map(|item| item.build()).map_err(|_| give_up("a request can't be built"))
    }
}

impl Table for DynamoTable {
    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        let mut expressions = Expressions::default();
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(keys.iter().map(|key| self.key(key)).collect()))
            .consistent_read(reading.strong)
            .set_projection_expression(expressions.projection(reading, &self.schema))
            .set_expression_attribute_names(expressions.names())
            .build()
            .map_err(|_| give_up("a request can't be built"))?;
        let limit = AnswerLimit::of(keys.keys().len());
        let request = self
            .client
            .batch_get_item()
            .request_items(&self.name, keys)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .customize()
            .interceptor(limit);
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
        let items = output.responses.unwrap_or_default().into_values().flatten().map(from_sdk).collect();
        let unprocessed = output.unprocessed_keys.unwrap_or_default().into_values().flat_map(|left| left.keys);
        let unprocessed = unprocessed.filter_map(|key| self.found_key(key)).collect();
        Ok(Reply { value: Found { items, unprocessed }, read_units, write_units: 0.0 })
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        if writes.iter().any(|write| write.row_deletion().is_some()) {
            return Err(give_up("a BatchWriteItem can't have a condition"));
        }
        let body = Bytes::from(self.batch_body(writes).map_err(|_| give_up("a request can't be built"))?);
        let request = self.client.batch_write_item().request_items(&self.name, Vec::new()).customize();
        let request = request.mutate_request(move |request| {
            request.headers_mut().insert("content-length", body.len().to_string());
            *request.body_mut() = body.clone().into();
        });
        let output = self.send(Kind::Write, request.send()).await?;
        let write_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
        let left = output.unprocessed_items.unwrap_or_default().into_values().flatten();
        let left = left.filter_map(|request| self.left_key(request));
        let left = left.filter_map(|key| writes.iter().find(|write| *write.key() == key).cloned()).collect();
        Ok(Reply { value: left, read_units: 0.0, write_units })
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let mut expressions = Expressions::default();
        let condition = expressions.condition(condition, &self.schema.names().partition_key);
        let request = self
            .client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(to_sdk(item)))
            .set_condition_expression(condition)
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let mut expressions = Expressions::default();
        let condition = expressions.condition(condition, &self.schema.names().partition_key);
        let request = self
            .client
            .delete_item()
            .table_name(&self.name)
            .set_key(Some(self.key(key)))
            .set_condition_expression(condition)
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let mut expressions = Expressions::default();
        let condition = expressions.condition(condition, &self.schema.names().partition_key);
        let request = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(self.key(key)))
            .set_update_expression(expressions.update(update))
            .set_condition_expression(condition)
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        let statements = actions.iter().map(|action| self.statement(action)).collect::<Result<_, _>>()?;
        let request = self
            .client
            .batch_execute_statement()
            .set_statements(Some(statements))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let output = self.send(Kind::Write, request.send()).await?;
        let mut answers: Vec<Result<bool, TableError>> =
            output.responses().iter().map(|response| response.error().map_or(Ok(true), statement_error)).collect();
        answers.resize_with(actions.len(), || Err(TableError::unanswered("no answer for a statement")));
        // What statements take that fail is in the sum, but DynamoDB reports none where all of them fail. The least is
        // counted then.
        let failed = answers.iter().filter(|answer| matches!(answer, Ok(false))).count();
        let write_units = match output.consumed_capacity() {
            [] => failed as f64,
            capacity => capacity.iter().map(|capacity| units(Some(capacity))).sum(),
        };
        Ok(Reply { value: answers, read_units: 0.0, write_units })
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        let actions = actions.iter().map(|action| self.action(action)).collect::<Result<_, _>>()?;
        let request = self
            .client
            .transact_write_items()
            .set_transact_items(Some(actions))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let request = async {
            match request.send().await {
                Ok(output) => Ok(Ok(output)),
                Err(error) => match (failed_conditions(&error), cancelled(&error)) {
                    (Some(failed), _) if !failed.is_empty() => Ok(Err(Ok(failed))),
                    (_, Some(cancelled)) => Ok(Err(Err(cancelled))),
                    _ => Err(error),
                },
            }
        };
        match self.send(Kind::Write, request).await? {
            Ok(output) => {
                let write_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
                Ok(Reply { value: Transacted::Done, read_units: 0.0, write_units })
            }
            Err(Ok(failed)) => Ok(Reply { value: Transacted::Failed(failed), read_units: 0.0, write_units: 1.0 }),
            Err(Err(error)) => Err(error),
        }
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        let Query { pk, range, after, limit, descending, reading } = query;
        let names = self.schema.names();
        let mut expressions = Expressions::default();
        let projection = expressions.projection(reading, &self.schema);
        let (partition_key, sort_key) = (expressions.name(&names.partition_key), expressions.name(&names.sort_key));
        let [pk_value, from, to] =
            [pk, &range.from, &range.to].map(|text| expressions.value(SdkValue::S(text.clone())));
        let start = after.as_ref().map(|sk| self.key(&ItemKey::new(pk, sk)));
        let request = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(reading.strong)
            .key_condition_expression(format!("{partition_key} = {pk_value} AND {sort_key} BETWEEN {from} AND {to}"))
            .set_projection_expression(projection)
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_exclusive_start_key(start)
            .limit(i32::try_from(*limit).unwrap_or(i32::MAX))
            .scan_index_forward(!descending)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .customize()
            .interceptor(AnswerLimit::of(query.limit));
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = units(output.consumed_capacity());
        let next = output.last_evaluated_key.and_then(|key| self.found_key(key)).map(|key| key.sk);
        let items = output.items.unwrap_or_default().into_iter().map(from_sdk).collect();
        Ok(Reply { value: Page { items, next }, read_units, write_units: 0.0 })
    }
}

impl Scannable for DynamoTable {
    async fn scan(&self, scan: &Scan) -> Result<Reply<Scanned>, TableError> {
        let Scan { segment, segments, after, limit, reading } = scan;
        let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let mut expressions = Expressions::default();
        let projection = expressions.projection(reading, &self.schema);
        let request = self
            .client
            .scan()
            .table_name(&self.name)
            // The one part of a table is the table. Said this way dynoxide reads it by its key, and any part in an
            // order for which it has no index: it reads and sorts the whole table for each page.
            .set_segment((*segments > 1).then(|| number(*segment)))
            .set_total_segments((*segments > 1).then(|| number(*segments)))
            .consistent_read(reading.strong)
            .set_projection_expression(projection)
            .set_expression_attribute_names(expressions.names())
            .set_exclusive_start_key(after.as_ref().map(|key| self.key(key)))
            .limit(i32::try_from(*limit).unwrap_or(i32::MAX))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .customize()
            .interceptor(AnswerLimit::of(*limit));
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = units(output.consumed_capacity());
        let next = output.last_evaluated_key.and_then(|key| self.found_key(key));
        let items = output.items.unwrap_or_default().into_iter().map(from_sdk).collect();
        Ok(Reply { value: Scanned { items, next }, read_units, write_units: 0.0 })
    }
}
