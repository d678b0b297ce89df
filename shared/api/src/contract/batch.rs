//! Batches: operations that are carried out in order, each on its own.

use sapwood_core::keys::Id;
use sapwood_core::write::Tags;
use sapwood_json::{self as json, Attributes, Fault, Fields, FromJson, JsonError, Place};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::attributes::WrittenAttributes;
use super::deletions::{Children, OperationBody, Revisions};
use super::fields::{all_of, answers, body, defaulted, id_of_node, optional, reads, required};
use super::nodes::{NodeBody, PatchNode, ReplaceNode, RestoreNode};
use super::revisions::{RevisionBody, attributes, tags, topic};
use crate::problem::ProblemBody;

/// The most operations in a batch.
pub const OPERATIONS_MAX: usize = 100;

body! {
/// Operations, carried out in their order. An operation of the right shape whose values can't be kept fails alone. Any
/// other mistake fails the batch before it begins.
Batch: "an object with `operations`" {
    /// 1 to 100 operations.
    #[schema(value_type = Vec<BatchOperation>, min_items = 1, max_items = 100)]
    operations: Vec<Result<BatchOperation, JsonError>> = required("list the operations", operations),
}
}

/// Declares the kinds of operations. Of each come its variant, its reader and its place in the schema.
macro_rules! operations {
    ($($(#[$of:meta])* $variant:ident($type:ty) = $word:literal),* $(,)?) => {
        /// One operation: an object whose only field names the kind of operation.
        #[derive(Clone, Debug, PartialEq)]
        pub enum BatchOperation {
            $($(#[$of])* $variant($type),)*
        }

        impl FromJson for BatchOperation {
            const WANTED: &'static str =
                "an object with one of `put`, `patch`, `delete`, `trash`, `restore` and `revision`";

            fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
                let mut fields = Fields::open(raw, at, Self::WANTED)?;
                let other = || JsonError::Type { path: at.to_string(), wanted: Self::WANTED };
                if fields.left() > 1 {
                    return Err(other());
                }
                $(if let Some(operation) = fields.optional($word, json::value)? {
                    return Ok(Self::$variant(operation));
                })*
                Err(other())
            }
        }

        impl PartialSchema for BatchOperation {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::Object)
                    .description(Some("One operation: an object whose only field names the kind of operation."))
                    $(.property($word, Ref::from_schema_name(<$type>::name())))*
                    .min_properties(Some(1))
                    .max_properties(Some(1))
                    .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
                    .into()
            }
        }

        impl ToSchema for BatchOperation {
            fn schemas(schemas: &mut Vec<Named>) {
                $(
                    schemas.push((<$type>::name().into_owned(), <$type>::schema()));
                    <$type>::schemas(schemas);
                )*
            }
        }
    };
}

operations! {
    /// Creates or replaces a node.
    Put(PutOperation) = "put",
    /// Changes a node.
    Patch(PatchOperation) = "patch",
    /// Deletes a node.
    Delete(DeleteOperation) = "delete",
    /// Puts a node into the trash.
    Trash(TrashOperation) = "trash",
    /// Takes a node out of the trash.
    Restore(RestoreOperation) = "restore",
    /// Appends a revision.
    Revision(RevisionOperation) = "revision",
}

/// Declares an operation whose fields are those of a body, with an id and a precondition.
macro_rules! with_body {
    (
        $(#[$of:meta])*
        $operation:ident: $wanted:literal { $id:ty = $read_id:expr, $(#[$of_body:meta])* $field:ident: $body:ident }
        $description:literal
    ) => {
        $(#[$of])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $operation {
            /// The node's id.
            pub id: $id,
            $(#[$of_body])*
            pub $field: $body,
            /// What the node's entity tag must be, as `If-Match` says it.
            pub if_match: Option<Tags>,
        }

        reads!($operation: $wanted { id = $read_id, $field = all_of($body::take), if_match = optional(tags) });

        impl PartialSchema for $operation {
            fn schema() -> RefOr<Schema> {
                let is_required = std::any::TypeId::of::<$id>() == std::any::TypeId::of::<Id>();
                with_id($body::schema(), $description, is_required)
            }
        }

        impl ToSchema for $operation {
            fn schemas(schemas: &mut Vec<Named>) {
                $body::schemas(schemas);
            }
        }
    };
}

with_body! {
    /// A node to create or replace, as `PUT /nodes/{id}` does. Without an id it is created, as `POST /nodes` does, and
    /// gets a UUID.
    PutOperation: "an object: a node, with its parent" {
        Option<Id> = optional(json::id),
        /// The content of the node.
        node: ReplaceNode
    }
    "A node to create or replace, as `PUT /nodes/{id}` does. Without an id it is created."
}

with_body! {
    /// A merge patch of a node, as `PATCH /nodes/{id}` does.
    PatchOperation: "an object: the node's id, and a merge patch of it" {
        Id = id_of_node,
        /// The changes.
        patch: PatchNode
    }
    "A merge patch of a node, as `PATCH /nodes/{id}` does."
}

with_body! {
    /// A node to take out of the trash, as `POST /nodes/{id}/restore` does.
    RestoreOperation: "an object with the node's id" {
        Id = id_of_node,
        /// Where it goes.
        restore: RestoreNode
    }
    "A node to take out of the trash, as `POST /nodes/{id}/restore` does."
}

body! {
/// A node to delete, as `DELETE /nodes/{id}` does.
DeleteOperation: "an object with the node's id" {
    /// The node's id.
    #[schema(value_type = String, min_length = 1, max_length = 1014)]
    id: Id = id_of_node,
    /// What happens to the node's children. Absent: `restrict`.
    #[schema(required = false)]
    children: Children = defaulted,
    /// What happens to the node's revisions. Absent: `keep`.
    #[schema(required = false)]
    revisions: Revisions = defaulted,
    /// What the node's entity tag must be, as `If-Match` says it: a tag in quotes, several with commas between them, or
    /// `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    if_match: Option<Tags> = optional(tags),
}
}

body! {
/// A node to put into the trash, as `POST /nodes/{id}/trash` does.
TrashOperation: "an object with the node's id" {
    /// The node's id.
    #[schema(value_type = String, min_length = 1, max_length = 1014)]
    id: Id = id_of_node,
    /// What the node's entity tag must be, as `If-Match` says it: a tag in quotes, several with commas between them, or
    /// `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    if_match: Option<Tags> = optional(tags),
}
}

body! {
/// A revision to append, as `POST /nodes/{id}/revisions/{topic}` does.
RevisionOperation: "an object: the id, the topic and the attributes" {
    /// The id that the revision belongs to.
    #[schema(value_type = String, min_length = 1, max_length = 1014)]
    id: Id = id_of_node,
    /// The revision's topic.
    #[schema(min_length = 1, max_length = 1015)]
    topic: String = required("give the topic", topic),
    /// The revision's attributes.
    #[schema(value_type = WrittenAttributes)]
    attributes: Attributes = attributes,
    /// What the entity tag of the topic's newest revision must be, as `If-Match` says it: a tag in quotes, several with
    /// commas between them, or `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    if_match: Option<Tags> = optional(tags),
}
}

/// The results of a batch's operations, in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BatchResults {
    /// One result for each operation.
    #[schema(min_items = 1, max_items = 100)]
    pub results: Vec<BatchResult>,
}

answers! {
/// The result of one operation: what a request of its own would be answered with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
BatchResult {
    /// The status code.
    #[schema(minimum = 200, maximum = 599)]
    status: u16,
    /// The node or revision that was written, or the deletion that has begun. What was written is left out where all
    /// results have more than 2.5 MB, and with `Prefer: return=minimal`.
    body?: BatchBody,
    /// Why the operation failed.
    problem?: ProblemBody,
    /// Where to find what was created, or how far a move is.
    #[schema(format = "uri-reference")]
    location?: String,
    /// The entity tag of the node or revision that was written.
    etag?: String,
    /// A token of what the stream derives from the write. A read with it (`written`) has rows that show the write.
    written?: String,
}
}

/// The body of an operation's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BatchBody {
    /// The revision that was appended.
    Revision(RevisionBody),
    /// The deletion that the stream carries out.
    Operation(OperationBody),
    /// The node that was written.
    Node(NodeBody),
}

fn operations(raw: &RawValue, at: &Place<'_>) -> Result<Vec<Result<BatchOperation, JsonError>>, JsonError> {
    let list = json::list(raw, at, "a list of operations")?;
    let count = list.len();
    if !(1..=OPERATIONS_MAX).contains(&count) {
        return Err(JsonError::Count { path: at.to_string(), count, limit: OPERATIONS_MAX });
    }
    let mut operations = Vec::with_capacity(count);
    for (position, raw) in list.into_iter().enumerate() {
        match BatchOperation::from_json(raw, &Place::Element(at, position)) {
            Err(error) if error.fault() == Fault::Malformed => return Err(error),
            read => operations.push(read),
        }
    }
    Ok(operations)
}

type Named = (String, RefOr<Schema>);

/// Returns a schema with an id among its properties.
fn with_id(body: RefOr<Schema>, description: &str, is_required: bool) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = body else { return body };
    let id = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(1_014)).description(
        Some(if is_required { "The node's id." } else { "The node's id. Without one the node gets a UUID." }),
    );
    object.properties.insert("id".to_owned(), id.into());
    let if_match = ObjectBuilder::new().schema_type(Type::String).description(Some(
        "What the node's entity tag must be, as `If-Match` says it: a tag in quotes, several with commas between them, or `*`.",
    ));
    object.properties.insert("if_match".to_owned(), if_match.into());
    object.required.extend(is_required.then(|| "id".to_owned()));
    object.description = Some(description.to_owned());
    Schema::Object(object).into()
}

impl PartialSchema for BatchBody {
    /// One object with the fields of all three. Of `anyOf` generated clients make a type that demands all fields.
    fn schema() -> RefOr<Schema> {
        let mut all = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("The node or revision that was written, or the deletion that has begun."))
            .required("id");
        let text = |description: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(description));
        for part in [OperationBody::schema(), RevisionBody::schema(), NodeBody::schema()] {
            let RefOr::T(Schema::Object(part)) = part else { continue };
            // A result has its tag beside its body, and no lists.
            let of_writes = part
                .properties
                .into_iter()
                .filter(|(name, _)| !["etag", "ancestors", "latest"].contains(&name.as_str()));
            for (name, property) in of_writes {
                all = all.property(name, property);
            }
        }
        all.property("id", text("The id of the node, the id that the revision belongs to, or the operation's id."))
            .property("created_at", text("When the API created the node or the revision, or began the deletion."))
            .property("created_by", text("Who had the API create it, as the authorizer names the caller."))
            .property("updated_at", text("When the API last wrote it."))
            .property("updated_by", text("Who had the API write it last."))
            .into()
    }
}

impl ToSchema for BatchBody {
    fn schemas(schemas: &mut Vec<Named>) {
        NodeBody::schemas(schemas);
        RevisionBody::schemas(schemas);
        OperationBody::schemas(schemas);
    }
}
