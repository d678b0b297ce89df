//! The settings of the two functions, from their environment.

use sapwood_api::cursor::CursorKey;
use sapwood_core::model::{Settings, VariableError};

use crate::serve::Options;

/// The settings of the function that reads.
#[derive(Clone, Debug)]
pub struct ReaderConfig {
    /// The table's name.
    pub table_name: String,
    /// The settings of the table.
    pub settings: Settings,
    /// The keys that make and check cursors.
    pub cursors: CursorKey,
    /// The options of what surrounds the router.
    pub options: Options,
}

/// The settings of the function that writes.
#[derive(Clone, Debug)]
pub struct WriterConfig {
    /// The table's name.
    pub table_name: String,
    /// The settings of the table.
    pub settings: Settings,
    /// True if revisions may be amended and deleted.
    pub revisions_mutable: bool,
    /// True if nodes may be put into the trash.
    pub trash: bool,
    /// The options of what surrounds the router.
    pub options: Options,
}

const CURSOR_KEY: &str = "CURSOR_KEY";
const CURSOR_KEY_OLDER: &str = "CURSOR_KEY_OLDER";
const CURSOR_KEY_WANTED: &str = "a secret of 16 bytes or more, the same for all functions of this deployment";

impl ReaderConfig {
    /// Reads the variables of [`Settings::read`] and [`Options::read`], and:
    ///
    /// | variable | value |
    /// |---|---|
    /// | `TABLE_NAME` | the name of the table |
    /// | `CURSOR_KEY` | a secret of 16 bytes or more |
    /// | `CURSOR_KEY_OLDER` | the secret before it, whose cursors still open; none if empty |
    ///
    /// # Errors
    /// [`VariableError`] for the first variable that is missing or wrong. It never contains the secret.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, VariableError> {
        let table_name = table_name(&lookup)?;
        let missing = VariableError::Missing { name: CURSOR_KEY, expected: CURSOR_KEY_WANTED };
        let secret = given(&lookup, CURSOR_KEY).ok_or(missing)?;
        let too_short = |name: &'static str| {
            move |_| VariableError::Wrong { name, value: "too short".to_owned(), expected: CURSOR_KEY_WANTED }
        };
        let newest = CursorKey::new(secret.as_bytes()).map_err(too_short(CURSOR_KEY))?;
        let cursors = match given(&lookup, CURSOR_KEY_OLDER) {
            Some(older) => newest.with_older(older.as_bytes()).map_err(too_short(CURSOR_KEY_OLDER))?,
            None => newest,
        };
        let settings = Settings::read(&lookup)?;
        let options = Options::read(&lookup, &settings)?;
        Ok(Self { table_name, settings, cursors, options })
    }
}

impl WriterConfig {
    /// Reads the variables of [`Settings::read`] and [`Options::read`], and:
    ///
    /// | variable | value |
    /// |---|---|
    /// | `TABLE_NAME` | the name of the table |
    /// | `REVISIONS_MUTABLE` | `on`: revisions may be amended and deleted; `off`, the default: audits are kept |
    /// | `TRASH` | `on`: nodes may be put into the trash; `off`, the default: what is deleted is gone |
    ///
    /// # Errors
    /// [`VariableError`] for the first variable that is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, VariableError> {
        let table_name = table_name(&lookup)?;
        let is_on = |name| match given(&lookup, name).as_deref() {
            None | Some("off") => Ok(false),
            Some("on") => Ok(true),
            Some(value) => Err(VariableError::Wrong { name, value: value.to_owned(), expected: "`on` or `off`" }),
        };
        let (revisions_mutable, trash) = (is_on("REVISIONS_MUTABLE")?, is_on("TRASH")?);
        let settings = Settings::read(&lookup)?;
        let options = Options::read(&lookup, &settings)?;
        Ok(Self { table_name, settings, revisions_mutable, trash, options })
    }
}

fn given(lookup: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn table_name(lookup: impl Fn(&str) -> Option<String>) -> Result<String, VariableError> {
    let name = "TABLE_NAME";
    given(lookup, name).ok_or(VariableError::Missing { name, expected: "the name of the table" })
}
