//! The settings of a table.

use std::collections::BTreeSet;

use super::{AttributeValue, EXPIRES, Item, UniqueNames, is_reserved};
use crate::keys::{Id, Schema, SiblingPlace};

/// The attributes of a base record that its rows carry, like the projection of a secondary index.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Copied {
    /// All attributes.
    #[default]
    All,
    /// No attributes: rows say only where a node is.
    None,
    /// The attributes of these names.
    Only(BTreeSet<String>),
}

/// The order of siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiblingOrder {
    /// The attribute of base records whose values are in order.
    pub attribute: String,
    /// True if the API writes the attribute, to put nodes before and after others. Otherwise it is the user's alone.
    pub by_hand: bool,
}

impl SiblingOrder {
    /// Returns the place that a base record has among its siblings; `None` if the attribute is missing, or neither a
    /// number nor a text.
    #[must_use]
    pub fn place(&self, base: &Item, id: &Id) -> Option<SiblingPlace> {
        match base.get(&self.attribute)? {
            AttributeValue::N(digits) => SiblingPlace::of_number(digits, id),
            AttributeValue::S(text) => Some(SiblingPlace::of_text(text, id)),
            _ => None,
        }
    }
}

/// The settings of a table. A `main` function reads them from the environment and passes them down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The schema that writes and reads the table's keys.
    pub schema: Schema,
    /// True if path rows are on.
    pub path_rows: bool,
    /// True if root rows are on. They share one partition, so a table that gets thousands of roots a second needs them
    /// off.
    pub root_rows: bool,
    /// The order of siblings; `None` if they are in none.
    pub order: Option<SiblingOrder>,
    /// The attributes of base records that name other nodes, which get rows of these links.
    pub links: BTreeSet<String>,
    /// Whether siblings have names of their own.
    pub names: UniqueNames,
    /// The attributes that rows carry.
    pub copied: Copied,
    /// Attributes that no row ever carries, for example the keys of the owner's indexes.
    pub never_copied: BTreeSet<String>,
    /// The table's TTL attribute. It is never copied, or rows would expire.
    pub ttl: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schema: Schema::default(),
            path_rows: true,
            root_rows: true,
            order: None,
            links: BTreeSet::new(),
            names: UniqueNames::Off,
            copied: Copied::All,
            never_copied: BTreeSet::new(),
            ttl: None,
        }
    }
}

impl Settings {
    /// Returns the attribute that holds the expiry time of Sapwood's own items: the table's TTL attribute, or
    /// [`EXPIRES`].
    #[must_use]
    pub fn expires(&self) -> &str {
        self.ttl.as_deref().unwrap_or(EXPIRES)
    }

    /// Returns the attributes of a base record that its rows carry. Reserved names ([`is_reserved`]) and the TTL
    /// attribute are never among them.
    #[must_use]
    pub fn copies(&self, base: &Item) -> Item {
        base.iter()
            .filter(|(name, _)| self.is_copied(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// True if rows carry the attribute of this name.
    pub(super) fn is_copied(&self, name: &str) -> bool {
        let chosen = match &self.copied {
            Copied::All => true,
            Copied::None => false,
            Copied::Only(list) => list.contains(name),
        };
        chosen
            && !is_reserved(name, &self.schema)
            && self.ttl.as_deref() != Some(name)
            && !self.never_copied.contains(name)
    }
}
