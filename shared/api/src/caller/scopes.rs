//! Scopes: what a caller's token allows ([RFC 6749, 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)). API
//! Gateway can demand scopes by route only, and a batch holds writes and deletions, so the functions demand them.

use std::collections::BTreeMap;

use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Method};

use super::Claims;
use crate::problem::{Kind, Problem};

/// The claims that hold a token's scopes: OAuth's, and that of Microsoft and Okta.
const CLAIMS: [&str; 2] = ["scope", "scp"];

/// A right: a call needs it, and a token gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// To read.
    Read,
    /// To create and to change.
    Write,
    /// To delete.
    Delete,
}

impl Right {
    /// The right that a method needs.
    #[must_use]
    pub fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::Read,
            Method::DELETE => Self::Delete,
            _ => Self::Write,
        }
    }
}

/// The scope that each right needs. A right without a scope is everybody's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes(pub BTreeMap<Right, String>);

/// The rights that a caller lacks, with the scopes that would give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lacks(BTreeMap<Right, String>);

impl Scopes {
    /// Reads scopes as `read=<scope>,write=<scope>,delete=<scope>`, each optional; `None` for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut scopes = BTreeMap::new();
        for pair in text.split(',') {
            let (right, scope) = pair.trim().split_once('=')?;
            let right = match right {
                "read" => Right::Read,
                "write" => Right::Write,
                "delete" => Right::Delete,
                _ => return None,
            };
            // The characters of a scope (RFC 6749, 3.3).
            let is_scope =
                !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
            if !is_scope || scopes.insert(right, scope.to_owned()).is_some() {
                return None;
            }
        }
        Some(Self(scopes))
    }

    /// Returns what these claims don't allow.
    #[must_use]
    pub fn lacking(&self, claims: &Claims) -> Lacks {
        let has = |scope: &str| CLAIMS.iter().filter_map(|claim| claims.get(*claim)).any(|has| names(has, scope));
        Lacks(self.0.iter().filter(|(_, scope)| !has(scope)).map(|(right, scope)| (*right, scope.clone())).collect())
    }
}

/// True if a claim names a scope, between spaces. API Gateway writes a list as `[a b]`. Scopes can have a bracket.
fn names(claim: &str, scope: &str) -> bool {
    let list = claim.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    list.unwrap_or(claim).split(' ').any(|name| name == scope)
}

impl Lacks {
    /// True if the caller lacks this right.
    #[must_use]
    pub fn include(&self, right: Right) -> bool {
        self.0.contains_key(&right)
    }

    pub(super) fn demand(&self, right: Right) -> Result<(), Problem> {
        let Some(scope) = self.0.get(&right) else { return Ok(()) };
        let detail = format!("the caller's token lacks the scope `{scope}`; ask for a token that has it");
        let problem = Problem::new(Kind::Forbidden, detail);
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        Err(match HeaderValue::try_from(challenge) {
            Ok(challenge) => problem.header(WWW_AUTHENTICATE, challenge),
            Err(_) => problem,
        })
    }
}
