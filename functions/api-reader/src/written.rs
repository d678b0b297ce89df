//! Reads that must show what was written: they wait for the rows first.

use axum::http::Method;
use axum::response::Response;
use sapwood_core::keys::Tenant;
use sapwood_engine::query::Derived;
use sapwood_http::call::Call;
use sapwood_http::caller::Right;
use sapwood_http::headers::Prefer;
use sapwood_http::problem::Problem;
use sapwood_http::wait::Pauses;
use sapwood_store::Table;

use crate::call::{Asked, At, reader};
use crate::state::Shared;

/// A call that is answered once the rows have what its parameter `written` names.
pub(crate) struct Showing<C> {
    call: C,
    tenant: Option<Tenant>,
    written: Vec<Derived>,
}

impl<C: Call<Shared>> Call<Shared> for Showing<C> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let written = asked.written(Derived::of_token)?;
        if !written.is_empty() {
            // A read that isn't strong could show the rows as they were before.
            asked.is_strong = true;
            asked.prefer.wait = Prefer::read(&asked.parts.headers)?.wait;
        }
        Ok(Self { tenant: asked.caller.tenant.clone(), written, call: C::read(asked)? })
    }

    fn right(method: &Method) -> Option<Right> {
        C::right(method)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (tenant, waits) = (self.tenant.as_ref(), &at.shared.waits);
        let longest = at.prefer.wait.duration().unwrap_or_default();
        let mut pauses = Pauses::new(waits, tenant, at.deadline, longest);
        for written in &self.written {
            let mut watch = written.watch();
            while !watch.is_right(&reader(at), tenant).await {
                if !pauses.pause(!watch.is_cut()).await {
                    if pauses.has_waited() && !written.is_of_many() {
                        waits.ended_in_vain(tenant);
                    }
                    return Err(Problem::not_yet_written());
                }
            }
        }
        self.call.answer(at).await
    }
}
