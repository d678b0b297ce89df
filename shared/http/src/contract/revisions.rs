//! Revisions.

use sapwood_core::keys::{Id, KeyError, Schema, SortKey, Version};
use sapwood_core::model::{CREATED_AT, CREATED_BY, Item, Settings, UPDATED_AT, UPDATED_BY};
use sapwood_core::write::Tags;
use sapwood_json::{self as json, Attributes, Fields, FromJson, JsonError, Place};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::attributes::{ReadAttributes, WrittenAttributes, text};
use crate::headers::if_match;

/// The longest topic, in bytes. It leaves room for the highest version in a sort key, so that a topic can have every
/// version.
pub const TOPIC_BYTES_MAX: usize = 1_015;

/// Checks that a topic can have revisions.
///
/// # Errors
/// [`KeyError`] if the topic is empty, or too long for the sort key of its highest version.
pub fn check_topic(topic: &str, schema: &Schema) -> Result<(), KeyError> {
    if topic.is_empty() {
        return Err(KeyError::Empty { part: "the topic" });
    }
    let version = Version::new(Version::MAX.into())?;
    schema.sort_key(&SortKey::Revision { version, topic: topic.to_owned() }).map(drop)
}

/// A revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RevisionBody {
    /// The id that the revision belongs to. A node of this id need not exist.
    #[schema(min_length = 1, max_length = 1014, examples("ORDER#98765"))]
    pub id: String,
    /// The revision's topic.
    #[schema(examples("Audit"))]
    pub topic: String,
    /// The revision's number.
    #[schema(minimum = 1, maximum = 999_999)]
    pub version: u32,
    /// The user's own attributes.
    #[schema(value_type = ReadAttributes)]
    pub attributes: Attributes,
    /// When the API created the revision; absent if another client did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("2026-02-03T04:05:06.789Z"))]
    pub created_at: Option<String>,
    /// Who had the API create the revision, as the authorizer names the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub created_by: Option<String>,
    /// When the API last wrote the revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("2026-02-03T04:05:06.789Z"))]
    pub updated_at: Option<String>,
    /// Who had the API write the revision last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub updated_by: Option<String>,
}

impl RevisionBody {
    /// Makes the body of a base record.
    #[must_use]
    pub fn of(id: &Id, topic: &str, version: Version, base: &Item, settings: &Settings) -> Self {
        Self {
            id: id.as_str().to_owned(),
            topic: topic.to_owned(),
            version: version.number(),
            attributes: Attributes::of_revision(base, &settings.schema),
            created_at: text(base, CREATED_AT),
            created_by: text(base, CREATED_BY),
            updated_at: text(base, UPDATED_AT),
            updated_by: text(base, UPDATED_BY),
        }
    }
}

/// The content of a revision.
#[derive(Clone, Debug, Default, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRevision {
    /// The revision's attributes.
    #[schema(value_type = WrittenAttributes)]
    pub attributes: Attributes,
}

/// A revision that is appended together with a write of its node.
#[derive(Clone, Debug, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRevision {
    /// The revision's topic.
    #[schema(min_length = 1, max_length = 1015, examples("Audit"))]
    pub topic: String,
    /// The revision's attributes.
    #[schema(value_type = WrittenAttributes)]
    pub attributes: Attributes,
    /// What the entity tag of the topic's newest revision must be, as `If-Match` says it: a tag in quotes, several with
    /// commas between them, or `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    pub if_match: Option<Tags>,
}

/// A revision that was appended together with a write of its node. Its attributes are those of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppendedBody {
    /// The revision's topic.
    #[schema(examples("Audit"))]
    pub topic: String,
    /// The revision's number.
    #[schema(minimum = 1, maximum = 999_999)]
    pub version: u32,
    /// The revision's entity tag.
    #[schema(examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    pub etag: String,
    /// A token of the copy of the newest revision, which the stream makes. A read with it (`written`) has a copy that
    /// shows this revision, or a later one.
    pub written: String,
}

impl FromJson for NewRevision {
    const WANTED: &'static str = "an object: the topic and the attributes";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let revision = Self {
            topic: fields.required("topic", "give the topic", topic)?,
            attributes: attributes(&mut fields)?,
            if_match: fields.optional("if_match", tags)?,
        };
        fields.close().map(|()| revision)
    }
}

/// Reads entity tags as `If-Match` has them.
pub(super) fn tags(raw: &RawValue, at: &Place<'_>) -> Result<Tags, JsonError> {
    let wanted = "`*`, or entity tags in quotes with commas between them";
    if_match(&json::text(raw, at)?).map_err(|_| JsonError::Type { path: at.to_string(), wanted })
}

/// Reads a topic that a key can hold.
pub(super) fn topic(raw: &RawValue, at: &Place<'_>) -> Result<String, JsonError> {
    let topic = json::text(raw, at)?;
    let part = "the topic";
    let refuse = |source| Err(JsonError::Key { path: at.to_string(), source });
    match topic.len() {
        0 => refuse(KeyError::Empty { part }),
        bytes if bytes > TOPIC_BYTES_MAX => refuse(KeyError::TooLong { part, bytes, limit: TOPIC_BYTES_MAX }),
        _ => Ok(topic),
    }
}

impl FromJson for CreateRevision {
    const WANTED: &'static str = "an object: a revision, with its attributes";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let attributes = attributes(&mut fields)?;
        fields.close().map(|()| Self { attributes })
    }
}

pub(super) fn attributes(fields: &mut Fields<'_>) -> Result<Attributes, JsonError> {
    fields.required("attributes", "give the attributes, or {} for none", json::value)
}
