//! The links to a node.

use std::collections::BTreeSet;

use super::fields::segment;
use super::page::Listing;
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{Id, NodeRef, SortKey};
use sapwood_core::model::{Item, ROW_ATTRIBUTES, is_truncated, own_ancestors};
use sapwood_store::{RetryPolicy, Table};

/// A node that links to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The id of the node that links.
    pub id: Id,
    /// Its parent.
    pub parent: Option<Id>,
    /// Its ancestors that were asked for, nearest first.
    pub ancestors: Vec<Id>,
    /// The node's segment, if it has one and rows carry it.
    pub segment: Option<String>,
    /// The attributes that rows carry.
    pub attributes: Item,
    /// True if the row had no room for the attributes.
    pub truncated: bool,
}

/// The links to a node that a list covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linking {
    /// The prefix of the ids of the nodes that link.
    pub id_prefix: String,
    /// The prefix of the ancestors' ids. Nodes without such an ancestor are left out; `None` leaves out none.
    pub ancestor_prefix: Option<String>,
    /// True if each of these ancestors is named once on a page. A node that names none is left out.
    pub distinct: bool,
    /// Leaves out nodes that are neither this one, nor above it, nor below it.
    pub around: Option<Id>,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the nodes that link to another by an attribute, by their ids. What they link to needn't be a node. With
    /// [`Linking::around`] each page reads what is above that node as well, by base records.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`], [`ReadError::Key`] for an `id_prefix` that no id can have, and
    /// [`ReadError::Position`].
    pub async fn links(
        &self,
        target: &NodeRef,
        attribute: &str,
        linking: &Linking,
        options: &ListOptions,
    ) -> Result<Page<Link>, ReadError> {
        if !self.settings.links.contains(attribute) {
            return Err(ReadError::SwitchedOff { what: "links by this attribute", parameter: "LinkAttributes=…" });
        }
        let schema = self.client.schema();
        let range = schema
            .link_range(attribute, &linking.id_prefix)
            .map_err(|source| ReadError::Key { parameter: "id_prefix", source })?;
        let around = linking.around.as_ref();
        let at_or_above = match around {
            None => BTreeSet::new(),
            Some(node) => self.at_or_above(&target.sibling(node.clone())).await?,
        };
        let is_far = |node: &Id, linking: &Id, ancestors: &[Id]| {
            linking != node && !at_or_above.contains(linking) && !ancestors.contains(node)
        };
        let names_some = linking.distinct || linking.ancestor_prefix.is_some();
        let leaves_out = names_some || around.is_some();
        let listing = Listing { leaves_out, ..Listing::new(schema.partition(target), range, ROW_ATTRIBUTES.into()) };
        let mut named = BTreeSet::new();
        self.list(&listing, options, |key, item| {
            let SortKey::Link { id, .. } = schema.parse_sort_key(&key.sk)? else { return None };
            let mut ancestors = own_ancestors(item)?;
            if around.is_some_and(|node| is_far(node, &id, &ancestors)) {
                return None;
            }
            let parent = ancestors.first().cloned();
            let prefix = linking.ancestor_prefix.as_deref().unwrap_or_default();
            ancestors.retain(|ancestor| {
                ancestor.as_str().starts_with(prefix) && (!linking.distinct || named.insert(ancestor.clone()))
            });
            let attributes = options.fields.of_node(item, schema);
            let segment = segment(item, schema);
            let link = Link { id, parent, ancestors, segment, attributes, truncated: is_truncated(item) };
            (!names_some || !link.ancestors.is_empty()).then_some(link)
        })
        .await
    }
}
