//! Requests to a DynamoDB table and their answers, as values: what a plan asks for and what `sapwood-dynamodb` sends.

mod condition;
mod error;
mod read;
mod transaction;
mod write;

pub use condition::Condition;
pub use error::{ErrorKind, TableError};
pub use read::{Page, Query, ReadOptions, Scan, Scanned};
pub use transaction::{Action, TRANSACTION_ACTIONS_MAX, Transacted};
pub use write::{Update, Write};
