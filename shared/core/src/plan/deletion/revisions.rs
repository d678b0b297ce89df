//! The revisions of a node that is being deleted: read before the node, then deleted as they were read.

use super::{DeletionSlice, Present, Slice, State};
use crate::keys::{ItemKey, SortKey};
use crate::model::{Item, Position, key_of, unchanged};
use crate::plan::step::{Need, Step, Task};
use crate::plan::{Problem, Rule};
use crate::request::{Action, Condition, Page, ReadOptions};

impl DeletionSlice<'_> {
    pub(super) fn list_revisions(&mut self, present: Present) -> Step<Slice> {
        if !present.deletion.mark.revisions {
            return Step::Done(Slice::Finish(present.item));
        }
        self.state = State::ListingRevisions(present);
        self.page_of(self.context.schema().revision_range(), self.after.clone(), ReadOptions::default()).into()
    }

    pub(super) fn after_revisions(present: Present, next: Option<String>) -> Step<Slice> {
        Step::Done(match next {
            Some(after) => {
                let position = Position::Revisions(present.deletion.mark.name().to_owned());
                Slice::Continue { position, after, blocked: false }
            }
            None => Slice::Finish(present.item),
        })
    }

    pub(super) fn read_revisions(&mut self, present: Present, page: Page) -> Step<Slice> {
        let schema = self.context.schema();
        let is_revision = |sk: &str| matches!(schema.parse_sort_key(sk), Some(SortKey::Revision { .. }));
        let revisions: Vec<(ItemKey, Item)> = page
            .items
            .into_iter()
            .filter_map(|item| Some((key_of(&item, schema)?, item)))
            .filter(|(key, _)| is_revision(&key.sk))
            .collect();
        if revisions.is_empty() {
            return Self::after_revisions(present, page.next);
        }
        if !self.context.rules.keeps(Rule::RevisionCondition) {
            return self.delete_revisions(present, revisions, page.next);
        }
        self.state = State::RecheckingRevisions(present, revisions, page.next);
        Need::keys([self.node_key()]).into()
    }

    /// Deletes revisions, each on the condition that it is as it was read. The node was read again after them.
    pub(super) fn delete_revisions(
        &mut self,
        present: Present,
        revisions: Vec<(ItemKey, Item)>,
        next: Option<String>,
    ) -> Step<Slice> {
        let mut tasks = Vec::new();
        for (key, item) in revisions {
            let condition = if self.context.rules.keeps(Rule::RevisionCondition) {
                unchanged(&item, false, self.context.schema())
            } else {
                Ok(Condition::Always)
            };
            match condition {
                Ok(condition) => tasks.push(Task::Write(Action::Delete { key, condition })),
                Err(error) => {
                    let reason = format!("this revision of a deleted node stays: {error}");
                    self.report.problems.push(Problem { key, reason, unreadable: false });
                }
            }
        }
        self.state = State::DeletingRevisions(present, next);
        Step::Do(tasks)
    }
}
