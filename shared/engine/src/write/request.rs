//! What every write is given, and what it answers.

use sapwood_core::keys::{ItemKey, Version};
use sapwood_core::model::{Item, WRITE, text, text_of};
use sapwood_table::Action;

/// Who writes, and when. A value: this module knows no clock and no randomness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The time as RFC 3339 in UTC, to the millisecond.
    pub at: String,
    /// The same in seconds since 1970.
    pub seconds: u64,
    /// Who, as the authorizer names them.
    pub by: String,
    /// A name for this write that no other has. A write whose answer was lost finds itself in place by it.
    pub token: String,
}

impl Stamp {
    /// Whether this write made the item what it is.
    pub(super) fn made(&self, item: Option<&Item>) -> bool {
        item.and_then(|item| text_of(item, WRITE)) == Some(&self.token)
    }

    pub(super) fn mark(&self, item: &mut Item) {
        item.insert(WRITE.to_owned(), text(&self.token));
    }
}

/// What must hold of what is there; looked at at each reading.
#[derive(Clone, Copy, Default)]
pub enum Precondition<'a> {
    /// Nothing.
    #[default]
    None,
    /// That it isn't there (`If-None-Match: *`).
    Absent,
    /// That it is there and is as wanted (`If-Match`).
    Matches(&'a (dyn Fn(&Item) -> bool + Sync)),
    /// That this holds, whether it is there or not.
    Holds(&'a (dyn Fn(Option<&Item>) -> bool + Sync)),
}

impl Precondition<'_> {
    pub(super) fn holds(&self, item: Option<&Item>) -> bool {
        match self {
            Self::None => true,
            Self::Absent => item.is_none(),
            Self::Matches(wanted) => item.is_some_and(wanted),
            Self::Holds(wanted) => wanted(item),
        }
    }

    /// Whether every attribute counts, not only the number of the API's last write.
    pub(super) fn is_strict(&self) -> bool {
        matches!(self, Self::Matches(_) | Self::Holds(_))
    }
}

/// What is done besides, in the same transaction: how an `Idempotency-Key`'s record is completed. Given what the write
/// will have done, since the answer says it.
pub type Also<'a> = &'a (dyn Fn(&Done) -> Vec<Action> + Sync);

/// One write as it is asked for, apart from what is written.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Who, and when.
    pub stamp: &'a Stamp,
    /// What must hold.
    pub precondition: Precondition<'a>,
    /// What is done besides.
    pub also: Option<Also<'a>>,
}

impl<'a> Request<'a> {
    /// One without precondition and with nothing besides.
    #[must_use]
    pub fn new(stamp: &'a Stamp) -> Self {
        Self { stamp, precondition: Precondition::None, also: None }
    }

    pub(super) fn also(&self, done: &Done) -> Vec<Action> {
        self.also.map_or_else(Vec::new, |also| also(done))
    }
}

/// What a write has done.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// A base record is as it was asked for.
    Written(Written),
    /// It is gone.
    Deleted,
    /// It is marked; the stream does the rest, and this operation tells how far that is.
    Deleting {
        /// The operation's id.
        operation: String,
    },
}

/// A base record as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// Its key.
    pub key: ItemKey,
    /// The item.
    pub item: Item,
    /// Whether it wasn't there before.
    pub created: bool,
    /// A revision's number.
    pub version: Option<Version>,
}
