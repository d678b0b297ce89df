//! The epoch of all totals: what is wrong with its item, and who begins another one.
//!
//! Everything that is counted is of the epoch that the item `EPOCH` says. If the item is lost, altered or put back from
//! a copy, new nodes are counted in another epoch than all others, and no comparison of single nodes shows it. So
//! whoever begins an epoch writes the item twice, in one transaction. If the two differ, the later one counts: epochs
//! only go on.

use super::difference::Evidence;
use super::{Difference, Kind, Mended};
use crate::fanout::Context;
use crate::keys::{Id, NodeRef, Schema};
use crate::model::{AttributeValue, Epoch, FORMAT_ATTRIBUTE, Item, NewerFormat, text};
use crate::plan::{Failure, Io, Need, Plan, Read, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition, Update};

/// The two items of the epoch, as they were read.
pub(super) struct Epochs<'i> {
    item: Option<&'i Item>,
    copy: Option<&'i Item>,
}

impl<'i> Epochs<'i> {
    pub(super) fn new(item: Option<&'i Item>, copy: Option<&'i Item>) -> Self {
        Self { item, copy }
    }

    pub(super) fn of(read: &'i Read, schema: &Schema) -> Result<Self, Failure> {
        Ok(Self::new(read.item(&schema.epoch_key())?, read.item(&schema.epoch_copy_key())?))
    }

    /// The epochs that the items say.
    fn said(&self) -> Result<[Option<Epoch>; 2], NewerFormat> {
        let of = |item: Option<&Item>| Ok(item.map(Epoch::found).transpose()?.flatten());
        Ok([of(self.item)?, of(self.copy)?])
    }

    /// The epoch that should be in both items: the later one.
    fn wanted(&self) -> Result<Epoch, NewerFormat> {
        let [item, copy] = self.said()?;
        let item = item.unwrap_or_default();
        Ok(copy.map_or(item, |copy| item.or_later(copy)))
    }

    /// The present epoch. `None` if the items differ, or one of them can't be read.
    fn present(&self) -> Result<Option<Epoch>, NewerFormat> {
        let ([item, copy], wanted) = (self.said()?, Some(self.wanted()?));
        let is_item_right = item == wanted || (self.item.is_none() && wanted == Some(Epoch::default()));
        Ok(wanted.filter(|_| is_item_right && (self.copy.is_none() || copy == wanted)))
    }

    /// The present epoch, or what is wrong with it: then no count can be judged. `node` is any node of the table.
    pub(super) fn judge(&self, node: &NodeRef, schema: &Schema) -> Result<Result<Epoch, Difference>, NewerFormat> {
        if let Some(epoch) = self.present()? {
            return Ok(Ok(epoch));
        }
        let (key, evidence) = (schema.epoch_key(), Evidence::new().and(self.item).and(self.copy));
        // However many nodes show it, it is one difference. The items are in no node's partition.
        let node = Id::new(&key.pk).map_or_else(|_| node.clone(), NodeRef::from);
        Ok(Err(Difference::of(Kind::EpochWrong, key, &node, &evidence)))
    }

    /// Puts this epoch into both items, while they are as they were read.
    fn put(&self, epoch: Epoch, unfinished: Option<AttributeValue>, context: Context<'_>) -> Task {
        let schema = context.schema();
        let (mut item, copy) = (epoch.item(schema), epoch.copy(schema));
        item.extend(unfinished.map(|name| (Epoch::UNFINISHED.to_owned(), name)));
        let on = |read| context.rules.on(Rule::EpochAsRead, as_read(read));
        let put = |key, item, read| Action::Put { key, item, condition: on(read) };
        let (key, copy_key) = (schema.epoch_key(), schema.epoch_copy_key());
        Task::Transact(vec![put(key, item, self.item), put(copy_key, copy, self.copy)])
    }
}

/// The present epoch by its two items; `None` if they differ or can't be read. Fails if a newer version wrote one.
pub fn present_epoch(item: Option<&Item>, copy: Option<&Item>) -> Result<Option<Epoch>, NewerFormat> {
    Epochs::new(item, copy).present()
}

pub(super) fn as_read(item: Option<&Item>) -> Condition {
    let Some(item) = item else { return Condition::Absent };
    let names = [Epoch::EPOCH, Epoch::UNFINISHED, FORMAT_ATTRIBUTE];
    let same = names.map(|name| Condition::is(name, item.get(name).cloned()));
    Condition::All(std::iter::once(Condition::Exists).chain(same).collect())
}

/// Puts the later one of the two epochs into both items.
pub(super) async fn mend(context: Context<'_>, io: &Io) -> Result<Mended, Failure> {
    let schema = context.schema();
    let read = io.read(Need::keys([schema.epoch_key(), schema.epoch_copy_key()])).await?;
    let epochs = Epochs::of(&read, schema)?;
    let (Ok(None), Ok(wanted)) = (epochs.present(), epochs.wanted()) else { return Ok(Mended::Gone) };
    let unfinished = epochs.item.and_then(|item| item.get(Epoch::UNFINISHED).cloned());
    let is_held = io.one(epochs.put(wanted, unfinished, context)).await? == TaskOutcome::Held;
    Ok(if is_held { Mended::Restored } else { Mended::Gone })
}

/// Why no epoch was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotBegun {
    /// Somebody else has begun one in the same moment.
    Taken,
    /// A newer version has written the epoch.
    Newer(NewerFormat),
    /// The epochs that are in use lie all around the circle of numbers, so that none is later than all of them.
    AllAround,
}

/// The plan that begins an epoch later than the present one and all of these, of totals and counted nodes. Handlers
/// count in it from their next batch on. `name` is the caller's alone: sent again with it, the plan returns the same
/// epoch.
pub fn begin_epoch<'c>(context: Context<'c>, used: &[Epoch], name: String) -> Plan<'c, Result<Epoch, NotBegun>> {
    let mut all = used.to_vec();
    Plan::new(|io| async move {
        let schema = context.schema();
        let ours = Some(text(name.as_str()));
        let mut is_sent = false;
        loop {
            let read = io.read(Need::keys([schema.epoch_key(), schema.epoch_copy_key()])).await?;
            let epochs = Epochs::of(&read, schema)?;
            let (said, now) = match (epochs.said(), epochs.wanted()) {
                (Ok(said), Ok(now)) => (said, now),
                (Err(newer), _) | (_, Err(newer)) => return Ok(Err(NotBegun::Newer(newer))),
            };
            let is_ours = epochs.item.is_some_and(|item| item.get(Epoch::UNFINISHED) == ours.as_ref());
            // A number that somebody has altered since isn't ours.
            if said == [Some(now); 2] && is_ours && context.rules.keeps(Rule::EpochByName) {
                return Ok(Ok(now));
            }
            if is_sent {
                return Ok(Err(NotBegun::Taken));
            }
            all.extend(said.into_iter().flatten().chain([now]));
            let Some(next) = Epoch::after(&all) else { return Ok(Err(NotBegun::AllAround)) };
            if io.one(epochs.put(next, ours.clone(), context)).await? == TaskOutcome::Held {
                return Ok(Ok(next));
            }
            // Another one was faster, or an attempt of this very write whose answer was lost.
            is_sent = true;
        }
    })
}

/// The plan that ends an epoch's recount: handlers count all nodes in it. False if another was begun meanwhile.
pub fn end_epoch(context: Context<'_>, epoch: Epoch, name: String) -> Plan<'_, bool> {
    Plan::new(move |io| async move {
        let key = context.schema().epoch_key();
        let number = AttributeValue::N(epoch.0.to_string());
        let is_ours =
            [Condition::is(Epoch::EPOCH, Some(number)), Condition::is(Epoch::UNFINISHED, Some(text(name.as_str())))];
        let condition =
            if context.rules.keeps(Rule::EpochByName) { Condition::All(is_ours.into()) } else { Condition::Exists };
        let update = Update { remove: [Epoch::UNFINISHED.to_owned()].into(), ..Update::default() };
        let end = Action::Update { key: key.clone(), update, condition };
        if io.one(Task::Write(end)).await? == TaskOutcome::Held {
            return Ok(true);
        }
        let read = io.read(Need::keys([key.clone()])).await?;
        let item = read.item(&key)?;
        let is_over = item.is_some_and(|item| !item.contains_key(Epoch::UNFINISHED));
        Ok(is_over && Epoch::read(item) == Ok(epoch))
    })
}
