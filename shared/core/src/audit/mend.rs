//! Mends one difference.
//!
//! A row that has an owner is never written here: the owner's record is written, and the handler, which alone writes
//! rows, does the rest. Only what no base record asks for is deleted.

use super::look::names;
use super::recount::{are_nothing, is_as_read, lane_keys_beside};
use super::{Difference, Kind, epoch};
use crate::fanout::{Context, make_equal};
use crate::keys::{ItemKey, LANES, NodeRef, Schema, SortKey};
use crate::model::{
    Amounts, BORN, BaseNode, Counted, Cursor, CursorError, DELETING, Deletion, Epoch, FORMAT_ATTRIBUTE, Item, Latest,
    Lineage, NameClaim, PUT_BACK, REDRIVEN, REVISION, ROW_ID, Stored, TOUCHED, WRITE, held_name, holds_name, shown_by,
    text, with_key,
};
use crate::plan::conditions::{as_read, same_claim, same_name};
use crate::plan::{Failure, Io, Need, Plan, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition, Update};

/// The outcome of a mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mended {
    /// The handler was told to look at the item again.
    Redriven,
    /// The item, which no base record asked for, was deleted.
    Deleted,
    /// The copy is that of the newest revision now.
    Copied,
    /// The name is claimed.
    Claimed,
    /// The totals are what is counted.
    Recounted,
    /// Both items of the epoch say the later one.
    Restored,
    /// The totals were written while they were counted anew. Another attempt may hold.
    Busy,
    /// There was nothing left to mend.
    Gone,
    /// Only the owner can change the base record as it should be; or totals are to be [counted anew](super::Recount).
    Left,
}

/// The plan that mends a difference. `name` has at most 19 digits, and no other repair of this table has had it: a
/// write that changes nothing makes no stream record.
pub fn mend(context: Context<'_>, difference: Difference, name: String) -> Plan<'_, Mended> {
    Plan::new(|io| async move { Mend { context, difference: &difference, name: &name, io: &io }.carry_out().await })
}

/// The plan that replaces a cursor of another stream's sequence number by one from the start. `name`: see [`fn@mend`].
pub fn start_anew(context: Context<'_>, node: NodeRef, name: String) -> Plan<'_, Mended> {
    Plan::new(|io| async move {
        let key = context.schema().cascade_key(&node);
        let read = io.read(Need::keys([key.clone()])).await?;
        match read.item(&key)?.map(Cursor::read) {
            None => return Ok(Mended::Gone),
            Some(Err(CursorError::Newer(_))) => return Ok(Mended::Left),
            Some(_) => {}
        }
        let item = Cursor::anew(&name).item(&node, context.schema());
        // Where there is none any more, the handler has come to its end meanwhile.
        let put = Action::Put { key, item, condition: Condition::Exists };
        let is_held = io.one(Task::Write(put)).await? == TaskOutcome::Held;
        Ok(if is_held { Mended::Redriven } else { Mended::Gone })
    })
}

pub(super) struct Mend<'m> {
    pub(super) context: Context<'m>,
    pub(super) difference: &'m Difference,
    /// A name that no other repair has: digits, below every sequence number of a stream.
    pub(super) name: &'m str,
    pub(super) io: &'m Io,
}

impl<'m> Mend<'m> {
    fn schema(&self) -> &'m Schema {
        self.context.schema()
    }

    fn node(&self) -> &'m NodeRef {
        &self.difference.node
    }

    pub(super) async fn carry_out(&self) -> Result<Mended, Failure> {
        let (schema, node) = (self.schema(), self.node());
        match self.difference.kind {
            Kind::EpochWrong => epoch::mend(self.context, self.io).await,
            Kind::CountAhead => self.count_in_present_epoch().await,
            // The handler has nothing to do for a touch but to count: no row is put again.
            Kind::CountWrong => self.write_into(schema.node_key(node), TOUCHED).await,
            kind if kind.is_redriven() => self.redrive(schema.node_key(node)).await,
            Kind::RecordPutBack => self.take_away(Mended::Redriven).await,
            Kind::CursorStuck => self.redrive(schema.cascade_key(node)).await,
            Kind::RowSurplus
            | Kind::LineageSurplus
            | Kind::CountSurplus
            | Kind::DeletionStuck
            | Kind::CursorUnreadable => self.mend_what_is_read().await,
            Kind::TotalsLeft | Kind::TotalsAhead => self.delete_lane().await,
            Kind::TotalsEmpty => self.delete_lanes().await,
            Kind::NameLeft => self.forget_claim().await,
            Kind::NameUnclaimed => self.claim_name().await,
            Kind::CopyMissing | Kind::CopyWrong | Kind::CopySurplus => {
                let Some(SortKey::Latest { topic }) = schema.parse_sort_key(&self.difference.key.sk) else {
                    return Ok(Mended::Gone);
                };
                make_equal(self.context, &Latest { node: node.clone(), topic }, self.io).await?;
                Ok(Mended::Copied)
            }
            _ => Ok(Mended::Left),
        }
    }

    /// Writes an attribute that no row carries, if the item exists: the handler then looks at it as at a new one.
    async fn redrive(&self, key: ItemKey) -> Result<Mended, Failure> {
        self.write_into(key, REDRIVEN).await
    }

    /// Writes the name of this repair into an attribute that no row carries, if the item exists.
    async fn write_into(&self, key: ItemKey, attribute: &str) -> Result<Mended, Failure> {
        let update = Update::set(attribute, text(self.name));
        let condition = self.context.rules.on(Rule::RepairExists, Condition::Exists);
        self.write(Action::Update { key, update, condition }, Mended::Redriven).await
    }

    async fn write(&self, action: Action, means: Mended) -> Result<Mended, Failure> {
        self.one(Task::Write(action), means).await
    }

    async fn one(&self, task: Task, means: Mended) -> Result<Mended, Failure> {
        Ok(if self.io.one(task).await? == TaskOutcome::Held { means } else { Mended::Gone })
    }

    async fn mend_what_is_read(&self) -> Result<Mended, Failure> {
        let (schema, node, key) = (self.schema(), self.node(), &self.difference.key);
        let keys = [key.clone(), schema.node_key(node), schema.lineage_key(node)];
        let read = self.io.read(Need::keys(keys)).await?;
        let base = read.item(&schema.node_key(node))?;
        let lineage = read.item(&schema.lineage_key(node))?;
        let stored = Stored::read(lineage, schema);
        let Some(item) = read.item(key)?.filter(|_| stored.check_format().is_ok()) else { return Ok(Mended::Gone) };
        match (self.difference.kind, base) {
            (Kind::RowSurplus, _) => {
                let is_row = shown_by(item, key, schema).as_ref() == Some(node);
                if !is_row || names(&stored, key, node, schema) {
                    return Ok(Mended::Gone);
                }
                self.delete_row(lineage).await
            }
            (Kind::CursorUnreadable, _) => self.delete_cursor(item).await,
            // A record that can't be understood counts as not there, and its next event has the handler say so.
            (Kind::LineageSurplus | Kind::CountSurplus, Some(_)) => self.redrive(schema.node_key(node)).await,
            (Kind::LineageSurplus, None) if stored == Stored::Foreign => Ok(Mended::Gone),
            (Kind::LineageSurplus | Kind::CountSurplus, None) => self.put_back().await,
            (Kind::DeletionStuck, Some(base)) => self.set_off(base, stored.lineage()).await,
            _ => Ok(Mended::Gone),
        }
    }

    /// Deletes the claim of a name that its node doesn't have, while it is as it was read. The record is read after it:
    /// a write of the API that has given the node the name back since has put another claim.
    async fn forget_claim(&self) -> Result<Mended, Failure> {
        let (schema, key) = (self.schema(), &self.difference.key);
        let read = self.io.read(Need::keys([key.clone()])).await?;
        let claim = read.item(key)?;
        let Some((claim, id)) = claim.and_then(|claim| Some((claim, NameClaim::node_in(claim)?))) else {
            return Ok(Mended::Gone);
        };
        let node = self.node().sibling(id);
        let record = self.io.read(Need::keys([schema.node_key(&node)])).await?;
        if holds_name(&node, record.item(&schema.node_key(&node))?, key, self.context.settings) {
            return Ok(Mended::Gone);
        }
        self.write(Action::Delete { key: key.clone(), condition: same_claim(claim) }, Mended::Deleted).await
    }

    /// Claims the name that a node has, if no sibling has it, while the records of both are as they were read.
    async fn claim_name(&self) -> Result<Mended, Failure> {
        let (schema, node, settings) = (self.schema(), self.node(), self.context.settings);
        let node_key = schema.node_key(node);
        let read = self.io.read(Need::keys([node_key.clone()])).await?;
        let record = read.item(&node_key)?;
        let Some((key, _)) = held_name(node, record, settings) else { return Ok(Mended::Gone) };
        let claims = self.io.read(Need::keys([key.clone()])).await?;
        let claim = claims.item(&key)?;
        let write = format!("repair {}", self.name);
        let item = NameClaim { node: node.id.clone(), write }.item(&key, schema);
        let mut actions = vec![Action::Check { key: node_key, condition: same_name(record, schema) }];
        let condition = match claim {
            None => Condition::Absent,
            Some(claim) => {
                let id = match NameClaim::node_in(claim) {
                    // No claim: the table owner's.
                    None => return Ok(Mended::Left),
                    Some(id) if id == node.id => return Ok(Mended::Gone),
                    Some(id) => id,
                };
                let other = node.sibling(id);
                let other_key = schema.node_key(&other);
                let others = self.io.read(Need::keys([other_key.clone()])).await?;
                let record = others.item(&other_key)?;
                if held_name(&other, record, settings).is_some_and(|(held, _)| held == key) {
                    return Ok(Mended::Left);
                }
                actions.push(Action::Check { key: other_key, condition: same_name(record, schema) });
                same_claim(claim)
            }
        };
        actions.push(Action::Put { key, item, condition });
        self.one(Task::Transact(actions), Mended::Claimed).await
    }

    /// Deletes a lane that isn't read, while it and the present epoch are as read: a later epoch may begin just now.
    async fn delete_lane(&self) -> Result<Mended, Failure> {
        let (schema, key) = (self.schema(), self.difference.key.clone());
        let epoch_key = schema.epoch_key();
        let read = self.io.read(Need::keys([epoch_key.clone(), key.clone()])).await?;
        let lane = read.item(&key)?.filter(|item| Amounts::is_lane(item, schema));
        let epoch = read.item(&epoch_key)?;
        let Some(SortKey::Totals { epoch: of_lane, lane: number }) = schema.parse_sort_key(&key.sk) else {
            return Ok(Mended::Gone);
        };
        let (of_lane, now) = (Epoch(of_lane), Epoch::read(epoch));
        let is_read = |now| of_lane == now && number < LANES;
        let (Some(lane), Some(now)) = (lane, now.ok().filter(|now| !is_read(*now))) else { return Ok(Mended::Gone) };
        let condition = self.context.rules.on(Rule::EmptyAsRead, is_as_read(lane, schema));
        let delete = Action::Delete { key, condition };
        if !of_lane.is_after(now) {
            return self.write(delete, Mended::Deleted).await;
        }
        let condition = self.context.rules.on(Rule::AheadAsRead, epoch::as_read(epoch));
        let check = Action::Check { key: epoch_key, condition };
        self.one(Task::Transact(vec![check, delete]), Mended::Deleted).await
    }

    /// Has a node counted in the present epoch that is counted in a later one. The handler would stay in that one, so
    /// what the node is counted as goes first, while both are as they were read.
    async fn count_in_present_epoch(&self) -> Result<Mended, Failure> {
        let (schema, node) = (self.schema(), self.node());
        let (key, epoch_key) = (schema.counted_key(node), schema.epoch_key());
        let read = self.io.read(Need::keys([key.clone(), epoch_key.clone()])).await?;
        let (item, epoch) = (read.item(&key)?, read.item(&epoch_key)?);
        let (Ok(Some(counted)), Ok(now)) =
            (item.map(Counted::read).transpose().map(Option::flatten), Epoch::read(epoch))
        else {
            return Ok(Mended::Gone);
        };
        if !counted.epoch.is_after(now) {
            return Ok(Mended::Gone);
        }
        let same = Condition::is(Counted::VERSION, Some(text(counted.version.as_str())));
        let delete = Action::Delete { key, condition: same };
        let condition = self.context.rules.on(Rule::AheadAsRead, epoch::as_read(epoch));
        let check = Action::Check { key: epoch_key, condition };
        match self.one(Task::Transact(vec![check, delete]), Mended::Redriven).await? {
            // Without its record a node is counted nowhere then.
            Mended::Redriven => match self.write_into(schema.node_key(node), TOUCHED).await? {
                Mended::Gone => Ok(Mended::Deleted),
                mended => Ok(mended),
            },
            other => Ok(other),
        }
    }

    /// Deletes totals of a gone node that are nothing, while they are as they were read: no count becomes wrong.
    async fn delete_lanes(&self) -> Result<Mended, Failure> {
        let (schema, node) = (self.schema(), self.node());
        let keys: Vec<ItemKey> =
            lane_keys_beside(&self.difference.key, node, schema).into_iter().map(|(_, key)| key).collect();
        let read = self.io.read(Need::keys(keys.iter().cloned().chain([schema.node_key(node)]))).await?;
        let mut lanes = Vec::new();
        for key in keys {
            let lane = read.item(&key)?.filter(|item| Amounts::is_lane(item, schema));
            lanes.extend(lane.map(|lane| (key, lane)));
        }
        let is_there = read.item(&schema.node_key(node))?.is_some();
        if is_there || lanes.is_empty() || !are_nothing(lanes.iter().map(|(_, lane)| *lane)) {
            return Ok(Mended::Gone);
        }
        let delete = |(key, lane): (ItemKey, &Item)| Action::Delete {
            key,
            condition: self.context.rules.on(Rule::EmptyAsRead, is_as_read(lane, schema)),
        };
        self.one(Task::together(lanes.into_iter().map(delete).collect()), Mended::Deleted).await
    }

    /// Deletes a row while its owner's lineage, which doesn't name it, is as read: lineages are written before rows.
    async fn delete_row(&self, lineage: Option<&Item>) -> Result<Mended, Failure> {
        let (schema, key) = (self.schema(), self.difference.key.clone());
        if !self.context.rules.keeps(Rule::RepairCheck) {
            return self.write(Action::Delete { key, condition: Condition::Exists }, Mended::Deleted).await;
        }
        // Another client may put an item of its own there.
        let is_row = Condition::is(ROW_ID, Some(text(self.node().id.as_str())));
        let condition = lineage.map_or(Condition::Absent, |item| as_read(item, Lineage::attributes(), schema));
        let check = Action::Check { key: schema.lineage_key(self.node()), condition };
        let delete = Action::Delete { key, condition: is_row };
        self.one(Task::Transact(vec![check, delete]), Mended::Deleted).await
    }

    /// Deletes what is no cursor in a cursor's place, while it is as it was read. The handler would overwrite it, too.
    async fn delete_cursor(&self, item: &Item) -> Result<Mended, Failure> {
        if Cursor::read(item) != Err(CursorError::Malformed) || !Cursor::is_ours(item) {
            return Ok(Mended::Gone);
        }
        let names = [Cursor::SEQUENCE, FORMAT_ATTRIBUTE].map(|name| Condition::is(name, item.get(name).cloned()));
        let delete = Action::Delete { key: self.difference.key.clone(), condition: Condition::All(names.into()) };
        self.write(delete, Mended::Deleted).await
    }

    /// Puts a record that counts as none, only to delete it again: the handler then removes what a lost deletion has
    /// left. The node's records are the lock, not a transaction: the handler may still be at work on an older one.
    async fn put_back(&self) -> Result<Mended, Failure> {
        let schema = self.schema();
        let key = schema.node_key(self.node());
        let mut item = with_key(&key, schema);
        item.insert(PUT_BACK.into(), text(self.name));
        let put = Action::Put { key, item, condition: Condition::Absent };
        // If another record is there, it may be ours nevertheless, by an attempt that got no answer.
        let absent = self.write(put, Mended::Redriven).await?;
        self.take_away(absent).await
    }

    /// Deletes the record that was put back. If another client has written it meanwhile it is that client's, and only
    /// the mark goes. If no such record is there, this has become of the difference.
    async fn take_away(&self, absent: Mended) -> Result<Mended, Failure> {
        let schema = self.schema();
        let key = schema.node_key(self.node());
        let read = self.io.read(Need::keys([key.clone()])).await?;
        let Some(item) = read.item(&key)?.filter(|item| item.contains_key(PUT_BACK)) else { return Ok(absent) };
        let names = schema.names();
        let ours = [names.partition_key.as_str(), &names.sort_key, PUT_BACK, TOUCHED, REDRIVEN];
        let is_ours = Condition::is(PUT_BACK, item.get(PUT_BACK).cloned());
        if item.keys().all(|name| ours.contains(&name.as_str())) {
            // Another client may be turning this record into a node, so it goes only while it has no attribute of one.
            let names = [names.parent.as_str(), &names.segment, BORN, REVISION, WRITE, DELETING];
            let bare = names.map(|name| Condition::is(name, None));
            let condition = Condition::All([is_ours].into_iter().chain(bare).collect());
            let condition = self.context.rules.on(Rule::RepairTakesOwn, condition);
            return self.write(Action::Delete { key, condition }, Mended::Redriven).await;
        }
        let condition = self.context.rules.on(Rule::RepairTakesOwn, is_ours);
        let update = Update { remove: [PUT_BACK.to_owned()].into(), ..Update::default() };
        self.write(Action::Update { key, update, condition }, Mended::Redriven).await
    }

    /// Has a deletion begin again. Where the lineage doesn't know of it, the node's record does. Where it does, its
    /// change was lost, and a cursor without a position asks for the same.
    async fn set_off(&self, base: &Item, lineage: Option<&Lineage>) -> Result<Mended, Failure> {
        let (schema, node) = (self.schema(), self.node());
        let base = BaseNode::read(base.clone(), node, schema).ok();
        let deletion = base.as_ref().and_then(|base| Deletion::of(node, base));
        if deletion.is_none() {
            return Ok(Mended::Gone);
        }
        if lineage.and_then(|lineage| lineage.deleting.as_ref()) != deletion.as_ref() {
            return self.redrive(schema.node_key(node)).await;
        }
        let key = schema.cascade_key(node);
        let item = Cursor::anew(self.name).item(node, schema);
        // Another cursor would do the same, and may be half way.
        self.write(Action::Put { key, item, condition: Condition::Absent }, Mended::Redriven).await
    }
}
