//! The keys of the table. A [`Schema`] writes and reads all of them: no other module spells a separator, a prefix or a
//! sort key.

mod error;
mod id;
mod place;
mod ranges;
mod schema;
mod sort_key;
#[cfg(test)]
mod tests;
mod trash_time;
mod version;

pub use error::{KeyError, check_segment};
pub use id::{Id, ItemKey, NodeRef, Tenant};
pub use place::{ORDER_ATTRIBUTES_MAX, OrderValue, SiblingPlace, TEXT_BYTES_MAX};
pub use ranges::{OrderedList, SortRange};
pub use sapwood_keys::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
pub use schema::{Names, Schema};
pub(crate) use sort_key::{CASCADE, LINEAGE};
pub use sort_key::{EPOCH_MAX, LANES, NAME_BYTES_MAX, SortKey, path_segment_bytes};
pub use trash_time::TrashTime;
pub use version::Version;

/// Longest id of a node, in bytes: what a sort key of 1,024 bytes leaves after `NODE#0001#`.
pub const ID_BYTES_MAX: usize = 1_014;

/// Longest `segment` of a node, in bytes. It is the same as an id's, since a node without a segment uses its id.
pub const SEGMENT_BYTES_MAX: usize = ID_BYTES_MAX;

/// Deepest level that has rows. One transaction checks every edge of a move: DynamoDB takes at most 100 actions.
pub const DEPTH_MAX: usize = 98;
