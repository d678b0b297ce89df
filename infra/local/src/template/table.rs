//! The table in a template.

use super::TemplateError;
use super::document::Property;

/// A table as the template defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    /// The key attributes, the partition key first.
    pub key: Vec<KeyAttribute>,
    /// The stream's view type; none if the template gives the table no stream.
    pub stream_view_type: Option<String>,
    /// The TTL attribute.
    pub ttl_attribute: Option<String>,
}

/// A key attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyAttribute {
    /// The attribute's name.
    pub name: String,
    /// `HASH` or `RANGE`.
    pub role: String,
    /// `S`, `N` or `B`.
    pub kind: String,
}

/// The properties that are supported, or make no difference here. A user wouldn't notice that another is missing.
const KNOWN: [&str; 15] = [
    "TableName",
    "BillingMode",
    "AttributeDefinitions",
    "KeySchema",
    "StreamSpecification",
    "TimeToLiveSpecification",
    "PointInTimeRecoverySpecification",
    "SSESpecification",
    "DeletionProtectionEnabled",
    "TableClass",
    "Tags",
    "ContributorInsightsSpecification",
    "OnDemandThroughput",
    "WarmThroughput",
    "ProvisionedThroughput",
];

impl TableDefinition {
    pub(super) fn of(properties: &Property<'_>) -> Result<Self, TemplateError> {
        for (name, property) in properties.entries()? {
            if !KNOWN.contains(&name.as_str()) {
                return Err(property.unsupported("keys, stream and time to live are"));
            }
        }
        let mut kinds = Vec::new();
        for definition in properties.require("AttributeDefinitions")?.list()? {
            kinds.push((definition.require("AttributeName")?.text()?, definition.require("AttributeType")?.text()?));
        }
        let mut key = Vec::new();
        let schema = properties.require("KeySchema")?;
        for element in schema.list()? {
            let name = element.require("AttributeName")?;
            let Some((name, kind)) = kinds.iter().find(|(defined, _)| name.text().is_ok_and(|name| name == *defined))
            else {
                return Err(name.must_be("one of AttributeDefinitions"));
            };
            key.push(KeyAttribute {
                name: name.clone(),
                role: element.require("KeyType")?.text()?,
                kind: kind.clone(),
            });
        }
        key.sort_by_key(|attribute| attribute.role != "HASH");
        let roles: Vec<&str> = key.iter().map(|attribute| attribute.role.as_str()).collect();
        if !matches!(roles[..], ["HASH"] | ["HASH", "RANGE"]) {
            return Err(schema.must_be("one HASH and at most one RANGE attribute"));
        }
        let stream_view_type = match properties.get("StreamSpecification") {
            Some(stream) => Some(stream.require("StreamViewType")?.text()?),
            None => None,
        };
        let ttl_attribute = match properties.get("TimeToLiveSpecification") {
            Some(ttl) if ttl.require("Enabled")?.boolean()? => Some(ttl.require("AttributeName")?.text()?),
            _ => None,
        };
        Ok(TableDefinition { key, stream_view_type, ttl_attribute })
    }
}
