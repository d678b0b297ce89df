//! The subtrees at a path below a root.

use super::fields::segment;
use super::page::{Listing, Skipped};
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{Id, ItemKey, KeyError, NodeRef, SortKey, SortRange};
use sapwood_core::model::{Item, NameClaim, ROW_ATTRIBUTES, UniqueNames, held_name, is_truncated, row_parent};
use sapwood_store::{ReadOptions, RetryPolicy, Table};

/// A node at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct AtPath {
    /// The node's id.
    pub id: Id,
    /// The node's parent.
    pub parent: Option<Id>,
    /// The segments from below the root to the node.
    pub path: Vec<String>,
    /// The node's segment, if it has one and rows carry it.
    pub segment: Option<String>,
    /// The attributes that rows carry.
    pub attributes: Item,
    /// True if the row had no room for the attributes.
    pub truncated: bool,
}

/// The paths below a root that a list covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Within {
    /// The segments of the path.
    pub segments: Vec<String>,
    /// How many levels below the path.
    pub max_depth: Option<usize>,
    /// The first next segment.
    pub from: Option<String>,
    /// The last next segment.
    pub to: Option<String>,
}

impl Within {
    /// The nodes at a path, each followed by its descendants to `max_depth` levels below it. Several nodes are at one
    /// path if their segments are equal. Without segments, all descendants of the root. With `from` or `to`, only the
    /// nodes below the path whose next segment lies between the two, both included, in the order of their bytes.
    ///
    /// # Errors
    /// [`ReadError::Parameter`] if the parameters contradict each other.
    pub fn new(
        segments: Vec<String>,
        max_depth: Option<usize>,
        from: Option<String>,
        to: Option<String>,
    ) -> Result<Self, ReadError> {
        let refuse = |parameter, reason| Err(ReadError::Parameter { parameter, reason });
        let has_range = from.is_some() || to.is_some();
        if max_depth == Some(0) && (has_range || segments.is_empty()) {
            return refuse("max_depth", "the nodes asked for are below the path; give 1 or more");
        }
        if let (Some(from), Some(to)) = (&from, &to)
            && from > to
        {
            return refuse("to", "give a segment that doesn't sort before `from`");
        }
        Ok(Self { segments, max_depth, from, to })
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the nodes at a path below a root, each followed by its descendants. `root` is the farthest ancestor: a
    /// node without a parent, or the id of a missing node that orphans wait for. Where names are unique but for case,
    /// and the path has no nodes, other spellings are looked for, with a request for each segment and one more.
    ///
    /// # Errors
    /// [`ReadError::Absent`] if the root doesn't exist, or nothing is at the path, [`ReadError::Key`] for a path that
    /// no node can have, [`ReadError::SwitchedOff`], [`ReadError::NotBackfilled`] and [`ReadError::Position`].
    pub async fn paths(
        &self,
        root: &NodeRef,
        within: &Within,
        options: &ListOptions,
    ) -> Result<Page<AtPath>, ReadError> {
        if !self.settings.path_rows {
            return Err(ReadError::SwitchedOff { what: "path rows", parameter: "PathRows=on" });
        }
        let mut page = self.at_path(root, within, options).await;
        let is_missing = match &page {
            Ok(page) => page.is_an_empty_list(options),
            // A cursor of the path as its nodes spell it.
            Err(error) => matches!(error, ReadError::Position),
        };
        if !is_missing {
            return page;
        }
        let spelled = self.spelled(root, within, options).await?;
        if let Some(spelled) = &spelled {
            page = self.at_path(root, spelled, options).await;
        }
        let (page, within) = (page?, spelled.as_ref().unwrap_or(within));
        if page.is_an_empty_list(options) {
            let has_range = within.from.is_some() || within.to.is_some();
            let alone = Within { max_depth: Some(0), from: None, to: None, ..within.clone() };
            let is_root = within.segments.is_empty();
            // Below a node that is there nothing need be.
            if has_range && !is_root && !self.at_path(root, &alone, &ListOptions::default()).await?.items.is_empty() {
                return Ok(page);
            }
            self.check_node(root).await?;
            if !is_root {
                let what = format!("node at the path `{}` below `{}`", within.segments.join("/"), root.id);
                return Err(ReadError::Absent { what });
            }
            if !has_range {
                self.check_backfilled(root, "paths", |placement| !placement.path.is_empty()).await?;
            }
        }
        Ok(page)
    }

    async fn at_path(&self, root: &NodeRef, within: &Within, options: &ListOptions) -> Result<Page<AtPath>, ReadError> {
        let schema = self.client.schema();
        let segments_max = within.max_depth.map(|depth| within.segments.len().saturating_add(depth));
        let listing = Listing {
            skipped: segments_max.map_or(Skipped::Nothing, Skipped::Deeper),
            ..Listing::new(schema.partition(root), self.path_range(within)?, ROW_ATTRIBUTES.into())
        };
        self.list(&listing, options, |key, item| {
            let SortKey::Path { segments, id } = schema.parse_sort_key(&key.sk)? else { return None };
            if segments_max.is_some_and(|max| segments.len() > max) {
                return None;
            }
            let id = id.or_else(|| Id::new(segments.last()?).ok())?;
            let (parent, attributes) = (row_parent(item), options.fields.of_node(item, schema));
            let (segment, truncated) = (segment(item, schema), is_truncated(item));
            Some(AtPath { id, parent, path: segments, segment, attributes, truncated })
        })
        .await
    }

    /// The path as its nodes spell it, by the claims of their names, if that differs from `within`.
    async fn spelled(
        &self,
        root: &NodeRef,
        within: &Within,
        options: &ListOptions,
    ) -> Result<Option<Within>, ReadError> {
        let names = self.settings.names;
        let Some(first) = within.segments.first().filter(|_| names == UniqueNames::Caseless) else { return Ok(None) };
        let (schema, reading) = (self.client.schema(), ReadOptions { strong: options.strong, attributes: None });
        let claim_key = |parent: &NodeRef, name: &str| schema.name_key(parent, Some(&parent.id), names.compared(name));
        let mut key = claim_key(root, first);
        let mut claim = self.client.get(&key, &reading).await?;
        let mut segments = Vec::new();
        loop {
            let Some(id) = claim.as_ref().and_then(NameClaim::node_in) else { return Ok(None) };
            let node = root.sibling(id);
            let record = schema.node_key(&node);
            let next = within.segments.get(segments.len() + 1).map(|name| claim_key(&node, name));
            let keys: Vec<ItemKey> = std::iter::once(record.clone()).chain(next.clone()).collect();
            let mut read = self.client.get_all(&keys, &reading).await?;
            let held = held_name(&node, read.get(&record), self.settings);
            let Some((_, name)) = held.filter(|(held, _)| *held == key) else { return Ok(None) };
            segments.push(name);
            match next {
                Some(next) => (claim, key) = (read.remove(&next), next),
                None => break,
            }
        }
        Ok(Some(Within { segments, ..within.clone() }).filter(|spelled| spelled != within))
    }

    fn path_range(&self, within: &Within) -> Result<SortRange, ReadError> {
        let schema = self.client.schema();
        let Within { segments, max_depth, from, to } = within;
        let at = |parameter| move |source: KeyError| ReadError::Key { parameter, source };
        if from.is_some() || to.is_some() || segments.is_empty() {
            let parameter = if from.is_some() { "from" } else { "to" };
            schema.path_between(segments, from.as_deref(), to.as_deref()).map_err(at(parameter))
        } else if *max_depth == Some(0) {
            schema.path_alone(segments).map_err(at("path"))
        } else {
            schema.path_range(segments).map_err(at("path"))
        }
    }
}
