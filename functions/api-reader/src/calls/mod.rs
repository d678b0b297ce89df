//! The calls of the contract.

mod below;
mod history;
mod node;
mod papers;
mod paths;
mod tree;

pub(crate) use below::{Children, Count, Descendants, Roots};
pub(crate) use history::{LatestOfAll, LatestOfOne, RevisionOfOne, Revisions, Topic};
pub(crate) use node::{Ancestors, FanoutOf, Node};
pub(crate) use papers::{docs, document, health};
pub(crate) use paths::{Paths, PathsOfRoot};
pub(crate) use tree::Tree;
