//! Revisions, and the copies of the newest ones.

use std::collections::BTreeMap;

use super::node::{Record, STAMPS};
use super::page::{Listing, Skipped};
use super::{ListOptions, Page, ReadError, Reader, Stamps};
use sapwood_core::keys::{ItemKey, KeyError, NodeRef, SortKey, Version};
use sapwood_core::model::{Item, Latest, VERSION, is_truncated, whole_of};
use sapwood_store::{Query, ReadOptions, RetryPolicy, Table};

/// A revision, or the copy of a topic's newest revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The revision's topic.
    pub topic: String,
    /// The revision's number.
    pub version: Version,
    /// The user's own attributes.
    pub attributes: Item,
    /// When and for whom the revision was written. A copy doesn't tell.
    pub stamps: Stamps,
    /// True for a copy that had no room for the attributes.
    pub truncated: bool,
}

/// The order of a history, or of siblings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest revision, or the last sibling, comes first.
    #[default]
    Descending,
    /// The oldest revision, or the first sibling, comes first.
    Ascending,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the copies of the newest revisions of the topics with this prefix, by topic.
    ///
    /// # Errors
    /// [`ReadError::Absent`] if neither the node nor a revision of it exists, [`ReadError::Key`] for a prefix that no
    /// topic can have, and [`ReadError::Position`].
    pub async fn latest_of_all(
        &self,
        node: &NodeRef,
        topic_prefix: &str,
        options: &ListOptions,
    ) -> Result<Page<Revision>, ReadError> {
        let schema = self.client.schema();
        let range =
            schema.latest_range(topic_prefix).map_err(|source| ReadError::Key { parameter: "topic_prefix", source })?;
        let listing = self.revision_listing(node, range, Skipped::Nothing, Order::Ascending);
        let page = self.list(&listing, options, |key, item| self.copy(options, key, item)).await?;
        self.check_versions(node, &page, options).await?;
        Ok(page)
    }

    /// Reads the copy of the newest revision of a topic.
    ///
    /// # Errors
    /// [`ReadError::Absent`], and [`ReadError::Key`] for an impossible topic.
    pub async fn latest(&self, latest: &Latest, options: &ListOptions) -> Result<Revision, ReadError> {
        let key = latest.key(self.settings).map_err(topic_at_fault)?;
        let item = self.client.get(&key, &self.revision_reading(options)).await?;
        item.and_then(|item| self.copy(options, &key, &item))
            .ok_or_else(|| ReadError::Absent { what: format!("topic `{}` of `{}`", latest.topic, latest.node.id) })
    }

    /// Lists the revisions of all topics by version, then topic.
    ///
    /// # Errors
    /// [`ReadError::Absent`] if neither the node nor a revision of it exists, and [`ReadError::Position`].
    pub async fn revisions(
        &self,
        node: &NodeRef,
        order: Order,
        options: &ListOptions,
    ) -> Result<Page<Revision>, ReadError> {
        let listing = self.history(node, order)?;
        let page = self.list(&listing, options, |key, item| self.own_revision(options, key, item)).await?;
        self.check_versions(node, &page, options).await?;
        Ok(page)
    }

    /// Reads the whole base record of a revision.
    ///
    /// # Errors
    /// [`ReadError::Absent`], and [`ReadError::Key`] for an impossible topic.
    pub async fn revision(&self, topic: &Latest, version: Version, strong: bool) -> Result<Item, ReadError> {
        let key = topic.revision_key(version, self.settings).map_err(topic_at_fault)?;
        let item = self.client.get(&key, &ReadOptions { strong, attributes: None }).await?;
        item.ok_or_else(|| ReadError::Absent {
            what: format!("revision {} of `{}` in topic `{}`", version.number(), topic.node.id, topic.topic),
        })
    }

    /// Returns the records of a node's revisions without their attributes, by topic. Missing revisions are left out.
    ///
    /// # Errors
    /// [`ReadError::Key`] for an impossible topic, and [`ReadError::Table`].
    pub async fn records_of_revisions(
        &self,
        node: &NodeRef,
        revisions: &[(String, Version)],
        strong: bool,
    ) -> Result<BTreeMap<String, Record>, ReadError> {
        let key = |(topic, version): &(String, Version)| {
            let topic = Latest { node: node.clone(), topic: topic.clone() };
            topic.revision_key(*version, self.settings).map_err(topic_at_fault)
        };
        let keys: Vec<ItemKey> = revisions.iter().map(key).collect::<Result<_, _>>()?;
        let schema = self.client.schema();
        let read = |index: usize, item: Item| Some((revisions[index].0.clone(), Record::of(&item, schema)));
        self.all_items(&keys, strong, read).await
    }

    /// The listing of all revisions of a node. It skips the copies among them.
    pub(super) fn history(&self, node: &NodeRef, order: Order) -> Result<Listing<'static>, ReadError> {
        let schema = self.client.schema();
        let copies = schema.latest_range("").map_err(topic_at_fault)?;
        Ok(self.revision_listing(node, schema.revision_range(), Skipped::Range(copies), order))
    }

    fn revision_listing(
        &self,
        node: &NodeRef,
        range: sapwood_core::keys::SortRange,
        skipped: Skipped,
        order: Order,
    ) -> Listing<'static> {
        let pk = self.client.schema().partition(node);
        Listing { skipped, descending: order == Order::Descending, ..Listing::new(pk, range, revision_own().collect()) }
    }

    pub(super) fn revision_reading(&self, options: &ListOptions) -> ReadOptions {
        options.fields.reading(options.strong, revision_own(), self.client.schema())
    }

    fn copy(&self, options: &ListOptions, key: &ItemKey, item: &Item) -> Option<Revision> {
        let SortKey::Latest { topic } = self.client.schema().parse_sort_key(&key.sk)? else { return None };
        Some(self.shown(options, topic, copied_version(item)?, item))
    }

    pub(super) fn own_revision(&self, options: &ListOptions, key: &ItemKey, item: &Item) -> Option<Revision> {
        let SortKey::Revision { version, topic } = self.client.schema().parse_sort_key(&key.sk)? else { return None };
        Some(self.shown(options, topic, version, item))
    }

    fn shown(&self, options: &ListOptions, topic: String, version: Version, item: &Item) -> Revision {
        let attributes = options.fields.of_revision(item, self.client.schema());
        Revision { topic, version, attributes, stamps: Stamps::read(item), truncated: is_truncated(item) }
    }

    /// Checks that a list isn't empty, or that the node or a revision of it exists. Revisions need no node.
    pub(super) async fn check_versions<R>(
        &self,
        node: &NodeRef,
        page: &Page<R>,
        options: &ListOptions,
    ) -> Result<(), ReadError> {
        if !page.is_an_empty_list(options) {
            return Ok(());
        }
        match self.check_node(node).await {
            Err(ReadError::Absent { .. }) => {}
            found => return found,
        }
        let schema = self.client.schema();
        let first = Query::first(schema.partition(node), schema.revision_range(), 1);
        let query = Query { reading: ReadOptions { strong: options.strong, ..ReadOptions::of([]) }, ..first };
        match self.client.query(&query).await?.items.is_empty() {
            true => Err(ReadError::Absent { what: format!("node `{}`, nor any revision of it", node.id) }),
            false => Ok(()),
        }
    }
}

fn revision_own() -> impl Iterator<Item = &'static str> {
    STAMPS.into_iter().chain([VERSION]).chain(sapwood_core::model::ROW_ATTRIBUTES)
}

pub(super) fn topic_at_fault(source: KeyError) -> ReadError {
    ReadError::Key { parameter: "topic", source }
}

pub(super) fn copied_version(copy: &Item) -> Option<Version> {
    Version::new(whole_of(copy, VERSION)?).ok()
}
