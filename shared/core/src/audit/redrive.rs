//! Has one item handled again whose stream record was lost.
//!
//! A record that the event source gave up is never replayed: it is old and alone, and the handler relies on records of one item coming in
//! order. What it asked for follows from the table as it is now.

use super::{Difference, Kind, Mend, Mended};
use crate::keys::{ItemKey, NodeRef, SortKey};
use crate::model::{Cursor, CursorError, Item, Latest, PUT_BACK, Stored, has_mark};
use crate::plan::{Context, Facts, Failure, Need, Plan, Read, Rule, Step, Task, TaskOutcome};
use crate::request::{Action, Condition};

/// What became of an item whose record was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redriven {
    /// The handler was told to look at the item again.
    Redriven,
    /// The same, and a cursor has the node's deletion begin again.
    DeletionSetOff,
    /// A cursor has all children of the node touched, or its deletion begin again.
    Cascaded,
    /// The record is gone. It was put back and deleted again, so that the handler removes what is left of the node.
    DeletedAgain,
    /// The copy of the topic is that of the newest revision now.
    Copied,
    /// There was nothing left to do.
    Gone,
    /// The item isn't Sapwood's, or no record of it reaches the handler.
    NotOurs,
    /// A newer version of the handler has written the item.
    Newer,
}

impl Redriven {
    /// All outcomes.
    pub const ALL: [Self; 8] = [
        Self::Redriven,
        Self::DeletionSetOff,
        Self::Cascaded,
        Self::DeletedAgain,
        Self::Copied,
        Self::Gone,
        Self::NotOurs,
        Self::Newer,
    ];

    /// The outcome's name in reports, for example `deleted-again`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Redriven => "redriven",
            Self::DeletionSetOff => "deletion-set-off",
            Self::Cascaded => "cascaded",
            Self::DeletedAgain => "deleted-again",
            Self::Copied => "copied",
            Self::Gone => "gone",
            Self::NotOurs => "not-ours",
            Self::Newer => "newer-format",
        }
    }
}

/// The plan for one item.
///
/// | a record of | if the item exists | if it doesn't |
/// |---|---|---|
/// | a node | `_redriven`; if the node has a mark, a cursor as well | if a lineage is left: put back and deleted again |
/// | a revision | the topic's copy is made anew | the same |
/// | a lineage | a cursor, in the place of any that is half way | the same |
/// | a cursor | `_redriven` | nothing |
#[derive(Debug)]
pub struct Redrive<'a> {
    context: Context<'a>,
    key: ItemKey,
    /// A name that no other repair has: digits, below every sequence number of a stream.
    name: String,
    is_dry: bool,
    state: State<'a>,
}

#[derive(Debug, Default)]
enum State<'a> {
    #[default]
    Begin,
    /// The node, its lineage and its cursor are read.
    Reading(NodeRef, SortKey),
    /// A plan that mends, and what its success means. A node with a mark gets a cursor afterwards.
    Mending { mend: Box<Mend<'a>>, means: Redriven, marked: Option<NodeRef> },
    /// A cursor is put.
    Starting(Redriven),
}

impl<'a> Redrive<'a> {
    /// The plan for the item with this key. `name` has at most 19 digits, and no other repair of this table has had it.
    #[must_use]
    pub fn new(context: Context<'a>, key: ItemKey, name: String) -> Self {
        Self { context, key, name, is_dry: false, state: State::Begin }
    }

    /// The same plan, which ends before its first write, and says what it would do.
    #[must_use]
    pub fn dry(self) -> Self {
        Self { is_dry: true, ..self }
    }

    fn begin(&mut self) -> Result<Step<Redriven>, Failure> {
        let schema = self.context.schema();
        let (Some(sort_key), Ok(node)) = (schema.parse_sort_key(&self.key.sk), schema.parse_partition(&self.key.pk))
        else {
            return Ok(Step::Done(Redriven::NotOurs));
        };
        match sort_key {
            SortKey::Node | SortKey::Lineage | SortKey::Cascade => {
                let keys = [schema.node_key(&node), schema.lineage_key(&node), schema.cascade_key(&node)];
                self.state = State::Reading(node, sort_key);
                Ok(Need::keys(keys).into())
            }
            SortKey::Revision { topic, .. } => {
                let Ok(key) = (Latest { node: node.clone(), topic }).key(self.context.settings) else {
                    return Ok(Step::Done(Redriven::NotOurs));
                };
                self.mend(Kind::CopyWrong, key, node, Redriven::Copied)
            }
            _ => Ok(Step::Done(Redriven::NotOurs)),
        }
    }

    fn decide(&mut self, node: NodeRef, sort_key: &SortKey, read: &Read) -> Result<Step<Redriven>, Failure> {
        let schema = self.context.schema();
        let [node_key, lineage_key, cursor_key] =
            [schema.node_key(&node), schema.lineage_key(&node), schema.cascade_key(&node)];
        let base = read.item(&node_key)?;
        let lineage = Stored::read(read.item(&lineage_key)?, schema);
        let cursor = read.item(&cursor_key)?;
        let is_newer = |item: &Item| matches!(Cursor::read(item), Err(CursorError::Newer(_)));
        if lineage.check_format().is_err() || cursor.is_some_and(is_newer) {
            return Ok(Step::Done(Redriven::Newer));
        }
        match (sort_key, base) {
            (SortKey::Lineage, _) => Ok(self.start_cursor(&node, Redriven::Cascaded)),
            (SortKey::Cascade, _) if cursor.is_none() => Ok(Step::Done(Redriven::Gone)),
            (SortKey::Cascade, _) => self.mend(Kind::CursorStuck, cursor_key, node, Redriven::Redriven),
            (_, Some(base)) if base.contains_key(PUT_BACK) => {
                self.mend(Kind::RecordPutBack, node_key, node, Redriven::DeletedAgain)
            }
            // A lineage that has the mark already stays as it is and makes no record, and nobody else would go on.
            (_, Some(base)) if has_mark(Some(base)) => {
                let step = self.mend(Kind::LineageWrong, node_key, node.clone(), Redriven::DeletionSetOff);
                if let State::Mending { marked, .. } = &mut self.state {
                    *marked = Some(node);
                }
                step
            }
            (_, Some(_)) => self.mend(Kind::LineageWrong, node_key, node, Redriven::Redriven),
            (_, None) if matches!(lineage, Stored::Absent | Stored::Tombstone(_)) => Ok(Step::Done(Redriven::Gone)),
            (_, None) => self.mend(Kind::LineageSurplus, lineage_key, node, Redriven::DeletedAgain),
        }
    }

    /// Mends what would be wrong if the record asked for anything.
    fn mend(&mut self, kind: Kind, key: ItemKey, node: NodeRef, means: Redriven) -> Result<Step<Redriven>, Failure> {
        if self.is_dry {
            return Ok(Step::Done(means));
        }
        // What was lost is no suspect that has to be found again.
        let difference = Difference::unseen(kind, key, node);
        let mend = Box::new(Mend::new(self.context, difference, self.name.clone()));
        self.go_on(mend, means, None, Facts::None)
    }

    fn go_on(
        &mut self,
        mut mend: Box<Mend<'a>>,
        means: Redriven,
        marked: Option<NodeRef>,
        facts: Facts,
    ) -> Result<Step<Redriven>, Failure> {
        let step = mend.next(facts)?;
        self.state = State::Mending { mend, means, marked };
        step.and_then(|mended| Ok(self.mended(mended)))
    }

    fn mended(&mut self, mended: Mended) -> Step<Redriven> {
        let State::Mending { means, marked, .. } = std::mem::take(&mut self.state) else {
            return Step::Done(Redriven::Gone);
        };
        match (mended, marked) {
            // Whoever deleted the node meanwhile has made a record of their own.
            (Mended::Gone | Mended::Left, _) => Step::Done(Redriven::Gone),
            (_, Some(node)) => self.start_cursor(&node, means),
            (_, None) => Step::Done(means),
        }
    }

    /// Puts a cursor, whose record has the handler do from the start what a change of the lineage asked for. It takes the place of a cursor
    /// that is half way: that one may be of an older change.
    fn start_cursor(&mut self, node: &NodeRef, means: Redriven) -> Step<Redriven> {
        if self.is_dry {
            return Step::Done(means);
        }
        let schema = self.context.schema();
        let (key, item) = (schema.cascade_key(node), Cursor::anew(&self.name).item(node, schema));
        let anew = self.context.rules.keeps(Rule::RedriveAnew);
        let condition = if anew { Condition::Always } else { Condition::Absent };
        self.state = State::Starting(means);
        Step::Do(vec![Task::Write(Action::Put { key, item, condition })])
    }
}

impl Plan for Redrive<'_> {
    type Done = Redriven;

    fn next(&mut self, facts: Facts) -> Result<Step<Redriven>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => self.begin(),
            State::Reading(node, sort_key) => self.decide(node, &sort_key, &facts.read()?),
            State::Mending { mend, means, marked } => self.go_on(mend, means, marked, facts),
            State::Starting(means) => match facts.outcome()? {
                TaskOutcome::Held | TaskOutcome::Failed(_) => Ok(Step::Done(means)),
            },
        }
    }
}
