//! The configuration of the function, read from its environment.

use sapwood_core::model::{Settings, VariableError};
use sapwood_http::serve::Options;

/// The configuration of the function.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name.
    pub table_name: String,
    /// How the table is kept.
    pub settings: Settings,
    /// True if revisions may be amended and deleted.
    pub revisions_mutable: bool,
    /// True if nodes may be put into the trash.
    pub trash: bool,
    /// What is served around the router.
    pub options: Options,
}

/// An environment variable is missing or wrong.
pub type ConfigError = VariableError;

impl Config {
    /// Reads the variables of [`Settings::read`] and [`Options::read`], and:
    ///
    /// | variable | value |
    /// |---|---|
    /// | `TABLE_NAME` | the name of the table |
    /// | `REVISIONS_MUTABLE` | `on`: revisions may be amended and deleted; `off`, the default: audits are kept |
    /// | `TRASH` | `on`: nodes may be put into the trash; `off`, the default: what is deleted is gone |
    ///
    /// # Errors
    /// [`ConfigError`] for the first one that is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let table_name = given("TABLE_NAME")
            .ok_or(ConfigError::Missing { name: "TABLE_NAME", expected: "the name of the table" })?;
        let is_on = |name| match given(name).as_deref() {
            None | Some("off") => Ok(false),
            Some("on") => Ok(true),
            Some(value) => Err(ConfigError::Wrong { name, value: value.to_owned(), expected: "`on` or `off`" }),
        };
        let (revisions_mutable, trash) = (is_on("REVISIONS_MUTABLE")?, is_on("TRASH")?);
        let settings = Settings::read(&lookup)?;
        let options = Options::read(&lookup, &settings)?;
        Ok(Self { table_name, settings, revisions_mutable, trash, options })
    }
}
