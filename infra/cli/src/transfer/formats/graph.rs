//! Graphs of nodes: Graphviz, as in `dot -Tsvg places.dot`, and Mermaid's flowchart, which GitHub and many wikis draw.

use std::fmt::Write as _;
use std::io::Write;

use sapwood_core::keys::NodeRef;
use sapwood_import::{Node, Record};

use super::{Ended, Format, FormatError};
use crate::printable::is_unsafe;
use crate::tree::value_of;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Dot,
    Mermaid,
}

pub(super) struct Graph {
    pub(super) language: Language,
    /// The attributes that stand below the id.
    pub(super) shown: Vec<String>,
    /// The id of the node whose parent isn't drawn: it is outside of what is exported.
    pub(super) top: Option<String>,
    pub(super) has_begun: bool,
}

impl Graph {
    fn begin(&mut self, to: &mut dyn Write) -> Result<(), FormatError> {
        if !std::mem::replace(&mut self.has_begun, true) {
            match self.language {
                Language::Dot => writeln!(to, "digraph sapwood {{\n  rankdir=LR;\n  node [shape=box];")?,
                Language::Mermaid => writeln!(to, "flowchart LR")?,
            }
        }
        Ok(())
    }

    fn lines(&self, node: &Node) -> impl Iterator<Item = String> {
        let attributes = &node.attributes.0;
        let values = self.shown.iter().filter_map(|name| Some(format!("{name}={}", value_of(attributes.get(name)?))));
        std::iter::once(visible(node.node.id.as_str())).chain(values.map(|value| visible(&value)))
    }

    /// The node above, if it is drawn.
    fn above(&self, node: &Node) -> Option<NodeRef> {
        let is_top = self.top.as_deref() == Some(node.node.id.as_str());
        node.parent.clone().filter(|_| !is_top).map(|parent| node.node.sibling(parent))
    }
}

impl Format for Graph {
    fn take(&mut self, record: &Record, to: &mut dyn Write) -> Result<(), FormatError> {
        self.begin(to)?;
        let Record::Node(node) = record else { return Ok(()) };
        let (lines, above) = (self.lines(node), self.above(node));
        match self.language {
            Language::Dot => {
                let label = lines.map(|line| escaped(&line)).collect::<Vec<_>>().join("\\n");
                writeln!(to, "  {} [label=\"{label}\"];", quoted(&node.node))?;
                above.map_or(Ok(()), |above| writeln!(to, "  {} -> {};", quoted(&above), quoted(&node.node)))?;
            }
            Language::Mermaid => {
                let label = lines.map(|line| entities(&line)).collect::<Vec<_>>().join("<br>");
                writeln!(to, "  {}[\"{label}\"]", spelt_name(&node.node))?;
                above
                    .map_or(Ok(()), |above| writeln!(to, "  {} --> {}", spelt_name(&above), spelt_name(&node.node)))?;
            }
        }
        Ok(())
    }

    fn end(&mut self, to: &mut dyn Write) -> Result<Ended, FormatError> {
        self.begin(to)?;
        if self.language == Language::Dot {
            writeln!(to, "}}")?;
        }
        Ok(Ended::default())
    }
}

/// A text on one line, with what can't be seen spelt out.
fn visible(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            control if control.is_control() => line.extend(control.escape_default()),
            other if is_unsafe(other) => line.extend(other.escape_unicode()),
            other => line.push(other),
        }
    }
    line
}

/// Returns the quoted name of a node. Only quotes are escaped; a backslash becomes two, apart from one before a quote.
fn quoted(node: &NodeRef) -> String {
    let mut name = String::from("\"");
    for part in [node.tenant.as_ref().map(|tenant| format!("{}#", tenant.as_str())), Some(node.id.to_string())] {
        for character in part.iter().flat_map(|part| part.chars()) {
            match character {
                '"' => name.push_str("\\\""),
                '\\' => name.push_str("\\\\"),
                control if control.is_control() => name.extend(control.escape_default()),
                other => name.push(other),
            }
        }
    }
    name.push('"');
    name
}

/// A line of a label, where a backslash begins an escape, and an ampersand an entity of HTML.
fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}

/// Returns the unique name of a node: letters, digits, and `_` before the bytes of others. It is never a keyword.
fn spelt_name(node: &NodeRef) -> String {
    let mut name = String::from("n_");
    if let Some(tenant) = &node.tenant {
        spell(tenant.as_str(), &mut name);
        name.push_str("_23");
    }
    spell(node.id.as_str(), &mut name);
    name
}

fn spell(text: &str, name: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            name.push(char::from(byte));
        } else {
            // Writing to a string doesn't fail.
            let _ = write!(name, "_{byte:02x}");
        }
    }
}

/// A line of a label. Whatever might mean something is an entity.
fn entities(line: &str) -> String {
    let mut label = String::with_capacity(line.len());
    for character in line.chars() {
        if character.is_alphanumeric() || " -_.,/=:".contains(character) {
            label.push(character);
        } else {
            let _ = write!(label, "#{};", u32::from(character));
        }
    }
    label
}
