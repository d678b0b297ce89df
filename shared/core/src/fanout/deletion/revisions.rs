//! The revisions of a node that is being deleted: read before the node, then deleted as they were read.

use super::{DeletionSlice, Present, Slice};
use crate::keys::{ItemKey, SortKey};
use crate::model::{CursorUse, Item, key_of};
use crate::plan::conditions::unchanged;
use crate::plan::{Failure, Need, Problem, Rule, Task, count_held};
use crate::request::{Action, Condition, ReadOptions};

impl DeletionSlice<'_> {
    /// Deletes a page of revisions, if the mark says so. They are read first: they are the node's if its mark stands.
    pub(super) async fn delete_revisions(&self, present: Present) -> Result<Slice, Failure> {
        let Present { item, deletion } = present;
        if !deletion.mark.revisions {
            return Ok(Slice::Finish(item));
        }
        let schema = self.context.schema();
        let page = self.page_of(schema.revision_range(), ReadOptions::default()).await?;
        let is_revision = |sk: &str| matches!(schema.parse_sort_key(sk), Some(SortKey::Revision { .. }));
        let revisions = page.items.into_iter().filter_map(|item| Some((key_of(&item, schema)?, item)));
        let revisions: Vec<(ItemKey, Item)> = revisions.filter(|(key, _)| is_revision(&key.sk)).collect();
        if !revisions.is_empty() {
            if self.context.rules.keeps(Rule::RevisionCondition) {
                let read = self.io.read(Need::keys([self.node_key()])).await?;
                let now = self.deletion_in(read.item(&self.node_key())?);
                if now.is_none_or(|now| now.mark != deletion.mark) {
                    return self.remaining().await;
                }
            }
            let deletes = revisions.into_iter().filter_map(|(key, item)| self.delete_as_read(key, &item));
            count_held(&self.io.all(deletes.collect()).await?)?;
        }
        Ok(match page.next {
            Some(after) => Slice::Continue {
                position: CursorUse::Revisions(deletion.mark.name().to_owned()),
                after,
                blocked: false,
            },
            None => Slice::Finish(item),
        })
    }

    /// The delete of a revision, on the condition that it is as it was read; `None` if no condition can say that.
    fn delete_as_read(&self, key: ItemKey, item: &Item) -> Option<Task> {
        let as_read = unchanged(item, false, self.context.schema());
        match if self.context.rules.keeps(Rule::RevisionCondition) { as_read } else { Ok(Condition::Always) } {
            Ok(condition) => Some(Task::Write(Action::Delete { key, condition })),
            Err(error) => {
                let reason = format!("this revision of a deleted node stays: {error}");
                self.io.note(Problem { key, reason, unreadable: false });
                None
            }
        }
    }
}
