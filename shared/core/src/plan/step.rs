//! What a plan asks for, and what it is told.
//!
//! A plan is a state machine without a table: [`Plan::next`] takes the facts that were asked for and returns the next [`Step`].
//! Whoever runs it reads and writes, and decides nothing. So every decision, every condition and every second look of the
//! protocol is a value that a test can print.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, Tally};
use crate::keys::ItemKey;
use crate::model::{DELETING, DeletionMark, Item};
use crate::request::{Action, Condition, Page, Query, ReadOptions, Update, Write};

/// A state machine that decides what to read and to write.
pub trait Plan {
    /// What the plan comes to.
    type Done;

    /// The next step, given the facts that the step before asked for. The first call gets [`Facts::None`].
    ///
    /// # Errors
    /// [`Failure::Again`] where something that the plan can't do without wasn't read or written.
    fn next(&mut self, facts: Facts) -> Result<Step<Self::Done>, Failure>;

    /// What the plan has to report so far. It is taken once, when the plan is done or has failed.
    fn take_report(&mut self) -> PlanReport {
        PlanReport::default()
    }
}

/// What a plan has to report besides its result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanReport {
    /// What was done.
    pub tally: Tally,
    /// What no retry can mend.
    pub problems: Vec<Problem>,
}

/// What a plan wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<D> {
    /// Read these, at once. Answered by [`Facts::Read`].
    Need(Need),
    /// Carry these out, at once, each on its own conditions. Answered by [`Facts::Done`], in the same order.
    Do(Vec<Task>),
    /// Put and delete these items, whatever stands there. Answered by [`Facts::Written`].
    Write(Vec<Write>),
    /// Wait before another attempt, the longer the higher this step is (from 0). Answered by [`Facts::Waited`].
    Wait(u32),
    /// Nothing more.
    Done(D),
}

impl<D> Step<D> {
    /// The step of an outer plan: where the inner plan is done, `then` says how to go on.
    ///
    /// # Errors
    /// Those of `then`.
    pub fn and_then<E>(self, then: impl FnOnce(D) -> Result<Step<E>, Failure>) -> Result<Step<E>, Failure> {
        match self {
            Self::Need(need) => Ok(Step::Need(need)),
            Self::Do(tasks) => Ok(Step::Do(tasks)),
            Self::Write(writes) => Ok(Step::Write(writes)),
            Self::Wait(step) => Ok(Step::Wait(step)),
            Self::Done(done) => then(done),
        }
    }
}

/// Items by their keys, and one page of a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Need {
    /// The items.
    pub keys: BTreeSet<ItemKey>,
    /// How the items are read.
    pub options: ReadOptions,
    /// The page.
    pub query: Option<Query>,
}

impl Need {
    /// These items: strongly consistent and whole.
    pub fn keys(keys: impl IntoIterator<Item = ItemKey>) -> Self {
        Self { keys: keys.into_iter().collect(), ..Self::default() }
    }

    /// A page.
    #[must_use]
    pub fn page(query: Query) -> Self {
        Self { query: Some(query), ..Self::default() }
    }
}

/// Writes that are carried out together, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// One write on a condition.
    Write(Action),
    /// A transaction.
    Transact(Vec<Action>),
    /// Marks a node for deletion. Each attempt writes a mark with a name of its own: one whose answer was lost may have been
    /// carried out, and taken back by another client since.
    Mark {
        /// The key of the node's base record.
        key: ItemKey,
        /// The mark, whose name doesn't count.
        mark: DeletionMark,
        /// What must hold.
        condition: Condition,
    },
}

impl Task {
    /// Actions that are carried out together, or not at all.
    #[must_use]
    pub fn together(actions: Vec<Action>) -> Self {
        match <[Action; 1]>::try_from(actions) {
            Ok([action]) => Self::Write(action),
            Err(actions) => Self::Transact(actions),
        }
    }

    /// The item that the task is about: that of its first action.
    #[must_use]
    pub fn key(&self) -> Option<&ItemKey> {
        match self {
            Self::Write(action) => Some(action.key()),
            Self::Transact(actions) => actions.first().map(Action::key),
            Self::Mark { key, .. } => Some(key),
        }
    }

    /// What one attempt sends. `name` returns a name that no other attempt has.
    #[must_use]
    pub fn attempt(&self, name: impl FnOnce() -> String) -> Self {
        match self {
            Self::Mark { key, mark, condition } => Self::Write(Action::Update {
                key: key.clone(),
                update: Update::set(DELETING, mark.marked(name()).value()),
                condition: condition.clone(),
            }),
            Self::Write(_) | Self::Transact(_) => self.clone(),
        }
    }
}

/// What came of a task that the table has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Held,
    /// Nothing was written: the conditions of these actions didn't hold, by their positions.
    Failed(Vec<usize>),
}

/// A read or a write that came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There was no time left to try again, or no use: the record has to be delivered again.
    Again,
    /// The table refuses this write, and will the next time. Whoever ran it has noted the problem.
    Refused,
}

/// The answer to a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Facts {
    /// Nothing was asked yet.
    #[default]
    None,
    /// What was read.
    Read(Read),
    /// What came of each task.
    Done(Vec<Result<Outcome, Failure>>),
    /// The writes that failed.
    Written(BTreeMap<ItemKey, Failure>),
    /// True after the wait; false where no time is left for another attempt.
    Waited(bool),
}

impl Facts {
    /// What was read.
    ///
    /// # Errors
    /// [`Failure::Again`] where the facts are others, here and below: whoever ran the plan has answered another step.
    pub fn read(self) -> Result<Read, Failure> {
        if let Self::Read(read) = self { Ok(read) } else { Err(Failure::Again) }
    }

    /// The page that was read.
    ///
    /// # Errors
    /// [`Failure::Again`] where it couldn't be.
    pub fn page(self) -> Result<Page, Failure> {
        self.read()?.page.ok_or(Failure::Again)
    }

    /// What came of each task.
    ///
    /// # Errors
    /// See [`Facts::read`].
    pub fn outcomes(self) -> Result<Vec<Result<Outcome, Failure>>, Failure> {
        if let Self::Done(outcomes) = self { Ok(outcomes) } else { Err(Failure::Again) }
    }

    /// What came of a single task.
    ///
    /// # Errors
    /// The failure of the task; see [`Facts::read`].
    pub fn outcome(self) -> Result<Outcome, Failure> {
        self.outcomes()?.pop().unwrap_or(Err(Failure::Again))
    }

    /// The writes that failed.
    ///
    /// # Errors
    /// See [`Facts::read`].
    pub fn written(self) -> Result<BTreeMap<ItemKey, Failure>, Failure> {
        if let Self::Written(failed) = self { Ok(failed) } else { Err(Failure::Again) }
    }

    /// True where there is time for another attempt.
    ///
    /// # Errors
    /// See [`Facts::read`].
    pub fn waited(&self) -> Result<bool, Failure> {
        if let Self::Waited(has_time) = self { Ok(*has_time) } else { Err(Failure::Again) }
    }
}

/// What was read: the items that there are, the keys about which nothing is known, and the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// The items by their keys.
    pub items: BTreeMap<ItemKey, Item>,
    /// The keys that couldn't be read.
    pub unread: BTreeSet<ItemKey>,
    /// The page, if one was asked for and could be read.
    pub page: Option<Page>,
}

impl Read {
    /// An item; `None` where there is none.
    ///
    /// # Errors
    /// [`Failure::Again`] where it couldn't be read.
    pub fn item(&self, key: &ItemKey) -> Result<Option<&Item>, Failure> {
        if self.unread.contains(key) { Err(Failure::Again) } else { Ok(self.items.get(key)) }
    }

    /// Adds what was read later.
    pub fn extend(&mut self, later: Self) {
        self.unread.retain(|key| !later.items.contains_key(key));
        self.items.extend(later.items);
        self.unread.extend(later.unread);
    }
}

/// Counts the tasks that held. What the table refuses for good is no reason to try again.
///
/// # Errors
/// [`Failure::Again`] where a task has to be tried again.
pub fn count_held(outcomes: &[Result<Outcome, Failure>]) -> Result<u64, Failure> {
    let mut held = 0;
    for outcome in outcomes {
        match outcome {
            Ok(Outcome::Held) => held += 1,
            Ok(Outcome::Failed(_)) | Err(Failure::Refused) => {}
            Err(Failure::Again) => return Err(Failure::Again),
        }
    }
    Ok(held)
}
