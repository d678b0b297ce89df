//! What a batch of stream records asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::latest::TopicChanges;
use crate::keys::{Id, ItemKey, NodeRef, SortKey};
use crate::model::{
    AttributeValue, BORN, BaseNode, CopyOf, DeletionMark, Item, Latest, LifeUnder, Placement, PutBy, REDRIVEN,
    Settings, Stored, TOUCHED, UNDER, has_mark, is_touch, is_undelete, padded, shows_no_mark, times_written,
};
use crate::plan::{Problem, Rule, Rules};

/// The kind of change of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The item didn't exist before and exists now.
    Insert,
    /// The item existed before and exists now.
    Modify,
    /// The item was deleted.
    Remove,
}

/// A record of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRecord {
    /// The item that changed.
    pub key: ItemKey,
    /// The record's sequence number, as the stream gave it.
    pub sequence: String,
    /// The kind of change.
    pub event: Event,
    /// The item before the change; `None` if it didn't exist, or the record has no such image.
    pub old: Option<Item>,
    /// The item after the change; `None` if it was deleted, or the record has no such image.
    pub new: Option<Item>,
}

impl StreamRecord {
    fn has_its_images(&self) -> bool {
        match self.event {
            Event::Insert => self.new.is_some(),
            Event::Modify => self.old.is_some() && self.new.is_some(),
            Event::Remove => self.old.is_some(),
        }
    }
}

/// Rows of a node that were acknowledged in this run.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The base record that the rows show.
    pub base: BaseNode,
    /// The placement whose rows stand.
    pub placement: Placement,
}

/// A node to place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placing {
    /// True if every record of the node in the batch is a touch.
    pub only_touched: bool,
    /// True if a record of the batch took the node's mark away, even with the node, or a redrive or repair found none.
    pub mark_went: bool,
    /// The `_under` that the records of the batch show to be stale, if one does.
    pub stale_under: Option<LifeUnder>,
    /// The source of the node, if it is a copy and its creation may be among the records.
    pub copy_of: Option<CopyOf>,
    /// The node as its newest record shows it.
    pub newest: NewestRecord,
    /// The sequence number of the node's newest record, padded to 40 digits.
    pub sequence: String,
    /// The parent in the node's newest record. Its lineage is read together with the node.
    pub likely_parent: Option<Id>,
    /// The position of the node's first record in the batch. The first is written first, because the stream is
    /// delivered again from the first record that isn't done.
    pub position: usize,
    /// Rows that an earlier round of this run has put. They are put again only if the base record has changed since.
    pub standing: Option<Arc<Standing>>,
}

/// A node as the newest record of a batch shows it.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum NewestRecord {
    /// The record has no images.
    #[default]
    Unknown,
    /// The node is gone.
    Gone,
    /// The node is there, with these attributes, the API had written it so often, and it may be being deleted.
    There {
        born: Option<AttributeValue>,
        under: Option<AttributeValue>,
        touched: Option<AttributeValue>,
        times_written: usize,
        has_mark: bool,
    },
}

impl NewestRecord {
    fn of(record: &StreamRecord) -> Self {
        if !record.has_its_images() {
            return Self::Unknown;
        }
        let Some(item) = &record.new else { return Self::Gone };
        let value = |name| item.get(name).cloned();
        Self::There {
            born: value(BORN),
            under: value(UNDER),
            touched: value(TOUCHED),
            times_written: times_written(Some(item)),
            has_mark: has_mark(Some(item)),
        }
    }

    /// False if this base record, without a mark, isn't the newest record's: then another one is on its way.
    #[must_use]
    pub fn may_be_of(&self, item: &Item) -> bool {
        match self {
            Self::Unknown => true,
            Self::Gone => false,
            Self::There { born, under, touched, times_written: written, has_mark } => {
                let is_same = [(BORN, born), (UNDER, under), (TOUCHED, touched)]
                    .into_iter()
                    .all(|(name, value)| item.get(name) == value.as_ref());
                is_same && !has_mark && times_written(Some(item)) == *written
            }
        }
    }
}

/// A change of a lineage that has to be handed down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageChange {
    /// The sequence number of the newest such change, padded to 40 digits.
    pub sequence: String,
    /// The nodes that the change concerns.
    pub kind: HandDown,
}

/// The nodes that a change of a lineage concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandDown {
    /// The lineage is new. Only orphans can have missed it, and the register lists them.
    ToOrphans,
    /// The node's placement changed. Its children are touched.
    ToChildren,
    /// The node was being deleted before or after the change. The present state decides what is done to its children.
    Deletion {
        /// True if the node's placement changed as well. Children that remain are then touched.
        touches: bool,
        /// True if a mark went, as the node was deleted or stays. The sign of a blocked deletion goes as well.
        mark_went: bool,
    },
}

impl HandDown {
    /// Joins two changes of one lineage in one batch.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::ToOrphans, Self::ToOrphans) => Self::ToOrphans,
            (
                Self::Deletion { touches, mark_went },
                Self::Deletion { touches: other_touches, mark_went: other_went },
            ) => Self::Deletion { touches: touches || other_touches, mark_went: mark_went || other_went },
            (Self::Deletion { mark_went, .. }, _) | (_, Self::Deletion { mark_went, .. }) => {
                Self::Deletion { touches: true, mark_went }
            }
            _ => Self::ToChildren,
        }
    }
}

/// The work that a batch of records asks for. Several records of one item ask for one piece of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Each item with the sequence number to report if the item fails: that of its first record in the batch.
    pub items: BTreeMap<ItemKey, String>,
    /// The nodes to place.
    pub placings: BTreeMap<NodeRef, Placing>,
    /// The lineages whose changes are handed down.
    pub cascades: BTreeMap<NodeRef, LineageChange>,
    /// The nodes whose cursors are continued.
    pub cursors: BTreeSet<NodeRef>,
    /// The topics whose copies may be wrong, each with what the records say of it.
    pub latests: BTreeMap<Latest, TopicChanges>,
    /// Faults of items that the records are about.
    pub problems: Vec<Problem>,
}

impl Batch {
    /// Reads a batch, in the stream's order. Records of keys outside the table's grammar, another application's, don't
    /// count.
    #[must_use]
    pub fn of(records: &[StreamRecord], settings: &Settings, rules: Rules) -> Self {
        let mut batch = Self::default();
        for (position, record) in records.iter().enumerate() {
            let Some(sort_key) = settings.schema.parse_sort_key(&record.key.sk) else { continue };
            let node = match settings.schema.parse_partition(&record.key.pk) {
                Ok(node) => node,
                Err(error) => {
                    let unreadable = matches!(sort_key, SortKey::Node | SortKey::Revision { .. });
                    batch.problems.push(Problem { key: record.key.clone(), reason: error.to_string(), unreadable });
                    continue;
                }
            };
            let first = batch.items.entry(record.key.clone()).or_insert_with(|| record.sequence.clone());
            if !rules.keeps(Rule::FailFirstRecord) {
                first.clone_from(&record.sequence);
            }
            match sort_key {
                SortKey::Node => batch.add_placing(node, record, position, settings, rules),
                SortKey::Lineage => batch.add_cascade(node, record, settings, rules),
                SortKey::Cascade => {
                    if record.event == Event::Remove {
                        batch.cursors.remove(&node);
                    } else {
                        batch.cursors.insert(node);
                    }
                }
                SortKey::Revision { version, topic } => {
                    let changes = batch.latests.entry(Latest { node, topic }).or_default();
                    changes.versions.insert(version);
                    changes.any_deleted |= record.event == Event::Remove;
                }
                // Rows, and what is the API's: the event source's filter keeps them back.
                _ => {}
            }
        }
        if !rules.keeps(Rule::CascadeAnyChange) {
            batch.keep_net_cascades(records, settings);
        }
        batch
    }

    fn add_placing(
        &mut self,
        node: NodeRef,
        record: &StreamRecord,
        position: usize,
        settings: &Settings,
        rules: Rules,
    ) {
        let (old, new) = (record.old.as_ref(), record.new.as_ref());
        let puts = rules.keeps(Rule::UndeletePuts) && is_undelete(old, new);
        let touched = record.event == Event::Modify && is_touch(old, new) && !puts;
        let likely_parent = new.and_then(|item| BaseNode::parent_in(item, &node, &settings.schema));
        let first = Placing { only_touched: touched, position, ..Placing::default() };
        let placing = self.placings.entry(node).or_insert(first);
        placing.only_touched = touched && (placing.only_touched || !rules.keeps(Rule::AllTouches));
        let went = (has_mark(old) && !has_mark(new)) || shows_no_mark(old, new);
        placing.mark_went |= rules.keeps(Rule::MarkReturned) && went;
        placing.newest = NewestRecord::of(record);
        // A redrive may stand for a creation that was lost.
        let is_redrive = old.and_then(|item| item.get(REDRIVEN)) != new.and_then(|item| item.get(REDRIVEN));
        let made = new.filter(|_| record.event == Event::Insert || is_redrive);
        placing.copy_of = made.and_then(CopyOf::read).or(placing.copy_of.take());
        if rules.keeps(Rule::UnderOfOthers) && record.has_its_images() {
            match PutBy::of(old, new, &settings.schema) {
                PutBy::Nobody => {}
                // A record that is put back from a copy looks like the API's create, which would begin another life.
                PutBy::Us if is_back(new, placing.stale_under.as_ref()) && record.event == Event::Insert => {}
                PutBy::Us => placing.stale_under = None,
                PutBy::Others(stale) => placing.stale_under = Some(stale),
            }
        }
        placing.sequence = padded(&record.sequence).max(std::mem::take(&mut placing.sequence));
        placing.likely_parent = likely_parent;
    }

    fn add_cascade(&mut self, node: NodeRef, record: &StreamRecord, settings: &Settings, rules: Rules) {
        let [old, new] = [&record.old, &record.new].map(|item| Inherited::read(item.as_ref(), settings));
        if new.malformed {
            let reason = "this lineage is not the handler's; it counts as not there until its node is written again";
            self.problems.push(Problem { key: record.key.clone(), reason: reason.to_owned(), unreadable: false });
        }
        // A record without images, or with one of a newer format, may stand for any change. Whether the item still is
        // of that format is seen when it is read: its image would fail the record for ever.
        let imaged = (record.old.is_some() || record.new.is_some()) && !old.newer && !new.newer;
        let touches = !imaged || old.placed(rules) != new.placed(rules);
        let acts_on_children =
            new.deleting.is_some() && old.deleting != new.deleting && rules.keeps(Rule::ChildActions);
        let mark_went = old.deleting.is_some() && old.deleting != new.deleting;
        if !touches && !acts_on_children && !mark_went {
            return;
        }
        let deletion = !imaged || acts_on_children || old.deleting.is_some();
        if !acts_on_children && new.placed.is_none() && old.deleting.is_some() && !rules.keeps(Rule::TouchRemaining) {
            return;
        }
        // Children of a tombstone's node are orphans, so a lineage that takes the tombstone's place counts as new.
        let inserted = record.event == Event::Insert || old.tombstone;
        let kind = match (deletion, inserted) {
            (true, _) => HandDown::Deletion { touches, mark_went: mark_went || !imaged },
            (false, true) => HandDown::ToOrphans,
            (false, false) => HandDown::ToChildren,
        };
        let sequence = padded(&record.sequence);
        match self.cascades.get_mut(&node) {
            None => {
                self.cascades.insert(node, LineageChange { sequence, kind });
            }
            Some(known) => {
                known.kind = known.kind.and(kind);
                if rules.keeps(Rule::NewestSequence) {
                    known.sequence = sequence.max(std::mem::take(&mut known.sequence));
                }
            }
        }
    }

    /// Breaks [`Rule::CascadeAnyChange`]: a lineage that ends as it began counts as unchanged.
    fn keep_net_cascades(&mut self, records: &[StreamRecord], settings: &Settings) {
        self.cascades.retain(|node, _| {
            let key = settings.schema.lineage_key(node);
            let mut of_lineage = records.iter().filter(|record| record.key == key);
            let first = of_lineage.next();
            let last = of_lineage.next_back().or(first);
            let placed = |item: Option<&Item>| {
                let inherited = Inherited::read(item, settings);
                (inherited.placed, inherited.deleting)
            };
            placed(first.and_then(|record| record.old.as_ref())) != placed(last.and_then(|record| record.new.as_ref()))
        });
    }
}

/// True if this record is of the life whose `_under` is stale.
fn is_back(record: Option<&Item>, stale: Option<&LifeUnder>) -> bool {
    stale.zip(record).is_some_and(|(stale, record)| stale.is_of(record))
}

/// The part of a lineage that children inherit.
#[derive(Default)]
struct Inherited {
    /// The ancestors, the path, and whether it is in the trash; `None` without a lineage, or for a tombstone.
    placed: Option<(Vec<Id>, Vec<String>, bool)>,
    /// The mark, and what had its deletion begin again.
    deleting: Option<(DeletionMark, Option<String>)>,
    malformed: bool,
    newer: bool,
    tombstone: bool,
}

impl Inherited {
    fn read(item: Option<&Item>, settings: &Settings) -> Self {
        match Stored::read(item, &settings.schema) {
            Stored::Lineage(lineage) => Self {
                placed: Some((lineage.placement.ancestors, lineage.placement.path, lineage.placement.trash.is_in())),
                deleting: lineage.deleting.map(|deletion| (deletion.mark, lineage.restarted)),
                ..Self::default()
            },
            Stored::Absent => Self::default(),
            Stored::Newer(_) => Self { newer: true, ..Self::default() },
            Stored::Foreign | Stored::Malformed => Self { malformed: true, ..Self::default() },
            Stored::Tombstone(_) => Self { tombstone: true, ..Self::default() },
        }
    }

    fn placed(&self, rules: Rules) -> Option<(&[Id], &[String], bool)> {
        let (ancestors, path, in_trash) = self.placed.as_ref()?;
        let path: &[String] = if rules.keeps(Rule::CascadePath) { path } else { &[] };
        Some((ancestors, path, *in_trash && rules.keeps(Rule::CascadeTrash)))
    }
}
