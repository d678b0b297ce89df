//! What a run is made of, apart from its seed.

use sapwood_core::plan::{Rule, Rules};

/// A kind of run.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Which rule of the protocol is broken, if one is.
    pub broken: Option<Rule>,
    /// Whether a touch's record counts as of another item than the base record it touches: the protocol that keeps
    /// touches in an item of their own.
    pub touches_apart: bool,
    /// What is written.
    pub writers: Writers,
    /// Most base writes.
    pub writes_max: usize,
    /// Most calls that fail, of one run.
    pub failures_max: usize,
    /// Most invocations that die, of one run.
    pub crashes_max: usize,
    /// Most records that are delivered once more long after, of one run.
    pub late_max: usize,
    /// Most scheduler steps before a run counts as never coming to rest.
    pub steps_max: usize,
}

/// What is written in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Anything.
    Any,
    /// Nodes only: no revisions.
    Nodes,
    /// Moves between parents that themselves move.
    Moves,
    /// A parent moved there and back while its child is written, with many calls failing.
    Flips,
    /// Revisions only.
    Revisions,
    /// Nodes moved between parents that stay where they are, with a reader looking at the common ancestor at each
    /// step.
    Readers,
    /// Nodes removed with their children deleted, adopted or detached, while others are created below and moved: all by
    /// the API's own writes.
    Deletions,
    /// The same, with other clients among them.
    MixedDeletions,
    /// A node removed whose children are adopted, while the one to adopt them is moved below them.
    Adoptions,
    /// Nodes removed with their revisions, and put again or spared by other clients meanwhile.
    Returns,
}

impl Writers {
    /// Whether nobody but the API writes.
    pub(super) fn are_the_api(self) -> bool {
        matches!(self, Self::Deletions | Self::Adoptions)
    }

    pub(super) fn removes(self) -> bool {
        matches!(self, Self::Deletions | Self::MixedDeletions | Self::Adoptions | Self::Returns)
    }
}

impl Profile {
    /// Everything at once.
    #[must_use]
    pub fn new(writers: Writers) -> Self {
        Self {
            broken: None,
            touches_apart: false,
            writers,
            writes_max: 10,
            failures_max: 12,
            crashes_max: 3,
            late_max: 3,
            steps_max: 40_000,
        }
    }

    /// The same with a rule broken.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self { broken: Some(rule), ..self }
    }

    pub(super) fn rules(&self) -> Rules {
        self.broken.map_or_else(Rules::default, Rules::without)
    }
}
