//! Siblings: the children of a node, and all roots, by id or in the order of attributes.

use super::fields::segment;
use super::page::Listing;
use super::{Descendant, ListOptions, Order, Page, ReadError, Reader, Sorting};
use sapwood_core::keys::{ItemKey, NodeRef, OrderedList, Schema, SiblingPlace, SortKey, SortRange, Tenant};
use sapwood_core::model::{Item, ROW_ATTRIBUTES, SiblingOrder, is_truncated, own_order};
use sapwood_store::{RetryPolicy, Table};

/// The kind of the values that a list in their order covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Texts, in the order of their bytes.
    Text,
    /// Numbers.
    Number,
}

/// The siblings that a list in their order covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Siblings {
    /// The order of the list.
    pub order: Order,
    part: Part,
}

/// The places of siblings that a list covers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    All,
    /// The places that begin so.
    Beginning(SiblingPlace),
    /// The places that begin like the first, from the second to the third.
    Between(SiblingPlace, Option<SiblingPlace>, Option<SiblingPlace>),
}

impl Siblings {
    /// All siblings, or those whose first ordering value begins with `prefix`, or is from `from` to `to`, inclusive.
    /// The values are texts by default. `values` leaves out siblings with other values in any case.
    ///
    /// # Errors
    /// [`ReadError::Parameter`] if the parameters contradict each other, if a number isn't one that DynamoDB can hold,
    /// and for a prefix that is longer than what a key has of a value.
    pub fn new(
        by: Option<&SiblingOrder>,
        order: Order,
        values: Option<Values>,
        prefix: Option<&str>,
        [from, to]: [Option<&str>; 2],
    ) -> Result<Self, ReadError> {
        let refuse = |parameter, reason| Err(ReadError::Parameter { parameter, reason });
        let attributes = by.map_or(1, |by| by.attributes().len());
        let first = by.and_then(|by| by.attributes().first());
        let compared = |text: &str| first.map_or_else(|| text.to_owned(), |first| first.compared(text).into_owned());
        let has_ends = from.is_some() || to.is_some();
        if let Some(prefix) = prefix {
            if has_ends {
                return refuse("value_prefix", "give either a prefix, or the first and the last value");
            }
            if values == Some(Values::Number) {
                return refuse("value_prefix", "numbers have no prefix; give `from` and `to`");
            }
            return match SiblingPlace::texts(&compared(prefix), attributes) {
                Some(beginning) => Ok(Self { order, part: Part::Beginning(beginning) }),
                None => refuse(
                    "value_prefix",
                    "it takes up to 256 bytes, or the share of the first attribute where several order siblings; of these, `!` to `%`, space and controls take 3 each",
                ),
            };
        }
        let values = match values {
            None if !has_ends => return Ok(Self { order, part: Part::All }),
            values => values.unwrap_or(Values::Text),
        };
        let no_number = |parameter| ReadError::Parameter {
            parameter,
            reason: "with `values=number` it takes a number of at most 38 digits, from 1E-130 to 9.9…E+125",
        };
        let bound = |parameter, value: Option<&str>| {
            let place = |value| match values {
                Values::Text => Ok(SiblingPlace::text_bound(&compared(value), attributes)),
                Values::Number => SiblingPlace::number_bound(value).ok_or_else(|| no_number(parameter)),
            };
            value.map(place).transpose()
        };
        let (from, to) = (bound("from", from)?, bound("to", to)?);
        if let (Some(from), Some(to)) = (&from, &to)
            && from > to
        {
            return refuse("to", "give a value that doesn't sort before `from`");
        }
        let kind = match values {
            Values::Text => SiblingPlace::texts("", attributes).unwrap_or_else(SiblingPlace::none),
            Values::Number => SiblingPlace::numbers(),
        };
        Ok(Self { order, part: Part::Between(kind, from, to) })
    }

    /// Tells this list from others of the same siblings: which part it is, and its first and last place.
    #[must_use]
    pub fn part(&self) -> [Option<&str>; 3] {
        match &self.part {
            Part::All => [None; 3],
            Part::Beginning(place) => [Some(place.as_str()), None, None],
            Part::Between(kind, from, to) => {
                [Some(kind), from.as_ref(), to.as_ref()].map(|place| place.map(SiblingPlace::as_str))
            }
        }
    }

    fn range(&self, list: OrderedList, schema: &Schema) -> Result<SortRange, ReadError> {
        let beginning = |place| {
            let range = schema.ordered_prefix_range(list, place);
            range.map_err(|source| ReadError::Key { parameter: "value_prefix", source })
        };
        match &self.part {
            Part::All => Ok(schema.ordered_range(list, None, None)),
            Part::Beginning(place) => beginning(place),
            Part::Between(kind, from, to) => {
                let (all, ends) = (beginning(kind)?, schema.ordered_range(list, from.as_ref(), to.as_ref()));
                let from = if from.is_some() { ends.from } else { all.from };
                let to = if to.is_some() { ends.to } else { all.to };
                Ok(SortRange { from, to })
            }
        }
    }
}

/// The parent of the listed nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent<'a> {
    /// A node. An id without a node can have orphans as children.
    Node(&'a NodeRef),
    /// No parent: the roots of a tenant.
    Roots(Option<&'a Tenant>),
}

/// The listed siblings and their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiblingList {
    /// All of them, by id.
    ById,
    /// Some of them, or all, in the order that the deployment keeps.
    Kept(Siblings),
    /// All of them, in another order. Each page reads them all.
    Sorted(Sorting),
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the children of a node, or all roots.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`] and [`ReadError::NotBackfilled`] for rows that the deployment doesn't keep,
    /// [`ReadError::Absent`] if neither the node nor such a child exists, [`ReadError::Parameter`] for more than 5,000
    /// siblings that are sorted, or more than 20 MB of their rows, and [`ReadError::Position`].
    pub async fn siblings(
        &self,
        parent: Parent<'_>,
        list: &SiblingList,
        options: &ListOptions,
    ) -> Result<Page<Descendant>, ReadError> {
        if matches!(parent, Parent::Roots(_)) && !self.settings.root_rows {
            return Err(ReadError::SwitchedOff { what: "root rows", parameter: "RootRows=on" });
        }
        let read = |key: &ItemKey, item: &Item| match parent {
            Parent::Node(node) => self.descendant(node, options, key, item),
            Parent::Roots(_) => self.root(options, key, item),
        };
        let page = match list {
            SiblingList::ById => self.list(&self.siblings_by_id(parent), options, read).await?,
            SiblingList::Kept(siblings) => self.list(&self.siblings_in_order(parent, siblings)?, options, read).await?,
            SiblingList::Sorted(sorting) => self.sorted(self.siblings_by_id(parent), sorting, options, read).await?,
        };
        if let Parent::Node(node) = parent
            && page.is_an_empty_list(options)
        {
            self.check_node(node).await?;
            // A part of the siblings may well be empty.
            let is_kept = matches!(list, SiblingList::Kept(siblings) if siblings.part == Part::All);
            if is_kept && options.filter.is_empty() {
                self.check_backfilled(node, "their order", |placement| placement.order.is_some()).await?;
            }
        }
        Ok(page)
    }

    fn siblings_by_id(&self, parent: Parent<'_>) -> Listing<'_> {
        let schema = self.client.schema();
        match parent {
            Parent::Node(node) => self.depth_listing(node, schema.depth_range(1, 1)),
            Parent::Roots(tenant) => {
                Listing::new(schema.roots_partition(tenant), schema.root_range(), ROW_ATTRIBUTES.into())
            }
        }
    }

    fn siblings_in_order(&self, parent: Parent<'_>, siblings: &Siblings) -> Result<Listing<'_>, ReadError> {
        if self.settings.order.is_none() {
            return Err(ReadError::SwitchedOff { what: "siblings in an order", parameter: "OrderAttribute=…" });
        }
        let ordered = match parent {
            Parent::Node(_) => OrderedList::Children,
            Parent::Roots(_) => OrderedList::Roots,
        };
        let range = siblings.range(ordered, self.client.schema())?;
        Ok(Listing { range, descending: siblings.order == Order::Descending, ..self.siblings_by_id(parent) })
    }

    fn root(&self, options: &ListOptions, key: &ItemKey, item: &Item) -> Option<Descendant> {
        let schema = self.client.schema();
        match schema.parse_sort_key(&key.sk)? {
            SortKey::Root(id) | SortKey::OrderedRoot { id, .. } => {
                let (place, segment) = (own_order(item), segment(item, schema));
                let (attributes, truncated) = (options.fields.of_node(item, schema), is_truncated(item));
                Some(Descendant { id, parent: None, depth: 0, place, segment, attributes, truncated })
            }
            _ => None,
        }
    }
}
