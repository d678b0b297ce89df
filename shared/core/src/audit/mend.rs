//! Mends one difference.
//!
//! A row that has an owner is never written here: the owner's record is written, and the handler, which alone writes rows, does the rest.
//! Only what nobody asks for is deleted.

use super::history::topic_of;
use super::look::names;
use super::{Difference, Kind};
use crate::keys::{ItemKey, NodeRef, Schema};
use crate::model::{
    BORN, BaseNode, Cursor, CursorError, DELETING, Deletion, FORMAT_ATTRIBUTE, Item, Lineage, PUT_BACK, REDRIVEN,
    REVISION, ROW_ID, Stored, TOUCHED, WRITE, shown_by, text, with_key,
};
use crate::plan::{Context, CopyNewest, Facts, Failure, Need, Plan, Rule, Step, Task, TaskOutcome};
use crate::request::{Action, Condition, Update};

/// What became of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mended {
    /// The handler was told to look at the item again.
    Redriven,
    /// The item, which nobody asked for, was deleted.
    Deleted,
    /// The copy is that of the newest revision now.
    Copied,
    /// There was nothing left to mend.
    Gone,
    /// The base record has to be changed, and only its owner knows how.
    Left,
}

/// The plan that mends a difference.
#[derive(Debug)]
pub struct Mend<'a> {
    context: Context<'a>,
    difference: Difference,
    /// A name that no other repair has: digits, below every sequence number of a stream.
    name: String,
    state: State<'a>,
}

#[derive(Debug, Default)]
enum State<'a> {
    #[default]
    Begin,
    Reading,
    /// A write whose success means this.
    Writing(Mended),
    /// A record is put where there is none, and read again before it is deleted.
    PuttingBack,
    /// If no such record is there, this has become of the difference.
    ReadingBack(Mended),
    Copying(Box<CopyNewest<'a>>),
}

impl<'a> Mend<'a> {
    /// The plan for one difference. `name` has at most 19 digits, and no other repair of this table has had it: a write that changes
    /// nothing makes no stream record.
    #[must_use]
    pub fn new(context: Context<'a>, difference: Difference, name: String) -> Self {
        Self { context, difference, name, state: State::Begin }
    }

    fn schema(&self) -> &'a Schema {
        self.context.schema()
    }

    fn node(&self) -> &NodeRef {
        &self.difference.node
    }

    fn begin(&mut self) -> Result<Step<Mended>, Failure> {
        let schema = self.schema();
        match self.difference.kind {
            kind if kind.is_redriven() => Ok(self.redrive(schema.node_key(self.node()))),
            Kind::RecordPutBack => Ok(self.read_back(Mended::Redriven)),
            Kind::CursorStuck => Ok(self.redrive(schema.cascade_key(self.node()))),
            Kind::RowSurplus | Kind::LineageSurplus | Kind::DeletionStuck | Kind::CursorUnreadable => {
                let node = self.node();
                let keys = [self.difference.key.clone(), schema.node_key(node), schema.lineage_key(node)];
                self.state = State::Reading;
                Ok(Need::keys(keys).into())
            }
            Kind::CopyMissing | Kind::CopyWrong | Kind::CopySurplus => {
                let Some(topic) = topic_of(&self.difference.key, self.node(), self.context.settings) else {
                    return Ok(Step::Done(Mended::Gone));
                };
                self.state = State::Copying(Box::new(CopyNewest::new(self.context, topic)));
                self.next(Facts::None)
            }
            _ => Ok(Step::Done(Mended::Left)),
        }
    }

    /// Writes an attribute that no row carries into an item that exists. Its record makes the handler look at the item as if it were
    /// written for the first time.
    fn redrive(&mut self, key: ItemKey) -> Step<Mended> {
        let update = Update::set(REDRIVEN, text(&self.name));
        let condition = self.on(Rule::RepairExists, Condition::Exists);
        self.write(Action::Update { key, update, condition }, Mended::Redriven)
    }

    /// The condition, as long as this rule is kept.
    fn on(&self, rule: Rule, condition: Condition) -> Condition {
        if self.context.rules.keeps(rule) { condition } else { Condition::Always }
    }

    fn write(&mut self, action: Action, mended: Mended) -> Step<Mended> {
        self.state = State::Writing(mended);
        Step::Do(vec![Task::Write(action)])
    }

    fn decide(&mut self, facts: Facts) -> Result<Step<Mended>, Failure> {
        let (schema, node) = (self.schema(), self.node().clone());
        let read = facts.read()?;
        let item = read.item(&self.difference.key)?;
        let base = read.item(&schema.node_key(&node))?;
        let lineage_item = read.item(&schema.lineage_key(&node))?;
        let stored = Stored::read(lineage_item, schema);
        if item.is_none() || stored.check_format().is_err() {
            return Ok(Step::Done(Mended::Gone));
        }
        match (self.difference.kind, base, stored.lineage()) {
            (Kind::RowSurplus, ..) => {
                let key = &self.difference.key;
                let is_row = item.is_some_and(|item| shown_by(item, key, schema).as_ref() == Some(&node));
                if !is_row || names(&stored, key, &node, schema) {
                    return Ok(Step::Done(Mended::Gone));
                }
                Ok(self.delete_row(lineage_item))
            }
            (Kind::CursorUnreadable, ..) => Ok(item.map_or(Step::Done(Mended::Gone), |item| self.delete_cursor(item))),
            // A record that can't be understood counts as not there, and its next event has the handler say so.
            (Kind::LineageSurplus, Some(_), _) => Ok(self.redrive(schema.node_key(&node))),
            (Kind::LineageSurplus, None, _) => Ok(self.put_back()),
            (Kind::DeletionStuck, Some(base), lineage) => Ok(self.set_off(base, lineage)),
            _ => Ok(Step::Done(Mended::Gone)),
        }
    }

    /// Deletes a row only while its owner's lineage is as it was read, and so doesn't name it. Nobody can be about to put the row: the
    /// handler writes a lineage before the rows that it names.
    fn delete_row(&mut self, lineage: Option<&Item>) -> Step<Mended> {
        let schema = self.schema();
        if !self.context.rules.keeps(Rule::RepairCheck) {
            let action = Action::Delete { key: self.difference.key.clone(), condition: Condition::Exists };
            return self.write(action, Mended::Deleted);
        }
        // Somebody may put an item of their own there.
        let is_row = Condition::is(ROW_ID, Some(text(self.node().id.as_str())));
        let condition = lineage.map_or(Condition::Absent, |item| same(item, schema));
        let check = Action::Check { key: schema.lineage_key(self.node()), condition };
        let delete = Action::Delete { key: self.difference.key.clone(), condition: is_row };
        self.state = State::Writing(Mended::Deleted);
        Step::Do(vec![Task::Transact(vec![check, delete])])
    }

    /// Deletes what stands in a cursor's place and is none, while it is as it was read. The handler, too, would write over it.
    fn delete_cursor(&mut self, item: &Item) -> Step<Mended> {
        if Cursor::read(item) != Err(CursorError::Malformed) || !Cursor::is_ours(item) {
            return Step::Done(Mended::Gone);
        }
        let names = [Cursor::SEQUENCE, FORMAT_ATTRIBUTE].map(|name| Condition::is(name, item.get(name).cloned()));
        let condition = Condition::All(names.into_iter().collect());
        self.write(Action::Delete { key: self.difference.key.clone(), condition }, Mended::Deleted)
    }

    /// Puts a record there that counts as none, only to delete it again: the handler then removes what a lost deletion has left. The
    /// records of the node are the lock, so a transaction wouldn't do: the handler may still be at work on an older one.
    fn put_back(&mut self) -> Step<Mended> {
        let schema = self.schema();
        let key = schema.node_key(self.node());
        let mut item = with_key(&key, schema);
        item.insert(PUT_BACK.into(), text(&self.name));
        self.state = State::PuttingBack;
        Step::Do(vec![Task::Write(Action::Put { key, item, condition: Condition::Absent })])
    }

    fn read_back(&mut self, absent: Mended) -> Step<Mended> {
        self.state = State::ReadingBack(absent);
        Need::keys([self.schema().node_key(self.node())]).into()
    }

    /// Deletes the record that was put back. If somebody has written it meanwhile it is theirs, and only the mark goes.
    fn take_away(&mut self, facts: Facts, absent: Mended) -> Result<Step<Mended>, Failure> {
        let schema = self.schema();
        let key = schema.node_key(self.node());
        let read = facts.read()?;
        let Some(item) = read.item(&key)?.filter(|item| item.contains_key(PUT_BACK)) else {
            return Ok(Step::Done(absent));
        };
        let names = schema.names();
        let ours = [names.partition_key.as_str(), &names.sort_key, PUT_BACK, TOUCHED, REDRIVEN];
        let is_ours = Condition::is(PUT_BACK, item.get(PUT_BACK).cloned());
        if item.keys().all(|name| ours.contains(&name.as_str())) {
            // What makes a node of the record may come in just now.
            let names = [names.parent.as_str(), &names.segment, BORN, REVISION, WRITE, DELETING];
            let bare = names.map(|name| Condition::is(name, None));
            let condition = self.on(Rule::RepairTakesOwn, Condition::All([is_ours].into_iter().chain(bare).collect()));
            return Ok(self.write(Action::Delete { key, condition }, Mended::Redriven));
        }
        let condition = self.on(Rule::RepairTakesOwn, is_ours);
        let update = Update { remove: [PUT_BACK.to_owned()].into(), ..Update::default() };
        Ok(self.write(Action::Update { key, update, condition }, Mended::Redriven))
    }

    /// Has a deletion begin again. Where the lineage doesn't know of it, the node's record does. Where it does, its change was lost, and
    /// a cursor without a position asks for the same.
    fn set_off(&mut self, base: &Item, lineage: Option<&Lineage>) -> Step<Mended> {
        let (schema, node) = (self.schema(), self.node().clone());
        let base = BaseNode::read(base.clone(), &node, schema).ok();
        let deletion = base.as_ref().and_then(|base| Deletion::of(&node, base));
        if deletion.is_none() {
            return Step::Done(Mended::Gone);
        }
        if lineage.and_then(|lineage| lineage.deleting.as_ref()) != deletion.as_ref() {
            return self.redrive(schema.node_key(&node));
        }
        let key = schema.cascade_key(&node);
        let item = Cursor::anew(&self.name).item(&node, schema);
        // Another cursor would do the same, and may be half way.
        self.write(Action::Put { key, item, condition: Condition::Absent }, Mended::Redriven)
    }
}

/// The condition that a lineage is as it was read.
fn same(item: &Item, schema: &Schema) -> Condition {
    let names = schema.names();
    let compared = item.keys().filter(|name| **name != names.partition_key && **name != names.sort_key);
    let as_read = compared.map(|name| Condition::is(name, item.get(name).cloned()));
    let absent = Lineage::attributes().filter(|name| !item.contains_key(*name));
    let absent = absent.map(|name| Condition::is(name, None));
    Condition::All(std::iter::once(Condition::Exists).chain(as_read).chain(absent).collect())
}

impl Plan for Mend<'_> {
    type Done = Mended;

    fn next(&mut self, facts: Facts) -> Result<Step<Mended>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => self.begin(),
            State::Reading => self.decide(facts),
            State::Writing(mended) => match facts.outcome()? {
                TaskOutcome::Held => Ok(Step::Done(mended)),
                TaskOutcome::Failed(_) => Ok(Step::Done(Mended::Gone)),
            },
            State::PuttingBack => Ok(self.read_back(match facts.outcome()? {
                TaskOutcome::Held => Mended::Redriven,
                // It may be ours nevertheless, by an attempt that got no answer.
                TaskOutcome::Failed(_) => Mended::Gone,
            })),
            State::ReadingBack(absent) => self.take_away(facts, absent),
            State::Copying(mut copy) => {
                let step = copy.next(facts)?;
                self.state = State::Copying(copy);
                step.and_then(|()| Ok(Step::Done(Mended::Copied)))
            }
        }
    }
}
