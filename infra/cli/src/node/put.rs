//! `sapwood put`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};

use anyhow::{Result, anyhow};
use clap::Args;
use sapwood_api::contract::check_topic;
use sapwood_core::keys::Id;
use sapwood_core::model::{Item, Latest, text};
use sapwood_engine::write::{Command, Content, NewRevision, Outcome, Patch, Refusal, ValueChange, WriteError};
use sapwood_json::{Attributes, FromJson, MergePatch, read};

use super::write::{SpotArguments, Writing};
use super::{Opened, Target};
use crate::arguments::parameter;
use crate::exit::Exit;

/// Create or change a node, or append a revision. Omitted attributes stay, as in the HTTP API's PATCH. With --replace
/// they are deleted, as in its PUT. With --topic a revision is appended instead. With --revision it is appended
/// together with the change of the node: both are done, or neither.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood put D --set name='Drive D' --table sapwood --endpoint http://127.0.0.1:8000
  sapwood put V --parent D --json-attributes '{\"size\": 12.5, \"tags\": {\"$set\": [\"new\"]}}' --table sapwood
  sapwood put V --unset size --if-match n0bY6ZyJHlVYBv8TQ2r6Yw --table sapwood --wait
  sapwood put V --replace --parent D --json-attributes @volume.json --table sapwood
  sapwood put eq --topic Audit --set auditor=Padma --table sapwood
  sapwood put V --set name='Volume 5' --revision Audit --revision-attributes '{\"auditor\": \"Padma\"}' --table sapwood

--set makes texts; --json-attributes has all types, as the HTTP API writes them. In a change, null deletes an attribute and an object merges
into a map; with --replace and --topic null is a value. A node that isn't there yet is created, as a root if no parent is named.

It ends with 0, 1 if the write is refused, 2 for wrong arguments, 3 if --wait ends before everything is up to date, and 4 if the table can't
be read or written.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Set the parent. A new one moves the node and its subtree.
    #[arg(long, value_name = "PARENT")]
    parent: Option<String>,
    /// Make the node a root.
    #[arg(long, conflicts_with = "parent")]
    root: bool,
    /// Set the node's name in paths. An empty one resets it to the id.
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
    /// Set an attribute to a text. Repeat it for more attributes.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parameter)]
    set: Vec<(String, String)>,
    /// Delete an attribute. Repeat it for more attributes.
    #[arg(long = "unset", value_name = "NAME", conflicts_with_all = ["replace", "topic"])]
    unset: Vec<String>,
    /// Set attributes from JSON: an object, @FILE, or @- (standard input).
    #[arg(long, value_name = "JSON")]
    json_attributes: Option<String>,
    /// Replace the node, and delete omitted attributes. Name its parent, or --root.
    #[arg(long, conflicts_with = "topic")]
    replace: bool,
    /// Create the node only if it doesn't exist.
    #[arg(long, value_name = "*", value_parser = ["*"], conflicts_with_all = ["if_match", "topic"])]
    if_none_match: Option<String>,
    /// Append a revision of this topic instead of writing the node.
    #[arg(long, value_name = "TOPIC", conflicts_with_all = ["parent", "root", "segment", "if_match", "first", "last", "before", "after"])]
    topic: Option<String>,
    /// Append a revision of this topic in the transaction of the node.
    #[arg(long, value_name = "TOPIC", conflicts_with = "topic")]
    revision: Option<String>,
    /// Set the revision's attributes from JSON: an object or @FILE.
    #[arg(long, value_name = "JSON", requires = "revision")]
    revision_attributes: Option<String>,
    #[command(flatten)]
    placing: SpotArguments,
    #[command(flatten)]
    writing: Writing,
}

/// How often a node is looked for once more that others create and delete meanwhile.
const ATTEMPTS_MAX: u32 = 5;

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let opened = arguments.target.node.open_to_write().await?;
    let (command, outcome) = match arguments.command(&opened)? {
        Command::Patch { patch, .. } if arguments.writing.if_match.is_none() => {
            arguments.change(&opened, patch).await?
        }
        command => {
            let outcome = arguments.writing.write(&opened, &command).await?;
            (command, outcome)
        }
    };
    arguments.writing.finish(&opened, &command, &outcome, arguments.target.json).await
}

impl Arguments {
    /// Changes a node, or creates it.
    async fn change(&self, opened: &Opened, patch: Patch) -> Result<(Command, Outcome)> {
        let create = Command::Create { node: opened.node.clone(), is_made_id: false, content: content_of(&patch) };
        let patch = Command::Patch { node: opened.node.clone(), patch };
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.writing.write(opened, &patch).await {
                Err(WriteError::Refused(Refusal::NotFound)) => {}
                outcome => return Ok((patch, outcome?)),
            }
            match self.writing.write(opened, &create).await {
                Err(WriteError::Refused(Refusal::Exists)) if attempts < ATTEMPTS_MAX => {}
                outcome => return Ok((create, outcome?)),
            }
        }
    }

    /// The command of the API that these arguments are.
    fn command(&self, opened: &Opened) -> Result<Command> {
        let node = opened.node.clone();
        if let Some(topic) = &self.topic {
            let topic = Latest { node, topic: topic.clone() };
            check_topic(&topic.topic, &opened.settings.schema)?;
            return Ok(Command::Append { topic, attributes: self.attributes()? });
        }
        let parent = match &self.parent {
            Some(parent) => Some(Some(Id::new(parent.clone())?)),
            None => self.root.then_some(None),
        };
        let segment = self.segment.clone().map(|segment| Some(segment).filter(|segment| !segment.is_empty()));
        let (spot, revision) = (self.placing.spot()?, self.with_revision(opened)?);
        if self.replace {
            let parent = parent.ok_or_else(|| {
                Exit::Usage.because("--replace: name the parent with --parent, or make the node a root with --root")
            })?;
            let (segment, attributes) = (segment.flatten(), self.attributes()?);
            let content = Content { parent, segment, attributes, spot, revision, ..Content::default() };
            return Ok(match self.if_none_match {
                Some(_) => Command::Create { node, is_made_id: false, content },
                None => Command::Replace { node, content },
            });
        }
        let attributes = self.changes()?;
        let patch = Patch { parent, segment, attributes, spot, revision, ..Patch::default() };
        Ok(match self.if_none_match {
            Some(_) => Command::Create { node, is_made_id: false, content: content_of(&patch) },
            None => Command::Patch { node, patch },
        })
    }

    /// The revision that is appended with the node.
    fn with_revision(&self, opened: &Opened) -> Result<Option<NewRevision>> {
        let Some(topic) = self.revision.clone() else { return Ok(None) };
        check_topic(&topic, &opened.settings.schema)?;
        let attributes: Option<Attributes> = json("--revision-attributes", self.revision_attributes.as_deref())?;
        Ok(Some(NewRevision { topic, attributes: attributes.unwrap_or_default().0, if_match: None }))
    }

    fn attributes(&self) -> Result<Item> {
        let Attributes(mut attributes) = self.json_attributes()?.unwrap_or_default();
        attributes.extend(self.set.iter().map(|(name, value)| (name.clone(), text(value.as_str()))));
        Ok(attributes)
    }

    fn changes(&self) -> Result<BTreeMap<String, ValueChange>> {
        let MergePatch(mut changes) = self.json_attributes()?.unwrap_or_default();
        let set = |(name, value): &(String, String)| (name.clone(), ValueChange::Set(text(value.as_str())));
        changes.extend(self.set.iter().map(set));
        changes.extend(self.unset.iter().map(|name| (name.clone(), ValueChange::Remove)));
        Ok(changes)
    }

    fn json_attributes<T: FromJson>(&self) -> Result<Option<T>> {
        json("--json-attributes", self.json_attributes.as_deref())
    }
}

/// Reads the JSON that an option has, or that its file has.
fn json<T: FromJson>(option: &'static str, given: Option<&str>) -> Result<Option<T>> {
    let Some(given) = given else { return Ok(None) };
    let json = match given.strip_prefix('@') {
        None => given.as_bytes().to_vec(),
        Some("-") => {
            let mut json = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut json);
            read.map_err(|error| anyhow!("the standard input can't be read: {error}"))?;
            json
        }
        Some(path) => fs::read(path).map_err(|error| anyhow!("{path} can't be read: {error}"))?,
    };
    let wrong = |error: sapwood_json::JsonError| {
        let at = if error.path().is_empty() { String::new() } else { format!("`{}`: ", error.path()) };
        Exit::Usage.because(format!("{option}: {at}{error}"))
    };
    read(&json).map(Some).map_err(wrong)
}

/// Turns a patch into the content of a new node.
fn content_of(patch: &Patch) -> Content {
    let attributes = patch.attributes.iter().filter_map(|(name, change)| Some((name.clone(), change.of(None)?)));
    Content {
        parent: patch.parent.clone().flatten(),
        takes_parent: patch.parent.is_none(),
        segment: patch.segment.clone().flatten(),
        attributes: attributes.collect(),
        spot: patch.spot.clone(),
        revision: patch.revision.clone(),
        on_conflict: patch.on_conflict,
    }
}
