//! Copies of subtrees: the mark of the node at the top of a copy, which says how far it is, and what each copy says of
//! where it comes from.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::item::{AttributeValue, Item, map_of, optional, text, text_of, whole_of};
use super::reserved::name_of;
use crate::keys::{Id, KeyError};
use crate::words::words;

/// The [`CopyMark`] of the node at the top of a copy, while it is being made.
pub const COPYING: &str = "_copying";
/// The source of a copy ([`CopyOf`]).
pub const COPY_OF: &str = "_copy_of";

/// How many nodes an operation has copied, in its record.
pub const COPIED: &str = "_copied";
/// How many of them have another name than what they are copies of, since a sibling had that.
pub const RENAMED: &str = "_renamed";
/// How many copies the table has refused.
pub const LEFT_OUT: &str = "_left_out";
/// How a copy has ended ([`CopyEnd`]), in its operation's record.
pub const ENDED: &str = "_ended";

/// The prefix of the attributes of an operation's record that name copies not placed yet.
const UNPLACED: &str = "_u_";

/// Bytes of the hash in such a name. Among the copies of one operation two are the same once in 10^11 operations.
const UNPLACED_BYTES: usize = 8;

/// The mark of the node at the top of a copy that the stream handler is making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyMark {
    /// The operation's id.
    pub operation: String,
    /// The node that is copied with all that is below it.
    pub source: Id,
    /// The life of the source, if it was known. The copy ends with that life.
    pub born: Option<String>,
    /// The beginning of the ids of the copies below the top; without it they are UUIDs.
    pub ids: Option<String>,
    /// The sort key of the last row below the source that was dealt with; none before the first.
    pub after: Option<String>,
    /// True once the operation's record says how the copy has ended. The mark goes next.
    pub is_over: bool,
}

words! {
    /// How the walk of a copy has ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CopyEnd {
        /// It came to the last row.
        Walked = "walked",
        /// The source was deleted.
        SourceGone = "source-gone",
        /// There were more nodes than one copy may have.
        LimitReached = "limit-reached",
    }
}

impl CopyEnd {
    /// How an operation's record says that its copy has ended; `None` while it goes on.
    #[must_use]
    pub fn read(record: &Item) -> Option<Self> {
        text_of(record, ENDED).and_then(Self::parse)
    }
}

/// The source of a node that is a copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CopyOf {
    /// The operation's id.
    pub operation: String,
    /// The node that was copied.
    pub node: Id,
}

const OPERATION: &str = "operation";
const SOURCE: &str = "source";
const BORN: &str = "born";
const IDS: &str = "ids";
const AFTER: &str = "after";
const OVER: &str = "over";
const NODE: &str = "node";

/// How many bytes of the hash an id with a beginning of its own has: 22 characters of base64url.
const HASH_BYTES: usize = 16;

impl CopyMark {
    /// True if something that is no mark stands in the mark's place.
    #[must_use]
    pub fn is_unreadable(item: &Item) -> bool {
        item.contains_key(COPYING) && Self::read(item).is_none()
    }

    /// The value of [`COPYING`]. What isn't known, or not there yet, is left out.
    ///
    /// ```json
    /// {"operation": "5a1c7ab2-…", "source": "V", "born": "0b6a…", "ids": "acme", "after": "NODE#0001#d"}
    /// ```
    #[must_use]
    pub fn value(&self) -> AttributeValue {
        let known = [
            (OPERATION, Some(self.operation.as_str())),
            (SOURCE, Some(self.source.as_str())),
            (BORN, self.born.as_deref()),
            (IDS, self.ids.as_deref()),
            (AFTER, self.after.as_deref()),
            (OVER, self.is_over.then_some("yes")),
        ];
        AttributeValue::M(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), text(value?)))).collect())
    }

    /// Reads the mark of a base record. Returns `None` if there is none, or neither the API nor the handler has written
    /// it: such a value counts as none everywhere, and asks for nothing.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        let map = map_of(item.get(COPYING)?)?;
        let known = |name: &str| Some(optional(&map, name, text_of)?.map(str::to_owned));
        Some(Self {
            operation: name_of(&map, OPERATION)?.to_owned(),
            source: Id::new(text_of(&map, SOURCE)?).ok()?,
            born: known(BORN)?,
            ids: known(IDS)?,
            after: known(AFTER)?,
            is_over: known(OVER)?.is_some(),
        })
    }

    /// The id of a node's copy, always the same within an operation. Fails if it is too long with its beginning.
    pub fn id_of(&self, node: &Id) -> Result<Id, KeyError> {
        match &self.ids {
            Some(ids) => Id::new(format!("{ids}-{}", URL_SAFE_NO_PAD.encode(&self.hash(node)[..HASH_BYTES]))),
            None => Id::new(self.name_of(node)),
        }
    }

    /// The name of the life of a node's copy, and of the write that made it. The copy is made once, so no other has it.
    #[must_use]
    pub fn name_of(&self, node: &Id) -> String {
        uuid(&self.hash(node))
    }

    /// A number that no other copy has but by chance.
    #[must_use]
    pub fn number_of(&self, node: &Id) -> u64 {
        self.hash(node).iter().take(UNPLACED_BYTES).fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }

    fn hash(&self, node: &Id) -> [u8; 32] {
        hash(&self.operation, node)
    }
}

fn hash(operation: &str, node: &Id) -> [u8; 32] {
    Sha256::new().chain_update(operation).chain_update([0]).chain_update(node.as_str()).finalize().into()
}

/// True if an operation's record names copies that aren't placed yet.
#[must_use]
pub fn names_unplaced(record: &Item) -> bool {
    record.keys().any(|name| name.starts_with(UNPLACED))
}

/// A count in an operation's record, such as [`COPIED`]; 0 if there is none.
#[must_use]
pub fn times(record: &Item, name: &str) -> usize {
    whole_of(record, name).unwrap_or(0)
}

/// A UUID of version 8, whose bits are one's own ([RFC 9562, 5.8](https://www.rfc-editor.org/rfc/rfc9562#section-5.8)).
fn uuid(hash: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (position, byte) in hash.iter().take(HASH_BYTES).enumerate() {
        if [4, 6, 8, 10].contains(&position) {
            text.push('-');
        }
        let byte = match position {
            6 => (byte & 0x0f) | 0x80,
            8 => (byte & 0x3f) | 0x80,
            _ => *byte,
        };
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

impl CopyOf {
    /// The attribute of the operation's record that is there until this copy is placed.
    #[must_use]
    pub fn unplaced(&self) -> String {
        let hash = hash(&self.operation, &self.node);
        format!("{UNPLACED}{}", URL_SAFE_NO_PAD.encode(&hash[..UNPLACED_BYTES]))
    }

    /// The value of [`COPY_OF`].
    ///
    /// ```json
    /// {"operation": "5a1c7ab2-…", "node": "d"}
    /// ```
    #[must_use]
    pub fn value(&self) -> AttributeValue {
        let attributes = [(OPERATION, text(&self.operation)), (NODE, text(self.node.as_str()))];
        AttributeValue::M(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Reads what a base record says. Returns `None` if its node is no copy.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        let map = map_of(item.get(COPY_OF)?)?;
        Some(Self { operation: name_of(&map, OPERATION)?.to_owned(), node: Id::new(text_of(&map, NODE)?).ok()? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn mark(ids: Option<&str>) -> CopyMark {
        CopyMark {
            operation: "019aa5c2-2be0-7d67-a2b0-0f4f3d9f5c77".to_owned(),
            source: Id::new("V").unwrap(),
            born: Some("life".to_owned()),
            ids: ids.map(str::to_owned),
            after: Some("NODE#0001#d".to_owned()),
            is_over: false,
        }
    }

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        for mark in [mark(None), mark(Some("acme")), CopyMark { born: None, after: None, ..mark(None) }] {
            let item = Item::from([(COPYING.to_owned(), mark.value())]);
            assert_eq!(CopyMark::read(&item), Some(mark));
        }
        let of = CopyOf { operation: "o".to_owned(), node: Id::new("d").unwrap() };
        assert_eq!(CopyOf::read(&Item::from([(COPY_OF.to_owned(), of.value())])), Some(of));
    }

    #[test]
    fn what_no_handler_writes_is_no_mark() {
        for value in
            [text("x"), AttributeValue::M([].into()), AttributeValue::M([("source".to_owned(), text("V"))].into())]
        {
            let item = Item::from([(COPYING.to_owned(), value.clone()), (COPY_OF.to_owned(), value)]);
            assert_eq!((CopyMark::read(&item), CopyOf::read(&item)), (None, None), "{item:?}");
        }
    }

    #[test]
    fn the_id_of_a_copy_follows_from_operation_and_node() {
        let id = |mark: &CopyMark, node: &str| mark.id_of(&Id::new(node).unwrap()).unwrap();
        let made = id(&mark(None), "d");
        assert_eq!(made, id(&CopyMark { after: None, ..mark(None) }, "d"));
        assert_ne!(made, id(&mark(None), "e"));
        assert_ne!(made, id(&CopyMark { operation: "other".to_owned(), ..mark(None) }, "d"));
        let parts: Vec<usize> = made.as_str().split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{made}");
        assert_eq!(&made.as_str()[14..15], "8", "the version of {made}");
        let named = id(&mark(Some("acme")), "d");
        assert!(named.as_str().starts_with("acme-") && named.as_str().len() == 27, "{named}");
    }
}
