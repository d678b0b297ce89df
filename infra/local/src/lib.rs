//! DynamoDB and Lambda's event source mapping on one machine, as a SAM template configures them.
//!
//! - [`template`] reads the template.
//! - [`engine`] runs an embedded DynamoDB on a loopback address.
//! - [`endpoint`] creates the table there, or on any other endpoint.
//! - [`mapping`] reads the table's stream, drops the records that [`filter`] rejects, and invokes a
//!   [`mapping::Function`] in this process, with Lambda's rules for order, batches, failures and retries.
//! - [`sdk_error`] says what failed calls of the SDK mean, and [`stream`] how a shard is read.
//!
//! ```no_run
//! # async fn run(text: &str, function: impl sapwood_local::mapping::Function) -> Result<(), Box<dyn std::error::Error>> {
//! use sapwood_local::{endpoint::Endpoint, engine::{Data, Engine}, mapping, template::Template};
//!
//! let template = Template::parse(text)?;
//! let engine = Engine::start("127.0.0.1:0".parse()?, &Data::Memory)?;
//! let endpoint = Endpoint::new(engine.url());
//! let stream = endpoint.ensure_table("things", &template.table).await?;
//! let settings = mapping::Settings::new(&endpoint, &stream, &template);
//! let mapping = mapping::Mapping::start(settings, function)?;
//! mapping.settled().await?;
//! mapping.stop().await?;
//! engine.stop().await?;
//! # Ok(()) }
//! ```
#![allow(clippy::disallowed_methods, reason = "this crate stands in for AWS, so it needs clocks and timers")]

pub mod endpoint;
pub mod engine;
pub mod filter;
pub mod mapping;
pub mod sdk_error;
pub mod stream;
pub mod template;

mod record;
#[cfg(test)]
mod tests;
