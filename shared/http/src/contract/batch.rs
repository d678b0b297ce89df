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
use super::revisions::{attributes, tags, topic};
use super::{
    Children, NodeBody, OperationBody, PatchNode, ProblemBody, ReplaceNode, RestoreNode, RevisionBody, Revisions,
};

/// The most operations in a batch.
pub const OPERATIONS_MAX: usize = 100;

/// Operations, carried out in their order. An operation of the right shape whose values can't be kept fails alone. Any
/// other mistake fails the batch before it begins.
#[derive(Clone, Debug, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// 1 to 100 operations.
    #[schema(value_type = Vec<BatchOperation>, min_items = 1, max_items = 100)]
    pub operations: Vec<Result<BatchOperation, JsonError>>,
}

/// One operation: an object whose only field names the kind of operation.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchOperation {
    /// Creates or replaces a node.
    Put(PutOperation),
    /// Changes a node.
    Patch(PatchOperation),
    /// Deletes a node.
    Delete(DeleteOperation),
    /// Puts a node into the trash.
    Trash(TrashOperation),
    /// Takes a node out of the trash.
    Restore(RestoreOperation),
    /// Appends a revision.
    Revision(RevisionOperation),
}

/// A node to create or replace, as `PUT /nodes/{id}` does. Without an id it is created, as `POST /nodes` does.
#[derive(Clone, Debug, PartialEq)]
pub struct PutOperation {
    /// The node's id. Without one the node gets a UUID.
    pub id: Option<Id>,
    /// The content of the node.
    pub node: ReplaceNode,
    /// What the node's entity tag must be, as `If-Match` says it.
    pub if_match: Option<Tags>,
}

/// A merge patch of a node, as `PATCH /nodes/{id}` does.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchOperation {
    /// The node's id.
    pub id: Id,
    /// The changes.
    pub patch: PatchNode,
    /// What the node's entity tag must be, as `If-Match` says it.
    pub if_match: Option<Tags>,
}

/// A node to delete, as `DELETE /nodes/{id}` does.
#[derive(Clone, Debug, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteOperation {
    /// The node's id.
    #[schema(value_type = String, min_length = 1, max_length = 1014)]
    pub id: Id,
    /// What happens to the node's children. Absent: `restrict`.
    #[schema(required = false)]
    pub children: Children,
    /// What happens to the node's revisions. Absent: `keep`.
    #[schema(required = false)]
    pub revisions: Revisions,
    /// What the node's entity tag must be, as `If-Match` says it: a tag in quotes, several with commas between them, or
    /// `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    pub if_match: Option<Tags>,
}

/// A node to put into the trash, as `POST /nodes/{id}/trash` does.
#[derive(Clone, Debug, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrashOperation {
    /// The node's id.
    #[schema(value_type = String, min_length = 1, max_length = 1014)]
    pub id: Id,
    /// What the node's entity tag must be, as `If-Match` says it: a tag in quotes, several with commas between them, or
    /// `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    pub if_match: Option<Tags>,
}

/// A node to take out of the trash, as `POST /nodes/{id}/restore` does.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreOperation {
    /// The node's id.
    pub id: Id,
    /// Where it goes.
    pub restore: RestoreNode,
    /// What the node's entity tag must be, as `If-Match` says it.
    pub if_match: Option<Tags>,
}

/// A revision to append, as `POST /nodes/{id}/revisions/{topic}` does.
#[derive(Clone, Debug, PartialEq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevisionOperation {
    /// The id that the revision belongs to.
    #[schema(value_type = String, min_length = 1, max_length = 1014)]
    pub id: Id,
    /// The revision's topic.
    #[schema(min_length = 1, max_length = 1015)]
    pub topic: String,
    /// The revision's attributes.
    #[schema(value_type = WrittenAttributes)]
    pub attributes: Attributes,
    /// What the entity tag of the topic's newest revision must be, as `If-Match` says it: a tag in quotes, several with
    /// commas between them, or `*`.
    #[schema(value_type = String, required = false, examples("\"n0bY6ZyJHlVYBv8TQ2r6Yw\""))]
    pub if_match: Option<Tags>,
}

/// The results of a batch's operations, in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BatchResults {
    /// One result for each operation.
    #[schema(min_items = 1, max_items = 100)]
    pub results: Vec<BatchResult>,
}

/// The result of one operation: what a request of its own would be answered with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct BatchResult {
    /// The status code.
    #[schema(minimum = 200, maximum = 599)]
    pub status: u16,
    /// The node or revision that was written, or the deletion that has begun. What was written is left out where all
    /// results have more than 2.5 MB, and with `Prefer: return=minimal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub body: Option<BatchBody>,
    /// Why the operation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub problem: Option<ProblemBody>,
    /// Where to find what was created, or how far a move is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri-reference")]
    pub location: Option<String>,
    /// The entity tag of the node or revision that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub etag: Option<String>,
    /// A token of what the stream derives from the write. A read with it (`written`) has rows that show the write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub written: Option<String>,
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

impl FromJson for Batch {
    const WANTED: &'static str = "an object with `operations`";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let operations = fields.required("operations", "list the operations", operations)?;
        fields.close().map(|()| Self { operations })
    }
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

impl FromJson for BatchOperation {
    const WANTED: &'static str = "an object with one of `put`, `patch`, `delete`, `trash`, `restore` and `revision`";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        if fields.left() > 1 {
            return Err(JsonError::Type { path: at.to_string(), wanted: Self::WANTED });
        }
        let mut found = fields.optional("put", json::value)?.map(Self::Put);
        if found.is_none() {
            found = fields.optional("patch", json::value)?.map(Self::Patch);
        }
        if found.is_none() {
            found = fields.optional("delete", json::value)?.map(Self::Delete);
        }
        if found.is_none() {
            found = fields.optional("trash", json::value)?.map(Self::Trash);
        }
        if found.is_none() {
            found = fields.optional("restore", json::value)?.map(Self::Restore);
        }
        if found.is_none() {
            found = fields.optional("revision", json::value)?.map(Self::Revision);
        }
        found.ok_or_else(|| JsonError::Type { path: at.to_string(), wanted: Self::WANTED })
    }
}

const ID_REMEDY: &str = "give the node's id";

impl FromJson for PutOperation {
    const WANTED: &'static str = "an object: a node, with its parent";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let put = Self {
            id: fields.optional("id", json::id)?,
            node: ReplaceNode::take(&mut fields)?,
            if_match: fields.optional("if_match", tags)?,
        };
        fields.close().map(|()| put)
    }
}

impl FromJson for PatchOperation {
    const WANTED: &'static str = "an object: the node's id, and a merge patch of it";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let patch = Self {
            id: fields.required("id", ID_REMEDY, json::id)?,
            patch: PatchNode::take(&mut fields)?,
            if_match: fields.optional("if_match", tags)?,
        };
        fields.close().map(|()| patch)
    }
}

impl FromJson for DeleteOperation {
    const WANTED: &'static str = "an object with the node's id";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let delete = Self {
            id: fields.required("id", ID_REMEDY, json::id)?,
            children: fields.optional("children", json::value)?.unwrap_or_default(),
            revisions: fields.optional("revisions", json::value)?.unwrap_or_default(),
            if_match: fields.optional("if_match", tags)?,
        };
        fields.close().map(|()| delete)
    }
}

impl FromJson for TrashOperation {
    const WANTED: &'static str = "an object with the node's id";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let trash =
            Self { id: fields.required("id", ID_REMEDY, json::id)?, if_match: fields.optional("if_match", tags)? };
        fields.close().map(|()| trash)
    }
}

impl FromJson for RestoreOperation {
    const WANTED: &'static str = "an object with the node's id";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let restore = Self {
            id: fields.required("id", ID_REMEDY, json::id)?,
            restore: RestoreNode::take(&mut fields)?,
            if_match: fields.optional("if_match", tags)?,
        };
        fields.close().map(|()| restore)
    }
}

impl FromJson for RevisionOperation {
    const WANTED: &'static str = "an object: the id, the topic and the attributes";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        let mut fields = Fields::open(raw, at, Self::WANTED)?;
        let revision = Self {
            id: fields.required("id", ID_REMEDY, json::id)?,
            topic: fields.required("topic", "give the topic", topic)?,
            attributes: attributes(&mut fields)?,
            if_match: fields.optional("if_match", tags)?,
        };
        fields.close().map(|()| revision)
    }
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

impl PartialSchema for PutOperation {
    fn schema() -> RefOr<Schema> {
        let description = "A node to create or replace, as `PUT /nodes/{id}` does. Without an id it is created.";
        with_id(ReplaceNode::schema(), description, false)
    }
}

impl ToSchema for PutOperation {
    fn schemas(schemas: &mut Vec<Named>) {
        ReplaceNode::schemas(schemas);
    }
}

impl PartialSchema for PatchOperation {
    fn schema() -> RefOr<Schema> {
        with_id(PatchNode::schema(), "A merge patch of a node, as `PATCH /nodes/{id}` does.", true)
    }
}

impl ToSchema for PatchOperation {
    fn schemas(schemas: &mut Vec<Named>) {
        PatchNode::schemas(schemas);
    }
}

impl PartialSchema for RestoreOperation {
    fn schema() -> RefOr<Schema> {
        let description = "A node to take out of the trash, as `POST /nodes/{id}/restore` does.";
        with_id(RestoreNode::schema(), description, true)
    }
}

impl ToSchema for RestoreOperation {
    fn schemas(schemas: &mut Vec<Named>) {
        RestoreNode::schemas(schemas);
    }
}

fn add<T: ToSchema>(schemas: &mut Vec<Named>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}

impl PartialSchema for BatchOperation {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("One operation: an object whose only field names the kind of operation."))
            .property("put", reference::<PutOperation>())
            .property("patch", reference::<PatchOperation>())
            .property("delete", reference::<DeleteOperation>())
            .property("trash", reference::<TrashOperation>())
            .property("restore", reference::<RestoreOperation>())
            .property("revision", reference::<RevisionOperation>())
            .min_properties(Some(1))
            .max_properties(Some(1))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .into()
    }
}

impl ToSchema for BatchOperation {
    fn schemas(schemas: &mut Vec<Named>) {
        add::<PutOperation>(schemas);
        add::<PatchOperation>(schemas);
        add::<DeleteOperation>(schemas);
        add::<TrashOperation>(schemas);
        add::<RestoreOperation>(schemas);
        add::<RevisionOperation>(schemas);
    }
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
