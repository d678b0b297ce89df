//! The revision that is appended with the node.
//!
//! - Reads: the newest revision of its topic; after an attempt without an answer what that attempt was to write.
//! - Holds: the precondition on the newest revision, and that the next number is free.
//! - Writes: the next revision, and a check that the newest stands.

use super::super::attempts::Stop;
use super::super::command::NewRevision;
use super::super::{Appended, Precondition, Refusal, revision};
use super::SaveNode;
use crate::model::{ETag, Latest};
use crate::plan::{Io, Read, Rule, Task};
use crate::request::Action;

impl SaveNode<'_, '_> {
    pub(super) fn topic(&self, of: &NewRevision) -> Latest {
        Latest { node: self.node.clone(), topic: of.topic.clone() }
    }

    /// True if a revision was sent with an attempt that got no answer.
    pub(super) fn was_sent(&self) -> bool {
        let keeps = self.attempts.context.rules.keeps(Rule::SameVersionAgain);
        keeps && self.next.is_some() && self.attempts.is_unanswered()
    }

    /// Checks that a revision that was sent without an answer can be sent again as it was. Another version isn't taken:
    /// if the first attempt is carried out after all, the answer would name a revision that isn't this write's.
    pub(super) fn check_sent_revision(&self, read: &Read) -> Result<(), Stop> {
        for action in self.next.iter().filter(|_| self.was_sent()).flat_map(|next| &next.actions) {
            if !action.condition().holds(read.item(action.key())?) {
                return Err(Refusal::OutcomeUnknown.into());
            }
        }
        Ok(())
    }

    /// Finds the revision to append. One that was sent and got no answer stays what it is. False: look again.
    pub(super) async fn find_revision(&mut self, io: &Io) -> Result<bool, Stop> {
        let Some(wanted) = self.wanted.revision else { return Ok(true) };
        if self.was_sent() {
            return Ok(true);
        }
        let (topic, preconditions) = (self.topic(wanted), wanted.preconditions());
        let found = if self.reads_node() {
            revision::next(io, self.attempts, &topic, &wanted.attributes, &preconditions).await
        } else {
            // An id that the API has just made has no revisions.
            let next = || revision::after(None, self.attempts, &topic, &wanted.attributes, Vec::new()).map(Some);
            preconditions.check(None).map_err(Stop::from).and_then(|()| next())
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

    pub(super) async fn revision_actions(&self, io: &Io) -> Result<Vec<Action>, Stop> {
        let actions = self.next.as_ref().map_or_else(Vec::new, |next| next.actions.clone());
        if actions.is_empty() || self.attempts.context.rules.keeps(Rule::RevisionWithNode) {
            return Ok(actions);
        }
        io.one(Task::together(actions)).await?;
        Ok(Vec::new())
    }

    pub(super) fn appended(&self) -> Option<Appended> {
        let (topic, next) = (self.wanted.revision?.topic.clone(), self.next.as_ref()?);
        Some(Appended { topic, version: next.version, etag: ETag::of(&next.item, self.schema()) })
    }
}
