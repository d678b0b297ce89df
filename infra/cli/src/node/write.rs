//! What the commands that write a node have in common.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use sapwood_api::contract::{BatchBody, OperationBody};
use sapwood_api::headers::{etag_text, if_match};
use sapwood_api::wait::{Pauses, missing};
use sapwood_api::writes::{Source, body};
use sapwood_core::keys::{Id, KeyError};
use sapwood_core::model::{BaseNode, ETag};
use sapwood_engine::query::{Derived, Progress, Reader};
use sapwood_engine::write::{Command, Outcome, Preconditions, Request, Spot, Tags, WriteError, Writer};
use serde_json::json;

use super::Opened;
use crate::exit::Exit;
use crate::printable::{line, shown};
use crate::say::say;

/// How long `--wait` waits where it names no time.
const USUAL_WAIT: &str = "60";

/// How a node is written.
#[derive(Clone, Args)]
pub(super) struct Writing {
    /// Write only if the node has this tag, which `sapwood get` prints. Its quotes may be omitted. `*`: only if the
    /// node exists.
    // One tag of 64 begins with a hyphen.
    #[arg(long, value_name = "TAG", value_parser = tags, allow_hyphen_values = true)]
    pub(super) if_match: Option<Tags>,
    /// Set `_updated_by` and `_created_by` of the record.
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "sapwood")]
    by: String,
    /// Wait until the rows are up to date, those of a moved subtree included. The value is the most seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = USUAL_WAIT,
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    pub(super) wait: Option<u64>,
}

/// Where a node is put among its siblings, if these are ordered by hand.
#[derive(Args)]
pub(super) struct SpotArguments {
    /// Put the node before all its siblings.
    #[arg(long, conflicts_with_all = ["last", "before", "after"])]
    first: bool,
    /// Put the node after all its siblings.
    #[arg(long, conflicts_with_all = ["before", "after"])]
    last: bool,
    /// Put the node before this sibling.
    #[arg(long, value_name = "SIBLING", conflicts_with = "after")]
    before: Option<String>,
    /// Put the node after this sibling.
    #[arg(long, value_name = "SIBLING")]
    after: Option<String>,
}

impl SpotArguments {
    /// The place, if one is named.
    pub(super) fn spot(&self) -> Result<Option<Spot>, KeyError> {
        Ok(match (&self.before, &self.after) {
            (Some(id), _) => Some(Spot::Before(Id::new(id.clone())?)),
            (None, Some(id)) => Some(Spot::After(Id::new(id.clone())?)),
            (None, None) if self.first => Some(Spot::First),
            (None, None) => self.last.then_some(Spot::Last),
        })
    }
}

/// Reads an entity tag. A shell takes the quotes off.
fn tags(text: &str) -> Result<Tags, &'static str> {
    match text.contains(['"', '*']) {
        true => if_match(text),
        false => if_match(&format!("\"{text}\"")),
    }
}

impl Writing {
    pub(super) async fn write(&self, opened: &Opened, command: &Command) -> Result<Outcome, WriteError> {
        let preconditions = Preconditions { if_match: self.if_match.clone(), if_none_match: None };
        let stamp = Source::system().stamp(self.by.clone());
        let request = Request { preconditions, ..Request::new(stamp) };
        Writer::new(&opened.client(), &opened.settings).write(command, &request).await
    }

    /// Carries out a command, and does as [`Writing::finish`] does.
    pub(super) async fn carry_out(&self, opened: &Opened, command: &Command, json: bool) -> Result<Exit> {
        let outcome = self.write(opened, command).await?;
        self.finish(opened, command, &outcome, json).await
    }

    /// Prints what a command has done, and waits for what is derived from it, if that is wanted.
    pub(super) async fn finish(
        &self,
        opened: &Opened,
        command: &Command,
        outcome: &Outcome,
        json: bool,
    ) -> Result<Exit> {
        print(outcome, opened, json)?;
        let Some(mut pauses) = self.pauses() else { return Ok(Exit::Done) };
        let derived = Derived::of(command, outcome, true).into_iter().chain(Derived::of_revision(outcome));
        let derived: Vec<Derived> = derived.collect();
        let client = opened.client();
        let (reader, tenant) = (Reader::new(&client, &opened.settings), opened.node.tenant.as_ref());
        let missing = missing(&derived, &reader, tenant, &mut pauses).await;
        Ok(missing.map_or(Exit::Done, |_| self.give_up()))
    }

    /// Prints the stream handler's operation, and waits for its end, if that is wanted. `done` says how it ends then.
    pub(super) async fn follow(&self, opened: &Opened, outcome: &Outcome, json: bool, done: &str) -> Result<Exit> {
        let (Outcome::Deleting { operation, .. } | Outcome::Copying { operation, .. }) = outcome else {
            return Ok(Exit::Done);
        };
        // With --json and --wait a single object tells the end.
        if !json || self.wait.is_none() {
            print(outcome, opened, json)?;
        }
        let client = opened.client();
        let (reader, tenant) = (Reader::new(&client, &opened.settings), opened.node.tenant.as_ref());
        let look = async || {
            let progress = reader.operation(tenant, operation).await?.progress;
            Ok(progress != Progress::Running)
        };
        let exit = self.until(look).await?;
        if self.wait.is_some() && json {
            say!("{}", line(&OperationBody::of(operation.clone(), reader.operation(tenant, operation).await?))?);
        } else if self.wait.is_some() && exit == Exit::Done {
            say!("{} is {done}", shown(opened.node.id.as_str()));
        }
        Ok(exit)
    }

    /// Looks until something is done, or the time is up.
    pub(super) async fn until(&self, mut is_done: impl AsyncFnMut() -> Result<bool>) -> Result<Exit> {
        let Some(mut pauses) = self.pauses() else { return Ok(Exit::Done) };
        while !is_done().await? {
            if !pauses.pause(true).await {
                return Ok(self.give_up());
            }
        }
        Ok(Exit::Done)
    }

    /// The pauses of the wait, if one is wanted.
    fn pauses(&self) -> Option<Pauses> {
        self.wait.map(|seconds| Pauses::lasting(Duration::from_secs(seconds)))
    }

    /// Says that the time is up.
    fn give_up(&self) -> Exit {
        let seconds = self.wait.unwrap_or_default();
        eprintln!("sapwood: it is written, and after {seconds} s not everything that follows is done");
        Exit::Unfinished
    }
}

pub(super) fn print(outcome: &Outcome, opened: &Opened, json: bool) -> Result<()> {
    let (id, settings) = (&opened.node.id, &opened.settings);
    let tag = |item| etag_text(&ETag::of(item, &settings.schema));
    let mut body = body(outcome, settings);
    if let (Some(BatchBody::Node(node)), Outcome::Node { item, .. }) = (&mut body, outcome) {
        node.etag = Some(tag(item));
    }
    let words = match outcome {
        Outcome::Node { node, item, created, revision } => {
            let is_in_trash = || BaseNode::is_in_trash(item, node, &settings.schema);
            let done = match created {
                true => "created",
                false if is_in_trash() => "in the trash",
                false => "written",
            };
            let appended = revision.as_ref().map_or_else(String::new, |appended| {
                format!(", and revision {} of {} is appended", appended.version.number(), shown(&appended.topic))
            });
            format!("{} is {done}, with the tag {}{appended}", shown(id.as_str()), tag(item))
        }
        Outcome::Revision { topic, version, .. } => {
            format!("revision {} of {} is appended to {}", version.number(), shown(&topic.topic), shown(id.as_str()))
        }
        Outcome::Deleted => format!("{} is deleted", shown(id.as_str())),
        Outcome::Deleting { operation, .. } => {
            format!("{} is being deleted by operation {operation}", shown(id.as_str()))
        }
        Outcome::Copying { operation, node, .. } => {
            format!("{} is being copied to {} by operation {operation}", shown(id.as_str()), shown(node.as_str()))
        }
    };
    match (json, &body) {
        (false, _) => say!("{words}"),
        (true, Some(body)) => say!("{}", line(body)?),
        (true, None) => say!("{}", json!({"node": id.as_str(), "status": "done"})),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;

    #[tokio::test]
    async fn a_wait_ends_in_time_even_if_what_it_looks_at_has_no_end() {
        let writing = Writing { if_match: None, by: String::new(), wait: Some(1) };
        let (began, mut looks) = (now(), 0);
        let exit = writing.until(async || {
            looks += 1;
            Ok(began.elapsed() > Duration::from_secs(20))
        });
        assert!(exit.await.is_ok_and(|exit| exit == Exit::Unfinished));
        assert!(looks > 1, "{looks} looks");
    }
}
