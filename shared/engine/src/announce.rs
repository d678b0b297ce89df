//! Leaves the handler's settings in the table, and finds them there.

use sapwood_core::model::{Announcement, NewerFormat, Settings};
use sapwood_core::plan::Task;
use sapwood_core::request::Action;
use sapwood_store::{Client, Condition, ReadOptions, RetryPolicy, Table, TableError};

/// Writes the announcement, unless the table has it or that of a newer version. Returns true if it was written.
pub async fn announce<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    release: &str,
) -> Result<bool, TableError> {
    let announcement = Announcement::of(settings, release);
    match announced(client).await? {
        Ok(there) if there.as_ref() != Some(&announcement) => {}
        Ok(_) | Err(_) => return Ok(false),
    }
    let schema = &settings.schema;
    let (key, item) = (schema.settings_key(), announcement.item(schema));
    let task = Task::Write(Action::Put { key, item, condition: Condition::Always });
    client.carry_out(&task).await.outcome.map(|_| true)
}

/// Reads the announcement of the table's handler. `None` if no handler has left one.
///
/// # Errors
/// [`TableError`] if the table can't be read. The inner error is that of a newer version's announcement.
pub async fn announced<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
) -> Result<Result<Option<Announcement>, NewerFormat>, TableError> {
    let found = client.get(&client.schema().settings_key(), &ReadOptions::default()).await?;
    Ok(found.as_ref().map_or(Ok(None), Announcement::read))
}
