//! Deletions and copies that the stream carries out: how far they are.

use axum::response::Response;
use sapwood_core::keys::Tenant;
use sapwood_engine::query::Bounds;
use sapwood_http::call::Call;
use sapwood_http::contract::{OPERATIONS_LISTED_DEFAULT, OPERATIONS_LISTED_MAX, OperationBody, OperationStatus};
use sapwood_http::cursor::Scope;
use sapwood_http::problem::Problem;
use sapwood_store::Table;

use crate::call::{Asked, At, reader};
use crate::list::List;
use crate::problem::refused;
use crate::state::Shared;

/// `GET /operations`
pub(crate) struct Operations {
    tenant: Option<Tenant>,
    status: Option<OperationStatus>,
    list: List,
}

impl Call<Shared> for Operations {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let tenant = asked.caller.tenant.clone();
        let status = asked.parameters.choice("status", &OperationStatus::WORDS)?;
        let limit = asked.parameters.number("limit", 1..=OPERATIONS_LISTED_MAX as u64)?;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(OPERATIONS_LISTED_DEFAULT);
        // A position holds for any status. The releases before listed by id, so their positions don't hold here.
        let list = List::plain(asked, Scope::new("newest operations", tenant.as_ref()), Bounds::items(limit), true)?;
        Ok(Self { tenant, status, list })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let mut page = reader(at).operations(self.tenant.as_ref(), &self.list.options).await.map_err(refused)?;
        page.items.retain(|(_, operation)| {
            self.status.is_none_or(|wanted| OperationStatus::from(operation.progress) == wanted)
        });
        self.list.answer(at, page, |(id, operation)| OperationBody::of(id, operation))
    }
}

/// `GET /operations/{id}`
pub(crate) struct OperationOf {
    tenant: Option<Tenant>,
    id: String,
}

impl Call<Shared> for OperationOf {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        // An operation's id is as long as any id may be: longer ones can't be looked for.
        Ok(Self { tenant: asked.caller.tenant.clone(), id: asked.path.id("id")?.as_str().to_owned() })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let operation = reader(at).operation(self.tenant.as_ref(), &self.id).await.map_err(refused)?;
        at.json(&OperationBody::of(self.id, operation))
    }
}
