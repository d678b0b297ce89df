//! Ranges of sort keys: what one Query reads.

use super::error::{KeyError, bounded};
use super::sort_key::{
    CHILD, LATEST, LINK, NAME, OPERATION, ORDERED, ORPHAN, PAST_SEPARATOR, PATH, ROOT, TOTALS, TRASH, write_path,
};
use super::{SORT_KEY_BYTES_MAX, Schema, SiblingPlace, TrashTime};

/// A range of sort keys within one partition, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct SortRange {
    /// The first sort key.
    pub from: String,
    /// The last one.
    pub to: String,
}

impl SortRange {
    /// True if a sort key is in the range, and can be one.
    #[must_use]
    pub fn contains(&self, sk: &str) -> bool {
        (1..=SORT_KEY_BYTES_MAX).contains(&sk.len()) && (self.from.as_str()..=self.to.as_str()).contains(&sk)
    }
}

/// A list of nodes in the order of their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedList {
    /// The children of a node.
    Children,
    /// All trees.
    Roots,
}

/// Ends a part of a place that has more than one. It sorts before all that a part can have.
pub(super) const PART_END: char = '!';

/// The byte after `!`, in no key. A path with it sorts after the nodes at that path and before their descendants.
const PAST_EXPLICIT: char = '"';

impl Schema {
    /// Returns the range of all items of a partition. A key begins with a character, and none sorts after the last one.
    pub fn partition_range(&self) -> SortRange {
        SortRange { from: char::MIN.to_string(), to: char::MAX.to_string() }
    }

    /// Returns the range of a node's descendants from depth `from` to depth `to`, both included. One Query reads any
    /// depth window. From depth 0 on the range begins with the node's base record.
    pub fn depth_range(&self, from: usize, to: usize) -> SortRange {
        let node = &self.names().node;
        let start = if from == 0 { node.clone() } else { format!("{node}#{from:04}#") };
        SortRange { from: start, to: format!("{node}#{to:04}{PAST_SEPARATOR}") }
    }

    /// The range of a node's descendants at a depth whose ids begin so. Fails for a longer prefix than any id.
    pub fn level_range(&self, depth: usize, id_prefix: &str) -> Result<SortRange, KeyError> {
        beginning_with(format!("{}{id_prefix}", self.depth_range(depth, depth).from))
    }

    /// Returns the range, in a root's partition, of the nodes at a path and all their descendants, in pre-order. Fails
    /// for a path without segments, or one that is too long for a key.
    pub fn path_range(&self, segments: &[String]) -> Result<SortRange, KeyError> {
        path_up_to(segments, PAST_SEPARATOR)
    }

    /// Returns the range, in a root's partition, of the nodes at a path, without descendants. Several nodes can have
    /// the same explicit segment. Fails as [`Schema::path_range`] does.
    pub fn path_alone(&self, segments: &[String]) -> Result<SortRange, KeyError> {
        path_up_to(segments, PAST_EXPLICIT)
    }

    /// Returns the range, in a root's partition, of the descendants of a path whose next segment is from `from` to
    /// `to`, both included, in byte order. It is empty if `from` sorts after `to`. A path without segments is the
    /// root's; else this fails as [`Schema::path_range`] does.
    pub fn path_between(&self, above: &[String], from: Option<&str>, to: Option<&str>) -> Result<SortRange, KeyError> {
        let path_to = |next: &str| -> Result<String, KeyError> {
            write_path(&above.iter().cloned().chain([next.to_owned()]).collect::<Vec<_>>(), None)
        };
        let below = if above.is_empty() { PATH.to_owned() } else { format!("{}#", write_path(above, None)?) };
        let to = match to {
            Some(next) => through(&path_to(next)?, PAST_SEPARATOR),
            None => through(&below[..below.len() - 1], PAST_SEPARATOR),
        };
        let from = from.map_or(Ok(below), path_to)?;
        bounded("the sort key", &from, SORT_KEY_BYTES_MAX)?;
        bounded("the sort key", &to, SORT_KEY_BYTES_MAX)?;
        Ok(SortRange { from, to })
    }

    /// Returns the range of the list of all trees.
    pub fn root_range(&self) -> SortRange {
        all_of(ROOT)
    }

    /// Returns the range of the register of orphans.
    pub fn orphan_range(&self) -> SortRange {
        all_of(ORPHAN)
    }

    /// Returns the range of all operations.
    pub fn operation_range(&self) -> SortRange {
        all_of(OPERATION)
    }

    /// Returns the range of the claims of names below a node, in the node's partition.
    pub fn name_range(&self) -> SortRange {
        all_of(NAME)
    }

    /// Returns the range of a node's totals, of all epochs and lanes.
    pub fn totals_range(&self) -> SortRange {
        all_of(TOTALS)
    }

    /// Returns the range of what was put into the trash from `from` to `to`, both included.
    pub fn trash_range(&self, from: Option<&TrashTime>, to: Option<&TrashTime>) -> SortRange {
        let all = all_of(TRASH);
        SortRange {
            from: from.map_or(all.from, |at| format!("{TRASH}{}#", at.as_str())),
            to: to.map_or(all.to, |at| format!("{TRASH}{}{PAST_SEPARATOR}", at.as_str())),
        }
    }

    /// Returns the range of a list of nodes, in their order, whose places are from `from` to `to`, both included.
    pub fn ordered_range(
        &self,
        list: OrderedList,
        from: Option<&SiblingPlace>,
        to: Option<&SiblingPlace>,
    ) -> SortRange {
        let prefix = match list {
            OrderedList::Children => CHILD,
            OrderedList::Roots => ORDERED,
        };
        let all = all_of(prefix);
        SortRange {
            // A place that has more than one part begins so, too.
            from: from.map_or(all.from, |place| format!("{prefix}{place}{PART_END}")),
            to: to.map_or(all.to, |place| format!("{prefix}{place}{PAST_SEPARATOR}")),
        }
    }

    /// The range of a list of nodes whose places begin with `prefix`. Fails for a prefix that no key has room for.
    pub fn ordered_prefix_range(&self, list: OrderedList, prefix: &SiblingPlace) -> Result<SortRange, KeyError> {
        let from = self.ordered_range(list, Some(prefix), None).from;
        // Without the separator, which ends a place.
        beginning_with(from[..from.len() - 1].to_owned())
    }

    /// The range of the links to a node, by an attribute, from nodes whose ids begin so. Fails if that is too long.
    pub fn link_range(&self, attribute: &str, id_prefix: &str) -> Result<SortRange, KeyError> {
        beginning_with(format!("{LINK}{attribute}#{id_prefix}"))
    }

    /// The range of a node's `v0_` copies whose topics begin with `topic_prefix`. Fails if that is too long.
    pub fn latest_range(&self, topic_prefix: &str) -> Result<SortRange, KeyError> {
        beginning_with(format!("{LATEST}{topic_prefix}"))
    }

    /// Returns the range of a node's revisions of all topics. It includes the `v0_` copies.
    pub fn revision_range(&self) -> SortRange {
        SortRange { from: "v00".to_owned(), to: "vd".to_owned() }
    }
}

fn all_of(prefix: &str) -> SortRange {
    SortRange { from: prefix.to_owned(), to: prefix.replace('#', "$") }
}

/// The range from the nodes at a path up to what sorts after all that may follow the path.
fn path_up_to(segments: &[String], past: char) -> Result<SortRange, KeyError> {
    let from = write_path(segments, None)?;
    bounded("the sort key", &from, SORT_KEY_BYTES_MAX)?;
    let to = through(&from, past);
    Ok(SortRange { from, to })
}

/// The path with a character that sorts after all that may follow it. After a path of the greatest length none does.
fn through(path: &str, past: char) -> String {
    if path.len() < SORT_KEY_BYTES_MAX { format!("{path}{past}") } else { path.to_owned() }
}

/// The range of all sort keys that begin with a text, up to the last one that a sort key has room for. The next greater
/// prefix isn't a usable end: a Query's range includes its ends, and that prefix may itself be a key.
fn beginning_with(from: String) -> Result<SortRange, KeyError> {
    bounded("the sort key", &from, SORT_KEY_BYTES_MAX)?;
    let mut to = from.clone();
    // The last characters of four, three, two and one bytes.
    for last in ['\u{10FFFF}', '\u{FFFF}', '\u{7FF}', '\u{7F}'] {
        let room = SORT_KEY_BYTES_MAX - to.len();
        to.extend(std::iter::repeat_n(last, room / last.len_utf8()));
    }
    Ok(SortRange { from, to })
}
