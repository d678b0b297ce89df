//! What was put into the trash.

use axum::response::Response;
use sapwood_core::keys::Tenant;
use sapwood_engine::query::{InTrash, Order};
use sapwood_http::call::Call;
use sapwood_http::contract::TrashBody;
use sapwood_http::cursor::Scope;
use sapwood_http::problem::Problem;
use sapwood_json::Attributes;
use sapwood_store::Table;

use super::history::{ORDERS, word};
use crate::call::{Asked, At, reader};
use crate::list::List;
use crate::problem::refused;
use crate::state::Shared;

/// `GET /trash`
pub(crate) struct Trash {
    tenant: Option<Tenant>,
    order: Order,
    list: List,
}

impl Call<Shared> for Trash {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let tenant = asked.caller.tenant.clone();
        let order = asked.parameters.choice("order", &ORDERS.map(|order| (word(order), order)))?;
        let order = order.unwrap_or(Order::Descending);
        let scope = Scope::new("trash", tenant.as_ref()).text(word(order));
        Ok(Self { list: List::filtered(asked, scope)?, tenant, order })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { tenant, order, list } = self;
        let page = reader(at).trash(tenant.as_ref(), order, None, &list.options).await.map_err(refused)?;
        list.answer_nodes(at, tenant.as_ref(), page, body).await
    }
}

/// The body of an entry of the trash.
#[must_use]
pub fn body(found: InTrash) -> TrashBody {
    TrashBody {
        id: found.id.to_string(),
        trashed: found.trashed.into(),
        segment: found.segment,
        attributes: Attributes(found.attributes),
        truncated: found.truncated,
        record: None,
    }
}
