//! The settings of the function, from its environment.

use sapwood_core::model::{Settings, VariableError};
use sapwood_http::cursor::CursorKey;
use sapwood_http::serve::Options;

/// The settings of the function.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name.
    pub table_name: String,
    /// The settings of the table.
    pub settings: Settings,
    /// The keys that make and check cursors.
    pub cursors: CursorKey,
    /// The options of what surrounds the router.
    pub options: Options,
}

/// A variable is missing or wrong.
pub type ConfigError = VariableError;

const CURSOR_KEY: &str = "CURSOR_KEY";
const CURSOR_KEY_OLDER: &str = "CURSOR_KEY_OLDER";
const CURSOR_KEY_WANTED: &str = "a secret of 16 bytes or more, the same for all functions of this deployment";

impl Config {
    /// Reads the variables of [`Settings::read`] and [`Options::read`], and:
    ///
    /// | variable | value |
    /// |---|---|
    /// | `TABLE_NAME` | the name of the table |
    /// | `CURSOR_KEY` | a secret of 16 bytes or more |
    /// | `CURSOR_KEY_OLDER` | the secret before it, whose cursors still open; none if empty |
    ///
    /// # Errors
    /// [`ConfigError`] for the first variable that is missing or wrong. It never contains the secret.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let needed =
            |name: &'static str, expected: &'static str| given(name).ok_or(ConfigError::Missing { name, expected });
        let table_name = needed("TABLE_NAME", "the name of the table")?;
        let secret = needed(CURSOR_KEY, CURSOR_KEY_WANTED)?;
        let too_short = |name: &'static str| {
            move |_| ConfigError::Wrong { name, value: "too short".to_owned(), expected: CURSOR_KEY_WANTED }
        };
        let newest = CursorKey::new(secret.as_bytes()).map_err(too_short(CURSOR_KEY))?;
        let cursors = match given(CURSOR_KEY_OLDER) {
            Some(older) => newest.with_older(older.as_bytes()).map_err(too_short(CURSOR_KEY_OLDER))?,
            None => newest,
        };
        let settings = Settings::read(&lookup)?;
        let options = Options::read(&lookup, &settings)?;
        Ok(Self { table_name, settings, cursors, options })
    }
}
