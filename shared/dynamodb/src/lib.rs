//! DynamoDB itself, as a table of [`sapwood_store`]. No other crate that the functions are made of names its SDK.

mod connection;
mod errors;
mod expressions;
mod requests;
mod table;
mod values;

pub use connection::{Connection, lacks_credentials};
pub use table::{DynamoTable, place_of};
