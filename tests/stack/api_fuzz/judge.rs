//! What every answer must be, and how two of them are compared.

use std::io::Read;

use axum::http::Uri;
use sapwood_api::contract::{Operation, openapi, operations};
use sapwood_tests::api::{Answered, Asked};
use serde_json::Value;

use super::schema::misfits;

/// What stands in attributes of nodes that are there, and in no request.
pub(crate) const SECRET: &str = "hunter2";

pub(crate) struct Judge {
    document: Value,
    pub(crate) operations: Vec<&'static Operation>,
}

/// What a request is, as far as the ways differ in what they can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// hyper takes it for a request.
    pub(crate) over_http: bool,
    /// It reaches the functions alike.
    pub(crate) alike: bool,
}

pub(crate) fn carried(asked: &Asked) -> Carried {
    let (path, _) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let over_http = asked.target.parse::<Uri>().is_ok() && is_plain(&asked.target);
    // Of two lines the gateway makes one, so that two keys are one with a comma in it.
    let keys = asked.headers.iter().filter(|(name, _)| name == "idempotency-key").count();
    let headers_alike = keys < 2 && asked.headers.iter().all(|(_, value)| value.is_ascii());
    Carried { over_http, alike: over_http && headers_alike && !path.contains('%') && !asked.target.contains('#') }
}

impl Judge {
    pub(crate) fn new() -> Self {
        let mut operations: Vec<&Operation> = operations().collect();
        // A seed draws the same requests whatever the table's order.
        operations.sort_by_key(|operation| (operation.method.as_str(), operation.path));
        Self { document: serde_json::from_str(&openapi()).unwrap(), operations }
    }

    /// The contract's template of a path that needs no putting right.
    fn template(&self, path: &str) -> Option<&str> {
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let fits = |template: &str| {
            let wanted: Vec<&str> = template.split('/').skip(1).collect();
            let (more, wanted) = match wanted.last() {
                Some(&"{path}") => (segments.len() >= wanted.len(), &wanted[..wanted.len() - 1]),
                _ => (segments.len() == wanted.len(), &wanted[..]),
            };
            more && (template == path || segments.iter().all(|segment| !segment.is_empty()))
                && wanted.iter().zip(&segments).all(|(wanted, segment)| wanted.starts_with('{') || wanted == segment)
        };
        self.operations.iter().map(|operation| operation.path).find(|template| fits(template))
    }

    fn call(&self, method: &str, template: &str) -> Option<&'static Operation> {
        let method = if method == "HEAD" { "GET" } else { method };
        self.operations.iter().copied().find(|operation| operation.method == method && operation.path == template)
    }

    /// What is wrong with an answer.
    pub(crate) fn faults(&self, asked: &Asked, answered: &Answered) -> Vec<String> {
        let mut faults = Vec::new();
        // The local port cuts a fragment off.
        let path = asked.target.split(['?', '#']).next().unwrap_or_default();
        let status = answered.status;
        let body = decoded(answered);
        let text = String::from_utf8_lossy(&body);
        if status >= 500 {
            faults.push(format!("{status}"));
        }
        for word in ["dynamodb", "Exception", "panicked"] {
            if text.contains(word) {
                faults.push(format!("it says {word}"));
            }
        }
        if status >= 400 && text.contains(SECRET) {
            faults.push("it repeats what others wrote".to_owned());
        }
        let template = if path.contains('%') { None } else { self.template(path) };
        let call = template.and_then(|template| self.call(&asked.method, template));
        match (&call, template) {
            _ if asked.method == "OPTIONS" && matches!(status, 204 | 400 | 404 | 413) => {}
            _ if asked.method == "OPTIONS" => faults.push(format!("{status} for OPTIONS")),
            (Some(_), _) if status == 413 && is_large(asked) => {}
            (Some(call), _) if !call.statuses().contains(&status) => {
                faults.push(format!("{} {} lists {:?}, and not {status}", call.method, call.path, call.statuses()));
            }
            (None, Some(_)) if !matches!(status, 400 | 405 | 413) => {
                faults.push(format!("{status} for a method that isn't there"))
            }
            (None, None) if !path.contains('%') && !matches!(status, 400 | 404 | 405 | 413) => {
                faults.push(format!("{status} for a path that isn't there"))
            }
            _ => {}
        }
        if asked.method == "HEAD" || status == 204 || status == 304 {
            if !body.is_empty() {
                faults.push("it has a body".to_owned());
            }
        } else if status >= 400 {
            self.problem(answered, &body, &mut faults);
        } else if let Some(call) = call {
            self.success(call, answered, &body, &mut faults);
        }
        faults
    }

    fn problem(&self, answered: &Answered, body: &[u8], faults: &mut Vec<String>) {
        if answered.header("content-type") != Some("application/problem+json") {
            faults.push(format!("a problem of the type {:?}", answered.header("content-type")));
        }
        let Ok(problem) = serde_json::from_slice::<Value>(body) else {
            faults.push("a problem that is no JSON".to_owned());
            return;
        };
        faults.extend(misfits(
            &self.document,
            &self.document["components"]["schemas"]["ProblemBody"],
            &problem,
            "problem",
        ));
        if problem["status"] != answered.status {
            faults.push(format!("a problem of the status {}", problem["status"]));
        }
        for field in ["title", "detail"] {
            if problem[field].as_str().is_none_or(str::is_empty) {
                faults.push(format!("nothing as {field}"));
            }
        }
        if !problem["type"].as_str().is_some_and(|kind| kind.starts_with("urn:sapwood:problem:")) {
            faults.push("a type that is none of ours".to_owned());
        }
    }

    fn success(&self, call: &Operation, answered: &Answered, body: &[u8], faults: &mut Vec<String>) {
        let response = &self.document["paths"][call.path][call.method.as_str().to_lowercase()]["responses"]
            [answered.status.to_string()];
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            if header["required"] == true && answered.header(&name.to_lowercase()).is_none() {
                faults.push(format!("no {name}"));
            }
        }
        for name in answered
            .headers
            .keys()
            .filter(|name| ["link", "etag", "location", "idempotency-replayed"].contains(&name.as_str()))
        {
            let is_documented = response["headers"]
                .as_object()
                .is_some_and(|all| all.keys().any(|known| known.eq_ignore_ascii_case(name)));
            if !is_documented {
                faults
                    .push(format!("the document has no {name} for {} {} {}", call.method, call.path, answered.status));
            }
        }
        let Some((kind, content)) = response["content"].as_object().and_then(|content| content.iter().next()) else {
            faults.push(format!("the document has no body for {} {} {}", call.method, call.path, answered.status));
            return;
        };
        if !answered.header("content-type").is_some_and(|found| found.starts_with(kind.as_str())) {
            faults.push(format!("{:?} in place of {kind}", answered.header("content-type")));
        }
        if kind != "application/json" {
            return;
        }
        match serde_json::from_slice(body) {
            Ok(value) => {
                faults.extend(misfits(&self.document, &content["schema"], &value, "body"));
                results(&value, faults);
            }
            Err(error) => faults.push(format!("no JSON: {error}")),
        }
    }
}

/// What a batch's results must be besides.
fn results(value: &Value, faults: &mut Vec<String>) {
    for result in value["results"].as_array().into_iter().flatten() {
        let status = result["status"].as_u64().unwrap_or_default();
        if status >= 500
            || (status >= 400) != result.get("problem").is_some()
            || (status >= 400 && result["problem"]["status"] != status)
        {
            faults.push(format!("a result {result}"));
        }
        if status >= 400 && result.to_string().contains(SECRET) {
            faults.push("a result repeats what others wrote".to_owned());
        }
    }
}

fn is_large(asked: &Asked) -> bool {
    asked.body.as_ref().is_some_and(|body| body.len() > 1_048_576)
}

/// The body as it was before it was compressed.
pub(crate) fn decoded(answered: &Answered) -> Vec<u8> {
    if answered.header("content-encoding") != Some("gzip") || answered.body.is_empty() {
        return answered.body.clone();
    }
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(&answered.body[..]).read_to_end(&mut body).unwrap();
    body
}

/// What two ways must have in common.
pub(crate) fn common(answered: &Answered) -> (u16, Vec<(String, String)>, String) {
    let names = [
        "content-type",
        "allow",
        "idempotency-replayed",
        "preference-applied",
        "retry-after",
        "location",
        "cache-control",
    ];
    let headers =
        names.iter().filter_map(|name| Some(((*name).to_owned(), without_own(answered.header(name)?)))).collect();
    let body = decoded(answered);
    let body = match serde_json::from_slice::<Value>(&body) {
        Ok(mut value) => {
            forget(&mut value);
            value.to_string()
        }
        Err(_) => String::from_utf8_lossy(&body).into_owned(),
    };
    (answered.status, headers, body)
}

/// Without times, tags, cursors, and the ids that the API made.
fn forget(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "created_at" | "updated_at" | "cursor" | "etag" => *member = Value::Null,
                    _ => forget(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        Value::String(text) => *text = without_own(text),
        _ => {}
    }
}

/// With `*` in place of a UUID.
fn without_own(text: &str) -> String {
    match uuid_in(text) {
        Some(at) => format!("{}*{}", &text[..at], &text[at + 36..]),
        None => text.to_owned(),
    }
}

/// Where a UUID begins.
pub(crate) fn uuid_in(text: &str) -> Option<usize> {
    let is_uuid = |part: &[u8]| {
        part.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
        })
    };
    text.as_bytes().windows(36).position(is_uuid)
}
