//! The settings of the function, read from its environment.

use std::time::Duration;

use sapwood_core::model::{Settings, VariableError};
use sapwood_engine::auditor::Limits;
use sapwood_telemetry::metrics::Metrics;

/// The settings of the function.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name.
    pub table_name: String,
    /// The settings of the table.
    pub settings: Settings,
    /// True if what is wrong is mended, and not only reported.
    pub heals: bool,
    /// The bounds of a run.
    pub limits: Limits,
    /// Where the function writes its metrics.
    pub metrics: Metrics,
}

/// A variable that is missing or wrong.
pub type ConfigError = VariableError;

impl Config {
    /// Reads `TABLE_NAME`, the variables of [`Settings::read`] and [`Metrics::read`], and these:
    ///
    /// | variable | values | default |
    /// |---|---|---|
    /// | `AUDIT` | `repair`, `report` | |
    /// | `AUDIT_READ_UNITS` | the read units of a run, from 1 | 10,000 |
    /// | `AUDIT_PASS_HOURS` | how many hours there are at least from the beginning of one pass to that of the next, from 0 | 24 |
    /// | `AUDIT_SETTLE_SECONDS` | how many seconds a difference must stay the same until it counts, from 0 | 600 |
    ///
    /// # Errors
    /// [`ConfigError`] for the first variable that is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let lookup = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let needed = |name, expected| lookup(name).ok_or(ConfigError::Missing { name, expected });
        let number = |name: &'static str, expected: &'static str, least: u64| match lookup(name) {
            None => Ok(None),
            Some(value) => match value.parse::<u64>().ok().filter(|number| *number >= least) {
                Some(number) => Ok(Some(number)),
                None => Err(ConfigError::Wrong { name, value, expected }),
            },
        };
        let (name, expected) = ("AUDIT", "`repair` or `report`");
        let heals = match needed(name, expected)? {
            value if value == "repair" => true,
            value if value == "report" => false,
            value => return Err(ConfigError::Wrong { name, value, expected }),
        };
        let mut limits = Limits::default();
        if let Some(units) = number("AUDIT_READ_UNITS", "a number from 1", 1)? {
            limits.read_units_max = units as f64;
        }
        if let Some(hours) = number("AUDIT_PASS_HOURS", "a number from 0", 0)? {
            limits.pass_every = Duration::from_secs(hours.saturating_mul(3_600));
        }
        if let Some(seconds) = number("AUDIT_SETTLE_SECONDS", "a number from 0", 0)? {
            limits.settle = Duration::from_secs(seconds);
        }
        Ok(Self {
            table_name: needed("TABLE_NAME", "the name of the table")?,
            settings: Settings::read(lookup)?,
            heals,
            limits,
            metrics: Metrics::read(lookup),
        })
    }
}
