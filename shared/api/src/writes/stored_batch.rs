//! The results of a batch, kept for repeated requests. Each request's answer is made as its client prefers.

use sapwood_engine::query::Derived;
use serde::{Deserialize, Serialize};

use crate::contract::{BatchBody, BatchResult, NodeBody, OperationBody, ProblemBody, RevisionBody};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredBatch {
    results: Vec<One>,
    derived: Vec<Derived>,
}

/// A result as it is kept. It has one of the bodies, or none.
#[derive(Serialize, Deserialize)]
struct One {
    status: u16,
    node: Option<NodeBody>,
    revision: Option<RevisionBody>,
    operation: Option<OperationBody>,
    problem: Option<ProblemBody>,
    location: Option<String>,
    etag: Option<String>,
    #[serde(default)]
    written: Option<String>,
}

impl StoredBatch {
    /// Operations are in the results. An older release can't wait for them, nor for what is below a moved node.
    pub(super) fn new(results: &[BatchResult], derived: &[Derived]) -> Self {
        let derived = derived.iter().filter(|derived| !matches!(derived, Derived::Operation(..))).cloned();
        Self { results: results.iter().map(One::new).collect(), derived: derived.map(Derived::kept).collect() }
    }

    pub(super) fn into_parts(self) -> (Vec<BatchResult>, Vec<Derived>) {
        let operations = self.results.iter().filter_map(|one| one.operation.as_ref());
        let operations = operations.map(|body| Derived::Operation(body.id.clone(), body.node.clone()));
        let derived = self.derived.into_iter().chain(operations).collect();
        (self.results.into_iter().map(One::result).collect(), derived)
    }
}

impl One {
    fn new(result: &BatchResult) -> Self {
        let BatchResult { status, body, problem, location, etag, written } = result.clone();
        let (mut node, mut revision, mut operation) = (None, None, None);
        match body {
            Some(BatchBody::Node(body)) => node = Some(body),
            Some(BatchBody::Revision(body)) => revision = Some(body),
            Some(BatchBody::Operation(body)) => operation = Some(body),
            None => {}
        }
        Self { status, node, revision, operation, problem, location, etag, written }
    }

    fn result(self) -> BatchResult {
        let Self { status, node, revision, operation, problem, location, etag, written } = self;
        let body = node.map(BatchBody::Node);
        let body = body.or(revision.map(BatchBody::Revision)).or(operation.map(BatchBody::Operation));
        BatchResult { status, body, problem, location, etag, written }
    }
}
