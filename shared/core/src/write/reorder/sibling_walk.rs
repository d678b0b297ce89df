//! Walks along the siblings of a node: rows propose who comes next, and base records decide, because rows lag.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::SiblingPosition;
use crate::keys::{Id, ItemKey, NodeRef, OrderedList, SiblingPlace, SortKey};
use crate::model::{
    AttributeValue, BaseNode, CREATED_AT, DELETING, Item, PUT_BACK, REVISION, Settings, SiblingOrder, TRASHED, key_of,
};
use crate::plan::{Io, Need};
use crate::request::{Query, ReadOptions};
use crate::write::Refusal;
use crate::write::attempts::Stop;

/// Rows that are read first: the neighbour's, and the node's own, and one more.
const FIRST_ROWS: usize = 3;
/// Most rows that are read at a time after that: as many as base records in a `BatchGetItem`, at most.
const PAGE_ROWS_MAX: usize = 96;
/// Most rows that are read. If these don't show the neighbours, they are of nodes that aren't there any more.
const ROWS_MAX: usize = 1_000;
/// How many siblings of the batch itself are looked at, each time that the rows are.
const OF_BATCH: usize = 8;
/// Longest value of ours, in bytes.
pub(super) const VALUE_BYTES_MAX: usize = 128;
/// Most bytes that are looked at of another client's text. No value is longer, so the rest of the text decides nothing.
const BOUND_BYTES_MAX: usize = VALUE_BYTES_MAX + 4;

type Order = (SiblingPlace, Id);

#[derive(Clone, Copy, Debug)]
pub(super) struct Siblings<'a> {
    pub(super) settings: &'a Settings,
    pub(super) order: &'a SiblingOrder,
    pub(super) node: &'a NodeRef,
}

/// A node among its siblings, as its base record has it.
#[derive(Clone, Debug)]
pub(super) struct Sibling {
    pub(super) id: Id,
    pub(super) place: SiblingPlace,
    pub(super) item: Arc<Item>,
}

impl Sibling {
    pub(super) fn has_value(&self) -> bool {
        self.place != SiblingPlace::none()
    }

    pub(super) fn order(&self) -> Order {
        (self.place.clone(), self.id.clone())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
}

impl Way {
    pub(super) fn back(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// Where a walk begins.
#[derive(Debug)]
pub(super) enum Start<'s> {
    /// At the end of the list.
    End,
    /// At a sibling, which isn't found itself.
    Sibling(&'s Sibling),
    /// Where siblings without a value begin: upwards the first of them is next, downwards the last one with a value.
    Unvalued,
    /// Upwards after the row of this node, which had no value. Siblings that have got values by now are found as well.
    UnvaluedAfter(&'s Id),
}

#[derive(Clone, Debug)]
pub(super) struct Walk {
    parent: Option<Id>,
    way: Way,
    /// Only siblings on from here are found.
    start: Option<Order>,
    begins_unvalued: bool,
    /// The siblings found so far, and those that were looked at.
    found: BTreeMap<Order, Sibling>,
    looked_at: BTreeSet<Id>,
    /// Placed by the batch and not looked at, the nearest first.
    of_batch: VecDeque<Order>,
    /// The sort key of the last row read, and its place.
    after: Option<String>,
    last_row: Option<Order>,
    rows_read: usize,
    is_over: bool,
}

impl<'a> Siblings<'a> {
    /// A sibling, if this base record is one of the same parent's.
    pub(super) fn read(&self, parent: Option<&Id>, id: &Id, item: &Item) -> Option<Sibling> {
        let base = BaseNode::read(item.clone(), &self.node.sibling(id.clone()), &self.settings.schema).ok()?;
        let place = self.order.place(item, id);
        let is_listed = base.parent.as_ref() == parent && base.trashed.is_none();
        is_listed.then(|| Sibling { id: id.clone(), place, item: base.item })
    }

    pub(super) fn key(&self, id: &Id) -> ItemKey {
        self.settings.schema.node_key(&self.node.sibling(id.clone()))
    }

    /// The text of a sibling, or none if it has no value.
    pub(super) fn text_or_none<'s>(&self, sibling: &'s Sibling) -> Result<Option<&'s str>, Refusal> {
        match sibling.item.get(self.order.attribute()) {
            None => Ok(None),
            // A value has less bytes than the cut text, so it is on the same side of both.
            Some(AttributeValue::S(text)) => Ok(Some(&text[..text.floor_char_boundary(BOUND_BYTES_MAX)])),
            Some(_) => {
                let attribute = self.order.attribute().to_owned();
                Err(Refusal::PlaceNotText { id: sibling.id.clone(), attribute })
            }
        }
    }

    pub(super) fn has_text(&self, sibling: &Sibling) -> bool {
        matches!(sibling.item.get(self.order.attribute()), Some(AttributeValue::S(_)))
    }

    /// Begins a walk among the children of a parent, or among the roots.
    pub(super) fn walk(
        &self,
        parent: Option<&Id>,
        way: Way,
        start: &Start<'_>,
        placed: &[SiblingPosition],
    ) -> Result<Walk, Stop> {
        let (starts, after) = match start {
            Start::End => (None, None),
            Start::Sibling(sibling) => {
                (Some(sibling.order()), Some(self.row_key(parent, &sibling.place, &sibling.id)?))
            }
            Start::Unvalued => (None, None),
            Start::UnvaluedAfter(id) => (None, Some(self.row_key(parent, &SiblingPlace::none(), id)?)),
        };
        let mut looked_at = BTreeSet::from([self.node.id.clone()]);
        if let Start::Sibling(sibling) = start {
            looked_at.insert(sibling.id.clone());
        }
        let mut walk = Walk {
            parent: parent.cloned(),
            way,
            start: starts,
            begins_unvalued: matches!(start, Start::Unvalued),
            found: BTreeMap::new(),
            looked_at,
            of_batch: VecDeque::new(),
            after,
            last_row: None,
            rows_read: 0,
            is_over: false,
        };
        // Nodes that the batch has placed on the way. Upwards from those without a value, the others are behind.
        let is_unvalued = way == Way::Up && matches!(start, Start::Unvalued | Start::UnvaluedAfter(_));
        let ours = placed.iter().filter(|position| {
            let is_behind = is_unvalued && position.place != SiblingPlace::none();
            position.parent == walk.parent && position.node != self.node.id && !is_behind
        });
        let orders = ours.map(|position| (position.place.clone(), position.node.clone()));
        let mut beyond: Vec<Order> = orders.filter(|order| walk.is_on_the_way(order)).collect();
        beyond.sort();
        if way == Way::Down {
            beyond.reverse();
        }
        walk.of_batch = beyond.into();
        Ok(walk)
    }

    /// Reads further rows, and the records that they show and of the batch's next. At the end it reads nothing.
    pub(super) async fn further(&self, io: &Io, walk: &mut Walk) -> Result<(), Stop> {
        let mut rows = Vec::new();
        if !walk.is_over {
            if walk.rows_read >= ROWS_MAX {
                return Err(Refusal::SiblingsNotUpToDate.into());
            }
            let page = io.page(self.rows(walk)).await?;
            walk.is_over = page.next.is_none();
            walk.after = page.next;
            walk.rows_read += page.items.len();
            let schema = &self.settings.schema;
            let keys = page.items.iter().filter_map(|row| schema.parse_sort_key(&key_of(row, schema)?.sk));
            rows.extend(keys.filter_map(|key| match key {
                SortKey::Child { place, id } | SortKey::OrderedRoot { place, id } => Some((place, id)),
                _ => None,
            }));
            walk.last_row = rows.last().cloned().or(walk.last_row.take());
        }
        let of_batch = walk.of_batch.drain(..walk.of_batch.len().min(OF_BATCH));
        let ids = rows.into_iter().chain(of_batch).map(|(_, id)| id);
        let ids: Vec<Id> = ids.filter(|id| walk.looked_at.insert(id.clone())).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let read = io.read(self.records(&ids)).await?;
        for id in ids {
            let item = read.item(&self.key(&id))?;
            let Some(sibling) = item.and_then(|item| self.read(walk.parent.as_ref(), &id, item)) else { continue };
            let order = sibling.order();
            if walk.is_on_the_way(&order) {
                walk.found.insert(order, sibling);
            }
        }
        Ok(())
    }

    fn row_key(&self, parent: Option<&Id>, place: &SiblingPlace, id: &Id) -> Result<String, Stop> {
        let (place, id) = (place.clone(), id.clone());
        let key = match parent {
            Some(_) => SortKey::Child { place, id },
            None => SortKey::OrderedRoot { place, id },
        };
        Ok(self.settings.schema.sort_key(&key)?)
    }

    fn rows(&self, walk: &Walk) -> Query {
        let schema = &self.settings.schema;
        let (pk, list) = match &walk.parent {
            Some(parent) => (schema.partition(&self.node.sibling(parent.clone())), OrderedList::Children),
            None => (schema.roots_partition(self.node.tenant.as_ref()), OrderedList::Roots),
        };
        let mut range = schema.ordered_range(list, None, None);
        if walk.begins_unvalued {
            // No key is the beginning itself.
            let beginning = schema.ordered_range(list, Some(&SiblingPlace::none()), None).from;
            match walk.way {
                Way::Up => range.from = beginning,
                Way::Down => range.to = beginning,
            }
        }
        let limit = (4 * walk.rows_read).clamp(FIRST_ROWS, PAGE_ROWS_MAX);
        let (after, descending) = (walk.after.clone(), walk.way == Way::Down);
        Query { after, descending, ..Query::first(pk, range, limit).of([]) }
    }

    fn records(&self, ids: &[Id]) -> Need {
        let names = self.settings.schema.names();
        let own = [DELETING, PUT_BACK, TRASHED, REVISION, CREATED_AT];
        let attributes = [&*names.parent, &*names.segment, self.order.attribute()].into_iter().chain(own);
        Need { options: ReadOptions::of(attributes), ..Need::keys(ids.iter().map(|id| self.key(id))) }
    }
}

impl Walk {
    /// The siblings that were found, the nearest first.
    pub(super) fn nearest(&self) -> Vec<&Sibling> {
        match self.way {
            Way::Up => self.found.values().collect(),
            Way::Down => self.found.values().rev().collect(),
        }
    }

    /// True if nothing that is still to be looked at can be nearer than this sibling.
    pub(super) fn knows(&self, sibling: Option<&Sibling>) -> bool {
        let is_nearer = |than: &Order| {
            sibling.is_some_and(|sibling| {
                let (at, than) = ((&sibling.place, &sibling.id), (&than.0, &than.1));
                if self.way == Way::Up { at <= than } else { at >= than }
            })
        };
        let knows_rows = self.is_over || self.last_row.as_ref().is_some_and(is_nearer);
        knows_rows && self.of_batch.front().is_none_or(is_nearer)
    }

    /// True if a place is on the way from the start.
    fn is_on_the_way(&self, order: &Order) -> bool {
        if self.begins_unvalued && self.way == Way::Down && order.0 == SiblingPlace::none() {
            return false;
        }
        let Some((place, id)) = &self.start else { return true };
        match self.way {
            Way::Up => (&order.0, &order.1) > (place, id),
            Way::Down => (&order.0, &order.1) < (place, id),
        }
    }
}
