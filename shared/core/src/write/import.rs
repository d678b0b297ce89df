//! A record of an import: it is put if there is none of its key. One that is there already counts as written if it is equal.

use super::delete::{deleted_since, traces_stay};
use crate::keys::{ItemKey, NodeRef, SortKey};
use crate::model::{AttributeValue, DELETING, DeletionMark, Item, PUT_BACK, Settings, Stored, has_mark, still_gone};
use crate::plan::{Facts, Failure, Need, Plan, Read, Step, Task, TaskOutcome};
use crate::request::{Action, Condition};

/// Most looks at a record that is being deleted. With the waits of a person's retry policy that is two minutes.
const LOOKS_MAX: u32 = 75;
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

/// Puts one record. It takes one request where there is no record of its key.
#[derive(Debug)]
pub struct ImportRecord<'a> {
    settings: &'a Settings,
    node: &'a NodeRef,
    key: ItemKey,
    item: Item,
    /// The time at which the import of this record began, in seconds since 1970.
    since: u64,
    looks_max: u32,
    looks: u32,
    failed: u32,
    is_unanswered: bool,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Begin,
    Writing,
    /// Another look follows.
    Waiting,
    Looking,
}

impl<'a> ImportRecord<'a> {
    /// The import of a base record: that of this node, or a revision of it.
    #[must_use]
    pub fn new(settings: &'a Settings, node: &'a NodeRef, key: ItemKey, item: Item, since: u64) -> Self {
        Self {
            settings,
            node,
            key,
            item,
            since,
            looks_max: LOOKS_MAX,
            looks: 0,
            failed: 0,
            is_unanswered: false,
            state: State::Begin,
        }
    }

    /// The same, with so many looks at most at a record that is being deleted.
    #[must_use]
    pub fn looking(self, looks_max: u32) -> Self {
        Self { looks_max, ..self }
    }

    fn is_node(&self) -> bool {
        self.settings.schema.parse_sort_key(&self.key.sk) == Some(SortKey::Node)
    }

    /// Puts the record. `checks` hold in the same transaction.
    fn put(&mut self, condition: Condition, checks: impl IntoIterator<Item = Action>) -> Step<Imported> {
        self.state = State::Writing;
        let put = Action::Put { key: self.key.clone(), item: self.item.clone(), condition };
        Step::Try(Task::together(std::iter::once(put).chain(checks).collect()))
    }

    fn wait(&mut self, step: u32) -> Step<Imported> {
        self.state = State::Waiting;
        Step::Wait(step)
    }

    fn look(&mut self) -> Step<Imported> {
        self.state = State::Looking;
        let schema = &self.settings.schema;
        let mut keys = vec![self.key.clone()];
        if self.is_unanswered && self.is_node() {
            keys.extend([schema.deleted_key(self.node), schema.lineage_key(self.node)]);
        }
        Need::keys(keys).into()
    }

    fn decide(&mut self, read: &Read) -> Result<Step<Imported>, Failure> {
        let record = read.item(&self.key)?;
        if let Some(gone) = still_gone(record) {
            // Without an answer the record may have been written, and deleted since: then it must not come back.
            return Ok(match self.deleted_meanwhile(read)? {
                Some(unknown) => Step::Done(Imported::Unknown(unknown)),
                None if self.is_unanswered => self.put(gone, traces_stay(self.node, read, &self.settings.schema)?),
                None => self.put(gone, []),
            });
        }
        if self.is_node() && has_mark(record) {
            self.looks += 1;
            return Ok(match () {
                () if self.is_unanswered => Step::Done(Imported::Unknown(Unknown::Deleted)),
                () if self.looks > self.looks_max => Step::Done(Imported::BeingDeleted),
                () => self.wait((self.looks - 1).min(LOOK_WAIT_MAX)),
            });
        }
        let is_equal = record.is_some_and(|there| users_own(there).eq(users_own(&self.item)));
        Ok(Step::Done(match (is_equal, self.is_unanswered) {
            (true, _) => Imported::Written,
            (false, false) => Imported::Another,
            (false, true) => Imported::Unknown(Unknown::Another),
        }))
    }

    fn deleted_meanwhile(&self, read: &Read) -> Result<Option<Unknown>, Failure> {
        let schema = &self.settings.schema;
        if !self.is_unanswered {
            return Ok(None);
        }
        if !self.is_node() {
            return Ok(Some(Unknown::NoRevision));
        }
        let deleted = read.item(&schema.deleted_key(self.node))?;
        let stored = Stored::read(read.item(&schema.lineage_key(self.node))?, schema);
        Ok(deleted_since(self.since, deleted, &stored, self.settings).then_some(Unknown::Deleted))
    }
}

impl Plan for ImportRecord<'_> {
    type Done = Imported;

    fn next(&mut self, facts: Facts) -> Result<Step<Imported>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => Ok(self.put(Condition::Absent, [])),
            State::Writing => {
                let outcome = facts.tried()?;
                if outcome == Some(TaskOutcome::Held) {
                    return Ok(Step::Done(Imported::Written));
                }
                self.is_unanswered |= outcome.is_none();
                self.failed += 1;
                Ok(self.wait(self.failed - 1))
            }
            State::Waiting if facts.waited()? => Ok(self.look()),
            State::Waiting => Ok(Step::Done(Imported::OutOfTime)),
            State::Looking => self.decide(&facts.read()?),
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
