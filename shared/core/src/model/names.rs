//! Names that no two siblings have, and the claims of them.
//!
//! A claim says which node has come to have a name. It is a hint that whoever finds it checks: the node's own record
//! says whether the node has the name.

use super::item::{Item, text, text_of, with_key};
use super::node::{BaseNode, has_mark};
use super::reserved::WRITE;
use super::settings::Settings;
use super::unique_names::UniqueNames;
use crate::keys::{Id, ItemKey, NodeRef, Schema};

/// The claim of the name that a node has by its record, by its key, with the name. `None` for a node that isn't there,
/// is being deleted or is in the trash, and where the record can't be understood: such a node has no name.
#[must_use]
pub fn held_name(node: &NodeRef, record: Option<&Item>, settings: &Settings) -> Option<(ItemKey, String)> {
    let (names, schema) = (settings.names, &settings.schema);
    let record = record.filter(|record| names.is_on() && !has_mark(Some(record)))?;
    let (parent, name) = BaseNode::live_place(record, node, schema)?;
    Some((schema.name_key(node, parent.as_ref(), names.compared(&name)), name))
}

/// True if a record gives its node the name of this claim, compared in either way: another handler may compare
/// otherwise.
#[must_use]
pub fn holds_name(node: &NodeRef, record: Option<&Item>, claim: &ItemKey, settings: &Settings) -> bool {
    let held = |names| held_name(node, record, &Settings { names, ..settings.clone() });
    let mut all = [UniqueNames::Exact, UniqueNames::Caseless].into_iter().filter_map(held);
    all.any(|(key, _)| key == *claim)
}

/// The claim of a name among siblings, for example
///
/// ```json
/// {"PK": "V", "SK": "NAME#docs", "_node": "d", "_write": "0b6a…"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameClaim {
    /// The node that came to have the name.
    pub node: Id,
    /// The name of the write by which it did. A claim that is made again has another one.
    pub write: String,
}

impl NameClaim {
    /// The attribute that names the node.
    pub const NODE: &str = "_node";

    /// The item.
    #[must_use]
    pub fn item(&self, key: &ItemKey, schema: &Schema) -> Item {
        let mut item = with_key(key, schema);
        item.insert(Self::NODE.to_owned(), text(self.node.as_str()));
        item.insert(WRITE.to_owned(), text(&self.write));
        item
    }

    /// The node that an item names as the one that has the name. `None` for an item that is no claim.
    #[must_use]
    pub fn node_in(item: &Item) -> Option<Id> {
        Id::new(text_of(item, Self::NODE)?).ok()
    }
}
