//! The work: forests whose nodes are created, moved or deleted, and the keys that each node has written. The core plans
//! the writes.

use sapwood_core::fanout::{PlaceInput, PlacePlan, Settle, place, placement};
use sapwood_core::keys::{Id, ItemKey, NodeRef};
use sapwood_core::model::{
    BaseNode, DELETING, Deletion, DeletionMark, DeletionMode, Item, Lineage, Placement, PlacementInput, Settings,
    Stored, text,
};
use sapwood_core::plan::Rules;

/// How ids come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// At random, as UUIDs do.
    Random,
    /// Each is larger than the last, as numbers of a counter are, and UUIDs of version 7.
    Growing,
}

/// The order in which the nodes of a forest come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Level by level, and in a level as a sorted file has them: the children of one parent, then those of the next.
    Sorted,
    /// Level by level, and in a level at random.
    Levels,
    /// At random, each after its parent: a tree that grows everywhere at once.
    Everywhere,
}

/// What is done with the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Each is created when its parent is placed.
    Create,
    /// Each is placed before its parent is, where base records say that it will be, and again when the parent has come.
    CreateEarly,
    /// The whole is moved, with its top: from below the first node to below the second.
    Move,
    /// The whole is deleted.
    Delete,
}

/// A forest whose nodes all have the same number of children, but the last ones. Nodes are numbered level by level.
#[derive(Clone, Debug)]
pub struct Work {
    /// What is done.
    pub change: Change,
    /// The number of nodes.
    pub nodes: u64,
    /// The number of trees.
    pub roots: u64,
    /// The number of children of a node.
    pub children: u64,
    /// How ids come about.
    pub ids: Ids,
    /// The order of the nodes.
    pub order: Order,
    /// The nodes above the trees, each the parent of the next. A move takes the trees from here…
    pub above: &'static [&'static str],
    /// … to here.
    pub to: &'static [&'static str],
    /// The settings of the table.
    pub settings: Settings,
}

/// The keys that are written because of one node, each as often as it is written. Every write counts as one unit: items
/// have up to 1 KB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Those of clients.
    pub clients: Vec<ItemKey>,
    /// Those of the handler.
    pub handler: Vec<ItemKey>,
}

impl Work {
    /// An import of nodes with ten children each, in random order within a level.
    #[must_use]
    pub fn import(nodes: u64, roots: u64) -> Self {
        Self {
            change: Change::Create,
            nodes,
            roots,
            children: 10,
            ids: Ids::Random,
            order: Order::Levels,
            above: &[],
            to: &[],
            settings: Settings::default(),
        }
    }

    /// The number of a node's parent; `None` at the top of a tree.
    #[must_use]
    pub fn parent(&self, number: u64) -> Option<u64> {
        Some(number.checked_sub(self.roots)? / self.children)
    }

    /// The first number of the level of a node, and that of the next level.
    #[must_use]
    pub fn level(&self, number: u64) -> (u64, u64) {
        let (mut first, mut width) = (0, self.roots);
        while first + width <= number {
            first += width;
            width *= self.children;
        }
        (first, (first + width).min(self.nodes))
    }

    /// The number of the node that comes at a position of the order.
    #[must_use]
    pub fn at(&self, position: u64) -> u64 {
        match self.order {
            Order::Sorted => position,
            Order::Levels => {
                let (first, end) = self.level(position);
                first + mixed(position) % (end - first)
            }
            Order::Everywhere => mixed(position) % self.nodes,
        }
    }

    /// The id of a node.
    #[must_use]
    pub fn id(&self, number: u64) -> Id {
        let id = match self.ids {
            Ids::Random => format!("{:016x}", mixed(number + 1)),
            Ids::Growing => format!("{number:016}"),
        };
        Id::new(id).unwrap()
    }

    /// The placement of a node, with its tree below these nodes, and its base record.
    fn stands(&self, number: u64, above: &[&str]) -> (NodeRef, BaseNode, Placement) {
        let mut way: Vec<Id> = std::iter::successors(Some(number), |n| self.parent(*n)).map(|n| self.id(n)).collect();
        way.extend(above.iter().rev().map(|id| Id::new(*id).unwrap()));
        let mut parent: Option<(Id, Placement)> = None;
        loop {
            let node = NodeRef::from(way.pop().unwrap());
            let base = self.base(&node, parent.as_ref().map(|(id, _)| id));
            let above = parent.as_ref().map(|(_, placement)| placement);
            let wanted = PlacementInput {
                node: &node,
                base: &base,
                parent: above,
                settings: &self.settings,
                rules: Rules::default(),
            };
            let stands = placement(&wanted);
            if way.is_empty() {
                return (node, base, stands);
            }
            parent = Some((node.id, stands));
        }
    }

    fn base(&self, node: &NodeRef, parent: Option<&Id>) -> BaseNode {
        let parent = parent.map(|id| (self.settings.schema.names().parent.clone(), text(id.as_str())));
        BaseNode::read(parent.into_iter().collect::<Item>(), node, &self.settings.schema).unwrap()
    }

    /// What is written because of a node.
    #[must_use]
    pub fn writes(&self, number: u64) -> Writes {
        let schema = &self.settings.schema;
        let (node, base, stands) = self.stands(number, self.above);
        let key = schema.node_key(&node);
        let lineage = |placement: &Placement, deleting| {
            let placement = placement.clone();
            Stored::Lineage(Lineage { placement, born: Some("life".to_owned()), deleting, ..Lineage::default() })
        };
        let planned = |base: Option<&BaseNode>, stored: &Stored, wanted: &Placement, early: bool, touched: bool| {
            // The parent of a node whose placement is known, as far as placing asks for it.
            let parent = (!wanted.ancestors.is_empty()).then(|| Placement {
                ancestors: wanted.ancestors[1..].to_vec(),
                path: wanted.path[..wanted.path.len().saturating_sub(1)].to_vec(),
                ..Placement::default()
            });
            let input = PlaceInput {
                node: &node,
                base,
                stored,
                parent: parent.as_ref(),
                is_predicted: early,
                only_touched: touched,
                mark_went: None,
                standing: None,
                now: 0,
                new_life: "life",
            };
            place(&input, &self.settings, Rules::default())
        };
        let keys = |plan: PlacePlan| {
            let lineages = usize::from(plan.intent.is_some()) + usize::from(plan.settle != Settle::Keep);
            let rows = plan.puts.into_iter().map(|row| row.key).chain(plan.deletes);
            rows.chain(std::iter::repeat_n(schema.lineage_key(&node), lineages)).collect::<Vec<_>>()
        };
        match self.change {
            Change::Create => {
                let plan = planned(Some(&base), &Stored::Absent, &stands, false, false);
                Writes { clients: vec![key], handler: keys(plan) }
            }
            // The tops of trees wait for nobody.
            Change::CreateEarly => {
                let early = !stands.ancestors.is_empty();
                let plan = planned(Some(&base), &Stored::Absent, &stands, early, false);
                let waits = lineage(plan.placed.as_ref().unwrap(), None);
                let again = planned(Some(&base), &waits, &stands, false, true);
                let touch = early.then(|| key.clone());
                Writes { clients: vec![key], handler: keys(plan).into_iter().chain(keys(again)).chain(touch).collect() }
            }
            Change::Move => {
                let (_, base, there) = self.stands(number, self.to);
                // The top's own record isn't a touch.
                let plan = planned(Some(&base), &lineage(&stands, None), &there, false, number >= self.roots);
                Writes { clients: Vec::new(), handler: keys(plan).into_iter().chain([key]).collect() }
            }
            Change::Delete => {
                let mark = DeletionMark {
                    mode: DeletionMode::Delete,
                    operation: "operation".to_owned(),
                    revisions: false,
                    mark: None,
                };
                let item = Item::from([(DELETING.to_owned(), mark.value())]);
                let marked =
                    BaseNode::read(Item::clone(&base.item).into_iter().chain(item).collect::<Item>(), &node, schema)
                        .unwrap();
                let first = planned(Some(&marked), &lineage(&stands, None), &stands, false, true);
                let gone = planned(None, &lineage(&stands, Deletion::of(&node, &marked)), &stands, false, false);
                // The mark, and the deletion of the record.
                let records = [key.clone(), key];
                Writes {
                    clients: Vec::new(),
                    handler: keys(first).into_iter().chain(keys(gone)).chain(records).collect(),
                }
            }
        }
    }
}

/// A number that looks random and is always the same (the finalizer of SplitMix64).
#[must_use]
pub fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
