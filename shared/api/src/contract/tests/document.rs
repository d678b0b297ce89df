use std::collections::BTreeSet;

use sapwood_core::keys::{DEPTH_MAX, ID_BYTES_MAX, Version};
use sapwood_json::read;
use serde_json::{Value, json};

use crate::contract::openapi::document;
use crate::contract::{
    Batch, CopyNode, CreateNode, CreateRevision, OPERATIONS_MAX, PatchNode, ReplaceNode, RestoreNode, TOPIC_BYTES_MAX,
    openapi, operations,
};

/// Each call of the contract, with its status codes when it succeeds.
const CALLS: [(&str, &str, &[u16]); 41] = [
    ("POST", "/nodes", &[201, 202, 204]),
    ("PUT", "/nodes/{id}", &[200, 201, 202, 204]),
    ("PATCH", "/nodes/{id}", &[200, 202, 204]),
    ("DELETE", "/nodes/{id}", &[202, 204]),
    ("POST", "/nodes/{id}/trash", &[200, 202, 204]),
    ("POST", "/nodes/{id}/restore", &[200, 202, 204]),
    ("POST", "/nodes/{id}/copy", &[201, 202]),
    ("GET", "/operations", &[200]),
    ("GET", "/operations/{id}", &[200]),
    ("POST", "/batch", &[200, 202]),
    ("POST", "/nodes/{id}/revisions/{topic}", &[201, 202, 204]),
    ("PUT", "/nodes/{id}/revisions/{topic}/{version}", &[200, 202, 204]),
    ("DELETE", "/nodes/{id}/revisions/{topic}/{version}", &[204]),
    ("GET", "/roots", &[200]),
    ("GET", "/trash", &[200]),
    ("GET", "/nodes", &[200]),
    ("GET", "/nodes/{id}", &[200, 304]),
    ("GET", "/nodes/{id}/ancestors", &[200]),
    ("GET", "/nodes/{id}/inherited", &[200]),
    ("GET", "/nodes/{id}/granted", &[200]),
    ("GET", "/nodes/{id}/children", &[200]),
    ("GET", "/nodes/{id}/descendants", &[200]),
    ("GET", "/nodes/{id}/links/{attribute}", &[200]),
    ("GET", "/nodes/{id}/tree", &[200]),
    ("GET", "/nodes/{id}/totals", &[200]),
    ("GET", "/nodes/{id}/count", &[200]),
    ("GET", "/nodes/{id}/changes", &[200]),
    ("GET", "/nodes/{id}/recent", &[200]),
    ("GET", "/paths/{root}", &[200]),
    ("GET", "/paths/{root}/{path}", &[200]),
    ("GET", "/nodes/{id}/latest", &[200]),
    ("GET", "/nodes/{id}/latest/{topic}", &[200]),
    ("GET", "/nodes/{id}/revisions", &[200]),
    ("GET", "/nodes/{id}/revisions/{topic}", &[200]),
    ("GET", "/nodes/{id}/revisions/{topic}/{version}", &[200, 304]),
    ("GET", "/nodes/{id}/propagation", &[200]),
    ("GET", "/", &[200]),
    ("GET", "/openapi.json", &[200]),
    ("GET", "/docs", &[200]),
    ("GET", "/health", &[200]),
    ("GET", "/health/audit", &[200]),
];

#[test]
fn the_document_has_the_calls_of_the_contract_and_no_others() {
    let document = document();
    let mut found: BTreeSet<(String, String, Vec<u16>)> = BTreeSet::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            let statuses = members(&operation["responses"]).map(|(status, _)| status.parse().unwrap());
            let statuses = statuses.filter(|&status: &u16| status < 400).collect();
            found.insert((method.to_uppercase(), path.clone(), statuses));
        }
    }
    let calls: BTreeSet<(String, String, Vec<u16>)> = CALLS
        .iter()
        .map(|(method, path, statuses)| (method.to_string(), path.to_string(), statuses.to_vec()))
        .collect();
    assert_eq!(found, calls);
}

#[test]
fn every_call_of_a_function_serves_one_operation() {
    let mut functions = Vec::new();
    for operation in operations() {
        assert!(!functions.contains(&operation.function), "{} is served twice", operation.id);
        functions.push(operation.function);
    }
    // This is the number of variants, and the routers match on all of them.
    assert_eq!(functions.len(), 41);
}

#[test]
fn an_operation_has_the_statuses_of_the_document() {
    let document = document();
    for operation in operations() {
        let described = &document["paths"][operation.path][operation.method.as_str().to_lowercase()];
        let statuses = members(&described["responses"]).map(|(status, _)| status.parse().unwrap());
        // API Gateway answers these itself.
        let statuses: Vec<u16> = statuses.filter(|status| ![401, 414, 429].contains(status)).collect();
        assert_eq!(operation.statuses(), statuses, "{}", operation.id);
    }
}

#[test]
fn every_call_can_be_answered_by_the_gateway_alone() {
    let document = document();
    for operation in operations() {
        let responses = &document["paths"][operation.path][operation.method.as_str().to_lowercase()]["responses"];
        for (status, name) in [("401", "Unauthorized"), ("414", "UriTooLong"), ("429", "TooManyRequests")] {
            let named = format!("#/components/responses/{name}");
            assert_eq!(responses[status]["$ref"], named.as_str(), "{}, {status}", operation.id);
        }
    }
    let too_long = &document["components"]["responses"]["UriTooLong"];
    assert!(too_long["description"].as_str().unwrap().contains("10,240 bytes"), "{too_long}");
    assert_eq!(too_long.get("content"), None, "nothing is promised of its body");
}

#[test]
fn every_call_can_fail_as_its_kind_does() {
    for operation in operations() {
        let statuses = operation.statuses();
        let has = |status| statuses.contains(&status);
        let is_service = ["/", "/openapi.json", "/docs", "/health"].contains(&operation.path);
        assert!(has(400) && has(500), "{operation:?}");
        assert_eq!(has(403) && has(503), !is_service, "{operation:?}");
        let has_body = operation.body.is_some();
        assert_eq!((has(413), has(415)), (has_body, has_body), "{operation:?}");
        // Besides writes, reads that wait for what was written, and of feeds, which a deployment may not keep.
        let waits = operation.parameters().iter().any(|parameter| parameter["name"] == "written");
        let is_of_feeds = operation.path.ends_with("/changes") || operation.path.ends_with("/recent");
        assert_eq!(has(409), operation.method != "GET" || waits || is_of_feeds, "{operation:?}");
    }
}

/// Returns the members of an object, and none of another value.
fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns every value in a document, the outermost first.
fn values(document: &Value) -> Vec<&Value> {
    let mut found = vec![document];
    let mut position = 0;
    while let Some(value) = found.get(position) {
        match value {
            Value::Object(object) => found.extend(object.values()),
            Value::Array(list) => found.extend(list),
            _ => {}
        }
        position += 1;
    }
    found
}

#[test]
fn every_reference_has_a_component_and_every_component_a_reference() {
    let document = document();
    let references: BTreeSet<&str> = values(&document).into_iter().filter_map(|value| value["$ref"].as_str()).collect();
    for reference in &references {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference} is nowhere");
    }
    for (kind, components) in members(&document["components"]) {
        for (name, _) in members(components) {
            // No operation refers to it: it answers methods that no operation has.
            let is_used = references.contains(format!("#/components/{kind}/{name}").as_str());
            let is_named =
                kind == "securitySchemes" && values(&document["security"]).iter().any(|v| v.get(name).is_some());
            assert!(is_used || is_named || name == "MethodNotAllowed", "{kind}/{name} is of no use");
        }
    }
}

#[test]
fn every_call_says_what_it_is_and_has_its_parameters() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (path, calls) in members(&document["paths"]) {
        for (method, call) in members(calls) {
            let at = format!("{method} {path}");
            assert!(ids.insert(call["operationId"].as_str().unwrap()), "{at}: the id is there twice");
            assert!(!call["summary"].as_str().unwrap().is_empty(), "{at}");
            let is_service = call["tags"] == json!(["Service"]);
            let description = call["description"].as_str().unwrap_or_default();
            assert!(
                is_service || description.contains(" unit") || path == "/batch" || method == "patch",
                "{at}: no costs"
            );
            let parameters = call["parameters"].as_array().cloned().unwrap_or_default();
            let named: BTreeSet<&str> = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            let in_path: BTreeSet<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
            assert_eq!(named, in_path, "{at}");
            let names: BTreeSet<&str> =
                parameters.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect();
            assert_eq!(names.len(), parameters.len(), "{at}: a parameter is there twice");
            // Nothing need be said of how a node goes into the trash and out of it, and where its copy goes.
            let may_be_bare = ["/trash", "/restore", "/copy"].iter().any(|end| path.ends_with(end));
            let has_body = ["post", "put", "patch"].contains(&method.as_str()) && !may_be_bare;
            assert_eq!(call["requestBody"]["required"] == true, has_body, "{at}");
        }
    }
}

#[test]
fn every_example_of_a_body_is_read() {
    let document = document();
    let mut count = 0;
    for (path, calls) in members(&document["paths"]) {
        for (method, call) in members(calls) {
            for (_, content) in members(&call["requestBody"]["content"]) {
                let several = members(&content["examples"]).map(|(_, example)| &example["value"]);
                for example in content.get("example").into_iter().chain(several) {
                    let body = example.to_string();
                    let body = body.as_bytes();
                    match (method.as_str(), path.as_str()) {
                        ("post", "/nodes") => drop(read::<CreateNode>(body).unwrap()),
                        ("put", "/nodes/{id}") => drop(read::<ReplaceNode>(body).unwrap()),
                        ("post", "/nodes/{id}/restore") => drop(read::<RestoreNode>(body).unwrap()),
                        ("post", "/nodes/{id}/copy") => drop(read::<CopyNode>(body).unwrap()),
                        ("patch", _) => drop(read::<PatchNode>(body).unwrap()),
                        ("post", "/batch") => {
                            assert!(read::<Batch>(body).unwrap().operations.iter().all(Result::is_ok));
                        }
                        _ => drop(read::<CreateRevision>(body).unwrap()),
                    }
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 16);
}

#[test]
fn every_example_of_an_answer_has_the_fields_of_its_type() {
    let document = document();
    let mut count = 0;
    for content in values(&document).into_iter().filter(|value| value.get("example").is_some()) {
        let Some(reference) = content["schema"]["$ref"].as_str() else { continue };
        let schema = document.pointer(reference.trim_start_matches('#')).unwrap();
        let fields = content["example"].as_object().unwrap();
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(fields.contains_key(required.as_str().unwrap()), "{reference} without {required}");
        }
        for name in fields.keys() {
            assert!(schema["properties"].get(name).is_some(), "{reference} has no {name}");
        }
        count += 1;
    }
    assert!(count > 20);
}

#[test]
fn the_documents_limits_are_those_of_the_code() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for body in ["CreateNode", "PutOperation", "PatchOperation", "DeleteOperation", "RevisionOperation", "NodeBody"] {
        assert_eq!(schemas[body]["properties"]["id"]["maxLength"], json!(ID_BYTES_MAX), "{body}");
    }
    assert_eq!(schemas["RevisionOperation"]["properties"]["topic"]["maxLength"], json!(TOPIC_BYTES_MAX));
    assert_eq!(schemas["Batch"]["properties"]["operations"]["maxItems"], json!(OPERATIONS_MAX));
    assert_eq!(schemas["TreeNode"]["properties"]["depth"]["maximum"], json!(DEPTH_MAX));
    assert_eq!(schemas["RevisionBody"]["properties"]["version"]["maximum"], json!(Version::MAX));
    for closed in
        ["CreateNode", "ReplaceNode", "PatchNode", "CreateRevision", "Batch", "BatchOperation", "PutOperation"]
    {
        assert_eq!(schemas[closed]["additionalProperties"], json!(false), "{closed}");
    }
    assert_eq!(schemas["ReplaceNode"]["required"], json!(["parent"]));
    assert_eq!(
        schemas["Page_DescendantBody"]["properties"]["items"]["items"]["$ref"],
        "#/components/schemas/DescendantBody"
    );
}

#[test]
fn a_field_of_attributes_refers_to_a_type_with_an_example() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let mut count = 0;
    for (name, schema) in members(schemas) {
        // Such a field has neither a type nor an example of its own, and clients made of it have another type for it.
        for (field, described) in members(&schema["properties"]) {
            let is_or_null =
                described["oneOf"].as_array().is_some_and(|parts| parts.contains(&json!({"type": "null"})));
            assert!(!is_or_null, "{name}.{field}");
        }
        let Some(reference) = schema["properties"]["attributes"]["$ref"].as_str() else { continue };
        let of = document.pointer(reference.trim_start_matches('#')).unwrap();
        assert!(of["examples"][0].is_object(), "{name}");
        count += 1;
    }
    assert_eq!(count, 20);
    assert_eq!(schemas["PatchNode"]["properties"]["attributes"]["$ref"], "#/components/schemas/AttributesPatch");
    assert_eq!(schemas["AttributesPatch"]["type"], json!(["object", "null"]));
}

#[test]
fn the_document_is_openapi_3_1() {
    let document: Value = serde_json::from_str(&openapi()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let merge_patch = "/paths/~1nodes~1{id}/patch/requestBody/content/application~1merge-patch+json";
    assert!(document.pointer(merge_patch).is_some());
    for (name, problem) in members(&document["components"]["responses"]) {
        if ["NotModified", "Unauthorized", "TooManyRequests", "UriTooLong"].contains(&name.as_str()) {
            continue;
        }
        assert!(problem["content"].get("application/problem+json").is_some(), "{name}");
    }
}
