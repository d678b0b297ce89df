//! Whether each call had the effect that its answer says.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::keys::{Id, ItemKey, NodeRef};
use sapwood_core::model::{AttributeValue, ETag, Item};
use sapwood_engine::write::{Answered, Children, Command, Outcome, Spot, Tags};

use super::refusals::LEASE_SECONDS;
use super::sequential::{self, as_seen, is_appended_with, is_copying, is_marked, is_odd, is_there, own_key, users_own};
use super::{Answer, Asking, BatchAnswer, Call, History, KeyedBatch};

impl History {
    pub(super) fn judge(&self, call: &Call) -> Result<(), String> {
        let effect = self.effect(call)?;
        self.check_appended(call)?;
        if let Some((key, at)) = effect {
            let (before, after) = (self.state(key, at - 1), self.state(key, at));
            match &call.asking {
                Asking::Api(command) => {
                    sequential::check(command, &call.request, before, after, self.order.as_deref())?;
                    self.check_preconditions(call, before)?;
                    self.check_copy(call, command, after, at)?;
                    if !self.is_in_place(command, self.end(call, at)) {
                        return Err(format!("not where it was asked for: {before:?} to {after:?}"));
                    }
                    self.check_surroundings(call, command, at)?;
                }
                Asking::Import(_, item) if !is_there(before) && after == Some(item) => {}
                Asking::Import(..) => return Err("another record was imported".to_owned()),
            }
        }
        let Some((until, answer)) = &call.answer else { return Ok(()) };
        let effect = effect.map(|(key, at)| (key.clone(), at));
        match (answer, effect) {
            (Answer::Failed, None) => Ok(()),
            // A read of an import that fails ends the command, whatever has become of the write.
            (Answer::Unknown, _) if call.is_lost() || matches!(call.asking, Asking::Import(..)) => Ok(()),
            (Answer::Unknown, _) => Err("unknown, and every write was answered".to_owned()),
            (Answer::Refused(_) | Answer::Failed | Answer::Another | Answer::BeingDeleted, Some(_)) => {
                Err("done, and refused".to_owned())
            }
            (Answer::Done(_) | Answer::Imported, Some((_, at))) if at > *until => {
                Err("answered, and done afterwards".to_owned())
            }
            (Answer::Done(answered), Some((key, at))) => self.check_answer(call, answered, &key, at, *until),
            (Answer::Done(answered), None) if answered.is_repeated => Ok(()),
            (Answer::Done(answered), None) => self.check_unchanged(call, &answered.outcome, *until),
            (Answer::Refused(refusal), None) => self.check_refusal(call, refusal, *until),
            (Answer::Imported, Some(_)) => Ok(()),
            (Answer::Imported | Answer::Another | Answer::BeingDeleted, None) => {
                self.check_import(call, answer, *until)
            }
        }
    }

    /// The change that a call made of its own record. It makes no second one, unless a write got no answer and the
    /// record has come back to what it was before: then no condition can tell that the write was done. Nor can one
    /// where another client has deleted what was created (*Not guaranteed* in docs/reference/guarantees.md). Siblings
    /// may get other places.
    fn effect<'a>(&self, call: &'a Call) -> Result<Option<(&'a ItemKey, usize)>, String> {
        let mut own = None;
        for (key, at) in &call.effects {
            if is_appended_with(&call.asking, key, &self.schema) {
                // Judged with the node, by what was written at once.
            } else if own_key(&call.asking, key, &self.schema) {
                let state = |at| self.state(key, at);
                if let Some((first, done)) = own.replace((key, *at)) {
                    let is_write = first == key && state(done).is_some();
                    let is_back = sequential::is_back(state(done - 1), state(at - 1))
                        || state(done - 1).is_none() && self.is_traceless(key, at - 1);
                    if !(call.is_lost() && is_write && is_back) {
                        return Err("carried out twice".to_owned());
                    }
                    // The answer is that to the first. A cut request may be carried out after it.
                    if call.answer.as_ref().is_some_and(|(until, _)| at > until) {
                        own = Some((first, done));
                    }
                }
            } else if !self.makes_room(call, key, *at) {
                return Err(format!("changed {key:?}"));
            }
        }
        Ok(own)
    }

    /// The changes by which a call has appended a revision with its node.
    fn appended<'a>(&self, call: &'a Call) -> impl Iterator<Item = &'a (ItemKey, usize)> {
        let schema = self.schema.clone();
        call.effects.iter().filter(move |(key, _)| is_appended_with(&call.asking, key, &schema))
    }

    /// Checks that each write of a node has appended the revision that goes with it, at once, and that it is the next
    /// one and what was asked for.
    fn check_appended(&self, call: &Call) -> Result<(), String> {
        let Asking::Api(command) = &call.asking else { return Ok(()) };
        let Some(asked) = command.revision() else { return Ok(()) };
        let at_once = |at: &usize| self.together[at - 1];
        let of_node: Vec<usize> = call
            .effects
            .iter()
            .filter(|(key, _)| own_key(&call.asking, key, &self.schema))
            .map(|(_, at)| at_once(at))
            .collect();
        let of_revision: Vec<usize> = self.appended(call).map(|(_, at)| at_once(at)).collect();
        if of_node != of_revision {
            return Err("the node and its revision weren't written at once".to_owned());
        }
        for (key, at) in self.appended(call) {
            let (before, after) = (self.state(key, at - 1), self.state(key, *at));
            sequential::check_appended(asked, &call.request.stamp, before, after)?;
            self.check_follows(call, key, *at)?;
        }
        Ok(())
    }

    /// Checks that the number of an appended revision followed the newest one at some time since the call.
    fn check_follows(&self, call: &Call, key: &ItemKey, at: usize) -> Result<(), String> {
        let Some((number, topic)) = sequential::version(&key.sk) else { return Err("no revision".to_owned()) };
        let newest = |at: usize| {
            let versions = self.changes.keys().filter(|other| other.pk == key.pk && self.state(other, at).is_some());
            let versions = versions.filter_map(|other| sequential::version(&other.sk));
            versions.filter(|(_, of)| *of == topic).map(|(number, _)| number).max().unwrap_or(0)
        };
        // Reads that see a part of a transaction can show each revision at another time.
        let was = |of: u32, is_there: bool| {
            let of_topic = |other: &&ItemKey| other.pk == key.pk && sequential::version(&other.sk) == Some((of, topic));
            let versions = self.changes.keys().filter(of_topic);
            versions
                .fold(!is_there, |_, other| self.states(other, call.since, at - 1).any(|it| it.is_some() == is_there))
        };
        let later = || self.changes.keys().filter_map(|other| sequential::version(&other.sk)).map(|(of, _)| of);
        let each_was = || (number == 1 || was(number - 1, true)) && later().all(|of| of < number || was(of, false));
        let follows = (call.since..at).any(|at| newest(at) + 1 == number) || self.is_torn && each_was();
        if follows { Ok(()) } else { Err("not the next version".to_owned()) }
    }

    /// True if an outcome names the revision that a call has appended, and none if it has appended none.
    fn names_appended(&self, call: &Call, outcome: &Outcome, until: usize) -> bool {
        let Outcome::Node { revision, .. } = outcome else { return true };
        let appended = self.appended(call).filter(|(_, at)| *at <= until).last();
        match (revision, appended) {
            (None, None) => true,
            (Some(named), Some((key, at))) => {
                let version = sequential::version(&key.sk);
                let tag = self.state(key, *at).map(|item| ETag::of(item, &self.schema));
                version == Some((named.version.number(), &*named.topic)) && tag.as_ref() == Some(&named.etag)
            }
            _ => false,
        }
    }

    /// True if a change gives a sibling another place, for a call that asks for a place, and changes nothing else.
    fn makes_room(&self, call: &Call, key: &ItemKey, at: usize) -> bool {
        let (Asking::Api(command), Some(order)) = (&call.asking, self.order.as_deref()) else { return false };
        let (Some(before), Some(after)) = (self.state(key, at - 1), self.state(key, at)) else { return false };
        let parent = sequential::text(before, "parent");
        key.sk == "NODE"
            && sequential::makes_room(command, &call.request.stamp, before, after, order)
            && self.parents(call, command, at).contains(parent)
    }

    /// The parents that the node of a call that asks for a place may have had in mind: the one that is named, or that
    /// of the sibling that it comes next to, of the node that it copies, or its own. A root has an empty one.
    pub(super) fn parents<'a>(&'a self, call: &Call, command: &'a Command, until: usize) -> BTreeSet<&'a str> {
        if let Some(named) = sequential::named_parent(command) {
            return [named.map_or("", Id::as_str)].into();
        }
        let node = sequential::node(command);
        let anchor = sequential::spot(command).and_then(Spot::anchor);
        let keys =
            [Some(sequential::kept_parent_of(command)), anchor].into_iter().flatten().map(|id| self.node(node, id));
        let parents_of = |key: ItemKey| -> Vec<&str> {
            let states = self.states(&key, call.since, until).flatten();
            let parent = |item: &'a Item| match item.get("_trashed") {
                _ if is_odd(item) => "",
                Some(AttributeValue::M(says)) if sequential::goes_back(command) => {
                    says.get("parent").map_or("", |parent| if let AttributeValue::S(id) = parent { id } else { "" })
                }
                _ => sequential::text(item, "parent"),
            };
            states.map(parent).collect()
        };
        keys.flat_map(parents_of).collect()
    }

    /// True if at this time a node is on that side of a sibling that a command asks for, if it asks for one. A record
    /// that can't be understood has no place, and counts as a root where it is written.
    fn is_in_place(&self, command: &Command, at: usize) -> bool {
        let node = sequential::node(command);
        let (Some(order), Some(spot)) = (self.order.as_deref(), sequential::spot(command)) else { return true };
        let Some(anchor) = spot.anchor().filter(|anchor| **anchor != node.id) else { return true };
        let now = |id: &Id| self.state(&self.node(node, id), at);
        now(&node.id)
            .zip(now(anchor))
            .is_some_and(|(node, anchor)| is_odd(node) || sequential::is_beside(node, spot, anchor, order))
    }

    /// Checks what the answer to a call says of the change that it made.
    fn check_answer(
        &self,
        call: &Call,
        answered: &Answered,
        key: &ItemKey,
        at: usize,
        until: usize,
    ) -> Result<(), String> {
        let after = self.state(key, at);
        if !self.names_appended(call, &answered.outcome, until) {
            return Err("answered with another revision".to_owned());
        }
        match (&answered.outcome, after) {
            (Outcome::Node { item, created, .. } | Outcome::Revision { item, created, .. }, Some(_)) => {
                if *created == is_there(self.state(key, at - 1)) {
                    return Err("`created` is wrong".to_owned());
                }
                let is_ours =
                    |state: &Item| state.get("_write") == item.get("_write") && self.shows(call, item, key, at, state);
                let mut states = self.states(key, at, until).flatten();
                if states.any(is_ours) { Ok(()) } else { Err(format!("answered with another item than {after:?}")) }
            }
            (Outcome::Deleted, None) => Ok(()),
            (Outcome::Deleting { operation, .. }, Some(after)) => {
                if is_marked(after, Some(operation)) {
                    Ok(())
                } else {
                    Err("answered with another operation".to_owned())
                }
            }
            (Outcome::Copying { operation, .. }, Some(after)) if is_copying(after, operation) => Ok(()),
            _ => Err(format!("{:?} isn't what was done", call.asking)),
        }
    }

    /// Checks that the top of a copy has what the source had at some time since the call, elsewhere.
    fn check_copy(&self, call: &Call, command: &Command, after: Option<&Item>, at: usize) -> Result<(), String> {
        let Command::Copy { source, parent, .. } = command else { return Ok(()) };
        let own = |item: &Item| -> Vec<(String, AttributeValue)> {
            let own = users_own(item).into_iter().filter(|(name, _)| *name != "parent" || parent.is_none());
            own.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let key = self.schema.node_key(source);
        let mut states = self.states(&key, call.since, at - 1).flatten();
        let is_of = |item: &Item| !is_marked(item, None) && after.is_some_and(|after| own(item) == own(after));
        if states.any(is_of) { Ok(()) } else { Err(format!("never like its source: {after:?}")) }
    }

    /// True if a call whose change was made at this time may answer this item, while the record is in this state. What
    /// another client changes between the read and the write of a patch stays, and the answer has it as it was read.
    fn shows(&self, call: &Call, item: &Item, key: &ItemKey, at: usize, state: &Item) -> bool {
        let leaves = |name: &str| match &call.asking {
            Asking::Api(command) => sequential::leaves(command, name, self.order.as_deref()),
            Asking::Import(..) => false,
        };
        let was_read = |name: &str| {
            let mut before = self.states(key, call.since, at).flatten();
            leaves(name) && before.any(|state| state.get(name) == item.get(name))
        };
        let (state, seen) = (as_seen(state), as_seen(item));
        let mut names = state.keys().chain(seen.keys());
        names.all(|name| state.get(name) == seen.get(name) || was_read(name))
    }

    /// Checks an answer that something is done, by a call that has changed nothing.
    fn check_unchanged(&self, call: &Call, outcome: &Outcome, until: usize) -> Result<(), String> {
        let Asking::Api(command) = &call.asking else { return Err("not an import's answer".to_owned()) };
        let Some(key) = sequential::key(command, &self.schema) else { return Err("answered, and not done".to_owned()) };
        let mut states = self.states(&key, self.may_be_read(call, &key), until);
        let was_in_place = || (call.called..=until).any(|at| self.is_in_place(command, at));
        let is_right = match outcome {
            Outcome::Node { item, created: false, .. } if was_in_place() => states.any(|state| {
                state.is_some_and(|state| as_seen(state) == as_seen(item) && sequential::stays(command, state))
            }),
            // The revision that was there is gone, and the answer that said who did it was lost.
            Outcome::Deleted if call.is_lost() && matches!(**command, Command::DeleteRevision { .. }) => {
                let (mut was, mut went) = (false, false);
                self.states(&key, call.since, until).for_each(|state| {
                    went |= was && !is_there(state);
                    was |= is_there(state);
                });
                went
            }
            _ => false,
        };
        if is_right { Ok(()) } else { Err("answered, and not done".to_owned()) }
    }

    /// The time of the oldest state of a record that a call may have decided on: the beginning of its batch, or the
    /// newest change by an earlier part of it.
    fn may_be_read(&self, call: &Call, key: &ItemKey) -> usize {
        let is_earlier = |other: &&Call| other.invocation == call.invocation && other.called < call.called;
        let earlier = self.calls().filter(is_earlier).flat_map(|call| &call.effects);
        let changed = earlier.filter(|(of, _)| of == key).map(|(_, at)| *at);
        changed.max().unwrap_or(0).max(call.since)
    }

    fn check_import(&self, call: &Call, answer: &Answer, until: usize) -> Result<(), String> {
        let Asking::Import(_, item) = &call.asking else { return Err("an import's answer".to_owned()) };
        let key = ItemKey::new(sequential::text(item, "PK"), sequential::text(item, "SK"));
        let states = self.states(&key, call.called, until);
        // One that goes, or that only a repair has put back, is no record that an import may count as its own.
        let is_right = states.flatten().filter(|state| is_there(Some(state))).any(|state| match answer {
            Answer::BeingDeleted => is_marked(state, None),
            answer => {
                let is_equal = users_own(state) == users_own(item);
                !is_marked(state, None) && is_equal == matches!(answer, Answer::Imported)
            }
        });
        if is_right { Ok(()) } else { Err("never so".to_owned()) }
    }

    /// True if the preconditions of a call hold of a record.
    pub(super) fn holds(&self, call: &Call, state: Option<&Item>) -> bool {
        let tag = state.filter(|item| is_there(Some(item))).map(|item| ETag::of(item, &self.schema));
        let is_named = |tags: &Tags| match (tags, &tag) {
            (_, None) => false,
            (Tags::Any, Some(_)) => true,
            (Tags::These(tags), Some(tag)) => tags.contains(tag),
        };
        let preconditions = &call.request.preconditions;
        preconditions.if_match.as_ref().is_none_or(is_named)
            && !preconditions.if_none_match.as_ref().is_some_and(is_named)
    }

    fn check_preconditions(&self, call: &Call, before: Option<&Item>) -> Result<(), String> {
        if self.holds(call, before) { Ok(()) } else { Err("done, and its precondition didn't hold".to_owned()) }
    }

    /// Checks what must be so of other records for a change at this time: a new node's parent was there since the call,
    /// and the number of an appended revision followed the newest one.
    fn check_surroundings(&self, call: &Call, command: &Command, at: usize) -> Result<(), String> {
        if let Command::Append { .. } = command {
            let Some((key, _)) = call.effects.first() else { return Ok(()) };
            return self.check_follows(call, key, at);
        }
        let Some((key, _)) = self.effect(call)? else { return Ok(()) };
        self.check_life_of_parent(call, sequential::node(command), self.state(key, at - 1), self.state(key, at), at)?;
        self.check_out_of_trash(command, at)?;
        self.check_children_of_batch(call, command, at)?;
        let Some(parent) = sequential::parent(command) else { return Ok(()) };
        let key = self.node(sequential::node(command), parent);
        let was_there = self.states(&key, call.since, at - 1).any(is_there);
        if was_there { Ok(()) } else { Err("put under a parent that wasn't there".to_owned()) }
    }

    /// Checks that a node isn't deleted as one without children while it has one that the same batch has put there.
    fn check_children_of_batch(&self, call: &Call, command: &Command, at: usize) -> Result<(), String> {
        let Command::Delete { node, children: Children::Restrict, .. } = command else { return Ok(()) };
        let is_child = |item: &Item| !is_marked(item, None) && sequential::text(item, "parent") == node.id.as_str();
        let is_answered =
            |other: &&Call| matches!(other.answer, Some((until, Answer::Done(_))) if until <= call.called);
        let before = self.calls().filter(|other| other.invocation == call.invocation).filter(is_answered);
        let mut effects = before.flat_map(|other| &other.effects).filter(|(key, _)| key.sk == "NODE");
        // It may be put there again, by another client, right before the deletion.
        let child = effects.find(|(key, put)| self.states(key, *put, at - 1).all(|state| state.is_some_and(is_child)));
        child.map_or(Ok(()), |(key, _)| Err(format!("deleted, and its batch has put {key:?} below it")))
    }

    /// Checks that a call whose change was made at this time has put no node into the trash that wasn't there. A create
    /// reads its parent alone, and says so.
    fn check_out_of_trash(&self, command: &Command, at: usize) -> Result<(), String> {
        let node = sequential::node(command);
        let parent_of = |key: &ItemKey, at: usize| {
            let parent = sequential::text(self.state(key, at)?, "parent");
            (!parent.is_empty()).then(|| ItemKey::new(parent, "NODE"))
        };
        let in_trash = |at: usize| {
            let mut path = vec![self.schema.node_key(node)];
            while let Some(above) = path.last().and_then(|key| parent_of(key, at)).filter(|above| !path.contains(above))
            {
                path.push(above);
            }
            path.last().and_then(|top| self.state(top, at)).and_then(sequential::trashed).is_some()
        };
        let is_new = !is_there(self.state(&self.schema.node_key(node), at - 1));
        let is_asked = matches!(command, Command::Trash { .. } | Command::Delete { .. });
        if is_new || is_asked || in_trash(at - 1) && !matches!(command, Command::Restore { .. }) || !in_trash(at) {
            return Ok(());
        }
        Err("moved into the trash".to_owned())
    }

    /// Checks that a node that was put under a parent names the life of the parent that was there since the call. A
    /// parent of another client's has one that its rows name alone.
    fn check_life_of_parent(
        &self,
        call: &Call,
        node: &NodeRef,
        before: Option<&Item>,
        after: Option<&Item>,
        at: usize,
    ) -> Result<(), String> {
        let under = |item: Option<&Item>| item.and_then(|item| item.get("_under")).cloned();
        let Some(AttributeValue::M(under)) = under(after).filter(|now| Some(now) != under(before).as_ref()) else {
            return Ok(());
        };
        let under: Item = under.into_iter().collect();
        let Ok(parent) = Id::new(sequential::text(&under, "parent")) else { return Err("under no node".to_owned()) };
        let born = sequential::text(&under, "born");
        let key = self.node(node, &parent);
        let mut lives = self.states(&key, call.since, at - 1).flatten();
        let is_right =
            lives.any(|item| matches!(sequential::text(item, "_born"), own if own.is_empty() || own == born));
        if is_right { Ok(()) } else { Err(format!("under a life of {parent} that wasn't there: {born:?}")) }
    }

    /// Checks the requests that were sent again with their idempotency key: one effect of all, and one answer.
    pub(super) fn repeated(&self) -> Vec<String> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, call) in self.calls().enumerate() {
            if let Some(key) = &call.request.idempotency {
                groups.entry(&key.hash).or_default().push(number);
            }
        }
        let mut wrong = Vec::new();
        for calls in groups.values() {
            let effect = |call: &usize| {
                let call = &*self.calls[*call];
                self.effect(call).ok().flatten().map(|(key, at)| (call, key, at))
            };
            let effects: Vec<(&Call, &ItemKey, usize)> = calls.iter().filter_map(effect).collect();
            if effects.len() > 1 {
                let calls: Vec<String> = calls.iter().map(|call| self.describe(*call)).collect();
                wrong.push(format!("carried out twice with one idempotency key: {calls:?}"));
            }
            for (number, call) in calls.iter().map(|call| (*call, &self.calls[*call])) {
                if let Some((_, Answer::Refused(refusal))) = &call.answer
                    && effects.iter().any(|(_, _, at)| *at <= call.since)
                {
                    wrong.push(format!("done, and its repetition was refused ({refusal}): {}", self.describe(number)));
                }
                let Some((until, Answer::Done(answered))) = &call.answer else { continue };
                if answered.is_repeated && !self.is_repeat(calls, &effects, &answered.outcome, *until) {
                    wrong.push(format!("repeated what wasn't answered: {}", self.describe(number)));
                }
            }
        }
        wrong
    }

    /// Checks the imports that were run again: each has written a record once, unless another client has deleted it
    /// without a trace.
    pub(super) fn imported_twice(&self) -> Vec<String> {
        let mut first = BTreeMap::new();
        let mut wrong = Vec::new();
        for (number, call) in self.calls().enumerate() {
            let (Asking::Import(import, _), Ok(Some((key, at)))) = (&call.asking, self.effect(call)) else { continue };
            match first.insert((import, key), at) {
                Some(before) if !self.is_traceless(key, before.max(at) - 1) => {
                    wrong.push(format!("imported twice: {}", self.describe(number)));
                }
                _ => {}
            }
        }
        wrong
    }

    /// Checks the batches with a key: one is answered as before only if all of its parts were, and is told that another
    /// is under way only while that may have the claim.
    pub(super) fn wrong_batches(&self) -> Vec<String> {
        let is_wrong = |batch: &&KeyedBatch| {
            let Some((until, answer)) = batch.answer else { return false };
            let is_other = |other: &&KeyedBatch| other.invocation != batch.invocation && other.called <= until;
            let mut others = self.batches.iter().filter(|other| other.key == batch.key).filter(is_other);
            match answer {
                // Its parts are judged.
                BatchAnswer::Done { .. } | BatchAnswer::Failed => false,
                // Its claim may have got no answer, and there may have been no time for another look.
                BatchAnswer::Contended => false,
                BatchAnswer::Kept => !others.any(|other| self.has_final_answers(other, until)),
                BatchAnswer::InProgress => !others.any(|other| may_have_claim(other, batch)),
                BatchAnswer::Refused => true,
            }
        };
        self.batches.iter().filter(is_wrong).map(|batch| format!("a batch was answered wrong: {batch:?}")).collect()
    }

    /// True if all parts of a batch had answers by then that can be kept.
    fn has_final_answers(&self, batch: &KeyedBatch, until: usize) -> bool {
        let is_kept = |call: &Call| call.answer.as_ref().is_some_and(|(at, answer)| *at <= until && answer.is_final());
        let parts = self.calls().filter(|call| call.invocation == batch.invocation);
        parts.filter(|call| is_kept(call)).count() == batch.parts
    }

    /// True if this is the outcome of an earlier call with the same key.
    fn is_repeat(
        &self,
        calls: &[usize],
        effects: &[(&Call, &ItemKey, usize)],
        outcome: &Outcome,
        until: usize,
    ) -> bool {
        match (effects.first(), outcome) {
            (Some((call, key, at)), Outcome::Node { item, .. } | Outcome::Revision { item, .. }) => {
                *at <= until
                    && self.names_appended(call, outcome, until)
                    && self.state(key, *at).is_some_and(|state| self.shows(call, item, key, *at, state))
            }
            (Some((_, key, at)), Outcome::Deleted) => *at <= until && self.state(key, *at).is_none(),
            (Some((_, key, at)), Outcome::Deleting { operation, .. }) => {
                *at <= until && self.state(key, *at).is_some_and(|state| is_marked(state, Some(operation)))
            }
            (Some((_, key, at)), Outcome::Copying { operation, .. }) => {
                *at <= until && self.state(key, *at).is_some_and(|state| is_copying(state, operation))
            }
            // Nothing changed: the first call said so, or would have, at that time.
            (None, _) => calls.iter().any(|call| self.check_unchanged(&self.calls[*call], outcome, until).is_ok()),
        }
    }
}

/// True if a batch may have had the claim of its key while this other one was under way.
fn may_have_claim(batch: &KeyedBatch, other: &KeyedBatch) -> bool {
    let has_ended = match batch.answer {
        // A batch that the table failed may have its claim all the same.
        None | Some((_, BatchAnswer::Failed | BatchAnswer::Contended)) => false,
        Some((at, BatchAnswer::Done { is_settled })) => is_settled && at < other.called,
        Some(_) => true,
    };
    !has_ended && batch.seconds + LEASE_SECONDS > other.seconds
}
