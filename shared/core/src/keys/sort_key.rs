//! The sort keys of the table: a variant for each kind of item.

use std::borrow::Cow;

use super::error::{KeyError, bounded, check_segment};
use super::{DEPTH_MAX, Id, SORT_KEY_BYTES_MAX, SiblingPlace, TrashTime, Version};
use sapwood_keys::Format;

/// The kind of an item, and the parts of its sort key. [`Schema::sort_key`](super::Schema::sort_key) writes it and
/// [`Schema::parse_sort_key`](super::Schema::parse_sort_key) reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum SortKey {
    /// `NODE`: a node's base record.
    Node,
    /// `NODE#0001#<id>`: the row of a node in an ancestor's partition, so many levels below it, 1 to [`DEPTH_MAX`].
    Ancestor { depth: usize, id: Id },
    /// `PATH#<segment>#…`: the row of a node by its path, from the root's child to the node itself. An explicit
    /// segment of the node has its id behind it, `<segment>!<id>`, so that siblings of one name don't overwrite each
    /// other.
    Path { segments: Vec<String>, id: Option<Id> },
    /// `ROOT#<id>`: the row of a node without a parent, in the list of all trees.
    Root(Id),
    /// `ORPHAN#<id>`: a node whose parent doesn't exist, in the register of orphans.
    Orphan(Id),
    /// `CHILD#<place>#<id>`: a node among its siblings, in the partition of its parent.
    Child { place: SiblingPlace, id: Id },
    /// `ORDERED#<place>#<id>`: a node without a parent, in the ordered list of all trees.
    OrderedRoot { place: SiblingPlace, id: Id },
    /// `LINK#<attribute>#<id>`: a node, in the partition of another that it names in an attribute. That has no `#`.
    Link { attribute: String, id: Id },
    /// `TRASH#<time>#<id>`: a node that was put into the trash, in the list of all of these.
    Trash { at: TrashTime, id: Id },
    /// `NAME#<name>`: the claim of a name, as names are compared, among the children of the partition's node.
    Name(String),
    /// `ROOTNAME#<name>`: the claim of a name among the nodes without a parent, in the list of all trees.
    RootName(String),
    /// `LINEAGE`: a node's lineage, or the tombstone of a deleted node.
    Lineage,
    /// `CASCADE`: the cascade cursor of a wide node.
    Cascade,
    /// `OPERATION#<id>`: an operation of the API, in the list of all operations.
    Operation(String),
    /// `DELETED`: the record that the API has deleted the node of this partition.
    Deleted,
    /// `COUNTED`: what a node was counted as in the totals of its ancestors.
    Counted,
    /// `TOTALS#0000#00`: a part of a node's totals in an epoch: what is below it, as far as it was added to this lane,
    /// of which there are [`LANES`].
    Totals { epoch: u32, lane: u32 },
    /// `CHANGE#<stamp>#<id>`: a node's entry in a feed, in the feed's partition. The stamp has the 15 digits of the
    /// milliseconds since 1970.
    Change { stamp: u64, id: Id },
    /// `IDEMPOTENCY#0000`: a part, from 0, of the stored answer to a request with an `Idempotency-Key`, in its own
    /// partition.
    Idempotency { part: usize },
    /// `v001_<topic>`: a revision. The topic is free text.
    Revision { version: Version, topic: String },
    /// `v0_<topic>`: a copy of the topic's newest revision.
    Latest { topic: String },
}

impl SortKey {
    /// The id of the node that a row with this key shows. `None` for keys that no row has.
    #[must_use]
    pub fn shown(&self) -> Option<&str> {
        match self {
            Self::Ancestor { id, .. }
            | Self::Path { id: Some(id), .. }
            | Self::Root(id)
            | Self::Orphan(id)
            | Self::Child { id, .. }
            | Self::OrderedRoot { id, .. }
            | Self::Link { id, .. }
            | Self::Trash { id, .. } => Some(id.as_str()),
            Self::Path { segments, id: None } => segments.last().map(String::as_str),
            Self::Node
            | Self::Name(_)
            | Self::RootName(_)
            | Self::Lineage
            | Self::Cascade
            | Self::Operation(_)
            | Self::Deleted
            | Self::Counted
            | Self::Totals { .. }
            | Self::Change { .. }
            | Self::Idempotency { .. }
            | Self::Revision { .. }
            | Self::Latest { .. } => None,
        }
    }
}

/// The format of a segment in a path: all bytes up to `$`, and `%`, are escaped as `%XX`. All other bytes sort after
/// `$`. Therefore the separators `!` and `#` sort before any text, a subtree ends right before its prefix with `$`, and
/// escaped texts sort as the texts themselves.
const SEGMENT: Format<'_> = Format::SORT_KEY.escaping();

/// Longest name as names are compared, in bytes: a sort key's rest after the longer prefix. Ids and segments fit.
pub const NAME_BYTES_MAX: usize = SORT_KEY_BYTES_MAX - ROOT_NAME.len();

/// The byte after `#`. A prefix whose last `#` is replaced with it sorts after all keys that begin with the prefix.
pub(super) const PAST_SEPARATOR: char = '$';

pub(super) const PATH: &str = "PATH#";
pub(super) const ROOT: &str = "ROOT#";
pub(super) const ORPHAN: &str = "ORPHAN#";
pub(super) const CHILD: &str = "CHILD#";
pub(super) const ORDERED: &str = "ORDERED#";
pub(super) const LINK: &str = "LINK#";
pub(super) const TRASH: &str = "TRASH#";
pub(super) const NAME: &str = "NAME#";
const ROOT_NAME: &str = "ROOTNAME#";
pub(crate) const LINEAGE: &str = "LINEAGE";
pub(crate) const CASCADE: &str = "CASCADE";
pub(super) const OPERATION: &str = "OPERATION#";
const DELETED: &str = "DELETED";
const COUNTED: &str = "COUNTED";
pub(super) const TOTALS: &str = "TOTALS#";
pub(super) const CHANGE: &str = "CHANGE#";
const IDEMPOTENCY: &str = "IDEMPOTENCY#";
pub(super) const LATEST: &str = "v0_";
/// These are our own in one partition only. In others they are the owner's.
pub(super) const SETTINGS: &str = "SETTINGS";
pub(super) const AUDIT: &str = "AUDIT";
pub(super) const EPOCH: &str = "EPOCH";
pub(super) const EPOCH_COPY: &str = "EPOCH#COPY";
pub(super) const TRAIL: &str = "TRAIL#";
pub(super) const FEED: &str = "FEED";

/// The number of lanes of a node's totals. Writers that choose different lanes don't meet.
pub const LANES: u32 = 4;

/// Greatest epoch of totals: what four digits hold. After it comes 0.
pub const EPOCH_MAX: u32 = 9_999;

/// The sort keys, besides the node's own, that the event source filter passes to the handler.
const TRIGGERS: [&str; 2] = [LINEAGE, CASCADE];

/// Returns the prefixes of revisions' sort keys. Neither `v0_` nor `vacation` matches any of them.
pub(super) fn revision_prefixes() -> impl Iterator<Item = String> {
    let below_100 = (0..=9).map(|digit| format!("v0{digit}"));
    let rest = ["v", "va", "vb", "vc"].into_iter().flat_map(|v| (1..=9).map(move |digit| format!("{v}{digit}")));
    below_100.chain(rest)
}

pub(super) fn exact_triggers(node: &str) -> Vec<String> {
    std::iter::once(node).chain(TRIGGERS).map(str::to_owned).collect()
}

/// True for the sort keys of [`exact_triggers`], and for those that begin with one of [`revision_prefixes`].
pub(super) fn is_trigger(sk: &str, node: &str) -> bool {
    sk == node || TRIGGERS.contains(&sk) || begins_as_a_revision(sk)
}

/// True if a text begins with one of [`revision_prefixes`]. These begin with `v`, and most sort keys don't.
fn begins_as_a_revision(text: &str) -> bool {
    text.starts_with('v') && revision_prefixes().any(|prefix| text.starts_with(&prefix))
}

/// Checks that a node's sort key of this name can't be mistaken for another kind's.
pub(super) fn check_node_name(name: &str) -> Result<(), &'static str> {
    let alone = [LINEAGE, CASCADE, DELETED, COUNTED, SETTINGS, AUDIT, EPOCH, FEED, TRAIL.trim_end_matches('#')];
    let is_prefix = || PREFIXES.iter().any(|(prefix, _)| prefix.strip_suffix('#') == Some(name));
    if name.is_empty() {
        Err("it is empty")
    } else if name.contains(['#', PAST_SEPARATOR]) {
        Err("it holds a separator")
    } else if alone.contains(&name) || is_prefix() {
        Err("another kind of item has it")
    } else if name.starts_with(LATEST) || begins_as_a_revision(name) {
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
        SortKey::Child { place, id } => format!("{CHILD}{place}#{id}"),
        SortKey::OrderedRoot { place, id } => format!("{ORDERED}{place}#{id}"),
        SortKey::Link { attribute, id } => {
            bounded("the attribute of a link", attribute, SORT_KEY_BYTES_MAX)?;
            format!("{LINK}{attribute}#{id}")
        }
        SortKey::Trash { at, id } => format!("{TRASH}{}#{id}", at.as_str()),
        SortKey::Name(name) => format!("{NAME}{name}"),
        SortKey::RootName(name) => format!("{ROOT_NAME}{name}"),
        SortKey::Lineage => LINEAGE.to_owned(),
        SortKey::Cascade => CASCADE.to_owned(),
        SortKey::Operation(id) => format!("{OPERATION}{id}"),
        SortKey::Deleted => DELETED.to_owned(),
        SortKey::Counted => COUNTED.to_owned(),
        SortKey::Totals { epoch, lane } => format!("{TOTALS}{epoch:04}#{lane:02}"),
        SortKey::Change { stamp, id } => format!("{CHANGE}{stamp:015}#{id}"),
        SortKey::Idempotency { part } => format!("{IDEMPOTENCY}{part:04}"),
        SortKey::Revision { version, topic } => format!("{}_{topic}", version.prefix()),
        SortKey::Latest { topic } => format!("{LATEST}{topic}"),
    };
    bounded("the sort key", &text, SORT_KEY_BYTES_MAX)?;
    Ok(text)
}

pub(super) fn write_path(segments: &[String], id: Option<&Id>) -> Result<String, KeyError> {
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

/// The bytes of a segment, or of the id after it, in the key of a path row, where some characters are escaped.
#[must_use]
pub fn path_segment_bytes(segment: &str) -> usize {
    SEGMENT.escape_part(segment).len()
}

pub(super) fn parse(text: &str, node: &str) -> Option<SortKey> {
    if text.len() > SORT_KEY_BYTES_MAX {
        return None;
    }
    match text {
        LINEAGE => return Some(SortKey::Lineage),
        CASCADE => return Some(SortKey::Cascade),
        DELETED => return Some(SortKey::Deleted),
        COUNTED => return Some(SortKey::Counted),
        _ => {}
    }
    // A key that only begins with the node's name may be of another kind: the name can be as short as `v`.
    match text.strip_prefix(node) {
        Some("") => return Some(SortKey::Node),
        Some(rest) if rest.starts_with('#') => return parse_ancestor(&rest[1..]),
        _ => {}
    }
    if let Some((parse, rest)) = PREFIXES.iter().find_map(|(prefix, parse)| Some((parse, text.strip_prefix(prefix)?))) {
        return parse(rest);
    }
    let (prefix, topic) = text.split_once('_')?;
    let version = Version::parse_prefix(prefix)?;
    Some(SortKey::Revision { version, topic: topic.to_owned() })
}

type ParseRest = fn(&str) -> Option<SortKey>;

/// The prefixes of the kinds that have one, and how the rest of such a key is read. None begins with another.
const PREFIXES: [(&str, ParseRest); 14] = [
    (PATH, parse_path),
    (ROOT, |id| Id::new(id).ok().map(SortKey::Root)),
    (ORPHAN, |id| Id::new(id).ok().map(SortKey::Orphan)),
    (CHILD, |rest| parse_placed(rest).map(|(place, id)| SortKey::Child { place, id })),
    (ORDERED, |rest| parse_placed(rest).map(|(place, id)| SortKey::OrderedRoot { place, id })),
    (LINK, parse_link),
    (TRASH, parse_trash),
    (NAME, |name| Some(SortKey::Name(name.to_owned())).filter(|_| !name.is_empty())),
    (ROOT_NAME, |name| Some(SortKey::RootName(name.to_owned())).filter(|_| !name.is_empty())),
    (OPERATION, |id| Some(SortKey::Operation(id.to_owned()))),
    (IDEMPOTENCY, |part| Some(SortKey::Idempotency { part: digits(part, 4)? as usize })),
    (TOTALS, parse_totals),
    (CHANGE, parse_change),
    (LATEST, |topic| Some(SortKey::Latest { topic: topic.to_owned() })),
];

/// Reads a number that is written with exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_one = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

fn parse_totals(rest: &str) -> Option<SortKey> {
    let (epoch, lane) = rest.split_once('#')?;
    Some(SortKey::Totals { epoch: digits(epoch, 4)?, lane: digits(lane, 2)? })
}

fn parse_change(rest: &str) -> Option<SortKey> {
    let (stamp, id) = rest.split_once('#')?;
    let is_one = stamp.len() == 15 && stamp.bytes().all(|byte| byte.is_ascii_digit());
    Some(SortKey::Change { stamp: stamp.parse().ok().filter(|_| is_one)?, id: Id::new(id).ok()? })
}

fn parse_trash(rest: &str) -> Option<SortKey> {
    let (at, id) = rest.split_once('#')?;
    Some(SortKey::Trash { at: TrashTime::parse_any(at)?, id: Id::new(id).ok()? })
}

fn parse_ancestor(rest: &str) -> Option<SortKey> {
    let (depth, id) = rest.split_once('#')?;
    let depth = digits(depth, 4)? as usize;
    (1..=DEPTH_MAX).contains(&depth).then_some(SortKey::Ancestor { depth, id: Id::new(id).ok()? })
}

fn parse_link(rest: &str) -> Option<SortKey> {
    let (attribute, id) = rest.split_once('#')?;
    (!attribute.is_empty()).then_some(SortKey::Link { attribute: attribute.to_owned(), id: Id::new(id).ok()? })
}

fn parse_placed(rest: &str) -> Option<(SiblingPlace, Id)> {
    let (place, id) = rest.split_once('#')?;
    Some((SiblingPlace::parse(place)?, Id::new(id).ok()?))
}

/// True if a sort key has the prefix of a kind of rows.
pub(super) fn begins_as_row(text: &str) -> bool {
    [PATH, ROOT, ORPHAN, CHILD, ORDERED, LINK, TRASH].iter().any(|prefix| text.starts_with(prefix))
}

pub(super) fn escape_part(text: &str) -> Cow<'_, str> {
    SEGMENT.escape_part(text)
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
