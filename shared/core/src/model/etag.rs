//! Entity tags: what a client of the HTTP API has seen of a record, in a few bytes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::encoding::encode;
use super::{CREATED_AT, CREATED_BY, Item, TRASHED, Trashed, UPDATED_AT, UPDATED_BY};
use crate::keys::Schema;

/// How many bytes of the hash are kept: two contents have the same 128 bits by no chance.
const HASH_BYTES: usize = 16;

/// A strong entity tag of a node or a revision, 22 characters of base64: the hash of all that a client sees of it. What
/// the handler writes into a record, such as `_touched`, changes no tag.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ETag(String);

impl ETag {
    /// The entity tag of a base record: of its key, of its client's own attributes, of who wrote it and when, and of
    /// how its node was put into the trash, if it is there. Another client can take the node out without a stamp.
    #[must_use]
    pub fn of(item: &Item, schema: &Schema) -> Self {
        let names = schema.names();
        let of_place: [&str; 4] = [&names.partition_key, &names.sort_key, &names.parent, &names.segment];
        let stamps = [CREATED_AT, CREATED_BY, UPDATED_AT, UPDATED_BY];
        let is_in_trash = Trashed::in_record(item, schema).is_some();
        let is_ours = |name: &str| of_place.contains(&name) || stamps.contains(&name) || is_in_trash && name == TRASHED;
        let is_seen = |name: &str| !name.starts_with('_') || is_ours(name);
        let hash = Sha256::digest(encode(item.iter().filter(|(name, _)| is_seen(name))));
        Self(URL_SAFE_NO_PAD.encode(&hash[..HASH_BYTES]))
    }

    /// An entity tag as a client has spelt it, without its quotes.
    pub fn named(opaque: impl Into<String>) -> Self {
        Self(opaque.into())
    }

    /// The text between the quotes.
    #[must_use]
    pub fn opaque(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{REVISION, TOUCHED, TRASHED, WRITE, number, text};

    fn record(more: &[(&str, &str)]) -> Item {
        let known = [("PK", "V"), ("SK", "NODE"), ("name", "x"), (UPDATED_AT, "now")];
        known.iter().chain(more).map(|(name, value)| ((*name).to_owned(), text(*value))).collect()
    }

    fn tag_of(item: &Item) -> ETag {
        ETag::of(item, &Schema::default())
    }

    #[test]
    fn an_entity_tag_is_that_of_what_a_client_sees() {
        let tag = tag_of(&record(&[]));
        assert_eq!(tag.opaque().len(), 22, "characters of base64: {tag:?}");
        for unseen in [TOUCHED, WRITE, "_under", "_deleting"] {
            assert_eq!(tag_of(&record(&[(unseen, "y")])), tag, "{unseen}");
        }
        let mut written = record(&[]);
        written.insert(REVISION.to_owned(), number(7));
        assert_eq!(tag_of(&written), tag);
        for seen in ["PK", "SK", "name", "parent", "other", CREATED_AT, CREATED_BY, UPDATED_AT, UPDATED_BY] {
            assert_ne!(tag_of(&record(&[(seen, "y")])), tag, "{seen}");
        }
    }

    /// Whoever deletes for good what is in the trash names its tag: another client may have taken the node out.
    #[test]
    fn what_is_in_the_trash_has_another_tag_than_what_was_taken_out() {
        let (live, trashed) = (record(&[]), record(&[(TRASHED, "y")]));
        assert_ne!(tag_of(&trashed), tag_of(&live));
        assert_ne!(tag_of(&trashed), tag_of(&record(&[(TRASHED, "x")])));
        // What another client has left of it at a live node is removed by the handler.
        assert_eq!(tag_of(&record(&[(TRASHED, "y"), ("parent", "D")])), tag_of(&record(&[("parent", "D")])));
    }
}
