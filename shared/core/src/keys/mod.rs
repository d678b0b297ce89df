//! The keys of the table, all of them made and read by one [`Schema`].
//!
//! Nothing outside this module spells a separator, a prefix or a sort key.

mod error;
mod id;
mod item_key;
mod schema;
mod sort_key;
#[cfg(test)]
mod tests;
mod version;

pub use error::{KeyError, check_segment};
pub use id::{Id, NodeRef, Tenant};
pub use item_key::ItemKey;
pub use sapwood_keys::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
pub use schema::{Names, Schema};
pub use sort_key::{SortKey, SortRange};
pub use version::Version;

/// Longest id of a node in bytes: what a sort key leaves after `NODE#0001#`.
pub const ID_BYTES_MAX: usize = 1_014;

/// Longest `segment` of a node in bytes, the same as an id's (which is the segment where none is given).
pub const SEGMENT_BYTES_MAX: usize = ID_BYTES_MAX;

/// Deepest level that has rows. A move is checked in one transaction of at most 100 actions, so trees end here.
pub const DEPTH_MAX: usize = 98;
