//! What a pattern can be asked. Each is an implementation of its own, in [`crate::patterns`].

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::client::Client;
use crate::meter::Spent;
use crate::patterns::versions;
use crate::workload::Node;

/// More levels than any tree here has.
pub const ALL: usize = 98;

/// A way to keep trees. It writes and reads as a client that knows nothing but the ids it is given.
#[allow(async_fn_in_trait, reason = "every caller knows the pattern, and awaits it in its own task")]
pub trait Pattern: Sized {
    /// Its name in the tables.
    const NAME: &'static str;

    /// Starts an engine of its own, with empty tables.
    async fn start() -> Self;

    /// Writes many nodes. The importer has the whole file in memory, and writes in the file's order.
    async fn import(&self, nodes: &[Node]);

    /// Creates a node. Its parent is there.
    async fn create(&self, node: &Node);

    /// Gives a node another name.
    async fn rename(&self, id: &str, name: &str);

    /// Moves a node, and what is below it, below another.
    async fn relocate(&self, id: &str, parent: &str);

    /// Deletes a node and what is below it.
    async fn delete(&self, id: &str);

    /// The nodes so many levels below a node: the name of each by its id. `1..=1` asks for its children.
    async fn below(&self, id: &str, levels: RangeInclusive<usize>) -> BTreeMap<String, String>;

    /// So many of the nodes below a node.
    async fn page(&self, id: &str, size: usize) -> BTreeMap<String, String>;

    /// The ids of a node's ancestors, nearest first.
    async fn ancestors(&self, id: &str) -> Vec<String>;

    /// Adds a revision to a topic of a node.
    async fn revise(&self, id: &str, topic: &str, text: &str) {
        versions::revise(self.client(), id, topic, text).await;
    }

    /// The text of a topic's newest revision.
    async fn newest(&self, id: &str, topic: &str) -> Option<String> {
        versions::newest(self.client(), id, topic).await
    }

    /// Waits until all is done that follows from the writes.
    async fn settle(&self) {}

    /// The client, which counts, and has the engine.
    fn client(&self) -> &Client;

    /// Takes what was spent behind the client's back since this was last called.
    fn take_behind(&self) -> Spent {
        Spent::default()
    }

    /// Stops what runs.
    async fn stop(self) {}
}
