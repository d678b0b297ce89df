//! What `dump_bulk` of [django-treebeard](https://django-treebeard.readthedocs.io) returns, written as JSON.
//!
//! ```json
//! [{"data": {"name": "Drive D"}, "id": 1, "children": [{"data": {"name": "Volume V"}, "id": 2}]}]
//! ```
//!
//! `json.dump(Model.objects.dump_bulk(), file, cls=DjangoJSONEncoder)` writes it. `data` has the attributes. The
//! primary key is the one other field beside `data` and `children`, by whatever name; a number becomes text. It is
//! missing with `keep_ids=False`, and then nothing can name the parent. It must stand before `children`, as treebeard
//! writes it, because children are read one by one.

use std::collections::BTreeSet;

use sapwood_core::keys::{Id, NodeRef, Tenant};
use sapwood_core::model::AttributeValue;
use sapwood_json::Attributes;

use super::input::{Input, utf8};
use super::jsonl;
use super::scanner::Scanner;
use super::{Content, Entry};
use crate::{Fault, Location, Node, Options, Record};

/// The most levels that are read. It bounds the memory; the check for trees that are too deep comes later.
const LEVELS_MAX: usize = 10_000;

/// The nodes of a file, parents first.
pub(super) struct Treebeard {
    scanner: Scanner,
    tenant: Option<Tenant>,
    segment: Option<String>,
    state: ReadState,
    /// The nodes whose children are being read, from the top.
    above: Vec<Open>,
}

enum ReadState {
    /// The file's beginning.
    Start,
    /// The next is a node, or the end of a list.
    Node,
    /// The next is what stands after a node in a list.
    AfterNode,
    /// The file's end, or a fault of its structure.
    End,
}

/// A node whose members are being read.
#[derive(Default)]
struct Open {
    line: u64,
    id: Option<Id>,
    data: Option<Result<Attributes, Fault>>,
    /// True once the node was returned: its children follow.
    is_told: bool,
    members: BTreeSet<String>,
}

impl Treebeard {
    pub(super) fn new(input: Input, options: &Options) -> Self {
        Self {
            scanner: Scanner::new(input),
            tenant: options.tenant.clone(),
            segment: options.treebeard.segment.clone(),
            state: ReadState::Start,
            above: Vec::new(),
        }
    }

    /// Reads on to the next node. `None` at the end. After an error of the structure nothing can be read.
    fn read(&mut self) -> Result<Option<Entry>, Fault> {
        loop {
            match self.state {
                ReadState::Start => {
                    self.scanner.expect(b"[")?;
                    self.state = ReadState::Node;
                }
                ReadState::Node if self.scanner.take_if(b']')? => {
                    if !self.end_of_list()? {
                        return Ok(None);
                    }
                    if let Some(entry) = self.members(false)? {
                        return Ok(Some(entry));
                    }
                }
                ReadState::Node => {
                    self.scanner.expect(b"{")?;
                    if self.above.len() >= LEVELS_MAX {
                        return Err(Fault::unreadable(format!(
                            "nodes are nested past {LEVELS_MAX} levels; take some out"
                        )));
                    }
                    self.above.push(Open { line: self.scanner.line, ..Open::default() });
                    if let Some(entry) = self.members(true)? {
                        return Ok(Some(entry));
                    }
                }
                ReadState::AfterNode => {
                    if self.scanner.expect(b",]")? == b',' {
                        self.state = ReadState::Node;
                        if self.scanner.peek()? == Some(b']') {
                            return Err(Fault::unreadable("a list ends with a comma; write the file again"));
                        }
                    } else if !self.end_of_list()? {
                        return Ok(None);
                    } else if let Some(entry) = self.members(false)? {
                        return Ok(Some(entry));
                    }
                }
                ReadState::End => return Ok(None),
            }
        }
    }

    /// Returns true at the end of a list of children, and false at the end of the whole.
    fn end_of_list(&mut self) -> Result<bool, Fault> {
        if !self.above.is_empty() {
            return Ok(true);
        }
        self.state = ReadState::End;
        match self.scanner.peek()? {
            None => Ok(false),
            Some(_) => Err(Fault::unreadable("something stands after the end of the list; write the file again")),
        }
    }

    /// Reads the members of the lowest open node, up to its children or end. Returns the node once it can be told.
    fn members(&mut self, mut is_first: bool) -> Result<Option<Entry>, Fault> {
        loop {
            let is_end = if is_first { self.scanner.take_if(b'}')? } else { self.scanner.expect(b",}")? == b'}' };
            if is_end {
                let Some(open) = self.above.pop() else { return Ok(None) };
                self.state = ReadState::AfterNode;
                return Ok((!open.is_told).then(|| self.entry(open)));
            }
            is_first = false;
            let name = self.name()?;
            self.scanner.expect(b":")?;
            if name == "children" {
                self.scanner.expect(b"[")?;
                self.state = ReadState::Node;
                return self.told_before_children().map(Some);
            }
            let value = self.scanner.value()?;
            let Some(open) = self.above.last_mut() else { return Ok(None) };
            if name == "data" {
                open.data = Some(sapwood_json::read(&value).map_err(|error| jsonl::fault(&error)));
            } else if open.id.is_none() {
                open.id = Some(primary_key(&name, &value)?);
            } else {
                let message =
                    format!("a node has `data`, `children` and its primary key, and `{name}` is another field");
                return Err(Fault::unreadable(format!("{message}; leave it out")));
            }
        }
    }

    /// Reads the name of a member, which no other member of the node may have.
    fn name(&mut self) -> Result<String, Fault> {
        let text = self.scanner.value()?;
        let name: String = serde_json::from_slice(&text).map_err(|error| Fault::unreadable(error.to_string()))?;
        let is_new = self.above.last_mut().is_some_and(|open| open.members.insert(name.clone()));
        if is_new { Ok(name) } else { Err(Fault::unreadable(format!("a node has `{name}` twice; leave one out"))) }
    }

    /// Returns the lowest open node, whose children begin here.
    fn told_before_children(&mut self) -> Result<Entry, Fault> {
        let Some(open) = self.above.last_mut() else { return Err(Fault::unreadable("children without a node")) };
        if open.id.is_none() || open.data.is_none() {
            return Err(Fault::unreadable(
                "`children` stands before the node's `data` or its primary key; write the file with `dump_bulk(keep_ids=True)` and without sorting keys",
            ));
        }
        open.is_told = true;
        let told = Open { line: open.line, id: open.id.clone(), data: open.data.take(), ..Open::default() };
        let above = self.above.pop();
        let entry = self.entry(told);
        self.above.extend(above);
        Ok(entry)
    }

    fn entry(&self, open: Open) -> Entry {
        let at = Location { file: 0, line: open.line };
        let id = open.id.clone();
        match self.node(open) {
            Ok(node) => Entry::new(at, Ok(Content::Record(Record::Node(node)))),
            Err(fault) => {
                let faulty_node = id.map(|id| NodeRef { tenant: self.tenant.clone(), id });
                Entry { faulty_node, ..Entry::new(at, Err(fault)) }
            }
        }
    }

    /// Returns a node, below the open ones.
    fn node(&self, open: Open) -> Result<Node, Fault> {
        let id = open.id.ok_or_else(|| {
            Fault::unreadable("the node has no primary key; write the file with `dump_bulk(keep_ids=True)`")
        })?;
        let mut attributes =
            open.data.ok_or_else(|| Fault::unreadable("the node has no `data`; add it, `{}` at least"))??;
        let segment = match &self.segment {
            None => None,
            Some(field) => match attributes.0.remove(field) {
                Some(AttributeValue::S(text) | AttributeValue::N(text)) => Some(text),
                None | Some(AttributeValue::Null(_)) => None,
                Some(_) => {
                    return Err(Fault::refused(format!(
                        "`{field}` is to be the segment, and is no text; choose another"
                    )));
                }
            },
        };
        let parent = self.above.last().and_then(|open| open.id.clone());
        Ok(Node { node: NodeRef { tenant: self.tenant.clone(), id }, parent, segment, trashed: None, attributes })
    }
}

/// Returns the id that a primary key makes: a text as it is, a number as it is written.
fn primary_key(name: &str, value: &[u8]) -> Result<Id, Fault> {
    let wrong =
        || Fault::unreadable(format!("the primary key `{name}` is neither a text nor a whole number; write it as one"));
    let text = match value.first() {
        Some(b'"') => serde_json::from_slice(value).map_err(|_| wrong())?,
        _ => {
            let text = utf8(value)?;
            text.parse::<i128>().map_err(|_| wrong())?;
            text.to_owned()
        }
    };
    Id::new(text).map_err(|error| Fault::refused(error.to_string()))
}

impl Iterator for Treebeard {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.read().unwrap_or_else(|fault| {
            self.state = ReadState::End;
            Some(Entry::new(Location { file: 0, line: self.scanner.line }, Err(fault)))
        })
    }
}
