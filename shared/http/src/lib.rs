//! What both HTTP functions share.

pub mod contract;
pub mod json;
