//! One node: its attributes, its ancestors, and the state of its rows.

use std::collections::BTreeSet;

use axum::response::Response;
use sapwood_core::keys::{Id, KeyError, NodeRef};
use sapwood_core::model::{BaseNode, ETag, size_estimate};
use sapwood_core::write::Preconditions;
use sapwood_engine::query::{Ancestor, Below, Bounds, Fields};
use sapwood_http::call::Call;
use sapwood_http::contract::{AncestorBody, BelowBody, FanoutBody, IDS_MAX, NodeBody, NodesBody, Page};
use sapwood_http::cursor::Scope;
use sapwood_http::headers::etag_text;
use sapwood_http::problem::{Kind, Problem};
use sapwood_json::Attributes;
use sapwood_store::Table;

use super::history::LatestOfAll;
use crate::call::{Asked, At, demand, reader, tagged};
use crate::list::{List, fields};
use crate::problem::refused;
use crate::state::Shared;

/// `GET /nodes/{id}`
pub(crate) struct Node {
    node: NodeRef,
    strong: bool,
    fields: Fields,
    preconditions: Preconditions,
    ancestors: Option<List>,
    latest: Option<List>,
}

/// What `expand` can name.
const EXPANSIONS: [&str; 2] = ["ancestors", "latest"];

impl Call<Shared> for Node {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let (strong, fields, expand) = (asked.strong()?, fields(asked)?, expand(asked)?);
        let first = |kind: &str, scope: Scope| {
            let is_asked_for = expand.iter().any(|name| name == kind);
            is_asked_for.then(|| List::first(asked, scope, strong, &fields)).transpose()
        };
        let [ancestors, latest] = EXPANSIONS;
        Ok(Self {
            ancestors: first(ancestors, Ancestors::scope(&node))?,
            latest: first(latest, LatestOfAll::scope(&node, ""))?,
            preconditions: asked.preconditions.clone(),
            node,
            strong,
            fields,
        })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let base = reader(at).node(&self.node, self.strong).await.map_err(refused)?;
        let etag = ETag::of(&base.item, &at.shared.settings.schema);
        let node = || body(&self.node, &base, &self.fields, at.shared);
        if self.ancestors.is_none() && self.latest.is_none() {
            // The tag is that of what a client has written, so it doesn't tell that the node is being deleted.
            let known = self.preconditions.if_none_match.clone().filter(|_| base.deleting.is_none());
            let preconditions = Preconditions { if_none_match: known, ..self.preconditions.clone() };
            return tagged(at, &preconditions, &etag, node);
        }
        // The answer is more than the node, so the node's tag can't name it. What a client knows by this tag is the
        // node alone.
        demand(&self.preconditions, &etag)?;
        let bytes_max = Bounds::BYTES_MAX.saturating_sub(size_estimate(&base.item)) / 2;
        let ancestors = match &self.ancestors {
            Some(list) => Some(Ancestors::page(&list.within(bytes_max), &self.node, at).await?),
            None => None,
        };
        let latest = match &self.latest {
            Some(list) => Some(LatestOfAll::page(&list.within(bytes_max), &self.node, "", at).await?),
            None => None,
        };
        at.json(&NodeBody { etag: Some(etag_text(&etag)), ancestors, latest, ..node() })
    }
}

/// A node with the attributes that were asked for.
fn body(node: &NodeRef, base: &BaseNode, fields: &Fields, shared: &Shared) -> NodeBody {
    let settings = &shared.settings;
    NodeBody {
        attributes: Attributes(fields.of_node(&base.item, &settings.schema)),
        ..NodeBody::of(&node.id, &base.item, settings)
    }
}

/// Reads `expand`.
fn expand(asked: &mut Asked<'_>) -> Result<Vec<String>, Problem> {
    let names = asked.parameters.list("expand")?.unwrap_or_default();
    match names.iter().all(|name| EXPANSIONS.contains(&name.as_str())) {
        true => Ok(names),
        false => {
            let detail = "it takes `ancestors`, `latest`, or both with a comma between them";
            Err(Problem::new(Kind::BadParameter, detail).at("expand"))
        }
    }
}

/// `GET /nodes`
pub(crate) struct Nodes {
    nodes: Vec<NodeRef>,
    list: List,
}

impl Call<Shared> for Nodes {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let refusal = |detail: &str| Problem::new(Kind::BadParameter, detail).at("ids");
        let ids = asked.parameters.texts("ids");
        if !(1..=IDS_MAX).contains(&ids.len()) {
            return Err(refusal("give 1 to 100 ids, each as a parameter `ids` of its own"));
        }
        if ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
            return Err(refusal("an id is given twice; give each id once"));
        }
        let scope = Scope::new("nodes", asked.caller.tenant.as_ref()).list(ids.iter().map(String::as_str));
        let list = List::bounded(asked, scope, Bounds::default())?;
        let node = |id: String| Ok(NodeRef { tenant: asked.caller.tenant.clone(), id: Id::new(id)? });
        let nodes: Result<Vec<NodeRef>, KeyError> = ids.into_iter().map(node).collect();
        Ok(Self { nodes: nodes.map_err(|error| refusal(&error.to_string()))?, list })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = reader(at).nodes(&self.nodes, &self.list.options).await.map_err(refused)?;
        let number = |position: &Option<String>| position.as_deref().and_then(|position| position.parse().ok());
        let passed = number(&self.list.options.after).unwrap_or(0)..number(&page.next).unwrap_or(self.nodes.len());
        let found: BTreeSet<&NodeRef> = page.items.iter().map(|(node, _)| node).collect();
        let missing = self.nodes.get(passed).unwrap_or_default().iter().filter(|node| !found.contains(node));
        let missing = missing.map(|node| node.id.to_string()).collect();
        let Page { items, cursor, .. } = self.list.page(at.shared, page, |(node, base)| NodeBody {
            etag: Some(etag_text(&ETag::of(&base.item, &at.shared.settings.schema))),
            ..body(&node, &base, &self.list.options.fields, at.shared)
        });
        let body = NodesBody { items, missing, cursor };
        self.list.response(at, body.cursor.as_deref(), &body)
    }
}

/// `GET /nodes/{id}/ancestors`
pub(crate) struct Ancestors {
    node: NodeRef,
    list: List,
}

impl Call<Shared> for Ancestors {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        Ok(Self { list: List::with_records(asked, Self::scope(&node))?, node })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (page, is_placed) = reader(at).ancestors(&self.node, &self.list.options).await.map_err(refused)?;
        let placed = (!is_placed).then_some(false);
        self.list.answer_placed(at, self.node.tenant.as_ref(), page, placed, ancestor).await
    }
}

/// The body of an ancestor.
fn ancestor(found: Ancestor) -> AncestorBody {
    AncestorBody {
        id: found.id.to_string(),
        depth: found.depth,
        attributes: found.attributes.map(Attributes),
        record: None,
    }
}

impl Ancestors {
    fn scope(node: &NodeRef) -> Scope {
        Scope::new("ancestors", node.tenant.as_ref()).text(node.id.as_str())
    }

    async fn page<T: Table>(list: &List, node: &NodeRef, at: &At<'_, T>) -> Result<Page<AncestorBody>, Problem> {
        let (page, is_placed) = reader(at).ancestors(node, &list.options).await.map_err(refused)?;
        Ok(Page { placed: (!is_placed).then_some(false), ..list.page(at.shared, page, ancestor) })
    }
}

/// `GET /nodes/{id}/fanout`
pub(crate) struct FanoutOf {
    node: NodeRef,
    below: Option<List>,
}

/// Nodes that one look below a moved node takes.
const BELOW_NODES_MAX: usize = 1_000;

impl Call<Shared> for FanoutOf {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let scope = Scope::new("below", node.tenant.as_ref()).text(node.id.as_str());
        let below = match asked.parameters.flag("below")? {
            Some(true) => Some(List::plain(asked, scope, Bounds::default(), true)?),
            _ => None,
        };
        Ok(Self { node, below })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (reader, node) = (reader(at), &self.node);
        let (status, below) = match &self.below {
            None => (reader.status(node).await.map_err(refused)?, None),
            Some(list) => {
                let from = list.options.after.as_deref();
                let looked = reader.status_and_below(node, from, BELOW_NODES_MAX).await;
                let (status, below) = looked.map_err(refused)?;
                let cursor = list.cursor(at.shared, below.next.as_deref());
                let Below { is_up_to_date: up_to_date, placed, deepest, .. } = below;
                (status, Some(BelowBody { up_to_date, placed, deepest, cursor }))
            }
        };
        // A deleted node is still answered while rows of it are left.
        if !status.exists && status.is_up_to_date() {
            return Err(Problem::new(Kind::NotFound, "neither the node nor a row of it exists"));
        }
        at.json(&FanoutBody {
            up_to_date: status.is_up_to_date(),
            ancestors: status.ancestors,
            missing: status.missing,
            stale: status.stale,
            below,
        })
    }
}
