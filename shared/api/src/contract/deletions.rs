//! What happens to children and revisions of a node that is deleted, and the operations that the stream carries out.

use sapwood_core::keys::Id;
use sapwood_core::model::DeletionMode;
use sapwood_core::write::{Incomplete, Operation, Progress, Work};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::fields::{answers, words};

/// What happens to the children of a node that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Children {
    /// The node isn't deleted if it has children.
    #[default]
    Restrict,
    /// The children are deleted as well, with all their descendants.
    Delete,
    /// The children move to the node's parent. The children of a root become roots.
    Adopt,
    /// The children become roots.
    Detach,
}

impl Children {
    /// The stream's work with the children; `None` if there must be none.
    #[must_use]
    pub fn mode(self) -> Option<DeletionMode> {
        match self {
            Self::Restrict => None,
            Self::Delete => Some(DeletionMode::Delete),
            Self::Adopt => Some(DeletionMode::Adopt),
            Self::Detach => Some(DeletionMode::Detach),
        }
    }
}

/// What happens to the revisions of a node that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Revisions {
    /// The revisions stay.
    #[default]
    Keep,
    /// The revisions are deleted as well.
    Delete,
}

words!(Children: "`restrict`, `delete`, `adopt` or `detach`" {
    "restrict" = Restrict,
    "delete" = Delete,
    "adopt" = Adopt,
    "detach" = Detach,
});
words!(Revisions: "`keep` or `delete`" { "keep" = Keep, "delete" = Delete });

/// What the stream does: it copies the node, or deletes it and does this with its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperationMode {
    /// The children are deleted as well, with all their descendants.
    Delete,
    /// The children move to the node's parent.
    Adopt,
    /// The children become roots.
    Detach,
    /// The node is copied, with all that is below it.
    Copy,
}

impl From<DeletionMode> for OperationMode {
    fn from(mode: DeletionMode) -> Self {
        match mode {
            DeletionMode::Delete => Self::Delete,
            DeletionMode::Adopt => Self::Adopt,
            DeletionMode::Detach => Self::Detach,
        }
    }
}

/// The most operations that `GET /operations` lists on a page: how far each is takes up to four requests.
pub const OPERATIONS_LISTED_MAX: usize = 100;

/// The number of operations if a client asks for none.
pub const OPERATIONS_LISTED_DEFAULT: usize = 25;

answers! {
/// A deletion or a copy that the stream carries out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
OperationBody {
    /// The operation's id.
    #[schema(examples("4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52"))]
    id: String,
    /// The operation's progress.
    status: OperationStatus,
    /// What is done.
    mode: OperationMode,
    /// The node that is deleted, or the one at the top of the copy.
    #[schema(examples("CUSTOMER#7"))]
    node: String,
    /// Of a copy: the node that is copied.
    #[schema(examples("CUSTOMER#1"))]
    source?: String,
    /// Of a copy: how many nodes are copied, the one at the top included. It is final when the status is.
    copied?: usize,
    /// Of a copy: how many of them have another name than what they are copies of, such as `name (2)`, since a sibling
    /// had that (`UniqueNames`). Absent if none have.
    renamed?: usize,
    /// Why a copy is `incomplete`.
    reason?: IncompleteReason,
    /// Of a copy: how many nodes the table has refused, because their copies are too large. What is below them isn't
    /// copied either, and isn't counted. Absent if there are none.
    left_out?: usize,
    /// The time of the request.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    created_at: String,
}
}

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperationStatus {
    /// Some nodes still have to be deleted, moved or copied, or rows of copies are missing.
    Running,
    /// The operation is complete. What is copied is in the lists.
    Done,
    /// The copy has ended, and there is more to copy than was copied. What is copied is in the lists.
    Incomplete,
}

/// Why a copy has ended before it was whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IncompleteReason {
    /// What is copied was deleted.
    SourceGone,
    /// It has more nodes than one copy may have: 10,000.
    LimitReached,
    /// The table has refused copies, because they are too large.
    CopiesRefused,
    /// The node at the top of the copy was deleted, or another client has put a record in its place.
    CopyGone,
}

impl OperationStatus {
    /// Each value with its word in a query string.
    pub const WORDS: [(&'static str, Self); 3] =
        [("running", Self::Running), ("done", Self::Done), ("incomplete", Self::Incomplete)];
}

impl From<Progress> for OperationStatus {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Running => Self::Running,
            Progress::Done => Self::Done,
            Progress::Incomplete(_) => Self::Incomplete,
        }
    }
}

impl OperationBody {
    /// The body of an operation that has just begun. A copy, which has a source, has its top already.
    #[must_use]
    pub fn begun(id: &str, mode: OperationMode, node: &Id, source: Option<&Id>, created_at: &str) -> Self {
        Self {
            id: id.to_owned(),
            status: OperationStatus::Running,
            mode,
            node: node.as_str().to_owned(),
            source: source.map(|source| source.as_str().to_owned()),
            copied: source.map(|_| 1),
            renamed: None,
            reason: None,
            left_out: None,
            created_at: created_at.to_owned(),
        }
    }

    /// The body of an operation.
    #[must_use]
    pub fn of(id: String, operation: Operation) -> Self {
        let some = |count: usize| (count > 0).then_some(count);
        let (mode, source, counts) = match &operation.work {
            Work::Deletion { mode, .. } => ((*mode).into(), None, [None; 3]),
            Work::Copy { source, copied, renamed, left_out } => {
                let counts = [Some(*copied), some(*renamed), some(*left_out)];
                (OperationMode::Copy, Some(source.as_str().to_owned()), counts)
            }
        };
        let reason = match operation.progress {
            Progress::Running | Progress::Done => None,
            Progress::Incomplete(Incomplete::SourceGone) => Some(IncompleteReason::SourceGone),
            Progress::Incomplete(Incomplete::LimitReached) => Some(IncompleteReason::LimitReached),
            Progress::Incomplete(Incomplete::CopiesRefused) => Some(IncompleteReason::CopiesRefused),
            Progress::Incomplete(Incomplete::CopyGone) => Some(IncompleteReason::CopyGone),
        };
        let [copied, renamed, left_out] = counts;
        let (status, node) = (operation.progress.into(), operation.node.as_str().to_owned());
        Self { id, status, mode, node, source, copied, renamed, reason, left_out, created_at: operation.created_at }
    }
}
