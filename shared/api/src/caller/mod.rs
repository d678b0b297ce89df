//! The caller of a request. Only the authorizer in front of the API names the caller; nothing in the request does.

mod scopes;

use std::collections::BTreeMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use sapwood_core::keys::Tenant;
pub use scopes::{Lacks, Right, Scopes};

use crate::problem::{Kind, Problem};

/// The claims about a caller, by their names.
pub type Claims = BTreeMap<String, String>;

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The caller's name, as `_created_by` and `_updated_by` keep it.
    pub name: String,
    /// The caller's tenant, if the deployment has tenants.
    pub tenant: Option<Tenant>,
    /// The rights that the caller's token doesn't give.
    pub lacks: Lacks,
}

/// The claim of a caller's token that names the caller's tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authority {
    /// The authorizer's claim that names the tenant; `None` if the deployment has no tenants.
    pub tenant_claim: Option<String>,
    /// The scopes that callers need.
    pub scopes: Scopes,
}

/// The claims that can name a caller, in order. Users of a Cognito identity pool share the rest.
const NAMES: [&str; 5] = ["sub", "username", "client_id", "cognitoIdentityId", "userArn"];

impl Caller {
    /// A caller of this name, who may do everything.
    #[must_use]
    pub fn named(name: impl Into<String>, tenant: Option<Tenant>) -> Self {
        Self { name: name.into(), tenant, lacks: Lacks::default() }
    }

    /// True if the caller's token allows this.
    #[must_use]
    pub fn may(&self, right: Right) -> bool {
        !self.lacks.include(right)
    }

    /// Checks that the caller's token allows this.
    ///
    /// # Errors
    /// [`Kind::Forbidden`], with the scope that is needed.
    pub fn demand(&self, right: Right) -> Result<(), Problem> {
        self.lacks.demand(right)
    }
}

impl Authority {
    /// Returns the caller whom these claims name. A caller without a name is called `nameless`.
    ///
    /// # Errors
    /// [`Kind::Forbidden`] if the deployment has tenants and the claims name none.
    pub fn caller(&self, claims: &Claims, nameless: &str) -> Result<Caller, Problem> {
        let name = NAMES.iter().find_map(|name| claims.get(*name).filter(|value| !value.is_empty()));
        let tenant = self.tenant_claim.as_ref().map(|claim| tenant(claims, claim)).transpose()?;
        let name = name.map_or(nameless, String::as_str).to_owned();
        Ok(Caller { name, tenant, lacks: self.scopes.lacking(claims) })
    }
}

fn tenant(claims: &Claims, claim: &str) -> Result<Tenant, Problem> {
    // The problem names neither the claim, which is the deployment's own affair, nor its value.
    let refused =
        || Problem::new(Kind::Forbidden, "the authorizer names no tenant for this caller; ask for a claim that does");
    Tenant::new(claims.get(claim).map(String::as_str).unwrap_or_default()).map_err(|_| refused())
}

/// The caller, or why there is none. A handler asks for it, so a call for everybody (`/health`) is answered to all.
#[derive(Clone, Debug)]
pub struct Known(pub Result<Caller, Problem>);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        // A test of a bare router puts a caller here.
        if let Some(caller) = parts.extensions.get::<Self>() {
            return Ok(caller.clone());
        }
        match parts.extensions.get::<Known>() {
            Some(Known(known)) => known.clone(),
            None => {
                tracing::error!("the router is served without a caller");
                Err(Problem::internal())
            }
        }
    }
}
