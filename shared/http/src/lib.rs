//! The parts that both HTTP functions share: the contract, problems, paths, callers, headers, bodies, and serving.
//!
//! A function makes an `axum::Router` of its calls ([`call::router`]) and hands it to [`serve`]. `serve` normalises
//! paths before they are routed, identifies the caller, answers requests that no route answers, compresses and logs.
//! The same service runs under Lambda and on a local port, so both answer alike.

pub mod body;
pub mod call;
pub mod caller;
pub mod contract;
pub mod cursor;
pub mod headers;
pub mod parameters;
pub mod path;
pub mod problem;
pub mod serve;
pub mod state;
pub mod wait;
