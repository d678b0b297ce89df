//! Finds a node and all that is below it, a few nodes at a time, with bounded memory.
//!
//! Only a node's base record says where the node is, and nothing but rows lists the children of a node. Rows may be
//! missing, left over or a moment old. So **rows propose nodes, and base records decide**:
//!
//! 1. The walk goes down level by level. The rows of depth 1 in a node's partition propose its children, and those
//!    whose records name the node as their parent are below it. A record names one parent, so the walk comes to no node
//!    twice.
//! 2. Then all rows in the partition of the node at the top propose descendants once more, and so do the path rows
//!    below it, which are in the partition of its root. A descendant whose chain of parents leads to the top, and that
//!    misses its row in its parent's partition, was not come to: the walk goes on from it.
//!
//! The walk remembers where it has been as far as its memory goes, so the rows of step 2 seldom take other reads.
//!
//! So a node is found by a row at its parent or at the top, or by a path row. A scan of the table finds all.
//!
//! Some rows propose nodes that have no record, or one that can't be understood. These are named as well, once each,
//! because rows and lineages of them are left. Nodes that are moved meanwhile may be found twice, or not at all.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey, SortRange};
use sapwood_core::model::{BaseNode, Item, Placement, Stored, key_of};
use sapwood_store::{Client, Query, ReadOptions, RetryPolicy, Table, TableError};

/// Most nodes that are found at a time, and most children of each that are held until the walk comes to them.
pub const NODES_AT_ONCE_MAX: usize = 64;

/// Most steps up from a node to the one at the top. Nodes deeper than rows go are too deep, and still below.
const STEPS_MAX: usize = 10 * DEPTH_MAX;

/// Most memory for the nodes that the walk remembers, in bytes. It is a choice: half a million short ids.
const REMEMBERED_BYTES_MAX: usize = 32 << 20;

const REMEMBERED_NODE_BYTES: usize = 64;

/// A node that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundNode {
    /// The node.
    pub node: NodeRef,
    /// Its base record, which may be one that can't be understood. `None`: rows of it are left.
    pub record: Option<Item>,
}

/// A node, and what is below it.
#[must_use]
pub struct Subtree<'a, T, P> {
    client: &'a Client<'a, T, P>,
    top: NodeRef,
    has_begun: bool,
    /// The nodes whose children the walk comes to next; the last is the next.
    walk: Vec<Children>,
    /// The nodes whose rows are still to be gone through once the walk is at its end.
    sweeps: VecDeque<Sweep>,
    /// The nodes that weren't found by their parent's row: few, unless there is damage.
    apart: BTreeSet<NodeRef>,
    remembered: Remembered,
    /// How everything but the record of the node at the top is read.
    strong: bool,
}

struct Remembered {
    ids: HashSet<Id>,
    bytes_left: usize,
}

/// Children of a node: those that were proposed, and where the next are.
struct Children {
    of: NodeRef,
    proposed: Vec<Id>,
    after: Option<String>,
}

struct Sweep {
    of: NodeRef,
    range: SortRange,
    after: Option<String>,
}

/// A node's parent by its base record. `Nowhere`: there is no record, or it can't be understood.
enum ParentOf {
    Under(Id),
    Root,
    Nowhere,
}

impl<'a, T: Table, P: RetryPolicy> Subtree<'a, T, P> {
    /// Makes a walk from this node. Nothing is read yet.
    pub fn new(client: &'a Client<'a, T, P>, top: NodeRef) -> Self {
        let (walk, sweeps, apart) = (Vec::new(), VecDeque::new(), BTreeSet::new());
        let remembered = Remembered { ids: HashSet::new(), bytes_left: REMEMBERED_BYTES_MAX };
        Self { client, top, has_begun: false, walk, sweeps, apart, remembered, strong: true }
    }

    /// Sets the memory for visited nodes, in bytes. The walk reads the rows of forgotten nodes again.
    pub fn remembering(self, bytes_max: usize) -> Self {
        Self { remembered: Remembered { ids: HashSet::new(), bytes_left: bytes_max }, ..self }
    }

    /// Has the walk read as a scan of the table does: a moment late perhaps, and for half the units.
    pub fn eventually(self) -> Self {
        Self { strong: false, ..self }
    }

    /// Returns the next nodes, the node at the top first and alone. The list is empty at the end, and only there.
    ///
    /// # Errors
    /// [`TableError`] if something can't be read. The walk can't go on then.
    pub async fn next(&mut self) -> Result<Vec<FoundNode>, TableError> {
        if !self.has_begun {
            self.has_begun = true;
            let top = self.top.clone();
            // The caller may have just written this node.
            let key = self.client.schema().node_key(&top);
            let record = self.client.get(&key, &ReadOptions::default()).await?;
            let paths = self.paths().await?;
            let found = vec![FoundNode { node: top.clone(), record }];
            self.walk_on(&found).await?;
            self.sweep_later(top);
            self.sweeps.extend(paths);
            return Ok(found);
        }
        loop {
            let found = if let Some(children) = self.walk.pop() {
                self.children(children).await?
            } else if let Some(sweep) = self.sweeps.pop_front() {
                self.sweep(sweep).await?
            } else {
                return Ok(Vec::new());
            };
            if !found.is_empty() {
                return Ok(found);
            }
        }
    }

    /// Returns which of the proposed children are below the node, and has the walk go on from them.
    async fn children(&mut self, children: Children) -> Result<Vec<FoundNode>, TableError> {
        let Children { of, proposed, after } = children;
        if proposed.is_empty() {
            let page = self.proposed(&of, after).await?;
            self.walk.extend(Some(page).filter(Children::is_worth_it));
            return Ok(Vec::new());
        }
        let nodes: Vec<NodeRef> = proposed.into_iter().map(|id| of.sibling(id)).filter(|n| *n != self.top).collect();
        let mut records = self.records(&nodes).await?;
        let mut found = Vec::new();
        for node in nodes {
            let record = records.remove(&node);
            let is_below = match self.place(&node, record.as_ref()) {
                ParentOf::Under(parent) => parent == of.id,
                ParentOf::Root => false,
                ParentOf::Nowhere => self.apart.insert(node.clone()),
            };
            if is_below {
                self.remembered.take(&node.id);
                found.push(FoundNode { node, record });
            }
        }
        // Descend before reading more children, so that few wait.
        self.walk.extend(Some(Children { of, proposed: Vec::new(), after }).filter(Children::is_worth_it));
        self.walk_on(&found).await?;
        Ok(found)
    }

    async fn walk_on(&mut self, found: &[FoundNode]) -> Result<(), TableError> {
        let pages = found.iter().map(|found| self.proposed(&found.node, None)).collect();
        let pages: Result<Vec<Children>, TableError> = self.client.all(pages).await.into_iter().collect();
        self.walk.extend(pages?.into_iter().rev().filter(Children::is_worth_it));
        Ok(())
    }

    /// Has the rows of a node's partition gone through after the walk. Rows of depth 1 belong to the walk.
    fn sweep_later(&mut self, of: NodeRef) {
        let range = self.client.schema().depth_range(2, DEPTH_MAX);
        self.sweeps.push_back(Sweep { of, range, after: None });
    }

    /// Returns where the path rows of the descendants of the node at the top are, as its lineage says it.
    async fn paths(&self) -> Result<Option<Sweep>, TableError> {
        let schema = self.client.schema();
        let stored = self.client.get(&schema.lineage_key(&self.top), &self.reading(None)).await?;
        let stored = Stored::read(stored.as_ref(), schema);
        let Some(Placement { ancestors, path, .. }) = stored.lineage().map(|lineage| &lineage.placement) else {
            return Ok(None);
        };
        let root = ancestors.last().map_or_else(|| self.top.clone(), |root| self.top.sibling(root.clone()));
        let range = match path.is_empty() {
            true if ancestors.is_empty() => schema.path_between(&[], None, None),
            // Path rows are off.
            true => return Ok(None),
            false => schema.path_range(path),
        };
        Ok(range.ok().map(|range| Sweep { of: root, range, after: None }))
    }

    async fn proposed(&self, of: &NodeRef, after: Option<String>) -> Result<Children, TableError> {
        let range = self.client.schema().depth_range(1, 1);
        let (rows, after) = self.rows(of, range, after).await?;
        let proposed = rows.into_iter().map(|(_, id)| id).collect();
        Ok(Children { of: of.clone(), proposed, after })
    }

    /// Reads a page of the rows of a node: whose each is, and how deep where the row isn't one of a path.
    async fn rows(
        &self,
        of: &NodeRef,
        range: SortRange,
        after: Option<String>,
    ) -> Result<(Vec<(Option<usize>, Id)>, Option<String>), TableError> {
        let schema = self.client.schema();
        let reading = self.reading(Some(BTreeSet::new()));
        let pk = schema.partition(of);
        let query = Query { pk, range, after, limit: NODES_AT_ONCE_MAX, descending: false, reading };
        let page = self.client.query(&query).await?;
        let row = |item: &Item| match schema.parse_sort_key(&key_of(item, schema)?.sk)? {
            SortKey::Ancestor { depth, id } => Some((Some(depth), id)),
            SortKey::Path { id: Some(id), .. } => Some((None, id)),
            SortKey::Path { id: None, segments } => Some((None, Id::new(segments.last()?.clone()).ok()?)),
            _ => None,
        };
        Ok((page.items.iter().filter_map(row).collect(), page.next))
    }

    /// Goes through a page of the rows of a node, for descendants that the walk hasn't come to.
    async fn sweep(&mut self, sweep: Sweep) -> Result<Vec<FoundNode>, TableError> {
        let Sweep { of, range, after } = sweep;
        let schema = self.client.schema();
        let (rows, after) = self.rows(&of, range.clone(), after).await?;
        if after.is_some() {
            self.sweeps.push_front(Sweep { of: of.clone(), range, after });
        }
        let is_known = |node: &NodeRef| self.apart.contains(node) || self.remembered.ids.contains(&node.id);
        let is_new = |node: &NodeRef| *node != self.top && !is_known(node);
        let rows: Vec<(Option<usize>, NodeRef)> = rows.into_iter().map(|(depth, id)| (depth, of.sibling(id))).collect();
        let nodes: BTreeSet<NodeRef> = rows.iter().map(|(_, node)| node.clone()).filter(is_new).collect();
        let nodes: Vec<NodeRef> = nodes.into_iter().collect();
        let records = self.records(&nodes).await?;
        // The walk has found a node if it has found its parent, which has a row of it.
        let mut evidence: BTreeMap<&NodeRef, BTreeSet<ItemKey>> = BTreeMap::new();
        let mut found = Vec::new();
        for node in &nodes {
            match self.place(node, records.get(node)) {
                ParentOf::Under(parent) => {
                    let rows_of_parent = rows.iter().filter(|(_, one)| one == node).filter_map(|(depth, _)| {
                        // A parent that a path leads to is on the path, and proposed by its own row of it.
                        let depth = depth.as_ref()?.checked_sub(1).filter(|_| parent != of.id)?;
                        Some(row_key(&of, depth, &parent, schema))
                    });
                    let own = row_key(&of.sibling(parent.clone()), 1, &node.id, schema);
                    evidence.insert(node, rows_of_parent.chain([own]).flatten().collect());
                }
                ParentOf::Root => {}
                ParentOf::Nowhere => {
                    self.apart.insert(node.clone());
                    found.push(FoundNode { node: node.clone(), record: records.get(node).cloned() });
                }
            }
        }
        let there = self.there(evidence.values().flatten().cloned().collect()).await?;
        let doubtful = evidence.into_iter().filter(|(_, keys)| !keys.iter().all(|key| there.contains(key)));
        for node in doubtful.map(|(node, _)| node).collect::<Vec<_>>() {
            found.extend(self.missed(node).await?);
        }
        for FoundNode { node, .. } in &found {
            self.sweep_later(node.clone());
        }
        self.walk_on(&found).await?;
        Ok(found)
    }

    /// Goes up from a node. If that leads to the top, returns the nodes on the way without a row at their parents.
    async fn missed(&mut self, node: &NodeRef) -> Result<Vec<FoundNode>, TableError> {
        let schema = self.client.schema();
        let (mut way, mut at): (BTreeMap<NodeRef, (ItemKey, Item)>, NodeRef) = (BTreeMap::new(), node.clone());
        while at != self.top {
            // A chain that comes back to itself, or has no end, leads nowhere.
            if way.len() == STEPS_MAX || way.contains_key(&at) {
                return Ok(Vec::new());
            }
            let record = self.records(std::slice::from_ref(&at)).await?.into_values().next();
            let (ParentOf::Under(parent), Some(record)) = (self.place(&at, record.as_ref()), record) else {
                return Ok(Vec::new());
            };
            let parent = at.sibling(parent);
            let Some(row) = row_key(&parent, 1, &at.id, schema) else { return Ok(Vec::new()) };
            way.insert(std::mem::replace(&mut at, parent), (row, record));
        }
        let there = self.there(way.values().map(|(row, _)| row.clone()).collect()).await?;
        let missed = way.into_iter().filter(|(_, (row, _))| !there.contains(row));
        let found = missed.map(|(node, (_, record))| FoundNode { node, record: Some(record) });
        Ok(found.filter(|found| self.apart.insert(found.node.clone())).collect())
    }

    fn place(&self, node: &NodeRef, record: Option<&Item>) -> ParentOf {
        match record.map(|item| BaseNode::read(item.clone(), node, self.client.schema())) {
            Some(Ok(BaseNode { parent: Some(parent), .. })) => ParentOf::Under(parent),
            Some(Ok(_)) => ParentOf::Root,
            Some(Err(_)) | None => ParentOf::Nowhere,
        }
    }

    async fn records(&self, nodes: &[NodeRef]) -> Result<BTreeMap<NodeRef, Item>, TableError> {
        let schema = self.client.schema();
        let keys: Vec<ItemKey> = nodes.iter().map(|node| schema.node_key(node)).collect();
        let mut read = self.client.get_all(&keys, &self.reading(None)).await?;
        Ok(nodes.iter().zip(keys).filter_map(|(node, key)| Some((node.clone(), read.remove(&key)?))).collect())
    }

    fn reading(&self, attributes: Option<BTreeSet<String>>) -> ReadOptions {
        ReadOptions { strong: self.strong, attributes }
    }

    async fn there(&self, keys: BTreeSet<ItemKey>) -> Result<BTreeSet<ItemKey>, TableError> {
        let reading = self.reading(Some(BTreeSet::new()));
        Ok(self.client.get_many(keys, &reading).await.all()?.into_keys().collect())
    }
}

impl Remembered {
    fn take(&mut self, id: &Id) {
        let left = self.bytes_left.checked_sub(REMEMBERED_NODE_BYTES + id.as_str().len());
        self.bytes_left = left.filter(|_| self.ids.insert(id.clone())).unwrap_or(self.bytes_left);
    }
}

impl Children {
    /// True if there may be one of them.
    fn is_worth_it(&self) -> bool {
        !self.proposed.is_empty() || self.after.is_some()
    }
}

/// The key of a node's row in the partition of one above it. `None` if no row can be there.
fn row_key(of: &NodeRef, depth: usize, id: &Id, schema: &sapwood_core::keys::Schema) -> Option<ItemKey> {
    schema.item_key(of, &SortKey::Ancestor { depth, id: id.clone() }).ok()
}
