//! One node, and who has written it.

use std::collections::{BTreeMap, BTreeSet};

use super::page::{PageBuilder, entry_size};
use super::{Bounds, ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{
    BaseNode, CREATED_AT, CREATED_BY, ETag, Item, PUT_BACK, Placement, Stored, UPDATED_AT, UPDATED_BY, answered_bytes,
    key_of, text_of,
};
use sapwood_store::{ANSWER_BYTES_MAX, Query, ReadOptions, RetryPolicy, Table};

/// When and for whom the API wrote a base record. All fields are `None` if another client wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The time of the first write.
    pub created_at: Option<String>,
    /// The caller of the first write.
    pub created_by: Option<String>,
    /// The time of the last write.
    pub updated_at: Option<String>,
    /// The caller of the last write.
    pub updated_by: Option<String>,
}

/// The items read before their sizes are known. One can have 18 MB in an answer, and three times that in memory.
const ITEMS_AT_FIRST: usize = 4;

/// Most items read at a time. No more are read than the page has room for, by the sizes of those before.
const ITEMS_AT_ONCE: usize = 25;

pub(super) const STAMPS: [&str; 4] = [CREATED_AT, CREATED_BY, UPDATED_AT, UPDATED_BY];

impl Stamps {
    /// The stamps of a base record.
    #[must_use]
    pub fn read(item: &Item) -> Self {
        let [created_at, created_by, updated_at, updated_by] =
            STAMPS.map(|name| text_of(item, name).map(str::to_owned));
        Self { created_at, created_by, updated_at, updated_by }
    }
}

/// The segment, stamps and entity tag of a base record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The node's own name in paths, if it has one.
    pub segment: Option<String>,
    /// When and for whom it was written.
    pub stamps: Stamps,
    /// Its entity tag.
    pub etag: ETag,
}

/// The longest stamp that is shown beside an item of a list, in bytes. The API's are shorter.
const STAMP_BYTES_MAX: usize = 2_048;

impl Record {
    pub(super) fn of(item: &Item, schema: &Schema) -> Self {
        let mut stamps = Stamps::read(item);
        let Stamps { created_at, created_by, updated_at, updated_by } = &mut stamps;
        for stamp in [created_at, created_by, updated_at, updated_by] {
            stamp.take_if(|stamp| stamp.len() > STAMP_BYTES_MAX);
        }
        Self { segment: None, stamps, etag: ETag::of(item, schema) }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads a node's whole base record.
    ///
    /// # Errors
    /// [`ReadError::Absent`], [`ReadError::Unreadable`] and [`ReadError::Table`].
    pub async fn node(&self, node: &NodeRef, strong: bool) -> Result<BaseNode, ReadError> {
        let reading = ReadOptions { strong, attributes: None };
        let item = self.client.get(&self.client.schema().node_key(node), &reading).await?;
        self.base(node, item)
    }

    /// Reads the base records of several nodes, in the order of `nodes`. A node that doesn't exist or can't be read is
    /// left out. A position is how many of `nodes` are done with. The page ends once DynamoDB has answered
    /// [`ANSWER_BYTES_MAX`] for it: as the API writes them, ten times as many may fit.
    pub async fn nodes(
        &self,
        nodes: &[NodeRef],
        options: &ListOptions,
    ) -> Result<Page<(NodeRef, BaseNode)>, ReadError> {
        let schema = self.client.schema();
        let keys: Vec<ItemKey> = nodes.iter().map(|node| schema.node_key(node)).collect();
        let read = |index: usize, item| {
            let node = &nodes[index];
            Some((node.clone(), BaseNode::read(item, node, schema).ok()?))
        };
        self.items(&keys, options, read).await
    }

    /// Returns the records of several nodes without their attributes, leaving out nodes that are missing or unreadable.
    pub async fn records_of_nodes(
        &self,
        nodes: &[NodeRef],
        strong: bool,
    ) -> Result<BTreeMap<NodeRef, Record>, ReadError> {
        let schema = self.client.schema();
        let keys: Vec<ItemKey> = nodes.iter().map(|node| schema.node_key(node)).collect();
        let read = |index: usize, item: Item| {
            let base = BaseNode::read(item, &nodes[index], schema).ok()?;
            Some((nodes[index].clone(), Record { segment: base.segment.clone(), ..Record::of(&base.item, schema) }))
        };
        self.all_items(&keys, strong, read).await
    }

    /// Reads all of these items, and of each what `read` makes of it.
    pub(super) async fn all_items<K: Ord, R>(
        &self,
        keys: &[ItemKey],
        strong: bool,
        read: impl Fn(usize, Item) -> Option<(K, R)>,
    ) -> Result<BTreeMap<K, R>, ReadError> {
        let bounds = Bounds::items(Bounds::ITEMS_MAX);
        let mut options = ListOptions { strong, bounds, ..ListOptions::default() };
        let mut found = BTreeMap::new();
        loop {
            let page = self.items(keys, &options, &read).await?;
            found.extend(page.items);
            options.after = page.next;
            if options.after.is_none() {
                return Ok(found);
            }
        }
    }

    /// Reads a page of items, in the order of their keys, and of each what `read` makes of it.
    async fn items<R>(
        &self,
        keys: &[ItemKey],
        options: &ListOptions,
        read: impl Fn(usize, Item) -> Option<R>,
    ) -> Result<Page<R>, ReadError> {
        let reading = ReadOptions { strong: options.strong, attributes: None };
        let mut builder = PageBuilder::new(options.bounds);
        let (mut done, mut at_once) = (options.passed()?.min(keys.len()), ITEMS_AT_FIRST);
        let mut answered = 0;
        while done < keys.len() {
            if answered >= ANSWER_BYTES_MAX {
                return Ok(builder.cut_at(Some(done.to_string())));
            }
            let chunk = &keys[done..keys.len().min(done + at_once)];
            let bytes_max = builder.room().clamp(1, ANSWER_BYTES_MAX - answered);
            let (mut found, count) = self.client.get_first(chunk, &reading, bytes_max).await?;
            answered += found.values().map(answered_bytes).sum::<usize>();
            for key in &chunk[..count] {
                done += 1;
                let Some(item) = found.remove(key) else { continue };
                let bytes = entry_size(key, &item);
                let Some(entry) = read(done - 1, item) else { continue };
                if !builder.add(entry, done.to_string(), bytes) {
                    return Ok(builder.followed());
                }
            }
            // As many as the page has room for, if they are like those before.
            at_once = (builder.room() / builder.usual().max(1)).clamp(1, ITEMS_AT_ONCE);
        }
        Ok(builder.last())
    }

    pub(super) fn base(&self, node: &NodeRef, item: Option<Item>) -> Result<BaseNode, ReadError> {
        let item = item.ok_or_else(|| ReadError::Absent { what: format!("node `{}`", node.id) })?;
        BaseNode::read(item, node, self.client.schema()).map_err(ReadError::Unreadable)
    }

    /// Checks that a node exists, for an empty list. It reads strongly: a node just created isn't said to be absent.
    pub(super) async fn check_node(&self, node: &NodeRef) -> Result<(), ReadError> {
        let schema = self.client.schema();
        let reading = ReadOptions { strong: true, attributes: Some(self.placing_attributes()) };
        let item = self.client.get(&schema.node_key(node), &reading).await?;
        self.base(node, item).map(drop)
    }

    /// Checks, for an empty list, that rows of a kind were made for a node's children: a lineage has what they need.
    pub(super) async fn check_backfilled(
        &self,
        node: &NodeRef,
        what: &'static str,
        has: impl Fn(&Placement) -> bool,
    ) -> Result<(), ReadError> {
        let schema = self.client.schema();
        let first = Query::first(schema.partition(node), schema.depth_range(1, 1), 1);
        let query = Query { reading: ReadOptions { strong: false, ..ReadOptions::of([]) }, ..first };
        let page = self.client.query(&query).await?;
        let row = page.items.first().and_then(|item| key_of(item, schema));
        let Some(SortKey::Ancestor { id, .. }) = row.and_then(|key| schema.parse_sort_key(&key.sk)) else {
            return Ok(());
        };
        let lineage = self.client.get(&schema.lineage_key(&node.sibling(id)), &ReadOptions::default()).await?;
        let stored = Stored::read(lineage.as_ref(), schema);
        let is_below = |placement: &&Placement| placement.ancestors.first() == Some(&node.id);
        match stored.lineage().map(|lineage| &lineage.placement).filter(is_below) {
            Some(placement) if !has(placement) => Err(ReadError::NotBackfilled { what }),
            _ => Ok(()),
        }
    }

    /// The attributes that say where a node belongs.
    pub(super) fn placing_attributes(&self) -> BTreeSet<String> {
        let names = self.client.schema().names();
        [names.parent.clone(), names.segment.clone(), PUT_BACK.to_owned()].into()
    }
}
