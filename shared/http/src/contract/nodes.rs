//! Nodes.

use std::borrow::Cow;

use sapwood_core::keys::{Id, TrashTime, check_segment};
use sapwood_core::model::{CREATED_AT, CREATED_BY, DeletionMark, Item, Settings, Trashed, UPDATED_AT, UPDATED_BY};
use sapwood_core::write::{OnConflict, Spot};
use sapwood_json::{self as json, Attributes, Fields, FromJson, JsonError, MergePatch, Place};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::schema::{AdditionalProperties, OneOfBuilder, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::attributes::{AttributesPatch, ReadAttributes, WrittenAttributes, text};
use super::deletions::word;
use super::{AncestorBody, AppendedBody, LatestBody, NewRevision, Page};

// utoipa's derive takes a generic type apart where its name is written out.
type AncestorPage = Page<AncestorBody>;
type LatestPage = Page<LatestBody>;

/// The most ids that `GET /nodes` takes.
pub const IDS_MAX: usize = 100;

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeBody {
    /// The node's id.
    #[schema(min_length = 1, max_length = 1014, examples("ORDER#98765"))]
    pub id: String,
    /// The parent's id. A root has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 1014, examples("CUSTOMER#7"))]
    pub parent: Option<String>,
    /// The node's name in a path, if that isn't the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 1014)]
    pub segment: Option<String>,
    /// The user's own attributes.
    #[schema(value_type = ReadAttributes)]
    pub attributes: Attributes,
    /// When the API created the node; absent if another client did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("2026-02-03T04:05:06.789Z"))]
    pub created_at: Option<String>,
    /// Who had the API create the node, as the authorizer names the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("arn:aws:iam::111122223333:user/anna"))]
    pub created_by: Option<String>,
    /// When the API last wrote the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("2026-02-03T04:05:06.789Z"))]
    pub updated_at: Option<String>,
    /// Who had the API write the node last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("arn:aws:iam::111122223333:user/anna"))]
    pub updated_by: Option<String>,
    /// How the node was put into the trash. Absent unless it was. What is below it is in the trash as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub trashed: Option<Box<TrashedBody>>,
    /// The operation that deletes the node. Absent unless the node is being deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("019c2171-b1d5-7a4f-a90b-0f6d6f1f5d52"))]
    pub deleting: Option<String>,
    /// The node's entity tag, where the answer has more than this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    pub etag: Option<String>,
    /// The first page of the node's ancestors, with `expand=ancestors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ancestors: Option<AncestorPage>,
    /// The first page of the newest revisions of the node's topics, with `expand=latest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub latest: Option<LatestPage>,
    /// The revision that was appended with the node, in the answer to the request that did both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub revision: Option<Box<AppendedBody>>,
}

/// How a node was put into the trash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrashedBody {
    /// When the node was put into the trash. Absent if another client has written this time in a form of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("2026-02-03T04:05:06.789Z"))]
    pub at: Option<String>,
    /// Who put it there: the caller's name as the authorizer gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("arn:aws:iam::111122223333:user/anna"))]
    pub by: Option<String>,
    /// The parent that the node had, and goes back to. A root had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 1014)]
    pub parent: Option<String>,
}

impl From<Trashed> for TrashedBody {
    fn from(trashed: Trashed) -> Self {
        let Trashed { at, by, parent, .. } = trashed;
        let at = Some(at).filter(|at| *at != TrashTime::unknown()).map(|at| at.as_str().to_owned());
        Self { at, by, parent: parent.map(|parent| parent.to_string()) }
    }
}

/// Several nodes that were asked for by their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodesBody {
    /// The nodes that were found, in the order of the ids.
    pub items: Vec<NodeBody>,
    /// The ids of this page without a node, or with a record that can't be read.
    pub missing: Vec<String>,
    /// The position of the next page: pass it as `cursor`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cursor: Option<String>,
}

impl NodeBody {
    /// Makes the body of a base record.
    #[must_use]
    pub fn of(id: &Id, base: &Item, settings: &Settings) -> Self {
        let names = settings.schema.names();
        Self {
            id: id.as_str().to_owned(),
            parent: text(base, &names.parent),
            segment: text(base, &names.segment),
            attributes: Attributes::of_node(base, &settings.schema),
            created_at: text(base, CREATED_AT),
            created_by: text(base, CREATED_BY),
            updated_at: text(base, UPDATED_AT),
            updated_by: text(base, UPDATED_BY),
            trashed: Trashed::in_record(base, &settings.schema).map(|trashed| Box::new(trashed.into())),
            deleting: DeletionMark::read(base).map(|mark| mark.operation),
            etag: None,
            ancestors: None,
            latest: None,
            revision: None,
        }
    }
}

/// A node to create.
#[derive(Clone, Debug, Default, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateNode {
    /// The node's id. Without one the node gets a UUID.
    #[schema(value_type = String, required = false, min_length = 1, max_length = 1014, examples("CUSTOMER#7"))]
    pub id: Option<Id>,
    /// The parent's id. The parent must exist. Null or absent for a root; absent with a `place` next to a node, the
    /// parent of that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    pub parent: Option<Option<Id>>,
    /// The node's name in a path. Null or absent for the id.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    pub segment: Option<String>,
    /// The node's attributes.
    #[schema(value_type = WrittenAttributes, required = false)]
    pub attributes: Attributes,
    /// Where the node is put among its siblings, if they are ordered by hand.
    #[schema(nullable = false)]
    pub place: Option<PlaceBody>,
    /// A revision that is appended with the node: both are written, or neither.
    #[schema(nullable = false)]
    pub revision: Option<NewRevision>,
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(nullable = false)]
    pub on_conflict: Option<ConflictBody>,
}

/// A node to create or replace. The parent is required, so that no forgotten field makes a subtree's top a root.
#[derive(Clone, Debug, Default, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceNode {
    /// The parent's id. The parent must exist. Null for a root.
    #[schema(value_type = Option<String>, required = true, min_length = 1, max_length = 1014)]
    pub parent: Option<Id>,
    /// The node's name in a path. Null or absent for the id.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    pub segment: Option<String>,
    /// All of the node's attributes. Attributes that aren't named here are deleted.
    #[schema(value_type = WrittenAttributes, required = false)]
    pub attributes: Attributes,
    /// Where the node is put among its siblings, if they are ordered by hand. Absent: it keeps its place.
    #[schema(nullable = false)]
    pub place: Option<PlaceBody>,
    /// A revision that is appended with the node: both are written, or neither.
    #[schema(nullable = false)]
    pub revision: Option<NewRevision>,
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(nullable = false)]
    pub on_conflict: Option<ConflictBody>,
}

/// A merge patch (RFC 7396) of a node. Fields that aren't named keep their values.
#[derive(Clone, Debug, Default, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchNode {
    /// Moves the node to this parent. Null makes it a root. Absent with a `place` next to a node, it is the parent of
    /// that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    pub parent: Option<Option<Id>>,
    /// Sets the node's name in a path. Null sets it back to the id.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    pub segment: Option<Option<String>>,
    /// The changes of attributes. Null deletes an attribute, an object merges into an existing map, and any other value
    /// replaces the existing one. Null in the place of the object deletes all attributes.
    #[schema(value_type = AttributesPatch, required = false)]
    pub attributes: MergePatch,
    /// True if the attributes are null, which removes all of them.
    #[schema(ignore)]
    pub clears: bool,
    /// Where the node is put among its siblings, if they are ordered by hand. Absent: it keeps its place.
    #[schema(nullable = false)]
    pub place: Option<PlaceBody>,
    /// A revision that is appended with the change: both are written, or neither. The node is written even if nothing
    /// else changes.
    #[schema(nullable = false)]
    pub revision: Option<NewRevision>,
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(nullable = false)]
    pub on_conflict: Option<ConflictBody>,
}

/// How a node is taken out of the trash. All may be left out: it then goes back where it was.
#[derive(Clone, Debug, Default, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreNode {
    /// The parent that the node gets. Null for a root. Absent for the parent that it had, or with a `place` next to a
    /// node, the parent of that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    pub parent: Option<Option<Id>>,
    /// The name that the node gets in a path. Absent: the one that it had.
    #[schema(min_length = 1, max_length = 1014, nullable = false)]
    pub segment: Option<String>,
    /// Where the node is put among its siblings, if they are ordered by hand. Absent: it keeps the place that it had.
    #[schema(nullable = false)]
    pub place: Option<PlaceBody>,
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(nullable = false)]
    pub on_conflict: Option<ConflictBody>,
}

/// How a node is copied, with all that is below it. All may be left out: the copy is then beside the node.
#[derive(Clone, Debug, Default, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CopyNode {
    /// The parent that the copy gets. Null for a root. Absent for that of the node, or with a `place` next to a node,
    /// the parent of that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    pub parent: Option<Option<Id>>,
    /// The copy's name in a path. Absent: that of the node. Beside the node, where siblings have unique names, the copy
    /// needs another one.
    #[schema(min_length = 1, max_length = 1014, nullable = false, examples("Plans (copy)"))]
    pub segment: Option<String>,
    /// Where the copy is put among its siblings, if they are ordered by hand. Absent: it keeps the value of the node.
    #[schema(nullable = false)]
    pub place: Option<PlaceBody>,
    /// The id of the copy, with which the ids of all below it begin: `acme` and `acme-9wPzX…`. Absent: UUIDs.
    #[schema(value_type = String, required = false, min_length = 1, max_length = 991, examples("acme"))]
    pub ids: Option<Id>,
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(nullable = false)]
    pub on_conflict: Option<ConflictBody>,
}

/// What happens if a sibling has the name that a node is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(as = OnConflict)]
#[serde(rename_all = "lowercase")]
pub enum ConflictBody {
    /// The request is refused (409, `name-taken`).
    Fail,
    /// The node gets the first free name with a number behind it: `name (2)`. The answer shows it as `segment`.
    Rename,
}

impl FromJson for ConflictBody {
    const WANTED: &'static str = "`fail` or `rename`";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        word(raw, at, &[("fail", Self::Fail), ("rename", Self::Rename)], Self::WANTED)
    }
}

impl ConflictBody {
    /// The core's word for it. `fail`, where none is given.
    #[must_use]
    pub fn or_fail(given: Option<Self>) -> OnConflict {
        if given == Some(Self::Rename) { OnConflict::Rename } else { OnConflict::Fail }
    }
}

/// Where a node is put among its siblings: `"first"`, `"last"`, `{"before": id}` or `{"after": id}`.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceBody(pub Spot);

impl From<PlaceBody> for Spot {
    fn from(PlaceBody(spot): PlaceBody) -> Self {
        spot
    }
}

impl FromJson for PlaceBody {
    const WANTED: &'static str = "`\"first\"`, `\"last\"`, or an object with one of `before` and `after`";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let wrong = || JsonError::Type { path: at.to_string(), wanted: Self::WANTED };
        if raw.get().starts_with('"') {
            return match json::text(raw, at)?.as_str() {
                "first" => Ok(Self(Spot::First)),
                "last" => Ok(Self(Spot::Last)),
                _ => Err(wrong()),
            };
        }
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let before = fields.optional("before", json::id)?.map(Spot::Before);
        let after = fields.optional("after", json::id)?.map(Spot::After);
        fields.close()?;
        match (before, after) {
            (Some(spot), None) | (None, Some(spot)) => Ok(Self(spot)),
            _ => Err(wrong()),
        }
    }
}

impl PartialSchema for PlaceBody {
    fn schema() -> RefOr<Schema> {
        let description = "Where a node is put among its siblings: at one end, or next to one of them.";
        let parts = [PLACE_END, PLACE_BESIDE].map(Ref::from_schema_name);
        let place = parts.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
        place.description(Some(description)).into()
    }
}

impl ToSchema for PlaceBody {
    fn name() -> Cow<'static, str> {
        "Place".into()
    }

    /// The parts have names, so that generated clients give them these.
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        let end = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["first", "last"]))
            .description(Some("The end of the list where a node is put."));
        let id = |description: &str| {
            let id = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(1_014));
            id.description(Some(description))
        };
        let beside = ObjectBuilder::new()
            .schema_type(Type::Object)
            .property("before", id("The sibling that follows the node afterwards."))
            .property("after", id("The sibling that precedes the node afterwards."))
            .min_properties(Some(1))
            .max_properties(Some(1))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .description(Some("The sibling next to which a node is put: one of both fields."));
        schemas.extend([(PLACE_END.to_owned(), end.into()), (PLACE_BESIDE.to_owned(), beside.into())]);
    }
}

const PLACE_END: &str = "PlaceEnd";
const PLACE_BESIDE: &str = "PlaceBeside";

const PARENT_REMEDY: &str = "give the parent's id, or null for a root";

impl FromJson for CreateNode {
    const WANTED: &'static str = "an object: a node";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let node = Self {
            id: fields.optional("id", json::id)?,
            parent: fields.optional("parent", json::or_null(json::id))?,
            segment: fields.optional("segment", json::or_null(segment))?.flatten(),
            attributes: fields.optional("attributes", json::value)?.unwrap_or_default(),
            place: fields.optional("place", json::value)?,
            revision: fields.optional("revision", json::value)?,
            on_conflict: fields.optional("on_conflict", json::value)?,
        };
        fields.close().map(|()| node)
    }
}

impl ReplaceNode {
    /// Reads the node's fields, and leaves other fields to the caller.
    pub(super) fn take(fields: &mut Fields<'_>) -> Result<Self, JsonError> {
        Ok(Self {
            parent: fields.required("parent", PARENT_REMEDY, json::or_null(json::id))?,
            segment: fields.optional("segment", json::or_null(segment))?.flatten(),
            attributes: fields.optional("attributes", json::value)?.unwrap_or_default(),
            place: fields.optional("place", json::value)?,
            revision: fields.optional("revision", json::value)?,
            on_conflict: fields.optional("on_conflict", json::value)?,
        })
    }
}

impl FromJson for ReplaceNode {
    const WANTED: &'static str = "an object: a node, with its parent";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let node = Self::take(&mut fields)?;
        fields.close().map(|()| node)
    }
}

impl PatchNode {
    /// Reads the patch's fields, and leaves other fields to the caller.
    pub(super) fn take(fields: &mut Fields<'_>) -> Result<Self, JsonError> {
        let (parent, segment) =
            (fields.optional("parent", json::or_null(json::id))?, fields.optional("segment", json::or_null(segment))?);
        let attributes: Option<Option<MergePatch>> = fields.optional("attributes", json::or_null(json::value))?;
        let clears = attributes == Some(None);
        let place = fields.optional("place", json::value)?;
        let revision = fields.optional("revision", json::value)?;
        let on_conflict = fields.optional("on_conflict", json::value)?;
        let attributes = attributes.flatten().unwrap_or_default();
        Ok(Self { parent, segment, attributes, clears, place, revision, on_conflict })
    }
}

impl FromJson for PatchNode {
    const WANTED: &'static str = "an object: a merge patch of a node";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let patch = Self::take(&mut fields)?;
        fields.close().map(|()| patch)
    }
}

impl RestoreNode {
    /// Reads the fields, and leaves other fields to the caller.
    pub(super) fn take(fields: &mut Fields<'_>) -> Result<Self, JsonError> {
        Ok(Self {
            parent: fields.optional("parent", json::or_null(json::id))?,
            segment: fields.optional("segment", segment)?,
            place: fields.optional("place", json::value)?,
            on_conflict: fields.optional("on_conflict", json::value)?,
        })
    }
}

impl FromJson for RestoreNode {
    const WANTED: &'static str = "an object: where the node goes";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let restore = Self::take(&mut fields)?;
        fields.close().map(|()| restore)
    }
}

impl FromJson for CopyNode {
    const WANTED: &'static str = "an object: where the copy goes";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let copy = Self {
            parent: fields.optional("parent", json::or_null(json::id))?,
            segment: fields.optional("segment", segment)?,
            place: fields.optional("place", json::value)?,
            ids: fields.optional("ids", json::id)?,
            on_conflict: fields.optional("on_conflict", json::value)?,
        };
        fields.close().map(|()| copy)
    }
}

/// Reads a segment that a key can hold.
fn segment(raw: &RawValue, at: &Place<'_>) -> Result<String, JsonError> {
    let segment = json::text(raw, at)?;
    match check_segment(&segment) {
        Ok(()) => Ok(segment),
        Err(source) => Err(JsonError::Key { path: at.to_string(), source }),
    }
}
