//! The lists of nodes by their rows: roots, children, descendants, the trash; and how many there are.

use axum::response::Response;
use sapwood_core::keys::{ID_BYTES_MAX, NodeRef};
use sapwood_engine::query::{ListOptions, Order, Parent, SiblingList, Siblings, Sorting, Values, Window};
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState};
use super::history::{ORDERS, word};
use super::list::{List, Takes};
use crate::call::Call;
use crate::contract::{CountBody, DescendantBody, RootBody, TotalsBody, TrashBody};
use crate::cursor::Scope;
use crate::problem::{Kind, Problem};

/// `GET /roots`
pub(super) struct Roots(SiblingList, List);

impl Call<ReaderState> for Roots {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let siblings = siblings(asked)?;
        let kind = match siblings {
            SiblingList::ById => "roots",
            SiblingList::Kept(_) => "roots in order",
            SiblingList::Sorted(_) => "roots sorted",
        };
        let scope = of_siblings(Scope::new(kind, asked.caller.tenant.as_ref()), &siblings);
        Ok(Self(siblings, List::read(asked, scope, Takes::Totals)?))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (Self(siblings, list), parent) = (self, Parent::Roots(at.caller.tenant.as_ref()));
        let page = at.reader().siblings(parent, &siblings, &list.options).await?;
        list.answer_nodes(at, list.page(at.shared, page, RootBody::from)).await
    }
}

/// `GET /nodes/{id}/children`
pub(super) struct Children(NodeRef, SiblingList, List);

impl Call<ReaderState> for Children {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (siblings, node) = (siblings(asked)?, asked.node("id")?);
        let scope = |kind| Scope::new(kind, node.tenant.as_ref()).text(node.id.as_str());
        let scope = match siblings {
            // The scope of a window of one level, so that its cursors are those of /descendants.
            SiblingList::ById => of_window(scope("children"), &Window::children()).optional(None),
            SiblingList::Kept(_) => scope("children in order"),
            SiblingList::Sorted(_) => scope("children sorted"),
        };
        let list = List::read(asked, of_siblings(scope, &siblings), Takes::Totals)?;
        Ok(Self(node, siblings, list))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self(node, siblings, list) = self;
        let page = at.reader().siblings(Parent::Node(&node), &siblings, &list.options).await?;
        list.answer_nodes(at, list.page(at.shared, page, DescendantBody::from)).await
    }
}

/// Adds which siblings a list covers, and their order.
fn of_siblings(scope: Scope, siblings: &SiblingList) -> Scope {
    match siblings {
        SiblingList::ById => scope,
        SiblingList::Kept(kept) => kept.part().into_iter().fold(scope.text(word(kept.order)), Scope::optional),
        SiblingList::Sorted(sorting) => scope.text(word(sorting.order)).text(&sorting.by.to_string()),
    }
}

/// Reads `order_by` and `order` and, with them, which siblings are asked for.
fn siblings(asked: &mut Asked<'_>) -> Result<SiblingList, Problem> {
    let settings = &asked.shared.settings;
    let kept = settings.order.as_ref();
    let order = asked.parameters.choice("order", &ORDERS)?;
    let sorting = asked.parameters.text("order_by");
    let sorting = sorting.map(|by| Sorting::new(&by, order.unwrap_or(Order::Ascending), settings));
    let sorting = sorting.transpose()?;
    let is_other = |sorting: &Sorting| kept.is_none_or(|kept| kept.attributes() != sorting.by.attributes());
    let values = asked.parameters.choice("values", &[("text", Values::Text), ("number", Values::Number)])?;
    let names = ["value_prefix", "from", "to"];
    let given = names.map(|name| asked.parameters.text(name));
    let named = names.into_iter().zip(&given).find_map(|(name, value)| value.as_ref().map(|_| name));
    let refuse = |detail| match values.map(|_| "values").or(named) {
        None => Ok(()),
        Some(name) => Err(Problem::new(Kind::BadParameter, detail).at(name)),
    };
    match (sorting, order) {
        (None, None) => {
            refuse("it is about siblings in their order; give `order=asc` or `order=desc` with it")?;
            Ok(SiblingList::ById)
        }
        (Some(sorting), _) if is_other(&sorting) => {
            refuse("it is about the order that the deployment keeps; leave `order_by` out, or ask with `where`")?;
            Ok(SiblingList::Sorted(sorting))
        }
        (sorting, order) => {
            let order = sorting.map(|sorting| sorting.order).or(order).unwrap_or(Order::Ascending);
            let [prefix, from, to] = given.each_ref().map(Option::as_deref);
            Ok(SiblingList::Kept(Siblings::new(kept, order, values, prefix, [from, to])?))
        }
    }
}

/// `GET /nodes/{id}/descendants`
pub(super) struct Descendants {
    node: NodeRef,
    window: Window,
    list: List,
}

impl Call<ReaderState> for Descendants {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (min, max) = depths(asked)?;
        let prefix = asked.prefix("id_prefix", ID_BYTES_MAX)?;
        let (window, node) = (Window::new(min, max, prefix)?, asked.node("id")?);
        let scope = Scope::new("descendants", node.tenant.as_ref()).text(node.id.as_str());
        let scope = of_window(scope, &window).optional(window.id_prefix.as_deref());
        Ok(Self { list: List::read(asked, scope, Takes::Conditions)?, node, window })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { node, window, list } = self;
        let page = at.reader().descendants(&node, &window, &list.options).await?;
        list.answer_nodes(at, list.page(at.shared, page, DescendantBody::from)).await
    }
}

fn of_window(scope: Scope, window: &Window) -> Scope {
    scope.number(window.min).number(window.max)
}

/// `GET /nodes/{id}/count`
pub(super) struct Count {
    node: NodeRef,
    window: Window,
    list: List,
}

impl Call<ReaderState> for Count {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (min, max) = depths(asked)?;
        let (node, window) = (asked.node("id")?, Window::new(min, max, None)?);
        let scope = of_window(Scope::new("count", node.tenant.as_ref()).text(node.id.as_str()), &window);
        let options = ListOptions { strong: asked.strong()?, ..ListOptions::default() };
        Ok(Self { list: List::at_cursor(asked, scope, options)?, node, window })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let counted = at.reader().count(&self.node, &self.window, &self.list.options).await?;
        let cursor = self.list.cursor(at.shared, counted.next.as_deref());
        let body = CountBody { count: counted.count as u64, cursor };
        self.list.response(at, body.cursor.as_deref(), &body)
    }
}

/// `GET /nodes/{id}/totals`
pub(super) struct Totals {
    node: NodeRef,
    strong: bool,
}

impl Call<ReaderState> for Totals {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        Ok(Self { node: asked.node("id")?, strong: asked.strong()? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        at.json(&TotalsBody::from(at.reader().totals(&self.node, self.strong).await?))
    }
}

/// `GET /trash`
pub(super) struct Trash {
    order: Order,
    list: List,
}

impl Call<ReaderState> for Trash {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let order = asked.parameters.choice("order", &ORDERS)?.unwrap_or(Order::Descending);
        let scope = Scope::new("trash", asked.caller.tenant.as_ref()).text(word(order));
        Ok(Self { list: List::read(asked, scope, Takes::Conditions)?, order })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { order, list } = self;
        let page = at.reader().trash(at.caller.tenant.as_ref(), order, None, &list.options).await?;
        list.answer_nodes(at, list.page(at.shared, page, TrashBody::from)).await
    }
}

const DEEPEST: u64 = sapwood_core::keys::DEPTH_MAX as u64;

fn depths(asked: &mut Asked<'_>) -> Result<(usize, Option<usize>), Problem> {
    let min = asked.parameters.number("min_depth", 0..=DEEPEST)?.unwrap_or(1);
    Ok((usize::try_from(min).unwrap_or(usize::MAX), max_depth(asked)?))
}

pub(super) fn max_depth(asked: &mut Asked<'_>) -> Result<Option<usize>, Problem> {
    let max = asked.parameters.number("max_depth", 0..=DEEPEST)?;
    Ok(max.and_then(|max| usize::try_from(max).ok()))
}
