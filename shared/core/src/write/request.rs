//! Who writes, when, and on which preconditions.

use super::Idempotency;
use super::refusal::{Precondition, Refusal};
use crate::hash;
use crate::keys::Schema;
use crate::model::{ETag, Item, WRITE, WRITE_BEFORE, text, text_of};

/// A request to write.
#[derive(Clone, Debug)]
pub struct Request {
    /// The writer and the time.
    pub stamp: Stamp,
    /// The preconditions on the record that is there.
    pub preconditions: Preconditions,
    /// The key under which the request is done once.
    pub idempotency: Option<Idempotency>,
}

impl Request {
    /// A request without preconditions and without a key.
    #[must_use]
    pub fn new(stamp: Stamp) -> Self {
        Self { stamp, preconditions: Preconditions::default(), idempotency: None }
    }
}

/// The writer and the time. A value: the core knows no clock and no randomness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The time as RFC 3339 in UTC, to the millisecond.
    pub at: String,
    /// The same time in seconds since 1970.
    pub seconds: u64,
    /// The caller, as the authorizer names them.
    pub by: String,
    /// A name for this write that no other has. A write whose answer was lost finds itself in place by it.
    pub token: String,
    /// Its order among the writes that place nodes at the same time.
    pub tiebreak: Tiebreak,
}

/// The order of a write among those that place nodes at the same time. The operations of a batch share the time and the
/// seed of their batch, so that no other node comes between those that they put last, or first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tiebreak {
    /// The time in microseconds since 1970.
    pub micros: u64,
    /// A number that hardly any other has.
    pub seed: u64,
    /// The position in the batch.
    pub part: u16,
}

impl Tiebreak {
    /// Makes the tiebreak of a write, or of a batch, at this time and with this name.
    #[must_use]
    pub fn new(micros: u64, name: &str) -> Self {
        Self { micros, seed: hash::continued(hash::EMPTY, name.bytes()), part: 0 }
    }
}

impl Stamp {
    /// True if this write made the item what it is.
    pub(super) fn made(&self, item: Option<&Item>) -> bool {
        item.and_then(|item| text_of(item, WRITE)) == Some(&self.token)
    }

    /// True if this write made the item what it was before the last write.
    pub(super) fn made_before(&self, item: Option<&Item>) -> bool {
        item.and_then(|item| text_of(item, WRITE_BEFORE)) == Some(&self.token)
    }

    pub(super) fn mark(&self, item: &mut Item) {
        item.insert(WRITE.to_owned(), text(&self.token));
    }
}

/// The preconditions of a write on a record, by its entity tag ([RFC 9110, 13.1][rfc]).
///
/// [rfc]: https://www.rfc-editor.org/rfc/rfc9110#section-13.1
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The record's tag must be one of these (`If-Match`).
    pub if_match: Option<Tags>,
    /// The record's tag must be none of these (`If-None-Match`).
    pub if_none_match: Option<Tags>,
}

/// The entity tags that a client names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// `*`: whatever is there, as long as something is.
    Any,
    /// These tags.
    These(Vec<ETag>),
}

impl Preconditions {
    /// True if the client has named any precondition.
    #[must_use]
    pub fn are_given(&self) -> bool {
        self.if_match.is_some() || self.if_none_match.is_some()
    }

    /// Checks the entity tag of the record that is there, or that none is. Refused by the first that doesn't hold.
    pub fn check(&self, now: Option<&ETag>) -> Result<(), Refusal> {
        if self.if_match.as_ref().is_some_and(|wanted| !wanted.include(now)) {
            return Err(Refusal::PreconditionFailed(Precondition::IfMatch));
        }
        if self.if_none_match.as_ref().is_some_and(|unwanted| unwanted.include(now)) {
            return Err(Refusal::PreconditionFailed(Precondition::IfNoneMatch));
        }
        Ok(())
    }

    pub(super) fn check_item(&self, item: Option<&Item>, schema: &Schema) -> Result<(), Refusal> {
        if !self.are_given() {
            return Ok(());
        }
        self.check(item.map(|item| ETag::of(item, schema)).as_ref())
    }
}

impl Tags {
    /// True if this is one of the tags.
    #[must_use]
    pub fn include(&self, now: Option<&ETag>) -> bool {
        match (self, now) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::These(tags), Some(now)) => tags.contains(now),
        }
    }
}
