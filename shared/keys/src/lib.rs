//! Composite keys: several parts in one key attribute, `USER#123#ORDER#456`.
//!
//! A [`Format`] says how parts become a key: the separator, what happens to a
//! separator inside a part, and how long a key may be. It works on any texts.
//! [`composite_key!`](crate::composite_key) declares keys as structs, whose fields
//! are [`Part`]s: texts, zero-padded numbers ([`Padded`]), UTC times ([`Utc`]) and
//! dates, which keep their order as bytes.
//!
//! What to do, and why, follows the seed `composite-keys-pattern.txt`.
//!
//! ```
//! use sapwood_keys::composite_key;
//! use sapwood_keys::{CompositeKey, Format};
//!
//! let order = Format::SORT_KEY.build(&["USER", "123", "ORDER", "456"])?;
//! assert_eq!(order, "USER#123#ORDER#456");
//! assert_eq!(Format::SORT_KEY.prefix(&["USER", "123"])?, "USER#123#");
//!
//! composite_key! {
//!     /// Where a store is.
//!     #[derive(Debug, PartialEq)]
//!     pub struct StoreKey { country: String, state: String, city: String }
//! }
//! let omaha = StoreKey::parse("USA#NE#OMAHA")?;
//! assert_eq!(omaha.city, "OMAHA");
//! assert_eq!(omaha.build()?, "USA#NE#OMAHA");
//! assert_eq!(StoreKey::prefix(("USA", "NE"))?, "USA#NE#");
//! # Ok::<(), sapwood_keys::Error>(())
//! ```
//!
//! # What is promised
//! - **Both ways**: `parse` accepts exactly the keys that `build` makes, and gives back
//!   their parts. Parts may be empty; a key as a whole may not (DynamoDB refuses it).
//! - **Whole or not at all**: a key over its limit is an [`Error::TooLong`], never cut.
//! - **Prefixes match whole parts**: [`Format::prefix`] ends with the separator, so
//!   `NE#OMAHA#` never matches the sibling `NE#OMAHA2`.
//! - **Order**: DynamoDB sorts strings by their UTF-8 bytes (AWS, "Supported data types
//!   and naming rules in Amazon DynamoDB"). When that is the order of the parts is said
//!   at [`Format`].

mod error;
mod format;
mod number;
mod part;
mod time;
mod typed;

#[cfg(test)]
mod tests;

pub use error::{Error, Place};
pub use format::Format;
pub use number::Padded;
pub use part::{AsPart, Part};
pub use time::Utc;
pub use typed::{CompositeKey, Fields, Leading, Piece, Texts};

/// Longest partition key in bytes ([AWS: constraints][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
pub const PARTITION_KEY_BYTES_MAX: usize = 2_048;

/// Longest sort key in bytes ([AWS: constraints][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
pub const SORT_KEY_BYTES_MAX: usize = 1_024;
