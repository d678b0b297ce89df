//! Who calls: as the authorizer in front says, and nothing in the request.

mod claims;
#[cfg(test)]
mod tests;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
pub use claims::{Claims, claims_of};
use sapwood_core::keys::Tenant;

use crate::problem::{Kind, Problem};

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// As it is kept in `_created_by` and `_updated_by`.
    pub name: String,
    /// Its tenant, where the deployment has tenants.
    pub tenant: Option<Tenant>,
}

/// Who says which tenant a caller belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authority {
    /// The claim of the authorizer that names the tenant. None: there are no tenants.
    pub tenant_claim: Option<String>,
}

/// The claims that name a caller, the first that is there.
const NAMES: [&str; 4] = ["sub", "username", "client_id", "userArn"];

impl Authority {
    /// The caller whom these claims name; `nameless` is called so who has no name in them.
    ///
    /// # Errors
    /// [`Kind::Forbidden`] where there are tenants and the claims name none.
    pub fn caller(&self, claims: &Claims, nameless: &str) -> Result<Caller, Problem> {
        let name = NAMES.iter().find_map(|name| claims.get(*name).filter(|value| !value.is_empty()));
        let tenant = self.tenant_claim.as_ref().map(|claim| tenant(claims, claim)).transpose()?;
        Ok(Caller { name: name.map_or(nameless, String::as_str).to_owned(), tenant })
    }
}

fn tenant(claims: &Claims, claim: &str) -> Result<Tenant, Problem> {
    // The claim's name is the deployment's own affair, and its value is never repeated.
    let refused =
        || Problem::new(Kind::Forbidden, "the authorizer names no tenant for this caller; ask for a tenant's claim");
    Tenant::new(claims.get(claim).map(String::as_str).unwrap_or_default()).map_err(|_| refused())
}

/// What the edge found out: kept until a handler asks, so that what is for everybody (`/health`) is answered to everybody.
#[derive(Clone, Debug)]
pub(crate) struct Known(pub(crate) Result<Caller, Problem>);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        // The first is what a test of a bare router puts there.
        if let Some(caller) = parts.extensions.get::<Self>() {
            return Ok(caller.clone());
        }
        match parts.extensions.get::<Known>() {
            Some(Known(known)) => known.clone(),
            None => {
                tracing::error!("the router is served without anybody saying who calls");
                Err(Problem::internal())
            }
        }
    }
}
