//! The writes of the API, one by one: what they do, what they refuse, and how many requests and round trips they take.

mod deletions;
mod fixture;
mod idempotency;
mod moves;
mod nodes;
mod revisions;
