//! What every pattern is asked to do: trees that come from numbers and seeds, and a model that knows the right answers.
//! It finds them in the naive way, and shares no code with a pattern.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::pattern::{ALL, Pattern};

/// A node as it is created. Besides, each has the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: String,
    /// The id of its parent; none for a root.
    pub parent: Option<String>,
    /// Its name. No two siblings have the same.
    pub name: String,
}

/// The text that each node has besides its name: 100 bytes.
pub const TEXT: &str =
    "A node's own text, of a hundred bytes, so that an item has about the size that items in a table have";

impl Node {
    /// Makes a node.
    #[must_use]
    pub fn new(id: impl Into<String>, parent: Option<&str>) -> Self {
        let id = id.into();
        Self { name: format!("name-of-{id}"), parent: parent.map(str::to_owned), id }
    }
}

/// A chain of so many nodes, the root first: `c0`, `c1` and so on.
#[must_use]
pub fn chain(prefix: &str, length: usize) -> Vec<Node> {
    let parent = |n: usize| n.checked_sub(1).map(|n| format!("{prefix}{n}"));
    (0..length).map(|n| Node::new(format!("{prefix}{n}"), parent(n).as_deref())).collect()
}

/// A tree of so many nodes, parents first: `t0` and so on, each with so many children. `t0` is below `top`, if there is
/// one.
#[must_use]
pub fn tree(prefix: &str, nodes: usize, breadth: usize, top: Option<&str>) -> Vec<Node> {
    let parent = |n: usize| match n.checked_sub(1) {
        Some(n) => Some(format!("{prefix}{}", n / breadth)),
        None => top.map(str::to_owned),
    };
    (0..nodes).map(|n| Node::new(format!("{prefix}{n}"), parent(n).as_deref())).collect()
}

/// The same nodes in an order drawn from the seed.
#[must_use]
pub fn shuffled(mut nodes: Vec<Node>, seed: u64) -> Vec<Node> {
    nodes.shuffle(&mut SmallRng::seed_from_u64(seed));
    nodes
}

/// The nodes by id.
#[derive(Clone, Debug, Default)]
pub struct Model(pub BTreeMap<String, Node>);

impl Model {
    /// A model of these nodes.
    #[must_use]
    pub fn of(nodes: &[Node]) -> Self {
        Self(nodes.iter().map(|node| (node.id.clone(), node.clone())).collect())
    }

    /// The ancestors of a node, nearest first.
    #[must_use]
    pub fn ancestors(&self, id: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut parent = self.0[id].parent.as_ref();
        while let Some(id) = parent {
            found.push(id.clone());
            parent = self.0[id].parent.as_ref();
        }
        found
    }

    /// The nodes so many levels below a node: the name of each by its id.
    #[must_use]
    pub fn below(&self, id: &str, levels: RangeInclusive<usize>) -> BTreeMap<String, String> {
        let is_below = |node: &&Node| {
            let level = self.ancestors(&node.id).iter().position(|ancestor| ancestor == id);
            level.is_some_and(|level| levels.contains(&(level + 1)))
        };
        self.0.values().filter(is_below).map(|node| (node.id.clone(), node.name.clone())).collect()
    }

    /// Gives a node another parent.
    pub fn relocate(&mut self, id: &str, parent: &str) {
        self.0.get_mut(id).unwrap().parent = Some(parent.to_owned());
    }

    /// Deletes a node and what is below it.
    pub fn delete(&mut self, id: &str) {
        for below in self.below(id, 1..=ALL).into_keys() {
            self.0.remove(&below);
        }
        self.0.remove(id);
    }

    /// The nodes about which a pattern gives a wrong answer: its ancestors, or what is below it.
    pub async fn wrong<P: Pattern>(&self, pattern: &P) -> Vec<String> {
        let mut wrong = Vec::new();
        for id in self.0.keys() {
            let is_right = pattern.ancestors(id).await == self.ancestors(id)
                && pattern.below(id, 1..=ALL).await == self.below(id, 1..=ALL);
            if !is_right {
                wrong.push(id.clone());
            }
        }
        wrong
    }
}

/// A change of a tree.
#[derive(Clone, Debug)]
pub enum Change {
    /// Creates a node.
    Create(Node),
    /// Gives a node another name.
    Rename(String, String),
    /// Moves a node, and what is below it, below another.
    Relocate(String, String),
    /// Deletes a node and what is below it.
    Delete(String),
}

impl Change {
    /// Draws a change that makes sense in the model, and makes it there. Roots neither move nor go.
    pub fn draw(model: &mut Model, chance: &mut SmallRng, number: usize) -> Self {
        let ids: Vec<String> = model.0.keys().cloned().collect();
        let any = |chance: &mut SmallRng| ids[chance.random_range(0..ids.len())].clone();
        let (id, other) = (any(chance), any(chance));
        let is_root = model.0[&id].parent.is_none();
        match chance.random_range(0..10) {
            0..=2 if !is_root && id != other && !model.ancestors(&other).contains(&id) => {
                model.relocate(&id, &other);
                Self::Relocate(id, other)
            }
            3..=4 => {
                let name = format!("renamed-{number}");
                model.0.get_mut(&id).unwrap().name.clone_from(&name);
                Self::Rename(id, name)
            }
            5 if !is_root => {
                model.delete(&id);
                Self::Delete(id)
            }
            _ => {
                let node = Node::new(format!("n{number}"), Some(&id));
                model.0.insert(node.id.clone(), node.clone());
                Self::Create(node)
            }
        }
    }

    /// Makes the change.
    pub async fn make<P: Pattern>(&self, pattern: &P) {
        match self {
            Self::Create(node) => pattern.create(node).await,
            Self::Rename(id, name) => pattern.rename(id, name).await,
            Self::Relocate(id, parent) => pattern.relocate(id, parent).await,
            Self::Delete(id) => pattern.delete(id).await,
        }
        pattern.settle().await;
    }
}
