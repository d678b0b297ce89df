//! The writes of a round, in four steps. A step writes for all nodes that haven't stopped.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Round;
use crate::fanout::Settle;
use crate::keys::ItemKey;
use crate::model::{Entry, Shown};
use crate::plan::{Failure, Rule, Rules, Writes, WritesKind};
use crate::request::Write;

/// Rows of fewer bytes fit an invocation, unless the table is busy: a partition takes 1,000 units a second, for 36
/// seconds.
const NOTED_BYTES: usize = 10_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStep {
    Intent,
    FirstRows,
    SecondRows,
    Tell,
    Settle,
}

impl WriteStep {
    pub(super) fn all(rules: Rules) -> [Self; 5] {
        use WriteStep::{FirstRows, Intent, SecondRows, Settle, Tell};
        if !rules.keeps(Rule::TellAfterRows) {
            return [Intent, Tell, FirstRows, SecondRows, Settle];
        }
        let last = if rules.keeps(Rule::TellBeforeSettling) { [Tell, Settle] } else { [Settle, Tell] };
        [Intent, FirstRows, SecondRows, last[0], last[1]]
    }

    fn is_of_rows(self) -> bool {
        matches!(self, Self::FirstRows | Self::SecondRows)
    }

    /// The kind of the writes, in a round that leaves no node for later.
    fn kind(self) -> WritesKind {
        match self {
            Self::FirstRows => WritesKind::FirstRows,
            Self::SecondRows => WritesKind::SecondRows,
            Self::Intent | Self::Tell | Self::Settle => WritesKind::Lineages,
        }
    }
}

impl Round<'_> {
    pub(super) async fn write(&mut self, step: WriteStep) -> Result<(), Failure> {
        let mut writes = self.writes(step);
        if step == WriteStep::FirstRows {
            self.leave_out_standing(&mut writes).await;
        }
        let kind = if step == WriteStep::FirstRows && !self.end.early.is_empty() {
            WritesKind::Meanwhile { ahead: self.first_ahead(&mut writes) }
        } else {
            step.kind()
        };
        let (owners, writes): (Vec<usize>, Vec<Write>) = writes.into_iter().unzip();
        if writes.is_empty() {
            return Ok(());
        }
        let writes: Arc<[Write]> = writes.into();
        let failed = self.io.write(Writes { writes: Arc::clone(&writes), kind }).await?;
        self.take_failed(step, &writes, &owners, &failed);
        if step.is_of_rows() {
            self.note_heavy(&writes, &owners);
        }
        Ok(())
    }

    fn take_failed(
        &mut self,
        step: WriteStep,
        writes: &[Write],
        owners: &[usize],
        failed: &BTreeMap<ItemKey, Failure>,
    ) {
        let (mut rows_deleted, mut rows_put) = (0, 0);
        for (write, owner) in writes.iter().zip(owners) {
            match failed.get(write.key()) {
                // A row that the table refuses is left out. Without its lineage a node stops.
                Some(&failure) => {
                    if let Some(one) = self.planned.get_mut(*owner) {
                        one.lacks_rows |= step.is_of_rows();
                        if failure == Failure::Again || !step.is_of_rows() {
                            one.stopped = Some(failure);
                        }
                    }
                }
                None if step.is_of_rows() && matches!(write, Write::Delete(_) | Write::DeleteRow { .. }) => {
                    rows_deleted += 1
                }
                None if step.is_of_rows() => rows_put += 1,
                None => {}
            }
        }
        self.io.report(|report| {
            report.tally.rows_deleted += rows_deleted;
            report.tally.rows_put += rows_put;
        });
    }

    /// Notes nodes whose rows weren't all put, if they may have too many bytes or an earlier delivery didn't either.
    fn note_heavy(&self, writes: &[Write], owners: &[usize]) {
        if self.planned.iter().all(|one| one.stopped.is_none()) {
            return;
        }
        let mut bytes: BTreeMap<usize, usize> = BTreeMap::new();
        let puts = writes.iter().zip(owners).filter(|(write, _)| matches!(write, Write::PutRow { .. }));
        for (write, owner) in puts {
            *bytes.entry(*owner).or_default() += write.sent_bytes();
        }
        for (owner, bytes) in bytes {
            let Some(one) = self.planned.get(owner).filter(|one| one.stopped == Some(Failure::Again)) else { continue };
            let all = bytes + one.standing_bytes;
            if all > NOTED_BYTES || one.standing_bytes > 0 {
                let reason = format!(
                    "its rows have {} MB in requests and weren't all put: what is behind it in its shard waits until they are. Each delivery goes on where the last one has ended. To be quicker, make it smaller, or copy fewer attributes",
                    all / 1_000_000
                );
                self.note(self.context.schema().node_key(&one.node), reason, false);
            }
        }
    }

    /// Moves the writes of the node whose record comes first to the front. Returns how many they are.
    fn first_ahead(&self, writes: &mut [(usize, Write)]) -> usize {
        let first = self.first(writes);
        let is_behind = |(owner, _): &(usize, Write)| Some(*owner) != first;
        writes.sort_by_key(is_behind);
        writes.iter().take_while(|write| !is_behind(write)).count()
    }

    /// The node of these writes whose record comes first.
    pub(super) fn first(&self, writes: &[(usize, Write)]) -> Option<usize> {
        let owners = writes.iter().map(|(owner, _)| *owner);
        owners.min_by_key(|owner| self.planned.get(*owner).map(|one| one.placing.position))
    }

    /// Takes the writes of a step out of the plans, each with the position of its node in `planned`.
    fn writes(&mut self, step: WriteStep) -> Vec<(usize, Write)> {
        let puts = (step == WriteStep::FirstRows) == self.context.rules.keeps(Rule::PutFirst);
        let schema = self.context.schema();
        let mut writes = Vec::new();
        for (position, one) in self.planned.iter_mut().enumerate().filter(|(_, one)| one.stopped.is_none()) {
            let lineage = schema.lineage_key(&one.node);
            let of_one: Vec<Write> = match step {
                WriteStep::Intent => {
                    one.plan.intent.take().map(|item| Write::Put { key: lineage, item }).into_iter().collect()
                }
                WriteStep::FirstRows | WriteStep::SecondRows if puts => {
                    let base = self.bases.get(&one.node).and_then(Option::as_ref);
                    let shown = base.map(|base| Arc::new(Shown::of(&one.node, base, self.context.settings)));
                    let put = |row| Some(Write::PutRow { row, shown: Arc::clone(shown.as_ref()?) });
                    std::mem::take(&mut one.plan.puts).into_iter().filter_map(put).collect()
                }
                WriteStep::FirstRows | WriteStep::SecondRows => {
                    let by_id = self.context.rules.keeps(Rule::RowsById);
                    let delete = |key| {
                        if by_id { Write::DeleteRow { key, id: one.node.id.clone() } } else { Write::Delete(key) }
                    };
                    std::mem::take(&mut one.plan.deletes).into_iter().map(delete).collect()
                }
                WriteStep::Tell => {
                    let tells = std::mem::take(&mut one.plan.tells).into_iter();
                    let entries = tells.filter_map(|tree| Entry::of(&one.node, tree, self.context.settings));
                    entries.map(|entry| self.context.tell(entry)).collect()
                }
                WriteStep::Settle => match std::mem::take(&mut one.plan.settle) {
                    Settle::Keep => Vec::new(),
                    Settle::Write(item) => vec![Write::Put { key: lineage, item }],
                    Settle::Delete => vec![Write::Delete(lineage)],
                },
            };
            writes.extend(of_one.into_iter().map(|write| (position, write)));
        }
        writes
    }
}
