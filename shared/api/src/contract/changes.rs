//! The bodies of feeds.

use jiff::Timestamp;
use sapwood_core::model::Settings;
use sapwood_engine::query::Change;
use serde::Serialize;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::NodeBody;

/// A node that has changed, or is listed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChangeBody {
    /// The node's id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// When it changed, in `recent`. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub at: Option<String>,
    /// The node as it is now. Null if it isn't in the tree: take this id out of your mirror, and nothing else.
    #[schema(value_type = NodeOrNull)]
    pub node: Option<NodeBody>,
}

/// The schema of a node, or null. A field can't have it itself: clients that are made of it have another type for it.
struct NodeOrNull;

impl PartialSchema for NodeOrNull {
    fn schema() -> RefOr<Schema> {
        let null = ObjectBuilder::new().schema_type(Type::Null);
        OneOfBuilder::new().item(Ref::from_schema_name(NodeBody::name())).item(null).into()
    }
}

impl ToSchema for NodeOrNull {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((NodeBody::name().into_owned(), NodeBody::schema()));
        NodeBody::schemas(schemas);
    }
}

/// A page of a tree's feed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChangesBody {
    /// The nodes, each once.
    pub changes: Vec<ChangeBody>,
    /// Where to go on. Keep it once you have taken the changes in.
    pub cursor: String,
    /// True if there is more to read at once.
    pub has_more: bool,
}

impl ChangeBody {
    /// Makes the body of a change, with the time in milliseconds since 1970 at which it was told, if that is shown.
    #[must_use]
    pub fn of(change: &Change, at: Option<u64>, settings: &Settings) -> Self {
        let time = |at: u64| Timestamp::from_millisecond(i64::try_from(at).ok()?).ok();
        // A mark is no change that anybody is told of, and a deletion that is blocked stays.
        let body = |item| NodeBody { deleting: None, ..NodeBody::of(&change.id, item, settings) };
        let node = change.node.as_ref().map(|base| body(&*base.item));
        Self { id: change.id.to_string(), at: at.and_then(time).map(|at| at.to_string()), node }
    }
}
