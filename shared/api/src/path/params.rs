//! The parameters of a path, decoded.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use sapwood_core::keys::{Id, Version};

use super::decode_segment;
use crate::problem::{Kind, Problem};

/// The parameters that a route names: `{id}`, `{topic}`, `{version}`, `{*path}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathParams(BTreeMap<String, String>);

impl PathParams {
    /// Returns an id.
    ///
    /// # Errors
    /// [`Kind::BadPath`] if the segment is badly escaped, [`Kind::BadKey`] if no key can hold the id.
    pub fn id(&self, name: &'static str) -> Result<Id, Problem> {
        Id::new(self.text(name)?).map_err(|error| Problem::from(error).at(name))
    }

    /// Returns a text.
    ///
    /// # Errors
    /// [`Kind::BadPath`] if the segment is badly escaped.
    pub fn text(&self, name: &'static str) -> Result<String, Problem> {
        decoded(name, self.raw(name)?)
    }

    /// Returns a revision's number. Only digits without leading zeros are a number, so that each revision has one URL.
    ///
    /// # Errors
    /// [`Kind::NotFound`] for anything else, since no revision has such a number.
    pub fn version(&self, name: &'static str) -> Result<Version, Problem> {
        let text = self.text(name)?;
        let number = text.parse().ok().filter(|number: &u64| number.to_string() == text);
        let version = number.and_then(|number| Version::new(number).ok());
        version.ok_or_else(|| {
            Problem::new(Kind::NotFound, format!("a version is a number from 1 to {}", Version::MAX)).at(name)
        })
    }

    /// Returns the rest of a path, segment by segment.
    ///
    /// # Errors
    /// [`Kind::BadPath`] if a segment is badly escaped, [`Kind::NotFound`] if the path ends with a slash.
    pub fn segments(&self, name: &'static str) -> Result<Vec<String>, Problem> {
        let segments = self.raw(name)?.split('/').map(|segment| match segment {
            "" => Err(Problem::new(Kind::NotFound, "the path ends with a slash; leave it out")),
            segment => decoded(name, segment),
        });
        segments.collect()
    }

    fn raw(&self, name: &'static str) -> Result<&str, Problem> {
        self.0.get(name).map(String::as_str).ok_or_else(|| {
            tracing::error!(name, "the route has no such parameter");
            Problem::internal()
        })
    }
}

fn decoded(name: &'static str, segment: &str) -> Result<String, Problem> {
    decode_segment(segment).map_err(|error| Problem::new(Kind::BadPath, error.to_string()).at(name))
}

impl<S: Send + Sync> FromRequestParts<S> for PathParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::new(Kind::BadPath, "the escapes of a segment aren't UTF-8"))?;
        Ok(Self(params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }
}
