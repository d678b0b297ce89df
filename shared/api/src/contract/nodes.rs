//! Nodes.

use sapwood_core::keys::{Id, TrashTime};
use sapwood_core::model::{CREATED_AT, CREATED_BY, DeletionMark, Item, Settings, Trashed, UPDATED_AT, UPDATED_BY};
use sapwood_core::write::OnConflict;
use sapwood_json::{self as json, Attributes, MergePatch};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::attributes::{AttributesPatch, ReadAttributes, WrittenAttributes, text};
use super::fields::{answers, body, defaulted, nullable, optional, required, segment, words};
use super::position::PositionBody;
use super::reads::{AncestorBody, LatestBody, PageBody};
use super::revisions::{AppendedBody, NewRevision};

// utoipa's derive takes a generic type apart where its name is written out.
type AncestorPage = PageBody<AncestorBody>;
type LatestPage = PageBody<LatestBody>;

/// The most ids that `GET /nodes` takes.
pub const IDS_MAX: usize = 100;

answers! {
/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
NodeBody {
    /// The node's id.
    #[schema(min_length = 1, max_length = 1014, examples("ORDER#98765"))]
    id: String,
    /// The parent's id. A root has none.
    #[schema(min_length = 1, max_length = 1014, examples("CUSTOMER#7"))]
    parent?: String,
    /// The node's name in a path, if that isn't the id.
    #[schema(min_length = 1, max_length = 1014)]
    segment?: String,
    /// The user's own attributes.
    #[schema(value_type = ReadAttributes)]
    attributes: Attributes,
    /// When the API created the node; absent if another client did.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    created_at?: String,
    /// Who had the API create the node, as the authorizer names the caller.
    #[schema(examples("arn:aws:iam::111122223333:user/anna"))]
    created_by?: String,
    /// When the API last wrote the node.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    updated_at?: String,
    /// Who had the API write the node last.
    #[schema(examples("arn:aws:iam::111122223333:user/anna"))]
    updated_by?: String,
    /// How the node was put into the trash. Absent unless it was. What is below it is in the trash as well.
    trashed?: Box<TrashedBody>,
    /// The operation that deletes the node. Absent unless the node is being deleted.
    #[schema(examples("019c2171-b1d5-7a4f-a90b-0f6d6f1f5d52"))]
    deleting?: String,
    /// The node's entity tag, where the answer has more than this node.
    #[schema(examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    etag?: String,
    /// The first page of the node's ancestors, with `expand=ancestors`.
    ancestors?: AncestorPage,
    /// The first page of the newest revisions of the node's topics, with `expand=latest`.
    latest?: LatestPage,
    /// The revision that was appended with the node, in the answer to the request that did both.
    revision?: Box<AppendedBody>,
}

/// How a node was put into the trash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
TrashedBody {
    /// When the node was put into the trash. Absent if another client has written this time in a form of its own.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    at?: String,
    /// Who put it there: the caller's name as the authorizer gives it.
    #[schema(examples("arn:aws:iam::111122223333:user/anna"))]
    by?: String,
    /// The parent that the node had, and goes back to. A root had none.
    #[schema(min_length = 1, max_length = 1014)]
    parent?: String,
}
}

impl From<Trashed> for TrashedBody {
    fn from(trashed: Trashed) -> Self {
        let Trashed { at, by, parent, .. } = trashed;
        let at = Some(at).filter(|at| *at != TrashTime::unknown()).map(|at| at.as_str().to_owned());
        Self { at, by, parent: parent.map(|parent| parent.to_string()) }
    }
}

answers! {
/// Several nodes that were asked for by their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
NodesBody {
    /// The nodes that were found, in the order of the ids.
    items: Vec<NodeBody>,
    /// The ids of this page without a node, or with a record that can't be read.
    missing: Vec<String>,
    /// The position of the next page: pass it as `cursor`. Absent on the last page.
    cursor?: String,
}
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

body! {
/// A node to create.
#[derive(Default)]
CreateNode: "an object: a node" {
    /// The node's id. Without one the node gets a UUID.
    #[schema(value_type = String, required = false, min_length = 1, max_length = 1014, examples("CUSTOMER#7"))]
    id: Option<Id> = optional(json::id),
    /// The parent's id. The parent must exist. Null or absent for a root; absent with a `position` next to a node, the
    /// parent of that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    parent: Option<Option<Id>> = optional(json::or_null(json::id)),
    /// The node's name in a path. Null or absent for the id.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    segment: Option<String> = nullable(segment),
    /// The node's attributes.
    #[schema(value_type = WrittenAttributes, required = false)]
    attributes: Attributes = defaulted,
    /// Where the node is put among its siblings, if they are ordered by hand.
    #[schema(nullable = false)]
    position: Option<PositionBody> = optional(json::value),
    /// A revision that is appended with the node: both are written, or neither.
    #[schema(nullable = false)]
    revision: Option<NewRevision> = optional(json::value),
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(required = false)]
    on_conflict: ConflictBody = defaulted,
}
}

body! {
/// A node to create or replace. The parent is required, so that no forgotten field makes a subtree's top a root.
#[derive(Default)]
ReplaceNode: "an object: a node, with its parent" {
    /// The parent's id. The parent must exist. Null for a root.
    #[schema(value_type = Option<String>, required = true, min_length = 1, max_length = 1014)]
    parent: Option<Id> = required("give the parent's id, or null for a root", json::or_null(json::id)),
    /// The node's name in a path. Null or absent for the id.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    segment: Option<String> = nullable(segment),
    /// All of the node's attributes. Attributes that aren't named here are deleted.
    #[schema(value_type = WrittenAttributes, required = false)]
    attributes: Attributes = defaulted,
    /// Where the node is put among its siblings, if they are ordered by hand. Absent: it keeps its position.
    #[schema(nullable = false)]
    position: Option<PositionBody> = optional(json::value),
    /// A revision that is appended with the node: both are written, or neither.
    #[schema(nullable = false)]
    revision: Option<NewRevision> = optional(json::value),
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(required = false)]
    on_conflict: ConflictBody = defaulted,
}
}

body! {
/// A merge patch (RFC 7396) of a node. Fields that aren't named keep their values.
#[derive(Default)]
PatchNode: "an object: a merge patch of a node" {
    /// Moves the node to this parent. Null makes it a root. Absent with a `position` next to a node, it is the parent
    /// of that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    parent: Option<Option<Id>> = optional(json::or_null(json::id)),
    /// Sets the node's name in a path. Null sets it back to the id.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    segment: Option<Option<String>> = optional(json::or_null(segment)),
    /// The changes of attributes. Null deletes an attribute, an object merges into an existing map, and any other value
    /// replaces the existing one. Null in the place of the object deletes all attributes.
    #[schema(value_type = AttributesPatch, required = false)]
    attributes: Option<Option<MergePatch>> = optional(json::or_null(json::value)),
    /// Where the node is put among its siblings, if they are ordered by hand. Absent: it keeps its position.
    #[schema(nullable = false)]
    position: Option<PositionBody> = optional(json::value),
    /// A revision that is appended with the change: both are written, or neither. The node is written even if nothing
    /// else changes.
    #[schema(nullable = false)]
    revision: Option<NewRevision> = optional(json::value),
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(required = false)]
    on_conflict: ConflictBody = defaulted,
}
}

body! {
/// How a node is taken out of the trash. All may be left out: it then goes back where it was.
#[derive(Default)]
RestoreNode: "an object: where the node goes" {
    /// The parent that the node gets. Null for a root. Absent for the parent that it had, or with a `position` next to
    /// a node, the parent of that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    parent: Option<Option<Id>> = optional(json::or_null(json::id)),
    /// The name that the node gets in a path. Absent: the one that it had.
    #[schema(min_length = 1, max_length = 1014, nullable = false)]
    segment: Option<String> = optional(segment),
    /// Where the node is put among its siblings, if they are ordered by hand. Absent: it keeps its position.
    #[schema(nullable = false)]
    position: Option<PositionBody> = optional(json::value),
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(required = false)]
    on_conflict: ConflictBody = defaulted,
}
}

body! {
/// How a node is copied, with all that is below it. All may be left out: the copy is then beside the node.
#[derive(Default)]
CopyNode: "an object: where the copy goes" {
    /// The parent that the copy gets. Null for a root. Absent for that of the node, or with a `position` next to a
    /// node, the parent of that node.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1014)]
    parent: Option<Option<Id>> = optional(json::or_null(json::id)),
    /// The copy's name in a path. Absent: that of the node. Beside the node, where siblings have unique names, the copy
    /// needs another one.
    #[schema(min_length = 1, max_length = 1014, nullable = false, examples("Plans (copy)"))]
    segment: Option<String> = optional(segment),
    /// Where the copy is put among its siblings, if they are ordered by hand. Absent: it keeps the value of the node.
    #[schema(nullable = false)]
    position: Option<PositionBody> = optional(json::value),
    /// The id of the copy, with which the ids of all below it begin: `acme` and `acme-9wPzX…`. Absent: UUIDs.
    #[schema(value_type = String, required = false, min_length = 1, max_length = 991, examples("acme"))]
    ids: Option<Id> = optional(json::id),
    /// What happens if a sibling has the node's name, where siblings have unique names. Absent: `fail`.
    #[schema(required = false)]
    on_conflict: ConflictBody = defaulted,
}
}

/// What happens if a sibling has the name that a node is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ToSchema)]
#[schema(as = OnConflict)]
#[serde(rename_all = "lowercase")]
pub enum ConflictBody {
    /// The request is refused (409, `name-taken`).
    #[default]
    Fail,
    /// The node gets the first free name with a number behind it: `name (2)`. The answer shows it as `segment`.
    Rename,
}

words!(ConflictBody: "`fail` or `rename`" { "fail" = Fail, "rename" = Rename });

impl From<ConflictBody> for OnConflict {
    fn from(body: ConflictBody) -> Self {
        match body {
            ConflictBody::Fail => Self::Fail,
            ConflictBody::Rename => Self::Rename,
        }
    }
}
