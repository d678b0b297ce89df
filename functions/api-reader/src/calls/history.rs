//! Revisions, and the copies of the newest ones.

use axum::response::Response;
use sapwood_core::keys::{NodeRef, Version};
use sapwood_core::model::{ETag, Latest};
use sapwood_core::write::Preconditions;
use sapwood_engine::query::{Fields, ListOptions, Order, Revision};
use sapwood_http::call::Call;
use sapwood_http::contract::{LatestBody, Page, RevisionBody, TOPIC_BYTES_MAX};
use sapwood_http::cursor::Scope;
use sapwood_http::problem::Problem;
use sapwood_json::Attributes;
use sapwood_store::Table;

use crate::call::{Asked, At, reader, tagged};
use crate::list::{List, expands, fields, record_body};
use crate::problem::refused;
use crate::state::Shared;

/// `GET /nodes/{id}/latest`
pub(crate) struct LatestOfAll {
    node: NodeRef,
    topic_prefix: String,
    list: List,
}

impl Call<Shared> for LatestOfAll {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let topic_prefix = asked.prefix("topic_prefix", TOPIC_BYTES_MAX)?.unwrap_or_default();
        Ok(Self { list: List::with_records(asked, Self::scope(&node, &topic_prefix))?, node, topic_prefix })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let mut page = Self::page(&self.list, &self.node, &self.topic_prefix, at).await?;
        if self.list.has_records {
            add_records(&mut page.items, &self.node, self.list.options.strong, at).await?;
        }
        self.list.response(at, page.cursor.as_deref(), &page)
    }
}

impl LatestOfAll {
    pub(super) fn scope(node: &NodeRef, topic_prefix: &str) -> Scope {
        Scope::new("latest", node.tenant.as_ref()).text(node.id.as_str()).text(topic_prefix)
    }

    pub(super) async fn page<T: Table>(
        list: &List,
        node: &NodeRef,
        topic_prefix: &str,
        at: &At<'_, T>,
    ) -> Result<Page<LatestBody>, Problem> {
        let page = reader(at).latest_of_all(node, topic_prefix, &list.options).await.map_err(refused)?;
        Ok(list.page(at.shared, page, copy))
    }
}

/// `GET /nodes/{id}/latest/{topic}`
pub(crate) struct LatestOfOne {
    topic: Latest,
    options: ListOptions,
    has_record: bool,
}

impl Call<Shared> for LatestOfOne {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        Ok(Self { topic: asked.topic()?, options: options(asked)?, has_record: expands(asked)? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let mut body = [copy(reader(at).latest(&self.topic, &self.options).await.map_err(refused)?)];
        if self.has_record {
            add_records(&mut body, &self.topic.node, self.options.strong, at).await?;
        }
        let [body] = body;
        at.json(&body)
    }
}

/// `GET /nodes/{id}/revisions`
pub(crate) struct Revisions {
    node: NodeRef,
    order: Order,
    list: List,
}

impl Call<Shared> for Revisions {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, order) = (asked.node("id")?, order(asked)?);
        let scope = Scope::new("revisions", node.tenant.as_ref()).text(node.id.as_str()).text(word(order));
        Ok(Self { list: List::read(asked, scope)?, node, order })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = reader(at).revisions(&self.node, self.order, &self.list.options).await.map_err(refused)?;
        self.list.answer(at, page, |found| revision(&self.node, found))
    }
}

/// `GET /nodes/{id}/revisions/{topic}`
pub(crate) struct Topic {
    topic: Latest,
    order: Order,
    list: List,
}

impl Call<Shared> for Topic {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (topic, order) = (asked.topic()?, order(asked)?);
        let scope = Scope::new("topic", topic.node.tenant.as_ref()).text(topic.node.id.as_str());
        let scope = scope.text(&topic.topic).text(word(order));
        Ok(Self { list: List::read(asked, scope)?, topic, order })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = reader(at).topic(&self.topic, self.order, &self.list.options).await.map_err(refused)?;
        self.list.answer(at, page, |found| revision(&self.topic.node, found))
    }
}

/// `GET /nodes/{id}/revisions/{topic}/{version}`
pub(crate) struct RevisionOfOne {
    topic: Latest,
    version: Version,
    strong: bool,
    fields: Fields,
    preconditions: Preconditions,
}

impl Call<Shared> for RevisionOfOne {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (topic, version) = (asked.topic()?, asked.path.version("version")?);
        let (strong, fields) = (asked.strong()?, fields(asked)?);
        Ok(Self { topic, version, strong, fields, preconditions: asked.preconditions.clone() })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Latest { node, topic } = &self.topic;
        let settings = &at.shared.settings;
        let item = reader(at).revision(&self.topic, self.version, self.strong).await.map_err(refused)?;
        tagged(at, &self.preconditions, &ETag::of(&item, &settings.schema), || RevisionBody {
            attributes: Attributes(self.fields.of_revision(&item, &settings.schema)),
            ..RevisionBody::of(&node.id, topic, self.version, &item, settings)
        })
    }
}

/// Reads `order`. The default is the newest revision first.
fn order(asked: &mut Asked<'_>) -> Result<Order, Problem> {
    let order = asked.parameters.choice("order", &ORDERS.map(|order| (word(order), order)))?;
    Ok(order.unwrap_or_default())
}

/// What `order` can name.
pub(super) const ORDERS: [Order; 2] = [Order::Descending, Order::Ascending];

pub(super) fn word(order: Order) -> &'static str {
    match order {
        Order::Descending => "desc",
        Order::Ascending => "asc",
    }
}

/// Reads `consistent` and `fields`.
fn options(asked: &mut Asked<'_>) -> Result<ListOptions, Problem> {
    Ok(ListOptions { strong: asked.strong()?, fields: fields(asked)?, ..ListOptions::default() })
}

/// Adds to copies of a node's newest revisions what the records of these say.
async fn add_records<T: Table>(
    copies: &mut [LatestBody],
    node: &NodeRef,
    strong: bool,
    at: &At<'_, T>,
) -> Result<(), Problem> {
    let of = |copy: &LatestBody| Some((copy.topic.clone(), Version::new(copy.version.into()).ok()?));
    let revisions: Vec<(String, Version)> = copies.iter().filter_map(of).collect();
    let mut records = reader(at).records_of_revisions(node, &revisions, strong).await.map_err(refused)?;
    for copy in copies {
        copy.record = records.remove(&copy.topic).map(record_body);
    }
    Ok(())
}

/// The body of a copy of a topic's newest revision.
#[must_use]
pub fn copy(found: Revision) -> LatestBody {
    LatestBody {
        topic: found.topic,
        version: found.version.number(),
        attributes: Attributes(found.attributes),
        truncated: found.truncated,
        record: None,
    }
}

/// The body of a revision of a node.
#[must_use]
pub fn revision(node: &NodeRef, found: Revision) -> RevisionBody {
    RevisionBody {
        id: node.id.to_string(),
        topic: found.topic,
        version: found.version.number(),
        attributes: Attributes(found.attributes),
        created_at: found.stamps.created_at,
        created_by: found.stamps.created_by,
        updated_at: found.stamps.updated_at,
        updated_by: found.stamps.updated_by,
    }
}
