//! A local `DynamoDB` endpoint, embedded or not, and the table on it.
//!
//! Only this file, `record.rs`, `sdk_error.rs` and `stream.rs` name the SDK.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType, TableDescription, TableStatus, TimeToLiveSpecification,
};
use sapwood_plain_http::plain_http;

use crate::sdk_error::said;
use crate::template::{KeyAttribute, TableDefinition};

/// The region and the credentials. Local engines check neither; DynamoDB Local keeps a database for each pair.
const ANYTHING: &str = "local";

/// How long a new table may take to become active.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// The pause between two looks whether it is.
const READY_POLL: Duration = Duration::from_millis(50);

/// An endpoint that serves `DynamoDB`'s API and doesn't check credentials.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its URL.
    pub url: String,
    /// A client for it.
    pub client: Client,
}

/// A table's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableStream {
    /// The table's name.
    pub table_name: String,
    /// The stream's ARN. A table that is created again has another one.
    pub arn: String,
}

/// Why the table can't be used, or can't be created.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TableError {
    /// No server answers.
    #[error("no DynamoDB answers at {url}: {reason}. Start one there, or name another URL")]
    Unreachable { url: String, reason: String },
    /// The table exists with other keys, which can't be changed.
    #[error("the table {table} exists with the keys {found}, the template has {wanted}: use another name or delete it")]
    Keys { table: String, found: String, wanted: String },
    /// The table exists without the template's stream.
    #[error(
        "the table {table} has {found}, the template has a stream of {wanted}: run `aws dynamodb update-table --table-name \
         {table} --stream-specification StreamEnabled=true,StreamViewType={wanted} --endpoint-url {url}` (a stream of \
         another view type must be disabled first)"
    )]
    Stream { table: String, url: String, found: String, wanted: String },
    /// The template gives the table no stream.
    #[error("the template gives the table no StreamSpecification")]
    NoStreamWanted,
    /// The endpoint rejects a request.
    #[error("the endpoint refuses to {what} the table {table}: {reason}")]
    Refused { what: &'static str, table: String, reason: String },
}

impl Endpoint {
    /// Makes an endpoint of its URL.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into();
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .http_client(plain_http())
            .endpoint_url(&url)
            .region(Region::new(ANYTHING))
            .credentials_provider(Credentials::new(ANYTHING, ANYTHING, None, None, "a local endpoint"))
            .build();
        Endpoint { url, client: Client::from_conf(config) }
    }

    /// Creates the table as the template defines it, or uses one that exists with the template's keys and stream.
    pub async fn ensure_table(&self, name: &str, wanted: &TableDefinition) -> Result<TableStream, TableError> {
        let Some(view_type) = &wanted.stream_view_type else { return Err(TableError::NoStreamWanted) };
        let found = match self.describe(name).await? {
            Some(found) => found,
            None => {
                self.create(name, wanted, view_type).await?;
                self.described_when_ready(name).await?
            }
        };
        let stream = self.check(name, &found, wanted, view_type)?;
        if let Some(attribute) = &wanted.ttl_attribute {
            self.expire_by(name, attribute).await;
        }
        Ok(stream)
    }

    async fn describe(&self, name: &str) -> Result<Option<TableDescription>, TableError> {
        match self.client.describe_table().table_name(name).send().await {
            Ok(output) => Ok(output.table),
            Err(error) if error.code() == Some("ResourceNotFoundException") => Ok(None),
            Err(error) => Err(self.failed("describe", name, error)),
        }
    }

    async fn create(&self, name: &str, wanted: &TableDefinition, view_type: &str) -> Result<(), TableError> {
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::from(view_type))
            .build()
            .map_err(|error| self.refused("create", name, error.to_string()))?;
        let mut request = self
            .client
            .create_table()
            .table_name(name)
            .billing_mode(BillingMode::PayPerRequest)
            .stream_specification(stream);
        for KeyAttribute { name: attribute, role, kind } in &wanted.key {
            let definition = AttributeDefinition::builder()
                .attribute_name(attribute)
                .attribute_type(ScalarAttributeType::from(kind.as_str()))
                .build();
            let element =
                KeySchemaElement::builder().attribute_name(attribute).key_type(KeyType::from(role.as_str())).build();
            request = request
                .attribute_definitions(definition.map_err(|error| self.refused("create", name, error.to_string()))?)
                .key_schema(element.map_err(|error| self.refused("create", name, error.to_string()))?);
        }
        match request.send().await {
            Ok(_) => Ok(()),
            // Another process has created it. It is checked like any existing table.
            Err(error) if error.code() == Some("ResourceInUseException") => Ok(()),
            Err(error) => Err(self.failed("create", name, error)),
        }
    }

    async fn described_when_ready(&self, name: &str) -> Result<TableDescription, TableError> {
        let ready = async {
            loop {
                if let Some(table) = self.describe(name).await?
                    && table.table_status == Some(TableStatus::Active)
                {
                    return Ok(table);
                }
                tokio::time::sleep(READY_POLL).await;
            }
        };
        tokio::time::timeout(READY_WITHIN, ready)
            .await
            .unwrap_or_else(|_| Err(self.refused("create", name, "it doesn't become active".to_owned())))
    }

    fn check(
        &self,
        name: &str,
        found: &TableDescription,
        wanted: &TableDefinition,
        view_type: &str,
    ) -> Result<TableStream, TableError> {
        let (found_keys, wanted_keys) = (keys_of(found), keys_text(&wanted.key));
        if found_keys != wanted_keys {
            return Err(TableError::Keys { table: name.to_owned(), found: found_keys, wanted: wanted_keys });
        }
        let stream = found.stream_specification().filter(|stream| stream.stream_enabled);
        let found_type = stream.and_then(|stream| stream.stream_view_type()).map(StreamViewType::as_str);
        match (found_type, found.latest_stream_arn()) {
            (Some(found), Some(arn)) if found == view_type => {
                Ok(TableStream { table_name: name.to_owned(), arn: arn.to_owned() })
            }
            (found, _) => Err(TableError::Stream {
                table: name.to_owned(),
                url: self.url.clone(),
                found: found.map_or("no stream".to_owned(), |found| format!("a stream of {found}")),
                wanted: view_type.to_owned(),
            }),
        }
    }

    /// Enables TTL. An error is only logged: an engine may refuse what is enabled, or have no TTL.
    async fn expire_by(&self, name: &str, attribute: &str) {
        let Ok(ttl) = TimeToLiveSpecification::builder().enabled(true).attribute_name(attribute).build() else {
            return;
        };
        let sent = self.client.update_time_to_live().table_name(name).time_to_live_specification(ttl).send().await;
        if let Err(error) = sent {
            tracing::debug!(table = name, attribute, error = said(&error), "time to live not set");
        }
    }

    fn failed<E>(&self, what: &'static str, table: &str, error: SdkError<E>) -> TableError
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let reason = said(&error);
        match error {
            SdkError::ServiceError(failed) if failed.err().code().is_some() => self.refused(what, table, reason),
            _ => TableError::Unreachable { url: self.url.clone(), reason },
        }
    }

    fn refused(&self, what: &'static str, table: &str, reason: String) -> TableError {
        TableError::Refused { what, table: table.to_owned(), reason }
    }
}

fn keys_of(table: &TableDescription) -> String {
    let mut key: Vec<KeyAttribute> = Vec::new();
    for element in table.key_schema() {
        let kind = table
            .attribute_definitions()
            .iter()
            .find(|definition| definition.attribute_name == element.attribute_name)
            .map_or("?", |definition| definition.attribute_type.as_str());
        key.push(KeyAttribute {
            name: element.attribute_name.clone(),
            role: element.key_type.as_str().to_owned(),
            kind: kind.to_owned(),
        });
    }
    key.sort_by_key(|attribute| attribute.role != KeyType::Hash.as_str());
    keys_text(&key)
}

fn keys_text(key: &[KeyAttribute]) -> String {
    let texts: Vec<String> =
        key.iter().map(|attribute| format!("{} ({}, {})", attribute.name, attribute.role, attribute.kind)).collect();
    texts.join(" and ")
}
