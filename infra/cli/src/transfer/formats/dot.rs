//! Graphviz: `dot -Tsvg places.dot`.
//!
//! ```dot
//! digraph sapwood {
//!   "D" [label="D\nname=Drive D"];
//!   "V" [label="V"];
//!   "D" -> "V";
//! }
//! ```

use std::io::Write;

use sapwood_core::keys::NodeRef;
use sapwood_import::Record;

use super::label::Labels;
use super::{Ended, Format, FormatError};

/// A graph of nodes.
pub(super) struct Dot {
    labels: Labels,
    has_begun: bool,
}

impl Dot {
    pub(super) fn new(labels: Labels) -> Self {
        Self { labels, has_begun: false }
    }

    fn begin(&mut self, to: &mut dyn Write) -> Result<(), FormatError> {
        if !std::mem::replace(&mut self.has_begun, true) {
            writeln!(to, "digraph sapwood {{\n  rankdir=LR;\n  node [shape=box];")?;
        }
        Ok(())
    }
}

impl Format for Dot {
    fn take(&mut self, record: &Record, to: &mut dyn Write) -> Result<(), FormatError> {
        self.begin(to)?;
        let Record::Node(node) = record else { return Ok(()) };
        let lines: Vec<String> = self.labels.lines(node).iter().map(|line| label(line)).collect();
        writeln!(to, "  {} [label=\"{}\"];", name(&node.node), lines.join("\\n"))?;
        if let Some(above) = self.labels.above(node) {
            writeln!(to, "  {} -> {};", name(&above), name(&node.node))?;
        }
        Ok(())
    }

    fn end(&mut self, to: &mut dyn Write) -> Result<Ended, FormatError> {
        self.begin(to)?;
        writeln!(to, "}}")?;
        Ok(Ended::default())
    }
}

/// Returns the quoted name of a node. Only quotes are escaped; a backslash becomes two, apart from one before a quote.
fn name(node: &NodeRef) -> String {
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
fn label(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}
