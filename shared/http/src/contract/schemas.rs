//! Schemas of what has no type of its own, or another one on the way in than on the way out.

use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::json::{Attributes, MergePatch};

/// What becomes of children, where the stream removes a node: never `restrict`.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) enum RemovalMode {
    Delete,
    Adopt,
    Detach,
}

/// Attributes as they are sent: some names are refused.
pub(super) struct WrittenAttributes;

impl PartialSchema for Attributes {
    fn schema() -> RefOr<Schema> {
        free_form("Any JSON. Numbers have up to 38 digits, so read them as decimals where that counts. A set is `{\"$set\": [...]}`, binary `{\"$binary\": \"<base64>\"}`, and a map whose only key begins with `$` is `{\"$map\": {...}}`.").build().into()
    }
}

impl ToSchema for Attributes {
    fn name() -> std::borrow::Cow<'static, str> {
        "Attributes".into()
    }
}

impl PartialSchema for WrittenAttributes {
    fn schema() -> RefOr<Schema> {
        free_form("").build().into()
    }
}

impl ToSchema for WrittenAttributes {
    fn name() -> std::borrow::Cow<'static, str> {
        "WrittenAttributes".into()
    }
}

impl PartialSchema for MergePatch {
    fn schema() -> RefOr<Schema> {
        free_form("").build().into()
    }
}

impl ToSchema for MergePatch {}

fn free_form(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
}
