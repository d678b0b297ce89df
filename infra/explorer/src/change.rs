//! What a record of the table's stream says of the nodes below one, or of its newest revisions.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

use sapwood_core::keys::{ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{BaseNode, Item, PUT_BACK, VERSION, is_truncated, row_parent, text_of, whole_of};
use sapwood_json::Attributes;
use serde::Serialize;
use serde_json::{Value, json};

/// Most attributes that a page gets of a change, and most characters of each.
const BRIEF_ATTRIBUTES: usize = 6;
const BRIEF_CHARACTERS: usize = 80;

/// The node that is watched, and how much of it.
pub struct Watched<'a> {
    /// The node.
    pub node: &'a NodeRef,
    /// The schema of the table's keys.
    pub schema: &'a Schema,
    /// How many levels below it are watched.
    pub depth_max: usize,
    /// True if the node's newest revisions are watched, and not what is below it.
    pub revisions: bool,
}

/// A change of a node or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is there now.
    Came,
    /// It has other attributes, or another parent.
    Changed,
    /// It isn't there any more.
    Went,
}

/// A change, in the words of the command's JSON.
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    /// What became of it.
    pub kind: Kind,
    #[serde(flatten)]
    of: Of,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Seen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Seen>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Of {
    Node { id: String, depth: usize },
    Topic { id: String, topic: String },
}

/// Its attributes before or after.
#[derive(Debug, PartialEq, Serialize)]
struct Seen {
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<usize>,
    attributes: Attributes,
    /// True if the row had no room for the attributes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Watched<'_> {
    /// Returns what a record says. `None` for one of something else, and for one that changes nothing of what is seen.
    pub fn change(&self, key: &ItemKey, old: Option<&Item>, new: Option<&Item>) -> Option<Change> {
        if key.pk != self.schema.partition(self.node) {
            return None;
        }
        let of = match self.schema.parse_sort_key(&key.sk)? {
            SortKey::Ancestor { depth, id } if !self.revisions && depth <= self.depth_max => {
                Of::Node { id: id.to_string(), depth }
            }
            SortKey::Node if !self.revisions => Of::Node { id: self.node.id.to_string(), depth: 0 },
            SortKey::Latest { topic } if self.revisions => Of::Topic { id: self.node.id.to_string(), topic },
            _ => return None,
        };
        // A record that a repair has put back counts as not there.
        let seen = |item: &&Item| !item.contains_key(PUT_BACK);
        let [before, after] = [old, new].map(|item| item.filter(seen).map(|item| self.seen(item)));
        let kind = match (&before, &after) {
            (None, None) => return None,
            (None, Some(_)) => Kind::Came,
            (Some(_), None) => Kind::Went,
            (Some(before), Some(after)) if before == after => return None,
            (Some(_), Some(_)) => Kind::Changed,
        };
        Some(Change { kind, of, before, after })
    }

    fn seen(&self, item: &Item) -> Seen {
        let truncated = is_truncated(item);
        if self.revisions {
            let (version, attributes) = (whole_of(item, VERSION), Attributes::of_revision(item, self.schema));
            return Seen { parent: None, segment: None, version, attributes, truncated };
        }
        let attributes = Attributes::of_node(item, self.schema);
        let parent = row_parent(item).or_else(|| BaseNode::parent_in(item, self.node, self.schema));
        let segment = text_of(item, &self.schema.names().segment).map(str::to_owned);
        Seen { parent: parent.map(|id| id.to_string()), segment, version: None, attributes, truncated }
    }
}

impl Change {
    /// A line for people. `shown` makes a text of a table's owner safe to print.
    pub fn line(&self, shown: fn(&str) -> Cow<'_, str>) -> String {
        let kind = format!("{:?}", self.kind).to_lowercase();
        let last = self.after.as_ref().or(self.before.as_ref());
        let parent = last.and_then(|seen| seen.parent.as_ref());
        let mut line = match &self.of {
            Of::Node { id, depth } => format!("{kind:<8} {}  {depth} below", shown(id)),
            Of::Topic { topic, .. } => format!("{kind:<8} {}", shown(topic)),
        };
        // Writing into a string can't fail.
        if let Some(parent) = parent {
            let _ = write!(line, ", under {}", shown(parent));
        }
        if let Some(version) = last.and_then(|seen| seen.version) {
            let _ = write!(line, "  version {version}");
        }
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            if let Some(was) = before.parent.as_ref().filter(|_| before.parent != after.parent) {
                let _ = write!(line, " (was under {})", shown(was));
            }
            if let Some(was) = before.version.filter(|_| before.version != after.version) {
                let _ = write!(line, " (was {was})");
            }
        }
        for (name, before, after) in self.attributes() {
            let name = shown(name);
            let _ = match (self.kind, before, after) {
                (Kind::Changed, before, after) => {
                    write!(line, "  {name}: {} → {}", text(shown, before), text(shown, after))
                }
                (_, before, after) => write!(line, "  {name}={}", text(shown, after.or(before))),
            };
        }
        line
    }

    /// Returns a node's change for a page: its first attributes, and the beginnings of their values.
    pub fn brief(&self) -> Option<Value> {
        let Of::Node { id, depth } = &self.of else { return None };
        let parent = |seen: &Option<Seen>| seen.as_ref()?.parent.clone();
        let (was, is) = (parent(&self.before), parent(&self.after));
        let cut = |text: String| match text.char_indices().nth(BRIEF_CHARACTERS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        let differing = self.attributes();
        let attributes = differing
            .iter()
            .take(BRIEF_ATTRIBUTES)
            .cloned()
            .map(|(name, before, after)| json!([cut(name.to_owned()), before.map(cut), after.map(cut)]));
        Some(json!({
            "kind": self.kind, "id": id, "depth": depth, "was": was, "parent": is,
            "attributes": attributes.collect::<Vec<_>>(), "more": differing.len().saturating_sub(BRIEF_ATTRIBUTES),
        }))
    }

    /// The attributes that differ, the segment first, each with what it was and what it is.
    fn attributes(&self) -> Vec<(&str, Option<String>, Option<String>)> {
        let both = [&self.before, &self.after].map(Option::as_ref);
        let [was, is] = both.map(|seen| Some(Value::from(seen?.segment.as_deref()?).to_string()));
        let items = both.map(|seen| seen.map(|seen| &seen.attributes.0));
        let [before, after] = items;
        let names: BTreeSet<&String> = items.into_iter().flatten().flat_map(|item| item.keys()).collect();
        let value = |item: Option<&Item>, name: &String| {
            let value = item?.get(name)?.clone();
            // As text: a value of serde_json's would have fewer digits.
            let json = serde_json::to_string(&Attributes([(String::new(), value)].into())).ok()?;
            Some(json.strip_prefix("{\"\":")?.strip_suffix('}')?.to_owned())
        };
        let values = names.into_iter().map(|name| (name.as_str(), value(before, name), value(after, name)));
        std::iter::once(("segment", was, is)).chain(values).filter(|(_, before, after)| before != after).collect()
    }
}

fn text(shown: fn(&str) -> Cow<'_, str>, value: Option<String>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |json| shown(&json).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use sapwood_core::keys::Id;
    use sapwood_core::model::{number, text as value};

    fn row(parent: &str, attributes: &[(&str, usize)]) -> Item {
        let own = attributes.iter().map(|(name, at)| ((*name).to_owned(), number(*at)));
        [("_parent".to_owned(), value(parent))].into_iter().chain(own).collect()
    }

    fn line(sk: &str, old: Option<&Item>, new: Option<&Item>, revisions: bool) -> Option<String> {
        let (node, schema) = (Id::new("V").unwrap().into(), Schema::default());
        let watched = Watched { node: &node, schema: &schema, depth_max: 2, revisions };
        watched.change(&ItemKey::new("V", sk), old, new).map(|change| change.line(|text| text.into()))
    }

    #[test]
    fn a_row_says_what_came_changed_and_went() {
        let (old, new) = (row("d", &[("size", 3), ("gone", 1)]), row("e", &[("size", 4)]));
        let said = |old, new| line("NODE#0002#i", old, new, false).unwrap();
        assert_eq!(said(None, Some(&new)), "came     i  2 below, under e  size=4");
        assert_eq!(said(Some(&old), None), "went     i  2 below, under d  gone=1  size=3");
        let changed = "changed  i  2 below, under e (was under d)  gone: 1 → nothing  size: 3 → 4";
        assert_eq!(said(Some(&old), Some(&new)), changed);
    }

    #[test]
    fn the_node_itself_is_watched_at_the_depth_0() {
        let record = |parent: Option<&str>, name: &str, touched: usize| {
            let parent = parent.map(|parent| ("parent".to_owned(), value(parent)));
            let own = [("segment".to_owned(), value(name)), ("_touched".to_owned(), number(touched))];
            own.into_iter().chain(parent).collect::<Item>()
        };
        let (old, new) = (record(Some("D"), "a", 1), record(None, "b", 2));
        let said = line("NODE", Some(&old), Some(&new), false).unwrap();
        assert_eq!(said, "changed  V  0 below (was under D)  segment: \"a\" → \"b\"");
        assert_eq!(line("NODE", Some(&new), None, false).unwrap(), "went     V  0 below  segment=\"b\"");
        // What the handler writes into it, and what repairs put there for a moment, is nobody's news.
        assert_eq!(line("NODE", Some(&old), Some(&record(Some("D"), "a", 2)), false), None);
        assert_eq!(line("NODE", None, Some(&Item::from([(PUT_BACK.to_owned(), value("1"))])), false), None);
        assert_eq!(line("NODE", Some(&old), Some(&new), true), None);
    }

    #[test]
    fn what_is_not_asked_for_or_changes_nothing_is_not_said() {
        let row = row("d", &[]);
        for sk in ["NODE#0003#i", "PATH#d#i", "LINEAGE", "v0_Audit", "v001_Audit", "CHILD#n1#i"] {
            assert_eq!(line(sk, None, Some(&row), false), None, "{sk}");
        }
        assert_eq!(line("NODE#0001#i", Some(&row), Some(&row), false), None);
        let (node, schema) = (Id::new("V").unwrap().into(), Schema::default());
        let watched = Watched { node: &node, schema: &schema, depth_max: 2, revisions: false };
        assert_eq!(watched.change(&ItemKey::new("W", "NODE#0001#i"), None, Some(&row)), None);
    }

    #[test]
    fn a_page_gets_little_of_a_change() {
        let long = Item::from([("a".to_owned(), value("x".repeat(400_000))), ("_parent".to_owned(), value("d"))]);
        let many = (0..20).map(|at| (format!("b{at}"), number(at)));
        let long: Item = long.into_iter().chain(many).collect();
        let (node, schema) = (Id::new("V").unwrap().into(), Schema::default());
        let watched = Watched { node: &node, schema: &schema, depth_max: 2, revisions: false };
        let change = |old, new| watched.change(&ItemKey::new("V", "NODE#0001#i"), old, new).unwrap().brief().unwrap();
        let came = change(None, Some(&long));
        assert!(came.to_string().len() < 1_000, "{came}");
        assert_eq!((&came["kind"], &came["more"]), (&json!("came"), &json!(21 - BRIEF_ATTRIBUTES)));
        let moved = change(Some(&row("d", &[("size", 3)])), Some(&row("e", &[("size", 4)])));
        let expected = json!({"kind": "changed", "id": "i", "depth": 1, "was": "d", "parent": "e",
            "attributes": [["size", "3", "4"]], "more": 0});
        assert_eq!(moved, expected);
    }

    #[test]
    fn a_copy_says_which_version_is_the_newest() {
        let copy = |version, at| Item::from([("_version".to_owned(), number(version)), ("of".to_owned(), number(at))]);
        let said = line("v0_Audit", Some(&copy(1, 7)), Some(&copy(2, 7)), true).unwrap();
        assert_eq!(said, "changed  Audit  version 2 (was 1)");
        assert_eq!(line("NODE#0001#i", None, Some(&copy(1, 7)), true), None);
    }
}
