//! The attributes that Sapwood keeps in a base record. All begin with `_`: those names are ours.

use super::Item;
use super::item::{AttributeValue, text_of};
use crate::keys::Schema;

/// How often the API has written this record. Writes are conditional on it.
pub const REVISION: &str = "_rev";
/// When the API made this record, as RFC 3339 in UTC.
pub const CREATED_AT: &str = "_created_at";
/// Who had the API make it, as the authorizer names them.
pub const CREATED_BY: &str = "_created_by";
/// When the API last wrote it, as RFC 3339 in UTC.
pub const UPDATED_AT: &str = "_updated_at";
/// Who had the API write it last.
pub const UPDATED_BY: &str = "_updated_by";
/// Which write of the API made it what it is: a write whose answer was lost is known by it when it is tried again.
pub const WRITE: &str = "_write";
/// The parent that the API (or an operation) has put this node under, having seen it there. A node that comes in while that
/// parent is being deleted is known by it.
pub const UNDER: &str = "_under";
/// That the node is being deleted by an operation: a [`DeletionMark`].
pub const DELETING: &str = "_deleting";
/// When DynamoDB may delete an item of ours (idempotency, operations, tombstones), where the table's TTL attribute has no
/// other name: seconds since 1970.
pub const EXPIRES: &str = "_expires";

/// Returns true if no client can give an attribute this name: it begins with `_`, or it is a key attribute's.
#[must_use]
pub fn is_reserved(name: &str, schema: &Schema) -> bool {
    let names = schema.names();
    name.starts_with('_') || name == names.partition_key || name == names.sort_key
}

/// What becomes of the children of a node that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeletionMode {
    /// They are removed as well, and all that is below them.
    Delete,
    /// They go to the node's parent; those of a root become roots.
    Adopt,
    /// They become roots.
    Detach,
}

impl DeletionMode {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Adopt => "adopt",
            Self::Detach => "detach",
        }
    }

    /// Reads it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Delete, Self::Adopt, Self::Detach].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// That a node is being deleted, and how. The API writes it into the base record; the stream does the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionMark {
    /// What becomes of its children.
    pub mode: DeletionMode,
    /// The operation's id.
    pub operation: String,
    /// Whether its revisions go as well.
    pub revisions: bool,
    /// When what is left of it may be forgotten: seconds since 1970.
    pub expires: u64,
    /// Which mark this is, where the stream has given it to a child: no two have the same, so that one which another
    /// client has taken back is told from the next. The API gives one mark for each operation.
    pub mark: Option<String>,
}

const MODE: &str = "mode";
const OPERATION: &str = "operation";
const REVISIONS: &str = "revisions";
const UNTIL: &str = "expires";
const MARK: &str = "mark";

impl DeletionMark {
    /// As an attribute's value.
    #[must_use]
    pub fn value(&self) -> AttributeValue {
        let attributes = [
            (MODE, AttributeValue::S(self.mode.as_str().to_owned())),
            (OPERATION, AttributeValue::S(self.operation.clone())),
            (REVISIONS, AttributeValue::Bool(self.revisions)),
            (UNTIL, AttributeValue::N(self.expires.to_string())),
        ];
        let mark = self.mark.iter().map(|mark| (MARK, AttributeValue::S(mark.clone())));
        AttributeValue::M(attributes.into_iter().chain(mark).map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Reads it off a base record. `None` where it isn't there, or nobody of ours has written it.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        Self::parse(item.get(DELETING)?)
    }

    /// Reads an attribute's value.
    #[must_use]
    pub fn parse(value: &AttributeValue) -> Option<Self> {
        let AttributeValue::M(map) = value else { return None };
        let map: Item = map.clone().into_iter().collect();
        let Some(AttributeValue::Bool(revisions)) = map.get(REVISIONS) else { return None };
        let Some(AttributeValue::N(expires)) = map.get(UNTIL) else { return None };
        Some(Self {
            mode: DeletionMode::parse(text_of(&map, MODE)?)?,
            operation: text_of(&map, OPERATION)?.to_owned(),
            revisions: *revisions,
            expires: expires.parse().ok()?,
            mark: match map.get(MARK) {
                None => None,
                Some(_) => Some(text_of(&map, MARK)?.to_owned()),
            },
        })
    }

    /// The same removal, as the mark of another node.
    #[must_use]
    pub fn marked(&self, mark: String) -> Self {
        Self { mark: Some(mark), ..self.clone() }
    }

    /// What this mark is known by: no other node, and no other time, has the same together with the node's id.
    #[must_use]
    pub fn name(&self) -> &str {
        self.mark.as_deref().unwrap_or(&self.operation)
    }
}
