//! Invocations of the handler: what each takes from the stream, and how it ends.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{Totals, is_touch};
use sapwood_engine::fanout::Fanout;

use super::{Invocation, World};
use crate::sim::calls::{SimRetryPolicy, SimTable, Skewed};
use crate::sim::totals;
use crate::sim::witness::Witness;

impl World<'_> {
    /// The fan-out of an invocation.
    fn fanout_of(&self, invocation: u64) -> Arc<Fanout> {
        let mut fanout = Arc::clone(&self.fanout);
        if self.switches_totals && invocation % 3 < 2 {
            let some = || Totals::of([totals::ATTRIBUTES[0].to_owned()]);
            Arc::make_mut(&mut fanout).settings.totals = (invocation % 3 == 1).then(some);
        }
        if self.is_without_feeds(invocation) {
            Arc::make_mut(&mut fanout).settings.changes = false;
            if invocation % 3 == 1 {
                self.calls.lock().unwrap().older.insert(invocation);
            }
        }
        fanout
    }

    /// Returns the item whose records are kept in order. If touches are apart, they are those of an item of their own.
    fn item_of(&self, record: &StreamRecord) -> (String, String, bool) {
        let apart = self.profile.touches_apart && is_touch(record.old.as_ref(), record.new.as_ref());
        (record.key.pk.clone(), record.key.sk.clone(), apart)
    }

    /// Starts an invocation with 1 to 6 records of any items. Records of one item stay in order. Returns false if each
    /// record waits for an invocation that is under way.
    pub(super) fn start(&mut self) -> bool {
        let size = self.roll(6) + 1;
        let eager = self.roll(2) == 0;
        let mut blocked: BTreeSet<_> =
            self.running.values().flat_map(|i| &*i.records).map(|record| self.item_of(record)).collect();
        let mut records = Vec::new();
        let mut left = Vec::new();
        for record in std::mem::take(&mut self.queue) {
            let item = self.item_of(&record);
            if records.len() < size && !blocked.contains(&item) && (eager || self.roll(2) == 0) {
                records.push(record);
            } else {
                blocked.insert(item);
                left.push(record);
            }
        }
        self.queue = left;
        if records.is_empty() {
            return false;
        }
        if self.traces {
            let shown: Vec<_> = records.iter().map(|r| (&r.key.pk, &r.key.sk, r.event, &r.sequence[18..])).collect();
            println!("invocation {} takes {shown:?}", self.invocations);
        }
        // Whatever was left of one batch ends before the next one with records of the item, old ones as well.
        let items: BTreeSet<&ItemKey> = records.iter().map(|record| &record.key).collect();
        items.iter().for_each(|key| self.calls.lock().unwrap().show(key));
        let ended: Vec<u64> =
            self.unfinished.extract_if(.., |_, (item, _)| items.contains(item)).map(|(_, (_, id))| id).collect();
        for invocation in ended {
            self.calls.lock().unwrap().end_limbo(invocation);
            // What is carried out now, that one has decided.
            self.actor = self.actor(invocation);
            self.ended_wrong = self.ended_wrong.take().or(self.take_records().err());
        }
        self.witness.iter_mut().for_each(|witness| witness.taken(&records));
        let id = self.invocations;
        self.invocations += 1;
        let now = self.begins(id);
        let records: Arc<[StreamRecord]> = records.into();
        let (fanout, calls, batch) = (self.fanout_of(id), Arc::clone(&self.calls), Arc::clone(&records));
        let future = Box::pin(async move {
            let table = SimTable { calls: Arc::clone(&calls), invocation: id };
            let name = id.to_string();
            let policy = Skewed(SimRetryPolicy(calls), id);
            fanout.run(&table, &policy, sapwood_engine::fanout::Run { name: &name, now }, &batch).await
        });
        self.running.insert(id, Invocation { future, records });
        self.began.insert(id, self.witness.as_ref().map(Witness::changes).unwrap_or_default());
        self.actor = self.actor(id);
        self.poll(id);
        true
    }

    pub(in crate::sim) fn poll(&mut self, id: u64) {
        if let Some(request) = self.requests.get_mut(&id) {
            if request.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                self.requests.remove(&id);
                // The client is told to try again later.
                if self.calls.lock().unwrap().history.is_in_progress(id) {
                    self.will_send_again(id);
                }
            }
            return;
        }
        let Some(invocation) = self.running.get_mut(&id) else { return };
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(report) = invocation.future.as_mut().poll(&mut context) {
            let records = self.running.remove(&id).unwrap().records;
            // The lowest failed record is the checkpoint. Everything from there on is delivered again.
            let checkpoint = records.iter().position(|r| report.failed.contains(&r.sequence)).unwrap_or(records.len());
            self.history.extend_from_slice(&records[..checkpoint]);
            let left = records[checkpoint..].iter();
            self.unfinished.extend(left.map(|record| (record.sequence.clone(), (record.key.clone(), id))));
            self.requeue(&records[checkpoint..]);
        }
    }

    pub(in crate::sim) fn requeue(&mut self, records: &[StreamRecord]) {
        self.queue.extend_from_slice(records);
        self.queue.sort_by(|a, b| a.sequence.cmp(&b.sequence));
        self.queue.dedup_by(|a, b| a.sequence == b.sequence);
    }

    pub(super) fn crash(&mut self) {
        self.crashes_left -= 1;
        let position = self.roll(self.running.len() + self.requests.len());
        let &id = self.running.keys().chain(self.requests.keys()).nth(position).unwrap();
        self.end(id);
    }

    /// A function dies, or its time is up.
    pub(super) fn end(&mut self, id: u64) {
        self.actor = self.actor(id);
        if let Some(request) = self.requests.remove(&id) {
            drop(request);
            self.calls.lock().unwrap().crash(id);
            // The client of a function that died sends its request again, to another one.
            self.will_send_again(id);
            return;
        }
        let invocation = self.running.remove(&id).unwrap();
        drop(invocation.future);
        self.calls.lock().unwrap().crash(id);
        let left = invocation.records.iter();
        self.unfinished.extend(left.map(|record| (record.sequence.clone(), (record.key.clone(), id))));
        self.requeue(&invocation.records);
    }

    /// Delivers records again that were handled long ago: a few in a row, or one.
    pub(super) fn redeliver(&mut self) {
        self.late_left -= 1;
        let from = self.roll(self.history.len());
        let count = if self.roll(2) == 0 { 1 } else { self.roll(4) + 1 };
        let records: Vec<StreamRecord> = self.history.iter().skip(from).take(count).cloned().collect();
        self.requeue(&records);
    }
}
