//! The deletion of expired items, in small pages.
//!
//! dynoxide's own sweep reads all tables in one call, on the thread that answers requests. Here a call reads one page,
//! and the caller pauses. The benchmark `tests/long_table.rs` measures the longest wait for an answer.
//!
//! The sweep has connections of its own to the database. They run on the engine's thread, so that no statement of
//! dynoxide's is under way meanwhile.

use std::time::{SystemTime, UNIX_EPOCH};

use dynoxide::actions::delete_item::{self, DeleteItemRequest};
use dynoxide::storage::{ScanParams, Storage, TableMetadata};
use dynoxide::{AttributeValue, Item, streams};

/// The most items of a page: few enough that no request waits long for it, even if all of them have expired.
pub(super) const PAGE_ITEMS_MAX: usize = 50;

/// Has every record of this connection name the service that deletes expired items, as AWS does; users' don't.
const NAME_THE_SERVICE: &str = r#"CREATE TEMP TRIGGER deleted_by_the_service AFTER INSERT ON main._stream_records BEGIN
    UPDATE _stream_records SET user_identity = '{"type":"Service","principalId":"dynamodb.amazonaws.com"}' WHERE rowid = new.rowid;
END"#;

/// Passes over all tables with a TTL attribute, page by page.
pub(super) struct Sweep {
    database: String,
    storage: Storage,
    /// The end of the last page. None: the next page is a pass's first.
    at: Option<SweepPosition>,
}

/// A position in a pass. Tables are passed by name, and items by key.
struct SweepPosition {
    table: String,
    /// None: the whole table has been read.
    after: Option<(String, String)>,
}

/// The result of a page of the sweep.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Swept {
    pub(super) read: usize,
    pub(super) deleted: usize,
    /// True if the pass has ended. The next page is the first of another.
    pub(super) is_last: bool,
}

impl Sweep {
    /// Makes a sweep of a database that dynoxide has opened.
    pub(super) fn new(database: &str) -> dynoxide::Result<Self> {
        Ok(Sweep { database: database.to_owned(), storage: Storage::new(database)?, at: None })
    }

    /// Reads the next page, and deletes what has expired in it. If it fails, the next call goes on after the page.
    pub(super) async fn page(&mut self) -> dynoxide::Result<Swept> {
        // The list is read anew for each page: tables come and go, and so do their TTL attributes.
        let tables = self.storage.list_ttl_enabled_tables()?;
        let (table, after) = match self.at.take() {
            None => (tables.first(), None),
            Some(SweepPosition { table, after: Some(key) }) if tables.iter().any(|one| one.table_name == table) => {
                (tables.iter().find(|one| one.table_name == table), Some(key))
            }
            Some(SweepPosition { table, .. }) => (tables.iter().find(|one| one.table_name > table), None),
        };
        let Some(table) = table else { return Ok(Swept { read: 0, deleted: 0, is_last: true }) };
        let page = ScanParams {
            limit: Some(PAGE_ITEMS_MAX),
            exclusive_start_pk: after.as_ref().map(|(pk, _)| pk.as_str()),
            exclusive_start_sk: after.as_ref().map(|(_, sk)| sk.as_str()),
            ..ScanParams::default()
        };
        let rows = self.storage.scan_items(&table.table_name, &page)?;
        let (read, is_full) = (rows.len(), rows.len() == PAGE_ITEMS_MAX);
        let expired = expired(&rows, table);
        let after = rows.into_iter().next_back().filter(|_| is_full).map(|(pk, sk, _)| (pk, sk));
        let is_last = after.is_none() && tables.last().is_some_and(|last| last.table_name == table.table_name);
        self.at = (!is_last).then(|| SweepPosition { table: table.table_name.clone(), after });
        self.delete(table, &expired).await?;
        Ok(Swept { read, deleted: expired.len(), is_last })
    }

    /// Deletes items as DeleteItem does: with what indexes hold of them, and with a record.
    async fn delete(&self, table: &TableMetadata, items: &[Item]) -> dynoxide::Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        // dynoxide's connections remember what tables are like, so this one is new.
        let storage = Storage::new(&self.database)?;
        // As for the connection that serves requests: no flush at each deletion.
        storage.disable_bulk_loading()?;
        storage.conn().execute_batch(NAME_THE_SERVICE)?;
        for item in items {
            let key = streams::extract_keys(item, &table.key_schema);
            let request =
                DeleteItemRequest { table_name: table.table_name.clone(), key, ..DeleteItemRequest::default() };
            delete_item::execute(&storage, request).await?;
        }
        Ok(())
    }
}

/// Returns the items of a page that have expired.
fn expired(rows: &[(String, String, String)], table: &TableMetadata) -> Vec<Item> {
    let Some(attribute) = &table.ttl_attribute else { return Vec::new() };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // Most items don't have the attribute. They needn't be parsed: its name isn't in their text.
    let name = serde_json::Value::from(attribute.as_str()).to_string();
    let has_name = rows.iter().filter(|(.., text)| text.contains(&name));
    let items = has_name.filter_map(|(.., text)| serde_json::from_str::<Item>(text).ok());
    items.filter(|item| has_expired(item.get(attribute), now)).collect()
}

/// Returns true if the value is a time in seconds since 1970 that has passed. As on AWS, any other value never expires.
fn has_expired(value: Option<&AttributeValue>, now: u64) -> bool {
    matches!(value, Some(AttributeValue::N(seconds)) if seconds.parse::<u64>().is_ok_and(|seconds| seconds < now))
}
