//! Outcomes of writes, and how they are kept for the next request with the same idempotency key.

use crate::keys::{Id, NodeRef, Schema, SortKey, Version};
use crate::model::{AttributeValue, DeletionMode, ETag, Item, Latest, decode_item, encode_item, key_of, text, text_of};

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum Outcome {
    /// A node is as it was asked for, with the revision that was appended. It is `created` if it wasn't there before.
    Node { node: NodeRef, item: Item, created: bool, revision: Option<Appended> },
    /// A revision is as it was asked for. It is `created` if it wasn't there before.
    Revision { topic: Latest, version: Version, item: Item, created: bool },
    /// The node or the revision is deleted.
    Deleted,
    /// The node is marked. The stream carries the deletion out, and does so with its children: the operation tells how
    /// far that is.
    Deleting { operation: String, node: Id, mode: DeletionMode, created_at: String },
    /// The node at the top of a copy is created. The stream copies what is below its source: the operation tells how
    /// far that is.
    Copying { operation: String, node: Id, source: Id, created_at: String },
}

/// A revision that was appended with its node. Its attributes are those that were asked for, so they aren't kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub version: Version,
    /// Its entity tag.
    pub etag: ETag,
}

const CREATED: &str = "created";
const ITEM: &str = "item";
const REVISION: &str = "revision";
const TOPIC: &str = "topic";
const VERSION: &str = "version";
const ETAG: &str = "etag";
const OPERATION: &str = "operation";
const NODE: &str = "node";
const MODE: &str = "mode";
const SOURCE: &str = "source";
const CREATED_AT: &str = "created_at";

impl Outcome {
    /// The outcome as it is kept: the bytes of an item, for example
    ///
    /// ```json
    /// {"created": true, "item": {"PK": "V", "SK": "NODE", "parent": "D", "_rev": 1}}
    /// {"created": false, "item": {"PK": "V", …}, "revision": {"topic": "Audit", "version": 4, "etag": "n0bY6Z…"}}
    /// {"operation": "5a1c7ab2-…", "node": "V", "mode": "adopt", "created_at": "2026-02-03T04:05:06.789Z"}
    /// {"operation": "5a1c7ab2-…", "node": "W", "source": "V", "created_at": "2026-02-03T04:05:06.789Z"}
    /// {}
    /// ```
    ///
    /// where the last is that of a node or a revision that was deleted at once.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut kept = match self {
            Self::Node { item, created, .. } | Self::Revision { item, created, .. } => vec![
                (CREATED, AttributeValue::Bool(*created)),
                (ITEM, AttributeValue::M(item.clone().into_iter().collect())),
            ],
            Self::Deleted => vec![],
            Self::Deleting { operation, node, mode, created_at } => vec![
                (OPERATION, text(operation)),
                (NODE, text(node.as_str())),
                (MODE, text(mode.as_str())),
                (CREATED_AT, text(created_at)),
            ],
            Self::Copying { operation, node, source, created_at } => vec![
                (OPERATION, text(operation)),
                (NODE, text(node.as_str())),
                (SOURCE, text(source.as_str())),
                (CREATED_AT, text(created_at)),
            ],
        };
        if let Self::Node { revision: Some(appended), .. } = self {
            kept.push((REVISION, appended.value()));
        }
        let kept: Item = kept.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        encode_item(&kept)
    }

    /// Reads an outcome that was kept. `None` where the bytes are not an outcome's.
    #[must_use]
    pub fn decode(bytes: &[u8], schema: &Schema) -> Option<Self> {
        let kept = decode_item(bytes)?;
        if kept.is_empty() {
            return Some(Self::Deleted);
        }
        let Some(AttributeValue::M(item)) = kept.get(ITEM) else { return Self::running(&kept) };
        let item: Item = item.clone().into_iter().collect();
        let created = kept.get(CREATED) == Some(&AttributeValue::Bool(true));
        let key = key_of(&item, schema)?;
        let node = schema.parse_partition(&key.pk).ok()?;
        match schema.parse_sort_key(&key.sk)? {
            SortKey::Node => {
                let revision = match kept.get(REVISION) {
                    Some(value) => Some(Appended::read(value)?),
                    None => None,
                };
                Some(Self::Node { node, item, created, revision })
            }
            SortKey::Revision { version, topic } => {
                Some(Self::Revision { topic: Latest { node, topic }, version, item, created })
            }
            _ => None,
        }
    }

    fn running(kept: &Item) -> Option<Self> {
        let operation = text_of(kept, OPERATION)?.to_owned();
        let node = Id::new(text_of(kept, NODE)?).ok()?;
        let created_at = text_of(kept, CREATED_AT)?.to_owned();
        if let Some(source) = text_of(kept, SOURCE) {
            return Some(Self::Copying { operation, node, source: Id::new(source).ok()?, created_at });
        }
        Some(Self::Deleting { operation, node, mode: DeletionMode::parse(text_of(kept, MODE)?)?, created_at })
    }

    /// The same outcome, with the record as it was found in the table.
    pub(super) fn with_item(self, found: Item) -> Self {
        match self {
            Self::Node { node, created, revision, .. } => Self::Node { node, item: found, created, revision },
            Self::Revision { topic, version, created, .. } => Self::Revision { topic, version, item: found, created },
            Self::Deleted | Self::Deleting { .. } | Self::Copying { .. } => self,
        }
    }
}

impl Appended {
    fn value(&self) -> AttributeValue {
        let version = AttributeValue::N(self.version.number().to_string());
        let kept = [(TOPIC, text(&self.topic)), (VERSION, version), (ETAG, text(self.etag.opaque()))];
        AttributeValue::M(kept.map(|(name, value)| (name.to_owned(), value)).into())
    }

    fn read(value: &AttributeValue) -> Option<Self> {
        let AttributeValue::M(kept) = value else { return None };
        let (Some(AttributeValue::S(topic)), Some(AttributeValue::N(version)), Some(AttributeValue::S(etag))) =
            (kept.get(TOPIC), kept.get(VERSION), kept.get(ETAG))
        else {
            return None;
        };
        let version = Version::new(version.parse().ok()?).ok()?;
        Some(Self { topic: topic.clone(), version, etag: ETag::named(etag.as_str()) })
    }
}
