//! The limits, of `limits.yaml` and the constants.

use std::collections::BTreeMap;
use std::time::Duration;

use sapwood_api::body::BODY_BYTES_MAX;
use sapwood_api::contract::{
    IDS_MAX, OPERATIONS_LISTED_DEFAULT, OPERATIONS_LISTED_MAX, OPERATIONS_MAX, PRINCIPALS_MAX, TOPIC_BYTES_MAX,
    WRITTEN_MAX,
};
use sapwood_api::headers::{KEY_CHARS_MAX, WAIT_SECONDS_MAX};
use sapwood_api::writes::BODIES_BYTES_MAX;
use sapwood_core::keys::{DEPTH_MAX, ID_BYTES_MAX, SORT_KEY_BYTES_MAX, TEXT_BYTES_MAX, Version};
use sapwood_core::model::{ITEM_BYTES_MAX, JSON_BYTES_MAX, LINKS_MAX, TARGETS_BYTES_MAX};
use sapwood_core::plan::conditions::COMPARED_ATTRIBUTES_MAX;
use sapwood_core::request::TRANSACTION_ACTIONS_MAX;
use sapwood_core::write::{OPERATION_SECONDS, OUTCOME_SECONDS, ROOM_BYTES};
use sapwood_engine::query::{
    Bounds, CONDITION_CHARACTERS_MAX, CONDITIONS_MAX, FIELD_BYTES_MAX, FIELDS_MAX, SIBLINGS_MAX, Tree,
};
use sapwood_http::serve::REQUEST_TIME_MAX;
use serde::Deserialize;

/// A limit. `{NAME}` in its text is the value of that name.
#[derive(Deserialize)]
struct Limit {
    of: String,
    limit: String,
}

#[derive(Deserialize)]
struct Limits {
    api: Vec<Limit>,
    table: Vec<Limit>,
}

pub(crate) fn of_the_api() -> String {
    list(&limits().api)
}

pub(crate) fn of_the_table() -> String {
    list(&limits().table)
}

#[allow(clippy::expect_used, reason = "the list is part of this repository")]
fn limits() -> Limits {
    serde_yaml_ng::from_str(include_str!("../limits.yaml")).expect("the list is YAML")
}

/// An entry for each limit.
///
/// # Panics
///
/// If a text names a value that there isn't.
fn list(limits: &[Limit]) -> String {
    let values = values();
    let mut page = String::new();
    for Limit { of, limit } in limits {
        let mut text = limit.clone();
        for (name, value) in &values {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        assert!(!text.contains('{'), "a value that there isn't: {text}");
        page.push_str(&format!("- **{of}**: {text}\n"));
    }
    page
}

/// The values by the names of their constants.
fn values() -> BTreeMap<&'static str, String> {
    let (page, tree) = (Bounds::default(), Tree::BOUNDS);
    let writes = sapwood_core::write::Limits::default();
    let days = |seconds: u64| (seconds / 86_400).to_string();
    let whole = |number: usize| {
        let text = number.to_string();
        match text.len() {
            0..=3 => text,
            length => format!("{},{}", &text[..length - 3], &text[length - 3..]),
        }
    };
    // Amounts of JSON are in millions of bytes; others in KiB and MiB, as DynamoDB and Lambda count.
    let millions = |bytes: usize| format!("{}", bytes as f64 / 1e6);
    let kilobytes = |bytes: usize| format!("{}", bytes as f64 / 1_024.0);
    BTreeMap::from([
        ("BODY", format!("{}", BODY_BYTES_MAX / 1_048_576)),
        ("REQUEST_SECONDS", seconds(REQUEST_TIME_MAX)),
        ("PAGE", millions(Bounds::BYTES_MAX)),
        ("TREE", millions(tree.bytes_max)),
        ("TREE_NODES", whole(tree.items_max)),
        ("BODIES", millions(BODIES_BYTES_MAX)),
        ("ITEMS", whole(Bounds::ITEMS_MAX)),
        ("ITEMS_DEFAULT", whole(Bounds::ITEMS_DEFAULT)),
        ("READ", whole(page.queries_max)),
        ("SIBLINGS", whole(SIBLINGS_MAX)),
        ("IDS", whole(IDS_MAX)),
        ("OPERATIONS_LISTED", whole(OPERATIONS_LISTED_MAX)),
        ("OPERATIONS_LISTED_DEFAULT", whole(OPERATIONS_LISTED_DEFAULT)),
        ("OPERATION_DAYS", days(OPERATION_SECONDS)),
        ("COPIED", whole(sapwood_core::fanout::Limits::default().copied_nodes_max)),
        ("COPIES", whole(writes.copies_at_once_max)),
        ("OPERATIONS", whole(OPERATIONS_MAX)),
        ("FIELDS", whole(FIELDS_MAX)),
        ("FIELD", whole(FIELD_BYTES_MAX)),
        ("PRINCIPALS", whole(PRINCIPALS_MAX)),
        ("ID", whole(ID_BYTES_MAX)),
        ("WAIT", WAIT_SECONDS_MAX.to_string()),
        ("WRITTEN", whole(WRITTEN_MAX)),
        ("CONDITIONS", whole(CONDITIONS_MAX)),
        ("CONDITION", whole(CONDITION_CHARACTERS_MAX)),
        ("KEY", whole(KEY_CHARS_MAX)),
        ("KEY_HOURS", (OUTCOME_SECONDS / 3_600).to_string()),
        ("DEPTH", whole(DEPTH_MAX)),
        ("ACTIONS", whole(TRANSACTION_ACTIONS_MAX)),
        ("SORT_KEY", whole(SORT_KEY_BYTES_MAX)),
        ("TOPIC", whole(TOPIC_BYTES_MAX)),
        ("VERSION", whole(Version::MAX as usize)),
        ("ITEM", kilobytes(ITEM_BYTES_MAX)),
        ("ROOM", kilobytes(ROOM_BYTES)),
        ("JSON", millions(JSON_BYTES_MAX)),
        ("LINKS", whole(LINKS_MAX)),
        ("TARGETS", kilobytes(TARGETS_BYTES_MAX)),
        ("TEXT", whole(TEXT_BYTES_MAX)),
        ("COMPARED", whole(COMPARED_ATTRIBUTES_MAX)),
    ])
}

fn seconds(time: Duration) -> String {
    time.as_secs().to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_value_is_in_a_limit() {
        let list = include_str!("../limits.yaml");
        let unused: Vec<_> =
            super::values().into_keys().filter(|name| !list.contains(&format!("{{{name}}}"))).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }
}
