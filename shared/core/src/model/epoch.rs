//! The epoch of all totals.

use super::format::{self, NewerFormat};
use super::item::{AttributeValue, Item, whole_of, with_key};
use crate::keys::{EPOCH_MAX, ItemKey, Schema};

/// The epoch of all totals: the item `EPOCH`. Totals of another one aren't read.
///
/// A later epoch has a greater number, and the numbers go round: which of two is the later one is decided as
/// [RFC 1982](https://www.rfc-editor.org/rfc/rfc1982) has it. So no number that somebody writes is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The attribute that holds it.
    pub const EPOCH: &str = "epoch";
    /// The attribute that says that nodes are still to be counted in it, with the name of the command that has begun
    /// it. That command removes it at the end.
    pub const UNFINISHED: &str = "unfinished";

    /// The item, for example `{"PK": "SAPWOOD", "SK": "EPOCH", "format": 1, "epoch": 2}`.
    #[must_use]
    pub fn item(self, schema: &Schema) -> Item {
        self.with_key(&schema.epoch_key(), schema)
    }

    /// The copy of the item, for example `{"PK": "SAPWOOD", "SK": "EPOCH#COPY", "format": 1, "epoch": 2}`.
    #[must_use]
    pub fn copy(self, schema: &Schema) -> Item {
        self.with_key(&schema.epoch_copy_key(), schema)
    }

    fn with_key(self, key: &ItemKey, schema: &Schema) -> Item {
        let mut item = with_key(key, schema);
        format::mark(&mut item);
        item.insert(Self::EPOCH.to_owned(), AttributeValue::N(self.0.to_string()));
        item
    }

    /// Reads the item. Without one of ours it is the first epoch. Fails if a newer version has written it.
    pub fn read(item: Option<&Item>) -> Result<Self, NewerFormat> {
        Ok(item.map(Self::found).transpose()?.flatten().unwrap_or_default())
    }

    /// Reads an item that is there. `None` for one that isn't ours. Fails if a newer version has written it.
    pub fn found(item: &Item) -> Result<Option<Self>, NewerFormat> {
        Ok(if format::is_known(item)? { epoch_of(item, Self::EPOCH) } else { None })
    }

    /// True if this epoch is later than the other one.
    #[must_use]
    pub fn is_after(self, other: Self) -> bool {
        let epochs = EPOCH_MAX + 1;
        let ahead = (self.0 + epochs - other.0) % epochs;
        ahead > 0 && ahead < epochs / 2
    }

    /// The later of two.
    #[must_use]
    pub fn or_later(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// Returns an epoch that is later than each of these. `None` if there is none: they lie all around.
    #[must_use]
    pub fn after(all: &[Self]) -> Option<Self> {
        let next = |epoch: &Self| Self((epoch.0 + 1) % (EPOCH_MAX + 1));
        all.iter().map(next).find(|next| all.iter().all(|epoch| next.is_after(*epoch)))
    }
}

pub(super) fn epoch_of(item: &Item, name: &str) -> Option<Epoch> {
    whole_of::<u32>(item, name).filter(|epoch| *epoch <= EPOCH_MAX).map(Epoch)
}
