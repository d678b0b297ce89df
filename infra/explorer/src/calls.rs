//! The calls of the page, under `/explorer/data`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Query as Parameters, Request, State as Shared};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Router, response::IntoResponse};
use sapwood_api::contract::TotalsBody;
use sapwood_api::problem::{Kind, Problem};
use sapwood_core::keys::{Id, NodeRef, OrderedList, SortRange};
use sapwood_core::model::{Item, own_id, row_parent};
use sapwood_store::{Client, Query, ReadOptions, RetryPolicy, Scannable, Table, TableError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::lag::lag;
use super::node::{NODES_MAX, Whole, label, totals, whole};
use super::node_state::{NodeState, states};
use super::question::Question;
use super::trials::{Order, damage};
use super::verify::{compared, mended};
use super::{Answer, Explorer, assets, failed};

/// Most nodes of a level that a page of it has.
const LEVEL_ITEMS_MAX: usize = 100;
/// Most rows that are read to see which nodes of a level have children. Where there are more, some aren't known.
const GRANDCHILDREN_MAX: usize = 500;
/// Most nodes whose states are asked for at once.
const STATES_MAX: usize = 200;
/// Most bytes of a body.
const BODY_BYTES_MAX: usize = 300_000;

type Context<T> = Shared<Arc<Explorer<T>>>;

pub(crate) fn router<T: Scannable + 'static>(explorer: Arc<Explorer<T>>) -> Router {
    Router::new()
        .route("/start", get(start::<T>))
        .route("/level", get(level::<T>))
        .route("/states", post(states_of::<T>))
        .route("/totals", post(totals_of::<T>))
        .route("/node", get(node::<T>))
        .route("/ask", get(ask::<T>))
        .route("/verify", get(verify::<T>))
        .route("/lag", get(lagging::<T>))
        .route("/mend", post(mend::<T>))
        .route("/live", get(live::<T>))
        .route("/trial", post(trial::<T>))
        .with_state(explorer)
}

/// Reads the parameters of a request, and names the one at fault.
fn parameters<T: serde::de::DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let read = Parameters::<T>::try_from_uri(uri);
    read.map(|Parameters(read)| read).map_err(|error| Problem::new(Kind::BadParameter, error.body_text()))
}

async fn body<T: serde::de::DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let is_json =
        request.headers().get(axum::http::header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !is_json {
        return Err(Problem::new(Kind::UnsupportedMediaType, "send application/json"));
    }
    let bytes = to_bytes(request.into_body(), BODY_BYTES_MAX).await;
    let bytes = bytes.map_err(|_| Problem::new(Kind::BodyTooLarge, "the body is too large"))?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::new(Kind::BadJson, error.to_string()))
}

/// A node of a level of the tree.
#[derive(Serialize)]
struct Entry {
    id: String,
    label: String,
    state: NodeState,
    /// Whether the node has children: `None` if that isn't known.
    has_children: Option<bool>,
    /// Its totals. `None` without totals, and for nodes that the page asks for when they are in view.
    below: Option<TotalsBody>,
}

/// A page of a level of the tree.
#[derive(Serialize)]
struct Level {
    items: Vec<Entry>,
    /// After which sort key the next page begins.
    next: Option<String>,
}

#[derive(Default, Deserialize)]
struct Wanted {
    /// The node whose children are wanted, or that is compared; without it the roots, or the whole table.
    id: Option<String>,
    after: Option<String>,
    /// The sort key with which the page ends, if it was read before.
    to: Option<String>,
}

/// Answers all that the page begins with at once, so that it takes few requests.
async fn start<T: Scannable + 'static>(Shared(explorer): Context<T>, uri: Uri) -> Result<Response, Problem> {
    #[derive(Deserialize)]
    struct Named {
        node: Option<String>,
    }
    #[derive(Serialize)]
    struct Start {
        about: serde_json::Value,
        roots: Level,
        /// The node that is named, the example's, or the first one.
        node: Option<Whole>,
    }
    let Named { node } = parameters(&uri)?;
    let roots = page_of_level(&explorer, Wanted::default()).await?;
    let named = node.as_deref().or(explorer.example.map(|(node, _)| node));
    let node = match named.or(roots.items.first().map(|first| first.id.as_str())) {
        Some(id) => {
            let (node, table) = (explorer.node(id)?, explorer.table());
            Some(whole(&explorer.client(&table), &explorer.settings, &node).await.map_err(failed)?)
        }
        None => None,
    };
    Ok(Answer(Start { about: explorer.about(), roots, node }).into_response())
}

async fn level<T: Scannable + 'static>(Shared(explorer): Context<T>, uri: Uri) -> Result<Response, Problem> {
    Ok(Answer(page_of_level(&explorer, parameters(&uri)?).await?).into_response())
}

async fn page_of_level<T: Scannable + 'static>(
    explorer: &Explorer<T>,
    Wanted { id, after, to }: Wanted,
) -> Result<Level, Problem> {
    let parent = id.map(|id| explorer.node(&id)).transpose()?;
    let (table, settings) = (explorer.table(), &explorer.settings);
    let (client, schema) = (explorer.client(&table), &settings.schema);
    let is_first = after.is_none();
    let ordered = |list| schema.ordered_range(list, None, None);
    let is_ordered = settings.order.is_some();
    let (pk, mut range) = match &parent {
        Some(parent) if is_ordered => (schema.partition(parent), ordered(OrderedList::Children)),
        Some(parent) => (schema.partition(parent), schema.depth_range(1, 1)),
        None if is_ordered => (schema.roots_partition(explorer.tenant.as_ref()), ordered(OrderedList::Roots)),
        None => (schema.roots_partition(explorer.tenant.as_ref()), schema.root_range()),
    };
    // A key of another range would be a page of something else.
    if after.iter().chain(&to).any(|key| !range.contains(key)) {
        return Err(Problem::new(Kind::BadCursor, "the page after this key isn't one of this level").at("after"));
    }
    // A page that was read before has room for what has come to it.
    let limit = if to.is_some() { 2 * LEVEL_ITEMS_MAX } else { LEVEL_ITEMS_MAX };
    range.to = to.unwrap_or(range.to);
    let listed = async {
        let (descending, reading) = (false, ReadOptions::default());
        let page = client.query(&Query { pk, range, after, limit, descending, reading }).await?;
        let rows: Vec<(Id, Item)> = page.items.into_iter().filter_map(|row| Some((own_id(&row)?, row))).collect();
        let tenant = &explorer.tenant;
        let nodes: Vec<NodeRef> =
            rows.iter().map(|(id, _)| NodeRef { tenant: tenant.clone(), id: id.clone() }).collect();
        let states = states(&client, &nodes).await?;
        let children = have_children(&client, parent.as_ref(), &nodes).await?;
        // The first of a level are in view as soon as they are there.
        let with_children = nodes.iter().zip(&children).filter(|(_, has_children)| **has_children != Some(false));
        let with_children = with_children.map(|(node, _)| node.clone()).take(if is_first { NODES_MAX } else { 0 });
        let with_children: Vec<NodeRef> = with_children.collect();
        let totals = totals(&client, settings, &with_children).await?;
        let mut below: BTreeMap<&Id, TotalsBody> = with_children.iter().map(|node| &node.id).zip(totals).collect();
        let items = rows.iter().zip(states).zip(children).map(|(((id, row), state), has_children)| Entry {
            id: id.as_str().to_owned(),
            label: label(row, id, schema),
            state,
            has_children,
            below: below.remove(id),
        });
        Ok(Level { items: items.collect(), next: page.next })
    };
    listed.await.map_err(|error: TableError| failed(error))
}

/// Says which of these nodes have children. The parent's rows of depth 2 show it in one Query.
async fn have_children<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    parent: Option<&NodeRef>,
    nodes: &[NodeRef],
) -> Result<Vec<Option<bool>>, TableError> {
    let schema = client.schema();
    let query = |pk: String, range: SortRange, limit: usize| Query {
        pk,
        range,
        after: None,
        limit,
        descending: false,
        reading: ReadOptions { strong: false, attributes: Some(["_parent".to_owned()].into()) },
    };
    let Some(parent) = parent else {
        let each = nodes.iter().map(|node| async {
            let page = client.query(&query(schema.partition(node), schema.depth_range(1, 1), 1)).await?;
            Ok(Some(!page.items.is_empty()))
        });
        return client.all(each.collect()).await.into_iter().collect();
    };
    let page = client.query(&query(schema.partition(parent), schema.depth_range(2, 2), GRANDCHILDREN_MAX)).await?;
    let parents: BTreeSet<Id> = page.items.iter().filter_map(row_parent).collect();
    let is_all = page.next.is_none();
    Ok(nodes.iter().map(|node| (is_all || parents.contains(&node.id)).then(|| parents.contains(&node.id))).collect())
}

async fn states_of<T: Scannable + 'static>(
    Shared(explorer): Context<T>,
    request: Request,
) -> Result<Response, Problem> {
    let nodes = nodes_of(&explorer, request, STATES_MAX).await?;
    let table = explorer.table();
    let found = states(&explorer.client(&table), &nodes).await.map_err(failed)?;
    Ok(Answer(json!({"states": found})).into_response())
}

/// The totals of nodes that are in view.
async fn totals_of<T: Scannable + 'static>(
    Shared(explorer): Context<T>,
    request: Request,
) -> Result<Response, Problem> {
    let nodes = nodes_of(&explorer, request, NODES_MAX).await?;
    let table = explorer.table();
    let found = totals(&explorer.client(&table), &explorer.settings, &nodes).await;
    Ok(Answer(json!({"totals": found.map_err(failed)?})).into_response())
}

async fn nodes_of<T: Scannable + 'static>(
    explorer: &Explorer<T>,
    request: Request,
    most: usize,
) -> Result<Vec<NodeRef>, Problem> {
    #[derive(Deserialize)]
    struct Of {
        ids: Vec<String>,
    }
    let Of { ids } = body(request).await?;
    if ids.len() > most {
        return Err(Problem::new(Kind::BadJson, format!("ask for at most {most} nodes")).at("ids"));
    }
    ids.iter().map(|id| explorer.node(id)).collect()
}

#[derive(Deserialize)]
struct Of {
    id: String,
}

async fn node<T: Scannable + 'static>(Shared(explorer): Context<T>, uri: Uri) -> Result<Response, Problem> {
    let Of { id } = parameters(&uri)?;
    let (node, table) = (explorer.node(&id)?, explorer.table());
    Ok(Answer(whole(&explorer.client(&table), &explorer.settings, &node).await.map_err(failed)?).into_response())
}

async fn ask<T: Scannable + 'static>(Shared(explorer): Context<T>, uri: Uri) -> Result<Response, Problem> {
    let question: Question = parameters(&uri)?;
    // Lists of all trees belong to no node, but perhaps to a tenant.
    let id = question.id.as_deref().filter(|id| !id.is_empty());
    let node = match (id, &explorer.tenant) {
        (Some(id), _) => Some(explorer.node(id)?),
        (None, Some(_)) => Some(explorer.node("-")?),
        (None, None) => None,
    };
    let table = explorer.table();
    let asked = question.asked(node.as_ref(), &explorer.settings)?;
    Ok(Answer(asked.answered(&explorer.client(&table)).await?).into_response())
}

async fn verify<T: Scannable + 'static>(Shared(explorer): Context<T>, uri: Uri) -> Result<Response, Problem> {
    let Wanted { id, .. } = parameters(&uri)?;
    let top = id.map(|id| explorer.node(&id)).transpose()?;
    let table = explorer.table();
    let found = compared(&explorer.client(&table), &explorer.settings, top).await;
    Ok(Answer(found.map_err(failed)?).into_response())
}

async fn mend<T: Scannable + 'static>(Shared(explorer): Context<T>, request: Request) -> Result<Response, Problem> {
    explorer.trials.as_ref().ok_or_else(no_trials)?;
    let Wanted { id, .. } = body(request).await?;
    let top = id.map(|id| explorer.node(&id)).transpose()?;
    let table = explorer.table();
    let count = mended(&explorer.client(&table), &explorer.settings, top).await;
    Ok(Answer(json!({"mended": count.map_err(failed)?})).into_response())
}

async fn lagging<T: Scannable + 'static>(Shared(explorer): Context<T>) -> Result<Response, Problem> {
    explorer.trials.as_ref().ok_or_else(no_trials)?;
    let table = explorer.table();
    let found = lag(&explorer.client(&table), &explorer.settings).await;
    Ok(Answer(json!({"lag": found.map_err(failed)?})).into_response())
}

async fn live<T: Scannable + 'static>(Shared(explorer): Context<T>) -> Result<Response, Problem> {
    let missing = || Problem::new(Kind::NotFound, "only `sapwood dev` shows what the stream handler does");
    let feed = explorer.live.as_ref().ok_or_else(missing)?;
    Ok(assets::finished(feed.body(), "text/event-stream"))
}

async fn trial<T: Scannable + 'static>(Shared(explorer): Context<T>, request: Request) -> Result<Response, Problem> {
    let trials = explorer.trials.as_ref().ok_or_else(no_trials)?;
    let order: Order = body(request).await?;
    trials.order(&order);
    let key = match &order {
        Order::Damage { id, deletes } => {
            let (node, table) = (explorer.node(id)?, explorer.table());
            let damaged = damage(&explorer.client(&table), &explorer.settings, &node, *deletes).await;
            let none = || Problem::new(Kind::NotFound, "the node has no row yet");
            Some(damaged.map_err(failed)?.ok_or_else(none)?)
        }
        _ => None,
    };
    let key = key.map(|key| json!({"pk": key.pk, "sk": key.sk}));
    Ok(Answer(json!({"damaged": key})).into_response())
}

fn no_trials() -> Problem {
    Problem::new(Kind::NotFound, "only `sapwood dev` does this to its own table")
}
