//! The problems that a call can answer, by their status codes: each is described once, among the components.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::header::Header;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

/// The media type of problems.
const MEDIA_TYPE: &str = "application/problem+json";

/// Status code, name of the component, and what it is about.
const PROBLEMS: [(u16, &str, &str); 12] = [
    (
        400,
        "BadRequest",
        "The request can't be read: a path with a bad escape, a parameter that is unknown, given twice or out of its range, a cursor that isn't one of this query, a malformed header, or a body that isn't the JSON that is described. `field` names what is at fault.",
    ),
    (403, "Forbidden", "The caller has no tenant, where the deployment keeps tenants apart."),
    (404, "NotFound", "There is no such thing."),
    (405, "MethodNotAllowed", "The path doesn't take this method; `Allow` lists those that it takes."),
    (
        409,
        "Conflict",
        "What is there is against it: it exists already, it has children, a node would come to be below itself, the node is being deleted, others change the same nodes at the same moment, or the first request with this `Idempotency-Key` is still running. `type` says which.",
    ),
    (412, "PreconditionFailed", "`If-Match` or `If-None-Match` doesn't hold: read again."),
    (413, "BodyTooLarge", "The body has over 1 MB (1,048,576 bytes)."),
    (415, "UnsupportedMediaType", "The body is of another media type than this call takes, or is compressed."),
    (
        422,
        "Unprocessable",
        "The request can be read and not be done: the parent doesn't exist, the tree would be deeper than 98, a name is reserved, no key can hold an id, segment or topic, a value can't be kept (a number of more than 38 digits, a set that is empty), the item would pass 400 KB, or the `Idempotency-Key` was used with another body. `type` says which, `field` where.",
    ),
    (500, "Internal", "It is our fault. The answer says no more; the log does."),
    (503, "Unavailable", "The table is throttled or out of reach. Try again after `Retry-After`."),
    (304, "NotModified", "It is what `If-None-Match` names already."),
];

/// The components.
pub(super) fn components() -> impl Iterator<Item = (String, RefOr<Response>)> {
    PROBLEMS.into_iter().map(|(status, name, description)| (name.to_owned(), component(status, description).into()))
}

fn component(status: u16, description: &str) -> Response {
    let response = ResponseBuilder::new().description(description);
    let integer = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).build();
    let text = || ObjectBuilder::new().schema_type(Type::String).build();
    let header = |schema, description: &str| {
        let mut header = Header::new(schema);
        header.description = Some(description.to_owned());
        header
    };
    let response = match status {
        304 => return response.header("ETag", header(text(), "The entity tag of what is there.")).build(),
        405 => response.header("Allow", header(text(), "The methods that the path takes, with commas between.")),
        503 => response.header("Retry-After", header(integer(), "When to try again, in seconds.")),
        _ => response,
    };
    response.content(MEDIA_TYPE, Content::new(Some(Ref::from_schema_name("ProblemBody")))).build()
}

fn references(statuses: &[u16]) -> BTreeMap<String, RefOr<Response>> {
    let named = |(status, name, _): &(u16, &str, &str)| (status.to_string(), Ref::from_response_name(*name).into());
    PROBLEMS.iter().filter(|(status, ..)| statuses.contains(status)).map(named).collect()
}

/// Sets of problems: by the kind of call.
macro_rules! problem_sets {
    ($($(#[$doc:meta])* $name:ident = [$($status:literal),+];)+) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                references(&[$($status),+])
            }
        }
    )+};
}

problem_sets! {
    /// A list.
    OfList = [400, 403, 404, 422, 500, 503];
    /// A list that no key is asked for.
    OfRoots = [400, 403, 404, 500, 503];
    /// A list that there always is, be it empty.
    OfAnyList = [400, 403, 422, 500, 503];
    /// One thing that has an entity tag.
    OfThing = [304, 400, 403, 404, 422, 500, 503];
    /// A write of what needn't be there, or a batch.
    OfPut = [400, 403, 409, 412, 413, 415, 422, 500, 503];
    /// A write of what must be there.
    OfChange = [400, 403, 404, 409, 412, 413, 415, 422, 500, 503];
    /// A removal.
    OfDelete = [400, 403, 404, 409, 412, 422, 500, 503];
    /// What needs no table.
    OfService = [400, 500];
}
