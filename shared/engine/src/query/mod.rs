//! The reads of the HTTP API, and their cursors.
//!
//! A [`Reader`] answers one request. Lists come in pages: a page ends where its [`Bounds`] or a page of DynamoDB's does, and
//! names the [position](Page::next) to go on after, which `sapwood-http` seals for a client. A position is named only where
//! something follows, so that no client ever gets an empty page for it, unless the rest was deleted meanwhile.
//!
//! Lists are what the derived rows say. Rows that can't be read (somebody else's, whatever they are) are passed over.

mod ancestors;
mod descendants;
mod error;
mod fields;
mod node;
mod page;
mod path;
mod revisions;
mod roots;
mod size_estimate;
mod status;
mod topic;
mod tree;

pub use ancestors::Ancestor;
pub use descendants::{Descendant, Window};
pub use error::ReadError;
pub use fields::Fields;
pub use node::Stamps;
pub use page::{Bounds, ListOptions, Page};
pub use path::{AtPath, Within};
pub use revisions::{Order, Revision};
pub use roots::Root;
pub use size_estimate::size_estimate;
pub use status::Status;
pub use tree::Tree;

use sapwood_core::model::Settings;
use sapwood_table::{Client, RetryPolicy, Table};

/// What reads: a client on a table, and how that is kept.
#[derive(Debug)]
pub struct Reader<'a, T, P> {
    client: &'a Client<'a, T, P>,
    settings: &'a Settings,
}

impl<'a, T: Table, P: RetryPolicy> Reader<'a, T, P> {
    /// A reader of this table.
    #[must_use]
    pub fn new(client: &'a Client<'a, T, P>, settings: &'a Settings) -> Self {
        Self { client, settings }
    }
}
