//! The OpenAPI document: every call is declared here, beside the types that it takes and answers.
#![allow(dead_code, reason = "the declarations are for utoipa; the handlers are in the functions")]

mod nodes;
mod params;
mod problems;
mod reads;
mod revisions;
mod service;

use serde_json::Value;
use utoipa::openapi::schema::ArrayItems;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{Modify, OpenApi, PartialSchema};

use super::ProblemBody;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sapwood",
        description = "Hierarchies and version history in one DynamoDB table.\n\nErrors are problems (RFC 9457) of the media type `application/problem+json`. A method that a path doesn't take answers 405 with `Allow`, and a path that isn't here 404. Parameters that aren't listed are refused (400), so that a misspelt one never changes an answer without a word.\n\nLists are pages: `cursor` of one is the parameter `cursor` of the next, and is absent on the last. A list that is read while the tree changes is no snapshot. Base records are read and written at once; the rows that lists are made of follow through the table's stream, as `GET /nodes/{id}/fanout` tells.\n\nWho may call is up to the deployment (IAM or a JWT); where it keeps tenants apart, the tenant comes from the caller's claims, and nothing in a request can name another.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "Write", description = "Calls of the writer: they write base records; the stream does the rest."),
        (name = "Read", description = "Calls of the reader."),
        (name = "Service", description = "Calls about the API itself."),
    ),
    paths(
        nodes::create_node,
        nodes::put_node,
        nodes::patch_node,
        nodes::delete_node,
        nodes::get_operation,
        nodes::batch,
        revisions::append_revision,
        revisions::amend_revision,
        revisions::remove_revision,
        reads::list_roots,
        reads::get_node,
        reads::list_ancestors,
        reads::list_children,
        reads::list_descendants,
        reads::get_tree,
        reads::count_descendants,
        reads::list_root_paths,
        reads::list_paths,
        revisions::list_latest,
        revisions::get_latest,
        revisions::list_revisions,
        revisions::list_topic,
        revisions::get_revision,
        reads::get_fanout,
        service::get_openapi,
        service::get_docs,
        service::get_health,
    ),
    components(schemas(ProblemBody)),
    modifiers(&Problems, &Pages),
)]
struct Contract;

/// Adds what calls refer to by name.
struct Problems;

impl Modify for Problems {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        document.components.get_or_insert_default().responses.extend(problems::components());
    }
}

/// Has pages refer to what is on them by name.
struct Pages;

impl Modify for Pages {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for (name, schema) in &mut document.components.get_or_insert_default().schemas {
            let (Some(item), RefOr::T(Schema::Object(page))) = (name.strip_prefix("Page_"), schema) else { continue };
            if let Some(RefOr::T(Schema::Array(items))) = page.properties.get_mut("items") {
                items.items = ArrayItems::RefOrSchema(Box::new(Ref::from_schema_name(item).into()));
            }
        }
    }
}

/// An object of any shape.
struct AnyObject;

impl PartialSchema for AnyObject {
    fn schema() -> RefOr<Schema> {
        Schema::from(super::schemas::any_object()).into()
    }
}

impl utoipa::ToSchema for AnyObject {}

/// The OpenAPI 3.1 document, as JSON.
#[must_use]
pub fn openapi() -> String {
    document().to_string()
}

/// The document as JSON.
pub(super) fn document() -> Value {
    // It is made of text and numbers alone, and a test reads it.
    serde_json::to_value(Contract::openapi()).unwrap_or_default()
}

/// A call of the contract.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// `GET`.
    pub method: String,
    /// `/nodes/{id}`.
    pub path: String,
    /// The status codes that it can answer, in their order.
    pub statuses: Vec<u16>,
}

/// Every call of the contract, as the document has them.
#[must_use]
pub fn routes() -> Vec<Route> {
    let document = document();
    let mut routes = Vec::new();
    for (path, calls) in members(&document["paths"]) {
        for (method, call) in members(calls) {
            let statuses = members(&call["responses"]).filter_map(|(status, _)| status.parse().ok()).collect();
            routes.push(Route { method: method.to_uppercase(), path: path.clone(), statuses });
        }
    }
    routes.sort();
    routes
}

/// The members of an object; nothing is none.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
