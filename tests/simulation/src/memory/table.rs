use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, answered_bytes, item_bytes, key_of, text};
use sapwood_store::{
    ANSWER_BYTES_MAX, Action, BATCH_GET_KEYS_MAX, BATCH_UPDATES_MAX, BATCH_WRITE_ITEMS_MAX, Condition, ErrorKind,
    Found, Page, Query, ReadOptions, Reply, RetryPolicy, Scan, Scannable, Scanned, TRANSACTION_ACTIONS_MAX, Table,
    TableError, Transacted, Update, Write,
};

use super::{Memory, is_possible, values};

/// Most bytes of a page of Query, without the item that passes the limit.
const PAGE_BYTES_MAX: usize = 1_024 * 1_024;

/// Always tries again, at once. A [`MemoryTable`] fails for a moment only where an answer would be too large.
#[derive(Clone, Copy, Debug)]
pub struct Patient;

impl RetryPolicy for Patient {
    async fn wait(&self, _attempt: u32) -> bool {
        true
    }
}

/// A [`Table`] on a [`Memory`] that answers at once, for suites that need no scheduler. The schema names its key
/// attributes.
#[derive(Clone, Debug, Default)]
pub struct MemoryTable(pub Arc<Mutex<Memory>>, pub Schema);

/// The answer to a write, and what it takes.
fn reply<T>(value: T, write_units: f64) -> Result<Reply<T>, TableError> {
    Ok(Reply { value, read_units: 0.0, write_units })
}

/// An action of a transaction takes the units of so many writes.
const TRANSACTION_FACTOR: f64 = 2.0;

/// Bytes of a write unit.
const BYTES_OF_WRITE_UNIT: usize = 1_024;

/// The units of a write: those of the larger of the item before and after. One whose condition fails takes them, too.
fn write_units(before: Option<&Item>, after: Option<&Item>) -> f64 {
    let bytes = before.into_iter().chain(after).map(item_bytes).max();
    bytes.map_or(1, |bytes| bytes.div_ceil(BYTES_OF_WRITE_UNIT).max(1)) as f64
}

/// Bytes of a read unit. One that isn't strongly consistent is worth half a unit.
const BYTES_OF_READ_UNIT: usize = 4_096;

/// The answer to a read, and what it takes: the bytes of each item apart where they are read by their keys, and
/// together else.
fn reply_read<T>(
    value: T,
    bytes: impl IntoIterator<Item = usize>,
    reading: &ReadOptions,
) -> Result<Reply<T>, TableError> {
    let units: usize = bytes.into_iter().map(|bytes| bytes.div_ceil(BYTES_OF_READ_UNIT).max(1)).sum();
    let read_units = units as f64 * if reading.strong { 1.0 } else { 0.5 };
    Ok(Reply { value, read_units, write_units: 0.0 })
}

/// The error of a write that DynamoDB doesn't accept.
fn refused(what: &str) -> TableError {
    TableError::new(ErrorKind::Refuse, format!("ValidationException: {what}"))
}

/// The error of a read that DynamoDB doesn't accept. No item is at fault.
fn senseless(what: &str) -> TableError {
    TableError::new(ErrorKind::GiveUp, format!("ValidationException: {what}"))
}

fn are_distinct<'a>(keys: impl ExactSizeIterator<Item = &'a ItemKey>) -> bool {
    let count = keys.len();
    keys.collect::<BTreeSet<_>>().len() == count
}

/// Returns the item as reads will return it.
fn stored(item: &Item) -> Result<Item, TableError> {
    values::stored(item).map_err(refused)
}

/// Returns the update with its values as reads will return them. An update can't change key attributes, nor set and
/// remove one attribute.
fn stored_update(update: &Update, schema: &Schema) -> Result<Update, TableError> {
    let names = schema.names();
    let is_key = |name: &String| [&names.partition_key, &names.sort_key].contains(&name);
    let mut named = update.set.keys().chain(&update.remove).chain(update.add.keys());
    if named.any(is_key) || update.remove.iter().any(|name| name.is_empty() || update.set.contains_key(name)) {
        return Err(refused("attributes of an update"));
    }
    Ok(Update { set: stored(&update.set)?, remove: update.remove.clone(), add: update.add.clone() })
}

/// Returns the attributes of an item that a read asks for.
fn projected(item: &Item, reading: &ReadOptions, schema: &Schema) -> Item {
    let names = schema.names();
    let keys = [&names.partition_key, &names.sort_key];
    let wanted = |name: &String| {
        keys.contains(&name) || reading.attributes.as_ref().is_none_or(|attributes| attributes.contains(name))
    };
    item.iter().filter(|(name, _)| wanted(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl MemoryTable {
    fn item_with(&self, key: &ItemKey) -> Item {
        let names = self.1.names();
        Item::from([(names.partition_key.clone(), text(&key.pk)), (names.sort_key.clone(), text(&key.sk))])
    }

    /// If the condition holds, puts what `change` makes of the item, or deletes the item if that is `None`.
    fn conditional(
        &self,
        key: &ItemKey,
        condition: &Condition,
        change: impl FnOnce(Option<&Item>) -> Option<Item>,
    ) -> Result<Reply<bool>, TableError> {
        if !is_possible(key) {
            return Err(refused("key size"));
        }
        let mut memory = self.0.lock().unwrap();
        let before = memory.get(key);
        if !values::condition(condition).map_err(refused)?.holds(before) {
            return reply(false, write_units(before, None));
        }
        let after = change(before);
        if let Some(item) = &after {
            Memory::check(item, key)?;
        }
        let write_units = write_units(before, after.as_ref());
        memory.write(key, after);
        reply(true, write_units)
    }
}

impl Table for MemoryTable {
    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        if keys.is_empty() || keys.len() > BATCH_GET_KEYS_MAX || !are_distinct(keys.iter()) {
            return Err(senseless("number of keys"));
        }
        if !keys.iter().all(is_possible) {
            return Err(senseless("key size"));
        }
        let memory = self.0.lock().unwrap();
        let read = keys.iter().map(|key| memory.get(key).map_or(0, item_bytes));
        let items = keys.iter().filter_map(|key| Some(projected(memory.get(key)?, reading, &self.1)));
        let found = Found { items: items.collect(), ..Found::default() };
        if keys.len() > 1 && found.items.iter().map(answered_bytes).sum::<usize>() > ANSWER_BYTES_MAX {
            return Err(TableError::unanswered("an answer that is too large"));
        }
        reply_read(found, read, reading)
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        if writes.is_empty() || writes.len() > BATCH_WRITE_ITEMS_MAX || !are_distinct(writes.iter().map(Write::key)) {
            return Err(refused("number of writes"));
        }
        if writes.iter().any(|write| write.row_deletion().is_some()) {
            return Err(refused("a condition"));
        }
        // If one write is impossible, none is carried out.
        let mut changes = Vec::new();
        for write in writes {
            let item = write.item(&self.1).map(|item| stored(&item)).transpose()?;
            Memory::check(item.as_ref().unwrap_or(&Item::new()), write.key())?;
            changes.push((write.key(), item));
        }
        let mut memory = self.0.lock().unwrap();
        let mut units = 0.0;
        for (key, item) in changes {
            units += write_units(memory.get(key), item.as_ref());
            memory.write(key, item);
        }
        reply(Vec::new(), units)
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let item = stored(item)?;
        let key = key_of(&item, &self.1).ok_or_else(|| refused("no key"))?;
        self.conditional(&key, condition, |_| Some(item))
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.conditional(key, condition, |_| None)
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let update = stored_update(update, &self.1)?;
        if !update.can_add_to(self.0.lock().unwrap().get(key)) {
            return Err(refused("an operand of an update"));
        }
        self.conditional(key, condition, |before| {
            Some(update.of(before.cloned().unwrap_or_else(|| self.item_with(key))))
        })
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        if actions.is_empty() || actions.len() > BATCH_UPDATES_MAX || !are_distinct(actions.iter().map(Action::key)) {
            return Err(refused("number of statements"));
        }
        let (mut answers, mut units) = (Vec::new(), 0.0);
        for action in actions {
            let answer = match action {
                Action::Update { key, update, condition } => self.update(key, update, condition).await,
                // PartiQL answers so where no item is.
                Action::Delete { key, condition } => {
                    let is_there = self.0.lock().unwrap().get(key).is_some();
                    if is_there { self.delete(key, condition).await } else { reply(true, write_units(None, None)) }
                }
                _ => return Err(refused("another statement")),
            };
            units += answer.as_ref().map_or(0.0, |reply| reply.write_units);
            answers.push(answer.map(|reply| reply.value));
        }
        reply(answers, units)
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        if actions.is_empty()
            || actions.len() > TRANSACTION_ACTIONS_MAX
            || !are_distinct(actions.iter().map(Action::key))
        {
            return Err(refused("number of actions"));
        }
        if !actions.iter().map(Action::key).all(is_possible) {
            return Err(refused("key size"));
        }
        let mut memory = self.0.lock().unwrap();
        let (mut changes, mut failed, mut units) = (Vec::new(), Vec::new(), 0.0);
        for (position, action) in actions.iter().enumerate() {
            let before = memory.get(action.key());
            if !values::condition(action.condition()).map_err(refused)?.holds(before) {
                failed.push(position);
                units += TRANSACTION_FACTOR * write_units(before, None);
                continue;
            }
            let action = match action.clone() {
                Action::Put { key, item, condition } => Action::Put { key, item: stored(&item)?, condition },
                Action::Update { key, update, condition } => {
                    Action::Update { key, update: stored_update(&update, &self.1)?, condition }
                }
                action => action,
            };
            if matches!(&action, Action::Update { update, .. } if !update.can_add_to(before)) {
                return Err(refused("an operand of an update"));
            }
            let after = action.outcome(before, self.item_with(action.key()));
            Memory::check(after.as_ref().unwrap_or(&Item::new()), action.key())?;
            units += TRANSACTION_FACTOR * write_units(before, after.as_ref());
            changes.push((action.key().clone(), after));
        }
        if !failed.is_empty() {
            return reply(Transacted::Failed(failed), units);
        }
        for (key, after) in changes {
            memory.write(&key, after);
        }
        reply(Transacted::Done, units)
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        let Query { pk, range, after, limit, .. } = query;
        let keys = [Some(&range.from), Some(&range.to), after.as_ref()];
        if !keys.into_iter().flatten().all(|sk| is_possible(&ItemKey::new(pk, sk))) {
            return Err(senseless("key size"));
        }
        let outside = after.as_ref().is_some_and(|after| *after < range.from || *after > range.to);
        if *limit == 0 || range.from > range.to || outside {
            return Err(senseless("limit or range"));
        }
        let mut page = self.0.lock().unwrap().query(query);
        let mut bytes = 0;
        let past = page.items.iter().position(|item| {
            bytes += item_bytes(item);
            bytes > PAGE_BYTES_MAX
        });
        if let Some(last) = past {
            page.items.truncate(last + 1);
            page.next = key_of(&page.items[last], &self.1).map(|key| key.sk);
        }
        let bytes = page.items.iter().map(item_bytes).sum();
        page.items = page.items.iter().map(|item| projected(item, &query.reading, &self.1)).collect();
        reply_read(page, [bytes], &query.reading)
    }
}

impl Scannable for MemoryTable {
    async fn scan(&self, scan: &Scan) -> Result<Reply<Scanned>, TableError> {
        let Scan { segment, segments, after, limit, reading } = scan;
        if *limit == 0 || segment >= segments || !after.iter().all(is_possible) {
            return Err(senseless("limit, segment or key"));
        }
        let memory = self.0.lock().unwrap();
        let found = memory.scan(*segment, *segments, after.as_ref()).take(*limit);
        let mut scanned = Scanned::default();
        let mut bytes = 0;
        for (key, item) in found {
            bytes += item_bytes(item);
            scanned.items.push(projected(item, reading, &self.1));
            if scanned.items.len() == *limit || bytes > PAGE_BYTES_MAX {
                scanned.next = Some(key.clone());
                break;
            }
        }
        reply_read(scanned, [bytes], reading)
    }
}
