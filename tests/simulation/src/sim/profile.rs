//! The profile of a run: everything that makes the run except its seed.

use sapwood_core::plan::{Rule, Rules};

use super::drills::Drill;

/// A kind of run.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The rule of the protocol that is broken, if one is.
    pub broken: Option<Rule>,
    /// True if records of touches count as those of an item of their own. That is how a protocol would behave that
    /// keeps touches outside of base records.
    pub touches_apart: bool,
    /// What is written.
    pub writers: Writers,
    /// Most base writes of a run.
    pub writes_max: usize,
    /// The share of calls that fail, in percent. By default the seed chooses one.
    pub failure_percent: Option<u32>,
    /// Most calls of a run that fail.
    pub failures_max: usize,
    /// Most invocations of a run that die.
    pub crashes_max: usize,
    /// Most times in a run that records are delivered again long after they were handled.
    pub late_max: usize,
    /// True if a request of the handler that got no answer may be carried out later, until its record is delivered
    /// again.
    pub limbo: bool,
    /// True if reads may see a part of a transaction's writes before the others, until it is answered, or for a while
    /// if it isn't. DynamoDB's reads of several items are read-committed.
    pub torn: bool,
    /// True if one invocation goes on until it is the turn of another, by priorities that change now and then.
    /// Otherwise each step is anybody's.
    pub races: bool,
    /// Most outages of a run whose records are lost for the handler, until the operator redrives them.
    pub outages_max: usize,
    /// Most repairs of a run, while others write.
    pub repairs_max: usize,
    /// Most bytes of a BatchWriteItem of several items. More is answered with 413. By default no request has that much.
    pub request_bytes_max: usize,
    /// True if the table answers a request that is too large with an error that says nothing, as a client without
    /// halves takes it.
    pub silent_413: bool,
    /// True if the rows of each node are looked at before they are put, once its record comes first, as those of heavy
    /// nodes are.
    pub looks: bool,
    /// True if totals are kept of what is below each node.
    pub totals: bool,
    /// True if totals are switched on, off and changed, by handlers side by side, until all are begun anew at the end.
    pub switches_totals: bool,
    /// True if the feeds of trees are followed.
    pub follows: bool,
    /// True if feeds are switched on and off, beside handlers of the release before, and begin anew.
    pub switches_feeds: bool,
    /// Most scheduler steps of a run. After them the run counts as one that doesn't come to rest.
    pub steps_max: usize,
}

/// What is written in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Anything.
    Any,
    /// Nodes and no revisions.
    Nodes,
    /// Nodes of two tenants that have the same ids.
    Tenants,
    /// Moves and renames in a chain of nodes that is deeper than ancestors are counted, with segments too long for a
    /// key.
    Deep,
    /// Moves of nodes between parents that move as well.
    Moves,
    /// Moves of a parent there and back while its child is written and many calls fail.
    Flips,
    /// Revisions and no nodes.
    Revisions,
    /// Moves of nodes between parents that don't move, while a reader looks at the common ancestor after each step.
    Readers,
    /// Deletions of nodes, with their children deleted, adopted or detached, while other nodes are created below them
    /// and moved. The API's own writes do all of it.
    Deletions,
    /// Like `Deletions`, with other clients that write as well.
    MixedDeletions,
    /// The deletion of a node whose children are adopted, while the heir is moved below them.
    Adoptions,
    /// Deletions of nodes in a chain, mostly with their children adopted, while nodes are created in it, the deleted
    /// ones too.
    Heirs,
    /// A short sequence that is hard if its writes meet at the wrong moments.
    Drill(Drill),
    /// Deletions of nodes with their revisions, while other clients write the nodes or take the marks back.
    Returns,
    /// Requests of every kind on few nodes and one topic, many of which get no answer from the table.
    Answers,
    /// Like `MixedDeletions`, with nodes whose size on the wire isn't their size in the table, where limits are a
    /// hundredth of DynamoDB's.
    Heavy,
    /// Deletions and moves, by the API and by hand, of nodes whose copies are put back later, in any order.
    Copies,
    /// Nodes of few names below few parents, which no two siblings are to have: creations, renames, moves, the trash,
    /// deletions from above, and other clients.
    Names,
    /// Subtrees that are copied, while their nodes and the copies are moved, deleted and changed. The API's own writes
    /// do all of it.
    Subtrees,
    /// Like `Subtrees`, with other clients that write as well.
    MixedSubtrees,
    /// Nodes that are put into the trash and taken out again, beside moves, deletions from above, creations below, and
    /// other clients that do the same by hand.
    Trash,
    /// Nodes whose numbers are added up: these change, and the nodes move, go and come back, by the API and by hand.
    /// Now and then all totals are begun anew.
    Totals,
}

impl Writers {
    /// All kinds but the drills.
    pub const KINDS: [Self; 21] = [
        Self::Any,
        Self::Nodes,
        Self::Tenants,
        Self::Deep,
        Self::Moves,
        Self::Flips,
        Self::Revisions,
        Self::Readers,
        Self::Deletions,
        Self::MixedDeletions,
        Self::Adoptions,
        Self::Heirs,
        Self::Returns,
        Self::Answers,
        Self::Heavy,
        Self::Copies,
        Self::Names,
        Self::Subtrees,
        Self::MixedSubtrees,
        Self::Trash,
        Self::Totals,
    ];

    /// How many schedules of most others one of these takes as long as.
    #[must_use]
    pub fn weight(self) -> u64 {
        if self == Self::Deep { 100 } else { 1 }
    }

    /// True if only the API writes.
    pub(super) fn are_the_api(self) -> bool {
        matches!(
            self,
            Self::Deletions
                | Self::Adoptions
                | Self::Heirs
                | Self::Subtrees
                | Self::Drill(Drill::HeirBelowLateChild | Drill::LostCreation)
        )
    }

    /// True if no two siblings are to have one name.
    pub(super) fn name_siblings(self) -> bool {
        matches!(self, Self::Names | Self::Drill(Drill::NameTakenOver | Drill::CopyNamed))
    }

    /// True if they are about totals.
    fn are_about_totals(self) -> bool {
        matches!(self, Self::Totals | Self::Drill(Drill::CountedThereAndBack | Drill::ComeAndGone))
    }

    /// True if time passes while they write.
    pub(super) fn take_time(self) -> bool {
        self.delete_nodes()
    }

    /// True if nodes are deleted through the API.
    pub(super) fn delete_nodes(self) -> bool {
        matches!(
            self,
            Self::Deletions
                | Self::MixedDeletions
                | Self::Adoptions
                | Self::Heirs
                | Self::Returns
                | Self::Answers
                | Self::Heavy
                | Self::Copies
                | Self::Trash
                | Self::Totals
                | Self::Names
                | Self::Subtrees
                | Self::MixedSubtrees
                | Self::Drill(_)
        )
    }
}

impl Profile {
    /// Makes a profile of these writers, with failures, crashes and late records.
    #[must_use]
    pub fn new(writers: Writers) -> Self {
        Self {
            broken: None,
            touches_apart: false,
            writers,
            writes_max: 10,
            failure_percent: match writers {
                Writers::Flips => Some(30),
                Writers::Answers => Some(15),
                _ => None,
            },
            failures_max: 12,
            crashes_max: 3,
            late_max: 3,
            limbo: false,
            torn: false,
            races: false,
            outages_max: 0,
            repairs_max: 0,
            request_bytes_max: usize::MAX,
            silent_413: false,
            looks: false,
            totals: writers.are_about_totals(),
            switches_totals: false,
            follows: false,
            switches_feeds: false,
            steps_max: if writers == Writers::Deep { 400_000 } else { 40_000 },
        }
    }

    /// Makes a profile of a short sequence, with races, few failures, and many late records.
    #[must_use]
    pub fn drill(drill: Drill) -> Self {
        Self { failure_percent: Some(2), late_max: 12, ..Self::new(Writers::Drill(drill)).with_races() }
    }

    /// The same profile with invocations that go on by priorities.
    #[must_use]
    pub fn with_races(self) -> Self {
        Self { races: true, ..self }
    }

    /// The same profile with repairs while others write.
    #[must_use]
    pub fn with_repairs(self) -> Self {
        Self { repairs_max: 3, ..self }
    }

    /// The same profile with looks at the rows that stand.
    #[must_use]
    pub fn with_looks(self) -> Self {
        Self { looks: true, ..self }
    }

    /// The same profile with totals.
    #[must_use]
    pub fn with_totals(self) -> Self {
        Self { totals: true, ..self }
    }

    /// The same profile with followers of the trees' feeds.
    #[must_use]
    pub fn with_followers(self) -> Self {
        Self { follows: true, ..self }
    }

    /// Breaks a rule.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self { broken: Some(rule), ..self }
    }

    pub(super) fn rules(&self) -> Rules {
        self.broken.map_or_else(Rules::default, Rules::without)
    }
}
