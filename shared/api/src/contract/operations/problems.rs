//! The problems of operations by status code, each described once, among the OpenAPI document's components.

use serde_json::{Value, json};

use crate::problem::{Kind, MEDIA_TYPE};

pub(super) const LIST: &[u16] = &[400, 403, 404, 409, 422, 500, 503];
/// The problems of a question about one thing.
pub(super) const STATE: &[u16] = &[400, 403, 404, 422, 500, 503];
/// The problems of a list that isn't about one node.
pub(super) const ROOTS: &[u16] = &[400, 403, 404, 409, 500, 503];
pub(super) const AUDIT: &[u16] = &[400, 403, 404, 500, 503];
/// The problems of a read of any number of things, which needn't exist.
pub(super) const SEVERAL: &[u16] = &[400, 403, 409, 500, 503];
/// The problems of a feed.
pub(super) const FEED: &[u16] = &[400, 403, 404, 409, 410, 422, 500, 503];
/// The problems of what changed lately in a tree.
pub(super) const RECENT: &[u16] = &[400, 403, 404, 409, 422, 500, 503];
/// The problems of a question about any number of things, which needn't exist.
pub(super) const QUESTION: &[u16] = &[400, 403, 500, 503];
/// The problems of a read of one thing, which has an entity tag.
pub(super) const THING: &[u16] = &[304, 400, 403, 404, 409, 412, 422, 500, 503];
/// The problems of a batch, and of a write that can create.
pub(super) const PUT: &[u16] = &[400, 403, 409, 412, 413, 415, 422, 500, 503];
/// The problems of a write that changes what exists.
pub(super) const CHANGE: &[u16] = &[400, 403, 404, 409, 412, 413, 415, 422, 500, 503];
pub(super) const DELETE: &[u16] = &[400, 403, 404, 409, 412, 422, 500, 503];
/// The problems of an operation that needs no table.
pub(super) const SERVICE: &[u16] = &[400, 500];

struct Problem {
    status: u16,
    name: &'static str,
    description: &'static str,
}

const fn problem(status: u16, name: &'static str, description: &'static str) -> Problem {
    Problem { status, name, description }
}

const PROBLEMS: [Problem; 13] = [
    problem(304, "NotModified", "The current entity tag is among those of `If-None-Match`."),
    problem(
        400,
        "BadRequest",
        "The request can't be read: a path with a bad escape, a parameter that is unknown, given twice or out of its range, a \
         cursor that isn't one of this query, a malformed header, or a body that isn't the JSON that is described. `field` names \
         what is at fault.",
    ),
    problem(
        403,
        "Forbidden",
        "The deployment keeps tenants apart, and the caller has none; the caller's token lacks the scope of this call, which \
         `WWW-Authenticate` names; or the deployment doesn't allow changes of revisions, or has no trash.",
    ),
    problem(404, "NotFound", "The thing doesn't exist."),
    problem(405, "MethodNotAllowed", "The path doesn't take this method. `Allow` lists those that it takes."),
    problem(
        409,
        "Conflict",
        "The current state doesn't allow the request: the node exists already, a sibling has its name already, it has children, its rows aren't up to date yet, the rows don't have what was written yet (`written`), it would become its own ancestor, \
         it is being deleted, it or its new parent is in the trash, it isn't in the trash or can't go back where it was, the sibling that it is to be next to isn't one (any more), nothing fits between two siblings, other clients change the same nodes at the same moment, as many copies go on as there may be at once, there are no feeds or they haven't begun, a feed is asked for of a node that is no root, or the first request with this \
         `Idempotency-Key` is still running, or was cut off less than a minute ago (`Retry-After`). `type` says which.",
    ),
    problem(
        410,
        "Gone",
        "The cursor of a feed is older than 30 days, or of a feed that has ended. List the tree anew: ask without a cursor, and put the nodes \
         in the place of your mirror.",
    ),
    problem(412, "PreconditionFailed", "`If-Match` or `If-None-Match` doesn't hold. Read again."),
    problem(413, "BodyTooLarge", "The body has more than 1 MB (1,048,576 bytes)."),
    problem(415, "UnsupportedMediaType", "The body has another media type than this call takes, or is compressed."),
    problem(
        422,
        "Unprocessable",
        "The request can be read but not carried out: the parent doesn't exist, the tree would be deeper than 98 levels, a name is \
         reserved, no key can hold an id, segment or topic, a value can't be kept (a number of more than 38 digits, an empty \
         set), siblings aren't ordered by hand here or have no text where their place is, the item would exceed 400 KB, or the `Idempotency-Key` was used with another body. `type` says which, `field` \
         where.",
    ),
    problem(500, "Internal", "An internal error. The log says more."),
    problem(
        503,
        "Unavailable",
        "The table is throttled or can't be reached: nothing was done, so try again after `Retry-After`. A write of the type \
         `urn:sapwood:problem:outcome-unknown` may have been done or not, because the table gave no answer: read what is there \
         (`Location`) before you send it again. It has no `Retry-After`. With an `Idempotency-Key` a POST, a DELETE, and a write with a `revision` can be sent again as it is.",
    ),
];

/// The answers of API Gateway before a function is called, and of `sapwood dev` before a call is looked for.
const GATEWAYS: [Problem; 3] = [
    problem(
        401,
        "Unauthorized",
        "API Gateway knows no caller: the request is neither signed nor has it a token that holds.",
    ),
    problem(
        414,
        "UriTooLong",
        "The URL is too long. API Gateway takes 10 KB (10,240 bytes) of URL and headers together, and `sapwood dev` a URL of 64 KB. Ask for \
         less at a time.",
    ),
    problem(429, "TooManyRequests", "API Gateway throttles the stage. Try again in a moment."),
];

pub(in crate::contract) fn components() -> impl Iterator<Item = (String, Value)> {
    let gateways = GATEWAYS.iter().map(|problem| (problem.name.to_owned(), problem.gateways_component()));
    PROBLEMS.iter().map(|problem| (problem.name.to_owned(), problem.component())).chain(gateways)
}

/// Returns the response objects of what API Gateway can answer to any operation.
pub(super) fn of_the_gateway() -> impl Iterator<Item = (String, Value)> {
    GATEWAYS.iter().map(Problem::reference)
}

/// Returns the response objects of an operation that can answer with these status codes.
pub(super) fn references(statuses: &[u16]) -> impl Iterator<Item = (String, Value)> {
    PROBLEMS.iter().filter(|problem| statuses.contains(&problem.status)).map(Problem::reference)
}

impl Problem {
    fn reference(&self) -> (String, Value) {
        (self.status.to_string(), json!({"$ref": format!("#/components/responses/{}", self.name)}))
    }

    fn gateways_component(&self) -> Value {
        if self.status == 414 {
            // Its body isn't specified.
            return json!({"description": self.description});
        }
        let schema = json!({"$ref": "#/components/schemas/GatewayMessage"});
        json!({"description": self.description, "content": {"application/json": {"schema": schema}}})
    }

    fn component(&self) -> Value {
        let header = |kind: &str, description: &str| json!({"schema": {"type": kind}, "description": description});
        let kinds = Kind::ALL.iter().filter(|kind| kind.status().as_u16() == self.status);
        let kinds: Vec<String> = kinds.map(|kind| format!("`{}`", kind.uri())).collect();
        let types = if kinds.is_empty() { String::new() } else { format!(" Types: {}.", kinds.join(", ")) };
        let mut response = json!({"description": format!("{}{types}", self.description)});
        match self.status {
            304 => response["headers"]["ETag"] = header("string", "The current entity tag."),
            405 => {
                response["headers"]["Allow"] = header("string", "The methods that the path takes, with commas between.")
            }
            403 => response["headers"]["WWW-Authenticate"] = header("string", "The scope that the token lacks."),
            415 => {
                response["headers"]["Accept"] = header("string", "The media type that this call takes.");
                response["headers"]["Accept-Patch"] =
                    header("string", "The media type that this call takes, of a PATCH.");
            }
            409 => {
                let description =
                    "The node that has the id or the name already, or the operation that deletes the node.";
                response["headers"]["Location"] = header("string", description);
            }
            _ => {}
        }
        if [409, 500, 503].contains(&self.status) {
            let description = "When the same request may come out otherwise, in seconds.";
            response["headers"]["Retry-After"] = header("integer", description);
            response["headers"]["Retry-After"]["schema"]["minimum"] = 0.into();
        }
        if self.status != 304 {
            response["content"][MEDIA_TYPE]["schema"] = json!({"$ref": "#/components/schemas/ProblemBody"});
        }
        response
    }
}
