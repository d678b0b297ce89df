//! `If-Match` and `If-None-Match` ([RFC 9110, 13.1](https://www.rfc-editor.org/rfc/rfc9110#section-13.1)).

use axum::extract::FromRequestParts;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};

use super::{Etag, bad_header, joined};
use crate::problem::{Kind, Problem};

/// What must hold for a request to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// It must be one of these.
    pub if_match: Option<Etags>,
    /// It must be none of these.
    pub if_none_match: Option<Etags>,
}

/// The entity tags that a client names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Etags {
    /// `*`: whatever is there, as long as something is.
    Any,
    /// These.
    These(Vec<Named>),
}

/// One entity tag as a client wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    weak: bool,
    opaque: String,
}

impl Preconditions {
    /// Of these headers.
    ///
    /// # Errors
    /// [`Kind::BadHeader`] for what is neither `*` nor a list of entity tags.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let read = |name: &HeaderName| joined(headers, name)?.map(|text| Etags::parse(name, &text)).transpose();
        Ok(Self { if_match: read(&IF_MATCH)?, if_none_match: read(&IF_NONE_MATCH)? })
    }

    /// Whether a write may be done to what has this entity tag now; None: nothing is there.
    ///
    /// # Errors
    /// [`Kind::PreconditionFailed`], with the header that doesn't hold.
    pub fn check(&self, now: Option<&Etag>) -> Result<(), Problem> {
        let failed = |name: &HeaderName, detail: &str| Problem::new(Kind::PreconditionFailed, detail).at(name.as_str());
        if self.if_match.as_ref().is_some_and(|wanted| !wanted.hold(now, true)) {
            return Err(failed(
                &IF_MATCH,
                match now {
                    Some(_) => "it has been changed; read it again",
                    None => "it isn't there",
                },
            ));
        }
        if self.if_none_match.as_ref().is_some_and(|unwanted| unwanted.hold(now, false)) {
            return Err(failed(&IF_NONE_MATCH, "it is there already"));
        }
        Ok(())
    }

    /// Whether a reader has this content already: answer 304.
    #[must_use]
    pub fn unchanged(&self, now: &Etag) -> bool {
        self.if_none_match.as_ref().is_some_and(|known| known.hold(Some(now), false))
    }
}

impl Etags {
    fn parse(name: &HeaderName, text: &str) -> Result<Self, Problem> {
        if text.trim() == "*" {
            return Ok(Self::Any);
        }
        let mut found = Vec::new();
        // Backslashes are no escapes in an entity tag.
        let mut rest = text.trim_matches([' ', '\t', ',']);
        while !rest.is_empty() {
            let (weak, quoted) = rest.strip_prefix("W/").map_or((false, rest), |quoted| (true, quoted));
            let (opaque, after) = quoted
                .strip_prefix('"')
                .and_then(|open| open.split_once('"'))
                .filter(|(opaque, after)| {
                    !opaque.contains([' ', '\t']) && (after.is_empty() || after.starts_with([' ', '\t', ',']))
                })
                .ok_or_else(|| bad_header(name, "it must be `*` or entity tags in quotes, with commas between them"))?;
            found.push(Named { weak, opaque: opaque.to_owned() });
            rest = after.trim_start_matches([' ', '\t', ',']);
        }
        match found.is_empty() {
            true => Err(bad_header(name, "it is empty; give an entity tag, or leave it out")),
            false => Ok(Self::These(found)),
        }
    }

    /// Whether one of them is that of now; a weak one never is by the strong comparison.
    fn hold(&self, now: Option<&Etag>, strong: bool) -> bool {
        let Some(now) = now else { return false };
        match self {
            Self::Any => true,
            Self::These(tags) => tags.iter().any(|tag| !(strong && tag.weak) && tag.opaque == now.opaque()),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Preconditions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Self::read(&parts.headers)
    }
}
