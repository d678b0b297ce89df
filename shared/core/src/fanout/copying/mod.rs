//! Copies a subtree: a walk over the rows below the source, the parents before their children. Each step puts the
//! copies of some nodes, and moves the mark in the record of the copy's top, in one transaction. So a step is done once
//! or not at all, whoever repeats it. Where siblings have names of their own, it claims those of the copies as well.
//!
//! The present records decide, not the rows: a node is copied if its record, when it is read, names a parent whose copy
//! is there. `docs/internals/protocol/features.md` has the steps.

mod candidate;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::candidate::Candidate;
use super::context::Context;
use super::deletion::page_query;
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, Schema};
use crate::model::{
    AttributeValue, BaseNode, COPIED, COPYING, CopyEnd, CopyMark, CopyOf, DELETING, Decimal, ENDED, Item, LEFT_OUT,
    NameClaim, RENAMED, ancestor_in, has_mark, item_bytes, key_of, life_of, number, sent_bytes, text, times,
};
use crate::plan::conditions::unclaimed_or_of;
use crate::plan::{Failure, Io, Need, Plan, Rule, Task, TaskOutcome, count_held};
use crate::request::{Action, Condition, Page, ReadOptions, TRANSACTION_BYTES_MAX, Update};

/// The plan that a record of a copy's top asks for, while the top has the mark: a few steps.
pub fn continue_copy(context: Context<'_>, top: NodeRef) -> Plan<'_, ()> {
    Plan::new(|io| async move { Copying { context, top: &top, io: &io }.carry_out().await })
}

/// Most attributes that one update removes: an expression has 4 KB.
const REMOVED_MAX: usize = 200;

/// The plan that removes these copies, placed or gone, from their operations' records. Returns those that failed.
pub fn note_placed(context: Context<'_>, copies: BTreeMap<NodeRef, CopyOf>) -> Plan<'_, BTreeSet<NodeRef>> {
    Plan::new(|io| async move {
        let mut by_operation: BTreeMap<ItemKey, Vec<(NodeRef, String)>> = BTreeMap::new();
        for (node, of) in copies {
            let key = context.schema().operation_key(node.tenant.as_ref(), &of.operation);
            by_operation.entry(key).or_default().push((node, of.unplaced()));
        }
        let slices: Vec<_> =
            by_operation.iter().flat_map(|(key, all)| all.chunks(REMOVED_MAX).map(move |some| (key, some))).collect();
        let remove = |(key, some): &(&ItemKey, &[(NodeRef, String)])| {
            let update = Update { remove: some.iter().map(|(_, name)| name.clone()).collect(), ..Update::default() };
            // An operation is forgotten after a week.
            Task::Write(Action::Update { key: (*key).clone(), update, condition: Condition::Exists })
        };
        let outcomes = io.all(slices.iter().map(remove).collect()).await?;
        let failed = slices.iter().zip(&outcomes).filter(|(_, outcome)| matches!(outcome, Err(Failure::Again)));
        Ok(failed.flat_map(|((_, some), _)| some.iter().map(|(node, _)| node.clone())).collect())
    })
}

struct Copying<'c> {
    context: Context<'c>,
    /// The node at the top of the copy.
    top: &'c NodeRef,
    io: &'c Io,
}

/// The position of the count among the actions of a step.
const COUNT: usize = 1;

/// The state at the beginning of a step.
struct CopyLook {
    mark: CopyMark,
    top: Arc<Item>,
    /// The operation's record. `None` if it is forgotten, or isn't seen yet.
    operation: Option<Item>,
    is_there: bool,
    /// The rows to deal with. There are none if the source is gone.
    page: Page,
}

/// The writes of a step.
#[derive(Default)]
struct Step {
    puts: Vec<Action>,
    /// The attributes that name the copies until they are placed.
    unplaced: Vec<String>,
    /// How far the walk is after them.
    after: Option<String>,
    end: Option<CopyEnd>,
    claims: Vec<Action>,
    /// How many of the names aren't those of what is copied.
    renamed: usize,
    left_out: usize,
}

impl Copying<'_> {
    async fn carry_out(&self) -> Result<(), Failure> {
        let (mut steps, mut changed) = (0, 0);
        // After the table has rejected a step, each step copies one row.
        let mut is_single = false;
        let mut is_forgotten = false;
        while steps < self.context.limits.copy_steps_max {
            // With its claim a copy takes two actions of the transaction.
            let actions = 1 + usize::from(self.context.settings.names.is_on());
            let items_max = if is_single { 1 } else { (self.context.limits.copy_step_items_max / actions).max(1) };
            let Some(look) = self.look(items_max).await? else { return Ok(()) };
            let step = self.step(&look).await?;
            let outcome = match self.write(&look, &step, is_forgotten).await {
                Err(Failure::Refused) if step.puts.len() > 1 => {
                    is_single = true;
                    continue;
                }
                // The table refuses this copy, as its record has just room for itself: it and its subtree are left out.
                Err(Failure::Refused) if !step.puts.is_empty() => {
                    let past = Step { after: step.after.clone(), end: step.end, left_out: 1, ..Step::default() };
                    self.write(&look, &past, is_forgotten).await
                }
                outcome => outcome,
            };
            match outcome {
                // The mark goes with the next look, or the record of this step has the next invocation look.
                Ok(TaskOutcome::Held) => steps += usize::from(step.end.is_none()),
                // The operation's record isn't there: it has expired.
                Ok(TaskOutcome::Failed(failed)) if !is_forgotten && failed == [COUNT] => {
                    is_forgotten = true;
                }
                // Something has changed: the mark, or a copy has come in.
                Ok(TaskOutcome::Failed(_)) if changed < self.context.limits.rounds_max => changed += 1,
                Ok(TaskOutcome::Failed(_)) | Err(Failure::Again) => return Err(Failure::Again),
                // The top has no room for the mark. Nothing goes on, and the copy counts as stuck.
                Err(Failure::Refused) => return Ok(()),
            }
        }
        Ok(())
    }

    fn schema(&self) -> &Schema {
        self.context.schema()
    }

    fn key(&self, id: &Id) -> ItemKey {
        self.schema().node_key(&self.top.sibling(id.clone()))
    }

    /// Reads how far the copy is, and the rows that come next. `None` if there is nothing to do: another invocation has
    /// done the last step, or the top is being deleted or gone, or another client has written it anew.
    async fn look(&self, items_max: usize) -> Result<Option<CopyLook>, Failure> {
        let schema = self.schema();
        let key = schema.node_key(self.top);
        let read = self.io.read(Need::keys([key.clone()])).await?;
        let Some(top) = read.shared(&key)?.filter(|item| !has_mark(Some(item))).cloned() else { return Ok(None) };
        let Some(mark) = CopyMark::read(&top) else { return Ok(None) };
        if BaseNode::read(Arc::clone(&top), self.top, schema).is_err() {
            return Ok(None);
        }
        if mark.is_over {
            return self.remove_mark(&top).await.map(|()| None);
        }
        let source = self.top.sibling(mark.source.clone());
        let operation = schema.operation_key(self.top.tenant.as_ref(), &mark.operation);
        let range = schema.depth_range(1, DEPTH_MAX);
        let query = page_query(&self.context, &source, range, mark.after.clone(), items_max, ReadOptions::of([]));
        let need = Need { query: Some(query), ..Need::keys([schema.node_key(&source), operation.clone()]) };
        let mut read = self.io.read(need).await?;
        let is_there = is_same(&mark, read.item(&schema.node_key(&source))?, &source, schema);
        let page = read.page.take().ok_or(Failure::Again)?;
        let page = if is_there { page } else { Page::default() };
        let operation = read.item(&operation)?.cloned();
        Ok(Some(CopyLook { mark, top, operation, is_there, page }))
    }

    /// Removes the mark. It isn't removed by the transaction that ends the copy: of that the top can be read as after
    /// it, and the operation's record as before. So where there is no mark, that record says all that there is to say.
    async fn remove_mark(&self, top: &Item) -> Result<(), Failure> {
        let update = Update { remove: [COPYING.to_owned()].into(), ..Update::default() };
        let same = |name: &str| Condition::is(name, top.get(name).cloned());
        let condition = Condition::All(vec![Condition::Exists, same(COPYING), same(DELETING)]);
        let key = self.schema().node_key(self.top);
        match self.io.one(Task::Write(Action::Update { key, update, condition })).await {
            Ok(_) | Err(Failure::Refused) => Ok(()),
            Err(Failure::Again) => Err(Failure::Again),
        }
    }

    async fn step(&self, look: &CopyLook) -> Result<Step, Failure> {
        let schema = self.schema();
        let rows: Vec<(String, Option<Id>)> = look.page.items.iter().filter_map(|row| row_of(row, schema)).collect();
        let nodes: BTreeSet<&Id> = rows.iter().filter_map(|(_, id)| id.as_ref()).collect();
        let keys = nodes.iter().map(|id| self.key(id));
        let read = self.io.read(Need::keys(keys).within(TRANSACTION_BYTES_MAX)).await?;
        let mut found: BTreeMap<&Id, Candidate> = BTreeMap::new();
        for id in nodes.iter().filter(|id| !read.left.contains(&self.key(id))) {
            found.extend(self.found(look, id, &read)?.map(|one| (*id, one)));
        }
        let mut there = self.there(look, &found).await?;
        let (mut step, mut bytes) = (Step::default(), 0);
        let copied = look.operation.as_ref().map_or(0, |record| times(record, COPIED));
        let room = self.context.limits.copied_nodes_max.saturating_sub(copied);
        let mut made: BTreeMap<Id, String> = BTreeMap::new();
        for (sort_key, id) in &rows {
            if id.as_ref().is_some_and(|id| read.left.contains(&self.key(id))) {
                step.after.as_ref().ok_or(Failure::Again)?;
                return Ok(step);
            }
            // A node that moves has two rows for a moment, and the copy of its parent can be made between them.
            let one = id.as_ref().and_then(|id| found.get(id));
            let copy = one.and_then(|one| Some((one, self.copy(look, one, &made, &there)?)));
            if let Some((one, (mut item, born))) = copy {
                if step.puts.len() >= room {
                    return Ok(Step { end: Some(CopyEnd::LimitReached), ..step });
                }
                let named = self.name(look, one, &there).await?;
                let other = named.as_ref().and_then(|(name, _)| name.as_deref());
                item.extend(other.map(|name| (self.schema().names().segment.clone(), text(name))));
                let more = item_bytes(&item).max(sent_bytes(&item) / 4);
                if bytes + more > TRANSACTION_BYTES_MAX && !step.puts.is_empty() {
                    return Ok(step);
                }
                bytes += more;
                step.renamed += usize::from(other.is_some());
                if let Some((_, key)) = named {
                    let claim = NameClaim { node: one.copy.clone(), write: born.clone() }.item(&key, self.schema());
                    let condition = unclaimed_or_of(&one.copy);
                    step.claims.push(Action::Put { key: key.clone(), item: claim, condition });
                    there.claimed.insert(key);
                }
                step.unplaced.extend(CopyOf::read(&item).map(|of| of.unplaced()));
                step.puts.push(Action::Put { key: self.key(&one.copy), item, condition: Condition::Absent });
                made.insert(one.copy.clone(), born);
            }
            step.after = Some(sort_key.clone());
        }
        let end = if look.is_there { CopyEnd::Walked } else { CopyEnd::SourceGone };
        step.end = look.page.next.is_none().then_some(end);
        Ok(step)
    }

    /// Writes a step: the copies, how far the walk is, and how many the operation has copied, unless it is forgotten.
    async fn write(&self, look: &CopyLook, step: &Step, is_forgotten: bool) -> Result<TaskOutcome, Failure> {
        let (schema, rules) = (self.schema(), self.context.rules);
        let mark = CopyMark { after: step.after.clone(), is_over: step.end.is_some(), ..look.mark.clone() };
        let update = Update::set(COPYING, mark.value());
        let condition = if rules.keeps(Rule::CopyMark) {
            let same = |name: &str| Condition::is(name, look.top.get(name).cloned());
            Condition::All(vec![Condition::Exists, same(COPYING), same(DELETING)])
        } else {
            Condition::Exists
        };
        let mut actions = vec![Action::Update { key: schema.node_key(self.top), update, condition }];
        let puts = step.puts.len();
        if !is_forgotten && (puts + step.left_out > 0 || step.end.is_some()) {
            let key = schema.operation_key(self.top.tenant.as_ref(), &look.mark.operation);
            // The mark can be read as after a transaction and this record as before it: as before the last step, or
            // before there was an operation. So its count can lack the last step, and the limit be passed by one.
            let mut update = Update::default();
            for (name, count) in [(COPIED, puts), (RENAMED, step.renamed), (LEFT_OUT, step.left_out)] {
                let add = Update {
                    add: [(name.to_owned(), (0..count).fold(Decimal::ZERO, |sum, _| sum + Decimal::ONE))].into(),
                    ..Update::default()
                };
                match add.can_add_to(look.operation.as_ref()) {
                    _ if count == 0 => {}
                    true => update.add.extend(add.add),
                    false => _ = update.set.insert(name.to_owned(), number(count)),
                }
            }
            update.set.extend(step.end.map(|end| (ENDED.to_owned(), text(end.as_str()))));
            if rules.keeps(Rule::CopyUnplaced) {
                update.set.extend(step.unplaced.iter().map(|name| (name.clone(), AttributeValue::Bool(true))));
            }
            actions.push(Action::Update { key, update, condition: Condition::Exists });
        }
        if !rules.keeps(Rule::CopyTogether) {
            let tasks = step.claims.iter().chain(&step.puts).cloned().map(Task::Write).collect();
            count_held(&self.io.all(tasks).await?)?;
            return self.io.one(Task::together(actions)).await;
        }
        actions.extend(step.claims.iter().chain(&step.puts).cloned());
        let outcome = self.io.one(Task::together(actions)).await?;
        if outcome == TaskOutcome::Held {
            self.io.report(|report| report.tally.nodes_copied += puts as u64);
        }
        Ok(outcome)
    }
}

fn row_of(row: &Item, schema: &Schema) -> Option<(String, Option<Id>)> {
    Some((key_of(row, schema)?.sk, ancestor_in(row, schema).map(|(_, id)| id)))
}

/// True if the source is there, isn't being deleted, and lives the life that is copied.
fn is_same(mark: &CopyMark, source: Option<&Item>, node: &NodeRef, schema: &Schema) -> bool {
    let Some(item) = source else { return false };
    let is_another = |now: &str| mark.born.as_deref().is_some_and(|born| born != now);
    let is_readable = BaseNode::read(item.clone(), node, schema).is_ok_and(|base| base.deleting.is_none());
    is_readable && !life_of(item).is_some_and(is_another)
}
