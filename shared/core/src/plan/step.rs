//! What a plan asks for, and what it is told.
//!
//! A plan does no I/O: [`Plan::next`](super::Plan::next) takes the facts that the last [`Step`] asked for and returns
//! the next step. Its executor reads and writes, and decides nothing. So every decision, every condition and every
//! second look of the protocol is a value that a test can print.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::task::{Failure, Task, TaskOutcome};
use crate::keys::ItemKey;
use crate::model::Item;
use crate::request::{Page, Query, ReadOptions, Write};

/// The next step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<D> {
    /// Read these items and this page, all at once. [`Facts::Read`] is the answer.
    Need(Need),
    /// Carry these tasks out, all at once, each on its own conditions. [`Facts::Done`] answers in the same order.
    Do(Vec<Task>),
    /// Carry this task out at most once: again only if it surely wasn't carried out. [`Facts::Tried`] is the answer.
    Try(Task),
    /// Put and delete these items, whatever stands there. [`Facts::Written`] is the answer.
    Write(Writes),
    /// Wait before another attempt, the longer the higher this step is (from 0). Answered by [`Facts::Waited`].
    Wait(u32),
    /// The plan has come to its end.
    Done(D),
}

impl<D> Step<D> {
    /// The outer plan's step for this one of an inner plan: that of `then`, once the inner plan is done. Fails as
    /// `then`.
    pub fn and_then<E>(self, then: impl FnOnce(D) -> Result<Step<E>, Failure>) -> Result<Step<E>, Failure> {
        match self {
            Self::Need(need) => Ok(Step::Need(need)),
            Self::Do(tasks) => Ok(Step::Do(tasks)),
            Self::Try(task) => Ok(Step::Try(task)),
            Self::Write(writes) => Ok(Step::Write(writes)),
            Self::Wait(step) => Ok(Step::Wait(step)),
            Self::Done(done) => then(done),
        }
    }
}

/// Items to put and to delete, whatever stands there.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// The writes, in the order in which they are sent. The plan keeps them, too, and knows by them whose write failed.
    pub writes: Arc<[Write]>,
    /// Their kind.
    pub kind: WritesKind,
}

/// The kinds of writes. Each leaves time to what follows it in an invocation, so that the front of a batch is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritesKind {
    /// The same as the first rows, while other nodes of the batch wait for their parents and need time, too.
    Meanwhile {
        /// The first `ahead` writes are of the node whose record comes first. They count as first rows: nothing of the
        /// batch is done for good before this node is.
        ahead: usize,
    },
    /// Rows that are put, or what is written in their place first.
    FirstRows,
    /// Rows that are deleted after that.
    SecondRows,
    /// Touches, which a cursor follows: it remembers how far they came.
    Touches,
    /// Lineages.
    Lineages,
}

impl WritesKind {
    /// The share of an invocation's time after which no such writes are begun; `None` if they are as long as there is
    /// any. A choice: deleting and the rest cost less than putting.
    #[must_use]
    pub fn share_of_time(self) -> Option<f64> {
        match self {
            // Nodes that wait for their parents have time, too.
            Self::Meanwhile { .. } => Some(0.3),
            // Rows of nodes whose rows are all put can still be deleted.
            Self::FirstRows => Some(0.6),
            // Writes can be confirmed, and cursors saved.
            Self::SecondRows | Self::Touches => Some(0.8),
            Self::Lineages => None,
        }
    }
}

/// Items by their keys, and one page of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Need {
    /// The keys of the items.
    pub keys: BTreeSet<ItemKey>,
    /// How the items are read. The query has options of its own.
    pub options: ReadOptions,
    /// About how many bytes of items are read at most, as answers have them; `None` for all.
    pub bytes_max: Option<usize>,
    /// The items are read only while there is time for writes of this kind; `None` for as long as there is any. The
    /// keys that are left then are in [`Read::left`].
    pub time: Option<WritesKind>,
    /// The query whose page is read.
    pub query: Option<Query>,
}

impl Need {
    /// The same, up to `bytes_max` bytes of answers, and one key at least. [`Read::left`] has those that are left.
    #[must_use]
    pub fn within(self, bytes_max: usize) -> Self {
        Self { bytes_max: Some(bytes_max), ..self }
    }

    /// The need for these items, strongly consistent and with all attributes.
    pub fn keys(keys: impl IntoIterator<Item = ItemKey>) -> Self {
        Self { keys: keys.into_iter().collect(), ..Self::default() }
    }

    /// The need for a page.
    #[must_use]
    pub fn page(query: Query) -> Self {
        Self { query: Some(query), ..Self::default() }
    }
}

/// The answer to a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Facts {
    /// No step was asked for yet.
    #[default]
    None,
    /// The answer to [`Step::Need`].
    Read(Read),
    /// The answer to [`Step::Do`]: the outcome of each task.
    Done(Vec<Result<TaskOutcome, Failure>>),
    /// The answer to [`Step::Try`]; `None` if none came: the task may have been carried out, or may be later.
    Tried(Option<TaskOutcome>),
    /// The answer to [`Step::Write`]: the writes that failed, or that may be carried out once more, later.
    Written(BTreeMap<ItemKey, Failure>),
    /// True after the wait; false where no time is left for another attempt.
    Waited(bool),
}

/// The result of a read: the items that exist, the keys that couldn't be read, and the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// The items by their keys.
    pub items: BTreeMap<ItemKey, Arc<Item>>,
    /// The keys that couldn't be read.
    pub unread: BTreeSet<ItemKey>,
    /// The keys that weren't read, because the items before them have as many bytes as were asked for, or time is up.
    pub left: BTreeSet<ItemKey>,
    /// The page, if one was asked for and could be read.
    pub page: Option<Page>,
}

impl Read {
    /// Returns an item; `None` if it doesn't exist. Fails if it couldn't be read.
    pub fn item(&self, key: &ItemKey) -> Result<Option<&Item>, Failure> {
        Ok(self.shared(key)?.map(Arc::as_ref))
    }

    /// Like [`Read::item`], to keep the item.
    pub fn shared(&self, key: &ItemKey) -> Result<Option<&Arc<Item>>, Failure> {
        if self.unread.contains(key) { Err(Failure::Again) } else { Ok(self.items.get(key)) }
    }

    /// Adds the items of a later read.
    pub fn extend(&mut self, later: Self) {
        self.unread.retain(|key| !later.items.contains_key(key));
        self.items.extend(later.items);
        self.unread.extend(later.unread);
        self.left.extend(later.left);
    }
}
