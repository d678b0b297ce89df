//! The parameters of calls, each described once.

use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{Deprecated, Required};

/// A character in a segment other than `.`: one that stands for itself (percent-encoded, where it must be: a document says what a
/// parameter is, not how it is sent), or the bytes of one in UTF-8, each `~XX`.
const CHARACTER: &str = "(?:[^~.]|~[0-7][0-9A-Fa-f]|~(?:[Cc][2-9A-Fa-f]|[Dd][0-9A-Fa-f])~[89ABab][0-9A-Fa-f]\
    |~(?:[Ee]0~[ABab]|[Ee][1-9A-Ca-cEeFf]~[89ABab]|[Ee][Dd]~[89])[0-9A-Fa-f]~[89ABab][0-9A-Fa-f]\
    |~(?:[Ff]0~[9ABab]|[Ff][1-3]~[89ABab]|[Ff]4~8)[0-9A-Fa-f](?:~[89ABab][0-9A-Fa-f]){2})";

/// A segment of a path: characters and dots, but not the dot segments `.` and `..`.
fn segment_pattern() -> String {
    format!("^(?:\\.*{CHARACTER}(?:{CHARACTER}|\\.)*|\\.{{3,}})$")
}

const WRITING: &str = "Letters, digits, `-`, `_` and `.` stand for themselves; every other byte of its UTF-8 is written `~XX` with two hexadecimal digits, and so is a `.` that would be a dot segment (`ORDER#98765` is `ORDER~2398765`, `..` is `~2E~2E`). Percent-encoding works as well where it isn't undone on the way, as API Gateway does.";

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn integer(minimum: u32, maximum: u32) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(minimum)).maximum(Some(maximum))
}

fn parameter(within: ParameterIn, name: &str, description: &str, schema: impl Into<Object>) -> ParameterBuilder {
    let required = if within == ParameterIn::Path { Required::True } else { Required::False };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(within)
        .required(required)
        .deprecated(None::<Deprecated>)
        .description(Some(description))
        .schema(Some(schema.into()))
}

/// A segment of the path. What stands for more than 1,014 bytes is refused with 422 all the same: a schema can't count them.
fn segment(name: &str, description: &str, bytes_max: usize, example: &str) -> Parameter {
    let schema = text().min_length(Some(1)).max_length(Some(3 * bytes_max)).pattern(Some(segment_pattern()));
    let description = format!("{description} At most {bytes_max} bytes. {WRITING}");
    parameter(ParameterIn::Path, name, &description, schema).example(Some(json!(example))).build()
}

fn query(name: &str, description: &str, schema: impl Into<Object>) -> Parameter {
    parameter(ParameterIn::Query, name, description, schema).build()
}

fn flag(name: &str, description: &str) -> Parameter {
    query(name, description, ObjectBuilder::new().schema_type(Type::Boolean).default(Some(json!(false))))
}

fn words(name: &str, description: &str, words: &[&str]) -> Parameter {
    let default = words.first().map(|word| json!(word));
    query(name, description, text().enum_values(Some(words.iter().copied())).default(default))
}

fn header(name: &str, description: &str, pattern: &str, example: &str) -> Parameter {
    parameter(ParameterIn::Header, name, description, text().pattern(Some(pattern)))
        .example(Some(Value::from(example)))
        .build()
}

/// Entity tags in quotes, or `*`.
const ENTITY_TAGS: &str = r#"^(?:\*|(?:W/)?"[!#-~]*"(?:, ?(?:W/)?"[!#-~]*")*)$"#;

fn id() -> Parameter {
    segment("id", "The node's id.", 1_014, "CUSTOMER~237")
}

fn topic() -> Parameter {
    segment("topic", "The topic.", 1_015, "Audit")
}

fn version() -> Parameter {
    let schema = integer(1, 999_999);
    let description =
        "The revision's number, in digits without zeros in front. Anything else is a revision that isn't there.";
    parameter(ParameterIn::Path, "version", description, schema).example(Some(json!(3))).build()
}

fn depth(name: &str, description: &str, minimum: u32) -> Parameter {
    query(name, description, integer(minimum, 98))
}

/// Sets of parameters.
macro_rules! parameter_sets {
    ($($(#[$doc:meta])* $name:ident = [$($parameter:expr),+ $(,)?];)+) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl IntoParams for $name {
            fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                vec![$($parameter),+]
            }
        }
    )+};
}

parameter_sets! {
    /// `/nodes/{id}`
    OfNode = [id()];
    /// `/nodes/{id}/revisions/{topic}`
    OfTopic = [id(), topic()];
    /// `/nodes/{id}/revisions/{topic}/{version}`
    OfRevision = [id(), topic(), version()];
    /// `/operations/{id}`
    OfOperation = [segment("id", "The operation's id.", 1_014, "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52")];
    /// `/paths/{root}`
    OfRoot = [segment("root", "The root's id.", 1_014, "USA")];
    /// `/paths/{root}/{path}`
    OfPath = [
        segment("root", "The root's id.", 1_014, "USA"),
        segment("path", "The segments from below the root. Here stands one; each further one follows after a further `/`, which OpenAPI has no way to say (`/paths/USA/NE/OMAHA`). A `/` within a segment is `~2F`.", 1_014, "NE"),
    ];
    /// How strongly is read.
    Strongly = [flag("consistent", "Whether to read strongly: twice the read units. Derived rows can still lag behind their base records; `Prefer: wait` on the write is for that.")];
    /// Which attributes are answered.
    Fields = [query(
        "fields",
        "The attributes to answer with, with commas between their names: up to 100, each of up to 255 bytes. Without it all of them. A name with a comma in it can't be said.",
        text().min_length(Some(1)).pattern(Some("^[^,]{1,255}(?:,[^,]{1,255}){0,99}$")),
    )];
    /// Which part of a list.
    Paging = [
        query("limit", "The most items on a page. A page also ends at 4 MB.", integer(1, 1_000).default(Some(json!(100)))),
        cursor(),
    ];
    /// Where a tree goes on.
    Continued = [cursor()];
    /// Which levels.
    Window = [
        query("min_depth", "The first level; 0 is the node itself.", integer(0, 98).default(Some(json!(1)))),
        depth("max_depth", "The last level, not less than `min_depth`. Without it all of them.", 0),
    ];
    /// Which ids.
    IdPrefix = [query("id_prefix", "How the ids begin, such as `ORDER#`. Takes one level: `min_depth` and `max_depth` the same, 1 or more.", text().min_length(Some(1)).max_length(Some(1_014)))];
    /// How deep.
    MaxDepth = [depth("max_depth", "How many levels below. Without it all of them.", 0)];
    /// Which of the next segments.
    NextSegments = [
        query("from", "The first of the next segments (the first zip code, say), in the order of their bytes. With it, what is at the path itself is left out.", text().min_length(Some(1)).max_length(Some(1_014))),
        query("to", "The last of the next segments, itself included.", text().min_length(Some(1)).max_length(Some(1_014))),
    ];
    /// Which end of a history comes first.
    Order = [words("order", "Whether the newest version comes first or the oldest.", &["desc", "asc"])];
    /// Which topics.
    TopicPrefix = [query("topic_prefix", "How the topics begin, such as `Audit#`.", text().min_length(Some(1)).max_length(Some(1_015)))];
    /// What becomes of what a node has.
    Removal = [
        words("children", "What becomes of the node's children: with `restrict` it isn't deleted if it has any, with `delete` they and all below them are deleted, with `adopt` they go to its parent, with `detach` they become roots.", &["restrict", "delete", "adopt", "detach"]),
        words("revisions", "What becomes of the node's revisions.", &["keep", "delete"]),
    ];
    /// What a write may be done to.
    Preconditions = [
        header("If-Match", "The entity tag that was read, or `*`: what is there must be that.", ENTITY_TAGS, "\"n0bY6ZyJHlVYBv8TQ2r6Yw\""),
        header("If-None-Match", "`*`: nothing must be there. Or entity tags: what is there must be none of them.", ENTITY_TAGS, "*"),
    ];
    /// What a reader has already.
    Known = [header("If-None-Match", "The entity tags that are known: 304 where it is one of them still.", ENTITY_TAGS, "\"n0bY6ZyJHlVYBv8TQ2r6Yw\"")];
    /// Whether to wait.
    Prefer = [header("Prefer", "`wait=5`: holds the answer for up to so many seconds (at most 20) until the derived rows of what was written are right; 202 where that takes longer. Other preferences are ignored.", "^[ -~]*$", "wait=5")];
    /// How to send a request again.
    Idempotency = [header("Idempotency-Key", "A name of the client's own for this request, of 1 to 255 visible ASCII characters, in quotes or not. The same key and body give the same answer for 24 hours; another body 422, one that is still running 409.", r#"^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$"#, "8e03978e-40d5-43dd-bc93-6894a57f9324")];
}

fn cursor() -> Parameter {
    query(
        "cursor",
        "The `cursor` of the page before. It is bound to this query, but not to `limit`.",
        text().min_length(Some(1)),
    )
}
