//! The sort keys of the table: a variant for each kind of item.

use std::borrow::Cow;

use super::error::{KeyError, bounded, check_segment};
use super::{DEPTH_MAX, Id, SORT_KEY_BYTES_MAX, SiblingPlace, TrashTime, Version};
use sapwood_keys::Format;

/// The kind of an item, and the parts of its sort key. [`Schema::sort_key`](super::Schema::sort_key) writes it and
/// [`Schema::parse_sort_key`](super::Schema::parse_sort_key) reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SortKey {
    /// `NODE`: a node's base record.
    Node,
    /// `NODE#0001#<id>`: the row of a node in an ancestor's partition.
    Ancestor {
        /// The node's depth below the ancestor, 1 to [`DEPTH_MAX`].
        depth: usize,
        /// The node's id.
        id: Id,
    },
    /// `PATH#<segment>#…`: the row of a node by its path below the root.
    Path {
        /// The segments, from the root's child to the node itself.
        segments: Vec<String>,
        /// The node's id, if it has an explicit segment. The last segment is then written as `<segment>!<id>`, so that
        /// siblings of the same name don't overwrite each other.
        id: Option<Id>,
    },
    /// `ROOT#<id>`: the row of a node without a parent, in the list of all trees.
    Root(Id),
    /// `ORPHAN#<id>`: a node whose parent doesn't exist, in the register of orphans.
    Orphan(Id),
    /// `CHILD#<place>#<id>`: a node among its siblings, in the partition of its parent.
    Child {
        /// The node's place.
        place: SiblingPlace,
        /// The node's id.
        id: Id,
    },
    /// `ORDERED#<place>#<id>`: a node without a parent, in the ordered list of all trees.
    OrderedRoot {
        /// The node's place.
        place: SiblingPlace,
        /// The node's id.
        id: Id,
    },
    /// `LINK#<attribute>#<id>`: a node, in the partition of another that it names in an attribute.
    Link {
        /// The attribute, whose name has no `#`.
        attribute: String,
        /// The node's id.
        id: Id,
    },
    /// `TRASH#<time>#<id>`: a node that was put into the trash, in the list of all of these.
    Trash {
        /// When it was put there.
        at: TrashTime,
        /// The node's id.
        id: Id,
    },
    /// `NAME#<name>`: the claim of a name among the children of the partition's node. The name is as names are
    /// compared.
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
    /// `TOTALS#0000#00`: a part of a node's totals: what is below it, as far as it was added to this lane.
    Totals {
        /// The epoch of the totals.
        epoch: u32,
        /// The lane, below [`LANES`]. Nobody reads another one.
        lane: u32,
    },
    /// `IDEMPOTENCY#0000`: the stored answer to a request with an `Idempotency-Key`, in a partition of its own. A long
    /// answer has several parts.
    Idempotency {
        /// The part's index, from 0.
        part: usize,
    },
    /// `v001_<topic>`: a revision.
    Revision {
        /// The revision's number.
        version: Version,
        /// The revision's topic, free text.
        topic: String,
    },
    /// `v0_<topic>`: a copy of the topic's newest revision.
    Latest {
        /// The topic, free text.
        topic: String,
    },
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
            | Self::Idempotency { .. }
            | Self::Revision { .. }
            | Self::Latest { .. } => None,
        }
    }
}

/// A range of sort keys within one partition, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The format of a segment in a path: all bytes up to `$`, and `%`, are escaped as `%XX`. All other bytes sort after
/// `$`. Therefore the separators `!` and `#` sort before any text, a subtree ends right before its prefix with `$`, and
/// escaped texts sort as the texts themselves.
const SEGMENT: Format<'_> = Format::SORT_KEY.escaping();

/// Longest name as names are compared, in bytes: what a sort key leaves after the longer prefix. Every id and every
/// segment fits.
pub const NAME_BYTES_MAX: usize = SORT_KEY_BYTES_MAX - ROOT_NAME.len();

/// The byte after `#`. A prefix whose last `#` is replaced with it sorts after all keys that begin with the prefix.
const PAST_SEPARATOR: char = '$';

/// The byte after `!`, which no key contains. A path with it sorts after the nodes at that path, and before their
/// descendants.
const PAST_EXPLICIT: char = '"';

const PATH: &str = "PATH#";
const ROOT: &str = "ROOT#";
const ORPHAN: &str = "ORPHAN#";
const CHILD: &str = "CHILD#";
const ORDERED: &str = "ORDERED#";
const LINK: &str = "LINK#";
const TRASH: &str = "TRASH#";
const NAME: &str = "NAME#";
const ROOT_NAME: &str = "ROOTNAME#";
pub(crate) const LINEAGE: &str = "LINEAGE";
pub(crate) const CASCADE: &str = "CASCADE";
const OPERATION: &str = "OPERATION#";
const DELETED: &str = "DELETED";
const COUNTED: &str = "COUNTED";
const TOTALS: &str = "TOTALS#";
const IDEMPOTENCY: &str = "IDEMPOTENCY#";
const LATEST: &str = "v0_";
/// These are our own in one partition only. In others they are the owner's.
pub(super) const SETTINGS: &str = "SETTINGS";
pub(super) const AUDIT: &str = "AUDIT";
pub(super) const EPOCH: &str = "EPOCH";
pub(super) const EPOCH_COPY: &str = "EPOCH#COPY";
pub(super) const TRAIL: &str = "TRAIL#";

/// The number of lanes that a node's totals are the sum of. Writers of one node's totals that choose different lanes
/// don't meet.
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
    let reserved = [
        LINEAGE,
        CASCADE,
        DELETED,
        SETTINGS,
        AUDIT,
        "PATH",
        "ROOT",
        "ORPHAN",
        "CHILD",
        "ORDERED",
        "LINK",
        "OPERATION",
        "IDEMPOTENCY",
        "TRASH",
        "NAME",
        "ROOTNAME",
        COUNTED,
        "TOTALS",
        EPOCH,
        "TRAIL",
    ];
    if name.is_empty() {
        Err("it is empty")
    } else if name.contains(['#', PAST_SEPARATOR]) {
        Err("it holds a separator")
    } else if reserved.contains(&name) {
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

/// Returns how many bytes a segment, or the id after it, takes in the key of a path row, where some characters are
/// escaped.
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
    if let Some(rest) = text.strip_prefix(PATH) {
        return parse_path(rest);
    }
    if let Some(id) = text.strip_prefix(ROOT) {
        return Id::new(id).ok().map(SortKey::Root);
    }
    if let Some(id) = text.strip_prefix(ORPHAN) {
        return Id::new(id).ok().map(SortKey::Orphan);
    }
    if let Some(rest) = text.strip_prefix(CHILD) {
        return parse_placed(rest).map(|(place, id)| SortKey::Child { place, id });
    }
    if let Some(rest) = text.strip_prefix(ORDERED) {
        return parse_placed(rest).map(|(place, id)| SortKey::OrderedRoot { place, id });
    }
    if let Some(rest) = text.strip_prefix(LINK) {
        return parse_link(rest);
    }
    if let Some(rest) = text.strip_prefix(TRASH) {
        let (at, id) = rest.split_once('#')?;
        return Some(SortKey::Trash { at: TrashTime::parse_any(at)?, id: Id::new(id).ok()? });
    }
    if let Some(name) = text.strip_prefix(NAME) {
        return Some(SortKey::Name(name.to_owned())).filter(|_| !name.is_empty());
    }
    if let Some(name) = text.strip_prefix(ROOT_NAME) {
        return Some(SortKey::RootName(name.to_owned())).filter(|_| !name.is_empty());
    }
    if let Some(id) = text.strip_prefix(OPERATION) {
        return Some(SortKey::Operation(id.to_owned()));
    }
    if let Some(part) = text.strip_prefix(IDEMPOTENCY) {
        let is_part = part.len() == 4 && part.bytes().all(|b| b.is_ascii_digit());
        return part.parse().ok().filter(|_| is_part).map(|part| SortKey::Idempotency { part });
    }
    if let Some(rest) = text.strip_prefix(TOTALS) {
        let (epoch, lane) = rest.split_once('#')?;
        let number = |digits: &str, count: usize| {
            let is_one = digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_one)
        };
        return Some(SortKey::Totals { epoch: number(epoch, 4)?, lane: number(lane, 2)? });
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

fn parse_link(rest: &str) -> Option<SortKey> {
    let (attribute, id) = rest.split_once('#')?;
    (!attribute.is_empty()).then_some(SortKey::Link { attribute: attribute.to_owned(), id: Id::new(id).ok()? })
}

fn parse_placed(rest: &str) -> Option<(SiblingPlace, Id)> {
    let (place, id) = rest.split_once('#')?;
    Some((SiblingPlace::parse(place)?, Id::new(id).ok()?))
}

/// Returns a text as a part of a key that is between separators.
pub(super) fn escape_part(text: &str) -> Cow<'_, str> {
    SEGMENT.escape_part(text)
}

fn decode(text: &str) -> Option<String> {
    SEGMENT.unescape_part(text).ok().map(std::borrow::Cow::into_owned)
}

/// Returns the id of the node that a row with this key shows, however its path is spelled: only one spelling is a
/// handler's, and only that can be parsed. `None` for keys that no row has.
pub(super) fn shown(text: &str, node: &str) -> Option<String> {
    if let Some(key) = parse(text, node) {
        return key.shown().map(str::to_owned);
    }
    let last = text.strip_prefix(PATH)?.rsplit('#').next()?;
    unspelled(last.split_once('!').map_or(last, |(_, id)| id))
}

/// True if a sort key begins as that of a row, whether or not it can be one.
pub(super) fn begins_as_row(text: &str, node: &str) -> bool {
    let is_below = || text.strip_prefix(node).is_some_and(|rest| rest.starts_with('#'));
    [PATH, ROOT, ORPHAN, CHILD, ORDERED, LINK, TRASH].iter().any(|prefix| text.starts_with(prefix)) || is_below()
}

/// A part of a path, whatever is escaped in it.
fn unspelled(text: &str) -> Option<String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = match rest {
            [b'%', high, low, ..] => {
                digit(high).zip(digit(low)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    String::from_utf8(bytes).ok()
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

/// Returns the range of all rows from depth `from` to depth `to` below a node. From depth 0 on the node itself comes
/// first.
pub(super) fn depth_range(node: &str, from: usize, to: usize) -> SortRange {
    let start = if from == 0 { node.to_owned() } else { format!("{node}#{from:04}#") };
    SortRange { from: start, to: format!("{node}#{to:04}{PAST_SEPARATOR}") }
}

/// Returns the range of the rows of one depth whose ids begin with a prefix.
pub(super) fn level_range(node: &str, depth: usize, id_prefix: &str) -> Result<SortRange, KeyError> {
    beginning_with(format!("{}{id_prefix}", depth_range(node, depth, depth).from))
}

/// Returns the range of the nodes at a path, with explicit segments or not, and of all their descendants.
pub(super) fn path_range(segments: &[String]) -> Result<SortRange, KeyError> {
    let from = write_path(segments, None)?;
    bounded("the sort key", &from, SORT_KEY_BYTES_MAX)?;
    let to = through(&from, PAST_SEPARATOR);
    Ok(SortRange { from, to })
}

/// Returns the range of the nodes at a path, without their descendants.
pub(super) fn path_alone(segments: &[String]) -> Result<SortRange, KeyError> {
    let from = write_path(segments, None)?;
    bounded("the sort key", &from, SORT_KEY_BYTES_MAX)?;
    let to = through(&from, PAST_EXPLICIT);
    Ok(SortRange { from, to })
}

/// Returns the end of the range of keys that begin with a path: the path with a character that sorts after all that may
/// follow it. A path of the greatest length has nothing after it.
fn through(path: &str, past: char) -> String {
    if path.len() < SORT_KEY_BYTES_MAX { format!("{path}{past}") } else { path.to_owned() }
}

/// Returns the range of the descendants of a path whose next segment is from one text to another, both included.
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

/// Returns the range of all revisions of all topics. It includes the `v0_` copies.
pub(super) fn revision_range() -> SortRange {
    SortRange { from: "v00".to_owned(), to: "vd".to_owned() }
}

/// Returns the range of the `v0_` copies whose topics begin with a prefix.
pub(super) fn latest_range(topic_prefix: &str) -> Result<SortRange, KeyError> {
    beginning_with(format!("{LATEST}{topic_prefix}"))
}

/// Returns the range of the list of all trees.
pub(super) fn root_range() -> SortRange {
    SortRange { from: ROOT.to_owned(), to: ROOT.replace('#', "$") }
}

/// Which list of nodes in the order of their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedList {
    /// The children of a node.
    Children,
    /// All trees.
    Roots,
}

/// Ends a part of a place that has more than one. It sorts before all that a part can have.
pub(super) const PART_END: char = '!';

/// Returns the range of a list of nodes whose places are from one to another, both included.
pub(super) fn ordered_range(list: OrderedList, from: Option<&SiblingPlace>, to: Option<&SiblingPlace>) -> SortRange {
    let prefix = match list {
        OrderedList::Children => CHILD,
        OrderedList::Roots => ORDERED,
    };
    // A place that has more than one part begins so, too.
    let from = from.map_or_else(|| prefix.to_owned(), |place| format!("{prefix}{place}{PART_END}"));
    let to = to.map_or_else(|| prefix.replace('#', "$"), |place| format!("{prefix}{place}{PAST_SEPARATOR}"));
    SortRange { from, to }
}

/// Returns the range of a list of nodes whose places begin with another.
pub(super) fn ordered_prefix_range(list: OrderedList, prefix: &SiblingPlace) -> Result<SortRange, KeyError> {
    let from = ordered_range(list, Some(prefix), None).from;
    // Without the separator, which ends a place.
    beginning_with(from[..from.len() - 1].to_owned())
}

/// Returns the range of the links by an attribute from nodes whose ids begin with a prefix.
pub(super) fn link_range(attribute: &str, id_prefix: &str) -> Result<SortRange, KeyError> {
    beginning_with(format!("{LINK}{attribute}#{id_prefix}"))
}

/// Returns the range of the list of operations.
pub(super) fn operation_range() -> SortRange {
    SortRange { from: OPERATION.to_owned(), to: OPERATION.replace('#', "$") }
}

/// Returns the range of the claims of names below a node.
pub(super) fn name_range() -> SortRange {
    SortRange { from: NAME.to_owned(), to: NAME.replace('#', "$") }
}

/// Returns the range of a node's totals, of all epochs and lanes.
pub(super) fn totals_range() -> SortRange {
    SortRange { from: TOTALS.to_owned(), to: TOTALS.replace('#', "$") }
}

/// Returns the range of what was put into the trash from one time to another, both included.
pub(super) fn trash_range(from: Option<&TrashTime>, to: Option<&TrashTime>) -> SortRange {
    let from = from.map_or_else(|| TRASH.to_owned(), |at| format!("{TRASH}{}#", at.as_str()));
    let to = to.map_or_else(|| TRASH.replace('#', "$"), |at| format!("{TRASH}{}{PAST_SEPARATOR}", at.as_str()));
    SortRange { from, to }
}

/// Returns the range of the register of orphans.
pub(super) fn orphan_range() -> SortRange {
    SortRange { from: ORPHAN.to_owned(), to: ORPHAN.replace('#', "$") }
}

/// Returns the range of all sort keys that begin with a text, up to the last one that a sort key has room for. The next
/// greater prefix isn't a usable end: a Query's range includes its ends, and that prefix may itself be a key.
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
