//! Nodes: created, replaced, patched, moved. One loop for all of them: read, decide, write on the condition that what was
//! read still holds, and once more where it doesn't.

use std::collections::BTreeMap;

use super::climb::Climb;
use super::content::{Content, Patch};
use super::record::{Draft, anew, patched};
use super::way::{Rung, Ways};
use super::{Done, Request, WriteError, Writer, Written};
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey};
use sapwood_core::model::{BaseNode, DELETING, Item, Stored, key_of, text};
use sapwood_table::{Action, Query, ReadOptions, RetryPolicy, TRANSACTION_ACTIONS_MAX, Table, TableError, Transacted};

/// What is asked for.
enum Wanted<'a> {
    Create { content: &'a Content, is_made_id: bool },
    Replace(&'a Content),
    Patch(&'a Patch),
}

impl Wanted<'_> {
    /// The parent, if one is named.
    fn parent(&self) -> Option<&Id> {
        match self {
            Self::Create { content, .. } | Self::Replace(content) => content.parent.as_ref(),
            Self::Patch(patch) => patch.parent.as_ref().and_then(Option::as_ref),
        }
    }

    fn is_made_id(&self) -> bool {
        matches!(self, Self::Create { is_made_id: true, .. })
    }
}

/// What was tried before.
#[derive(Default)]
struct Tried {
    written: Option<Written>,
    /// Whether what was to be done besides couldn't be.
    also_failed: bool,
}

/// What is read first.
struct Look {
    node: Option<Item>,
    node_lineage: Stored,
    /// Whether something may hang under the node's id, while it isn't there.
    hangs: bool,
    /// How many levels there are below the node.
    height: usize,
    parent: Option<Item>,
    parent_lineage: Stored,
}

impl<T: Table, P: RetryPolicy> Writer<'_, T, P> {
    /// Creates a node. With an id that the API has just made nothing can be there or hang under it: 2 round trips and 1
    /// write unit, a root 1 and 1. With a caller's own id the same and a read more; where something hangs under that id
    /// already it is a move.
    ///
    /// # Errors
    /// [`WriteError::Exists`], and those that a parent or the content can have.
    pub async fn create(
        &self,
        node: &NodeRef,
        is_made_id: bool,
        content: &Content,
        request: &Request<'_>,
    ) -> Result<Written, WriteError> {
        content.check(self.client.schema())?;
        self.save(node, &Wanted::Create { content, is_made_id }, request).await
    }

    /// Puts a node, in the place of one or of none. Another parent than before makes it a move.
    ///
    /// # Errors
    /// Those that a parent or the content can have.
    pub async fn replace(
        &self,
        node: &NodeRef,
        content: &Content,
        request: &Request<'_>,
    ) -> Result<Written, WriteError> {
        content.check(self.client.schema())?;
        self.save(node, &Wanted::Replace(content), request).await
    }

    /// Changes what is named of a node. Where nothing changes nothing is written.
    ///
    /// # Errors
    /// [`WriteError::NotFound`], and those that a parent or the content can have.
    pub async fn patch(&self, node: &NodeRef, patch: &Patch, request: &Request<'_>) -> Result<Written, WriteError> {
        patch.check(self.client.schema())?;
        self.save(node, &Wanted::Patch(patch), request).await
    }

    async fn save(&self, node: &NodeRef, wanted: &Wanted<'_>, request: &Request<'_>) -> Result<Written, WriteError> {
        if wanted.parent() == Some(&node.id) {
            return Err(WriteError::Cycle { node: node.id.clone(), parent: node.id.clone() });
        }
        let mut tried = Tried::default();
        let mut attempt = 0;
        loop {
            let is_first = attempt == 0;
            if let Some(written) = self.try_once(node, wanted, request, &mut tried, is_first).await? {
                return Ok(written);
            }
            if !self.again(&mut attempt).await {
                // The last try may have been done, its answer lost, and found its own write in the way.
                let reading = ReadOptions::default();
                let item = self.client.get(&self.client.schema().node_key(node), &reading).await?;
                let ours = tried.written.take().zip(item).filter(|(_, item)| request.stamp.made(Some(item)));
                return ours.map(|(written, item)| Written { item, ..written }).ok_or(WriteError::Contended);
            }
        }
    }

    /// Reads, decides and writes. `None`: something had changed in between, or the answer was lost.
    async fn try_once(
        &self,
        node: &NodeRef,
        wanted: &Wanted<'_>,
        request: &Request<'_>,
        tried: &mut Tried,
        is_first: bool,
    ) -> Result<Option<Written>, WriteError> {
        let schema = self.client.schema();
        let look = self.look(node, !(is_first && wanted.is_made_id()), wanted.parent()).await?;
        let before = look.node.as_ref();
        if !is_first && request.stamp.made(before) {
            return Ok(tried.written.take().zip(look.node).map(|(written, item)| Written { item, ..written }));
        }
        if tried.also_failed {
            return Err(WriteError::InProgress);
        }
        let Some(draft) = self.draft(node, wanted, request, before)? else {
            let Some(item) = look.node else { return Err(WriteError::NotFound) };
            let written = Written { key: schema.node_key(node), item, created: false, version: None };
            let also = request.also(&Done::Written(written.clone()));
            let is_done = also.is_empty() || self.client.transact(&also).await? == Transacted::Done;
            return if is_done { Ok(Some(written)) } else { Err(WriteError::InProgress) };
        };
        let draft = draft.check()?;
        let created = before.is_none();
        let written = Written { key: draft.key.clone(), item: draft.item.clone(), created, version: None };
        let also = request.also(&Done::Written(written.clone()));
        let checks = self.checks(node, wanted.parent(), &look, 1 + also.len()).await?;
        tried.written = Some(written);
        let is_done = self.write(&draft, checks, also, tried).await?;
        Ok(tried.written.take_if(|_| is_done))
    }

    /// What is to be written, given what is there. `None`: nothing changes.
    fn draft(
        &self,
        node: &NodeRef,
        wanted: &Wanted<'_>,
        request: &Request<'_>,
        before: Option<&Item>,
    ) -> Result<Option<Draft>, WriteError> {
        let schema = self.client.schema();
        let (key, strict) = (schema.node_key(node), request.precondition.is_strict());
        if before.is_none() && matches!(wanted, Wanted::Patch(_)) {
            return Err(WriteError::NotFound);
        }
        if !request.precondition.holds(before) {
            return Err(WriteError::PreconditionFailed);
        }
        if before.is_some_and(|item| item.contains_key(DELETING)) {
            return Err(WriteError::BeingDeleted(node.id.clone()));
        }
        match (wanted, before) {
            (Wanted::Create { .. }, Some(_)) => Err(WriteError::Exists),
            (Wanted::Create { content, .. } | Wanted::Replace(content), _) => {
                Ok(Some(anew(key, content, before, strict, request.stamp, schema)))
            }
            (Wanted::Patch(patch), Some(before)) => Ok(patched(key, patch, before, strict, request.stamp, schema)),
            (Wanted::Patch(_), None) => Err(WriteError::NotFound),
        }
    }

    /// What must hold besides, so that the parent can be the node's. `taken`: how many other actions there are.
    async fn checks(
        &self,
        node: &NodeRef,
        parent: Option<&Id>,
        look: &Look,
        taken: usize,
    ) -> Result<Vec<Action>, WriteError> {
        let schema = self.client.schema();
        let Some(parent) = parent else { return Ok(Vec::new()) };
        let rung = self.usable_parent(node, parent, look)?;
        let stays = look.node.as_ref().map(|item| item.get(&schema.names().parent) == Some(&text(parent.as_str())));
        match stays {
            Some(true) => return Ok(Vec::new()),
            None if !look.hangs => {
                if rung.deleting {
                    return Err(WriteError::BeingDeleted(parent.clone()));
                }
                let Some(above) = depth(&rung, &look.parent_lineage) else {
                    // Its own place isn't known yet, so the way is read; nothing has to hold of it.
                    self.way_checks(node, parent, look, taken).await?;
                    return Ok(Vec::new());
                };
                let depth = above + 1;
                return if depth > DEPTH_MAX { Err(WriteError::TooDeep { depth }) } else { Ok(Vec::new()) };
            }
            None | Some(false) => {}
        }
        self.way_checks(node, parent, look, taken).await
    }

    /// Reads both ways up, and says what must hold of them.
    async fn way_checks(
        &self,
        node: &NodeRef,
        parent: &Id,
        look: &Look,
        taken: usize,
    ) -> Result<Vec<Action>, WriteError> {
        let schema = self.client.schema();
        let mut climb = Climb::default();
        climb.add(Rung::read(node, look.node.as_ref(), schema), Some(&look.node_lineage));
        let target = node.sibling(parent.clone());
        climb.add(Rung::read(&target, look.parent.as_ref(), schema), Some(&look.parent_lineage));
        let ways = self.climb(&mut climb, node, &[&node.id, parent]).await?;
        let [own, target] = &ways[..] else { return Ok(Vec::new()) };
        let own = look.node.is_some().then_some(own);
        let ways = Ways { node: &node.id, own, target, height: look.height };
        let checks = ways.checks(TRANSACTION_ACTIONS_MAX.saturating_sub(taken), self.rules)?;
        let action = |rung: &Rung| Action::Check {
            key: schema.node_key(&node.sibling(rung.node.clone())),
            condition: rung.condition(schema),
        };
        Ok(checks.into_iter().map(action).collect())
    }

    /// The parent as a rung, if something can be put under it.
    fn usable_parent(&self, node: &NodeRef, parent: &Id, look: &Look) -> Result<Rung, WriteError> {
        let (schema, target) = (self.client.schema(), node.sibling(parent.clone()));
        let Some(item) = &look.parent else { return Err(WriteError::ParentMissing(parent.clone())) };
        if let Err(source) = BaseNode::read(item.clone(), &target, schema) {
            return Err(WriteError::ParentUnreadable { id: parent.clone(), source });
        }
        Ok(Rung::read(&target, Some(item), schema))
    }

    /// Writes a draft, with what must hold besides and what is done besides. False: something had changed.
    async fn write(
        &self,
        draft: &Draft,
        checks: Vec<Action>,
        also: Vec<Action>,
        tried: &mut Tried,
    ) -> Result<bool, TableError> {
        if checks.is_empty() && also.is_empty() {
            return match &draft.update {
                Some(update) => self.client.update(&draft.key, update, &draft.condition).await,
                None => self.client.put(&draft.item, &draft.condition).await,
            };
        }
        let mut actions = vec![draft.action()];
        actions.extend(checks);
        let ours = actions.len();
        actions.extend(also);
        match self.client.transact(&actions).await? {
            Transacted::Done => Ok(true),
            Transacted::Failed(positions) => {
                tried.also_failed = positions.iter().any(|position| *position >= ours);
                Ok(false)
            }
        }
    }

    /// Reads the node, where it can be there, and the parent, in one round trip.
    async fn look(&self, node: &NodeRef, with_node: bool, parent: Option<&Id>) -> Result<Look, TableError> {
        let schema = self.client.schema();
        let parent = parent.map(|id| node.sibling(id.clone()));
        let deleted_key = schema.deleted_key(node);
        let mut keys: Vec<ItemKey> = Vec::new();
        if with_node {
            keys.push(schema.node_key(node));
        }
        if let Some(parent) = &parent {
            keys.extend([schema.node_key(parent), schema.lineage_key(parent)]);
            if with_node {
                keys.extend([schema.lineage_key(node), deleted_key.clone()]);
            }
        }
        let deepest = async { if with_node && parent.is_some() { self.deepest(node).await } else { Ok(0) } };
        let reading = ReadOptions::default();
        let (items, height) = futures::try_join!(self.read(keys, &reading), deepest)?;
        let mut items: BTreeMap<ItemKey, Item> = items;
        let node_lineage = Stored::read(items.get(&schema.lineage_key(node)), schema);
        let hangs = height > 0 || node_lineage != Stored::Absent || items.contains_key(&deleted_key);
        let parent_lineage = parent.as_ref().map(|parent| Stored::read(items.get(&schema.lineage_key(parent)), schema));
        Ok(Look {
            node: items.remove(&schema.node_key(node)),
            node_lineage,
            hangs,
            height,
            parent: parent.as_ref().and_then(|parent| items.remove(&schema.node_key(parent))),
            parent_lineage: parent_lineage.unwrap_or(Stored::Absent),
        })
    }

    /// How many levels there are below a node, as its rows say.
    async fn deepest(&self, node: &NodeRef) -> Result<usize, TableError> {
        let schema = self.client.schema();
        let query = Query {
            pk: schema.partition(node),
            range: schema.depth_range(1, DEPTH_MAX),
            after: None,
            limit: 1,
            descending: true,
            reading: ReadOptions { strong: true, attributes: Some([].into()) },
        };
        let page = self.client.query(&query).await?;
        let sort_key = page.items.first().and_then(|row| key_of(row, schema)).map(|key| schema.parse_sort_key(&key.sk));
        Ok(match sort_key.flatten() {
            Some(SortKey::Ancestor { depth, .. }) => depth,
            _ => 0,
        })
    }
}

/// How deep a node is by its lineage; `None` where that isn't what its base record says.
fn depth(rung: &Rung, lineage: &Stored) -> Option<usize> {
    match (&rung.parent, lineage.lineage()) {
        (None, _) => Some(0),
        (Some(parent), Some(lineage)) if lineage.placement.ancestors.first() == Some(parent) => {
            Some(lineage.placement.ancestors.len())
        }
        _ => None,
    }
}
