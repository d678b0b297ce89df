//! The items that deletions leave behind. They tell whether an id, at which there is no node, had one.

use super::record::number_in;
use crate::keys::{NodeRef, Schema};
use crate::model::{Item, Settings, Stored, WRITE};
use crate::plan::{Failure, Read};
use crate::request::{Action, Condition};

/// Seconds that the record of a deletion is kept, by which a node put back is known: as long as tombstones.
pub(super) const DELETED_SECONDS: u64 = 14 * 24 * 60 * 60;

/// By how much the clocks of two writers may differ, in seconds. An operator's machine writes too, and AWS takes
/// requests that are signed up to 15 minutes early or late.
const CLOCKS_DIFFER_SECONDS_MAX: u64 = 2 * 15 * 60;

/// True if a node of this id, which isn't there, may have been deleted since this time, in seconds since 1970. What
/// deletions leave says so: the item `DELETED`, or a tombstone. A lineage says that the handler hasn't seen the
/// deletion yet.
#[must_use]
pub fn deleted_since(since: u64, deleted: Option<&Item>, stored: &Stored, settings: &Settings) -> bool {
    let since = since.saturating_sub(CLOCKS_DIFFER_SECONDS_MAX);
    let is_of_stream = match stored {
        Stored::Absent | Stored::Foreign => false,
        Stored::Tombstone(tombstone) => tombstone.deleted >= since,
        Stored::Lineage(_) | Stored::Malformed | Stored::Newer(_) => true,
    };
    is_of_stream || deleted.is_some_and(|item| number_in(item, settings.expires()) >= since + DELETED_SECONDS)
}

/// True if what tells of a deletion since then may have expired by now.
pub(super) fn traces_may_be_gone(since: u64, now: u64) -> bool {
    now.saturating_sub(since) + CLOCKS_DIFFER_SECONDS_MAX >= DELETED_SECONDS
}

/// The checks of a write that is tried again, and is decided on the node's absence: the items that would tell of an
/// attempt without an answer are as they were read. That attempt may be carried out even now. If its node is deleted
/// then, the record is absent as before.
pub(super) fn traces_stay(node: &NodeRef, read: &Read, schema: &Schema) -> Result<[Action; 2], Failure> {
    let (deleted, lineage) = (schema.deleted_key(node), schema.lineage_key(node));
    let same_deletion = Condition::is(WRITE, read.item(&deleted)?.and_then(|item| item.get(WRITE)).cloned());
    let same_life = Stored::same_life(read.item(&lineage)?);
    Ok([Action::Check { key: deleted, condition: same_deletion }, Action::Check { key: lineage, condition: same_life }])
}
