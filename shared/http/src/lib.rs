//! Serves the API: a router of [`sapwood_api`]'s calls, under Lambda and on a local port alike.
//!
//! [`serve`] normalises paths before they are routed, identifies the caller, answers requests that no route answers,
//! compresses and logs. [`config`] reads the functions' settings.

pub mod config;
pub mod serve;
