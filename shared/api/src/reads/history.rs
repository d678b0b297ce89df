//! Revisions, and the copies of the newest ones.

use axum::response::Response;
use sapwood_core::keys::{NodeRef, Version};
use sapwood_core::model::{ETag, Latest};
use sapwood_engine::query::{ListOptions, Order};
use sapwood_json::Attributes;
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState, tagged};
use super::list::{List, Takes, expands, options};
use crate::call::Call;
use crate::contract::{LatestBody, PageBody, RevisionBody, TOPIC_BYTES_MAX};
use crate::cursor::Scope;
use crate::problem::Problem;

/// `GET /nodes/{id}/latest`
pub(super) struct LatestOfAll {
    node: NodeRef,
    topic_prefix: String,
    list: List,
}

impl Call<ReaderState> for LatestOfAll {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let topic_prefix = asked.prefix("topic_prefix", TOPIC_BYTES_MAX)?.unwrap_or_default();
        Ok(Self { list: List::read(asked, Self::scope(&node, &topic_prefix), Takes::Records)?, node, topic_prefix })
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
    ) -> Result<PageBody<LatestBody>, Problem> {
        let page = at.reader().latest_of_all(node, topic_prefix, &list.options).await?;
        Ok(list.page(at.shared, page, LatestBody::from))
    }
}

/// `GET /nodes/{id}/latest/{topic}`
pub(super) struct LatestOfOne {
    topic: Latest,
    options: ListOptions,
    has_record: bool,
}

impl Call<ReaderState> for LatestOfOne {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        Ok(Self { topic: asked.topic()?, options: options(asked)?, has_record: expands(asked)? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let mut body = [LatestBody::from(at.reader().latest(&self.topic, &self.options).await?)];
        if self.has_record {
            add_records(&mut body, &self.topic.node, self.options.strong, at).await?;
        }
        let [body] = body;
        at.json(&body)
    }
}

/// `GET /nodes/{id}/revisions`
pub(super) struct Revisions {
    node: NodeRef,
    order: Order,
    list: List,
}

impl Call<ReaderState> for Revisions {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, order) = (asked.node("id")?, order(asked)?);
        let scope = Scope::new("revisions", node.tenant.as_ref()).text(node.id.as_str()).text(word(order));
        Ok(Self { list: List::read(asked, scope, Takes::Nothing)?, node, order })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = at.reader().revisions(&self.node, self.order, &self.list.options).await?;
        let page = self.list.page(at.shared, page, |found| RevisionBody::listed(&self.node, found));
        self.list.response(at, page.cursor.as_deref(), &page)
    }
}

/// `GET /nodes/{id}/revisions/{topic}`
pub(super) struct Topic {
    topic: Latest,
    order: Order,
    list: List,
}

impl Call<ReaderState> for Topic {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (topic, order) = (asked.topic()?, order(asked)?);
        let scope = Scope::new("topic", topic.node.tenant.as_ref()).text(topic.node.id.as_str());
        let scope = scope.text(&topic.topic).text(word(order));
        Ok(Self { list: List::read(asked, scope, Takes::Nothing)?, topic, order })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = at.reader().topic(&self.topic, self.order, &self.list.options).await?;
        let page = self.list.page(at.shared, page, |found| RevisionBody::listed(&self.topic.node, found));
        self.list.response(at, page.cursor.as_deref(), &page)
    }
}

/// `GET /nodes/{id}/revisions/{topic}/{version}`
pub(super) struct RevisionOfOne {
    topic: Latest,
    version: Version,
    options: ListOptions,
}

impl Call<ReaderState> for RevisionOfOne {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (topic, version) = (asked.topic()?, asked.path.version("version")?);
        Ok(Self { topic, version, options: options(asked)? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Latest { node, topic } = &self.topic;
        let settings = &at.shared.settings;
        let item = at.reader().revision(&self.topic, self.version, self.options.strong).await?;
        tagged(at, true, &ETag::of(&item, &settings.schema), || RevisionBody {
            attributes: Attributes(self.options.fields.of_revision(&item, &settings.schema)),
            ..RevisionBody::of(&node.id, topic, self.version, &item, settings)
        })
    }
}

fn order(asked: &mut Asked<'_>) -> Result<Order, Problem> {
    let order = asked.parameters.choice("order", &ORDERS)?;
    Ok(order.unwrap_or_default())
}

pub(super) const ORDERS: [(&str, Order); 2] = [("desc", Order::Descending), ("asc", Order::Ascending)];

pub(super) fn word(order: Order) -> &'static str {
    match order {
        Order::Descending => "desc",
        Order::Ascending => "asc",
    }
}

async fn add_records<T: Table>(
    copies: &mut [LatestBody],
    node: &NodeRef,
    strong: bool,
    at: &At<'_, T>,
) -> Result<(), Problem> {
    let of = |copy: &LatestBody| Some((copy.topic.clone(), Version::new(copy.version.into()).ok()?));
    let revisions: Vec<(String, Version)> = copies.iter().filter_map(of).collect();
    let mut records = at.reader().records_of_revisions(node, &revisions, strong).await?;
    for copy in copies {
        copy.record = records.remove(&copy.topic).map(Into::into);
    }
    Ok(())
}
