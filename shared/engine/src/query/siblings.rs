//! Siblings in the order of an attribute, or of several: the children of a node, and all trees.

use super::page::Listing;
use super::{Descendant, ListOptions, Order, Page, ReadError, Reader};
use sapwood_core::keys::{NodeRef, OrderedList, Schema, SiblingPlace, SortRange, Tenant};
use sapwood_core::model::{ROW_ATTRIBUTES, SiblingOrder};
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
    order: Order,
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
    /// All siblings, or those whose values of the first attribute that orders them begin with `prefix`, or are from
    /// `from` to `to`, both included. Without `values` these are texts. With it, siblings with other values are left
    /// out in any case.
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

    /// The order of the list.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
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

    fn is_descending(&self) -> bool {
        self.order == Order::Descending
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

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the children of a node in their order. An id without a node can have orphans as children.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`], [`ReadError::NotBackfilled`], [`ReadError::Absent`] if neither the node nor such a
    /// child exists, and [`ReadError::Position`].
    pub async fn children_in_order(
        &self,
        node: &NodeRef,
        siblings: &Siblings,
        options: &ListOptions,
    ) -> Result<Page<Descendant>, ReadError> {
        self.check_order()?;
        let schema = self.client.schema();
        let range = siblings.range(OrderedList::Children, schema)?;
        let listing = Listing { descending: siblings.is_descending(), ..self.depth_listing(node, range) };
        let page = self.list(&listing, options, |key, item| self.descendant(node, options, key, item)).await?;
        if page.is_an_empty_list(options) {
            self.check_node(node).await?;
            // A part of the siblings may well be empty.
            if siblings.part == Part::All && options.filter.is_empty() {
                self.check_backfilled(node, "their order", |placement| placement.order.is_some()).await?;
            }
        }
        Ok(page)
    }

    /// Lists all nodes without a parent in their order.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`] and [`ReadError::Position`].
    pub async fn roots_in_order(
        &self,
        tenant: Option<&Tenant>,
        siblings: &Siblings,
        options: &ListOptions,
    ) -> Result<Page<Descendant>, ReadError> {
        self.check_roots()?;
        self.check_order()?;
        let schema = self.client.schema();
        let range = siblings.range(OrderedList::Roots, schema)?;
        let listing = Listing::new(schema.roots_partition(tenant), range, ROW_ATTRIBUTES.into());
        let listing = Listing { descending: siblings.is_descending(), ..listing };
        self.list(&listing, options, |key, item| self.root(options, key, item)).await
    }

    fn check_order(&self) -> Result<(), ReadError> {
        match self.settings.order {
            Some(_) => Ok(()),
            None => Err(ReadError::SwitchedOff { what: "siblings in an order", parameter: "OrderAttribute=…" }),
        }
    }
}
