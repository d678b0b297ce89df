//! The contract: what is sent and answered, as types, and the OpenAPI document that is made of them.
//!
//! Bodies of requests are read by [`json::read`](crate::json::read), which refuses unknown fields and says what is wrong
//! where. Bodies of answers are built of what was read from the table.

mod attributes;
mod batch;
mod deletions;
mod docs;
mod nodes;
mod openapi;
mod operations;
mod reads;
mod revisions;
mod status;
#[cfg(test)]
mod tests;

pub use crate::problem::ProblemBody;
pub use batch::{
    Batch, BatchBody, BatchOperation, BatchResult, BatchResults, DeleteOperation, OPERATIONS_MAX, PatchOperation,
    PutOperation, RevisionOperation,
};
pub use deletions::{Children, OperationBody, OperationStatus, Revisions};
pub use docs::docs_html;
pub use nodes::{CreateNode, NodeBody, PatchNode, ReplaceNode};
pub use openapi::openapi;
pub use operations::{Function, Operation, ReaderCall, WriterCall, operations};
pub use reads::{
    AncestorBody, CountBody, DescendantBody, FanoutBody, LatestBody, Page, PathBody, RootBody, TreeBody, TreeNode,
};
pub use revisions::{CreateRevision, RevisionBody, TOPIC_BYTES_MAX, check_topic};
pub use status::{HealthBody, HealthStatus};
