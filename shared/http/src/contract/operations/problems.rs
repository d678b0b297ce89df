//! The problems that an operation can answer with, by their status codes: each is described once, among the components of the
//! OpenAPI document.

use serde_json::{Value, json};

use crate::problem::MEDIA_TYPE;

/// A list.
pub(super) const LIST: &[u16] = &[400, 403, 404, 422, 500, 503];
/// A list that no key is asked for.
pub(super) const ROOTS: &[u16] = &[400, 403, 404, 500, 503];
/// A list that there always is, be it empty.
pub(super) const ANY_LIST: &[u16] = &[400, 403, 422, 500, 503];
/// One thing that has an entity tag.
pub(super) const THING: &[u16] = &[304, 400, 403, 404, 422, 500, 503];
/// A write of what needn't be there, or a batch.
pub(super) const PUT: &[u16] = &[400, 403, 409, 412, 413, 415, 422, 500, 503];
/// A write of what must be there.
pub(super) const CHANGE: &[u16] = &[400, 403, 404, 409, 412, 413, 415, 422, 500, 503];
/// A deletion.
pub(super) const DELETE: &[u16] = &[400, 403, 404, 409, 412, 422, 500, 503];
/// What needs no table.
pub(super) const SERVICE: &[u16] = &[400, 500];

struct Problem {
    status: u16,
    /// The name of the component.
    name: &'static str,
    description: &'static str,
}

const fn problem(status: u16, name: &'static str, description: &'static str) -> Problem {
    Problem { status, name, description }
}

const PROBLEMS: [Problem; 12] = [
    problem(304, "NotModified", "It is what `If-None-Match` names already."),
    problem(
        400,
        "BadRequest",
        "The request can't be read: a path with a bad escape, a parameter that is unknown, given twice or out of its range, a \
         cursor that isn't one of this query, a malformed header, or a body that isn't the JSON that is described. `field` names \
         what is at fault.",
    ),
    problem(403, "Forbidden", "The caller has no tenant, where the deployment keeps tenants apart."),
    problem(404, "NotFound", "There is no such thing."),
    problem(405, "MethodNotAllowed", "The path doesn't take this method; `Allow` lists those that it takes."),
    problem(
        409,
        "Conflict",
        "What is there is against it: it exists already, it has children, a node would come to be below itself, the node is \
         being deleted, others change the same nodes at the same moment, or the first request with this `Idempotency-Key` is \
         still running. `type` says which.",
    ),
    problem(412, "PreconditionFailed", "`If-Match` or `If-None-Match` doesn't hold: read again."),
    problem(413, "BodyTooLarge", "The body has over 1 MB (1,048,576 bytes)."),
    problem(415, "UnsupportedMediaType", "The body is of another media type than this call takes, or is compressed."),
    problem(
        422,
        "Unprocessable",
        "The request can be read and not be done: the parent doesn't exist, the tree would be deeper than 98, a name is reserved, \
         no key can hold an id, segment or topic, a value can't be kept (a number of more than 38 digits, a set that is empty), \
         the item would pass 400 KB, or the `Idempotency-Key` was used with another body. `type` says which, `field` where.",
    ),
    problem(500, "Internal", "It is our fault. The answer says no more; the log does."),
    problem(503, "Unavailable", "The table is throttled or out of reach. Try again after `Retry-After`."),
];

/// The response objects of the document's components.
pub(in crate::contract) fn components() -> impl Iterator<Item = (String, Value)> {
    PROBLEMS.iter().map(|problem| (problem.name.to_owned(), problem.component()))
}

/// The response objects of an operation that can answer with problems of these status codes.
pub(super) fn references(statuses: &[u16]) -> impl Iterator<Item = (String, Value)> {
    let reference = |name| json!({"$ref": format!("#/components/responses/{name}")});
    let problems = PROBLEMS.iter().filter(|problem| statuses.contains(&problem.status));
    problems.map(move |problem| (problem.status.to_string(), reference(problem.name)))
}

impl Problem {
    fn component(&self) -> Value {
        let header = |kind: &str, description: &str| json!({"schema": {"type": kind}, "description": description});
        let mut response = json!({"description": self.description});
        match self.status {
            304 => response["headers"]["ETag"] = header("string", "The entity tag of what is there."),
            405 => {
                response["headers"]["Allow"] = header("string", "The methods that the path takes, with commas between.")
            }
            503 => {
                response["headers"]["Retry-After"] = header("integer", "When to try again, in seconds.");
                response["headers"]["Retry-After"]["schema"]["minimum"] = 0.into();
            }
            _ => {}
        }
        if self.status != 304 {
            response["content"][MEDIA_TYPE]["schema"] = json!({"$ref": "#/components/schemas/ProblemBody"});
        }
        response
    }
}
