//! JSON bodies, and what is said of those that don't fit.

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::read_whole;
use crate::headers::{demand_json, demand_merge_patch};
use crate::problem::{Kind, Problem};

/// A JSON body.
#[derive(Clone, Debug)]
pub struct JsonBody<T>(pub T);

/// The body of a PATCH.
#[derive(Clone, Debug)]
pub struct MergePatch<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let typed = demand_json(request.headers());
        read(request, typed).await.map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for MergePatch<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let typed = demand_merge_patch(request.headers());
        read(request, typed).await.map(Self)
    }
}

async fn read<T: DeserializeOwned>(request: Request, typed: Result<(), Problem>) -> Result<T, Problem> {
    let bytes = read_whole(request.into_body()).await?;
    if bytes.is_empty() {
        return Err(Problem::new(Kind::BadJson, "the body is empty; this call takes JSON"));
    }
    typed?;
    parse(&bytes)
}

/// Reads JSON into a type. The problem says where and what, and never what was in the body but names of fields.
///
/// # Errors
/// [`Kind::BadJson`].
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Problem::new(Kind::BadJson, format!("the body is no UTF-8 from byte {} on", error.valid_up_to()))
    })?;
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        problem(error.inner(), (path != ".").then_some(path))
    })?;
    json.end().map_err(|error| problem(&error, None))?;
    Ok(value)
}

fn problem(error: &serde_json::Error, path: Option<String>) -> Problem {
    let place = format!("line {}, column {}", error.line(), error.column());
    if error.classify() != Category::Data {
        let how = if error.is_eof() { "it ends too early" } else { "it isn't well-formed, or is nested too deep" };
        return Problem::new(Kind::BadJson, format!("the body is no JSON: {how}, at {place}"));
    }
    let (detail, field) = data(&error.to_string(), path);
    let problem = Problem::new(Kind::BadJson, format!("{detail}, at {place}"));
    match field {
        Some(field) => problem.at(field.chars().take(FIELD_CHARS_MAX).collect::<String>()),
        None => problem,
    }
}

/// Longest path to a field that is repeated in a problem.
const FIELD_CHARS_MAX: usize = 200;

/// What serde says, without the value that it says it of; and the field at fault.
fn data(message: &str, path: Option<String>) -> (String, Option<String>) {
    let named = |prefix: &str| {
        let name = message.strip_prefix(prefix)?.split('`').next()?;
        // The path may end with the field itself or with what it is in.
        Some(match &path {
            Some(path) if path == name || path.ends_with(&format!(".{name}")) => path.clone(),
            Some(path) => format!("{path}.{name}"),
            None => name.to_owned(),
        })
    };
    let expected = || {
        let expected = message.rsplit_once(", expected ")?.1;
        Some(expected.rsplit_once(" at line ").map_or(expected, |(expected, _)| expected).to_owned())
    };
    if let Some(field) = named("unknown field `") {
        let known = expected().filter(|known| !known.is_empty());
        return (
            known.map_or("an unknown field".into(), |known| format!("an unknown field; expected is {known}")),
            Some(field),
        );
    }
    if let Some(field) = named("missing field `") {
        return ("a field is missing".into(), Some(field));
    }
    if let Some(field) = named("duplicate field `") {
        return ("a field is there twice".into(), Some(field));
    }
    let known = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant "];
    let expected = expected().filter(|_| known.iter().any(|known| message.starts_with(known)));
    (
        expected
            .map_or("a value doesn't fit".into(), |expected| format!("a value doesn't fit; expected is {expected}")),
        path,
    )
}
