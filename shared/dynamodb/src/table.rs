//! A table of DynamoDB.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, ConfigBag, Credentials, Intercept, Region, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use aws_sdk_dynamodb::types::{AttributeValue as SdkValue, ConsumedCapacity, KeyType, KeysAndAttributes, WriteRequest};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{key_of, with_key};

use crate::connection::Connection;
use crate::errors::{Kind, give_up, table_error};
use crate::values::{WRITE_BYTES, from_sdk, put_object};
use sapwood_plain_http::plain_http;
use sapwood_store::{ANSWER_BYTES_MAX, Deadline, ErrorKind, ReadOptions, Reply, Table, TableError, Write};

/// Longest time for one request by default. A choice: several attempts fit an invocation, or its remaining time.
const CALL_TIME_MAX: Duration = Duration::from_secs(5);

/// Longest time that [`DynamoTable::connect`] may take. Lambda gives a function ten seconds to start.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(1);

/// A table of DynamoDB, over its SDK. A clone is cheap, because clones share one client of the SDK.
#[derive(Clone, Debug)]
#[must_use]
pub struct DynamoTable {
    pub(crate) client: Client,
    pub(crate) name: String,
    /// Where it is, for errors.
    place: String,
    pub(crate) schema: Schema,
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
    /// Makes a table by name on a client (of `sapwood-https`, or [`plain_http`]), without the SDK's own retries.
    pub fn new(connection: &Connection, http: SharedHttpClient, name: impl Into<String>, schema: Schema) -> Self {
        let Connection { region, endpoint_url, access_key_id, secret_access_key, session_token } = connection.clone();
        let mut credentials = Credentials::builder()
            .access_key_id(access_key_id)
            .secret_access_key(secret_access_key)
            .provider_name("environment");
        credentials.set_session_token(session_token);
        let mut config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(region))
            .credentials_provider(credentials.build());
        let place = place(endpoint_url.as_deref(), &connection.region);
        config.set_endpoint_url(endpoint_url);
        Self::configured(config, name.into(), place, schema)
    }

    /// Makes a table with the region, the client and the credentials of a configuration, which may renew these.
    pub fn of(config: &aws_types::SdkConfig, name: impl Into<String>, schema: Schema) -> Self {
        let place = place_of(config);
        Self::configured(aws_sdk_dynamodb::config::Builder::from(config), name.into(), place, schema)
    }

    fn configured(config: aws_sdk_dynamodb::config::Builder, name: String, place: String, schema: Schema) -> Self {
        let client = Client::from_conf(config.retry_config(RetryConfig::disabled()).build());
        Self { client, name, place, schema, deadline: None, call_time_max: CALL_TIME_MAX }
    }

    /// Makes a table on an endpoint that checks no credentials, such as DynamoDB Local.
    pub fn local(url: &str, name: impl Into<String>, schema: Schema) -> Self {
        Self::new(&Connection::local(url), plain_http(), name, schema)
    }

    /// Reads an item that doesn't exist (half a read unit), so that the SDK loads credentials and root certificates,
    /// looks up the endpoint and connects while the function starts, and no event waits for it.
    pub async fn connect(&self) {
        let nothing = self.schema.operation_key(None, "nothing");
        let reading = ReadOptions { strong: false, attributes: None };
        // A fault here comes up again at the first request of an event, and is reported there.
        drop(tokio::time::timeout(CONNECT_TIME_MAX, self.read_many(&[nothing], &reading)).await);
    }

    /// Asks for the endpoint's time in whole seconds since 1970, by the head of an answer (half a read unit). `None` if
    /// it says none.
    ///
    /// # Errors
    /// [`TableError`] if there is no answer. One that refuses has a time as well.
    pub async fn time(&self) -> Result<Option<u64>, TableError> {
        let nothing = self.key(&self.schema.operation_key(None, "nothing"));
        let keys = KeysAndAttributes::builder().keys(nothing).build();
        let keys = keys.map_err(|_| give_up("a request can't be built"))?;
        let time = AnswerTime::default();
        let request = self.client.batch_get_item().request_items(&self.name, keys).customize();
        let answered = self.send(Kind::Read, request.interceptor(time.clone()).send()).await;
        time.0.get().map_or_else(|| answered.map(|_| None), |time| Ok(Some(*time)))
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

    /// The table's ARN, id and creation time, for example `arn:aws:…:table/sapwood 7ab6… 1796000000`.
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
    pub fn with(self, schema: Schema) -> Self {
        Self { schema, ..self }
    }

    /// Returns the table for one invocation. No request outlives the deadline.
    pub fn until(&self, deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// Sets the limit for one request. On one machine none is lost, and resending makes the engine's queue longer.
    pub fn waiting(self, call_time_max: Duration) -> Self {
        Self { call_time_max, ..self }
    }

    pub(crate) fn key(&self, key: &ItemKey) -> HashMap<String, SdkValue> {
        let names = self.schema.names();
        HashMap::from([
            (names.partition_key.clone(), SdkValue::S(key.pk.clone())),
            (names.sort_key.clone(), SdkValue::S(key.sk.clone())),
        ])
    }

    pub(crate) fn found_key(&self, key: HashMap<String, SdkValue>) -> Option<ItemKey> {
        key_of(&from_sdk(key), &self.schema)
    }

    /// The body of a BatchWriteItem. The SDK would write the same, of a copy of each item in types of its own.
    pub(crate) fn batch_body(&self, writes: &[Write]) -> serde_json::Result<Vec<u8>> {
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
                // The client has put a stamp on it.
                Write::Tell { entry, .. } => {
                    put_object(&mut body, br#"{"PutRequest":{"Item":"#, &entry.item(0, &self.schema))?;
                }
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

    pub(crate) fn left_key(&self, request: WriteRequest) -> Option<ItemKey> {
        let attributes = match (request.put_request, request.delete_request) {
            (Some(put), _) => put.item,
            (None, delete) => delete?.key,
        };
        self.found_key(attributes)
    }

    /// Sends a request. It ends within the time for a request, and before the deadline.
    pub(crate) async fn send<T, E>(
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
            // A deadline's remaining time doesn't say that the request was too large.
            Err(_) if limit < self.call_time_max => Err(TableError::unanswered("no answer before the end")),
            Err(_) => Err(TableError::late("no answer in time")),
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(table_error(kind, &error, &self.place)),
        }
    }

    /// Sends a write with a condition. Returns false if the condition doesn't hold.
    pub(crate) async fn send_if<T, E>(
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
            // A failed condition costs at least a write unit, which DynamoDB doesn't report.
            write_units: output.as_ref().map_or(1.0, |output| units(capacity(output))),
        })
    }
}

/// Refuses an answer that is too large, by its length and before it is read.
#[derive(Debug)]
pub(crate) struct AnswerLimit {
    bytes_max: usize,
}

impl AnswerLimit {
    /// The limit of an answer to a read of this many items. One item has no limit: less can't be asked for.
    pub(crate) fn of(items: usize) -> Self {
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

/// The time in the head of an answer, in seconds since 1970.
#[derive(Clone, Debug, Default)]
struct AnswerTime(Arc<OnceLock<u64>>);

impl Intercept for AnswerTime {
    fn name(&self) -> &'static str {
        "AnswerTime"
    }

    fn read_after_transmit(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let time = date.and_then(|date| DateTime::from_str(date, DateTimeFormat::HttpDate).ok());
        let seconds = time.and_then(|time| u64::try_from(time.secs()).ok());
        _ = seconds.map(|seconds| self.0.set(seconds));
        Ok(())
    }
}

pub(crate) fn units(capacity: Option<&ConsumedCapacity>) -> f64 {
    capacity.and_then(ConsumedCapacity::capacity_units).unwrap_or_default()
}
