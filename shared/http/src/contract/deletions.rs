//! Deletions: what becomes of children and revisions, and the operations that the stream carries out.

use sapwood_core::model::DeletionMode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::json::{self, FromJson, JsonError, Place};

/// What becomes of the children of a node that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Children {
    /// A node with children isn't deleted.
    #[default]
    Restrict,
    /// They are deleted as well, and all that is below them.
    Delete,
    /// They go to the node's parent; those of a root become roots.
    Adopt,
    /// They become roots.
    Detach,
}

impl Children {
    /// Each with its word, as a parameter of a query takes it.
    pub const WORDS: [(&'static str, Self); 4] =
        [("restrict", Self::Restrict), ("delete", Self::Delete), ("adopt", Self::Adopt), ("detach", Self::Detach)];

    /// What the stream is to do with them; nothing where there must be none.
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

/// What becomes of the revisions of a node that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Revisions {
    /// They stay.
    #[default]
    Keep,
    /// They are deleted as well.
    Delete,
}

impl Revisions {
    /// Each with its word, as a parameter of a query takes it.
    pub const WORDS: [(&'static str, Self); 2] = [("keep", Self::Keep), ("delete", Self::Delete)];
}

impl FromJson for Children {
    const WANTED: &'static str = "`restrict`, `delete`, `adopt` or `detach`";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        word(raw, at, &Self::WORDS, Self::WANTED)
    }
}

impl FromJson for Revisions {
    const WANTED: &'static str = "`keep` or `delete`";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        word(raw, at, &Self::WORDS, Self::WANTED)
    }
}

fn word<T: Copy>(
    raw: &RawValue,
    at: &Place<'_>,
    words: &[(&'static str, T)],
    wanted: &'static str,
) -> Result<T, JsonError> {
    let said = json::text(raw, at)?;
    let found = words.iter().find(|(word, _)| *word == said);
    found.map(|(_, value)| *value).ok_or_else(|| JsonError::Type { path: at.to_string(), wanted })
}

/// What becomes of children where the stream removes a node: never `restrict`.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "its schema alone is used")]
enum RemovalMode {
    Delete,
    Adopt,
    Detach,
}

/// A removal that the stream carries out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperationBody {
    /// Its id.
    #[schema(examples("4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52"))]
    pub id: String,
    /// How far it is.
    pub status: OperationStatus,
    /// What becomes of the children.
    #[schema(value_type = RemovalMode)]
    pub mode: Children,
    /// The node that is removed.
    #[schema(examples("CUSTOMER#7"))]
    pub node: String,
    /// When it was asked for.
    #[schema(examples("2026-02-03T04:05:06.789Z"))]
    pub created_at: String,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperationStatus {
    /// Nodes are left to be removed or moved.
    Running,
    /// All is done.
    Done,
}
