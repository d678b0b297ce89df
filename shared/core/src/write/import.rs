//! A record of an import: it is put if there is none of its key. One that is there already counts as written if it is equal.

use super::delete::{deleted_since, traces_stay};
use crate::keys::{ItemKey, NodeRef, SortKey};
use crate::model::{AttributeValue, DELETING, DeletionMark, Item, PUT_BACK, Settings, Stored, has_mark, still_gone};
use crate::plan::{Failure, Io, Need, Script, Task, TaskOutcome};
use crate::request::{Action, Condition};

/// Most looks at a record that is being deleted. With the waits of a person's retry policy that is two minutes.
pub const LOOKS_MAX: u32 = 75;
/// The longest wait between two such looks, as a step of the retry policy.
const LOOK_WAIT_MAX: u32 = 6;

/// What became of a record of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// The table has it.
    Written,
    /// The table has another record of its key.
    Another,
    /// The table has a record of its key that is being deleted, and still was at the last look.
    BeingDeleted,
    /// A write got no answer, and what is there now doesn't tell whether it was carried out. It isn't sent again, because others may have
    /// changed or deleted the record since.
    Unknown(Unknown),
    /// A write got no answer, or lost its race, and no time is left for another.
    OutOfTime,
}

/// What stands where a write got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Another record.
    Another,
    /// Nothing, and a node of this id was deleted at about that time, or is being deleted.
    Deleted,
    /// Nothing, and a deleted revision leaves no trace.
    NoRevision,
}

/// A record to import: that of a node, or a revision of it.
#[derive(Debug)]
pub struct ImportedRecord<'a> {
    /// The node.
    pub node: &'a NodeRef,
    /// The record's key.
    pub key: ItemKey,
    /// The record.
    pub item: Item,
    /// The time at which the import of this record began, in seconds since 1970.
    pub since: u64,
    /// Most looks at a record that is being deleted ([`LOOKS_MAX`]).
    pub looks_max: u32,
}

/// Puts one record. It takes one request where there is no record of its key.
#[must_use]
pub fn import_record<'a>(settings: &'a Settings, record: ImportedRecord<'a>) -> Script<'a, Imported> {
    Script::new(move |io| async move { put(&io, settings, record).await })
}

async fn put(io: &Io, settings: &Settings, record: ImportedRecord<'_>) -> Result<Imported, Failure> {
    let ImportedRecord { node, key, item, since, looks_max } = record;
    let schema = &settings.schema;
    let is_node = schema.parse_sort_key(&key.sk) == Some(SortKey::Node);
    let (mut looks, mut failed, mut is_unanswered) = (0, 0, false);
    let (mut condition, mut checks) = (Condition::Absent, Vec::new());
    'put: loop {
        let put = Action::Put { key: key.clone(), item: item.clone(), condition };
        let outcome = io.attempt(Task::together(std::iter::once(put).chain(checks).collect())).await?;
        if outcome == Some(TaskOutcome::Held) {
            return Ok(Imported::Written);
        }
        is_unanswered |= outcome.is_none();
        let mut step = failed;
        failed += 1;
        loop {
            if !io.wait(step).await? {
                return Ok(Imported::OutOfTime);
            }
            let mut keys = vec![key.clone()];
            if is_unanswered && is_node {
                keys.extend([schema.deleted_key(node), schema.lineage_key(node)]);
            }
            let read = io.read(Need::keys(keys)).await?;
            let there = read.item(&key)?;
            if let Some(gone) = still_gone(there) {
                (condition, checks) = (gone, Vec::new());
                if is_unanswered {
                    // The record may have been written, and deleted since: then it must not come back.
                    if !is_node {
                        return Ok(Imported::Unknown(Unknown::NoRevision));
                    }
                    let stored = Stored::read(read.item(&schema.lineage_key(node))?, schema);
                    if deleted_since(since, read.item(&schema.deleted_key(node))?, &stored, settings) {
                        return Ok(Imported::Unknown(Unknown::Deleted));
                    }
                    checks = traces_stay(node, &read, schema)?.into();
                }
                continue 'put;
            }
            if !(is_node && has_mark(there)) {
                let is_equal = there.is_some_and(|there| users_own(there).eq(users_own(&item)));
                return Ok(match (is_equal, is_unanswered) {
                    (true, _) => Imported::Written,
                    (false, false) => Imported::Another,
                    (false, true) => Imported::Unknown(Unknown::Another),
                });
            }
            if is_unanswered {
                return Ok(Imported::Unknown(Unknown::Deleted));
            }
            if looks == looks_max {
                return Ok(Imported::BeingDeleted);
            }
            step = looks.min(LOOK_WAIT_MAX);
            looks += 1;
        }
    }
}

/// A record without what Sapwood keeps in it.
fn users_own(item: &Item) -> impl Iterator<Item = (&String, &AttributeValue)> {
    item.iter().filter(|(name, _)| !name.starts_with('_'))
}

/// What a node is for those that are to be written below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    /// There is none, or only a record that a repair has put back.
    Absent,
    /// It is being deleted, and what is written below it now goes with it.
    BeingDeleted,
    /// The stream handler hasn't placed it yet. A tombstone is what is left of an earlier node.
    Unplaced,
    /// It is placed, so that a child is placed once.
    Placed,
}

/// The attributes of a node's record that [`Above::read`] and [`deletes_revisions`] read.
pub const ABOVE_ATTRIBUTES: [&str; 2] = [DELETING, PUT_BACK];

impl Above {
    /// Reads a node's record, and the item of its lineage.
    #[must_use]
    pub fn read(record: Option<&Item>, stored: &Stored) -> Self {
        match record {
            record if still_gone(record).is_some() => Self::Absent,
            record if has_mark(record) => Self::BeingDeleted,
            _ if stored.lineage().is_some() => Self::Placed,
            _ => Self::Unplaced,
        }
    }
}

/// True if a node's revisions go with it: it is being deleted with them.
#[must_use]
pub fn deletes_revisions(record: &Item) -> bool {
    DeletionMark::read(record).is_some_and(|mark| mark.revisions)
}
