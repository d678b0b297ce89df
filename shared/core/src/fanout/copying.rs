//! Copies a subtree: a walk over the rows below the source, the parents before their children. Each step puts the
//! copies of some nodes, and moves the mark in the record of the copy's top, in one transaction. So a step is done once
//! or not at all, whoever repeats it. Where siblings have names of their own, it claims those of the copies as well.
//!
//! The present records decide, not the rows: a node is copied if its record, when it is read, names a parent whose copy
//! is there. `docs/decisions/copies.md` says what that makes of changes that come meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::Context;
use super::deletion::{keys_alone, page_query};
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, Schema, SortKey};
use crate::model::{
    BORN, BaseNode, COPIED, COPY_OF, COPYING, CREATED_AT, CREATED_BY, CopyMark, CopyOf, DELETING, Decimal, Item,
    NameClaim, PUT_BACK, REVISION, UNDER, UPDATED_AT, UPDATED_BY, Under, WRITE, has_mark, is_reserved, item_bytes,
    key_of, life_of, number, sent_bytes, text, with_key,
};
use crate::plan::conditions::unclaimed_or_of;
use crate::plan::step::{Failure, Need, Read, Task, TaskOutcome, count_held};
use crate::plan::{Io, Rule, Script};
use crate::request::{Action, Condition, Page, ReadOptions, Update};

/// About how many bytes of records one step reads, as answers have them, and puts: a transaction takes 4 MB
/// ([AWS: API reference][aws]), and the copies are a little larger than what they copy.
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const STEP_BYTES_MAX: usize = 3 * 1_024 * 1_024;

/// The plan that a record of a copy's top asks for, while the top has the mark: a few steps.
#[must_use]
pub fn continue_copy(context: Context<'_>, top: NodeRef) -> Script<'_, ()> {
    Script::new(|io| async move { Copying { context, top: &top, io: &io }.carry_out().await })
}

/// A copy that is being made.
struct Copying<'c> {
    context: Context<'c>,
    /// The node at the top of the copy.
    top: &'c NodeRef,
    io: &'c Io,
}

/// The position of the count among the actions of a step.
const COUNT: usize = 1;

/// What is known when a step begins.
struct Look {
    mark: CopyMark,
    /// The record of the top.
    top: Arc<Item>,
    /// The operation's record. `None` if it is forgotten, or isn't seen yet.
    operation: Option<Item>,
    /// The rows to deal with. There are none if the source is gone.
    page: Page,
}

/// What a step is to write.
struct Step {
    /// The copies.
    puts: Vec<Action>,
    /// How far the walk is after them; `None` at its end.
    after: Option<String>,
    /// The claims of their names.
    claims: Vec<Action>,
}

impl Copying<'_> {
    async fn carry_out(&self) -> Result<(), Failure> {
        let (mut steps, mut changed) = (0, 0);
        // One row at a time, once the table has refused a step.
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
                // The table refuses this very copy, and the executor has noted it: the copy of a record that has just
                // room for itself. What is below it isn't copied either.
                Err(Failure::Refused) if !step.puts.is_empty() => {
                    let past = Step { puts: Vec::new(), claims: Vec::new(), after: step.after.clone() };
                    self.write(&look, &past, is_forgotten).await
                }
                outcome => outcome,
            };
            match outcome {
                Ok(TaskOutcome::Held) if step.after.is_none() => return Ok(()),
                Ok(TaskOutcome::Held) => steps += 1,
                // The operation's record isn't there: it has expired.
                Ok(TaskOutcome::Failed(failed)) if !is_forgotten && !step.puts.is_empty() && failed == [COUNT] => {
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
    async fn look(&self, items_max: usize) -> Result<Option<Look>, Failure> {
        let schema = self.schema();
        let key = schema.node_key(self.top);
        let read = self.io.read(Need::keys([key.clone()])).await?;
        let Some(top) = read.shared(&key)?.filter(|item| !has_mark(Some(item))).cloned() else { return Ok(None) };
        let Some(mark) = CopyMark::read(&top) else { return Ok(None) };
        if BaseNode::read(Arc::clone(&top), self.top, schema).is_err() {
            return Ok(None);
        }
        let source = self.top.sibling(mark.source.clone());
        let operation = schema.operation_key(self.top.tenant.as_ref(), &mark.operation);
        let query = page_query(
            &self.context,
            &source,
            schema.depth_range(1, DEPTH_MAX),
            mark.after.clone(),
            items_max,
            keys_alone(),
        );
        let need = Need { query: Some(query), ..Need::keys([schema.node_key(&source), operation.clone()]) };
        let mut read = self.io.read(need).await?;
        let is_there = is_same(&mark, read.item(&schema.node_key(&source))?, &source, schema);
        let page = read.page.take().ok_or(Failure::Again)?;
        let page = if is_there { page } else { Page::default() };
        let operation = read.item(&operation)?.cloned();
        Ok(Some(Look { mark, top, operation, page }))
    }

    /// Decides on the next step.
    async fn step(&self, look: &Look) -> Result<Step, Failure> {
        let schema = self.schema();
        let rows: Vec<(String, Option<Id>)> = look.page.items.iter().filter_map(|row| row_of(row, schema)).collect();
        let nodes: BTreeSet<&Id> = rows.iter().filter_map(|(_, id)| id.as_ref()).collect();
        let keys = nodes.iter().map(|id| self.key(id));
        let read = self.io.read(Need::keys(keys).within(STEP_BYTES_MAX)).await?;
        let mut found: BTreeMap<&Id, Found> = BTreeMap::new();
        for id in nodes.iter().filter(|id| !read.left.contains(&self.key(id))) {
            found.extend(self.found(look, id, &read)?.map(|one| (*id, one)));
        }
        let mut there = self.there(look, &found).await?;
        let (mut puts, mut claims, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut made: BTreeMap<Id, String> = BTreeMap::new();
        let mut after = None;
        for (sort_key, id) in &rows {
            if id.as_ref().is_some_and(|id| read.left.contains(&self.key(id))) {
                after.as_ref().ok_or(Failure::Again)?;
                return Ok(Step { puts, after, claims });
            }
            // A node that moves has two rows for a moment, and the copy of its parent can be made between them.
            let one = id.as_ref().and_then(|id| found.get(id));
            if let Some((one, (item, born))) = one.and_then(|one| Some((one, self.copy(look, one, &made, &there)?))) {
                let more = item_bytes(&item).max(sent_bytes(&item) / 4);
                if bytes + more > STEP_BYTES_MAX && !puts.is_empty() {
                    return Ok(Step { puts, after, claims });
                }
                bytes += more;
                if let Some((key, claim)) = self.claim(one, &born, &there) {
                    // Other clients may have given two children one name. A transaction takes one claim of it.
                    there.claimed.insert(key);
                    claims.push(claim);
                }
                puts.push(Action::Put { key: self.key(&one.copy), item, condition: Condition::Absent });
                made.insert(one.copy.clone(), born);
            }
            after = Some(sort_key.clone());
        }
        Ok(Step { puts, after: after.filter(|_| look.page.next.is_some()), claims })
    }

    /// The claim of the name that a copy has, by its key. `None` where siblings may have the same name, and where a
    /// node has come to have the name below the copy meanwhile: like a child that is handed to another parent, the copy
    /// asks nobody, and an audit finds the two.
    fn claim(&self, one: &Found, born: &str, there: &There) -> Option<(ItemKey, Action)> {
        let key = self.claim_key(one).filter(|key| !there.claimed.contains(key))?;
        let claim = NameClaim { node: one.copy.clone(), write: born.to_owned() };
        let (item, condition) = (claim.item(&key, self.schema()), unclaimed_or_of(&one.copy));
        Some((key.clone(), Action::Put { key, item, condition }))
    }

    /// The key of the claim of the name that the copy of a node is to have.
    fn claim_key(&self, one: &Found) -> Option<ItemKey> {
        let names = Some(self.context.settings.names).filter(|names| names.is_on())?;
        let name = one.base.written_segment(&one.node, self.schema());
        let name = names.compared(name.as_deref().unwrap_or(one.copy.as_str()));
        Some(self.schema().name_key(self.top, Some(&one.parent), name))
    }

    /// A node that is copied, as long as its parent's copy is there and its own never was. `None` for what isn't copied
    /// in any case.
    fn found(&self, look: &Look, id: &Id, read: &Read) -> Result<Option<Found>, Failure> {
        let node = self.top.sibling(id.clone());
        let Some(item) = read.shared(&self.key(id))? else { return Ok(None) };
        let Ok(base) = BaseNode::read(Arc::clone(item), &node, self.schema()) else { return Ok(None) };
        // What this operation has made would be copied for ever, and so would what two make of each other's.
        let is_own = CopyOf::read(item).is_some_and(|of| of.operation >= look.mark.operation);
        if base.deleting.is_some() || (is_own && self.context.rules.keeps(Rule::CopyOwn)) {
            return Ok(None);
        }
        let copy_of = |id: &Id| if *id == look.mark.source { Ok(self.top.id.clone()) } else { look.mark.id_of(id) };
        let parent = base.parent.as_ref().and_then(|parent| copy_of(parent).ok());
        let (Some(parent), Ok(copy)) = (parent, copy_of(id)) else { return Ok(None) };
        // In a cycle, which other clients make, the source is below itself.
        Ok(Some(Found { node, base, copy, parent }).filter(|one| one.copy != self.top.id))
    }

    /// Reads the copies of these nodes' parents, and what would tell that a copy of a node was there.
    async fn there(&self, look: &Look, found: &BTreeMap<&Id, Found>) -> Result<There, Failure> {
        let schema = self.schema();
        let (mut keys, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for Found { copy, parent, .. } in found.values() {
            let copied = self.top.sibling(copy.clone());
            keys.extend([self.key(parent), self.key(copy), schema.lineage_key(&copied), schema.deleted_key(&copied)]);
            ids.extend([parent.clone(), copy.clone()]);
        }
        keys.remove(&self.key(&self.top.id));
        let claims: BTreeSet<ItemKey> = found.values().filter_map(|one| self.claim_key(one)).collect();
        keys.extend(claims.iter().cloned());
        // Records and lineages can be large, and little of them counts.
        let names = schema.names();
        let attributes = [BORN, DELETING, COPY_OF, PUT_BACK, &names.parent, &names.segment].map(str::to_owned);
        let options = ReadOptions { strong: true, attributes: Some(attributes.into()) };
        let need = Need { options, ..Need::keys(keys) };
        let read = if need.keys.is_empty() { Read::default() } else { self.io.read(need).await? };
        let mut there = There::default();
        for key in claims {
            if read.item(&key)?.is_some() {
                there.claimed.insert(key);
            }
        }
        for id in ids {
            let node = self.top.sibling(id.clone());
            let item = if id == self.top.id { Some(&look.top) } else { read.shared(&self.key(&id))? };
            let traces = [schema.lineage_key(&node), schema.deleted_key(&node)];
            let was_there = read.item(&traces[0])?.or(read.item(&traces[1])?).is_some();
            if item.is_some() || (was_there && self.context.rules.keeps(Rule::CopyOnce)) {
                there.taken.insert(id.clone());
            }
            let base = item.and_then(|item| BaseNode::read(Arc::clone(item), &node, schema).ok());
            // Another node may have the id by now.
            let is_copy = |base: &BaseNode| {
                id == self.top.id || CopyOf::read(&base.item).is_some_and(|of| of.operation == look.mark.operation)
            };
            if let Some(base) = base.filter(|base| base.deleting.is_none() && is_copy(base)) {
                there.alive.insert(id, base.born().map(str::to_owned));
            }
        }
        Ok(there)
    }

    /// The copy of a node, and its life. `None` if its parent's copy isn't there, or its own is or was.
    fn copy(&self, look: &Look, one: &Found, made: &BTreeMap<Id, String>, there: &There) -> Option<(Item, String)> {
        let Found { node, base, copy, parent } = one;
        let (schema, rules) = (self.schema(), self.context.rules);
        if there.taken.contains(copy) || made.contains_key(copy) {
            return None;
        }
        let above = made.get(parent).cloned().map(Some).or_else(|| there.alive.get(parent).cloned());
        if above.is_none() && rules.keeps(Rule::CopyBelow) {
            return None;
        }
        let names = schema.names();
        let mark = &look.mark;
        let born = mark.name_of(&node.id);
        let mut item = with_key(&self.key(copy), schema);
        let own = base.item.iter().filter(|(name, _)| !is_reserved(name, schema) || **name == names.segment);
        item.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        item.insert(names.parent.clone(), text(parent.as_str()));
        if rules.keeps(Rule::CopyUnder) {
            let under = Under { parent: parent.clone(), born: above.flatten() };
            item.insert(UNDER.to_owned(), under.value());
        }
        item.insert(BORN.to_owned(), text(&born));
        item.insert(WRITE.to_owned(), text(&born));
        item.insert(REVISION.to_owned(), number(1));
        item.insert(COPY_OF.to_owned(), CopyOf { operation: mark.operation.clone(), node: node.id.clone() }.value());
        // When and by whom the copy was asked for.
        for (at, by) in [(CREATED_AT, CREATED_BY), (UPDATED_AT, UPDATED_BY)] {
            item.extend(look.top.get(CREATED_AT).map(|value| (at.to_owned(), value.clone())));
            item.extend(look.top.get(CREATED_BY).map(|value| (by.to_owned(), value.clone())));
        }
        Some((item, born))
    }

    /// Writes a step: the copies, how far the walk is, and how many the operation has copied, unless it is forgotten.
    async fn write(&self, look: &Look, step: &Step, is_forgotten: bool) -> Result<TaskOutcome, Failure> {
        let (schema, rules) = (self.schema(), self.context.rules);
        let update = match &step.after {
            Some(after) => Update::set(COPYING, CopyMark { after: Some(after.clone()), ..look.mark.clone() }.value()),
            None => Update { remove: [COPYING.to_owned()].into(), ..Update::default() },
        };
        let condition = if rules.keeps(Rule::CopyMark) {
            let same = |name: &str| Condition::is(name, look.top.get(name).cloned());
            Condition::All(vec![Condition::Exists, same(COPYING), same(DELETING)])
        } else {
            Condition::Exists
        };
        let mut actions = vec![Action::Update { key: schema.node_key(self.top), update, condition }];
        let puts = step.puts.len();
        if puts > 0 && !is_forgotten {
            let key = schema.operation_key(self.top.tenant.as_ref(), &look.mark.operation);
            // The mark can be read as after a transaction and this record as before it: as before the last step, or
            // before there was an operation. So nothing is concluded from what it says.
            let copied = step.puts.iter().fold(Decimal::ZERO, |copied, _| copied + Decimal::ONE);
            let add = Update { add: [(COPIED.to_owned(), copied)].into(), ..Update::default() };
            let update = if add.can_add_to(look.operation.as_ref()) { add } else { Update::set(COPIED, number(puts)) };
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

/// A node that may be copied.
struct Found {
    node: NodeRef,
    base: BaseNode,
    /// The id of its copy.
    copy: Id,
    /// The id of its parent's copy.
    parent: Id,
}

/// What is there of the copies.
#[derive(Default)]
struct There {
    /// Ids at which a node is, or was.
    taken: BTreeSet<Id>,
    /// Nodes that others can be put below, each with its life, if its record names it.
    alive: BTreeMap<Id, Option<String>>,
    /// The claims that stand where the copies would have theirs.
    claimed: BTreeSet<ItemKey>,
}

/// The sort key of a row, and the node that it is about.
fn row_of(row: &Item, schema: &Schema) -> Option<(String, Option<Id>)> {
    let key = key_of(row, schema)?;
    let id = match schema.parse_sort_key(&key.sk) {
        Some(SortKey::Ancestor { id, .. }) => Some(id),
        _ => None,
    };
    Some((key.sk, id))
}

/// True if the source is there, isn't being deleted, and lives the life that is copied.
fn is_same(mark: &CopyMark, source: Option<&Item>, node: &NodeRef, schema: &Schema) -> bool {
    let Some(item) = source else { return false };
    let is_another = |now: &str| mark.born.as_deref().is_some_and(|born| born != now);
    let is_readable = BaseNode::read(item.clone(), node, schema).is_ok_and(|base| base.deleting.is_none());
    is_readable && !life_of(item).is_some_and(is_another)
}
