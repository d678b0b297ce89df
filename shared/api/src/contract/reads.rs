//! The bodies of answers to reads.

use std::borrow::Cow;

use sapwood_core::model::AttributeValue;
use sapwood_engine::query::{Ancestor, AtPath, Descendant, InTrash, Link, Record, Revision, Stamps, Totals};
use sapwood_json::Attributes;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ArrayBuilder, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::TrashedBody;
use super::attributes::ReadAttributes;
use super::fields::answers;
use crate::headers::etag_text;

/// The most tokens of writes that a read takes.
pub const WRITTEN_MAX: usize = 10;

/// The most bytes of a token. API Gateway takes 10,240 bytes of URL and headers together.
pub const WRITTEN_BYTES_MAX: usize = 4_096;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageBody<T> {
    /// The items on the page.
    pub items: Vec<T>,
    /// The position of the next page: pass it as `cursor`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Of ancestors: false while the node isn't placed below its parent yet, so that they are missing, or are those
    /// that it had. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<bool>,
}

// utoipa's derive would write out the schema of the items instead of a reference to it.
impl<T: ToSchema> PartialSchema for PageBody<T> {
    fn schema() -> RefOr<Schema> {
        let items =
            ArrayBuilder::new().items(Ref::from_schema_name(T::name())).description(Some("The items on the page."));
        let cursor = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("The position of the next page: pass it as `cursor`. Absent on the last page."));
        let page = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("A page of a list."))
            .property("items", items)
            .property("cursor", cursor)
            .required("items");
        let placed = "False while the node isn't placed below its parent yet: its ancestors are missing, or are those that it had. Absent otherwise.";
        let placed = ObjectBuilder::new().schema_type(Type::Boolean).description(Some(placed));
        if T::name() == AncestorBody::name() { page.property("placed", placed).into() } else { page.into() }
    }
}

impl<T: ToSchema> ToSchema for PageBody<T> {
    fn name() -> Cow<'static, str> {
        format!("Page_{}", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// An item of a list that is about a node.
pub(crate) trait NodeView {
    /// The node's id.
    fn id(&self) -> &str;
    /// Where its record is shown.
    fn record(&mut self) -> &mut Option<RecordBody>;
    /// Shows its totals, in a list that takes `totals`.
    fn show_totals(&mut self, _: TotalsBody) {}
}

/// Declares an item of a list of rows: the words for its id, its own fields with their values, then those of every row.
macro_rules! node_view {
    (
        $(#[$body_doc:meta])*
        $body:ident of $found:ident: $read:ty, $id:tt {
            $($(#[$of:meta])* $field:ident $(?: $optional:ty)? $(: $type:ty)? = $value:expr),* $(,)?
        } $($totals:ident)?
    ) => {
        answers! {
            $(#[$body_doc])*
            #[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
            $body {
                #[doc = $id]
                #[schema(min_length = 1, max_length = 1014)]
                id: String,
                $($(#[$of])* $field $(?: $optional)? $(: $type)?,)*
                /// The node's name in a path, if that isn't the id. Absent where rows don't carry it.
                #[schema(min_length = 1, max_length = 1014)]
                segment?: String,
                /// The attributes that rows carry.
                #[schema(value_type = ReadAttributes)]
                attributes: Attributes,
                /// True if the row had no room for the attributes. Read the node itself.
                #[serde(skip_serializing_if = "is_false")]
                #[schema(required = false)]
                truncated: bool,
                /// What the base record says beside the attributes, with `expand=record`. Absent if the record is gone.
                record?: RecordBody,
                $(
                    /// What is below it, with `totals=true`.
                    $totals?: TotalsBody,
                )?
            }
        }

        impl From<$read> for $body {
            fn from($found: $read) -> Self {
                Self {
                    id: $found.id.to_string(),
                    $($field: $value,)*
                    segment: $found.segment,
                    attributes: Attributes($found.attributes),
                    truncated: $found.truncated,
                    record: None,
                    $($totals: None,)?
                }
            }
        }

        impl NodeView for $body {
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
    };
}

node_view! {
    /// A node without a parent.
    RootBody of found: Descendant, "The root's id." {} totals
}

node_view! {
    /// A node that was put into the trash. What is below it has no entry of its own.
    TrashBody of found: InTrash, "The node's id." {
        /// How it was put there.
        trashed: TrashedBody = found.trashed.into(),
    }
}

node_view! {
    /// A descendant of a node.
    DescendantBody of found: Descendant, "The descendant's id." {
        /// The parent's id. Absent for a root, which a list can begin with.
        parent?: String = found.parent.map(|parent| parent.to_string()),
        /// How many levels below the node: 0 is the node itself.
        #[schema(minimum = 0, maximum = 98)]
        depth: usize = found.depth,
    } totals
}

node_view! {
    /// A node that links to another.
    LinkBody of found: Link, "The id of the node that links." {
        /// Its parent's id. Absent for a root.
        parent?: String = found.parent.map(|parent| parent.to_string()),
        /// The ids of those of its ancestors that were asked for, nearest first. Absent if none were asked for.
        ancestors?: Vec<String> = Some(found.ancestors.iter().map(ToString::to_string).collect()),
    }
}

node_view! {
    /// A node in the subtree of a path.
    PathBody of found: AtPath, "The node's id." {
        /// The parent's id.
        parent?: String = found.parent.map(|parent| parent.to_string()),
        /// The segments from below the root to the node.
        #[schema(examples(json!(["NE", "OMAHA"])))]
        path: Vec<String> = found.path.clone(),
        /// How many levels below the root.
        #[schema(minimum = 1, maximum = 98)]
        depth: usize = found.path.len(),
    }
}

answers! {
/// An ancestor of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
AncestorBody {
    /// The ancestor's id.
    #[schema(min_length = 1, max_length = 1014)]
    id: String,
    /// How many levels above the node: 1 is the parent.
    #[schema(minimum = 1, maximum = 98)]
    depth: usize,
    /// The attributes that `fields` names. Absent without `fields`, and if the ancestor doesn't exist.
    #[schema(value_type = Option<ReadAttributes>)]
    attributes?: Attributes,
    /// What the base record says beside the attributes, with `expand=record`. Absent if the record is gone.
    record?: RecordBody,
}
}

impl From<Ancestor> for AncestorBody {
    fn from(found: Ancestor) -> Self {
        let attributes = found.attributes.map(Attributes);
        Self { id: found.id.to_string(), depth: found.depth, attributes, record: None }
    }
}

impl NodeView for AncestorBody {
    fn id(&self) -> &str {
        &self.id
    }

    fn record(&mut self) -> &mut Option<RecordBody> {
        &mut self.record
    }
}

answers! {
/// A number of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
CountBody {
    /// How many nodes this answer counts: those since the cursor that was passed.
    count: u64,
    /// Where to count on. Add the counts of all answers.
    cursor?: String,
}

/// The copy of a topic's newest revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
LatestBody {
    /// The topic.
    #[schema(examples("Audit"))]
    topic: String,
    /// The version of the copied revision.
    #[schema(minimum = 1, maximum = 999_999)]
    version: u32,
    /// The revision's attributes that copies carry.
    #[schema(value_type = ReadAttributes)]
    attributes: Attributes,
    /// True if the copy had no room for the attributes. Read the revision itself.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    truncated: bool,
    /// What the base record says beside the attributes, with `expand=record`. Absent if the record is gone.
    record?: RecordBody,
}

/// What a base record says beside its attributes. It is read after the row or the copy that the list is made of, and
/// may be newer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
RecordBody {
    /// The node's name in a path, if that isn't the id.
    #[schema(min_length = 1, max_length = 1014)]
    segment?: String,
    /// When the API created it; absent if another client did.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    created_at?: String,
    /// Who had the API create it.
    #[schema(examples("anna"))]
    created_by?: String,
    /// When the API last wrote it.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    updated_at?: String,
    /// Who had the API write it last.
    #[schema(examples("anna"))]
    updated_by?: String,
    /// Its entity tag, for `If-Match`.
    #[schema(examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    etag: String,
}

/// Whether the derived rows of a node match its base record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
PropagationBody {
    /// True if all rows match.
    up_to_date: bool,
    /// How many ancestors the node has.
    #[schema(minimum = 0, maximum = 98)]
    ancestors: usize,
    /// How many rows are missing.
    missing: usize,
    /// How many rows are out of date.
    stale: usize,
    /// How far what is below the node is placed. Absent without `below=true`.
    below?: BelowBody,
}

/// After a move, or a change of a node's segment: how many of the nodes below it stand where they belong by now. Nodes
/// that are created or moved there meanwhile aren't counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
BelowBody {
    /// True if all of it is, and the node's own rows are up to date.
    up_to_date: bool,
    /// How many nodes are placed, as far as this look and those before it have come.
    placed: u64,
    /// The deepest of their levels below the node.
    #[schema(minimum = 0, maximum = 98)]
    deepest: usize,
    /// Where the next look goes on: pass it as `cursor`. Absent once everything is placed.
    cursor?: String,
}
}

/// What is below a node, by its totals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TotalsBody {
    /// How many nodes are below the node.
    pub count: u64,
    /// How many of them are its children.
    pub children: u64,
    /// What the numbers of the nodes below add up to, by attribute.
    #[schema(value_type = ReadAttributes)]
    pub sums: Attributes,
    /// How many of the nodes below have something in one of these attributes that can't be added up. It counts as 0.
    pub left_out: u64,
}

impl From<Totals> for TotalsBody {
    fn from(found: Totals) -> Self {
        let sums = found.sums.into_iter().map(|(name, sum)| (name, AttributeValue::N(sum.to_string())));
        let Totals { count, children, left_out, .. } = found;
        Self { count, children, sums: Attributes(sums.collect()), left_out }
    }
}

impl From<Revision> for LatestBody {
    fn from(found: Revision) -> Self {
        let Revision { topic, version, attributes, truncated, .. } = found;
        Self { topic, version: version.number(), attributes: Attributes(attributes), truncated, record: None }
    }
}

impl From<Record> for RecordBody {
    fn from(record: Record) -> Self {
        let Record { segment, stamps: Stamps { created_at, created_by, updated_at, updated_by }, etag } = record;
        Self { segment, created_at, created_by, updated_at, updated_by, etag: etag_text(&etag) }
    }
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}
