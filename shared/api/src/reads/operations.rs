//! Deletions and copies that the stream carries out: how far they are.

use axum::response::Response;
use sapwood_engine::query::{Bounds, ListOptions};
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState};
use super::list::{List, limit};
use crate::call::Call;
use crate::contract::{OPERATIONS_LISTED_DEFAULT, OPERATIONS_LISTED_MAX, OperationBody, OperationStatus};
use crate::cursor::Scope;
use crate::problem::Problem;

/// `GET /operations`
pub(super) struct Operations {
    status: Option<OperationStatus>,
    list: List,
}

impl Call<ReaderState> for Operations {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let status = asked.parameters.choice("status", &OperationStatus::WORDS)?;
        let limit = limit(asked, OPERATIONS_LISTED_MAX)?.unwrap_or(OPERATIONS_LISTED_DEFAULT);
        let options = ListOptions { strong: true, bounds: Bounds::items(limit), ..ListOptions::default() };
        // A position holds for any status. The releases before listed by id, so their positions don't hold here.
        let list = List::at_cursor(asked, Scope::new("newest operations", asked.caller.tenant.as_ref()), options)?;
        Ok(Self { status, list })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let mut page = at.reader().operations(at.caller.tenant.as_ref(), &self.list.options).await?;
        page.items.retain(|(_, operation)| {
            self.status.is_none_or(|wanted| OperationStatus::from(operation.progress) == wanted)
        });
        let page = self.list.page(at.shared, page, |(id, operation)| OperationBody::of(id, operation));
        self.list.response(at, page.cursor.as_deref(), &page)
    }
}

/// `GET /operations/{id}`
pub(super) struct OperationOf {
    id: String,
}

impl Call<ReaderState> for OperationOf {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        // An operation's id is as long as any id may be: longer ones can't be looked for.
        Ok(Self { id: asked.path.id("id")?.as_str().to_owned() })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let operation = at.reader().operation(at.caller.tenant.as_ref(), &self.id).await?;
        at.json(&OperationBody::of(self.id, operation))
    }
}
