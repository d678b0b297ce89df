//! What the API writes into a base record, and what must still hold of the record that was read.

use std::collections::BTreeMap;

use super::Refusal;
use super::command::{Content, Patch, ValueChange, is_of_nodes};
use super::request::Stamp;
use crate::keys::{ItemKey, Schema};
use crate::model::{
    AttributeValue, BORN, COPY_OF, COPYING, CREATED_AT, CREATED_BY, CopyMark, CopyOf, ITEM_BYTES_MAX, Item,
    JSON_BYTES_MAX, REVISION, TRASHED, UNDER, UPDATED_AT, UPDATED_BY, Under, WRITE, WRITE_BEFORE, item_bytes,
    json_bytes, number, text, times, times_written_next, with_key,
};
use crate::plan::conditions::{COMPARED_ATTRIBUTES_MAX, TooManyAttributes, own_unchanged, unchanged};
use crate::request::{Action, Condition, Update};

/// Bytes kept free in a record for the stream: a touch by a parent with the longest id, and the mark of a deletion.
pub const ROOM_BYTES: usize = 1_536;

/// Most bytes of the sort key that the mark of a copy has.
const AFTER_BYTES_MAX: usize = 1_024;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    pub(super) item: Item,
    pub(super) action: Action,
}

impl Draft {
    pub(super) fn put(key: ItemKey, item: Item, condition: Condition) -> Self {
        Self { action: Action::Put { key, item: item.clone(), condition }, item }
    }

    /// A record with these changes: `None` removes an attribute.
    pub(super) fn update(
        key: ItemKey,
        before: &Item,
        changes: BTreeMap<String, Option<AttributeValue>>,
        condition: Condition,
    ) -> Self {
        let update = update(changes);
        Self { item: update.of(before.clone()), action: Action::Update { key, update, condition } }
    }

    /// The same as the top of a copy. There must be room for what the mark says at its longest.
    pub(super) fn with_copying(self, mark: &CopyMark) -> Result<Self, Refusal> {
        let (mut longest, mut item) = (self.item.clone(), self.item);
        let of = CopyOf { operation: mark.operation.clone(), node: mark.source.clone() };
        let after = Some("x".repeat(AFTER_BYTES_MAX));
        longest.insert(COPYING.to_owned(), CopyMark { after, ..mark.clone() }.value());
        longest.insert(COPY_OF.to_owned(), of.value());
        Self { item: longest, action: self.action.clone() }.check()?;
        item.insert(COPYING.to_owned(), mark.value());
        item.insert(COPY_OF.to_owned(), of.value());
        let action = match self.action {
            Action::Put { key, condition, .. } => Action::Put { key, item: item.clone(), condition },
            other => other,
        };
        Ok(Self { item, action })
    }

    /// Checks that the record isn't too large, as an item and as JSON.
    pub(super) fn check(self) -> Result<Self, Refusal> {
        let (bytes, limit) = (item_bytes(&self.item), ITEM_BYTES_MAX - ROOM_BYTES);
        if bytes > limit {
            return Err(Refusal::TooLarge { bytes, limit });
        }
        let (bytes, limit) = (json_bytes(&self.item), JSON_BYTES_MAX);
        if bytes > limit { Err(Refusal::TooLongAsJson { bytes, limit }) } else { Ok(self) }
    }
}

/// The condition of a write that leaves nothing of the record that was read, or of none: that the record is
/// [as it was read](unchanged), by whomever it was written. An attempt may come late, after another client has put the
/// record anew. Of more attributes than one condition can compare our own count, unless with `strict`, because the
/// caller has named an entity tag.
pub(super) fn as_read(before: Option<&Item>, strict: bool, schema: &Schema) -> Result<Condition, TooManyAttributes> {
    match before.map(|item| (item, unchanged(item, strict, schema))) {
        None => Ok(Condition::Absent),
        Some((item, Err(_))) if !strict => Ok(own_unchanged(item, schema)),
        Some((_, condition)) => condition,
    }
}

pub(super) struct NodeRecord<'a> {
    pub(super) key: ItemKey,
    pub(super) before: Option<&'a Item>,
    pub(super) under: Option<Under>,
    /// True if the caller has named an entity tag.
    pub(super) strict: bool,
    pub(super) stamp: &'a Stamp,
    pub(super) schema: &'a Schema,
}

impl NodeRecord<'_> {
    /// The record with this content, in the place of one or of none.
    pub(super) fn whole(self, content: &Content) -> Result<Draft, Refusal> {
        let Self { key, before, under, strict, stamp, schema } = self;
        let names = schema.names();
        let mut item = base(&key, &content.attributes, before, stamp, schema);
        if let Some(under) = under {
            item.insert(names.parent.clone(), text(under.parent.as_str()));
            item.insert(UNDER.to_owned(), under.value());
        }
        // A record that another client has put has no life of its own. Its lineage has one.
        match before {
            None => _ = item.insert(BORN.to_owned(), text(&stamp.token)),
            // A copy goes on below its top, and says what it is a copy of.
            Some(before) => {
                let kept = [BORN, COPYING, COPY_OF].into_iter();
                item.extend(kept.filter_map(|name| Some((name.to_owned(), before.get(name)?.clone()))));
            }
        }
        if let Some(segment) = &content.segment {
            item.insert(names.segment.clone(), text(segment));
        }
        Draft::put(key, item, as_read(before, strict, schema)?).check()
    }

    /// The record with the changes of a patch. `None`: it doesn't change.
    pub(super) fn patched(self, patch: &Patch) -> Result<Option<Draft>, Refusal> {
        let (names, before) = (self.schema.names(), self.before.ok_or(Refusal::NotFound)?);
        let mut changes: BTreeMap<String, Option<AttributeValue>> = BTreeMap::new();
        for (name, change) in &patch.attributes {
            changes.insert(name.clone(), change.of(before.get(name).filter(|_| !patch.clears)));
        }
        if let Some(segment) = &patch.segment {
            changes.insert(names.segment.clone(), segment.as_ref().map(text));
        }
        if patch.parent.is_some() {
            let under = self.under.as_ref();
            changes.insert(names.parent.clone(), under.map(|under| text(under.parent.as_str())));
            changes.insert(UNDER.to_owned(), under.map(Under::value));
            // A write that names the parent takes the node out of the trash.
            changes.insert(TRASHED.to_owned(), None);
        }
        if patch.clears {
            return self.cleared(before, changes);
        }
        changes.retain(|name, value| before.get(name) != value.as_ref());
        if changes.is_empty() {
            return Ok(None);
        }
        let condition = patch_condition(patch, before, self.strict, self.schema)?;
        let stamps = stamped(Some(before), self.stamp).into_iter();
        changes.extend(stamps.filter(|(name, value)| before.get(name) != Some(value)).map(|(name, v)| (name, Some(v))));
        Draft::update(self.key, before, changes, condition).check().map(Some)
    }

    /// The record without the caller's attributes but for these changes. It is put whole: an update would have to name
    /// each attribute, and would leave what another client adds meanwhile.
    fn cleared(
        self,
        before: &Item,
        changes: BTreeMap<String, Option<AttributeValue>>,
    ) -> Result<Option<Draft>, Refusal> {
        let mut item = before.clone();
        item.retain(|name, _| is_of_nodes(name, self.schema));
        let mut item = update(changes).of(item);
        if item == *before {
            return Ok(None);
        }
        item.extend(stamped(Some(before), self.stamp));
        Draft::put(self.key, item, as_read(Some(before), self.strict, self.schema)?).check().map(Some)
    }

    /// The record of which nothing changes but the API's stamps.
    pub(super) fn stamped_again(self) -> Result<Draft, Refusal> {
        let before = self.before.ok_or(Refusal::NotFound)?;
        let condition = unchanged(before, self.strict, self.schema)?;
        let stamps = stamped(Some(before), self.stamp).into_iter().map(|(name, value)| (name, Some(value)));
        Draft::update(self.key, before, stamps.collect(), condition).check()
    }
}

/// A record with a caller's attributes and the API's own. docs/reference/table.md has examples.
pub(super) fn base(key: &ItemKey, attributes: &Item, before: Option<&Item>, stamp: &Stamp, schema: &Schema) -> Item {
    let mut item = with_key(key, schema);
    item.extend(attributes.clone());
    item.extend(stamped(before, stamp));
    item
}

/// The update that makes these changes: `None` removes an attribute.
fn update(changes: BTreeMap<String, Option<AttributeValue>>) -> Update {
    Update {
        remove: changes.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.clone()).collect(),
        set: changes.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        ..Update::default()
    }
}

/// The condition of a patch: what it doesn't name stays, so the record must be the one that was read. A map that is
/// merged is written whole, so it must be the same even where the API wrote the record.
fn patch_condition(
    patch: &Patch,
    before: &Item,
    strict: bool,
    schema: &Schema,
) -> Result<Condition, TooManyAttributes> {
    let mut condition = unchanged(before, strict, schema)?;
    if let Condition::All(conditions) = &mut condition {
        for (name, _) in patch.attributes.iter().filter(|(_, change)| matches!(change, ValueChange::Merge(_))) {
            let same = Condition::is(name, before.get(name).cloned());
            if !conditions.contains(&same) {
                conditions.push(same);
            }
        }
        let attributes = conditions.len() - 1;
        if attributes > COMPARED_ATTRIBUTES_MAX {
            return Err(TooManyAttributes { attributes });
        }
    }
    Ok(condition)
}

/// The attributes that the API keeps in every record that it writes.
pub(super) fn stamped(before: Option<&Item>, stamp: &Stamp) -> Item {
    let kept = |name: &str, new: &str| before.and_then(|item| item.get(name)).cloned().unwrap_or_else(|| text(new));
    let mut item = Item::from([
        (REVISION.to_owned(), number(times_written_next(before))),
        (CREATED_AT.to_owned(), kept(CREATED_AT, &stamp.at)),
        (CREATED_BY.to_owned(), kept(CREATED_BY, &stamp.by)),
        (UPDATED_AT.to_owned(), text(&stamp.at)),
        (UPDATED_BY.to_owned(), text(&stamp.by)),
    ]);
    stamp.mark(&mut item);
    let last = before.and_then(|item| item.get(WRITE)).cloned();
    item.extend(last.map(|last| (WRITE_BEFORE.to_owned(), last)));
    item
}

/// A time in seconds since 1970, or any whole number.
pub(super) fn seconds(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// A whole number in an item; 0 where there is none.
pub(super) fn number_in(item: &Item, name: &str) -> u64 {
    times(item, name) as u64
}
