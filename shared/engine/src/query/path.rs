//! The subtrees at a path below a root.

use super::page::{Listing, Skipped};
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{Id, KeyError, NodeRef, SortKey, SortRange};
use sapwood_core::model::{Item, ROW_ATTRIBUTES, is_truncated, row_parent};
use sapwood_table::{RetryPolicy, Table};

/// A node at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct AtPath {
    /// The node's id.
    pub id: Id,
    /// The node's parent.
    pub parent: Option<Id>,
    /// The segments from below the root to the node.
    pub path: Vec<String>,
    /// The attributes that rows carry.
    pub attributes: Item,
    /// True if the row had no room for the attributes.
    pub truncated: bool,
}

/// The paths below a root that a list covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    segments: Vec<String>,
    max_depth: Option<usize>,
    from: Option<String>,
    to: Option<String>,
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

    /// The segments of the path.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// How many levels below the path.
    #[must_use]
    pub fn max_depth(&self) -> Option<usize> {
        self.max_depth
    }

    /// The first and the last next segment.
    #[must_use]
    pub fn bounds(&self) -> (Option<&str>, Option<&str>) {
        (self.from.as_deref(), self.to.as_deref())
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the nodes at a path below a root, each followed by its descendants. `root` is the farthest ancestor, which
    /// paths count from: a node without a parent, or the id of a missing node that orphans wait for.
    ///
    /// # Errors
    /// [`ReadError::Absent`] if nothing is found and the root doesn't exist either, [`ReadError::Key`] for a path that
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
        let schema = self.client.schema();
        let segments_max = within.max_depth.map(|depth| within.segments.len().saturating_add(depth));
        let listing = Listing {
            skipped: segments_max.map_or(Skipped::Nothing, Skipped::Deeper),
            ..Listing::new(schema.partition(root), self.path_range(within)?, ROW_ATTRIBUTES.into())
        };
        let page = self
            .list(&listing, options, |key, item| {
                let SortKey::Path { segments, id } = schema.parse_sort_key(&key.sk)? else { return None };
                if segments_max.is_some_and(|max| segments.len() > max) {
                    return None;
                }
                let id = id.or_else(|| Id::new(segments.last()?).ok())?;
                let attributes = options.fields.of_node(item, schema);
                let parent = row_parent(item);
                Some(AtPath { id, parent, path: segments, attributes, truncated: is_truncated(item) })
            })
            .await?;
        if page.is_an_empty_list(options) {
            self.check_node(root).await?;
            // There may well be nothing at a path.
            if within.segments.is_empty() && within.from.is_none() && within.to.is_none() {
                self.check_backfilled(root, "paths", |placement| !placement.path.is_empty()).await?;
            }
        }
        Ok(page)
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
