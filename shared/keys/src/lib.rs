//! Composite keys: several parts in one key attribute, such as `USER#123#ORDER#456`.
//!
//! The crate is for any DynamoDB table: it knows nothing of the items in it, and depends on nothing else of Sapwood.
//! Its examples are those of the seed `composite-keys-pattern.txt`.
//!
//! A [`Format`] joins texts to a key: it says which separator stands between them, what happens to a separator inside a
//! part, and how long a key may be. [`composite_key!`] declares a kind of key as a struct, whose fields are [`Part`]s:
//! texts, zero-padded numbers ([`Padded`]), times in UTC ([`Utc`]) and dates.
//!
//! # Create and parse keys
//!
//! ```
//! use sapwood_keys::Format;
//!
//! let key = Format::SORT_KEY.build(&["USER", "123", "ORDER", "456"])?;
//! assert_eq!(key, "USER#123#ORDER#456");
//! assert_eq!(Format::PARTITION_KEY.entity("DOCUMENT", "doc-123")?, "DOCUMENT#doc-123");
//!
//! // `parse` is the inverse of `build`.
//! assert_eq!(Format::SORT_KEY.parse(&key)?, ["USER", "123", "ORDER", "456"]);
//! let [_, user, _, order] = Format::SORT_KEY.parse_exactly(&key)?;
//! assert_eq!((&*user, &*order), ("123", "456"));
//!
//! // A separator of your own. Declare a format once, so that the whole application uses the same.
//! const PIPES: Format = Format::SORT_KEY.separated_by("|");
//! assert_eq!(PIPES.build(&["A", "B", "C"])?, "A|B|C");
//! assert_eq!(PIPES.parse("A|B|C")?, ["A", "B", "C"]);
//! # Ok::<(), sapwood_keys::Error>(())
//! ```
//!
//! # Query by the first parts
//!
//! [`Format::prefix`] and [`Format::prefix_within`] make the value of `begins_with` in a Query's key condition. An
//! earlier part selects more than a later one, so the most selective part comes first.
//!
//! ```
//! use sapwood_keys::Format;
//!
//! // All orders of one day, of one month.
//! assert_eq!(Format::SORT_KEY.prefix(&["ORDER", "2024-12-01"])?, "ORDER#2024-12-01#");
//! assert_eq!(Format::SORT_KEY.prefix_within(&["ORDER", "2024-12"])?, "ORDER#2024-12");
//!
//! // Time series: all CPU metrics of a day.
//! assert_eq!(Format::SORT_KEY.prefix(&["2024", "12", "01", "CPU"])?, "2024#12#01#CPU#");
//!
//! // Tenants: all items of one user, in the tenant's partition.
//! assert_eq!(Format::PARTITION_KEY.build(&["TENANT", "acme"])?, "TENANT#acme");
//! assert_eq!(Format::SORT_KEY.prefix(&["USER", "alice"])?, "USER#alice#");
//!
//! // Categories: all laptops, all computers.
//! assert_eq!(Format::SORT_KEY.prefix(&["ELECTRONICS", "COMPUTERS", "LAPTOPS"])?, "ELECTRONICS#COMPUTERS#LAPTOPS#");
//! assert_eq!(Format::SORT_KEY.prefix(&["ELECTRONICS", "COMPUTERS"])?, "ELECTRONICS#COMPUTERS#");
//! # Ok::<(), sapwood_keys::Error>(())
//! ```
//!
//! # Declare a kind of key
//!
//! This is for the keys of your own table; those of Sapwood's are made by `sapwood_core::keys::Schema`. A declared key
//! documents the pattern, checks its parts, and makes the prefixes of its access patterns:
//!
//! ```
//! use sapwood_keys::{CompositeKey, composite_key};
//!
//! composite_key! {
//!     /// `USER#<user>#ORDER#<date>#<order>`: the orders of a user by date.
//!     #[derive(Debug, PartialEq)]
//!     pub struct OrderKey { "USER", user: String, "ORDER", date: jiff::civil::Date, order: String }
//! }
//!
//! let key = OrderKey { user: "123".into(), date: "2024-12-01".parse()?, order: "456".into() };
//! assert_eq!(key.build()?, "USER#123#ORDER#2024-12-01#456");
//! assert_eq!(OrderKey::parse("USER#123#ORDER#2024-12-01#456")?, key);
//! assert_eq!(OrderKey::prefix(("123",))?, "USER#123#ORDER#");
//! assert_eq!(OrderKey::prefix_within(("123",), "2024-12")?, "USER#123#ORDER#2024-12");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Refuse or escape separators
//!
//! A part with a separator in it would come apart elsewhere. A format refuses it, or escapes it:
//!
//! ```
//! use sapwood_keys::{Error, Format};
//!
//! let refused = Format::SORT_KEY.build(&["USER", "12#3"]);
//! assert!(matches!(refused, Err(Error::Separator { .. })));
//! assert_eq!(Format::SORT_KEY.escaping().build(&["USER", "12#3"])?, "USER#12%233");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Guarantees
//! - **`parse` inverts `build`**: it accepts exactly the keys that `build` makes, and returns their parts. Parts may be
//!   empty; a whole key may not, since DynamoDB refuses it.
//! - **A key is whole**: a key over its limit is an [`Error::TooLong`]. It is never cut, because two keys could become
//!   one.
//! - **Prefixes match whole parts**: [`Format::prefix`] ends with the separator, so `NE#OMAHA#` never matches the
//!   sibling `NE#OMAHA2`.
//! - **Order**: DynamoDB sorts strings by their UTF-8 bytes (AWS, "Supported data types and naming rules in Amazon
//!   DynamoDB"). [`Format`](Format#order) says when that is the order of the parts.

mod decimal;
mod error;
mod format;
mod number;
mod part;
mod time;
mod typed;

#[cfg(test)]
mod tests;

pub use decimal::{Decimal, NumberFault};
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
