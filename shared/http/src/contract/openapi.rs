//! The OpenAPI document, made of the table of operations and of the types that they take and answer.

use serde_json::{Value, json};

use super::ProblemBody;
use super::operations::{Schemas, Tag, operations, problems, reference};

const DESCRIPTION: &str = "Hierarchies and version history in one DynamoDB table.\n\nErrors are problems (RFC 9457) of the media type `application/problem+json`. A method that a path doesn't take answers 405 with `Allow`, and a path that isn't here 404. Parameters that aren't listed are refused (400), so that a misspelt one never changes an answer without a word.\n\nLists are pages: `cursor` of one is the parameter `cursor` of the next, and is absent on the last. A list that is read while the tree changes is no snapshot. Base records are read and written at once; the rows that lists are made of follow through the table's stream, as `GET /nodes/{id}/fanout` tells.\n\nWho may call is up to the deployment (IAM or a JWT); where it keeps tenants apart, the tenant comes from the caller's claims, and nothing in a request can name another.";

/// The OpenAPI 3.1 document, as JSON.
#[must_use]
pub fn openapi() -> String {
    document().to_string()
}

pub(super) fn document() -> Value {
    let mut schemas = Schemas::new();
    reference::<ProblemBody>(&mut schemas);
    let mut paths = json!({});
    for operation in operations() {
        paths[operation.path][operation.method.as_str().to_lowercase()] = operation.document(&mut schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sapwood",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "tags": Tag::ALL.map(Tag::document),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": problems::components().collect::<serde_json::Map<_, _>>(),
        },
    })
}
