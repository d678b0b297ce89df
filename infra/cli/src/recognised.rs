//! Settings that aren't the table's, so that nothing in it is recognised: then nothing can be said of it.

use sapwood_core::keys::Names;
use sapwood_table::DynamoTable;

/// Nothing in the table is recognised. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unrecognised {
    /// The table's keys have other names.
    #[error("the table's keys {0}")]
    Keys(String),
    /// The keys have the right names, and no item has one of Sapwood's.
    #[error(
        "nothing in the table is recognised: none of its {0} items has a key of Sapwood's with these settings. Compare the parameters NodeSortKey \
         and TenantClaim with those of the stack, and name those that differ with --parameter"
    )]
    Items(u64),
}

/// Checks that the table's keys have the names that the settings say. Who may not describe the table learns nothing here.
pub(crate) async fn check_keys(table: &DynamoTable) -> Result<(), Unrecognised> {
    let names = table.schema().names();
    match table.key_names().await {
        Ok(Some((partition_key, sort_key)))
            if (&partition_key, &sort_key) != (&names.partition_key, &names.sort_key) =>
        {
            Err(Unrecognised::Keys(other_keys(&[partition_key, sort_key], names)))
        }
        _ => Ok(()),
    }
}

/// Checks that of so many items some are Sapwood's.
pub(crate) fn check_items(items: u64, foreign: u64) -> Result<(), Unrecognised> {
    if items > 0 && foreign == items { Err(Unrecognised::Items(items)) } else { Ok(()) }
}

/// Says that the keys are others than the settings name.
pub(crate) fn other_keys(found: &[String], names: &Names) -> String {
    format!(
        "are {}, and the settings name {} (S) and {} (S): the parameters PartitionKey and SortKey must be the table's",
        found.join(" and "),
        names.partition_key,
        names.sort_key
    )
}
