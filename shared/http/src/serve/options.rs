//! The options of a deployment.

use sapwood_core::model::{Settings, VariableError};
use sapwood_telemetry::metrics::Metrics;

use crate::caller::Authority;

/// The options of a deployment.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The origins whose scripts may read the answers, such as `https://app.example.com`, or `*` for all. If there are none,
    /// CORS is off.
    pub cors_origins: Vec<String>,
    /// Which claim names a caller's tenant.
    pub authority: Authority,
    /// The prefix that a custom domain's mapping adds to every path, such as `/trees`; empty for none. A stage's prefix is
    /// known from the event.
    pub base_path: String,
    /// Where the metrics of each request are written.
    pub metrics: Metrics,
}

impl Options {
    /// Reads the variables of [`Metrics::read`], and:
    ///
    /// | variable | value |
    /// |---|---|
    /// | `TENANT_CLAIM` | the authorizer's claim that names the tenant; required if `TENANTS` is `on`, forbidden otherwise |
    /// | `CORS_ORIGINS` | origins with commas between, or `*`; if empty, CORS is off |
    /// | `BASE_PATH` | the prefix that a custom domain's mapping adds to every path |
    ///
    /// # Errors
    /// [`VariableError`] if `TENANT_CLAIM` is missing, or set without tenants.
    pub fn read(lookup: impl Fn(&str) -> Option<String>, settings: &Settings) -> Result<Self, VariableError> {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let tenant_claim = given("TENANT_CLAIM");
        match (&tenant_claim, settings.schema.has_tenants()) {
            (None, true) => {
                let expected = "the claim of the authorizer that names the tenant, since TENANTS is `on`";
                return Err(VariableError::Missing { name: "TENANT_CLAIM", expected });
            }
            (Some(claim), false) => {
                let (value, expected) = (claim.clone(), "nothing, or TENANTS to `on`");
                return Err(VariableError::Wrong { name: "TENANT_CLAIM", value, expected });
            }
            _ => {}
        }
        let origins = given("CORS_ORIGINS").unwrap_or_default();
        let origins = origins.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        Ok(Self {
            cors_origins: origins.map(str::to_owned).collect(),
            authority: Authority { tenant_claim },
            base_path: given("BASE_PATH").unwrap_or_default(),
            metrics: Metrics::read(&lookup),
        })
    }
}
