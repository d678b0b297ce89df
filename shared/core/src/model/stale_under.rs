//! When `_under` is stale: another client than the API or an operation has put the node where it is.

use super::copying::times;
use super::item::{AttributeValue, Item};
use super::reserved::{BORN, PUT_BACK, REVISION, UNDER, life_of};
use crate::keys::Schema;

/// The client that has put a node where it is, as a stream record shows.
#[derive(Clone, Debug, PartialEq)]
pub enum PutBy {
    /// None has: the node is where it was.
    Nobody,
    /// The API or an operation has, and `_under` says so.
    Us,
    /// Another client has, or the node is gone. Wherever this `_under` stands, it is a copy.
    Others(LifeUnder),
}

/// The life of a base record, and the parent that the API or an operation has put it under.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeUnder {
    born: Option<AttributeValue>,
    under: AttributeValue,
}

impl PutBy {
    /// Judges a change of a base record from `old` to `new`; `None` is a record that isn't there. A change of which an
    /// image is missing shows nothing, and must not come here.
    ///
    /// The API and operations count in `_rev` what they write together with `_under`. Whoever puts back a copy brings
    /// the old number. The API gives each node that it creates a life, so a record that comes without one is a copy.
    /// The copy of one that the API has created, and written once, can't be told from that write, unless a record shows
    /// how the node went.
    #[must_use]
    pub fn of(old: Option<&Item>, new: Option<&Item>, schema: &Schema) -> Self {
        let old = old.filter(|item| !item.contains_key(PUT_BACK));
        let Some(new) = new.filter(|item| !item.contains_key(PUT_BACK)) else {
            // A client that doesn't know lives gives the same to each.
            let gone = old.filter(|item| item.contains_key(BORN)).and_then(LifeUnder::of);
            return gone.map_or(Self::Nobody, Self::Others);
        };
        let Some(stale) = LifeUnder::of(new) else { return Self::Us };
        let is_same = |name: &str| old.and_then(|item| item.get(name)) == new.get(name);
        if is_same(&schema.names().parent) && is_same(UNDER) {
            return Self::Nobody;
        }
        let is_this_life = old.map_or(life_of(new).is_some(), |_| is_same(BORN));
        let is_counted = times_written(Some(new)) == times_written_next(old);
        if is_this_life && is_counted { Self::Us } else { Self::Others(stale) }
    }
}

impl LifeUnder {
    /// Reads a base record. Returns `None` if it has no `_under`.
    #[must_use]
    pub fn of(item: &Item) -> Option<Self> {
        Some(Self { born: item.get(BORN).cloned(), under: item.get(UNDER)?.clone() })
    }

    /// True if this base record says the same.
    #[must_use]
    pub fn is_of(&self, item: &Item) -> bool {
        item.get(UNDER) == Some(&self.under) && item.get(BORN) == self.born.as_ref()
    }
}

/// How often the API has written a record, or an operation has moved its node to an heir.
#[must_use]
pub fn times_written(item: Option<&Item>) -> usize {
    item.map_or(0, |item| times(item, REVISION))
}

/// The same, once it is written next. Another client may have put any number there, so the count ends at the largest.
#[must_use]
pub fn times_written_next(item: Option<&Item>) -> usize {
    times_written(item).saturating_add(1)
}
