//! Mermaid's flowchart, which GitHub and many wikis draw.
//!
//! ```text
//! flowchart LR
//!   n_D["D"]
//!   n_V["V"]
//!   n_D --> n_V
//! ```

use std::fmt::Write as _;
use std::io::Write;

use sapwood_core::keys::NodeRef;
use sapwood_import::Record;

use super::label::Labels;
use super::{Ended, Format, FormatError};

/// A flowchart of nodes.
pub(super) struct Mermaid {
    labels: Labels,
    has_begun: bool,
}

impl Mermaid {
    pub(super) fn new(labels: Labels) -> Self {
        Self { labels, has_begun: false }
    }

    fn begin(&mut self, to: &mut dyn Write) -> Result<(), FormatError> {
        if !std::mem::replace(&mut self.has_begun, true) {
            writeln!(to, "flowchart LR")?;
        }
        Ok(())
    }
}

impl Format for Mermaid {
    fn take(&mut self, record: &Record, to: &mut dyn Write) -> Result<(), FormatError> {
        self.begin(to)?;
        let Record::Node(node) = record else { return Ok(()) };
        let lines: Vec<String> = self.labels.lines(node).iter().map(|line| label(line)).collect();
        writeln!(to, "  {}[\"{}\"]", name(&node.node), lines.join("<br>"))?;
        if let Some(above) = self.labels.above(node) {
            writeln!(to, "  {} --> {}", name(&above), name(&node.node))?;
        }
        Ok(())
    }

    fn end(&mut self, to: &mut dyn Write) -> Result<Ended, FormatError> {
        self.begin(to)?;
        Ok(Ended::default())
    }
}

/// Returns the unique name of a node: letters, digits, and `_` before the bytes of others. It is never a keyword.
fn name(node: &NodeRef) -> String {
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
fn label(line: &str) -> String {
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
