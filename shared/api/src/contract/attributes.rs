//! Attributes: their schemas, which utoipa can't derive, and what an item has in one.

use std::borrow::Cow;

use sapwood_core::model::{Item, text_of};
use utoipa::openapi::schema::{AdditionalProperties, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The attributes of an answer.
pub(super) struct ReadAttributes;

/// The attributes of a request's body.
pub(super) struct WrittenAttributes;

/// The changes of attributes in a request's body.
pub(super) struct AttributesPatch;

/// The text that an item has in an attribute.
pub(super) fn text(item: &Item, name: &str) -> Option<String> {
    text_of(item, name).map(str::to_owned)
}

const FORMS: &str = "Any JSON. Numbers have up to 38 significant digits, so read them as decimals if every digit counts. A set is `{\"$set\": [...]}` (of strings, of numbers or of binary), binary is `{\"$binary\": \"<base64>\"}`, a number may be `{\"$number\": \"<digits>\"}` (an answer has it so with `Prefer: numbers=strings`), and a map whose only key begins with `$` is written within `{\"$map\": {...}}`.";

const NAMES: &str = "Names that begin with `_` are reserved, and so are the names of the table's keys (`PK` and `SK` by default) and, on a node, those of its parent and segment (`parent` and `segment` by default). Lists and maps can be nested up to 31 levels deep. An item has at most 400 KB.";

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

impl PartialSchema for ReadAttributes {
    fn schema() -> RefOr<Schema> {
        attributes(FORMS.to_owned()).into()
    }
}

impl ToSchema for ReadAttributes {
    fn name() -> Cow<'static, str> {
        "Attributes".into()
    }
}

impl PartialSchema for WrittenAttributes {
    fn schema() -> RefOr<Schema> {
        with_names(attributes(format!("{FORMS} {NAMES}")))
    }
}

impl ToSchema for WrittenAttributes {}

impl PartialSchema for AttributesPatch {
    fn schema() -> RefOr<Schema> {
        let rules = "As RFC 7396 defines it: null deletes an attribute, an object merges into an existing map, and any other value replaces the existing one. Within a list, null is a value.";
        let or_null = SchemaType::from_iter([Type::Object, Type::Null]);
        with_names(attributes(format!("{rules} {FORMS} {NAMES}")).schema_type(or_null))
    }
}

impl ToSchema for AttributesPatch {}
