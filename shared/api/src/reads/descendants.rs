//! The lists of nodes by their rows: roots, children, descendants, the trash; and how many there are.

use axum::response::Response;
use sapwood_core::keys::{ID_BYTES_MAX, NodeRef};
use sapwood_engine::query::{self, ListOptions, Order, Sorting, Values, Window};
use sapwood_store::Table;

use super::call::{Asked, At, Shared};
use super::history::{ORDERS, word};
use super::list::{List, Takes};
use crate::call::Call;
use crate::contract::{CountBody, DescendantBody, RootBody, TotalsBody, TrashBody};
use crate::cursor::Scope;
use crate::problem::{Kind, Problem};

/// `GET /roots`
pub(super) struct Roots(Siblings);

/// `GET /nodes/{id}/children`
pub(super) struct Children(NodeRef, Siblings);

/// A list of siblings, and its order.
struct Siblings {
    order: Asking,
    list: List,
}

impl Siblings {
    /// Reads the parameters of a list of siblings. `kinds` are the names of the list by id, in the order that the
    /// deployment keeps, and in another one; `of` adds whose children they are.
    fn read(
        asked: &mut Asked<'_>,
        order: Asking,
        kinds: [&str; 3],
        of: impl Fn(Scope) -> Scope,
    ) -> Result<Self, Problem> {
        let [by_id, kept, sorted] = kinds.map(|kind| of(Scope::new(kind, asked.caller.tenant.as_ref())));
        let scope = match &order {
            Asking::ById => by_id,
            Asking::Kept(part) => {
                let scope = kept.text(word(part.order()));
                part.part().into_iter().fold(scope, Scope::optional)
            }
            Asking::Sorted(sorting) => sorted.text(word(sorting.order())).text(&sorting.by().to_string()),
        };
        Ok(Self { list: List::read(asked, scope, Takes::Totals)?, order })
    }
}

impl Call<Shared> for Roots {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let order = Asking::read(asked)?;
        Siblings::read(asked, order, ["roots", "roots in order", "roots sorted"], |scope| scope).map(Self)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (Siblings { order, list }, reader, tenant) = (self.0, at.reader(), at.caller.tenant.as_ref());
        let page = match &order {
            Asking::ById => reader.roots(tenant, &list.options).await,
            Asking::Kept(part) => reader.roots_in_order(tenant, part, &list.options).await,
            Asking::Sorted(sorting) => reader.roots_sorted(tenant, sorting, &list.options).await,
        };
        list.answer_nodes(at, list.page(at.shared, page?, RootBody::from)).await
    }
}

impl Call<Shared> for Children {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let order = Asking::read(asked)?;
        let node = asked.node("id")?;
        let is_by_id = matches!(order, Asking::ById);
        let siblings = Siblings::read(asked, order, ["children", "children in order", "children sorted"], |scope| {
            let scope = scope.text(node.id.as_str());
            if is_by_id { of_window(scope, &Window::children()).optional(None) } else { scope }
        })?;
        Ok(Self(node, siblings))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (Self(node, Siblings { order, list }), reader) = (self, at.reader());
        let page = match &order {
            Asking::ById => reader.descendants(&node, &Window::children(), &list.options).await,
            Asking::Kept(part) => reader.children_in_order(&node, part, &list.options).await,
            Asking::Sorted(sorting) => reader.children_sorted(&node, sorting, &list.options).await,
        };
        list.answer_nodes(at, list.page(at.shared, page?, DescendantBody::from)).await
    }
}

/// The order in which siblings are asked for.
enum Asking {
    ById,
    /// The order that the deployment keeps.
    Kept(query::Siblings),
    /// Another order.
    Sorted(Sorting),
}

impl Asking {
    /// Reads `order_by` and `order` and, with them, which siblings are asked for.
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let settings = &asked.shared.settings;
        let kept = settings.order.as_ref();
        let order = asked.parameters.choice("order", &ORDERS)?;
        let sorting = asked.parameters.text("order_by");
        let sorting = sorting.map(|by| Sorting::new(&by, order.unwrap_or(Order::Ascending), settings));
        let sorting = sorting.transpose()?;
        let is_other = |sorting: &Sorting| kept.is_none_or(|kept| kept.attributes() != sorting.by().attributes());
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
                Ok(Self::ById)
            }
            (Some(sorting), _) if is_other(&sorting) => {
                refuse("it is about the order that the deployment keeps; leave `order_by` out, or ask with `where`")?;
                Ok(Self::Sorted(sorting))
            }
            (sorting, order) => {
                let order = sorting.map(|sorting| sorting.order()).or(order).unwrap_or(Order::Ascending);
                let [prefix, from, to] = given.each_ref().map(Option::as_deref);
                Ok(Self::Kept(query::Siblings::new(kept, order, values, prefix, [from, to])?))
            }
        }
    }
}

/// `GET /nodes/{id}/descendants`
pub(super) struct Descendants {
    node: NodeRef,
    window: Window,
    list: List,
}

impl Call<Shared> for Descendants {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (min, max) = depths(asked)?;
        let prefix = asked.prefix("id_prefix", ID_BYTES_MAX)?;
        let (window, node) = (Window::new(min, max, prefix)?, asked.node("id")?);
        let scope = Scope::new("descendants", node.tenant.as_ref()).text(node.id.as_str());
        let scope = of_window(scope, &window).optional(window.id_prefix());
        Ok(Self { list: List::read(asked, scope, Takes::Conditions)?, node, window })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { node, window, list } = self;
        let page = at.reader().descendants(&node, &window, &list.options).await?;
        list.answer_nodes(at, list.page(at.shared, page, DescendantBody::from)).await
    }
}

/// Adds the levels that a list covers.
fn of_window(scope: Scope, window: &Window) -> Scope {
    scope.number(window.min()).number(window.max())
}

/// `GET /nodes/{id}/count`
pub(super) struct Count {
    node: NodeRef,
    window: Window,
    list: List,
}

impl Call<Shared> for Count {
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

impl Call<Shared> for Totals {
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

impl Call<Shared> for Trash {
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

/// The greatest depth.
const DEEPEST: u64 = sapwood_core::keys::DEPTH_MAX as u64;

/// Reads `min_depth` and `max_depth`.
fn depths(asked: &mut Asked<'_>) -> Result<(usize, Option<usize>), Problem> {
    let min = asked.parameters.number("min_depth", 0..=DEEPEST)?.unwrap_or(1);
    Ok((usize::try_from(min).unwrap_or(usize::MAX), max_depth(asked)?))
}

/// Reads `max_depth`.
pub(super) fn max_depth(asked: &mut Asked<'_>) -> Result<Option<usize>, Problem> {
    let max = asked.parameters.number("max_depth", 0..=DEEPEST)?;
    Ok(max.and_then(|max| usize::try_from(max).ok()))
}
