//! The OpenAPI document, made of the table of operations and their types, and the page that shows it.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::ProblemBody;
use super::operations::{Schemas, Tag, operations, problems, reference};
use super::status::GatewayMessage;
use crate::problem::Kind;

const DESCRIPTION: &str = "Hierarchies and version history in one DynamoDB table.\n\nErrors are problems (RFC 9457) of the media type `application/problem+json`. A method that a path doesn't take is answered with 405 and `Allow`, an unknown path with 404. Parameters that aren't listed are refused (400), so that a misspelt parameter never changes an answer silently.\n\nLists come in pages: pass the `cursor` of a page as the parameter `cursor` of the next one. The last page has none. A list that is read while the tree changes isn't a snapshot. Writes change base records at once; the rows that lists are made of follow through the table's stream, and `GET /nodes/{id}/propagation` tells whether they have.\n\nThe deployment decides who may call (IAM or a JWT). If it keeps tenants apart, a caller's tenant comes from the caller's claims, and nothing in a request can name another.";

/// Returns the OpenAPI 3.1 document, as JSON.
#[must_use]
pub fn openapi() -> String {
    document().to_string()
}

pub(super) fn document() -> Value {
    let mut schemas = Schemas::new();
    reference::<ProblemBody>(&mut schemas);
    // Clients must take others: new releases may have new ones.
    let kinds: Vec<String> = Kind::ALL.iter().map(|kind| kind.uri()).collect();
    if let Some(problem) = schemas.get_mut("ProblemBody") {
        problem["properties"]["type"]["x-extensible-enum"] = kinds.into();
    }
    reference::<GatewayMessage>(&mut schemas);
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
        // Relative to the document: a stage's path or a custom domain's stays in front.
        "servers": [{"url": "."}],
        // The deployment has signed requests, or tokens, or neither (the local stack).
        "security": [{"iam": []}, {"jwt": []}, {}],
        "tags": Tag::ALL.map(Tag::document),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "iam": {
                    "type": "apiKey", "in": "header", "name": "Authorization", "x-amazon-apigateway-authtype": "awsSigv4",
                    "description": "Signed requests: AWS Signature Version 4, for the service `execute-api`.",
                },
                "jwt": {
                    "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "A token of the deployment's issuer. The deployment may demand scopes for reading, writing and deleting.",
                },
            },
            "responses": problems::components().collect::<serde_json::Map<_, _>>(),
        },
    })
}

/// Returns the HTML page that shows `openapi.json`, with its script and style, the same for every deployment.
#[must_use]
pub fn docs_html() -> &'static str {
    include_str!("docs.html")
}

/// Returns the page's content security policy ([CSP Level 3](https://www.w3.org/TR/CSP3/)): its own script and style
/// run and no others, the script reads the document beside it, and no other site shows the page in a frame.
pub fn docs_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let hash = |element: &str| {
            let (open, close) = (format!("<{element}>"), format!("</{element}>"));
            let content = docs_html().split_once(&open).and_then(|(_, rest)| rest.split_once(&close));
            STANDARD.encode(Sha256::digest(content.map_or("", |(content, _)| content)))
        };
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'",
            hash("script"),
            hash("style"),
        )
    });
    &POLICY
}
