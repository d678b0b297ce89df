//! The reads of the HTTP API, and their cursors.
//!
//! A [`Reader`] answers one request. Lists come in pages. A page ends at its [`Bounds`] or where a page of DynamoDB's
//! ends, and names the [position](Page::next) to continue after, which `sapwood-api` seals for a client. A position is
//! named only if something follows, so that a client gets an empty page only if the rest was deleted meanwhile.
//!
//! Lists are made of derived rows. Rows that can't be read, because another program wrote them, are skipped. What a
//! node [inherits](Reader::inherited) is read from base records.

mod ancestors;
mod below;
mod changes;
mod derived;
mod descendants;
mod error;
mod fields;
mod filter;
mod inherit;
mod links;
mod node;
mod operations;
mod page;
mod page_size;
mod path;
mod repeated;
mod revisions;
mod siblings;
mod sorted;
mod status;
mod topic;
mod totals;
mod trash;
mod tree;

pub use ancestors::Ancestor;
pub use below::Below;
pub use changes::{CHANGES_MAX, Change, ChangesPage, Followed};
pub use derived::{Derived, Watch};
pub use descendants::{Counted, Descendant, Window};
pub use error::ReadError;
pub use fields::{FIELD_BYTES_MAX, FIELDS_MAX, Fields};
pub use filter::{CONDITION_CHARACTERS_MAX, CONDITIONS_MAX, Filter};
pub use inherit::{Above, Granted, Granting, Inherited};
pub use links::{Link, Linking};
pub use node::{Record, Stamps};
pub use page::{Bounds, ListOptions, Page};
pub use path::{AtPath, Within};
pub use revisions::{Order, Revision};
pub use sapwood_core::inherit::{ChainEnd, Grant, InheritedValue, Mode};
pub use sapwood_core::write::{Incomplete, Operation, Progress, Work};
pub use siblings::{Parent, SiblingList, Siblings, Values};
pub use sorted::{SIBLINGS_MAX, Sorting};
pub use status::Status;
pub use totals::{Totals, totals_of_nodes};
pub use trash::InTrash;
pub use tree::Tree;

use sapwood_core::audit::{AuditorState, Kept};
use sapwood_core::model::Settings;
use sapwood_store::{Client, ReadOptions, RetryPolicy, Table};

/// Reads nodes, lists and revisions for one request.
#[derive(Debug)]
pub struct Reader<'a, T, P> {
    client: &'a Client<'a, T, P>,
    settings: &'a Settings,
}

impl<'a, T: Table, P: RetryPolicy> Reader<'a, T, P> {
    /// Makes a reader of a table with these settings.
    #[must_use]
    pub fn new(client: &'a Client<'a, T, P>, settings: &'a Settings) -> Self {
        Self { client, settings }
    }
    /// Reads how far the auditor has come, at this time in seconds since 1970.
    ///
    /// # Errors
    /// [`ReadError::Absent`] where no auditor has run, [`ReadError::NewerAudit`], and [`ReadError::Table`].
    pub async fn audit(&self, now: u64) -> Result<Kept, ReadError> {
        let absent = ReadError::Absent { what: "audit: no auditor has run".to_owned() };
        let found = self.client.get(&self.client.schema().audit_key(), &ReadOptions::default()).await?;
        // How long suspects settle is the auditor's business.
        AuditorState::read(&found.ok_or(absent)?, None, now)
            .map_err(|newer| ReadError::NewerAudit { format: newer.format })
    }
}
