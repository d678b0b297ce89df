//! The calls of the contract.

mod audit;
mod descendants;
mod history;
mod inherit;
mod links;
mod node;
mod operations;
mod paths;
mod static_files;
mod totals;
mod trash;
mod tree;

pub(crate) use audit::Audit;
pub(crate) use descendants::{Children, Count, Descendants, Roots};
pub(crate) use history::{LatestOfAll, LatestOfOne, RevisionOfOne, Revisions, Topic};
pub(crate) use inherit::{Granted, Inherited};
pub(crate) use links::Links;
pub(crate) use node::{Ancestors, FanoutOf, Node, Nodes};
pub(crate) use operations::{OperationOf, Operations};
pub(crate) use paths::{Paths, PathsOfRoot};
pub(crate) use static_files::{docs, document, health, index};
pub(crate) use totals::Totals;
pub(crate) use trash::Trash;
pub(crate) use tree::Tree;

pub use descendants::descendant as descendant_body;
pub use history::{copy as latest_body, revision as revision_body};
pub use inherit::{granted as granted_body, inherited as inherited_body};
pub use links::link as link_body;
pub use trash::body as trash_body;
