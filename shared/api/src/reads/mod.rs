//! The calls that read: nodes, trees, paths, histories.

mod audit;
mod call;
mod descendants;
mod history;
mod inherit;
mod links;
mod list;
mod node;
mod operations;
mod paths;
mod routes;
mod static_files;
mod tree;

pub use call::{Shared, State};
pub use routes::router;
