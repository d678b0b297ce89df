//! Schemas of what utoipa can't derive: free-form attributes, and objects made of others.

use std::borrow::Cow;

use utoipa::openapi::schema::{AdditionalProperties, AnyOfBuilder, Object, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::batch::{BatchBody, BatchOperation, PatchOperation, PutOperation};
use super::{DeleteOperation, NodeBody, OperationBody, PatchNode, ReplaceNode, RevisionBody, RevisionOperation};
use crate::json::{Attributes, MergePatch};

type Named = (String, RefOr<Schema>);

/// What becomes of children where the stream removes a node: never `restrict`.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "its schema alone is used")]
pub(super) enum RemovalMode {
    Delete,
    Adopt,
    Detach,
}

/// Attributes as they are sent.
pub(super) struct WrittenAttributes;

const FORMS: &str = "Any JSON. Numbers have up to 38 significant digits, so read them as decimals where that counts. A set is `{\"$set\": [...]}` (of strings, of numbers or of binary), binary is `{\"$binary\": \"<base64>\"}`, and a map whose only key begins with `$` stands in `{\"$map\": {...}}`.";

const NAMES: &str = "A name that begins with `_` is refused, and so are the names of the table's keys (`PK` and `SK` by default) and, on a node, of its parent and segment (`parent` and `segment` by default). Lists and maps are nested up to 31 levels; all together has at most 400 KB.";

fn attributes(description: String) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
        .examples([serde_json::json!({"name": "Wheel", "price": 12.5, "tags": {"$set": ["new", "red"]}})])
}

fn with_names(object: ObjectBuilder) -> RefOr<Schema> {
    let name = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).pattern(Some("^[^_]"));
    object.property_names(Some(Schema::from(name))).into()
}

impl PartialSchema for Attributes {
    fn schema() -> RefOr<Schema> {
        attributes(FORMS.to_owned()).into()
    }
}

impl ToSchema for Attributes {}

impl PartialSchema for WrittenAttributes {
    fn schema() -> RefOr<Schema> {
        with_names(attributes(format!("{FORMS} {NAMES}")))
    }
}

impl ToSchema for WrittenAttributes {}

impl PartialSchema for MergePatch {
    fn schema() -> RefOr<Schema> {
        let rules = "As RFC 7396 has it: null removes, an object merges into the map that is there, anything else takes the place of what is there. Within a list null is null.";
        with_names(attributes(format!("{rules} {FORMS} {NAMES}")))
    }
}

impl ToSchema for MergePatch {
    fn name() -> Cow<'static, str> {
        "AttributesPatch".into()
    }
}

/// A schema with an id among its properties.
fn with_id(body: RefOr<Schema>, description: &str, is_required: bool) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = body else { return body };
    let id = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(1_014))
        .description(Some(if is_required { "The node's id." } else { "Its id. Without one it gets a UUID." }));
    object.properties.insert("id".to_owned(), id.into());
    object.required.extend(is_required.then(|| "id".to_owned()));
    object.description = Some(description.to_owned());
    Schema::Object(object).into()
}

impl PartialSchema for PutOperation {
    fn schema() -> RefOr<Schema> {
        let description = "A node to create or replace, as `PUT /nodes/{id}` does; without an id it is created.";
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
            .description(Some("One operation: an object with one field, which says what is done."))
            .property("put", reference::<PutOperation>())
            .property("patch", reference::<PatchOperation>())
            .property("delete", reference::<DeleteOperation>())
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
        add::<RevisionOperation>(schemas);
    }
}

impl PartialSchema for BatchBody {
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new()
            .description(Some("The node or revision that was written, or the removal that was begun."))
            .item(reference::<NodeBody>())
            .item(reference::<RevisionBody>())
            .item(reference::<OperationBody>())
            .into()
    }
}

impl ToSchema for BatchBody {
    fn schemas(schemas: &mut Vec<Named>) {
        add::<NodeBody>(schemas);
        add::<RevisionBody>(schemas);
        add::<OperationBody>(schemas);
    }
}

/// Any JSON object.
pub(super) fn any_object() -> Object {
    ObjectBuilder::new().schema_type(Type::Object).build()
}
