//! What the operations of a batch need, read before the first of them begins.
//!
//! Operations run one after another. Most of what they read is known before: the nodes that they name, and the parents.
//! So it is read together, and each operation is answered from that and from what the batch has written since. What
//! could be wrong by now is guarded by a condition, or the operation reads for itself: docs/internals/protocol/write.md
//! has the list (*Batches*).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::attempts::Attempts;
use super::perform::{self, BatchBefore};
use super::reorder::SiblingPosition;
use super::{Children, Command, Context, Outcome, Request, Stamp};
use crate::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use crate::model::{BaseNode, Item, Settings, answered_bytes, text};
use crate::plan::{Facts, Need, Read, Rule, Step, Task};
use crate::request::{Action, Page, Query, ReadOptions};

/// Most bytes of items, as answers have them, that are kept from operations that are done.
const KEPT_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// Items that were read strongly, or written by the batch itself, and pages.
#[derive(Debug, Default)]
pub struct Prefetched {
    items: BTreeMap<ItemKey, Option<Arc<Item>>>,
    /// The first page of one query of a partition.
    pages: BTreeMap<String, (Query, Page)>,
    /// Nodes that the batch has placed among their siblings, whose rows can't be there yet.
    placed: Vec<SiblingPosition>,
    /// The nodes that the batch has written, each with its parent. Of a copy the record alone says it.
    parents: BTreeMap<NodeRef, Option<Option<Id>>>,
}

/// The first reads of operations: items, strongly consistent and with all attributes, and pages.
#[derive(Debug, Default, PartialEq)]
pub struct FirstReads {
    /// The keys of the items.
    pub keys: BTreeSet<ItemKey>,
    /// The queries, one for a partition.
    pub queries: Vec<Query>,
}

impl FirstReads {
    /// The first reads of these commands; none if fewer than two of them read something: one reads as fast by itself.
    #[must_use]
    pub fn of(context: Context<'_>, commands: &[&Command]) -> Self {
        // Whatever else a request says, it doesn't change what its command reads first.
        let request = Request::new(Stamp::default());
        let first = |command: &&Command| {
            if reads_rows(command) {
                return None;
            }
            match perform::plan(Attempts::new(context, &request, None), command, BatchBefore::default())
                .next(Facts::None)
            {
                Ok(Step::Need(need)) => Some(need),
                _ => None,
            }
        };
        let needs: Vec<Need> = commands.iter().filter_map(first).collect();
        if needs.len() < 2 {
            return Self::default();
        }
        let mut wanted = Self::default();
        for Need { keys, query, .. } in needs {
            wanted.keys.extend(keys);
            wanted.queries.extend(query.filter(|query| wanted.queries.iter().all(|other| other.pk != query.pk)));
        }
        wanted
    }
}

impl Prefetched {
    /// Takes what was read for these commands: items, but for unread keys, and pages.
    pub fn learn(
        &mut self,
        commands: &[&Command],
        wanted: FirstReads,
        read: Read,
        pages: Vec<Option<Page>>,
        schema: &Schema,
    ) {
        if self.items.values().flatten().map(|item| answered_bytes(item)).sum::<usize>() > KEPT_BYTES_MAX {
            self.items.clear();
        }
        self.pages.clear();
        let Read { mut items, unread, .. } = read;
        for key in wanted.keys.into_iter().filter(|key| !unread.contains(key)) {
            let item = items.remove(&key);
            self.items.insert(key, item);
        }
        for (query, page) in wanted.queries.into_iter().zip(pages) {
            let Some(page) = page else { continue };
            let asks = |command: &&Command| reads_page_of(command).is_some_and(|of| schema.partition(of) == query.pk);
            if commands.iter().copied().filter(asks).all(|command| self.stays(command, schema)) {
                self.pages.insert(query.pk.clone(), (query, page));
            }
        }
    }

    /// Takes what a command has written: under which parent a node is, and where it is among its siblings.
    pub(super) fn wrote(&mut self, command: &Command, outcome: &Outcome, settings: &Settings) {
        match (outcome, command) {
            (Outcome::Node { node, item, .. }, _) => {
                self.parents.insert(node.clone(), Some(BaseNode::parent_in(item, node, &settings.schema)));
                self.place(node, item, settings);
            }
            (Outcome::Copying { .. }, Command::Copy { node, .. }) => _ = self.parents.insert(node.clone(), None),
            _ => {}
        }
    }

    /// Takes where a node is among its siblings, if these are ordered by hand.
    fn place(&mut self, node: &NodeRef, item: &Item, settings: &Settings) {
        let Some(order) = settings.order.as_ref().filter(|order| order.by_hand) else { return };
        if BaseNode::is_in_trash(item, node, &settings.schema) {
            self.placed.retain(|position| position.node != node.id);
            return;
        }
        let (parent, place) = (BaseNode::parent_in(item, node, &settings.schema), order.place(item, &node.id));
        self.place_too([SiblingPosition { parent, node: node.id.clone(), place }]);
    }

    /// Takes siblings that got other values, to make room.
    pub(super) fn place_too(&mut self, changed: impl IntoIterator<Item = SiblingPosition>) {
        for placed in changed {
            self.placed.retain(|position| position.node != placed.node);
            self.placed.push(placed);
        }
    }

    pub(super) fn before(&self, command: &Command, context: Context<'_>) -> BatchBefore {
        let below = |of: &NodeRef| {
            let may_be = |parent: &Option<Option<Id>>| parent.as_ref().is_none_or(|at| at.as_ref() == Some(&of.id));
            self.parents.iter().filter(|(_, parent)| may_be(parent)).map(|(node, _)| node.id.clone()).collect()
        };
        let children = match command {
            Command::Delete { node, .. } if context.rules.keeps(Rule::BatchCountsChildren) => below(node),
            _ => BTreeSet::new(),
        };
        BatchBefore { placed: self.placed.clone(), children }
    }

    /// True if the tree below the command's node doesn't matter: the node isn't there, or it stays where it is.
    fn stays(&self, command: &Command, schema: &Schema) -> bool {
        let (Command::Create { node, content, .. } | Command::Replace { node, content }) = command else { return true };
        match self.items.get(&schema.node_key(node)) {
            None => false,
            Some(None) => true,
            Some(Some(item)) => {
                let parent = content.parent.as_ref().map(|parent| text(parent.as_str()));
                item.get(&schema.names().parent) == parent.as_ref()
            }
        }
    }

    /// The answer to what a plan needs, if all of it is known.
    pub(super) fn answer(&self, need: &Need) -> Option<Read> {
        if !need.options.strong {
            return None;
        }
        let mut read = Read::default();
        for key in &need.keys {
            read.items.extend(self.items.get(key)?.clone().map(|item| (key.clone(), item)));
        }
        if let Some(query) = &need.query {
            let (known, page) = self.pages.get(&query.pk)?;
            read.page = Some(page.clone()).filter(|_| known == query);
            read.page.as_ref()?;
        }
        Some(read)
    }

    /// Takes what a plan has read for itself: else it would see that and what was read ahead in turn, for ever.
    pub(super) fn read_again(&mut self, need: &Need, read: &Read) {
        if need.options != ReadOptions::default() {
            return;
        }
        for key in need.keys.iter().filter(|key| self.items.contains_key(*key)).cloned().collect::<Vec<_>>() {
            if read.unread.contains(&key) || read.left.contains(&key) {
                self.items.remove(&key);
            } else {
                self.items.insert(key.clone(), read.items.get(&key).cloned());
            }
        }
        if let Some(query) = &need.query {
            self.pages.remove(&query.pk);
        }
    }

    /// Forgets what these tasks are about: it isn't known before they are answered.
    pub(super) fn forget(&mut self, task: &Task) {
        for key in actions(task).iter().map(Action::key).chain(task.key()) {
            self.items.remove(key);
            self.pages.remove(&key.pk);
        }
    }

    /// Forgets all that was read. What the batch has placed stays.
    pub(super) fn forget_all(&mut self) {
        self.items.clear();
        self.pages.clear();
    }

    /// Takes the base records, and records of deleted nodes, that a task has written. Nothing else is asked for again.
    pub(super) fn written(&mut self, task: &Task, schema: &Schema) {
        for action in actions(task) {
            if !matches!(schema.parse_sort_key(&action.key().sk), Some(SortKey::Node | SortKey::Deleted)) {
                continue;
            }
            match action {
                Action::Put { key, item, .. } => _ = self.items.insert(key.clone(), Some(Arc::new(item.clone()))),
                Action::Delete { key, .. } => _ = self.items.insert(key.clone(), None),
                Action::Update { .. } | Action::Check { .. } => {}
            }
        }
    }
}

fn actions(task: &Task) -> &[Action] {
    match task {
        Task::Write(action) => std::slice::from_ref(action),
        Task::Transact(actions) => actions,
        Task::Mark { .. } | Task::Count(_) => &[],
    }
}

/// True if a command needs the rows below its node as they are at its turn: a move, or a delete without children.
fn reads_rows(command: &Command) -> bool {
    match command {
        Command::Patch { patch, .. } => matches!(patch.parent, Some(Some(_))),
        Command::Restore { .. } => true,
        Command::Delete { children, .. } => *children == Children::Restrict,
        _ => false,
    }
}

fn reads_page_of(command: &Command) -> Option<&NodeRef> {
    match command {
        Command::Create { node, .. } | Command::Replace { node, .. } => Some(node),
        Command::Append { topic, .. } => Some(&topic.node),
        _ => None,
    }
}
