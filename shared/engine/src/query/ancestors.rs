//! The ancestors of a node.

use std::collections::BTreeSet;

use super::page::{PageBuilder, entry_size};
use super::status::StatusLook;
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{Id, ItemKey, NodeRef};
use sapwood_core::model::{BaseNode, Item, Stored};
use sapwood_store::{ANSWER_BYTES_MAX, ReadOptions, RetryPolicy, Table};

/// An ancestor of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Ancestor {
    /// The ancestor's id.
    pub id: Id,
    /// How many levels above the node: 1 is the parent.
    pub depth: usize,
    /// The attributes that were asked for by name; `None` if none were, or if the ancestor doesn't exist.
    pub attributes: Option<Item>,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists a node's ancestors, nearest first, by its lineage. Attributes cost a read of each, if the options name
    /// some. The second value is false while the lineage is missing or names another parent than the node's record.
    ///
    /// # Errors
    /// [`ReadError::Absent`], [`ReadError::Unreadable`] and [`ReadError::Position`].
    pub async fn ancestors(&self, node: &NodeRef, options: &ListOptions) -> Result<(Page<Ancestor>, bool), ReadError> {
        let schema = self.client.schema();
        let [base, lineage] = [schema.node_key(node), schema.lineage_key(node)];
        let reading = ReadOptions { strong: options.strong, attributes: None };
        let mut read = self.client.get_all(&[base.clone(), lineage.clone()], &reading).await?;
        let base = self.base(node, read.remove(&base))?;
        let stored = Stored::read(read.get(&lineage), schema);
        let is_placed = !StatusLook { base: Some(base), stored: stored.clone() }.names_another_place(node);
        let ancestors = stored.lineage().map(|lineage| lineage.placement.ancestors.clone()).unwrap_or_default();
        let passed = options.passed()?;
        let depths = (passed + 1..).zip(ancestors.into_iter().skip(passed));
        let shown: Vec<(usize, Id)> = depths.take(options.bounds.items_max + 1).collect();

        let attributes = self.attributes_of(node, &shown, options).await?;
        let (read, asked) = (attributes.len(), shown.len());
        let mut builder = PageBuilder::new(options.bounds);
        for ((depth, id), (key, item)) in shown.into_iter().zip(attributes) {
            let bytes = entry_size(&key, item.as_ref().unwrap_or(&Item::new()));
            let attributes = item.map(|item| options.fields.of_node(&item, schema));
            if !builder.add(Ancestor { id, depth, attributes }, depth.to_string(), bytes) {
                return Ok((builder.followed(), is_placed));
            }
        }
        // Large records come a few at a time.
        let is_cut = read < asked;
        let page = if is_cut { builder.cut_at(Some((passed + read).to_string())) } else { builder.last() };
        Ok((page, is_placed))
    }

    /// Reads the base records of the first of these ancestors, in their order: as many as an answer has room for.
    async fn attributes_of(
        &self,
        node: &NodeRef,
        ancestors: &[(usize, Id)],
        options: &ListOptions,
    ) -> Result<Vec<(ItemKey, Option<Item>)>, ReadError> {
        let schema = self.client.schema();
        let of = |id: &Id| node.sibling(id.clone());
        let keys: Vec<ItemKey> = ancestors.iter().map(|(_, id)| schema.node_key(&of(id))).collect();
        if options.fields.names().is_none() {
            return Ok(keys.into_iter().map(|key| (key, None)).collect());
        }
        let placing = self.placing_attributes();
        let reading = options.fields.reading(options.strong, placing.iter().map(String::as_str), schema);
        // BatchGetItem takes distinct keys, but a lineage can name a node twice.
        let mut seen = BTreeSet::new();
        let distinct: Vec<ItemKey> = keys.iter().filter(|key| seen.insert(*key)).cloned().collect();
        let (read, count) = self.client.get_first(&distinct, &reading, ANSWER_BYTES_MAX).await?;
        let is_read = |key: &ItemKey| distinct[..count].contains(key);
        let readable = |(key, (_, id)): (ItemKey, &(usize, Id))| {
            let item = read.get(&key).filter(|item| BaseNode::read((*item).clone(), &of(id), schema).is_ok());
            let item = item.cloned();
            (key, item)
        };
        Ok(keys.into_iter().zip(ancestors).take_while(|(key, _)| is_read(key)).map(readable).collect())
    }
}
