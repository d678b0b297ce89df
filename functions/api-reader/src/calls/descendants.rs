//! The roots of all trees, and the descendants of a node by depth.

use axum::response::Response;
use sapwood_core::keys::{ID_BYTES_MAX, NodeRef, Tenant};
use sapwood_engine::query::{Descendant, Order, Root, Siblings, Sorting, Values, Window};
use sapwood_http::call::Call;
use sapwood_http::contract::{CountBody, DescendantBody, RootBody};
use sapwood_http::cursor::Scope;
use sapwood_http::problem::{Kind, Problem};
use sapwood_json::Attributes;
use sapwood_store::Table;

use super::history::{ORDERS, word};
use crate::call::{Asked, At, reader};
use crate::list::List;
use crate::problem::refused;
use crate::state::Shared;

/// `GET /roots`
pub(crate) struct Roots {
    tenant: Option<Tenant>,
    order: Asking,
    list: List,
}

impl Call<Shared> for Roots {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (tenant, order) = (asked.caller.tenant.clone(), Asking::read(asked)?);
        let scope = match &order {
            Asking::ById => Scope::new("roots", tenant.as_ref()),
            Asking::Kept(siblings) => in_order(Scope::new("roots in order", tenant.as_ref()), siblings),
            Asking::Sorted(sorting) => sorted(Scope::new("roots sorted", tenant.as_ref()), sorting),
        };
        Ok(Self { list: List::totalled(asked, scope)?, tenant, order })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (reader, tenant, options) = (reader(at), self.tenant.as_ref(), &self.list.options);
        let page = match &self.order {
            Asking::ById => reader.roots(tenant, options).await,
            Asking::Kept(siblings) => reader.roots_in_order(tenant, siblings, options).await,
            Asking::Sorted(sorting) => reader.roots_sorted(tenant, sorting, options).await,
        };
        let body = |root: Root| RootBody {
            id: root.id.to_string(),
            segment: root.segment,
            attributes: Attributes(root.attributes),
            truncated: root.truncated,
            record: None,
            totals: None,
        };
        self.list.answer_nodes(at, tenant, page.map_err(refused)?, body).await
    }
}

/// `GET /nodes/{id}/children`
pub(crate) enum Children {
    ById(Descendants),
    InOrder { node: NodeRef, siblings: Siblings, list: List },
    Sorted { node: NodeRef, sorting: Sorting, list: List },
}

impl Call<Shared> for Children {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let order = Asking::read(asked)?;
        let node = asked.node("id")?;
        let scope = |kind| Scope::new(kind, node.tenant.as_ref()).text(node.id.as_str());
        match order {
            Asking::ById => Descendants::of(asked, "children", Window::children(), List::totalled).map(Self::ById),
            Asking::Kept(siblings) => {
                let list = List::totalled(asked, in_order(scope("children in order"), &siblings))?;
                Ok(Self::InOrder { node, siblings, list })
            }
            Asking::Sorted(sorting) => {
                let list = List::totalled(asked, sorted(scope("children sorted"), &sorting))?;
                Ok(Self::Sorted { node, sorting, list })
            }
        }
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        match self {
            Self::ById(descendants) => descendants.answer(at).await,
            Self::InOrder { node, siblings, list } => {
                let page = reader(at).children_in_order(&node, &siblings, &list.options).await.map_err(refused)?;
                list.answer_nodes(at, node.tenant.as_ref(), page, descendant).await
            }
            Self::Sorted { node, sorting, list } => {
                let page = reader(at).children_sorted(&node, &sorting, &list.options).await.map_err(refused)?;
                list.answer_nodes(at, node.tenant.as_ref(), page, descendant).await
            }
        }
    }
}

/// The order in which siblings are asked for.
enum Asking {
    ById,
    /// The order that the deployment keeps.
    Kept(Siblings),
    /// Another order.
    Sorted(Sorting),
}

impl Asking {
    /// Reads `order_by` and `order` and, with them, which siblings are asked for.
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let settings = &asked.shared.settings;
        let kept = settings.order.as_ref();
        let order = asked.parameters.choice("order", &ORDERS.map(|order| (word(order), order)))?;
        let sorting = asked.parameters.text("order_by");
        let sorting = sorting.map(|by| Sorting::new(&by, order.unwrap_or(Order::Ascending), settings));
        let sorting = sorting.transpose().map_err(refused)?;
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
                Siblings::new(kept, order, values, prefix, [from, to]).map(Self::Kept).map_err(refused)
            }
        }
    }
}

/// Adds which siblings a list in their order covers.
fn in_order(scope: Scope, siblings: &Siblings) -> Scope {
    let scope = scope.text(word(siblings.order()));
    siblings.part().into_iter().fold(scope, Scope::optional)
}

/// Adds what a list is sorted by.
fn sorted(scope: Scope, sorting: &Sorting) -> Scope {
    scope.text(word(sorting.order())).text(&sorting.by().to_string())
}

/// Reads the parameters of a list.
type ReadList = fn(&mut Asked<'_>, Scope) -> Result<List, Problem>;

/// `GET /nodes/{id}/descendants`
pub(crate) struct Descendants {
    node: NodeRef,
    window: Window,
    list: List,
}

impl Descendants {
    fn of(asked: &mut Asked<'_>, kind: &str, window: Window, list: ReadList) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let scope = Scope::new(kind, node.tenant.as_ref())
            .text(node.id.as_str())
            .number(window.min())
            .number(window.max())
            .optional(window.id_prefix());
        Ok(Self { list: list(asked, scope)?, node, window })
    }
}

impl Call<Shared> for Descendants {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (min, max) = depths(asked)?;
        let prefix = asked.prefix("id_prefix", ID_BYTES_MAX)?;
        Self::of(asked, "descendants", Window::new(min, max, prefix).map_err(refused)?, List::filtered)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = reader(at).descendants(&self.node, &self.window, &self.list.options).await.map_err(refused)?;
        self.list.answer_nodes(at, self.node.tenant.as_ref(), page, descendant).await
    }
}

/// The body of a descendant.
#[must_use]
pub fn descendant(found: Descendant) -> DescendantBody {
    DescendantBody {
        id: found.id.to_string(),
        parent: found.parent.map(|parent| parent.to_string()),
        depth: found.depth,
        segment: found.segment,
        attributes: Attributes(found.attributes),
        truncated: found.truncated,
        record: None,
        totals: None,
    }
}

/// `GET /nodes/{id}/count`
pub(crate) struct Count {
    node: NodeRef,
    window: Window,
    list: List,
}

impl Call<Shared> for Count {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (min, max) = depths(asked)?;
        let (node, window) = (asked.node("id")?, Window::new(min, max, None).map_err(refused)?);
        let scope = Scope::new("count", node.tenant.as_ref()).text(node.id.as_str());
        let scope = scope.number(window.min()).number(window.max());
        Ok(Self { list: List::counted(asked, scope)?, node, window })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let counted = reader(at).count(&self.node, &self.window, &self.list.options).await.map_err(refused)?;
        let cursor = self.list.cursor(at.shared, counted.next.as_deref());
        let body = CountBody { count: counted.count as u64, cursor };
        self.list.response(at, body.cursor.as_deref(), &body)
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
