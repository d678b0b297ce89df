//! The attributes of the user that an answer shows.

use std::collections::BTreeSet;

use super::ReadError;
use sapwood_core::keys::Schema;
use sapwood_core::model::{Item, is_reserved, text_of};
use sapwood_store::ReadOptions;

/// The most names, so that an expression with all of them stays within DynamoDB's 4 KB.
pub const FIELDS_MAX: usize = 100;

/// The longest name that an expression can have, in bytes ([AWS: constraints][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
pub const FIELD_BYTES_MAX: usize = 255;

/// The segment of a node, as its record or a row that carries it says.
pub(super) fn segment(item: &Item, schema: &Schema) -> Option<String> {
    text_of(item, &schema.names().segment).filter(|segment| !segment.is_empty()).map(str::to_owned)
}

/// The attributes of the user that an answer shows: all of them, or those of some names. Reserved names are never among
/// them, and neither are a node's `parent` and `segment`, which are fields of their own in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Option<BTreeSet<String>>);

impl Fields {
    /// Shows all attributes.
    #[must_use]
    pub fn all() -> Self {
        Self(None)
    }

    /// Shows the attributes of these names.
    ///
    /// # Errors
    /// [`ReadError::Parameter`] for more than 100 names, and for a name that is empty or longer than 255 bytes.
    pub fn only(names: impl IntoIterator<Item = String>) -> Result<Self, ReadError> {
        let names: BTreeSet<String> = names.into_iter().collect();
        let refuse = |reason| Err(ReadError::Parameter { parameter: "fields", reason });
        if names.len() > FIELDS_MAX {
            return refuse("give the names of at most 100 attributes");
        }
        if names.iter().any(String::is_empty) {
            return refuse("give the names of attributes with commas between them");
        }
        if names.iter().any(|name| name.len() > FIELD_BYTES_MAX) {
            return refuse("an attribute's name can have at most 255 bytes here");
        }
        Ok(Self(Some(names)))
    }

    /// The names, sorted; `None` if all attributes are shown.
    pub fn names(&self) -> Option<impl Iterator<Item = &str>> {
        self.0.as_ref().map(|names| names.iter().map(String::as_str))
    }

    /// Returns the options of a read of these attributes, and of those that the answer itself is made of (`own`).
    pub(super) fn reading<'a>(
        &self,
        strong: bool,
        own: impl IntoIterator<Item = &'a str>,
        schema: &Schema,
    ) -> ReadOptions {
        let shown = |names: &BTreeSet<String>| {
            let users = names.iter().filter(|name| !is_reserved(name, schema)).cloned();
            users.chain(own.into_iter().map(str::to_owned)).collect()
        };
        ReadOptions { strong, attributes: self.0.as_ref().map(shown) }
    }

    /// Returns these attributes of a node.
    #[must_use]
    pub fn of_node(&self, item: &Item, schema: &Schema) -> Item {
        let names = schema.names();
        let mut attributes = self.of_revision(item, schema);
        attributes.remove(&names.parent);
        attributes.remove(&names.segment);
        attributes
    }

    /// Returns these attributes of a revision. A revision's `parent` is an attribute like any other.
    #[must_use]
    pub fn of_revision(&self, item: &Item, schema: &Schema) -> Item {
        let shown =
            |name: &String| !is_reserved(name, schema) && self.0.as_ref().is_none_or(|names| names.contains(name));
        item.iter().filter(|(name, _)| shown(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}
