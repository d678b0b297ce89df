//! Nodes created, replaced, patched and moved, also together with a revision, and taken out of the trash.
//!
//! A save reads, decides and attempts one transaction, and looks again until an attempt is carried out or the save is
//! refused. A decision has parts. Each has a file, with what it reads, what must hold, and what it adds to the
//! transaction. A new feature is a new part.
//!
//! - [`node`]: the record.
//! - [`parent`]: the parent, and the ancestor paths.
//! - [`position`]: the value that orders the node by hand, and those of siblings.
//! - [`revision`]: the revision that is appended with it.
//! - [`name`]: the claim of the name.
//! - [`traces`]: an attempt without an answer.

mod name;
mod node;
mod parent;
mod position;
mod revision;
mod traces;

use std::sync::Arc;

use super::attempts::{Attempt, Attempts, Stop};
use super::moves::height;
use super::names::{Naming, Renamed};
use super::reorder::making_room::MakingRoom;
use super::reorder::{Insertion, SiblingPosition};
use super::revision::{NextRevision, check_topic};
use super::wanted::Wanted;
use super::{Outcome, Refusal};
use crate::keys::{Id, ItemKey, NodeRef, Schema};
use crate::model::{Item, Stored, check_links};
use crate::plan::conditions::still_gone;
use crate::plan::{Failure, Io, Need, Read, Rule};
use crate::request::{Action, Condition, TRANSACTION_ACTIONS_MAX};

/// Creates, replaces, patches or moves a node. A create with an id that the API has just made takes 2 round trips and 1
/// write unit (a root 1 and 1), and with a caller's own id a read more. Where the node gets another parent, or
/// something hangs under its id already, the write is a transaction that checks the ancestor paths: 3 round trips.
/// With a revision it is a transaction as well, and the newest revision is looked for in a round trip more.
/// `siblings` make room for it, whether or not it is written.
pub(super) async fn save(
    io: &Io,
    attempts: &mut Attempts<'_>,
    node: &NodeRef,
    wanted: Wanted<'_>,
    siblings: &mut MakingRoom,
) -> Result<Outcome, Stop> {
    SaveNode { attempts, node, wanted, taken: None, siblings, next: None, renamed: None }.carry_out(io).await
}

/// A node that is saved, and what its parts know from one look to the next.
struct SaveNode<'w, 'a> {
    attempts: &'w mut Attempts<'a>,
    node: &'w NodeRef,
    wanted: Wanted<'w>,
    /// The parent taken from the sibling next to it, or from before the trash, if the node doesn't have it.
    taken: Option<Option<Id>>,
    /// Its siblings, as far as they make room for it.
    siblings: &'w mut MakingRoom,
    /// The revision that is appended with the node, as the last attempt has it.
    next: Option<NextRevision>,
    /// The name that the node gets because a sibling has its own.
    renamed: Option<Renamed>,
}

struct SaveReads {
    /// The node's record. One that a repair has put back counts as not there.
    node: Option<Arc<Item>>,
    /// The condition that the node is still gone, if it is.
    gone: Option<Condition>,
    node_lineage: Stored,
    /// True if something may hang under the node's id while the node isn't there.
    hangs: bool,
    /// How many levels there are below the node.
    height: usize,
    parent: Option<Item>,
    parent_lineage: Stored,
    anchor: Option<Item>,
    /// See [`SaveNode::traces`].
    traces: Vec<Action>,
    /// The claim of the name that a new node is to have, if it was read, by its key: none may stand there.
    name_claim: Option<(ItemKey, Option<Item>)>,
}

impl<'a> SaveNode<'_, 'a> {
    async fn carry_out(&mut self, io: &Io) -> Result<Outcome, Stop> {
        self.check_command()?;
        loop {
            let need = self.need();
            let read = if need.keys.is_empty() { Read::default() } else { io.read(need).await? };
            let look = self.looked(&read)?;
            let trace = self.trace(&look, &read)?;
            if let Some(outcome) = self.attempts.settle(look.node.as_ref(), trace, &read)? {
                return Ok(outcome);
            }
            self.check_sent_revision(&read)?;
            self.check_node(&look)?;
            if let Some(attempt) = self.decide(io, &look).await?
                && let Some(outcome) = self.attempts.send(io, attempt).await?
            {
                return Ok(outcome);
            }
        }
    }

    /// Decides on the attempt, part by part. `None`: the save looks again, since it has learned something (another
    /// parent, a name, less room), or has written the first slice of its siblings. The first action is the node's own.
    async fn decide(&mut self, io: &Io, look: &SaveReads) -> Result<Option<Attempt>, Stop> {
        if self.takes_another_parent(look)? {
            return Ok(None);
        }
        let insertion = self.find_position(io, look).await?;
        if !self.find_revision(io).await? {
            return Ok(None);
        }
        // Others may have given the node another name meanwhile, or another parent.
        let name = self.sibling_name(look);
        self.renamed.take_if(|renamed| renamed.of != name);
        let Some(draft) = self.draft(look, &insertion)? else {
            return Ok(Some(self.unchanged(look, insertion.anchor)?));
        };
        check_links(self.node, look.node.as_deref(), &draft.item, self.attempts.context.settings)
            .map_err(Refusal::from)?;
        let naming = Naming::of(self.node, look.node.as_deref(), Some(&draft.item), self.attempts.context);
        let mut attempt = self.attempts.attempt(vec![draft.action], self.outcome(look, draft.item), look.node.clone());
        let paths = self.path_checks(io, look, &attempt, &naming).await.map_err(|stop| self.no_way_back(stop))?;
        let Some(names) = self.names(io, look, &naming).await? else { return Ok(None) };
        let Insertion { anchor, changes, slice, .. } = insertion;
        if !self.siblings.fits_or_lowers_room(io, &changes, slice.is_some()).await? {
            return Ok(None);
        }
        let (changes, changed): (Vec<Action>, Vec<SiblingPosition>) = changes.into_iter().unzip();
        if let Some(slice) = slice {
            if !self.siblings.write_slice(io, slice, changes, changed).await? {
                self.attempts.fail(io).await?;
            }
            return Ok(None);
        }
        attempt.actions.extend(self.wanted.top().map(|top| top.operation.clone()));
        let others = changes.len();
        let revision = self.revision_actions(io).await?;
        let traces = look.traces.iter().cloned();
        for action in paths.into_iter().chain(names).chain(traces).chain(revision).chain(anchor).chain(changes) {
            add(&mut attempt.actions, action);
        }
        if let Some(over) = attempt.len().checked_sub(TRANSACTION_ACTIONS_MAX + 1) {
            if !self.siblings.lower_room(others, over) {
                return Err(Refusal::NoRoom { attribute: self.by_hand().unwrap_or_default().to_owned() }.into());
            }
            return Ok(None);
        }
        self.siblings.tries(changed);
        Ok(Some(attempt))
    }

    fn schema(&self) -> &'a Schema {
        &self.attempts.context.settings.schema
    }

    /// Checks what no look at the table changes.
    fn check_command(&self) -> Result<(), Stop> {
        self.wanted.check(self.schema())?;
        if let Some(wanted) = self.wanted.revision {
            check_topic(&self.topic(wanted), self.attempts.context.settings)?;
        }
        if self.wanted.may_rename() && !self.attempts.context.settings.names.is_on() {
            return Err(Refusal::NamesNotUnique.into());
        }
        // A node that is put next to a sibling gets the sibling's parent, so the named parent doesn't count.
        if self.wanted.parent == Some(&self.node.id) && !self.wanted.takes_parent() {
            return Err(self.cycle().into());
        }
        if self.wanted.spot.is_some() {
            let attribute = self.by_hand().ok_or(Refusal::NotByHand)?;
            if self.wanted.names(attribute) {
                return Err(Refusal::PlacedTwice(attribute.to_owned()).into());
            }
        }
        Ok(())
    }

    fn need(&self) -> Need {
        let keys = self.node_reads().into_iter().chain(self.parent_reads()).chain(self.name_claim_key());
        let keys = keys.chain(self.anchor().map(|anchor| self.schema().node_key(&anchor))).chain(self.trace_reads());
        Need { query: self.deepest_row(), ..Need::keys(keys) }
    }

    fn looked(&self, read: &Read) -> Result<SaveReads, Failure> {
        let (schema, node) = (self.schema(), self.node);
        let parent = self.parent().map(|parent| node.sibling(parent.clone()));
        let item = |node: &NodeRef| read.item(&schema.node_key(node)).map(Option::<&Item>::cloned);
        let stored = |node: &NodeRef| Ok(Stored::read(read.item(&schema.lineage_key(node))?, schema));
        let node_lineage = stored(node)?;
        let height = match self.deepest_row() {
            Some(_) => height(read.page.as_ref().ok_or(Failure::Again)?, schema),
            None => 0,
        };
        let looks = self.attempts.context.rules.keeps(Rule::DeletedRecord);
        let was_deleted = looks && read.item(&schema.deleted_key(node))?.is_some();
        let record = read.shared(&schema.node_key(node))?;
        let gone = still_gone(record.map(Arc::as_ref));
        Ok(SaveReads {
            traces: if gone.is_some() { self.traces(read)? } else { Vec::new() },
            node: record.filter(|_| gone.is_none()).cloned(),
            gone,
            hangs: height > 0 || node_lineage != Stored::Absent || was_deleted,
            node_lineage,
            height: self.wanted.top().map_or(0, |top| top.height).max(height),
            parent: parent.as_ref().map(item).transpose()?.flatten(),
            parent_lineage: parent.as_ref().map_or(Ok(Stored::Absent), stored)?,
            anchor: self.anchor().as_ref().map(item).transpose()?.flatten(),
            name_claim: match self.name_claim_key() {
                Some(key) => Some((key.clone(), read.item(&key)?.cloned())),
                None => None,
            },
        })
    }

    fn outcome(&self, look: &SaveReads, item: Item) -> Outcome {
        match self.wanted.top() {
            Some(top) => top.outcome.clone(),
            None => {
                let (node, created) = (self.node.clone(), look.node.is_none());
                Outcome::Node { node, item, created, revision: self.appended() }
            }
        }
    }
}

/// Adds an action to a transaction, where an item can be named once. A move checks its neighbour as well, if that is
/// the node's old parent. The node that had the name can be one above, or a sibling.
fn add(actions: &mut Vec<Action>, mut action: Action) {
    let same = actions[1..].iter().position(|other| other.key() == action.key());
    if let (Some(at), Action::Check { condition, .. } | Action::Update { condition, .. }) = (same, &mut action)
        && let Action::Check { condition: check, .. } = actions.remove(1 + at)
    {
        *condition = Condition::All(vec![std::mem::replace(condition, Condition::Exists), check]);
    }
    actions.push(action);
}
