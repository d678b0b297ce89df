//! Where a node is put among its siblings.

use std::borrow::Cow;

use sapwood_core::write::Spot;
use sapwood_json::{self as json, Fields, FromJson, JsonError, Place};
use serde_json::value::RawValue;
use utoipa::openapi::schema::{AdditionalProperties, OneOfBuilder, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Where a node is put among its siblings: `"first"`, `"last"`, `{"before": id}` or `{"after": id}`.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionBody(pub Spot);

impl From<PositionBody> for Spot {
    fn from(PositionBody(spot): PositionBody) -> Self {
        spot
    }
}

impl FromJson for PositionBody {
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

impl PartialSchema for PositionBody {
    fn schema() -> RefOr<Schema> {
        let description = "Where a node is put among its siblings: at one end, or next to one of them.";
        let parts = [POSITION_END, POSITION_BESIDE].map(Ref::from_schema_name);
        let position = parts.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
        position.description(Some(description)).into()
    }
}

impl ToSchema for PositionBody {
    fn name() -> Cow<'static, str> {
        "Position".into()
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
        schemas.extend([(POSITION_END.to_owned(), end.into()), (POSITION_BESIDE.to_owned(), beside.into())]);
    }
}

const POSITION_END: &str = "PositionEnd";
const POSITION_BESIDE: &str = "PositionBeside";
