//! Nodes created, replaced, patched and moved, also together with a revision.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::attempts::{Attempts, Stop, Trace};
use super::command::{NewRevision, Patch, Spot, ValueChange};
use super::moves::{Move, deepest_row, depth_of, height, is_in_trash};
use super::names::{Naming, Place, Renamed};
use super::record::{self, Draft};
use super::reorder::room::MakingRoom;
use super::reorder::walk::Placed;
use super::reorder::{Found, Slice};
use super::traces::{deleted_since, traces_stay};
use super::wanted::{CopyTop, Wanted};
use super::{Appended, NoWayBack, Outcome, Precondition, Refusal, revision};
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, Schema};
use crate::model::{
    AttributeValue, BaseNode, ETag, Item, Latest, Stored, Trashed, Under, check_links, has_mark, life_of, text, text_of,
};
use crate::plan::ancestry::{AncestorPath, Ancestry, Edge};
use crate::plan::conditions::still_gone;
use crate::plan::{Failure, Io, Need, Read, Rule, Task};
use crate::request::{Action, Condition, TRANSACTION_ACTIONS_MAX};

/// Creates, replaces, patches or moves a node. A create with an id that the API has just made takes 2 round trips and 1
/// write unit (a root 1 and 1), and with a caller's own id a read more. Where the node gets another parent, or
/// something hangs under its id already, the write is a transaction that checks the ancestor paths: 3 round trips.
/// With a revision it is a transaction as well, and the newest revision is looked for in a round trip more.
///
/// `placed` is what the batch has placed before, and `changed` takes the siblings that got other values, whether or not
/// the node is written.
pub(super) async fn save(
    io: &Io,
    attempts: &mut Attempts<'_>,
    node: &NodeRef,
    wanted: Wanted<'_>,
    placed: Vec<Placed>,
    changed: &mut Vec<Placed>,
) -> Result<Outcome, Stop> {
    let siblings = MakingRoom::new(placed);
    let mut save = SaveNode { attempts, node, wanted, taken: None, siblings, next: None, renamed: None };
    let outcome = save.carry_out(io).await;
    changed.extend(save.siblings.changed());
    outcome
}

/// What is known of a node that is saved, from one look to the next.
struct SaveNode<'w, 'a> {
    attempts: &'w mut Attempts<'a>,
    node: &'w NodeRef,
    wanted: Wanted<'w>,
    /// The parent that the node takes from the sibling that it is put next to, if that isn't the one that it has, or
    /// the one that it had before it was put into the trash.
    taken: Option<Option<Id>>,
    /// Its siblings, as far as they make room for it.
    siblings: MakingRoom,
    /// The revision that is appended with the node, as the last attempt has it.
    next: Option<revision::Next>,
    /// The name that the node gets because a sibling has its own.
    renamed: Option<Renamed>,
}

/// What is read first.
struct Look {
    /// The node's record. One that a repair has put back counts as not there.
    node: Option<Arc<Item>>,
    /// What must hold of the record where the node isn't there.
    gone: Option<Condition>,
    node_lineage: Stored,
    /// True if something may hang under the node's id while the node isn't there.
    hangs: bool,
    /// How many levels there are below the node.
    height: usize,
    parent: Option<Item>,
    parent_lineage: Stored,
    /// The sibling that the node is to be next to.
    anchor: Option<Item>,
    /// Where the node isn't there: see [`SaveNode::traces`].
    traces: Vec<Action>,
    /// The claim of the name that a new node is to have, if it was read, by its key: none may stand there.
    name_claim: Option<(ItemKey, Option<Item>)>,
}

impl Look {
    /// The parent, and the life of it that its record names, or its lineage.
    fn under(&self, parent: &Id) -> Under {
        let born = self.parent.as_ref().and_then(life_of).or(self.parent_lineage.born_now());
        Under { parent: parent.clone(), born: born.map(str::to_owned) }
    }
}

/// What there is to write.
enum Prepared {
    /// Nothing changes. This must hold of the sibling that the node is next to.
    Same(Option<Action>),
    Write(Box<NodeWrite>),
}

/// A write that only lacks what must hold of the ancestor paths.
struct NodeWrite {
    action: Action,
    outcome: Outcome,
    /// The record that this was decided on.
    on: Option<Arc<Item>>,
    /// The actions that complete the claim of the idempotency key.
    completion: Vec<Action>,
    /// See [`SaveNode::traces`].
    traces: Vec<Action>,
    /// What becomes of the names that the node had and is to have.
    naming: Naming,
    /// What must hold of the sibling that the node comes next to.
    anchor: Option<Action>,
    /// The siblings that get other values, to make room for the node.
    changes: Vec<(Action, Placed)>,
    /// These alone are written, and the node after that.
    slice: Option<Slice>,
}

impl<'a> SaveNode<'_, 'a> {
    async fn carry_out(&mut self, io: &Io) -> Result<Outcome, Stop> {
        self.check_command()?;
        loop {
            let need = self.needed();
            let read = if need.keys.is_empty() { Read::default() } else { io.read(need).await? };
            let look = self.looked(&read)?;
            let trace = self.trace(&look, &read)?;
            if let Some(outcome) = self.attempts.settle(look.node.as_ref(), trace, &read)? {
                return Ok(outcome);
            }
            self.check_next(&read)?;
            self.check(&look)?;
            if self.goes_elsewhere_back(&look)? {
                continue;
            }
            let found = match self.wanted.spot() {
                None => Found::default(),
                // Next to itself it is where it is.
                Some(spot) if spot.anchor() == Some(&self.node.id) => match (&look.node, self.wanted) {
                    // A node in the trash has no siblings.
                    (None, _) | (_, Wanted::Restore { .. }) => {
                        return Err(Refusal::NotASibling(self.node.id.clone()).into());
                    }
                    (Some(_), _) => Found::default(),
                },
                Some(_) if self.takes_another_parent(&look)? => continue,
                Some(spot) => self.find(io, spot, &look).await?,
            };
            if !self.find_next(io).await? {
                continue;
            }
            let place = self.place(&look);
            // Others may have given the node another name meanwhile, or another parent.
            self.renamed.take_if(|renamed| renamed.of != place);
            let written = match self.prepare(&look, found)? {
                Prepared::Same(anchor) => self.complete(io, look.node, anchor).await?,
                Prepared::Write(node_write) => {
                    let mut checks =
                        self.path_checks(io, &node_write, &look).await.map_err(|stop| self.no_way_back(stop))?;
                    match self.names(io, &node_write, &look).await {
                        Err(Stop::Refused(refusal @ Refusal::NameTaken { .. })) if self.may_rename() => {
                            let last = self.renamed.take();
                            let renamed = Naming::renamed(io, self.node, place, self.attempts, last, refusal).await?;
                            self.renamed = Some(renamed);
                            continue;
                        }
                        names => checks.extend(names?),
                    }
                    if !self.siblings.fits_or_lowers_room(io, &node_write.changes, node_write.slice.is_some()).await? {
                        continue;
                    }
                    self.write(io, *node_write, checks).await?
                }
            };
            if let Some(outcome) = written {
                return Ok(outcome);
            }
        }
    }

    fn schema(&self) -> &'a Schema {
        &self.attempts.context.settings.schema
    }

    /// The parent that the node gets, if it gets one.
    fn parent(&self) -> Option<&Id> {
        self.taken.as_ref().map_or_else(|| self.wanted.parent(), Option::as_ref)
    }

    fn check_command(&self) -> Result<(), Stop> {
        self.wanted.check(self.schema())?;
        if let Some(wanted) = self.wanted.revision() {
            revision::check_topic(&self.topic(wanted), self.attempts.context.settings)?;
        }
        if self.wanted.may_rename() && !self.attempts.context.settings.names.is_on() {
            return Err(Refusal::NamesNotUnique.into());
        }
        // A node that is put next to a sibling gets the sibling's parent, so the named parent doesn't count.
        if self.wanted.parent() == Some(&self.node.id) && !self.wanted.takes_parent() {
            return Err(self.cycle().into());
        }
        if self.wanted.spot().is_some() {
            let attribute = self.by_hand().ok_or(Refusal::NotByHand)?;
            if self.wanted.names(attribute) {
                return Err(Refusal::PlacedTwice(attribute.to_owned()).into());
            }
        }
        Ok(())
    }

    /// The topic of the revision that is appended with the node.
    fn topic(&self, of: &NewRevision) -> Latest {
        Latest { node: self.node.clone(), topic: of.topic.clone() }
    }

    /// Finds the revision that is appended with the node. One that was sent and got no answer stays what it is: it may
    /// be there in a moment. Returns false if the write has to look again.
    async fn find_next(&mut self, io: &Io) -> Result<bool, Stop> {
        let Some(wanted) = self.wanted.revision() else { return Ok(true) };
        if self.was_sent() {
            return Ok(true);
        }
        let (topic, preconditions) = (self.topic(wanted), wanted.preconditions());
        let found = if self.reads_node() {
            revision::next(io, self.attempts, &topic, &wanted.attributes, &preconditions).await
        } else {
            // Nothing can have an id that the API has just made.
            let checked = preconditions.check(None).map_err(Stop::from);
            checked
                .and_then(|()| revision::after(None, self.attempts, &topic, &wanted.attributes, Vec::new()))
                .map(Some)
        };
        self.next = found.map_err(|stop| match stop {
            Stop::Refused(Refusal::PreconditionFailed(_)) => {
                Refusal::PreconditionFailed(Precondition::IfMatchOfRevision).into()
            }
            stop => stop,
        })?;
        if self.next.is_none() {
            self.attempts.fail(io).await?;
        }
        Ok(self.next.is_some())
    }

    /// True if a revision was sent with an attempt that got no answer.
    fn was_sent(&self) -> bool {
        let keeps = self.attempts.context.rules.keeps(Rule::SameVersionAgain);
        keeps && self.next.is_some() && self.attempts.is_unanswered()
    }

    /// Checks that a revision that was sent without an answer can be sent again as it was. Another version isn't taken:
    /// if the first attempt is carried out after all, the answer would name a revision that isn't this write's.
    fn check_next(&self, read: &Read) -> Result<(), Stop> {
        for action in self.next.iter().filter(|_| self.was_sent()).flat_map(|next| &next.actions) {
            if !action.condition().holds(read.item(action.key())?) {
                return Err(Refusal::OutcomeUnknown.into());
            }
        }
        Ok(())
    }

    /// The refusal to put the node below itself.
    fn cycle(&self) -> Refusal {
        Refusal::Cycle { node: self.node.id.clone(), parent: self.node.id.clone() }
    }

    /// The attribute that orders siblings by hand.
    fn by_hand(&self) -> Option<&'a str> {
        let order = self.attempts.context.settings.order.as_ref().filter(|order| order.by_hand)?;
        Some(order.attribute())
    }

    /// True if the node can be there: at first no node has an id that the API has just made.
    fn reads_node(&self) -> bool {
        !(self.attempts.is_first() && matches!(self.wanted, Wanted::Create { is_made_id: true, .. }))
    }

    /// The node and its parent, with their lineages, and what tells whether something hangs under the node's id.
    fn needed(&self) -> Need {
        let (schema, with_node) = (self.schema(), self.reads_node());
        let mut keys = BTreeSet::new();
        let mut query = None;
        if with_node {
            keys.insert(schema.node_key(self.node));
        }
        if let Some(parent) = self.parent() {
            let parent = self.node.sibling(parent.clone());
            keys.extend([schema.node_key(&parent), schema.lineage_key(&parent)]);
            keys.extend(self.name_claim_key());
            if with_node {
                keys.extend([schema.lineage_key(self.node), schema.deleted_key(self.node)]);
                query = Some(deepest_row(self.node, schema));
            }
        }
        keys.extend(self.anchor().map(|anchor| schema.node_key(&anchor)));
        if self.attempts.is_unanswered() {
            keys.extend([schema.lineage_key(self.node), schema.deleted_key(self.node)]);
            keys.extend(self.attempts.key_claim_key());
            keys.extend(self.next.iter().flat_map(|next| &next.actions).map(|action| action.key().clone()));
        }
        Need { keys, query, ..Need::default() }
    }

    /// The key of the claim of the name that a new node is to have, if its parent is known. It is read along with the
    /// parent, so a name that is taken is refused without a write.
    fn name_claim_key(&self) -> Option<ItemKey> {
        let Wanted::Create { .. } = self.wanted else { return None };
        let (settings, parent) = (self.attempts.context.settings, self.parent()?);
        let name = self.other_name().or(self.wanted.segment().flatten()).unwrap_or(self.node.id.as_str());
        let names = Some(settings.names).filter(|names| names.is_on())?;
        Some(settings.schema.name_key(self.node, Some(parent), names.compared(name)))
    }

    /// True if the node gets another name where a sibling has its own. After an attempt without an answer it keeps the
    /// one that it was sent with, unless the claim of its idempotency key lets only one of them be carried out: with
    /// another one the answer couldn't say which of the two the node has.
    fn may_rename(&self) -> bool {
        let is_sent = self.attempts.is_unanswered() && self.attempts.key_claim_key().is_none();
        self.wanted.may_rename() && !(is_sent && self.attempts.context.rules.keeps(Rule::SameNameAgain))
    }

    /// The name that the node is to have, below the parent that it is to have.
    fn place(&self, look: &Look) -> Place {
        let before = look.node.as_deref();
        let had = before.and_then(|item| text_of(item, &self.schema().names().segment));
        let name = self.wanted.segment().unwrap_or(had).unwrap_or(self.node.id.as_str());
        (self.parent_afterwards(before), name.to_owned())
    }

    fn other_name(&self) -> Option<&str> {
        self.renamed.as_ref().map(|renamed| renamed.name.as_str())
    }

    /// What claims the name that the node comes to have, and gives back the one that it had.
    async fn names(&self, io: &Io, node_write: &NodeWrite, look: &Look) -> Result<Vec<Action>, Stop> {
        let (naming, attempts) = (&node_write.naming, &*self.attempts);
        let read = look.name_claim.as_ref().map(|(key, found)| (key, found.as_ref()));
        let claim = naming.claim(io, self.node, attempts, read, self.wanted.may_rename()).await?;
        Ok(naming.release(self.node, attempts).into_iter().chain(claim).collect())
    }

    fn anchor(&self) -> Option<NodeRef> {
        Some(self.node.sibling(self.wanted.spot()?.anchor()?.clone()))
    }

    fn looked(&self, read: &Read) -> Result<Look, Failure> {
        let (schema, node) = (self.schema(), self.node);
        let parent = self.parent().map(|parent| node.sibling(parent.clone()));
        let item = |node: &NodeRef| read.item(&schema.node_key(node)).map(Option::<&Item>::cloned);
        let stored = |node: &NodeRef| Ok(Stored::read(read.item(&schema.lineage_key(node))?, schema));
        let node_lineage = stored(node)?;
        let height = match &parent {
            Some(_) if self.reads_node() => height(read.page.as_ref().ok_or(Failure::Again)?, schema),
            _ => 0,
        };
        let looks = self.attempts.context.rules.keeps(Rule::DeletedRecord);
        let was_deleted = looks && read.item(&schema.deleted_key(node))?.is_some();
        let record = read.shared(&schema.node_key(node))?;
        let gone = still_gone(record.map(Arc::as_ref));
        let node_is_there = record.is_some() && gone.is_none();
        Ok(Look {
            traces: if node_is_there { Vec::new() } else { self.traces(read)? },
            node: record.cloned().filter(|_| node_is_there),
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

    /// Takes the parent of the sibling that the node comes next to, if the caller names none. Returns true if that
    /// isn't the one that was looked at.
    fn takes_another_parent(&mut self, look: &Look) -> Result<bool, Refusal> {
        let Some((anchor, item)) = self.anchor().zip(look.anchor.as_ref()).filter(|_| self.wanted.takes_parent())
        else {
            return Ok(false);
        };
        let parent = BaseNode::parent_in(item, &anchor, self.schema());
        if parent == self.parent_afterwards(look.node.as_deref()) {
            return Ok(false);
        }
        if parent.as_ref() == Some(&self.node.id) {
            return Err(self.cycle());
        }
        self.taken = Some(parent);
        self.siblings.begin_anew();
        Ok(true)
    }

    /// Takes the parent that a node in the trash had. Returns true if that isn't the one that was looked at.
    fn goes_elsewhere_back(&mut self, look: &Look) -> Result<bool, Refusal> {
        let trashed = look.node.as_deref().and_then(Trashed::read).filter(|_| self.wanted.goes_back());
        let Some(trashed) = trashed else { return Ok(false) };
        if self.taken.as_ref() != Some(&trashed.parent) {
            self.siblings.begin_anew();
            let is_looked_at = trashed.parent.is_none();
            self.taken = Some(trashed.parent);
            return Ok(!is_looked_at);
        }
        let Some(parent) = trashed.parent else { return Ok(false) };
        let refuse = |why| Err(Refusal::NoWayBack { parent: parent.clone(), why });
        if still_gone(look.parent.as_ref()).is_some() {
            return refuse(NoWayBack::Gone);
        }
        // A parent whose life wasn't known then hadn't been placed yet, or wasn't there: the node waits for any.
        if trashed.born.is_some() && look.under(&parent).born != trashed.born {
            return refuse(NoWayBack::OtherLife);
        }
        Ok(false)
    }

    /// Why a node can't go back where it was, in place of why it can't come where a caller says.
    fn no_way_back(&self, stop: Stop) -> Stop {
        let why = match &stop {
            Stop::Refused(Refusal::ParentInTrash { .. }) => NoWayBack::InTrash,
            Stop::Refused(Refusal::Cycle { .. }) => NoWayBack::Cycle,
            _ => return stop,
        };
        match self.parent().filter(|_| self.wanted.goes_back()) {
            Some(parent) => Refusal::NoWayBack { parent: parent.clone(), why }.into(),
            None => stop,
        }
    }

    /// The parent that the node has when it is written.
    fn parent_afterwards(&self, before: Option<&Item>) -> Option<Id> {
        if let Some(taken) = &self.taken {
            return taken.clone();
        }
        match self.wanted {
            Wanted::Patch(Patch { parent: None, .. }) => BaseNode::parent_in(before?, self.node, self.schema()),
            wanted => wanted.parent().cloned(),
        }
    }

    /// Finds where the node comes among its siblings.
    async fn find(&self, io: &Io, spot: &Spot, look: &Look) -> Result<Found, Stop> {
        if let Some(parent) = self.parent() {
            self.usable_parent(parent, look)?;
        }
        let (context, stamp) = (self.attempts.context, &self.attempts.request.stamp);
        let records = (look.node.as_deref(), look.anchor.as_ref());
        let parent = self.parent_afterwards(look.node.as_deref());
        self.siblings.find(io, context, stamp, (self.node, parent), spot, records).await
    }

    fn prepare(&self, look: &Look, found: Found) -> Result<Prepared, Stop> {
        let Found { value, anchor, changes, slice } = found;
        let is_kept = value.is_none() && self.by_hand().is_some_and(|attribute| !self.wanted.names(attribute));
        let stays = value.is_none() && anchor.is_some();
        let mut draft = match self.draft(look, value)? {
            Some(draft) => draft,
            None => match self.stamped_again(look)? {
                Some(stamped) => stamped,
                None => return Ok(Prepared::Same(anchor)),
            },
        };
        check_links(self.node, look.node.as_deref(), &draft.item, self.attempts.context.settings)
            .map_err(Refusal::from)?;
        let on = look.node.clone();
        // The node stays in its place: by an update, which doesn't write its value again, or by a put, which writes the
        // value that was read.
        let keeps = match &draft.action {
            Action::Update { .. } => stays,
            _ => is_kept && look.node.is_some(),
        };
        if let (true, Some(attribute), Action::Update { condition, .. } | Action::Put { condition, .. }) =
            (keeps, self.by_hand(), &mut draft.action)
        {
            let value = look.node.as_ref().and_then(|item| item.get(attribute)).cloned();
            let as_read = std::mem::replace(condition, Condition::Exists);
            *condition = Condition::All(vec![as_read, Condition::is(attribute, value)]);
        }
        let naming = Naming::of(self.node, look.node.as_deref(), Some(&draft.item), self.attempts.context);
        let (node, created) = (self.node.clone(), look.node.is_none());
        let outcome = match self.wanted.top() {
            Some(top) => top.outcome.clone(),
            None => Outcome::Node { node, item: draft.item, created, revision: self.appended() },
        };
        let completion = self.attempts.completion(&outcome);
        let traces = look.traces.clone();
        let action = draft.action;
        Ok(Prepared::Write(Box::new(NodeWrite {
            action,
            outcome,
            on,
            completion,
            traces,
            naming,
            anchor,
            changes,
            slice,
        })))
    }

    /// The revision that is appended with the node, as the outcome says it.
    fn appended(&self) -> Option<Appended> {
        let (topic, next) = (self.wanted.revision()?.topic.clone(), self.next.as_ref()?);
        Some(Appended { topic, version: next.version, etag: ETag::of(&next.item, self.schema()) })
    }

    /// The checks that a repeated create adds to its transaction.
    fn traces(&self, read: &Read) -> Result<Vec<Action>, Failure> {
        if !self.attempts.is_unanswered() || !self.attempts.context.rules.keeps(Rule::TracesStay) {
            return Ok(Vec::new());
        }
        Ok(traces_stay(self.node, read, self.schema())?.into())
    }

    /// Checks that the node may be written, given what is there.
    fn check(&self, look: &Look) -> Result<(), Refusal> {
        let before = look.node.as_deref();
        if before.is_none() && matches!(self.wanted, Wanted::Patch(_) | Wanted::Restore { .. }) {
            return Err(Refusal::NotFound);
        }
        // The preconditions of a copy are about its source.
        if self.wanted.top().is_none() {
            self.attempts.request.preconditions.check_item(before, self.schema())?;
        }
        if let Some(item) = before.filter(|item| has_mark(Some(item))) {
            return Err(Refusal::being_deleted(&self.node.id, item));
        }
        let is_in_trash = before.is_some_and(|item| BaseNode::is_in_trash(item, self.node, self.schema()));
        match (self.wanted, before) {
            (Wanted::Create { .. }, Some(_)) => Err(Refusal::Exists),
            (Wanted::Restore { .. }, _) if !is_in_trash => Err(Refusal::NotInTrash),
            (Wanted::Restore { .. }, _) => Ok(()),
            (wanted, _) if is_in_trash && wanted.is_placed() => Err(Refusal::InTrash),
            _ => Ok(()),
        }
    }

    /// What is to be written, given what is there, and the value by which the node is ordered by hand. `None`: nothing
    /// changes.
    fn draft(&self, look: &Look, value: Option<String>) -> Result<Option<Draft>, Refusal> {
        let (schema, request, before) = (self.schema(), self.attempts.request, look.node.as_deref());
        let under = self.parent().map(|parent| look.under(parent));
        let (key, strict) = (schema.node_key(self.node), request.preconditions.are_given());
        let placed = self.placed_by_hand(before, value);
        match (self.wanted, before) {
            (Wanted::Create { content, .. } | Wanted::Replace(content), _) => {
                let mut content = Cow::Borrowed(content);
                if let Some(taken) = &self.taken {
                    content.to_mut().parent.clone_from(taken);
                }
                if let Some(name) = self.other_name() {
                    content.to_mut().segment = Some(name.to_owned());
                }
                if let Some((attribute, value)) = placed {
                    content.to_mut().attributes.insert(attribute, value);
                }
                let mut draft = record::node(key, &content, under.as_ref(), before, strict, &request.stamp, schema)?;
                if let (Some(gone), Action::Put { condition, .. }) = (&look.gone, &mut draft.action) {
                    condition.clone_from(gone);
                }
                if let Some(CopyTop { mark, .. }) = self.wanted.top() {
                    draft = draft.with_copying(mark)?;
                }
                Ok(Some(draft))
            }
            (Wanted::Patch(patch), Some(before)) => {
                let mut patch = Cow::Borrowed(patch);
                if let Some(taken) = &self.taken {
                    patch.to_mut().parent = Some(taken.clone());
                }
                if let Some(name) = self.other_name() {
                    patch.to_mut().segment = Some(Some(name.to_owned()));
                }
                if let Some((attribute, value)) = placed {
                    patch.to_mut().attributes.insert(attribute, ValueChange::Set(value));
                }
                let changed =
                    record::patched(key.clone(), &patch, under.as_ref(), before, strict, &request.stamp, schema)?;
                match changed {
                    // Its stamps say that the revision was appended: an attempt without an answer is settled by them.
                    None if patch.revision.is_some() => {
                        record::stamped_again(key, before, strict, &request.stamp, schema).map(Some)
                    }
                    changed => Ok(changed),
                }
            }
            (Wanted::Restore { segment, .. }, Some(before)) => {
                let attributes = placed.map(|(attribute, value)| (attribute, ValueChange::Set(value)));
                let attributes = attributes.into_iter().collect();
                let segment = self.other_name().or(segment).map(|name| Some(name.to_owned()));
                let patch = Patch { parent: Some(self.parent().cloned()), segment, attributes, ..Patch::default() };
                record::patched(key, &patch, under.as_ref(), before, strict, &request.stamp, schema)
            }
            (Wanted::Patch(_) | Wanted::Restore { .. }, None) => Err(Refusal::NotFound),
        }
    }

    /// Where nothing changes and an attempt got no answer: the record with the stamps of this write. The attempt has
    /// the condition that the record is as it was read, and would be carried out even after the answer. Where a claim
    /// is completed with the answer, that prevents it.
    fn stamped_again(&self, look: &Look) -> Result<Option<Draft>, Refusal> {
        let keeps = self.attempts.context.rules.keeps(Rule::AttemptEnds);
        let is_open = keeps && self.attempts.is_unanswered() && self.attempts.key_claim_key().is_none();
        let Some(before) = look.node.as_deref().filter(|_| is_open) else { return Ok(None) };
        let (request, schema) = (self.attempts.request, self.schema());
        let strict = request.preconditions.are_given();
        record::stamped_again(self.node_key(), before, strict, &request.stamp, schema).map(Some)
    }

    /// The attribute that orders the node by hand, with its new value, or with the one that it keeps where the caller
    /// doesn't name it.
    fn placed_by_hand(&self, before: Option<&Item>, value: Option<String>) -> Option<(String, AttributeValue)> {
        let attribute = self.by_hand().filter(|attribute| !self.wanted.names(attribute))?;
        let is_whole = !matches!(self.wanted, Wanted::Patch(Patch { clears: false, .. }) | Wanted::Restore { .. });
        let kept = || before.filter(|_| is_whole)?.get(attribute).cloned();
        Some((attribute.to_owned(), value.map(text).or_else(kept)?))
    }

    /// Nothing changes: what is left to do is to check that the node is where it is asked for, and to complete the
    /// claim.
    async fn complete(
        &mut self,
        io: &Io,
        before: Option<Arc<Item>>,
        anchor: Option<Action>,
    ) -> Result<Option<Outcome>, Stop> {
        let item = before.ok_or(Refusal::NotFound)?;
        let own = self.by_hand().filter(|_| anchor.is_some()).map(|attribute| {
            let same = |name: &str| Condition::is(name, item.get(name).cloned());
            let conditions = vec![Condition::Exists, same(&self.schema().names().parent), same(attribute)];
            Action::Check { key: self.node_key(), condition: Condition::All(conditions) }
        });
        let checks: Vec<Action> = own.into_iter().chain(anchor).collect();
        let outcome =
            Outcome::Node { node: self.node.clone(), item: Item::clone(&item), created: false, revision: None };
        let completion = self.attempts.completion(&outcome);
        if checks.is_empty() && completion.is_empty() {
            return Ok(Some(outcome));
        }
        self.attempts.send_completed(io, checks, completion, outcome, Some(item)).await
    }

    /// What must hold of the ancestor paths. Nothing where the node stays under its parent, or where nothing hangs
    /// under a new node: all others move.
    async fn path_checks(&self, io: &Io, node_write: &NodeWrite, look: &Look) -> Result<Vec<Action>, Stop> {
        let Some(parent) = self.parent() else { return Ok(Vec::new()) };
        let edge = self.usable_parent(parent, look)?;
        let is_parent = |item: &Item| item.get(&self.schema().names().parent) == Some(&text(parent.as_str()));
        match look.node.as_deref().map(is_parent) {
            Some(true) => return Ok(Vec::new()),
            None if !look.hangs => {
                if edge.deleting {
                    let record = look.parent.as_ref().ok_or(Failure::Again)?;
                    return Err(Refusal::being_deleted(parent, record).into());
                }
                match depth_of(&edge, &look.parent_lineage) {
                    // A parent that seems to be in the trash may be back.
                    Some(_) if edge.trashed.is_some() || is_in_trash(&look.parent_lineage) => {}
                    Some(above) if above + look.height < DEPTH_MAX => return Ok(Vec::new()),
                    Some(above) => return Err(Refusal::TooDeep { depth: above + 1 + look.height }.into()),
                    None => {}
                }
            }
            None | Some(false) => {}
        }
        let (schema, mut ancestry) = (self.schema(), Ancestry::default());
        ancestry.add(Edge::read(self.node, look.node.as_deref(), schema), Some(&look.node_lineage));
        ancestry.add(edge, Some(&look.parent_lineage));
        ancestry.read_on(io, schema, self.node, &[&self.node.id, parent]).await?;
        Ok(self.checks(node_write, look, &ancestry.path(&self.node.id)?, &ancestry.path(parent)?)?)
    }

    /// The edge up from the parent, if something can be put under it.
    fn usable_parent(&self, parent: &Id, look: &Look) -> Result<Edge, Refusal> {
        let (schema, target) = (self.schema(), self.node.sibling(parent.clone()));
        let item = look.parent.as_ref().ok_or_else(|| Refusal::ParentMissing(parent.clone()))?;
        if let Err(source) = BaseNode::read(item.clone(), &target, schema) {
            return Err(Refusal::ParentUnreadable { id: parent.clone(), source });
        }
        Ok(Edge::read(&target, Some(item), schema))
    }

    fn checks(
        &self,
        node_write: &NodeWrite,
        look: &Look,
        own: &AncestorPath,
        target: &AncestorPath,
    ) -> Result<Vec<Action>, Refusal> {
        let own = look.node.is_some().then_some(own);
        let moved = Move { node: &self.node.id, own, target, height: look.height };
        // The neighbour is checked, or gets a value.
        let beside = usize::from(self.anchor().is_some()) + self.next.as_ref().map_or(0, |next| next.actions.len());
        let names = node_write.naming.actions_max() + usize::from(self.wanted.top().is_some());
        let others = 1 + node_write.completion.len() + node_write.traces.len() + names + beside;
        let room = TRANSACTION_ACTIONS_MAX.saturating_sub(others);
        let edges = moved.checks(room, self.attempts.context.rules)?;
        if edges.len() > room {
            return Err(Refusal::TooDeepToCheck);
        }
        if look.node.is_none() && !look.hangs {
            // The paths were only read to see how deep the node comes to be.
            return Ok(Vec::new());
        }
        let schema = self.schema();
        let check = |edge: &Edge| Action::Check {
            key: schema.node_key(&self.node.sibling(edge.node.clone())),
            condition: edge.same_parent_and_kept(schema, self.attempts.context.rules),
        };
        Ok(edges.into_iter().map(check).collect())
    }

    async fn write(&mut self, io: &Io, node_write: NodeWrite, checks: Vec<Action>) -> Result<Option<Outcome>, Stop> {
        let NodeWrite { action, outcome, on, completion, traces, anchor, changes, slice, .. } = node_write;
        let (changes, changed): (Vec<Action>, Vec<Placed>) = changes.into_iter().unzip();
        if let Some(slice) = slice {
            if !self.siblings.write_slice(io, slice, changes, changed).await? {
                self.attempts.fail(io).await?;
            }
            return Ok(None);
        }
        let revision = self.next.as_ref().map_or_else(Vec::new, |next| next.actions.clone());
        let mut actions = vec![action];
        actions.extend(self.wanted.top().map(|top| top.operation.clone()));
        let mut beside = checks;
        beside.extend(traces);
        if self.attempts.context.rules.keeps(Rule::RevisionWithNode) || revision.is_empty() {
            beside.extend(revision);
        } else {
            io.one(Task::together(revision)).await?;
        }
        let others = changes.len();
        // The node that had the name can be one above, or a sibling.
        for action in beside.into_iter().chain(anchor).chain(changes) {
            add(&mut actions, action);
        }
        if let Some(over) = (actions.len() + completion.len()).checked_sub(TRANSACTION_ACTIONS_MAX + 1) {
            if !self.siblings.lower_room(others, over) {
                return Err(Refusal::NoRoom { attribute: self.by_hand().unwrap_or_default().to_owned() }.into());
            }
            return Ok(None);
        }
        self.siblings.tries(changed);
        self.attempts.send_completed(io, actions, completion, outcome, on).await
    }

    /// What an attempt without an answer has left besides the node's record: the revision that was appended with it. A
    /// node that was created leaves the record of its deletion, or its tombstone, if it was deleted since.
    fn trace(&self, look: &Look, read: &Read) -> Result<Trace, Failure> {
        let rules = self.attempts.context.rules;
        if let Some(next) = self.next.as_ref().filter(|_| self.was_sent()) {
            let (stamp, found) = (&self.attempts.request.stamp, read.item(&next.key)?);
            if stamp.made(found) || stamp.made_before(found) {
                return Ok(Trace::Done);
            }
        }
        if !self.attempts.is_unanswered()
            || self.attempts.decided_on().is_some()
            || !rules.keeps(Rule::CreatedAndDeleted)
        {
            return Ok(Trace::None);
        }
        let (stamp, settings) = (&self.attempts.request.stamp, self.attempts.context.settings);
        let deleted = read.item(&self.schema().deleted_key(self.node))?;
        let is_own = |born: Option<&str>| born == Some(&stamp.token);
        let born = |item: Option<&Item>| is_own(item.and_then(life_of));
        if born(look.node.as_deref()) || born(deleted) || is_own(look.node_lineage.born()) {
            return Ok(Trace::Done);
        }
        // What others have deleted since may have been this node, and then another one of the same id.
        let was_deleted = || look.node.is_none() && deleted_since(stamp.seconds, deleted, &look.node_lineage, settings);
        Ok(if was_deleted() { Trace::Lost } else { Trace::None })
    }

    fn node_key(&self) -> ItemKey {
        self.schema().node_key(self.node)
    }
}

/// Adds an action to a transaction, where an item can be named once. A move checks its neighbour as well, if that is
/// the node's old parent.
fn add(actions: &mut Vec<Action>, mut action: Action) {
    let same = actions[1..].iter().position(|other| other.key() == action.key());
    if let (Some(at), Action::Check { condition, .. } | Action::Update { condition, .. }) = (same, &mut action)
        && let Action::Check { condition: check, .. } = actions.remove(1 + at)
    {
        *condition = Condition::All(vec![std::mem::replace(condition, Condition::Exists), check]);
    }
    actions.push(action);
}
