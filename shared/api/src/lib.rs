//! The API: its operations, the types of its bodies, and its calls as values.
//!
//! A [`call`] is read from a request and answers it. The calls that read ask a
//! [`Reader`](sapwood_engine::query::Reader); the calls that write make a [`Command`](sapwood_core::write::Command),
//! which a [`Writer`](sapwood_engine::write::Writer) carries out. [`reads::router`] and [`writes::router`] make routers
//! of the calls. `sapwood-http` serves these under Lambda and on a port; this crate opens no connection. The command
//! line prints the same bodies.

pub mod body;
pub mod call;
pub mod caller;
pub mod contract;
pub mod cursor;
pub mod feed;
pub mod headers;
mod idempotency;
pub mod parameters;
pub mod path;
pub mod problem;
pub mod reads;
pub mod wait;
pub mod writes;
