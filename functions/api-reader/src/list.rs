//! The parameters that all lists take, and the answer with a page.

use axum::response::Response;
use sapwood_engine::query::{Bounds, Fields, ListOptions, Page};
use sapwood_http::call::json_response;
use sapwood_http::contract;
use sapwood_http::cursor::Scope;
use sapwood_http::problem::{Kind, Problem};
use serde::Serialize;

use crate::call::Asked;
use crate::problem::refused;
use crate::state::Shared;

/// The options of a list, and the scope of its cursors.
pub(crate) struct List {
    pub(crate) options: ListOptions,
    scope: Scope,
}

impl List {
    /// Reads `limit`, `cursor`, `consistent` and `fields`. `scope` names the list and its other parameters.
    pub(crate) fn read(asked: &mut Asked<'_>, scope: Scope) -> Result<Self, Problem> {
        let limit = asked.parameters.number("limit", 1..=Bounds::ITEMS_MAX as u64)?;
        let items = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(Bounds::ITEMS_DEFAULT);
        Self::bounded(asked, scope, Bounds::items(items))
    }

    /// Reads the same parameters without `limit`.
    pub(crate) fn bounded(asked: &mut Asked<'_>, scope: Scope, bounds: Bounds) -> Result<Self, Problem> {
        let fields = fields(asked)?;
        Self::of(asked, scope, bounds, fields)
    }

    /// Reads `cursor` and `consistent` for a list that is only counted.
    pub(crate) fn counted(asked: &mut Asked<'_>, scope: Scope) -> Result<Self, Problem> {
        Self::of(asked, scope, Bounds::default(), Fields::all())
    }

    fn of(asked: &mut Asked<'_>, scope: Scope, bounds: Bounds, fields: Fields) -> Result<Self, Problem> {
        let strong = asked.strong()?;
        let scope = scope.number(strong.into());
        let scope = match fields.names() {
            None => scope.optional(None),
            Some(names) => scope.list(names),
        };
        let cursor = asked.parameters.text("cursor");
        let after = cursor.map(|cursor| asked.shared.cursors.open(&scope, &cursor)).transpose();
        let after = after.map_err(|error| Problem::new(Kind::BadCursor, error.to_string()).at("cursor"))?;
        Ok(Self { options: ListOptions { strong, fields, after, bounds }, scope })
    }

    /// Seals a position as a cursor.
    pub(crate) fn cursor(&self, shared: &Shared, position: Option<&str>) -> Option<String> {
        position.map(|position| shared.cursors.seal(&self.scope, position))
    }

    /// Makes the answer with a page.
    pub(crate) fn answer<R, B: Serialize>(
        &self,
        shared: &Shared,
        page: Page<R>,
        body: impl Fn(R) -> B,
    ) -> Result<Response, Problem> {
        let cursor = self.cursor(shared, page.next.as_deref());
        json_response(&contract::Page { items: page.items.into_iter().map(body).collect(), cursor })
    }
}

/// Reads `fields`.
pub(crate) fn fields(asked: &mut Asked<'_>) -> Result<Fields, Problem> {
    match asked.parameters.list("fields")? {
        None => Ok(Fields::all()),
        Some(names) => Fields::only(names).map_err(refused),
    }
}
