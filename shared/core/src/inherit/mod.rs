//! What a node has from the nodes above it: [values](fn@inherited), and [grants](fn@grants). Rows aren't asked: the
//! base records themselves say who is above whom ([`read_chain`]).

mod chain;
mod grants;
#[cfg(test)]
mod tests;
mod values;

pub use chain::{Chain, ChainEnd, read_chain};
pub use grants::{Grant, granted_to, grants};
pub use values::{InheritedValue, Mode, inherited, own_values};
