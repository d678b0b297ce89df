//! The operations of the API: the one table behind the functions' routers, 405 answers, and the OpenAPI document.
//!
//! To add a call, add a variant to [`ReaderCall`] or [`WriterCall`], its [`Operation`] to a table, and its handler.

macro_rules! operation {
    ($method:ident, $function:expr, $tag:ident, $id:literal, $path:literal { $($field:ident: $value:expr),* $(,)? }) => {
        // A page that calls the API in itself has no use for the document.
        if cfg!(target_family = "wasm") {
            super::Operation::bare($id, axum::http::Method::$method, $path, $function)
        } else {
            super::Operation {
                id: $id,
                method: axum::http::Method::$method,
                path: $path,
                function: $function,
                tag: super::Tag::$tag,
                $($field: $value,)*
            }
        }
    };
}

macro_rules! of_reader {
    ($tag:ident $call:ident: $id:literal, $path:literal { $($fields:tt)* }) => {
        operation!(GET, super::Function::Reader(super::ReaderCall::$call), $tag, $id, $path { body: None, $($fields)* })
    };
}

macro_rules! of_writer {
    ($method:ident $call:ident: $id:literal, $path:literal { $($fields:tt)* }) => {
        operation!($method, super::Function::Writer(super::WriterCall::$call), Write, $id, $path { $($fields)* })
    };
}

mod nodes;
mod parameters;
pub(super) mod problems;
mod reads;
mod revisions;
mod service;

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::reads::PageBody;

pub(super) type Schemas = BTreeMap<String, Value>;

/// An operation of the API: a method on a path, with its parameters, its body and its answers.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The `operationId` of the OpenAPI document, such as `get_node`.
    pub id: &'static str,
    /// The method. `GET` stands for `HEAD` as well.
    pub method: Method,
    /// The path, such as `/nodes/{id}`. The parameter `{path}` stands for one segment or more.
    pub path: &'static str,
    /// The function that serves the operation, and the call that does.
    pub function: Function,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    /// The parameters, and groups of them that many operations take.
    pub(super) parameters: &'static [&'static [parameters::Parameter]],
    pub(super) body: Option<Body>,
    pub(super) answers: &'static [Answer],
    pub(super) problems: &'static [u16],
}

/// A function with the call that serves an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The function `api-reader`.
    Reader(ReaderCall),
    /// The function `api-writer`.
    Writer(WriterCall),
}

/// The calls that the function `api-reader` serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the operations say what each does")]
pub enum ReaderCall {
    ListRoots,
    ListTrash,
    GetNode,
    GetNodes,
    ListAncestors,
    GetInherited,
    GetGranted,
    ListChildren,
    ListDescendants,
    ListLinks,
    GetTree,
    GetTotals,
    CountDescendants,
    ListChanges,
    ListRecent,
    ListPaths,
    ListPathsByUrl,
    GetPropagation,
    ListOperations,
    GetOperation,
    ListLatest,
    GetLatest,
    ListRevisions,
    ListTopic,
    GetRevision,
    GetIndex,
    GetOpenapi,
    GetDocs,
    GetHealth,
    GetAudit,
}

/// The calls that the function `api-writer` serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the operations say what each does")]
pub enum WriterCall {
    CreateNode,
    PutNode,
    PatchNode,
    DeleteNode,
    TrashNode,
    RestoreNode,
    CopyNode,
    Batch,
    AppendRevision,
    AmendRevision,
    DeleteRevision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Write,
    Read,
    Service,
}

type Schema = fn(&mut Schemas) -> Value;

#[derive(Clone, Debug)]
pub(super) struct Body {
    media_type: &'static str,
    schema: Schema,
    /// Returns an object with the member `example` or `examples`, as the document's media type object has it.
    examples: fn() -> Value,
    is_optional: bool,
}

/// An answer to a request that is carried out.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    status: u16,
    description: &'static str,
    headers: &'static [Header],
    content: Option<(&'static str, Schema)>,
    example: Option<fn() -> Value>,
}

#[derive(Clone, Debug)]
pub(super) struct Header {
    name: &'static str,
    description: &'static str,
    is_required: bool,
}

const LOCATION: Header = always("Location", "The path of what was created.");
const OPERATION_LOCATION: Header = always("Location", "The path of the operation.");
const ETAG: Header = always("ETag", "The entity tag.");
const ETAG_OF_NODE: Header = sometimes("ETag", "The entity tag. With `expand` it is in the body.");
const LINK: Header = sometimes("Link", "The next page (`rel=\"next\"`), if there is one.");
const IDEMPOTENCY_REPLAYED: Header =
    sometimes("Idempotency-Replayed", "`true`, if an earlier request with the same `Idempotency-Key` had this answer.");
const WRITTEN: Header = sometimes(
    "Sapwood-Consistency-Token",
    "The token of what the stream derives from the write: `written` of a read that must show it.",
);
const LOCATION_OF_MOVE: Header =
    sometimes("Location", "Where to see how far a move is, if the request names a parent, a segment or a position.");
const LOCATION_OF_CREATED: Header = sometimes("Location", "The path of what was created.");
const PREFERENCE_APPLIED: Header = sometimes("Preference-Applied", "The preferences that applied.");

const CREATED: &[Header] = &[LOCATION, ETAG, PREFERENCE_APPLIED, WRITTEN];
const SAVED: &[Header] = &[LOCATION_OF_CREATED, ETAG, PREFERENCE_APPLIED, WRITTEN];
const MOVED: &[Header] = &[LOCATION_OF_MOVE, ETAG, PREFERENCE_APPLIED, WRITTEN];
const CHANGED: &[Header] = &[ETAG, PREFERENCE_APPLIED, WRITTEN];
const BEGUN: &[Header] = &[OPERATION_LOCATION, PREFERENCE_APPLIED, WRITTEN];

/// Adds to an example when and by whom it was created, and changed if it `is_changed`.
fn written(mut example: Value, is_changed: bool) -> Value {
    let first = ("2026-02-03T04:05:06.789Z", "anna");
    let last = if is_changed { ("2026-02-04T05:06:07.890Z", "ben") } else { first };
    (example["created_at"], example["created_by"]) = (first.0.into(), first.1.into());
    (example["updated_at"], example["updated_by"]) = (last.0.into(), last.1.into());
    example
}

const fn always(name: &'static str, description: &'static str) -> Header {
    Header { name, description, is_required: true }
}

const fn sometimes(name: &'static str, description: &'static str) -> Header {
    Header { name, description, is_required: false }
}

/// Returns all operations of the API.
pub fn operations() -> impl Iterator<Item = &'static Operation> + Clone {
    let tables: [&'static [Operation]; 4] =
        [&nodes::OPERATIONS, &revisions::OPERATIONS, &reads::OPERATIONS, &service::OPERATIONS];
    tables.into_iter().flatten()
}

impl Operation {
    /// An operation without what the document says of it.
    const fn bare(id: &'static str, method: Method, path: &'static str, function: Function) -> Self {
        let (summary, description) = ("", "");
        let (parameters, answers, problems): (&[&[_]], &[_], &[_]) = (&[], &[], &[]);
        let (tag, body) = (Tag::Read, None);
        Self { id, method, path, function, tag, summary, description, parameters, body, answers, problems }
    }

    /// Returns the status codes that the operation can answer with, in ascending order.
    #[must_use]
    pub fn statuses(&self) -> Vec<u16> {
        let answers = self.answers.iter().map(|answer| answer.status);
        let mut statuses: Vec<u16> = answers.chain(self.problems.iter().copied()).collect();
        statuses.sort_unstable();
        statuses
    }

    /// Returns the path as `axum` writes it: `{path}` takes all remaining segments.
    #[must_use]
    pub fn route(&self) -> String {
        self.path.replace("{path}", "{*path}")
    }

    pub(super) fn parameters(&self) -> Vec<Value> {
        self.parameters.iter().copied().flatten().map(|parameter| parameter()).collect()
    }

    /// Returns the operation object of the OpenAPI document, and adds the schemas that it refers to.
    pub(super) fn document(&self, schemas: &mut Schemas) -> Value {
        let parameters = self.parameters();
        let is_keyed = parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key");
        let answers = self.answers.iter().map(|answer| {
            let mut document = answer.document(schemas);
            if is_keyed {
                IDEMPOTENCY_REPLAYED.add_to(&mut document);
            }
            (answer.status.to_string(), document)
        });
        let mut responses: Map<String, Value> = answers.collect();
        responses.extend(problems::references(self.problems));
        responses.extend(problems::of_the_gateway());
        let mut operation = json!({
            "operationId": self.id,
            "tags": [self.tag.name()],
            "summary": self.summary,
            "responses": responses,
        });
        if !self.description.is_empty() {
            operation["description"] = self.description.into();
        }
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some(body) = &self.body {
            operation["requestBody"] = body.document(schemas);
        }
        operation
    }
}

impl Tag {
    pub(super) const ALL: [Self; 3] = [Self::Write, Self::Read, Self::Service];

    fn name(self) -> &'static str {
        match self {
            Self::Write => "Write",
            Self::Read => "Read",
            Self::Service => "Service",
        }
    }

    pub(super) fn document(self) -> Value {
        let description = match self {
            Self::Write => "The calls that write base records. The table's stream does the rest.",
            Self::Read => "The calls that read.",
            Self::Service => "The calls about the API itself.",
        };
        json!({"name": self.name(), "description": description})
    }
}

impl Body {
    const fn json<T: ToSchema>(examples: fn() -> Value) -> Self {
        Self { media_type: "application/json", schema: reference::<T>, examples, is_optional: false }
    }

    const fn merge_patch<T: ToSchema>(examples: fn() -> Value) -> Self {
        Self { media_type: "application/merge-patch+json", schema: reference::<T>, examples, is_optional: false }
    }

    const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    fn document(&self, schemas: &mut Schemas) -> Value {
        let mut content = (self.examples)();
        content["schema"] = (self.schema)(schemas);
        json!({"required": !self.is_optional, "content": {self.media_type: content}})
    }
}

impl Answer {
    const fn empty(status: u16, description: &'static str) -> Self {
        Self { status, description, headers: &[], content: None, example: None }
    }

    const fn json<T: ToSchema>(status: u16, description: &'static str) -> Self {
        Self { content: Some(("application/json", reference::<T>)), ..Self::empty(status, description) }
    }

    const fn page_of<T: ToSchema>(description: &'static str) -> Self {
        Self::json::<PageBody<T>>(200, description).headers(&[LINK, PREFERENCE_APPLIED])
    }

    /// The answer to a change whose client prefers a minimal one.
    const fn minimal(description: &'static str) -> Self {
        Self::empty(204, description).headers(CHANGED)
    }

    /// An answer of 200 with a JSON object of any shape.
    const fn object(description: &'static str) -> Self {
        let schema = |_: &mut Schemas| json!({"type": "object", "additionalProperties": true});
        Self { content: Some(("application/json", schema)), ..Self::empty(200, description) }
    }

    const fn page(description: &'static str) -> Self {
        let schema = |_: &mut Schemas| json!({"type": "string"});
        Self { content: Some(("text/html", schema)), ..Self::empty(200, description) }
    }

    const fn headers(self, headers: &'static [Header]) -> Self {
        Self { headers, ..self }
    }

    const fn example(self, example: fn() -> Value) -> Self {
        Self { example: Some(example), ..self }
    }

    fn document(&self, schemas: &mut Schemas) -> Value {
        let mut response = json!({"description": self.description});
        for header in self.headers {
            header.add_to(&mut response);
        }
        if let Some((media_type, schema)) = self.content {
            response["content"][media_type]["schema"] = schema(schemas);
            if let Some(example) = self.example {
                response["content"][media_type]["example"] = example();
            }
        }
        response
    }
}

impl Header {
    fn add_to(&self, response: &mut Value) {
        let Self { name, description, is_required } = self;
        let header = json!({"description": description, "required": is_required, "schema": {"type": "string"}});
        response["headers"][name] = header;
    }
}

/// Returns a reference to a type's schema. Adds that schema, and those that it refers to.
pub(super) fn reference<T: ToSchema>(schemas: &mut Schemas) -> Value {
    let name = T::name().into_owned();
    if !schemas.contains_key(&name) {
        let mut found = vec![(name.clone(), T::schema())];
        T::schemas(&mut found);
        // A schema is made of text and numbers alone, so it is JSON.
        schemas
            .extend(found.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default())));
    }
    json!({"$ref": format!("#/components/schemas/{name}")})
}
