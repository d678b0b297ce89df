//! A question, the one request that answers it, and the answer.

use sapwood_api::problem::{Kind, Problem};
use sapwood_core::keys::{DEPTH_MAX, ItemKey, NodeRef, OrderedList, Schema, SortKey, SortRange};
use sapwood_core::model::{Item, Settings, VERSION, item_bytes, key_of};
use sapwood_json::Attributes;
use sapwood_store::{Client, Query, ReadOptions, RetryPolicy, Table};
use serde::{Deserialize, Serialize};

use super::failed;
use super::node::{brief, kind};

/// Most items of an answer.
const ITEMS_MAX: usize = 100;

/// A question, as the page asks it.
#[derive(Debug, Deserialize)]
pub(crate) struct Question {
    kind: String,
    pub(crate) id: Option<String>,
    /// The first level below the node, and the last.
    from: Option<usize>,
    to: Option<usize>,
    /// The segments of a path below the node, with `/` between.
    path: Option<String>,
    /// A topic, or the beginning of topics.
    topic: Option<String>,
    attribute: Option<String>,
    #[serde(default)]
    descending: bool,
    #[serde(default)]
    strong: bool,
}

/// The request that answers a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Asked {
    /// `Query` or `GetItem`.
    call: &'static str,
    pk: String,
    /// The first sort key, that of the item, or what all sort keys begin with.
    from: String,
    /// The last sort key; `None` for an item and for a beginning.
    to: Option<String>,
    /// True if `from` is what all sort keys begin with.
    begins: bool,
    /// The range of a Query.
    #[serde(skip)]
    range: Option<SortRange>,
    /// Attributes that no item of the answer may have.
    without: Option<&'static str>,
    descending: bool,
    strong: bool,
    limit: usize,
}

/// A question with its answer.
#[derive(Serialize)]
pub(crate) struct Answered {
    asked: Asked,
    items: Vec<AnsweredItem>,
    more: bool,
    requests: u64,
    read_units: f64,
}

#[derive(Serialize)]
struct AnsweredItem {
    pk: String,
    sk: String,
    kind: &'static str,
    bytes: usize,
    item: Attributes,
}

impl Question {
    /// Returns the request that answers the question.
    pub(crate) fn asked(&self, node: Option<&NodeRef>, settings: &Settings) -> Result<Asked, Problem> {
        let schema = &settings.schema;
        let bad = |field: &'static str, detail: String| Problem::new(Kind::BadParameter, detail).at(field);
        let of = || node.ok_or_else(|| bad("id", "name a node".to_owned()));
        let tenant = node.and_then(|node| node.tenant.as_ref());
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let range = match self.kind.as_str() {
            "below" => {
                let (from, to) = (self.from.unwrap_or(1), self.to.unwrap_or(DEPTH_MAX));
                if from > to || to > DEPTH_MAX {
                    return Err(bad("to", format!("give levels from 0 to {DEPTH_MAX}, the lower one first")));
                }
                schema.depth_range(from, to)
            }
            "children" if settings.order.is_some() => schema.ordered_range(OrderedList::Children, None, None),
            "children" => schema.depth_range(1, 1),
            "path" => {
                let segments: Vec<String> =
                    text(&self.path).split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
                schema.path_range(&segments).map_err(|error| bad("path", error.to_string()))?
            }
            "links" => {
                schema.link_range(&text(&self.attribute), "").map_err(|error| bad("attribute", error.to_string()))?
            }
            "latest" => schema.latest_range(&text(&self.topic)).map_err(|error| bad("topic", error.to_string()))?,
            "newest" => return self.one(of()?, &SortKey::Latest { topic: text(&self.topic) }, schema),
            "history" => schema.revision_range(),
            "ancestors" => return self.one(of()?, &SortKey::Lineage, schema),
            "record" => return self.one(of()?, &SortKey::Node, schema),
            "roots" => schema.root_range(),
            "trash" => schema.trash_range(None, None),
            _ => return Err(bad("kind", "there is no such question".to_owned())),
        };
        let pk = match self.kind.as_str() {
            "roots" => schema.roots_partition(tenant),
            "trash" => schema.trash_partition(tenant),
            _ => schema.partition(of()?),
        };
        let without = (self.kind == "history").then_some(VERSION);
        // The last key that begins so has a thousand bytes, which nobody wants to copy.
        let begins = matches!(self.kind.as_str(), "links" | "latest");
        let (from, to) = (range.from.clone(), (!begins).then(|| range.to.clone()));
        let Self { descending, strong, .. } = *self;
        let range = Some(range);
        Ok(Asked { call: "Query", pk, from, to, begins, range, without, descending, strong, limit: ITEMS_MAX })
    }

    fn one(&self, node: &NodeRef, key: &SortKey, schema: &Schema) -> Result<Asked, Problem> {
        let wrong = |error: sapwood_core::keys::KeyError| Problem::new(Kind::BadParameter, error.to_string());
        let ItemKey { pk, sk } = schema.item_key(node, key).map_err(wrong)?;
        Ok(Asked { call: "GetItem", pk, from: sk, strong: self.strong, limit: 1, ..Asked::default() })
    }
}

impl Asked {
    pub(crate) async fn answered<T: Table, P: RetryPolicy>(
        self,
        client: &Client<'_, T, P>,
    ) -> Result<Answered, Problem> {
        let reading = ReadOptions { strong: self.strong, attributes: None };
        let (mut items, more) = match &self.range {
            None => {
                let key = ItemKey { pk: self.pk.clone(), sk: self.from.clone() };
                let found = client.get(&key, &reading).await.map_err(failed)?;
                (found.into_iter().collect::<Vec<Item>>(), false)
            }
            Some(range) => {
                let (pk, descending, limit) = (self.pk.clone(), self.descending, self.limit);
                let query = Query { pk, range: range.clone(), after: None, limit, descending, reading };
                let page = client.query(&query).await.map_err(failed)?;
                (page.items, page.next.is_some())
            }
        };
        items.retain(|item| self.without.is_none_or(|name| !item.contains_key(name)));
        let schema = client.schema();
        let found = items.iter().filter_map(|item| {
            let key = key_of(item, schema)?;
            let kind = schema.parse_sort_key(&key.sk).map_or("other", |sort_key| kind(&sort_key));
            let bytes = item_bytes(item);
            Some(AnsweredItem { pk: key.pk, sk: key.sk, kind, bytes, item: Attributes(brief(item)) })
        });
        let usage = client.usage();
        let items = found.collect();
        Ok(Answered { asked: self, items, more, requests: usage.requests, read_units: usage.read_units })
    }
}

/// The questions that the page can ask, for its tests.
#[cfg(test)]
const KINDS: [&str; 11] =
    ["below", "children", "path", "links", "latest", "newest", "history", "ancestors", "record", "roots", "trash"];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use sapwood_core::keys::Id;

    use super::*;

    fn asked(kind: &str, change: impl FnOnce(&mut Question)) -> Result<Asked, Problem> {
        let mut question: Question = serde_json::from_value(serde_json::json!({"kind": kind})).unwrap();
        change(&mut question);
        question.asked(Some(&NodeRef { tenant: None, id: Id::new("D").unwrap() }), &Settings::default())
    }

    #[test]
    fn each_question_is_one_request() {
        let given = |question: &mut Question| {
            let text = |text: &str| Some(text.to_owned());
            (question.path, question.topic, question.attribute) = (text("V/d"), text("Audit"), text("product"));
        };
        let found: BTreeMap<&str, String> = KINDS
            .into_iter()
            .map(|kind| {
                let Asked { call, pk, from, to, .. } = asked(kind, given).unwrap();
                (kind, format!("{call} {pk} {from} {}", to.unwrap_or_default()))
            })
            .collect();
        assert_eq!(found["below"], "Query D NODE#0001# NODE#0098$");
        assert_eq!(found["path"], "Query D PATH#V#d PATH#V#d$");
        assert_eq!(found["links"], "Query D LINK#product# ");
        assert_eq!(found["newest"], "GetItem D v0_Audit ");
        assert_eq!(found["ancestors"], "GetItem D LINEAGE ");
        assert_eq!(found["roots"], "Query ROOTS ROOT# ROOT$");
    }

    #[test]
    fn a_question_that_can_not_be_asked_is_refused() {
        assert!(asked("below", |question| (question.from, question.to) = (Some(3), Some(2))).is_err());
        assert!(asked("below", |question| question.to = Some(99)).is_err());
        assert!(asked("path", |_| {}).is_err());
        assert!(asked("nonsense", |_| {}).is_err());
    }
}
