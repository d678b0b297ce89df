//! What a deployment chooses.

use crate::caller::Authority;

/// What a deployment chooses.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Origins whose scripts may read the answers, such as `https://app.example.com`; `*` for all. Empty: CORS is off.
    pub cors_origins: Vec<String>,
    /// Who says which tenant a caller belongs to.
    pub authority: Authority,
    /// What a custom domain's mapping puts in front of every path, such as `/trees`; empty for none. A stage needs no saying.
    pub base_path: String,
}
