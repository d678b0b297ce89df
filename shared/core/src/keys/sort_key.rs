//! The sort keys of the table, one variant for each kind of item.

use super::error::{KeyError, bounded, check_segment};
use super::{DEPTH_MAX, Id, SORT_KEY_BYTES_MAX, Version};
use sapwood_keys::Format;

/// What an item is, as its sort key says. Written and read by [`Schema::sort_key`](super::Schema::sort_key) and
/// [`Schema::parse_sort_key`](super::Schema::parse_sort_key).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SortKey {
    /// `NODE`: a node's base record.
    Node,
    /// `NODE#0001#<id>`: a node as its ancestor's collection shows it.
    Ancestor {
        /// How far below, 1 to [`DEPTH_MAX`].
        depth: usize,
        /// The node below.
        id: Id,
    },
    /// `PATH#<segment>#…`: a node by its path below the root.
    Path {
        /// The segments from right below the root to the node itself.
        segments: Vec<String>,
        /// The node's id, where its segment was given explicitly: it is written `<segment>!<id>`, so that siblings of
        /// one name don't overwrite each other.
        id: Option<Id>,
    },
    /// `ROOT#<id>`: a node without a parent, in the list of all trees.
    Root(Id),
    /// `ORPHAN#<id>`: a node whose parent isn't there, in the register of those who wait for a parent.
    Orphan(Id),
    /// `LINEAGE`: where a node stands, as its rows say.
    Lineage,
    /// `CASCADE`: how far the touching of a wide node's children is.
    Cascade,
    /// `OPERATION`: an operation of the API, in a partition of its own.
    Operation,
    /// `DELETED`: that the API has deleted the node of this partition.
    Deleted,
    /// `IDEMPOTENCY#0000`: what a request with an `Idempotency-Key` was answered, in a partition of its own; a long answer
    /// has several parts.
    Idempotency {
        /// Which part, from 0.
        part: usize,
    },
    /// `v001_<topic>`: a revision.
    Revision {
        /// Its number.
        version: Version,
        /// Its topic, free text.
        topic: String,
    },
    /// `v0_<topic>`: a copy of the topic's newest revision.
    Latest {
        /// The topic, free text.
        topic: String,
    },
}

/// A range of sort keys within one partition, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortRange {
    /// The first sort key.
    pub from: String,
    /// The last one.
    pub to: String,
}

/// How a segment stands in a path: bytes up to `$`, and `%`, are written `%XX`. Whatever is left sorts after `$`, so the
/// separators `!` and `#` sort before any text, a subtree ends right before its prefix with `$`, and encoded text sorts
/// as the text itself does.
const SEGMENT: Format<'_> = Format::SORT_KEY.escaping();

/// The byte after `#`: a prefix with it in the place of its last `#` is past all that begins with the prefix.
const PAST_SEPARATOR: char = '$';

/// The byte after `!`, which no key holds: a path with it is past the nodes at that path, and before what is below them.
const PAST_EXPLICIT: char = '"';

const PATH: &str = "PATH#";
const ROOT: &str = "ROOT#";
const ORPHAN: &str = "ORPHAN#";
const LINEAGE: &str = "LINEAGE";
const CASCADE: &str = "CASCADE";
const OPERATION: &str = "OPERATION";
const DELETED: &str = "DELETED";
const IDEMPOTENCY: &str = "IDEMPOTENCY#";
const LATEST: &str = "v0_";

/// The sort keys that a record must have, apart from the node's own, to reach the handler.
const TRIGGERS: [&str; 2] = [LINEAGE, CASCADE];

/// The beginnings of a revision's sort key. `v0_` matches none of them, nor does `vacation`.
pub(super) fn revision_prefixes() -> impl Iterator<Item = String> {
    let below_100 = (0..=9).map(|digit| format!("v0{digit}"));
    let rest = ["v", "va", "vb", "vc"].into_iter().flat_map(|v| (1..=9).map(move |digit| format!("{v}{digit}")));
    below_100.chain(rest)
}

pub(super) fn exact_triggers(node: &str) -> Vec<String> {
    std::iter::once(node).chain(TRIGGERS).map(str::to_owned).collect()
}

/// Whether a node's sort key of this name keeps clear of every other kind's.
pub(super) fn check_node_name(name: &str) -> Result<(), &'static str> {
    let reserved = [LINEAGE, CASCADE, OPERATION, DELETED, "PATH", "ROOT", "ORPHAN", "IDEMPOTENCY"];
    if name.is_empty() {
        Err("it is empty")
    } else if name.contains(['#', PAST_SEPARATOR]) {
        Err("it holds a separator")
    } else if reserved.contains(&name) {
        Err("another kind of item has it")
    } else if name.starts_with(LATEST) || revision_prefixes().any(|prefix| name.starts_with(&prefix)) {
        Err("it looks like a revision")
    } else if name.len() + "#0001#".len() > SORT_KEY_BYTES_MAX - 1 {
        Err("it leaves no room for an id in a sort key")
    } else {
        Ok(())
    }
}

pub(super) fn write(key: &SortKey, node: &str) -> Result<String, KeyError> {
    let text = match key {
        SortKey::Node => node.to_owned(),
        SortKey::Ancestor { depth, id } => {
            if !(1..=DEPTH_MAX).contains(depth) {
                return Err(KeyError::Depth { depth: *depth });
            }
            format!("{node}#{depth:04}#{id}")
        }
        SortKey::Path { segments, id } => write_path(segments, id.as_ref())?,
        SortKey::Root(id) => format!("{ROOT}{id}"),
        SortKey::Orphan(id) => format!("{ORPHAN}{id}"),
        SortKey::Lineage => LINEAGE.to_owned(),
        SortKey::Cascade => CASCADE.to_owned(),
        SortKey::Operation => OPERATION.to_owned(),
        SortKey::Deleted => DELETED.to_owned(),
        SortKey::Idempotency { part } => format!("{IDEMPOTENCY}{part:04}"),
        SortKey::Revision { version, topic } => format!("{}_{topic}", version.prefix()),
        SortKey::Latest { topic } => format!("{LATEST}{topic}"),
    };
    bounded("the sort key", &text, SORT_KEY_BYTES_MAX)?;
    Ok(text)
}

fn write_path(segments: &[String], id: Option<&Id>) -> Result<String, KeyError> {
    if segments.is_empty() {
        return Err(KeyError::NoSegments);
    }
    let mut key = PATH.to_owned();
    for (position, segment) in segments.iter().enumerate() {
        check_segment(segment)?;
        if position > 0 {
            key.push('#');
        }
        key += &SEGMENT.escape_part(segment);
    }
    if let Some(id) = id {
        key.push('!');
        key += &SEGMENT.escape_part(id.as_str());
    }
    Ok(key)
}

pub(super) fn parse(text: &str, node: &str) -> Option<SortKey> {
    if text.len() > SORT_KEY_BYTES_MAX {
        return None;
    }
    match text {
        LINEAGE => return Some(SortKey::Lineage),
        CASCADE => return Some(SortKey::Cascade),
        OPERATION => return Some(SortKey::Operation),
        DELETED => return Some(SortKey::Deleted),
        _ => {}
    }
    // What merely begins with the node's name may be of another kind: it can be as short as `v`.
    match text.strip_prefix(node) {
        Some("") => return Some(SortKey::Node),
        Some(rest) if rest.starts_with('#') => return parse_ancestor(&rest[1..]),
        _ => {}
    }
    if let Some(rest) = text.strip_prefix(PATH) {
        return parse_path(rest);
    }
    if let Some(id) = text.strip_prefix(ROOT) {
        return Id::new(id).ok().map(SortKey::Root);
    }
    if let Some(id) = text.strip_prefix(ORPHAN) {
        return Id::new(id).ok().map(SortKey::Orphan);
    }
    if let Some(part) = text.strip_prefix(IDEMPOTENCY) {
        let is_part = part.len() == 4 && part.bytes().all(|b| b.is_ascii_digit());
        return part.parse().ok().filter(|_| is_part).map(|part| SortKey::Idempotency { part });
    }
    if let Some(topic) = text.strip_prefix(LATEST) {
        return Some(SortKey::Latest { topic: topic.to_owned() });
    }
    let (prefix, topic) = text.split_once('_')?;
    let version = Version::parse_prefix(prefix)?;
    Some(SortKey::Revision { version, topic: topic.to_owned() })
}

fn parse_ancestor(rest: &str) -> Option<SortKey> {
    let (depth, id) = rest.split_once('#')?;
    if depth.len() != 4 || !depth.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let depth = depth.parse().ok().filter(|depth| (1..=DEPTH_MAX).contains(depth))?;
    Some(SortKey::Ancestor { depth, id: Id::new(id).ok()? })
}

fn decode(text: &str) -> Option<String> {
    SEGMENT.unescape_part(text).ok().map(std::borrow::Cow::into_owned)
}

fn parse_path(rest: &str) -> Option<SortKey> {
    let (parents, last) = rest.rsplit_once('#').map_or((None, rest), |(parents, last)| (Some(parents), last));
    let (last, id) = match last.split_once('!') {
        Some((segment, id)) => (segment, Some(Id::new(decode(id)?).ok()?)),
        None => (last, None),
    };
    let segments = parents.into_iter().flat_map(|p| p.split('#')).chain([last]);
    let segments: Vec<String> = segments
        .map(|segment| decode(segment).filter(|segment| check_segment(segment).is_ok()))
        .collect::<Option<_>>()?;
    Some(SortKey::Path { segments, id })
}

/// Every row from depth `from` to depth `to` below a node; from 0 the node itself is the first of them.
pub(super) fn depth_range(node: &str, from: usize, to: usize) -> SortRange {
    let start = if from == 0 { node.to_owned() } else { format!("{node}#{from:04}#") };
    SortRange { from: start, to: format!("{node}#{to:04}{PAST_SEPARATOR}") }
}

/// The rows of one depth whose id begins so.
pub(super) fn level_range(node: &str, depth: usize, id_prefix: &str) -> Result<SortRange, KeyError> {
    beginning_with(format!("{}{id_prefix}", depth_range(node, depth, depth).from))
}

/// The nodes at a path, whether their segment is explicit or not, and all that is below them.
pub(super) fn path_range(segments: &[String]) -> Result<SortRange, KeyError> {
    let from = write_path(segments, None)?;
    bounded("the sort key", &from, SORT_KEY_BYTES_MAX)?;
    let to = through(&from, PAST_SEPARATOR);
    Ok(SortRange { from, to })
}

/// The nodes at a path, and nothing below them.
pub(super) fn path_alone(segments: &[String]) -> Result<SortRange, KeyError> {
    let from = write_path(segments, None)?;
    bounded("the sort key", &from, SORT_KEY_BYTES_MAX)?;
    let to = through(&from, PAST_EXPLICIT);
    Ok(SortRange { from, to })
}

/// The end of the keys that begin with a path, up to a character past those that may follow it. Where no key is longer than
/// the path, nothing follows it.
fn through(path: &str, past: char) -> String {
    if path.len() < SORT_KEY_BYTES_MAX { format!("{path}{past}") } else { path.to_owned() }
}

/// What is below the nodes at a path, where the next segment is from one text to another, both included.
pub(super) fn path_between(above: &[String], from: Option<&str>, to: Option<&str>) -> Result<SortRange, KeyError> {
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

/// Every revision, of whatever topic; `v0_` copies lie among them.
pub(super) fn revision_range() -> SortRange {
    SortRange { from: "v00".to_owned(), to: "vd".to_owned() }
}

/// The copies of the newest revisions of the topics that begin so.
pub(super) fn latest_range(topic_prefix: &str) -> Result<SortRange, KeyError> {
    beginning_with(format!("{LATEST}{topic_prefix}"))
}

/// The list of all trees.
pub(super) fn root_range() -> SortRange {
    SortRange { from: ROOT.to_owned(), to: ROOT.replace('#', "$") }
}

/// Every entry of the register of orphans.
pub(super) fn orphan_range() -> SortRange {
    SortRange { from: ORPHAN.to_owned(), to: ORPHAN.replace('#', "$") }
}

/// All sort keys that begin so: up to the last text that a sort key has room for. (The prefix with its last character
/// counted up would be a key of its own, and a Query's range includes its ends.)
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
