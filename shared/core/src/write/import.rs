//! A record of an import: it is put if there is none of its key. One that is there already counts as written if it is
//! equal.

use super::Context;
use super::traces::{deleted_since, traces_may_be_gone, traces_stay};
use crate::keys::{ItemKey, NodeRef, SortKey};
use crate::model::{AttributeValue, DELETING, DeletionMark, Item, PUT_BACK, Settings, Stored, Trashed, has_mark};
use crate::plan::conditions::still_gone;
use crate::plan::{Failure, Io, Need, Plan, Read, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition};

/// Most looks at a record that is being deleted. With the waits of a person's retry policy that is two minutes.
pub const LOOKS_MAX: u32 = 75;
/// The longest wait between two such looks, as a step of the retry policy.
const LOOK_WAIT_MAX: u32 = 6;

/// The end of a record's import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// The table has it.
    Written,
    /// The table has another record of its key.
    Another,
    /// The table has a record of its key that is being deleted, and still was at the last look.
    BeingDeleted,
    /// A write got no answer, and what is there now doesn't tell whether it was carried out. It isn't sent again,
    /// because others may have changed or deleted the record since.
    Unknown(Unknown),
    /// A write got no answer, or lost its race, and no time is left for another.
    OutOfTime,
}

/// The state of a record whose write got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Another record.
    Another,
    /// It isn't there, and a node of this id was deleted at about that time, or is being deleted.
    Deleted,
    /// It isn't there, and a deletion would leave no trace: a revision's never does, a node's does for 14 days.
    NoTrace,
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
    /// True if it may have been sent since then already, by a process that got no answer.
    pub may_be_written: bool,
    /// The time now, in seconds since 1970.
    pub now: u64,
    /// Most looks at a record that is being deleted ([`LOOKS_MAX`]).
    pub looks_max: u32,
}

/// Puts one record. It takes one request where there is no record of its key, and it can't have been written before.
pub fn import_record<'a>(context: Context<'a>, record: ImportedRecord<'a>) -> Plan<'a, Imported> {
    Plan::new(move |io| async move { put(&io, context, record).await })
}

async fn put(io: &Io, context: Context<'_>, record: ImportedRecord<'_>) -> Result<Imported, Failure> {
    let (mut looks, mut failed, mut is_unanswered) = (0, 0, record.may_be_written);
    let mut found = if is_unanswered {
        record.look(io, is_unanswered, context).await?
    } else {
        BeforeImport::Gone(Condition::Absent, Vec::new())
    };
    loop {
        let step = match found {
            BeforeImport::Settled(imported) => return Ok(imported),
            BeforeImport::Gone(condition, checks) => {
                let put = Action::Put { key: record.key.clone(), item: record.item.clone(), condition };
                match io.attempt(Task::together(std::iter::once(put).chain(checks).collect())).await? {
                    Some(TaskOutcome::Held) => return Ok(Imported::Written),
                    outcome => is_unanswered |= outcome.is_none(),
                }
                failed += 1;
                failed - 1
            }
            BeforeImport::BeingDeleted if looks == record.looks_max => return Ok(Imported::BeingDeleted),
            BeforeImport::BeingDeleted => {
                looks += 1;
                (looks - 1).min(LOOK_WAIT_MAX)
            }
        };
        if !io.wait(step).await? {
            return Ok(Imported::OutOfTime);
        }
        found = record.look(io, is_unanswered, context).await?;
    }
}

/// The result of a look at the record's key.
enum BeforeImport {
    Settled(Imported),
    /// There is none. It is put on this condition, where these checks hold.
    Gone(Condition, Vec<Action>),
    BeingDeleted,
}

impl ImportedRecord<'_> {
    fn is_node(&self, settings: &Settings) -> bool {
        settings.schema.parse_sort_key(&self.key.sk) == Some(SortKey::Node)
    }

    async fn look(&self, io: &Io, is_unanswered: bool, context: Context<'_>) -> Result<BeforeImport, Failure> {
        let settings = context.settings;
        let mut keys = vec![self.key.clone()];
        if is_unanswered && self.is_node(settings) {
            keys.extend([settings.schema.deleted_key(self.node), settings.schema.lineage_key(self.node)]);
        }
        let read = &io.read(Need::keys(keys)).await?;
        let there = read.item(&self.key)?;
        if let Some(gone) = still_gone(there) {
            if !is_unanswered {
                return Ok(BeforeImport::Gone(gone, Vec::new()));
            }
            // The record may have been written, and deleted since: then it must not come back.
            let looks = context.rules.keeps(Rule::ImportLooks);
            return Ok(match self.deleted_meanwhile(read, settings)?.filter(|_| looks) {
                Some(unknown) => BeforeImport::Settled(Imported::Unknown(unknown)),
                None => BeforeImport::Gone(gone, traces_stay(self.node, read, &settings.schema)?.into()),
            });
        }
        if self.is_node(settings) && has_mark(there) {
            let unknown = BeforeImport::Settled(Imported::Unknown(Unknown::Deleted));
            return Ok(if is_unanswered { unknown } else { BeforeImport::BeingDeleted });
        }
        let is_equal = there.is_some_and(|there| {
            users_own(there).eq(users_own(&self.item))
                && said_of_trash(there, settings) == said_of_trash(&self.item, settings)
        });
        Ok(BeforeImport::Settled(match (is_equal, is_unanswered) {
            (true, _) => Imported::Written,
            (false, false) => Imported::Another,
            (false, true) => Imported::Unknown(Unknown::Another),
        }))
    }

    fn deleted_meanwhile(&self, read: &Read, settings: &Settings) -> Result<Option<Unknown>, Failure> {
        if !self.is_node(settings) || traces_may_be_gone(self.since, self.now) {
            return Ok(Some(Unknown::NoTrace));
        }
        let schema = &settings.schema;
        let deleted = read.item(&schema.deleted_key(self.node))?;
        let stored = Stored::read(read.item(&schema.lineage_key(self.node))?, schema);
        Ok(deleted_since(self.since, deleted, &stored, settings).then_some(Unknown::Deleted))
    }
}

/// A record without what Sapwood keeps in it.
fn users_own(item: &Item) -> impl Iterator<Item = (&String, &AttributeValue)> {
    item.iter().filter(|(name, _)| !name.starts_with('_'))
}

/// How a record's node was put into the trash, as an import says it: the life of its parent is that of another table.
fn said_of_trash(item: &Item, settings: &Settings) -> Option<Trashed> {
    Trashed::in_record(item, &settings.schema).map(|trashed| Trashed { born: None, ..trashed })
}

/// The state of a node, for those that are to be written below it.
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
