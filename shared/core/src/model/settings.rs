//! The settings of a table.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use super::folding::folded;
use super::variables::is_free;
use super::{AttributeValue, EXPIRES, Item, Totals, UniqueNames, is_reserved};
use crate::keys::{Id, ORDER_ATTRIBUTES_MAX, OrderValue, Schema, SiblingPlace};

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

/// The order of siblings: by an attribute, and where values are equal by the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiblingOrder {
    /// The attributes of base records whose values are in order. There is one at least.
    attributes: Vec<OrderAttribute>,
    /// True if the API writes the attribute, to put nodes before and after others. Otherwise it is the user's alone.
    pub by_hand: bool,
}

/// An attribute that orders siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderAttribute {
    /// Its name.
    pub name: String,
    /// True if the case of texts doesn't count, nor which of Unicode's forms they have.
    pub is_caseless: bool,
}

/// The end of the name of an attribute whose case doesn't count.
const CASELESS: &str = ":caseless";

impl OrderAttribute {
    /// Reads an attribute as settings name it: `name`, or `name:caseless`.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let name = text.strip_suffix(CASELESS);
        Self { name: name.unwrap_or(text).to_owned(), is_caseless: name.is_some() }
    }

    /// A text as it is compared with others.
    #[must_use]
    pub fn compared<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_caseless { folded(text).into() } else { text.into() }
    }

    fn value<'b>(&self, base: &'b Item) -> OrderValue<'b> {
        match base.get(&self.name) {
            Some(AttributeValue::N(digits)) => OrderValue::Number(digits),
            Some(AttributeValue::S(text)) => OrderValue::Text(self.compared(text)),
            _ => OrderValue::Missing,
        }
    }
}

impl fmt::Display for OrderAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        f.write_str(if self.is_caseless { CASELESS } else { "" })
    }
}

impl SiblingOrder {
    /// The order by one attribute, which is the user's.
    #[must_use]
    pub fn by(attribute: &str) -> Self {
        Self { attributes: vec![OrderAttribute::read(attribute)], by_hand: false }
    }

    /// The order by several attributes of the user's. `None` without any, or over [`ORDER_ATTRIBUTES_MAX`].
    #[must_use]
    pub fn by_several(attributes: Vec<OrderAttribute>) -> Option<Self> {
        (1..=ORDER_ATTRIBUTES_MAX).contains(&attributes.len()).then_some(Self { attributes, by_hand: false })
    }

    /// Reads an order as settings and requests name it: `rank,name:caseless`. The error says what is expected instead.
    pub fn read(text: &str, schema: &Schema) -> Result<Self, &'static str> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let attributes: Vec<OrderAttribute> = names.map(OrderAttribute::read).collect();
        let is_one = |attribute: &OrderAttribute| !attribute.name.is_empty() && is_free(&attribute.name, schema);
        if !attributes.iter().all(is_one) {
            return Err("attributes of base records that aren't Sapwood's own, nor keys, nor the parent");
        }
        Self::by_several(attributes).ok_or("1 to 4 attributes")
    }

    /// The order by hand: the API writes the attribute. `None` if there are several, or if case doesn't count: between
    /// two texts of which only the case differs nothing can be put.
    #[must_use]
    pub fn written_by_hand(self) -> Option<Self> {
        let is_plain = self.attributes.len() == 1 && self.attributes.iter().all(|attribute| !attribute.is_caseless);
        is_plain.then_some(Self { by_hand: true, ..self })
    }

    /// The attributes, in the order in which they are compared.
    #[must_use]
    pub fn attributes(&self) -> &[OrderAttribute] {
        &self.attributes
    }

    /// The name of the first attribute: where siblings are ordered by hand, of the one that the API writes.
    #[must_use]
    pub fn attribute(&self) -> &str {
        self.attributes.first().map_or("", |attribute| &attribute.name)
    }

    /// Returns the place of a base record among its siblings. One without a number or text comes after all values.
    pub fn place(&self, base: &Item, id: &Id) -> SiblingPlace {
        SiblingPlace::of_values(self.attributes.iter().map(|attribute| attribute.value(base)), id)
    }
}

impl fmt::Display for SiblingOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, attribute) in self.attributes.iter().enumerate() {
            write!(f, "{}{attribute}", if position == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// The settings of a table. A `main` function reads them from the environment and passes them down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The schema that writes and reads the table's keys.
    pub schema: Schema,
    /// True if path rows are on.
    pub path_rows: bool,
    /// True if root rows are on. They share a partition, so a table with thousands of new roots a second needs them
    /// off.
    pub root_rows: bool,
    /// The order of siblings; `None` if they are in none.
    pub order: Option<SiblingOrder>,
    /// The attributes of base records that name other nodes, which get rows of these links.
    pub links: BTreeSet<String>,
    /// Whether siblings have names of their own.
    pub names: UniqueNames,
    /// The totals that are kept of what is below each node; `None` if there are none.
    pub totals: Option<Totals>,
    /// True if the trees have feeds of their changes.
    pub changes: bool,
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
            totals: None,
            changes: false,
            copied: Copied::All,
            never_copied: BTreeSet::new(),
            ttl: None,
        }
    }
}

impl Settings {
    /// Returns the attribute with the expiry time of Sapwood's own items: the table's TTL attribute, or [`EXPIRES`].
    #[must_use]
    pub fn expires(&self) -> &str {
        self.ttl.as_deref().unwrap_or(EXPIRES)
    }

    /// The attributes of a base record that its rows carry: neither reserved names ([`is_reserved`]) nor the TTL
    /// attribute.
    #[must_use]
    pub fn copies(&self, base: &Item) -> Item {
        base.iter()
            .filter(|(name, _)| self.is_copied(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// True if rows carry the attribute of this name.
    #[must_use]
    pub fn is_copied(&self, name: &str) -> bool {
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
