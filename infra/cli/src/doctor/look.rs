//! Reads what the checks are about. What one call may not read is unknown, and the others go on.

use std::collections::BTreeSet;

use anyhow::{Error, Result, anyhow};
use aws_sdk_dynamodb::types::{KeyType, PointInTimeRecoveryStatus, TimeToLiveStatus};
use sapwood_core::audit::{AuditorState, Kept};
use sapwood_core::keys::{Names, Schema};
use sapwood_core::model::{Announcement, NewerFormat};
use sapwood_dynamodb::place_of;
use sapwood_store::{Client, ReadOptions};

use super::facts::{Read, Seen, SeenEpoch, SeenTable};
use super::services::Around;
use crate::clock::seconds;
use crate::connect::{Connection, Patient, left_by_handler};
use crate::sdk_errors::{ProvideErrorMetadata, SdkError, is, said};

/// The services.
pub(super) struct Services {
    dynamodb: aws_sdk_dynamodb::Client,
    /// Where its table is, for errors.
    place: String,
    /// `None` where an endpoint of DynamoDB alone is named.
    others: Option<Around>,
}

/// Makes the clients. `endpoint` is that of Lambda and CloudWatch, if one is named.
pub(super) async fn services(connection: &Connection, endpoint: Option<&str>) -> Result<Services> {
    let dynamodb = connection.config_of(connection.endpoint()).await?;
    let others = connection.config_of_services(&dynamodb, endpoint)?;
    Ok(Services {
        dynamodb: aws_sdk_dynamodb::Client::new(&dynamodb),
        place: place_of(&dynamodb),
        others: others.map(|config| Around::of(&config)).transpose()?,
    })
}

pub(super) async fn look(connection: &Connection, services: &Services) -> Result<Seen> {
    let name = &connection.table;
    let table = table(services, name).await?;
    let names = table.as_ref().and_then(|table| match &table.keys[..] {
        [(partition_key, _), (sort_key, _)] => Some((partition_key.clone(), sort_key.clone())),
        _ => None,
    });
    let mut seen = Seen { table, now: seconds(), ..Seen::default() };
    if seen.table.is_none() {
        return Ok(seen);
    }
    (seen.ttl, seen.recovery) = futures::join!(ttl(&services.dynamodb, name), recovery(&services.dynamodb, name));
    if let Some((partition_key, sort_key)) = names {
        (seen.announcement, seen.audit, seen.epoch) = left(connection, partition_key, sort_key).await?;
    }
    let stream = seen.table.as_ref().and_then(|table| table.stream.as_ref());
    if let Some(around) = &services.others {
        seen.mappings = match stream {
            Some((arn, _)) => around.mappings(arn).await,
            None => Read::Known(Vec::new()),
        };
        let mut about = BTreeSet::from([name.clone()]);
        if let Read::Known(mappings) = &seen.mappings {
            for mapping in mappings {
                seen.functions.insert(mapping.function.clone(), around.function(&mapping.function).await);
                about.insert(mapping.id.clone());
                // arn:aws:lambda:REGION:ACCOUNT:function:NAME, and perhaps an alias.
                about.extend(mapping.function.split(':').nth(6).map(str::to_owned));
            }
        }
        seen.alarms = around.alarms(&about).await;
    }
    Ok(seen)
}

async fn table(services: &Services, name: &str) -> Result<Option<SeenTable>> {
    let described = match services.dynamodb.describe_table().table_name(name).send().await {
        Ok(output) => output.table.unwrap_or_else(|| aws_sdk_dynamodb::types::TableDescription::builder().build()),
        Err(error) if is(&error, &["ResourceNotFoundException"]) => return Ok(None),
        Err(error) => return Err(undescribed(&services.place, &said(&error))),
    };
    let attributes = described.attribute_definitions();
    let kind = |name: &str| {
        let found = attributes.iter().find(|attribute| attribute.attribute_name() == name);
        found.map(|attribute| attribute.attribute_type().as_str().to_owned()).unwrap_or_default()
    };
    let mut schema = described.key_schema().to_vec();
    schema.sort_by_key(|key| *key.key_type() != KeyType::Hash);
    let view = described.stream_specification().filter(|stream| stream.stream_enabled());
    let view = view.and_then(|stream| stream.stream_view_type()).map(|view| view.as_str().to_owned());
    Ok(Some(SeenTable {
        status: described.table_status().map(|status| status.as_str().to_owned()).unwrap_or_default(),
        keys: schema.iter().map(|key| (key.attribute_name().to_owned(), kind(key.attribute_name()))).collect(),
        stream: described.latest_stream_arn().map(str::to_owned).zip(view),
        is_protected: described.deletion_protection_enabled().unwrap_or_default(),
        replicas: described.replicas().iter().filter_map(|replica| replica.region_name.clone()).collect(),
    }))
}

fn undescribed(place: &str, reason: &str) -> Error {
    anyhow!("the table can't be described{place}: {reason}. The policy docs/policies/doctor.json has what is needed")
}

/// True for the error of an endpoint that doesn't know an operation.
fn is_no_operation<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    is(error, &["UnknownOperationException", "UnknownOperation"])
}

async fn ttl(client: &aws_sdk_dynamodb::Client, name: &str) -> Read<Option<String>> {
    match client.describe_time_to_live().table_name(name).send().await {
        Ok(output) => {
            let ttl = output.time_to_live_description.filter(|ttl| {
                matches!(ttl.time_to_live_status(), Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling))
            });
            Read::Known(ttl.and_then(|ttl| ttl.attribute_name))
        }
        Err(error) if is_no_operation(&error) => Read::NotHere,
        Err(error) => Read::Unknown(said(&error)),
    }
}

async fn recovery(client: &aws_sdk_dynamodb::Client, name: &str) -> Read<bool> {
    match client.describe_continuous_backups().table_name(name).send().await {
        Ok(output) => {
            let recovery = output.continuous_backups_description;
            let recovery = recovery.and_then(|backups| backups.point_in_time_recovery_description);
            let status = recovery.and_then(|recovery| recovery.point_in_time_recovery_status);
            Read::Known(status == Some(PointInTimeRecoveryStatus::Enabled))
        }
        Err(error) if is_no_operation(&error) => Read::NotHere,
        Err(error) => Read::Unknown(said(&error)),
    }
}

type Left =
    (Read<Option<Announcement>>, Read<Option<Result<Kept, NewerFormat>>>, Read<Option<Result<SeenEpoch, NewerFormat>>>);

/// Reads what the handler, the auditor and the totals keep in the table.
async fn left(connection: &Connection, partition_key: String, sort_key: String) -> Result<Left> {
    let names = Names { partition_key, sort_key, ..Names::default() };
    let schema = Schema::new(names, false).map_err(|error| undescribed("", &error.to_string()))?;
    let table = connection.table(schema.clone()).await?;
    let announcement = left_by_handler(&table).await;
    let client = Client::new(&table, &Patient, &schema);
    let audit = client.get(&schema.audit_key(), &ReadOptions::default()).await;
    let audit = audit.map(|item| item.map(|item| AuditorState::read(&item, None, seconds())));
    let keys = [schema.epoch_key(), schema.epoch_copy_key()];
    let epoch = client.get_all(&keys, &ReadOptions { strong: true, attributes: None }).await;
    let epoch = epoch.map(|items| SeenEpoch::of(items.get(&keys[0]), items.get(&keys[1])));
    Ok((Read::of(announcement), Read::of(audit), Read::of(epoch)))
}
