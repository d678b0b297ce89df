//! The settings of the function, read from its environment.

use sapwood_core::model::{Settings, VariableError};
use sapwood_telemetry::metrics::Metrics;

/// The settings of the function.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name.
    pub table_name: String,
    /// The settings of the table.
    pub settings: Settings,
    /// Where the function writes its metrics.
    pub metrics: Metrics,
}

/// A variable that is missing or wrong.
pub type ConfigError = VariableError;

impl Config {
    /// Reads `TABLE_NAME` and the variables of [`Settings::read`] and [`Metrics::read`].
    ///
    /// # Errors
    /// [`ConfigError`] for the first variable that is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let table_name = lookup("TABLE_NAME")
            .filter(|name| !name.trim().is_empty())
            .ok_or(ConfigError::Missing { name: "TABLE_NAME", expected: "the name of the table" })?;
        Ok(Self { table_name, settings: Settings::read(&lookup)?, metrics: Metrics::read(lookup) })
    }
}
