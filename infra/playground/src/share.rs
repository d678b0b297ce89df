//! The base records of a table, so that a link can have them.

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sapwood_api::problem::{Kind, Problem};
use sapwood_core::keys::{Schema, SortKey};
use sapwood_core::model::{Item, key_of};
use sapwood_json::{Attributes, FromJson, JsonError, Numbers, Place, list, value};
use sapwood_store::{Condition, ReadOptions, Scan, Scannable, Table};
use serde_json::value::RawValue;

use crate::table::Turns;

/// The most items of a table that is shared.
const ITEMS_MAX: usize = 10_000;
/// The most bytes of shared records.
const BYTES_MAX: usize = 1_000_000;

type Shared = State<(Turns, Schema)>;

pub(crate) fn router(table: Turns, schema: Schema) -> Router {
    Router::new().route("/records", get(records).post(put)).with_state((table, schema))
}

/// Base records, as a link has them.
struct Records(Vec<Item>);

impl FromJson for Records {
    const WANTED: &'static str = "a list of records";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let records = list(raw, at, Self::WANTED)?.into_iter().map(|raw| Ok(value::<Attributes>(raw, at)?.0));
        records.collect::<Result<_, JsonError>>().map(Self)
    }
}

fn is_base(item: &Item, schema: &Schema) -> bool {
    let sort_key = key_of(item, schema).and_then(|key| schema.parse_sort_key(&key.sk));
    matches!(sort_key, Some(SortKey::Node | SortKey::Revision { .. }))
}

fn unavailable(error: impl std::fmt::Display) -> Problem {
    Problem::new(Kind::Unavailable, error.to_string())
}

async fn records(State((table, schema)): Shared) -> Result<Response, Problem> {
    let (segment, segments, limit, reading) = (0, 1, ITEMS_MAX, ReadOptions::default());
    let found = table.scan(&Scan { segment, segments, after: None, limit, reading }).await.map_err(unavailable)?;
    let base = found.value.items.into_iter().filter(|item| is_base(item, &schema));
    let records: Vec<Attributes> = base.map(Attributes).collect();
    Ok(sapwood_json::to_vec(&records, Numbers::Strings).map_err(unavailable)?.into_response())
}

/// Puts the base records of a link. Others are left out: the handler writes rows.
async fn put(State((table, schema)): Shared, request: Request) -> Result<Response, Problem> {
    let body = to_bytes(request.into_body(), BYTES_MAX).await;
    let body = body.map_err(|_| Problem::new(Kind::BodyTooLarge, "the link has too many records"))?;
    let Records(records) = sapwood_json::read(&body)?;
    for record in records.iter().filter(|record| is_base(record, &schema)) {
        table.put(record, &Condition::Always).await.map_err(unavailable)?;
    }
    Ok(axum::Json(records.len()).into_response())
}
