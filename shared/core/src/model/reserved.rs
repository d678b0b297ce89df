//! The attributes that Sapwood keeps in base records. Their names begin with `_`, which no client's may.

use super::Item;
use super::item::{AttributeValue, map_of, optional, text_of};
use crate::keys::{Id, Schema};
use crate::words::words;

/// How often the API has written this record, or an operation moved its node to an heir. The API's writes depend on it.
pub const REVISION: &str = "_rev";
/// The time when the API created this record: RFC 3339, in UTC.
pub const CREATED_AT: &str = "_created_at";
/// The caller who created the record, as the authorizer names them.
pub const CREATED_BY: &str = "_created_by";
/// The time of the API's last write of this record: RFC 3339, in UTC.
pub const UPDATED_AT: &str = "_updated_at";
/// The caller of the API's last write.
pub const UPDATED_BY: &str = "_updated_by";
/// The id of the API's last write. A retry recognizes by it a write whose answer was lost.
pub const WRITE: &str = "_write";
/// The id of the API's write before the last. It finds a write whose answer was lost, and that another has followed.
pub const WRITE_BEFORE: &str = "_write_before";
/// The name of the node's life, which the API gives a base record when it creates it, and keeps in every later write.
/// An id that is deleted and created again begins another life. A lineage remembers the life of its node, so that
/// another client's put, which drops this attribute, doesn't end it.
pub const BORN: &str = "_born";
/// The parent that the API or an operation has put this node under, and the life of it that it has seen ([`Under`]). By
/// it the handler recognizes a late child: a child that arrives after its parent was deleted. The handler removes it
/// where another client has put the node there.
pub const UNDER: &str = "_under";
/// The [`DeletionMark`] of a node that is being deleted.
pub const DELETING: &str = "_deleting";
/// The attribute of a record that a repair has put back, only to delete it again: the name of the repair.
pub const PUT_BACK: &str = "_put_back";
/// The time after which DynamoDB may delete an idempotency record, an operation or a tombstone, in seconds since 1970.
/// A table with a TTL attribute of another name uses that instead.
pub const EXPIRES: &str = "_expires";

/// Most bytes of the name of a life, a mark or an operation: lineages and children's marks must have room for them. A
/// longer one is another client's, and counts as none.
const NAME_BYTES_MAX: usize = 256;

/// The name of a life, a mark or an operation in an attribute.
pub(super) fn name_of<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
    text_of(item, attribute).filter(|name| name.len() <= NAME_BYTES_MAX)
}

/// The life that a base record names.
#[must_use]
pub fn life_of(record: &Item) -> Option<&str> {
    name_of(record, BORN)
}

/// The value of [`UNDER`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Under {
    /// The parent.
    pub parent: Id,
    /// The parent's life. `None` if unknown: another client had just written the parent, and no lineage named one.
    pub born: Option<String>,
}

impl Under {
    const PARENT: &str = "parent";
    const BORN: &str = "born";

    /// Reads the attribute of a base record. `None` if there is none, or none of the API's or the handler's.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        let map = map_of(item.get(UNDER)?)?;
        let parent = Id::new(text_of(&map, Self::PARENT)?).ok()?;
        Some(Self { parent, born: name_of(&map, Self::BORN).map(str::to_owned) })
    }

    /// The attribute's value. `born` is left out where it isn't known.
    ///
    /// ```json
    /// {"parent": "V", "born": "0b6a…"}
    /// ```
    #[must_use]
    pub fn value(&self) -> AttributeValue {
        let parent = (Self::PARENT, AttributeValue::S(self.parent.as_str().to_owned()));
        let born = self.born.iter().map(|born| (Self::BORN, AttributeValue::S(born.clone())));
        AttributeValue::M(std::iter::once(parent).chain(born).map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// Returns true if both are known, and the same life.
#[must_use]
pub fn is_same_life(one: Option<&str>, other: Option<&str>) -> bool {
    one.is_some() && one == other
}

/// Returns true if no client can give an attribute this name: it begins with `_`, or it is a key attribute's.
#[must_use]
pub fn is_reserved(name: &str, schema: &Schema) -> bool {
    let names = schema.names();
    name.starts_with('_') || name == names.partition_key || name == names.sort_key
}

words! {
    /// The fate of the children of a node that is being deleted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DeletionMode {
        /// All descendants are deleted as well.
        Delete = "delete",
        /// The node's parent adopts its children. The children of a root become roots.
        Adopt = "adopt",
        /// The children become roots.
        Detach = "detach",
    }
}

/// The mark of a deletion. The API writes it into the base record, and the stream handler carries the deletion out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionMark {
    /// The fate of the node's children.
    pub mode: DeletionMode,
    /// The operation's id.
    pub operation: String,
    /// True if the node's revisions are deleted as well.
    pub revisions: bool,
    /// The mark's own name, if the handler gave it to a descendant; the API's has none. No two marks have the same: one
    /// that another client has taken back is told from the next.
    pub mark: Option<String>,
}

const MODE: &str = "mode";
const OPERATION: &str = "operation";
const REVISIONS: &str = "revisions";
const MARK: &str = "mark";

impl DeletionMark {
    /// The value of [`DELETING`]. `mark` is left out where there is none.
    ///
    /// ```json
    /// {"mode": "delete", "operation": "5a1c7ab2-…", "revisions": true, "mark": "…"}
    /// ```
    #[must_use]
    pub fn value(&self) -> AttributeValue {
        let attributes = [
            (MODE, AttributeValue::S(self.mode.as_str().to_owned())),
            (OPERATION, AttributeValue::S(self.operation.clone())),
            (REVISIONS, AttributeValue::Bool(self.revisions)),
        ];
        let mark = self.mark.iter().map(|mark| (MARK, AttributeValue::S(mark.clone())));
        AttributeValue::M(attributes.into_iter().chain(mark).map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Reads the mark of a base record. Returns `None` if there is none, or neither the API nor the handler has written
    /// it: such a value counts as none everywhere, and asks for nothing.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        Self::parse(item.get(DELETING)?)
    }

    /// Reads the value of [`DELETING`].
    #[must_use]
    pub fn parse(value: &AttributeValue) -> Option<Self> {
        let map = map_of(value)?;
        let Some(AttributeValue::Bool(revisions)) = map.get(REVISIONS) else { return None };
        Some(Self {
            mode: DeletionMode::parse(text_of(&map, MODE)?)?,
            operation: name_of(&map, OPERATION)?.to_owned(),
            revisions: *revisions,
            mark: optional(&map, MARK, name_of)?.map(str::to_owned),
        })
    }

    /// Returns the mark for a descendant that the same deletion deletes.
    #[must_use]
    pub fn marked(&self, mark: String) -> Self {
        Self { mark: Some(mark), ..self.clone() }
    }

    /// Returns the mark's name. Together with the node's id it identifies the deletion: no other deletion has both.
    #[must_use]
    pub fn name(&self) -> &str {
        self.mark.as_deref().unwrap_or(&self.operation)
    }
}
