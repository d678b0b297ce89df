//! One node: its attributes, its ancestors, and the state of its rows.

use std::collections::BTreeSet;

use axum::response::Response;
use sapwood_core::keys::{Id, KeyError, NodeRef};
use sapwood_core::model::{BaseNode, ETag, size_estimate};
use sapwood_engine::query::{Below, Bounds, Fields, ListOptions};
use sapwood_json::Attributes;
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState, Shared, demand, tagged};
use super::history::LatestOfAll;
use super::list::{List, Takes, options};
use crate::call::Call;
use crate::contract::{AncestorBody, BelowBody, IDS_MAX, NodeBody, NodesBody, PageBody, PropagationBody};
use crate::cursor::Scope;
use crate::headers::etag_text;
use crate::problem::{Kind, Problem};

/// `GET /nodes/{id}`
pub(super) struct Node {
    node: NodeRef,
    options: ListOptions,
    ancestors: Option<List>,
    latest: Option<List>,
}

const EXPANSIONS: [&str; 2] = ["ancestors", "latest"];

impl Call<ReaderState> for Node {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let (options, expand) = (options(asked)?, expand(asked)?);
        let first = |kind: &str, scope: Scope| {
            let is_asked_for = expand.iter().any(|name| name == kind);
            is_asked_for.then(|| List::of(asked, scope, options.clone(), None)).transpose()
        };
        let [ancestors, latest] = EXPANSIONS;
        Ok(Self {
            ancestors: first(ancestors, Ancestors::scope(&node))?,
            latest: first(latest, LatestOfAll::scope(&node, ""))?,
            node,
            options,
        })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let base = at.reader().node(&self.node, self.options.strong).await?;
        let etag = ETag::of(&base.item, &at.shared.settings.schema);
        let node = || body(&self.node, &base, &self.options.fields, at.shared);
        if self.ancestors.is_none() && self.latest.is_none() {
            // The tag is that of what a client has written, so it doesn't tell that the node is being deleted.
            return tagged(at, base.deleting.is_none(), &etag, node);
        }
        // The answer is more than the node, so the node's tag can't name it, nor make it 304.
        demand(&at.preconditions, &etag)?;
        let bytes_max = Bounds::BYTES_MAX.saturating_sub(size_estimate(&base.item)) / 2;
        let mut body = NodeBody { etag: Some(etag_text(&etag)), ..node() };
        if let Some(list) = self.ancestors {
            body.ancestors = Some(Ancestors::page(&list.within(bytes_max), &self.node, at).await?);
        }
        if let Some(list) = self.latest {
            body.latest = Some(LatestOfAll::page(&list.within(bytes_max), &self.node, "", at).await?);
        }
        at.json(&body)
    }
}

fn body(node: &NodeRef, base: &BaseNode, fields: &Fields, shared: &Shared) -> NodeBody {
    let settings = &shared.settings;
    NodeBody {
        attributes: Attributes(fields.of_node(&base.item, &settings.schema)),
        ..NodeBody::of(&node.id, &base.item, settings)
    }
}

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
pub(super) struct Nodes {
    nodes: Vec<NodeRef>,
    list: List,
}

impl Call<ReaderState> for Nodes {
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
        let options = options(asked)?;
        let list = List::at_cursor(asked, scope, options)?;
        let node = |id: String| Ok(NodeRef { tenant: asked.caller.tenant.clone(), id: Id::new(id)? });
        let nodes: Result<Vec<NodeRef>, KeyError> = ids.into_iter().map(node).collect();
        Ok(Self { nodes: nodes.map_err(|error| refusal(&error.to_string()))?, list })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = at.reader().nodes(&self.nodes, &self.list.options).await?;
        let number = |position: &Option<String>| position.as_deref().and_then(|position| position.parse().ok());
        let passed = number(&self.list.options.after).unwrap_or(0)..number(&page.next).unwrap_or(self.nodes.len());
        let found: BTreeSet<&NodeRef> = page.items.iter().map(|(node, _)| node).collect();
        let missing = self.nodes.get(passed).unwrap_or_default().iter().filter(|node| !found.contains(node));
        let missing = missing.map(|node| node.id.to_string()).collect();
        let PageBody { items, cursor, .. } = self.list.page(at.shared, page, |(node, base)| NodeBody {
            etag: Some(etag_text(&ETag::of(&base.item, &at.shared.settings.schema))),
            ..body(&node, &base, &self.list.options.fields, at.shared)
        });
        let body = NodesBody { items, missing, cursor };
        self.list.response(at, body.cursor.as_deref(), &body)
    }
}

/// `GET /nodes/{id}/ancestors`
pub(super) struct Ancestors {
    node: NodeRef,
    list: List,
}

impl Call<ReaderState> for Ancestors {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        Ok(Self { list: List::read(asked, Self::scope(&node), Takes::Records)?, node })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        self.list.answer_nodes(at, Self::page(&self.list, &self.node, at).await?).await
    }
}

impl Ancestors {
    fn scope(node: &NodeRef) -> Scope {
        Scope::new("ancestors", node.tenant.as_ref()).text(node.id.as_str())
    }

    async fn page<T: Table>(list: &List, node: &NodeRef, at: &At<'_, T>) -> Result<PageBody<AncestorBody>, Problem> {
        let (page, is_placed) = at.reader().ancestors(node, &list.options).await?;
        Ok(PageBody { placed: (!is_placed).then_some(false), ..list.page(at.shared, page, AncestorBody::from) })
    }
}

/// `GET /nodes/{id}/propagation`
pub(super) struct PropagationOf {
    node: NodeRef,
    below: Option<List>,
}

/// Nodes that one look below a moved node takes.
const BELOW_NODES_MAX: usize = 1_000;

impl Call<ReaderState> for PropagationOf {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let scope = Scope::new("below", node.tenant.as_ref()).text(node.id.as_str());
        let below = match asked.parameters.flag("below")? {
            Some(true) => Some(List::at_cursor(asked, scope, ListOptions { strong: true, ..ListOptions::default() })?),
            _ => None,
        };
        Ok(Self { node, below })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let (reader, node) = (at.reader(), &self.node);
        let (status, below) = match &self.below {
            None => (reader.status(node).await?, None),
            Some(list) => {
                let from = list.options.after.as_deref();
                let (status, below) = reader.status_and_below(node, from, BELOW_NODES_MAX).await?;
                let cursor = list.cursor(at.shared, below.next.as_deref());
                let Below { is_up_to_date: up_to_date, placed, deepest, .. } = below;
                (status, Some(BelowBody { up_to_date, placed, deepest, cursor }))
            }
        };
        // A deleted node is still answered while rows of it are left.
        if !status.exists && status.is_up_to_date() {
            return Err(Problem::new(Kind::NotFound, "neither the node nor a row of it exists"));
        }
        at.json(&PropagationBody {
            up_to_date: status.is_up_to_date(),
            ancestors: status.ancestors,
            missing: status.missing,
            stale: status.stale,
            below,
        })
    }
}
