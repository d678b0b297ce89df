//! The parameters that all lists take, and the answer with a page.

use axum::http::header::LINK;
use axum::response::Response;
use sapwood_core::keys::{Id, NodeRef, Tenant};
use sapwood_core::model::AttributeValue;
use sapwood_engine::query::{Bounds, Fields, Filter, ListOptions, Page, Record, Stamps, Totals};
use sapwood_http::contract::{
    self, AncestorBody, DescendantBody, LinkBody, PathBody, RecordBody, RootBody, TotalsBody, TrashBody,
};
use sapwood_http::cursor::Scope;
use sapwood_http::headers::etag_text;
use sapwood_http::parameters::NextPage;
use sapwood_http::problem::{Kind, Problem};
use sapwood_json::{Attributes, Numbers};
use sapwood_store::Table;
use serde::Serialize;

use crate::call::{Asked, At, reader};
use crate::problem::refused;
use crate::state::Shared;

/// The options of a list, and the scope of its cursors.
pub(crate) struct List {
    pub(crate) options: ListOptions,
    /// True if each item shows what its base record says.
    pub(crate) has_records: bool,
    /// True if each item shows its totals.
    has_totals: bool,
    scope: Scope,
    next: NextPage,
}

impl List {
    /// Reads `limit`, `cursor`, `consistent` and `fields`. `scope` names the list and its other parameters.
    pub(crate) fn read(asked: &mut Asked<'_>, scope: Scope) -> Result<Self, Problem> {
        let limit = asked.parameters.number("limit", 1..=Bounds::ITEMS_MAX as u64)?;
        let items = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(Bounds::ITEMS_DEFAULT);
        Self::bounded(asked, scope, Bounds::items(items))
    }

    /// Reads the same parameters, and `expand=record`.
    pub(crate) fn with_records(asked: &mut Asked<'_>, scope: Scope) -> Result<Self, Problem> {
        let has_records = expands(asked)?;
        let mut list = Self::read(asked, scope)?;
        if has_records {
            list.options.bounds.items_max = list.options.bounds.items_max.min(RECORDS_MAX);
        }
        Ok(Self { has_records, ..list })
    }

    /// Reads the same parameters, and `where`.
    pub(crate) fn filtered(asked: &mut Asked<'_>, scope: Scope) -> Result<Self, Problem> {
        let conditions = asked.parameters.texts("where");
        let filter = Filter::parse(&conditions, &asked.shared.settings).map_err(refused)?;
        // Without it, the cursors of the release before go on.
        let scope = if filter.is_empty() { scope } else { scope.list(conditions.iter().map(String::as_str)) };
        let list = Self::with_records(asked, scope)?;
        Ok(Self { options: ListOptions { filter, ..list.options }, ..list })
    }

    /// Reads the same parameters, and `totals`.
    pub(crate) fn totalled(asked: &mut Asked<'_>, scope: Scope) -> Result<Self, Problem> {
        let has_totals = asked.parameters.flag("totals")?.unwrap_or_default();
        let mut list = Self::filtered(asked, scope)?;
        if has_totals {
            list.options.bounds.items_max = list.options.bounds.items_max.min(TOTALS_MAX);
        }
        Ok(Self { has_totals, ..list })
    }

    /// Reads the same parameters without `limit`.
    pub(crate) fn bounded(asked: &mut Asked<'_>, scope: Scope, bounds: Bounds) -> Result<Self, Problem> {
        let (strong, fields) = (asked.strong()?, fields(asked)?);
        let cursor = asked.parameters.text("cursor");
        Self::of(asked, scope, ListOptions { strong, fields, bounds, ..ListOptions::default() }, cursor)
    }

    /// Reads `cursor` and `consistent` for a list that is only counted.
    pub(crate) fn counted(asked: &mut Asked<'_>, scope: Scope) -> Result<Self, Problem> {
        let strong = asked.strong()?;
        Self::plain(asked, scope, Bounds::default(), strong)
    }

    /// Reads `cursor` for a list whose items have no attributes.
    pub(crate) fn plain(asked: &mut Asked<'_>, scope: Scope, bounds: Bounds, strong: bool) -> Result<Self, Problem> {
        let options = ListOptions { strong, bounds, ..ListOptions::default() };
        let cursor = asked.parameters.text("cursor");
        Self::of(asked, scope, options, cursor)
    }

    /// The first page of a list, as a part of another answer.
    pub(crate) fn first(asked: &Asked<'_>, scope: Scope, strong: bool, fields: &Fields) -> Result<Self, Problem> {
        Self::of(asked, scope, ListOptions { strong, fields: fields.clone(), ..ListOptions::default() }, None)
    }

    fn of(asked: &Asked<'_>, scope: Scope, options: ListOptions, cursor: Option<String>) -> Result<Self, Problem> {
        let scope = scope.number(options.strong.into());
        let scope = match options.fields.names() {
            None => scope.optional(None),
            Some(names) => scope.list(names),
        };
        let after = cursor.map(|cursor| asked.shared.cursors.open(&scope, &cursor)).transpose();
        let after = after.map_err(|error| Problem::new(Kind::BadCursor, error.to_string()).at("cursor"))?;
        let bytes_max = match asked.prefer.numbers {
            Numbers::Plain => options.bounds.bytes_max,
            // A long number as text takes up to twice its bytes.
            Numbers::Strings => options.bounds.bytes_max / 2,
        };
        let options = ListOptions { bounds: Bounds { bytes_max, ..options.bounds }, ..options };
        let next = asked.parameters.next_page();
        Ok(Self { options: ListOptions { after, ..options }, has_records: false, has_totals: false, scope, next })
    }

    /// The same list, with fewer bytes on a page.
    pub(crate) fn within(&self, bytes_max: usize) -> Self {
        let bounds = Bounds { bytes_max: bytes_max.min(self.options.bounds.bytes_max), ..self.options.bounds };
        Self {
            options: ListOptions { bounds, ..self.options.clone() },
            has_records: self.has_records,
            has_totals: self.has_totals,
            scope: self.scope.clone(),
            next: self.next.clone(),
        }
    }

    /// Seals a position as a cursor.
    pub(crate) fn cursor(&self, shared: &Shared, position: Option<&str>) -> Option<String> {
        position.map(|position| shared.cursors.seal(&self.scope, position))
    }

    /// Makes the body of a page.
    pub(crate) fn page<R, B>(&self, shared: &Shared, page: Page<R>, body: impl Fn(R) -> B) -> contract::Page<B> {
        let cursor = self.cursor(shared, page.next.as_deref());
        contract::Page { items: page.items.into_iter().map(body).collect(), cursor, placed: None }
    }

    /// Makes the answer with a page.
    pub(crate) fn answer<R, B: Serialize, T>(
        &self,
        at: &At<'_, T>,
        page: Page<R>,
        body: impl Fn(R) -> B,
    ) -> Result<Response, Problem> {
        let page = self.page(at.shared, page, body);
        self.response(at, page.cursor.as_deref(), &page)
    }

    /// Makes the answer with a page of nodes of this tenant, each with its record if that is asked for.
    pub(crate) async fn answer_nodes<R, B: OfNode + Serialize, T: Table>(
        &self,
        at: &At<'_, T>,
        tenant: Option<&Tenant>,
        page: Page<R>,
        body: impl Fn(R) -> B,
    ) -> Result<Response, Problem> {
        self.answer_placed(at, tenant, page, None, body).await
    }

    /// Makes the same answer, which also says whether the node that the page is about is placed.
    pub(crate) async fn answer_placed<R, B: OfNode + Serialize, T: Table>(
        &self,
        at: &At<'_, T>,
        tenant: Option<&Tenant>,
        page: Page<R>,
        placed: Option<bool>,
        body: impl Fn(R) -> B,
    ) -> Result<Response, Problem> {
        let mut page = contract::Page { placed, ..self.page(at.shared, page, body) };
        // An id that no key can hold is in no row.
        let node = |body: &B| Some(NodeRef { tenant: tenant.cloned(), id: Id::new(body.id()).ok()? });
        let nodes: Vec<NodeRef> = page.items.iter().filter_map(node).collect();
        if self.has_totals {
            let mut totals = reader(at).totals_of_nodes(&nodes, self.options.strong).await.map_err(refused)?;
            for body in &mut page.items {
                let found = node(body).and_then(|node| totals.remove(&node));
                found.into_iter().for_each(|found| body.show_totals(totals_body(found)));
            }
        }
        if self.has_records {
            let mut records = reader(at).records_of_nodes(&nodes, self.options.strong).await.map_err(refused)?;
            for body in &mut page.items {
                let record = node(body).and_then(|node| records.remove(&node));
                *body.record() = record.map(record_body);
            }
        }
        self.response(at, page.cursor.as_deref(), &page)
    }

    /// Makes an answer that goes on at a cursor.
    pub(crate) fn response<T>(
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

/// The most items on a page with their records, which can have 400 KB each.
const RECORDS_MAX: usize = 100;

/// The most items on a page with their totals, which are four items each.
const TOTALS_MAX: usize = 100;

/// An item of a list that is about a node.
pub(crate) trait OfNode {
    /// The node's id.
    fn id(&self) -> &str;
    /// Where its record is shown.
    fn record(&mut self) -> &mut Option<RecordBody>;
    /// Shows its totals, in a list that takes `totals`.
    fn show_totals(&mut self, _: TotalsBody) {}
}

macro_rules! of_node {
    ($($body:ty { $($totals:ident)? }),*) => {$(
        impl OfNode for $body {
            fn id(&self) -> &str {
                &self.id
            }

            fn record(&mut self) -> &mut Option<RecordBody> {
                &mut self.record
            }

            $(fn show_totals(&mut self, totals: TotalsBody) {
                self.$totals = Some(totals);
            })?
        }
    )*};
}

of_node!(AncestorBody {}, DescendantBody { totals }, LinkBody {}, PathBody {}, RootBody { totals }, TrashBody {});

/// What a base record says beside its attributes.
pub(crate) fn record_body(record: Record) -> RecordBody {
    let Record { segment, stamps: Stamps { created_at, created_by, updated_at, updated_by }, etag } = record;
    RecordBody { segment, created_at, created_by, updated_at, updated_by, etag: etag_text(&etag) }
}

/// The body of totals.
#[must_use]
pub fn totals_body(found: Totals) -> TotalsBody {
    let sums = found.sums.into_iter().map(|(name, sum)| (name, AttributeValue::N(sum.to_string())));
    let Totals { count, children, left_out, .. } = found;
    TotalsBody { count, children, sums: Attributes(sums.collect()), left_out }
}

/// Reads `expand=record`.
pub(crate) fn expands(asked: &mut Asked<'_>) -> Result<bool, Problem> {
    Ok(asked.parameters.choice("expand", &[("record", true)])?.unwrap_or_default())
}

/// Reads `fields`.
pub(crate) fn fields(asked: &mut Asked<'_>) -> Result<Fields, Problem> {
    match asked.parameters.list("fields")? {
        None => Ok(Fields::all()),
        Some(names) => Fields::only(names).map_err(refused),
    }
}
