//! The options of a deployment.

use sapwood_core::model::{Settings, VariableError};
use sapwood_telemetry::metrics::Metrics;

use sapwood_api::caller::{Authority, Scopes};

/// The claims of an IAM caller that hold the name of its session, which the caller chooses.
const CHOSEN_BY_CALLERS: [&str; 3] = ["userArn", "userId", "callerId"];

/// Claims of OpenID Connect that users can usually change themselves.
const CHANGED_BY_USERS: [&str; 9] = [
    "email",
    "family_name",
    "given_name",
    "name",
    "nickname",
    "phone_number",
    "preferred_username",
    "profile",
    "website",
];

/// The options of a deployment.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The origins whose scripts may read the answers, such as `https://app.example.com`, or `*`. None: CORS is off.
    pub cors_origins: Vec<String>,
    /// The claim of a caller's token that names the caller's tenant.
    pub authority: Authority,
    /// The prefix of a custom domain's mapping, such as `/trees`, or empty. A stage's is in the event.
    pub base_path: String,
    /// Where the metrics of each request are written.
    pub metrics: Metrics,
}

impl Options {
    /// Reads the variables of [`Metrics::read`], and:
    ///
    /// | variable | value |
    /// |---|---|
    /// | `TENANT_CLAIM` | the authorizer's claim that names the tenant; required if `TENANTS` is `on`, forbidden otherwise. A claim that callers choose is refused, and one that users can usually change is logged |
    /// | `SCOPES` | the scopes that a caller's token must have, such as `read=trees/read,write=trees/write,delete=trees/delete`; what isn't named needs none |
    /// | `CORS_ORIGINS` | origins with commas between, or `*`; if empty, CORS is off |
    /// | `BASE_PATH` | the prefix that a custom domain's mapping adds to every path |
    ///
    /// # Errors
    /// [`VariableError`] if `TENANT_CLAIM` is missing, set without tenants, or a claim that callers choose themselves,
    /// and if `SCOPES` can't be read.
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
            (Some(claim), true) if CHOSEN_BY_CALLERS.contains(&claim.as_str()) => {
                let expected =
                    "a claim that callers can't choose; this one holds the name that a caller gives to its session";
                return Err(VariableError::Wrong { name: "TENANT_CLAIM", value: claim.clone(), expected });
            }
            (Some(claim), true) if CHANGED_BY_USERS.contains(&claim.as_str()) => {
                tracing::warn!(claim, "users can usually change this claim themselves, and so choose their tenant");
            }
            _ => {}
        }
        let scopes = given("SCOPES").map(|text| Scopes::parse(&text).ok_or(text)).transpose();
        let scopes = scopes.map_err(|value| {
            let expected = "`read=<scope>`, `write=<scope>` and `delete=<scope>`, or some of them, with commas between";
            VariableError::Wrong { name: "SCOPES", value, expected }
        })?;
        let origins = given("CORS_ORIGINS").unwrap_or_default();
        let origins = origins.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        Ok(Self {
            cors_origins: origins.map(str::to_owned).collect(),
            authority: Authority { tenant_claim, scopes: scopes.unwrap_or_default() },
            base_path: given("BASE_PATH").unwrap_or_default(),
            metrics: Metrics::read(&lookup),
        })
    }
}
