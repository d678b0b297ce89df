//! What the reads answer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ArrayBuilder, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::json::Attributes;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins: give it back as `cursor`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

// utoipa's derive would write out the schema of the items in place of a reference to it.
impl<T: ToSchema> PartialSchema for Page<T> {
    fn schema() -> RefOr<Schema> {
        let items = ArrayBuilder::new().items(Ref::from_schema_name(T::name())).description(Some("What is on it."));
        let cursor = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Where the next page begins: give it back as `cursor`. Absent on the last page."));
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("A page of a list."))
            .property("items", items)
            .property("cursor", cursor)
            .required("items")
            .into()
    }
}

impl<T: ToSchema> ToSchema for Page<T> {
    fn name() -> Cow<'static, str> {
        format!("Page_{}", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// A root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RootBody {
    /// Its id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// Those of its attributes that rows carry.
    pub attributes: Attributes,
    /// That the row had no room for the attributes: read the node itself.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub truncated: bool,
}

/// A node above another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AncestorBody {
    /// Its id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// How far above: 1 is the parent.
    #[schema(minimum = 1, maximum = 98)]
    pub depth: usize,
    /// Those of its attributes that `fields` named. Absent without `fields`, and where the ancestor isn't there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attributes: Option<Attributes>,
}

/// A node below another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DescendantBody {
    /// Its id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// Its parent's id. Absent for a root, where a list begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent: Option<String>,
    /// How far below; 0 is the node itself.
    #[schema(minimum = 0, maximum = 98)]
    pub depth: usize,
    /// Those of its attributes that rows carry.
    pub attributes: Attributes,
    /// That the row had no room for the attributes: read the node itself.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub truncated: bool,
}

/// A node of a path's subtree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PathBody {
    /// Its id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// Its parent's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent: Option<String>,
    /// Its segments from below the root, its own last.
    #[schema(examples(json!(["NE", "OMAHA"])))]
    pub path: Vec<String>,
    /// How far below the root.
    #[schema(minimum = 1, maximum = 98)]
    pub depth: usize,
    /// Those of its attributes that rows carry.
    pub attributes: Attributes,
    /// That the row had no room for the attributes: read the node itself.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub truncated: bool,
}

/// A node with what is below it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TreeNode {
    /// Its id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// Its parent's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent: Option<String>,
    /// How far below the node that was asked for.
    #[schema(minimum = 0, maximum = 98)]
    pub depth: usize,
    /// Those of its attributes that rows carry.
    pub attributes: Attributes,
    /// That the row had no room for the attributes: read the node itself.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub truncated: bool,
    /// Its children, by id.
    #[schema(no_recursion)]
    pub children: Vec<TreeNode>,
}

/// A whole subtree: the node with its children, each with its own. Past 5,000 nodes or 5 MB it is cut, and goes on on
/// further pages: there the node comes without its attributes, and `children` holds what comes next by depth, of which
/// `parent` says where it belongs.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TreeBody {
    /// The id that was asked for.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// Its parent's id. Absent for a root, and on further pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent: Option<String>,
    /// 0.
    #[schema(minimum = 0, maximum = 0)]
    pub depth: usize,
    /// Its attributes. Absent on further pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attributes: Option<Attributes>,
    /// Its children, by id; on further pages, what comes next.
    pub children: Vec<TreeNode>,
    /// That the subtree goes on.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub truncated: bool,
    /// Where it goes on: give it back as `cursor`. Absent where nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cursor: Option<String>,
}

/// How many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountBody {
    /// How many.
    pub count: u64,
}

/// A copy of a topic's newest revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LatestBody {
    /// The topic.
    #[schema(examples("Audit"))]
    pub topic: String,
    /// The version it is a copy of.
    #[schema(minimum = 1, maximum = 999_999)]
    pub version: u32,
    /// Those of the revision's attributes that copies carry.
    pub attributes: Attributes,
    /// That the copy had no room for the attributes: read the revision itself.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub truncated: bool,
}

/// Whether what is derived from a node says what its base record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FanoutBody {
    /// Whether it does.
    pub up_to_date: bool,
    /// How many ancestors the node has.
    #[schema(minimum = 0, maximum = 98)]
    pub ancestors: usize,
    /// How many rows are to come.
    pub missing: usize,
    /// How many rows say something old.
    pub stale: usize,
}

fn is_false(value: &bool) -> bool {
    !value
}
