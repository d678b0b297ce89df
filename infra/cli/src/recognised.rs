//! Settings that aren't the table's, so that nothing in it is recognised: then nothing can be said of it.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use sapwood_core::audit::Class;
use sapwood_core::keys::Names;
use sapwood_dynamodb::DynamoTable;

use crate::connect::Whose;

/// Checks that the table's keys have the names of the settings, if this caller may describe the table.
pub(crate) async fn check_keys(table: &DynamoTable) -> Result<()> {
    let names = table.schema().names();
    match table.key_names().await {
        Ok(Some((partition_key, sort_key)))
            if (&partition_key, &sort_key) != (&names.partition_key, &names.sort_key) =>
        {
            bail!("the table's keys {}", other_keys(&[partition_key, sort_key], names))
        }
        _ => Ok(()),
    }
}

/// Checks that some of these items are nodes or rows, unless the settings are the handler's: then there may be none.
pub(crate) fn check_items(classes: &BTreeMap<Class, u64>, whose: Whose) -> Result<()> {
    let of = |class| classes.get(&class).copied().unwrap_or_default();
    let (all, foreign) = (classes.values().sum(), of(Class::Foreign));
    let is_recognised = foreign == 0 || foreign + of(Class::Own) < all;
    if is_recognised || whose == Whose::Handler { Ok(()) } else { unrecognised(all) }
}

/// Checks that there are nodes where there are rows: an export that has none of them isn't empty, but blind.
pub(crate) fn check_nodes(classes: &BTreeMap<Class, u64>, whose: Whose) -> Result<()> {
    check_items(classes, whose)?;
    let is_blind = !classes.contains_key(&Class::Node) && classes.contains_key(&Class::Row);
    if is_blind && whose != Whose::Handler { unrecognised(classes.values().sum()) } else { Ok(()) }
}

fn unrecognised(items: u64) -> Result<()> {
    bail!(
        "nothing in the table is recognised: with these settings no node and no row is among its items ({items} were read). Compare the parameters \
         NodeSortKey and TenantClaim with those of the stack, and name those that differ with --parameter"
    )
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
