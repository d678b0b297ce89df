//! The trash: a node that is put there keeps what is below it, and comes back as it was.

use super::item::{AttributeValue, Item, map_of, text, text_of};
use super::reserved::name_of;
use crate::keys::{Id, Schema, TrashTime};

/// The attribute of a base record whose node was put into the trash ([`Trashed`]). It counts only where the record
/// names no parent: another client that writes `parent` takes the node out of the trash.
pub const TRASHED: &str = "_trashed";

/// Most bytes of the name of who put a node into the trash. A row of the trash carries it.
const BY_BYTES_MAX: usize = 2_048;

/// How a node was put into the trash, by its base record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// When.
    pub at: TrashTime,
    /// The user, as the authorizer names them.
    pub by: Option<String>,
    /// The parent that the node had; a root had none.
    pub parent: Option<Id>,
    /// The life of that parent, if it was known.
    pub born: Option<String>,
}

const AT: &str = "at";
const BY: &str = "by";
const PARENT: &str = "parent";
const BORN: &str = "born";

impl Trashed {
    /// Reads the attribute of a base record. Returns `None` if there is none. Of a value that the API hasn't written
    /// counts what can be read: the node is in the trash all the same, or it would be among the live ones for as long.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        let value = item.get(TRASHED)?;
        Some(Self::parse(value).unwrap_or(Self { at: TrashTime::unknown(), by: None, parent: None, born: None }))
    }

    /// Reads the attribute where it counts: in a record that names no parent.
    #[must_use]
    pub fn in_record(record: &Item, schema: &Schema) -> Option<Self> {
        Self::read(record).filter(|_| !record.contains_key(&schema.names().parent))
    }

    /// True if the attribute is there, and the API hasn't written it so.
    #[must_use]
    pub fn is_malformed(item: &Item) -> bool {
        item.get(TRASHED).is_some_and(|value| {
            Self::parse(value).is_none_or(|trashed| trashed.at == TrashTime::unknown() || trashed.value() != *value)
        })
    }

    fn parse(value: &AttributeValue) -> Option<Self> {
        let map = map_of(value)?;
        Some(Self {
            at: text_of(&map, AT).and_then(TrashTime::parse).unwrap_or_else(TrashTime::unknown),
            by: text_of(&map, BY).filter(|by| by.len() <= BY_BYTES_MAX).map(str::to_owned),
            parent: text_of(&map, PARENT).and_then(|id| Id::new(id).ok()),
            born: name_of(&map, BORN).map(str::to_owned),
        })
    }

    /// The attribute's value. What isn't known is left out, and so is a name that is too long for a row.
    ///
    /// ```json
    /// {"at": "2026-02-03T04:05:06.789Z", "by": "anna", "parent": "V", "born": "0b6a…"}
    /// ```
    #[must_use]
    pub fn value(&self) -> AttributeValue {
        let at = Some(self.at.as_str()).filter(|_| self.at != TrashTime::unknown());
        let by = self.by.as_deref().filter(|by| by.len() <= BY_BYTES_MAX);
        let known = [(AT, at), (BY, by), (PARENT, self.parent.as_ref().map(Id::as_str))];
        let known = known.into_iter().chain([(BORN, self.born.as_deref())]);
        AttributeValue::M(known.filter_map(|(name, value)| Some((name.to_owned(), text(value?)))).collect())
    }
}

/// Whether a node is in the trash, as its placement has it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum InTrash {
    /// It isn't.
    #[default]
    No,
    /// It was put there at this time.
    Top(TrashTime),
    /// A node above it was.
    Below,
}

impl InTrash {
    /// True if the node is in the trash.
    #[must_use]
    pub fn is_in(&self) -> bool {
        *self != Self::No
    }
}
