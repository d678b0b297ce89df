//! What calls touch. Two calls that touch nothing in common come to the same in either order.

use std::collections::BTreeSet;

use sapwood_core::keys::ItemKey;
use sapwood_store::Action;

use super::schedule::passes_filter;

/// The items that calls touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// What is read: a partition key, the first sort key and the last one.
    reads: BTreeSet<(String, String, String)>,
    /// What may be written.
    writes: BTreeSet<ItemKey>,
}

impl Footprint {
    pub(super) fn of_items<'a>(keys: impl IntoIterator<Item = &'a ItemKey>) -> Self {
        let read = |key: &ItemKey| (key.pk.clone(), key.sk.clone(), key.sk.clone());
        Self { reads: keys.into_iter().map(read).collect(), ..Self::default() }
    }

    pub(super) fn of_range(pk: &str, from: &str, to: &str) -> Self {
        Self { reads: [(pk.to_owned(), from.to_owned(), to.to_owned())].into(), ..Self::default() }
    }

    pub(super) fn of_writes<'a>(keys: impl IntoIterator<Item = &'a ItemKey>) -> Self {
        Self { writes: keys.into_iter().cloned().collect(), ..Self::default() }
    }

    pub(super) fn of_actions(actions: &[Action]) -> Self {
        let (checks, writes): (Vec<_>, Vec<_>) = actions.iter().partition(|one| matches!(one, Action::Check { .. }));
        let mut all = Self::of_items(checks.into_iter().map(Action::key));
        all.add(Self::of_writes(writes.into_iter().map(Action::key)));
        all
    }

    pub(super) fn add(&mut self, other: Self) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
    }

    /// True if one of them writes what the other touches.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.writes_what_touches(other) || other.writes_what_touches(self)
    }

    fn writes_what_touches(&self, other: &Self) -> bool {
        let is_read =
            |key: &ItemKey| other.reads.iter().any(|(pk, from, to)| *pk == key.pk && *from <= key.sk && key.sk <= *to);
        self.writes.iter().any(|key| other.writes.contains(key) || is_read(key))
    }

    /// True if the order in which these are written counts, whatever else is read: the stream has a record of it, or
    /// those who judge what was answered look at it.
    pub(super) fn is_in_order(&self) -> bool {
        self.writes.iter().any(|key| passes_filter(&key.sk) || is_claim(&key.sk))
    }
}

/// True for the sort keys of claims of names.
pub(super) fn is_claim(sk: &str) -> bool {
    sk.starts_with("NAME#") || sk.starts_with("ROOTNAME#")
}
