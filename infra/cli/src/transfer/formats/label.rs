//! What a graph says of a node.

use sapwood_import::Node;

use crate::printable::is_unsafe;
use crate::tree::value_of;

/// The labels of a graph's nodes.
pub(super) struct Labels {
    /// The attributes that stand below the id.
    shown: Vec<String>,
    /// The id of the node whose parent isn't drawn: it is outside of what is exported.
    top: Option<String>,
}

impl Labels {
    pub(super) fn new(shown: Vec<String>, top: Option<String>) -> Self {
        Self { shown, top }
    }

    /// The lines of a node's label.
    pub(super) fn lines(&self, node: &Node) -> Vec<String> {
        let attributes = &node.attributes.0;
        let values = self.shown.iter().filter_map(|name| Some(format!("{name}={}", value_of(attributes.get(name)?))));
        std::iter::once(visible(node.node.id.as_str())).chain(values.map(|value| visible(&value))).collect()
    }

    /// The node above, if it is drawn.
    pub(super) fn above(&self, node: &Node) -> Option<sapwood_core::keys::NodeRef> {
        let is_top = self.top.as_deref() == Some(node.node.id.as_str());
        node.parent.clone().filter(|_| !is_top).map(|parent| node.node.sibling(parent))
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
