//! The parameters that all lists take, and the answer with a page.

use axum::http::header::LINK;
use axum::response::Response;
use sapwood_core::keys::{Id, NodeRef};
use sapwood_engine::query::{Bounds, Fields, Filter, ListOptions, Page};
use sapwood_json::Numbers;
use sapwood_store::Table;
use serde::Serialize;

use super::call::{Asked, At, Shared};
use crate::contract::{NodeView, PageBody};
use crate::cursor::Scope;
use crate::parameters::NextPage;
use crate::problem::{Kind, Problem};

/// The parameters of a list besides `limit`, `cursor`, `consistent` and `fields`. Each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Takes {
    Nothing,
    /// `expand=record`
    Records,
    /// `where`
    Conditions,
    /// `totals`
    Totals,
}

/// The options of a list, and the scope of its cursors.
pub(super) struct List {
    pub(super) options: ListOptions,
    pub(super) has_records: bool,
    has_totals: bool,
    scope: Scope,
    next: NextPage,
}

impl List {
    /// Reads the parameters of a list. `scope` names the list and its other parameters.
    pub(super) fn read(asked: &mut Asked<'_>, scope: Scope, takes: Takes) -> Result<Self, Problem> {
        let has_totals = takes >= Takes::Totals && asked.parameters.flag("totals")?.unwrap_or_default();
        let conditions = if takes >= Takes::Conditions { asked.parameters.texts("where") } else { Vec::new() };
        let filter = Filter::parse(&conditions, &asked.shared.settings)?;
        // Without it, the cursors of the release before go on.
        let scope = if filter.is_empty() { scope } else { scope.list(conditions.iter().map(String::as_str)) };
        let has_records = takes >= Takes::Records && expands(asked)?;
        let mut items = limit(asked, Bounds::ITEMS_MAX)?.unwrap_or(Bounds::ITEMS_DEFAULT);
        if has_records || has_totals {
            items = items.min(LARGE_ITEMS_MAX);
        }
        let options = ListOptions { filter, bounds: Bounds::items(items), ..options(asked)? };
        Ok(Self { has_records, has_totals, ..Self::at_cursor(asked, scope, options)? })
    }

    /// Reads `cursor` for a list with these options.
    pub(super) fn at_cursor(asked: &mut Asked<'_>, scope: Scope, options: ListOptions) -> Result<Self, Problem> {
        let cursor = asked.parameters.text("cursor");
        Self::of(asked, scope, options, cursor)
    }

    pub(super) fn of(
        asked: &Asked<'_>,
        scope: Scope,
        mut options: ListOptions,
        cursor: Option<String>,
    ) -> Result<Self, Problem> {
        let scope = scope.number(options.strong.into());
        let scope = match options.fields.names() {
            None => scope.optional(None),
            Some(names) => scope.list(names),
        };
        let after = cursor.map(|cursor| asked.shared.own.cursors.open(&scope, &cursor)).transpose();
        options.after = after.map_err(|error| Problem::new(Kind::BadCursor, error.to_string()).at("cursor"))?;
        if asked.prefer.numbers == Numbers::Strings {
            // A long number as text takes up to twice its bytes.
            options.bounds.bytes_max /= 2;
        }
        Ok(Self { options, has_records: false, has_totals: false, scope, next: asked.parameters.next_page() })
    }

    pub(super) fn within(mut self, bytes_max: usize) -> Self {
        self.options.bounds.bytes_max = bytes_max.min(self.options.bounds.bytes_max);
        self
    }

    pub(super) fn cursor(&self, shared: &Shared, position: Option<&str>) -> Option<String> {
        position.map(|position| shared.own.cursors.seal(&self.scope, position))
    }

    pub(super) fn page<R, B>(&self, shared: &Shared, page: Page<R>, body: impl Fn(R) -> B) -> PageBody<B> {
        let cursor = self.cursor(shared, page.next.as_deref());
        PageBody { items: page.items.into_iter().map(body).collect(), cursor, placed: None }
    }

    /// Makes the answer with a page of nodes, each with its record and its totals if these are asked for.
    pub(super) async fn answer_nodes<B: NodeView + Serialize, T: Table>(
        &self,
        at: &At<'_, T>,
        mut page: PageBody<B>,
    ) -> Result<Response, Problem> {
        // An id that no key can hold is in no row.
        let node = |body: &B| Some(NodeRef { tenant: at.caller.tenant.clone(), id: Id::new(body.id()).ok()? });
        let nodes: Vec<NodeRef> = page.items.iter().filter_map(node).collect();
        if self.has_totals {
            let mut totals = at.reader().totals_of_nodes(&nodes, self.options.strong).await?;
            for body in &mut page.items {
                let found = node(body).and_then(|node| totals.remove(&node));
                found.into_iter().for_each(|found| body.show_totals(found.into()));
            }
        }
        if self.has_records {
            let mut records = at.reader().records_of_nodes(&nodes, self.options.strong).await?;
            for body in &mut page.items {
                let record = node(body).and_then(|node| records.remove(&node));
                *body.record() = record.map(Into::into);
            }
        }
        self.response(at, page.cursor.as_deref(), &page)
    }

    pub(super) fn response<T: Table>(
        &self,
        at: &At<'_, T>,
        cursor: Option<&str>,
        body: &impl Serialize,
    ) -> Result<Response, Problem> {
        let mut response = at.json(body)?;
        if let Some(link) = cursor.and_then(|cursor| self.next.link(cursor)) {
            response.headers_mut().insert(LINK, link);
        }
        Ok(response)
    }
}

/// The most items on a page with records (of up to 400 KB each) or totals (four items each).
const LARGE_ITEMS_MAX: usize = 100;

pub(super) fn limit(asked: &mut Asked<'_>, items_max: usize) -> Result<Option<usize>, Problem> {
    let limit = asked.parameters.number("limit", 1..=items_max as u64)?;
    Ok(limit.and_then(|limit| usize::try_from(limit).ok()))
}

pub(super) fn options(asked: &mut Asked<'_>) -> Result<ListOptions, Problem> {
    Ok(ListOptions { strong: asked.strong()?, fields: fields(asked)?, ..ListOptions::default() })
}

/// Reads `expand=record`.
pub(super) fn expands(asked: &mut Asked<'_>) -> Result<bool, Problem> {
    Ok(asked.parameters.choice("expand", &[("record", true)])?.unwrap_or_default())
}

fn fields(asked: &mut Asked<'_>) -> Result<Fields, Problem> {
    match asked.parameters.list("fields")? {
        None => Ok(Fields::all()),
        Some(names) => Ok(Fields::only(names)?),
    }
}
