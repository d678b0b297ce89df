//! The contract: the operations of the API, the types of their bodies, and the OpenAPI document that is made of both.
//!
//! [`sapwood_json::read`] reads the bodies of requests. It refuses unknown fields, and names the place of a
//! mistake. The bodies of answers are made of items of the table.

mod attributes;
mod audit;
mod batch;
mod changes;
mod deletions;
mod fields;
mod inherit;
mod nodes;
mod openapi;
mod operations;
mod position;
mod reads;
mod revisions;
mod status;
#[cfg(test)]
mod tests;
mod tree;

pub use crate::problem::ProblemBody;
pub use audit::{AuditBody, PassBody};
pub use batch::{Batch, BatchBody, BatchOperation, BatchResult, BatchResults, OPERATIONS_MAX};
pub use changes::{ChangeBody, ChangesBody};
pub use deletions::{
    Children, OPERATIONS_LISTED_DEFAULT, OPERATIONS_LISTED_MAX, OperationBody, OperationMode, OperationStatus,
    Revisions,
};
pub use inherit::{GrantedBody, InheritedBody, PRINCIPALS_MAX};
pub use nodes::{CopyNode, CreateNode, IDS_MAX, NodeBody, NodesBody, PatchNode, ReplaceNode, RestoreNode, TrashedBody};
pub use openapi::{docs_html, docs_policy, openapi};
pub use operations::{Function, Operation, ReaderCall, WriterCall, operations};
pub(crate) use reads::NodeView;
pub use reads::{
    AncestorBody, BelowBody, CountBody, DescendantBody, LatestBody, LinkBody, PageBody, PathBody, PropagationBody,
    RootBody, TotalsBody, TrashBody, WRITTEN_BYTES_MAX, WRITTEN_MAX,
};
pub use revisions::{AppendedBody, CreateRevision, NewRevision, RevisionBody, TOPIC_BYTES_MAX, check_topic};
pub use status::{HealthBody, HealthStatus, IndexBody};
pub use tree::{TreeBody, TreeNode};
