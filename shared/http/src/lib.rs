//! What both HTTP functions share: the contract, problems, paths, callers, headers, bodies, and how a router is served.
//!
//! A function makes an `axum::Router` and hands it to [`serve`], which does all that isn't the function's own: it puts paths
//! right before they are routed, says who calls, answers what no route answers, compresses, and logs. The same service
//! runs under Lambda and on a local port, so that both answer alike.

pub mod body;
pub mod call;
pub mod caller;
pub mod contract;
pub mod cursor;
pub mod headers;
pub mod json;
pub mod parameters;
pub mod path;
pub mod problem;
pub mod serve;
pub mod state;
