//! What the function is told by its environment.

use sapwood_core::model::{Settings, VariableError};
use sapwood_telemetry::metrics::Metrics;

/// What the function has to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name.
    pub table_name: String,
    /// How it is kept.
    pub settings: Settings,
    /// Where its metrics go.
    pub metrics: Metrics,
}

/// A variable that is missing or wrong.
pub type ConfigError = VariableError;

impl Config {
    /// Reads `TABLE_NAME` and the variables of [`Settings::read`] and [`Metrics::read`].
    ///
    /// # Errors
    /// [`ConfigError`] for the first one that is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let table_name = lookup("TABLE_NAME")
            .filter(|name| !name.trim().is_empty())
            .ok_or(ConfigError::Missing { name: "TABLE_NAME", expected: "the name of the table" })?;
        Ok(Self { table_name, settings: Settings::read(&lookup)?, metrics: Metrics::read(lookup) })
    }
}
