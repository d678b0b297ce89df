//! Revisions.

use sapwood_core::keys::{Id, KeyError, NodeRef, Schema, SortKey, Version};
use sapwood_core::model::{Item, Settings};
use sapwood_core::write::Tags;
use sapwood_engine::query::{Revision, Stamps};
use sapwood_json::{self as json, Attributes, Fields, JsonError, Place};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::attributes::{ReadAttributes, WrittenAttributes};
use super::fields::{answers, body, optional, required};
use crate::headers::if_match;

/// The longest topic, in bytes. A sort key has room for it with the highest version.
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

answers! {
/// A revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
RevisionBody {
    /// The id that the revision belongs to. A node of this id need not exist.
    #[schema(min_length = 1, max_length = 1014, examples("ORDER#98765"))]
    id: String,
    /// The revision's topic.
    #[schema(examples("Audit"))]
    topic: String,
    /// The revision's number.
    #[schema(minimum = 1, maximum = 999_999)]
    version: u32,
    /// The user's own attributes.
    #[schema(value_type = ReadAttributes)]
    attributes: Attributes,
    /// When the API created the revision; absent if another client did.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    created_at?: String,
    /// Who had the API create the revision, as the authorizer names the caller.
    created_by?: String,
    /// When the API last wrote the revision.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    updated_at?: String,
    /// Who had the API write the revision last.
    updated_by?: String,
}
}

impl RevisionBody {
    /// Makes the body of a base record.
    #[must_use]
    pub fn of(id: &Id, topic: &str, version: Version, base: &Item, settings: &Settings) -> Self {
        let Stamps { created_at, created_by, updated_at, updated_by } = Stamps::read(base);
        let (id, topic, version) = (id.to_string(), topic.to_owned(), version.number());
        let attributes = Attributes::of_revision(base, &settings.schema);
        Self { id, topic, version, attributes, created_at, created_by, updated_at, updated_by }
    }

    /// Makes the body of a revision of a node, as a list has it.
    #[must_use]
    pub fn listed(node: &NodeRef, found: Revision) -> Self {
        let Stamps { created_at, created_by, updated_at, updated_by } = found.stamps;
        let (id, version, attributes) = (node.id.to_string(), found.version.number(), Attributes(found.attributes));
        Self { id, topic: found.topic, version, attributes, created_at, created_by, updated_at, updated_by }
    }
}

body! {
/// The content of a revision.
#[derive(Default)]
CreateRevision: "an object: a revision, with its attributes" {
    /// The revision's attributes.
    #[schema(value_type = WrittenAttributes)]
    attributes: Attributes = attributes,
}
}

body! {
/// A revision that is appended together with a write of its node.
NewRevision: "an object: the topic and the attributes" {
    /// The revision's topic.
    #[schema(min_length = 1, max_length = 1015, examples("Audit"))]
    topic: String = required("give the topic", topic),
    /// The revision's attributes.
    #[schema(value_type = WrittenAttributes)]
    attributes: Attributes = attributes,
    /// What the entity tag of the topic's newest revision must be, as `If-Match` says it: a tag in quotes, several with
    /// commas between them, or `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    if_match: Option<Tags> = optional(tags),
}
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

/// The attributes of a revision, which must be there.
pub(super) fn attributes(fields: &mut Fields<'_>, name: &str) -> Result<Attributes, JsonError> {
    fields.required(name, "give the attributes, or {} for none", json::value)
}
