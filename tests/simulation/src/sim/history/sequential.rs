//! What one call makes of one record, if nobody else is there: written anew, from docs/guides.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{AttributeValue, DeletionMode, Item};
use sapwood_engine::write::{
    Children, Command, Content, NewRevision, OnConflict, Patch, Request, Spot, Stamp, ValueChange,
};

use super::Asking;

/// The number and the topic of a revision's sort key.
pub(super) fn version(sk: &str) -> Option<(u32, &str)> {
    let (version, topic) = sk.strip_prefix('v')?.split_once('_')?;
    let number = version.trim_start_matches(['a', 'b', 'c']).parse().ok()?;
    (number > 0).then_some((number, topic))
}

/// A text attribute, or nothing.
pub(in crate::sim) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    match item.get(name) {
        Some(AttributeValue::S(text)) => text,
        _ => "",
    }
}

/// True if there is a record. What a repair puts back, to delete it again, counts as absent.
pub(in crate::sim) fn is_there(state: Option<&Item>) -> bool {
    state.is_some_and(|item| !item.contains_key("_put_back"))
}

/// True if a node's record can't be understood.
pub(in crate::sim) fn is_odd(item: &Item) -> bool {
    ["parent", "segment"].iter().any(|name| item.contains_key(*name) && text(item, name).is_empty())
}

/// True if the node is being deleted, by this operation if one is named.
pub(in crate::sim) fn is_marked(item: &Item, operation: Option<&str>) -> bool {
    let Some(AttributeValue::M(mark)) = item.get("_deleting") else { return false };
    operation.is_none_or(|operation| mark.get("operation") == Some(&AttributeValue::S(operation.to_owned())))
}

/// True if the node is the top of the copy that this operation makes.
pub(super) fn is_copying(item: &Item, operation: &str) -> bool {
    let Some(AttributeValue::M(mark)) = item.get("_copying") else { return false };
    mark.get("operation") == Some(&AttributeValue::S(operation.to_owned()))
}

/// A record without what the handler writes into it at any time.
pub(super) fn as_seen(item: &Item) -> BTreeMap<&String, &AttributeValue> {
    item.iter().filter(|(name, _)| !["_touched", "_redriven", "_copying"].contains(&name.as_str())).collect()
}

/// True if a record has come back to what it was, as far as the API looks. One that isn't there never has: `DELETED`
/// remembers it.
pub(super) fn is_back(before: Option<&Item>, now: Option<&Item>) -> bool {
    before.is_some() && before.map(as_seen) == now.map(as_seen)
}

/// A record without what Sapwood keeps in it.
pub(in crate::sim) fn users_own(item: &Item) -> BTreeMap<&String, &AttributeValue> {
    item.iter().filter(|(name, _)| !name.starts_with('_') && !matches!(name.as_str(), "PK" | "SK")).collect()
}

/// The node that a command is about.
pub(super) fn node(command: &Command) -> &NodeRef {
    match command {
        Command::Create { node, .. }
        | Command::Replace { node, .. }
        | Command::Patch { node, .. }
        | Command::Trash { node }
        | Command::Restore { node, .. }
        | Command::Copy { node, .. }
        | Command::Delete { node, .. } => node,
        Command::Append { topic, .. } | Command::Amend { topic, .. } | Command::DeleteRevision { topic, .. } => {
            &topic.node
        }
    }
}

/// The node whose parent is meant where a command names none.
pub(super) fn kept_parent_of(command: &Command) -> &Id {
    match command {
        Command::Copy { source, .. } => &source.id,
        command => &node(command).id,
    }
}

/// The key of the record that a command is about. An appended revision has none before it is written.
pub(super) fn key(command: &Command, schema: &Schema) -> Option<ItemKey> {
    match command {
        Command::Append { .. } => None,
        Command::Amend { topic, version, .. } | Command::DeleteRevision { topic, version } => {
            let number = version.number();
            Some(ItemKey::new(schema.partition(&topic.node), format!("v{number:03}_{}", topic.topic)))
        }
        _ => Some(schema.node_key(node(command))),
    }
}

/// True if this is the key of the record that was asked for.
pub(super) fn own_key(asking: &Asking, at: &ItemKey, schema: &Schema) -> bool {
    match asking {
        Asking::Import(_, item) => text(item, "PK") == at.pk && text(item, "SK") == at.sk,
        Asking::Api(command) => match &**command {
            Command::Append { topic, .. } => {
                schema.partition(&topic.node) == at.pk && version(&at.sk).is_some_and(|(_, of)| of == topic.topic)
            }
            command => key(command, schema).as_ref() == Some(at),
        },
    }
}

/// True if this is the key of a revision of the topic of which a command appends one with its node.
pub(super) fn is_appended_with(asking: &Asking, at: &ItemKey, schema: &Schema) -> bool {
    let Asking::Api(command) = asking else { return false };
    let Some(revision) = command.revision() else { return false };
    schema.partition(node(command)) == at.pk && version(&at.sk).is_some_and(|(_, of)| of == revision.topic)
}

/// Checks that a revision was made of none, as it was asked for.
pub(super) fn check_appended(
    asked: &NewRevision,
    stamp: &Stamp,
    before: Option<&Item>,
    after: Option<&Item>,
) -> Result<(), String> {
    match (before, after) {
        (None, Some(after)) if users_own(&asked.attributes) == users_own(after) => stamped(None, after, stamp),
        _ => Err(format!("another revision than was asked for: {before:?} to {after:?}")),
    }
}

/// The parent that a command names.
pub(super) fn parent(command: &Command) -> Option<&Id> {
    match command {
        Command::Create { content, .. } | Command::Replace { content, .. } => content.parent.as_ref(),
        Command::Patch { patch, .. } => patch.parent.as_ref()?.as_ref(),
        Command::Restore { parent, .. } | Command::Copy { parent, .. } => parent.as_ref()?.as_ref(),
        _ => None,
    }
}

/// What a record says of how its node was put into the trash, if it is there.
pub(in crate::sim) fn trashed(item: &Item) -> Option<Item> {
    match item.get("_trashed").filter(|_| !item.contains_key("parent") && is_there(Some(item)))? {
        AttributeValue::M(map) => Some(map.clone().into_iter().collect()),
        _ => Some(Item::new()),
    }
}

/// True if a call takes a node out of the trash to where it was.
pub(super) fn goes_back(command: &Command) -> bool {
    matches!(command, Command::Restore { parent: None, spot, .. } if spot.as_ref().is_none_or(|spot| spot.anchor().is_none()))
}

/// The parent that a command says its node is to have; `Some(None)` for a root. `None` where it says nothing of it.
pub(super) fn named_parent(command: &Command) -> Option<Option<&Id>> {
    match command {
        Command::Create { content, .. } | Command::Replace { content, .. } => {
            (!content.takes_parent).then_some(content.parent.as_ref())
        }
        Command::Patch { patch, .. } => patch.parent.as_ref().map(Option::as_ref),
        Command::Restore { parent, .. } | Command::Copy { parent, .. } => parent.as_ref().map(Option::as_ref),
        _ => None,
    }
}

/// The place that a command asks for.
pub(super) fn spot(command: &Command) -> Option<&Spot> {
    match command {
        Command::Create { content, .. } | Command::Replace { content, .. } => content.spot.as_ref(),
        Command::Patch { patch, .. } => patch.spot.as_ref(),
        Command::Restore { spot, .. } | Command::Copy { spot, .. } => spot.as_ref(),
        _ => None,
    }
}

/// The value that a command gives an attribute.
pub(super) fn given<'c>(command: &'c Command, name: &str) -> Option<&'c AttributeValue> {
    match command {
        Command::Create { content, .. } | Command::Replace { content, .. } => content.attributes.get(name),
        Command::Patch { patch, .. } => match patch.attributes.get(name) {
            Some(ValueChange::Set(value)) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// True if a value doesn't name nodes.
pub(super) fn is_no_link(value: &AttributeValue) -> bool {
    let is_id = |value: &AttributeValue| matches!(value, AttributeValue::S(id) if !id.is_empty());
    match value {
        AttributeValue::Ss(ids) => ids.iter().any(String::is_empty),
        AttributeValue::L(values) => !values.iter().all(is_id),
        AttributeValue::Null(_) => false,
        value => !is_id(value),
    }
}

/// True if a command leaves an attribute as it is, and answers what it has read of it.
pub(super) fn leaves(command: &Command, name: &str, order: Option<&str>) -> bool {
    let patch = match command {
        Command::Patch { patch, .. } => patch.clone(),
        Command::Trash { .. } => Patch { parent: Some(None), ..Patch::default() },
        Command::Restore { spot, on_conflict, .. } => {
            Patch { parent: Some(None), spot: spot.clone(), on_conflict: *on_conflict, ..Patch::default() }
        }
        _ => return false,
    };
    let is_placed = patch.spot.is_some() && Some(name) == order;
    let gets_parent = patch.parent.is_some() || patch.spot.as_ref().is_some_and(|spot| spot.anchor().is_some());
    let is_named = patch.segment.is_some() || patch.on_conflict == OnConflict::Rename;
    let is_own = name.starts_with('_') || name == "parent" && gets_parent || name == "segment" && is_named;
    !patch.clears && !is_own && !is_placed && !patch.attributes.contains_key(name)
}

/// True if a change gives a sibling another place, as a call with this stamp does that asks for a place, and changes
/// nothing else.
pub(super) fn makes_room(command: &Command, stamp: &Stamp, before: &Item, after: &Item, order: &str) -> bool {
    let ours = [order, "_rev", "_write", "_write_before", "_updated_at", "_updated_by"];
    let others = |item: &Item| -> Item {
        let others = item.iter().filter(|(name, _)| !ours.contains(&name.as_str()));
        others.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let is_counted = times(Some(after)) == times(Some(before)) + 1;
    let is_named = text(after, "_write") == stamp.token && text(after, "_updated_by") == stamp.by;
    let is_placed = matches!(after.get(order), Some(AttributeValue::S(_)));
    spot(command).is_some() && others(before) == others(after) && is_counted && is_named && is_placed
}

/// True if a node is on the side of a sibling that a place asks for. Numbers come before texts, and texts before nodes
/// without either; of equal ones the id decides.
pub(super) fn is_beside(node: &Item, spot: &Spot, anchor: &Item, order: &str) -> bool {
    let kind = |item: &Item| match item.get(order) {
        Some(AttributeValue::N(_)) => 0,
        Some(AttributeValue::S(_)) => 1,
        _ => 2,
    };
    let number = |item: &Item| match item.get(order) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap_or(0.0),
        _ => 0.0_f64,
    };
    let by_value = kind(node).cmp(&kind(anchor)).then(number(node).total_cmp(&number(anchor)));
    let by_text = by_value.then_with(|| text(node, order).cmp(text(anchor, order)));
    let side = by_text.then_with(|| text(node, "PK").cmp(text(anchor, "PK")));
    let wanted = if matches!(spot, Spot::Before(_)) { Ordering::Less } else { Ordering::Greater };
    text(node, "parent") == text(anchor, "parent") && side == wanted
}

/// True if a patch changes nothing of a record.
pub(super) fn stays(command: &Command, state: &Item) -> bool {
    if matches!(command, Command::Trash { .. }) {
        return trashed(state).is_some() && !state.contains_key("_deleting");
    }
    let renamed = renamed(command, Some(state), Some(state));
    let Command::Patch { patch, .. } = renamed.as_ref().unwrap_or(command) else { return false };
    if patch.revision.is_some() {
        return false;
    }
    let wanted = patched(patch, state, None);
    !state.contains_key("_deleting") && users_own(&wanted) == users_own(state)
}

/// Checks that a command makes `after` of `before`.
pub(super) fn check(
    command: &Command,
    request: &Request,
    before: Option<&Item>,
    after: Option<&Item>,
    order: Option<&str>,
) -> Result<(), String> {
    let fault = |what: &str| Err(format!("{what}: {before:?} to {after:?}"));
    // What a repair has put back counts as not there: a create may take its place, and nothing else.
    let before = before.filter(|item| !item.contains_key("_put_back"));
    if before.is_some_and(|item| item.contains_key("_deleting")) {
        return fault("written while it is being deleted");
    }
    let renamed = renamed(command, before, after);
    let command = renamed.as_ref().unwrap_or(command);
    let stamp = &request.stamp;
    let is_in_trash = before.and_then(trashed);
    let is_placed = named_parent(command).is_some() || spot(command).is_some();
    match command {
        Command::Restore { .. } if is_in_trash.is_none() => return fault("restored what isn't in the trash"),
        Command::Trash { .. } if is_in_trash.is_some() => return fault("put into the trash once more"),
        Command::Replace { .. } | Command::Patch { .. } if is_placed && is_in_trash.is_some() => {
            return fault("placed while it is in the trash");
        }
        Command::Delete { children: Children::With(DeletionMode::Adopt | DeletionMode::Detach), .. }
            if is_in_trash.is_some() =>
        {
            return fault("children of a node in the trash would be live");
        }
        _ => {}
    }
    match (command, before, after) {
        (Command::Create { content, .. }, None, Some(after)) | (Command::Replace { content, .. }, _, Some(after)) => {
            let mut wanted = whole(content, before, order);
            if content.spot.is_some() {
                take(&mut wanted, after, order);
            }
            if users_own(&wanted) != users_own(after) {
                return fault("not what was asked for");
            }
            stamped(before, after, stamp).and_then(|()| lives(before, after, stamp, content.parent.as_ref()))
        }
        (Command::Patch { patch, .. }, Some(old), Some(after)) => {
            let mut wanted = patched(patch, old, order);
            if patch.spot.is_some() {
                take(&mut wanted, after, order);
            }
            // Next to another node, without a parent, it gets that one's.
            let takes_parent =
                patch.parent.is_none() && patch.spot.as_ref().is_some_and(|spot| spot.anchor().is_some());
            if takes_parent {
                take(&mut wanted, after, Some("parent"));
            }
            if users_own(&wanted) != users_own(after) {
                return fault("not what was asked for");
            }
            if (patch.parent.is_some() || takes_parent) && after.contains_key("_trashed") {
                return fault("placed, and still said to be in the trash");
            }
            let parent = patch.parent.as_ref().and_then(Option::as_ref);
            // What it gets can be what another client has written meanwhile.
            let stays = patch.parent.is_none() && !takes_parent && old.get("parent") == after.get("parent");
            if stays && old.get("_under") != after.get("_under") {
                return fault("`_under` changed");
            }
            stamped(before, after, stamp).and_then(|()| lives(before, after, stamp, parent))
        }
        (Command::Copy { operation, source, .. }, None, Some(after)) => {
            if !is_copying(after, operation) || after.contains_key("_trashed") {
                return fault("not the top of a copy");
            }
            let of = match after.get("_copy_of") {
                Some(AttributeValue::M(of)) => of.get("node").cloned(),
                _ => None,
            };
            if of != Some(AttributeValue::S(source.id.to_string())) {
                return fault("a copy of another node");
            }
            stamped(before, after, stamp).and_then(|()| lives(before, after, stamp, parent(command)))
        }
        (Command::Trash { .. }, Some(old), Some(after)) => {
            let mut wanted = old.clone();
            wanted.remove("parent");
            let says = trashed(after).unwrap_or_default();
            let is_said = text(&says, "at") == stamp.at && text(&says, "by") == stamp.by;
            let is_kept = text(&says, "parent") == text(old, "parent") && !after.contains_key("_under");
            if users_own(&wanted) != users_own(after) || !is_said || !is_kept {
                return fault("not as what is put into the trash");
            }
            stamped(before, after, stamp).and_then(|()| lives(before, after, stamp, None))
        }
        (Command::Restore { parent, segment, spot, .. }, Some(old), Some(after)) => {
            let mut wanted = old.clone();
            if let Some(segment) = segment {
                set(&mut wanted, "segment", Some(AttributeValue::S(segment.clone())));
            }
            let was = is_in_trash.as_ref().map_or("", |says| text(says, "parent"));
            let was = (!was.is_empty()).then(|| AttributeValue::S(was.to_owned()));
            let takes_parent = parent.is_none() && spot.as_ref().is_some_and(|spot| spot.anchor().is_some());
            match parent {
                Some(parent) => set(&mut wanted, "parent", parent.as_ref().map(|id| AttributeValue::S(id.to_string()))),
                None if takes_parent => take(&mut wanted, after, Some("parent")),
                None => set(&mut wanted, "parent", was),
            }
            if spot.is_some() {
                take(&mut wanted, after, order);
            }
            if users_own(&wanted) != users_own(after) || after.contains_key("_trashed") {
                return fault("not as it was");
            }
            let parent = Id::new(text(after, "parent")).ok();
            let says = |name: &str| is_in_trash.as_ref().map_or("", |says| text(says, name)).to_owned();
            let under = match after.get("_under") {
                Some(AttributeValue::M(under)) => under.clone().into_iter().collect(),
                _ => Item::new(),
            };
            if goes_back(command) && !says("born").is_empty() && says("born") != text(&under, "born") {
                return fault("back under another life of its parent");
            }
            stamped(before, after, stamp).and_then(|()| lives(before, after, stamp, parent.as_ref()))
        }
        (Command::Delete { children: Children::Restrict, revisions: false, .. }, Some(_), None)
        | (Command::DeleteRevision { .. }, Some(_), None) => Ok(()),
        (Command::Delete { operation, .. }, Some(before), Some(after)) => {
            let mut unmarked = after.clone();
            unmarked.remove("_deleting");
            if is_marked(after, Some(operation)) && unmarked == *before { Ok(()) } else { fault("not marked") }
        }
        (Command::Append { attributes, .. }, None, Some(after))
        | (Command::Amend { attributes, .. }, Some(_), Some(after)) => {
            if users_own(attributes) != users_own(after) {
                return fault("not what was asked for");
            }
            stamped(before, after, stamp)
        }
        _ => fault("a change that wasn't asked for"),
    }
}

/// The command with the name that its node has got in the place of one that was taken.
fn renamed(command: &Command, before: Option<&Item>, after: Option<&Item>) -> Option<Command> {
    let had = || before.map(|item| text(item, "segment")).filter(|name| !name.is_empty()).map(str::to_owned);
    let mut command = command.clone();
    let (node, wanted, (conflict, segment)) = match &mut command {
        Command::Create { node, content, .. } | Command::Replace { node, content } => {
            (node, content.segment.clone(), (content.on_conflict, Segment::Own(&mut content.segment)))
        }
        Command::Patch { node, patch } => {
            let wanted = patch.segment.clone().unwrap_or_else(had);
            (node, wanted, (patch.on_conflict, Segment::Changed(&mut patch.segment)))
        }
        Command::Restore { node, segment, on_conflict, .. } => {
            (node, segment.clone().or_else(had), (*on_conflict, Segment::Own(segment)))
        }
        _ => return None,
    };
    let wanted = wanted.unwrap_or_else(|| node.id.to_string());
    let name = text(after?, "segment");
    let number = name.strip_prefix(&wanted)?.strip_prefix(" (")?.strip_suffix(')')?;
    if conflict != OnConflict::Rename || number.parse().map_or(true, |number: u32| number < 2) {
        return None;
    }
    match segment {
        Segment::Own(segment) => *segment = Some(name.to_owned()),
        Segment::Changed(segment) => *segment = Some(Some(name.to_owned())),
    }
    Some(command)
}

enum Segment<'a> {
    Own(&'a mut Option<String>),
    Changed(&'a mut Option<Option<String>>),
}

/// What a node's record becomes, without what Sapwood keeps in it.
fn whole(content: &Content, before: Option<&Item>, order: Option<&str>) -> Item {
    let mut item = content.attributes.clone();
    item.extend(content.parent.as_ref().map(|parent| ("parent".to_owned(), AttributeValue::S(parent.to_string()))));
    item.extend(content.segment.clone().map(|segment| ("segment".to_owned(), AttributeValue::S(segment))));
    // The place among siblings that are ordered by hand stays, if the caller doesn't name it.
    if let (Some(order), Some(before)) = (order, before)
        && !item.contains_key(order)
    {
        take(&mut item, before, Some(order));
    }
    item
}

fn patched(patch: &Patch, before: &Item, order: Option<&str>) -> Item {
    let mut item = before.clone();
    if patch.clears {
        item.retain(|name, _| name.starts_with('_') || matches!(name.as_str(), "PK" | "SK" | "parent" | "segment"));
        take(&mut item, before, order);
    }
    for (name, change) in &patch.attributes {
        let value = changed(change, item.get(name));
        set(&mut item, name, value);
    }
    if let Some(segment) = &patch.segment {
        set(&mut item, "segment", segment.clone().map(AttributeValue::S));
    }
    if let Some(parent) = &patch.parent {
        set(&mut item, "parent", parent.as_ref().map(|parent| AttributeValue::S(parent.to_string())));
    }
    item
}

/// RFC 7396, for one value.
fn changed(change: &ValueChange, value: Option<&AttributeValue>) -> Option<AttributeValue> {
    match change {
        ValueChange::Remove => None,
        ValueChange::Set(value) => Some(value.clone()),
        ValueChange::Merge(changes) => {
            let mut item = match value {
                Some(AttributeValue::M(map)) => map.clone().into_iter().collect(),
                _ => Item::new(),
            };
            for (name, change) in changes {
                let value = changed(change, item.get(name));
                set(&mut item, name, value);
            }
            Some(AttributeValue::M(item.into_iter().collect()))
        }
    }
}

fn set(item: &mut Item, name: &str, value: Option<AttributeValue>) {
    match value {
        Some(value) => item.insert(name.to_owned(), value),
        None => item.remove(name),
    };
}

/// Takes an attribute as another record has it.
fn take(item: &mut Item, from: &Item, name: Option<&str>) {
    if let Some(name) = name {
        set(item, name, from.get(name).cloned());
    }
}

/// How often the API has written a record.
fn times(item: Option<&Item>) -> u64 {
    match item.and_then(|item| item.get("_rev")) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap_or(0),
        _ => 0,
    }
}

/// Checks what the API keeps in every record that it writes.
fn stamped(before: Option<&Item>, after: &Item, stamp: &Stamp) -> Result<(), String> {
    let created = before.map_or("", |before| text(before, "_created_at"));
    let created = if created.is_empty() { &stamp.at } else { created };
    let is_right = times(Some(after)) == times(before) + 1
        && text(after, "_write") == stamp.token
        && text(after, "_updated_at") == stamp.at
        && text(after, "_updated_by") == stamp.by
        && text(after, "_created_at") == created;
    if is_right { Ok(()) } else { Err(format!("wrong stamps: {before:?} to {after:?}")) }
}

/// Checks the life of a node, and which parent it says that it is under.
fn lives(before: Option<&Item>, after: &Item, stamp: &Stamp, parent: Option<&Id>) -> Result<(), String> {
    let born = match before {
        None => stamp.token.as_str(),
        Some(before) => text(before, "_born"),
    };
    let under = match after.get("_under") {
        Some(AttributeValue::M(under)) => under.get("parent").cloned(),
        _ => None,
    };
    let is_under = parent.is_none_or(|parent| under == Some(AttributeValue::S(parent.to_string())));
    if text(after, "_born") == born && is_under { Ok(()) } else { Err(format!("wrong lives: {before:?} to {after:?}")) }
}
