//! Keys: composite keys in general ([`composite`]), and the table's own, all of them made by one [`Schema`].
//!
//! Nothing outside this module spells a separator, a prefix or a sort key.

pub mod composite;
mod error;
mod id;
mod item_key;
mod schema;
mod sort_key;
#[cfg(test)]
mod tests;
mod version;

pub use error::KeyError;
pub use id::{Id, NodeRef, Tenant};
pub use item_key::ItemKey;
pub use schema::{Names, Schema};
pub use sort_key::{SortKey, SortRange};
pub use version::Version;

/// Longest partition key in bytes ([AWS: constraints][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
pub const PARTITION_KEY_BYTES_MAX: usize = 2_048;

/// Longest sort key in bytes ([AWS: constraints][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
pub const SORT_KEY_BYTES_MAX: usize = 1_024;

/// Longest id of a node in bytes: what a sort key leaves after `NODE#0001#`.
pub const ID_BYTES_MAX: usize = 1_014;

/// Longest `segment` of a node in bytes, the same as an id's (which is the segment where none is given).
pub const SEGMENT_BYTES_MAX: usize = ID_BYTES_MAX;

/// Deepest level that has rows. A move is checked in one transaction of at most 100 actions, so trees end here.
pub const DEPTH_MAX: usize = 98;
