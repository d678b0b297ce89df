//! What a batch of stream records asks for.

use std::collections::{BTreeMap, BTreeSet};

use super::{Rule, Rules};
use crate::keys::{Id, ItemKey, NodeRef, SortKey, Version};
use crate::model::{BaseNode, DeletionMark, Item, Latest, NewerFormat, Settings, Stored, is_touch, is_undelete};

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It wasn't there.
    Insert,
    /// It was there and still is.
    Modify,
    /// It is gone.
    Remove,
}

/// One record of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRecord {
    /// The item that changed.
    pub key: ItemKey,
    /// The record's sequence number, as it came.
    pub sequence: String,
    /// What happened.
    pub event: Event,
    /// The item before.
    pub old: Option<Item>,
    /// The item after.
    pub new: Option<Item>,
}

/// Something that no retry can mend. The text holds keys, never attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The item it is about.
    pub key: ItemKey,
    /// What is wrong and what to do.
    pub reason: String,
    /// Whether it is that a base record can't be read: it is skipped, or counts as not there.
    pub unreadable: bool,
}

/// A node to be placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placing {
    /// Whether every record of it in the batch is a touch.
    pub only_touched: bool,
    /// Its parent as its newest record has it: worth reading together with the node.
    pub likely_parent: Option<Id>,
}

/// A lineage whose change is handed down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageChange {
    /// The newest such change's sequence number, padded to 40 digits.
    pub sequence: String,
    /// Whom the change concerns.
    pub kind: HandDown,
}

/// Whom the change of a lineage concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandDown {
    /// The lineage wasn't there before: only orphans can have missed it, and they are registered.
    ToOrphans,
    /// The node's place changed: its children are touched.
    ToChildren,
    /// The node was being deleted before or after: what is to be done then is for the present state to say.
    Deletion {
        /// True if the node's place changed as well: children that are still there are touched.
        touches: bool,
    },
}

impl HandDown {
    /// Several changes of one lineage in one batch, as one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::ToOrphans, Self::ToOrphans) => Self::ToOrphans,
            (Self::Deletion { touches: false }, Self::Deletion { touches: false }) => Self::Deletion { touches: false },
            (Self::Deletion { .. }, _) | (_, Self::Deletion { .. }) => Self::Deletion { touches: true },
            _ => Self::ToChildren,
        }
    }
}

/// What a batch of records asks for: several records of one item ask once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Each item with the sequence number that fails it: its first record's.
    pub items: BTreeMap<ItemKey, String>,
    /// Nodes to place.
    pub placings: BTreeMap<NodeRef, Placing>,
    /// Lineages to hand down.
    pub cascades: BTreeMap<NodeRef, LineageChange>,
    /// Cursors to carry on.
    pub cursors: BTreeSet<NodeRef>,
    /// Topics to copy the newest revision of, with the revisions that the records are about.
    pub latests: BTreeMap<Latest, BTreeSet<Version>>,
    /// Items that a newer version of the handler has written: their records are left to that version.
    pub newer: BTreeSet<ItemKey>,
    /// Records that ask for nothing, and why.
    pub problems: Vec<Problem>,
}

impl Batch {
    /// Reads a batch, in the stream's order. Sort keys outside the table's grammar are somebody else's and ignored.
    #[must_use]
    pub fn of(changes: &[StreamRecord], settings: &Settings, rules: Rules) -> Self {
        let mut batch = Self::default();
        for change in changes {
            let Some(sort_key) = settings.schema.parse_sort_key(&change.key.sk) else { continue };
            let node = match settings.schema.parse_partition(&change.key.pk) {
                Ok(node) => node,
                Err(error) => {
                    let unreadable = matches!(sort_key, SortKey::Node | SortKey::Revision { .. });
                    batch.problems.push(Problem { key: change.key.clone(), reason: error.to_string(), unreadable });
                    continue;
                }
            };
            let first = batch.items.entry(change.key.clone()).or_insert_with(|| change.sequence.clone());
            if !rules.keeps(Rule::FailFirstRecord) {
                first.clone_from(&change.sequence);
            }
            match sort_key {
                SortKey::Node => batch.add_placing(node, change, settings, rules),
                SortKey::Lineage => batch.add_cascade(node, change, settings, rules),
                SortKey::Cascade => {
                    if change.event == Event::Remove {
                        batch.cursors.remove(&node);
                    } else {
                        batch.cursors.insert(node);
                    }
                }
                SortKey::Revision { version, topic } => {
                    batch.latests.entry(Latest { node, topic }).or_default().insert(version);
                }
                SortKey::Ancestor { .. }
                | SortKey::Path { .. }
                | SortKey::Root(_)
                | SortKey::Orphan(_)
                | SortKey::Operation
                | SortKey::Deleted
                | SortKey::Idempotency { .. }
                | SortKey::Latest { .. } => {}
            }
        }
        if !rules.keeps(Rule::CascadeAnyChange) {
            batch.keep_net_cascades(changes, settings);
        }
        batch
    }

    fn add_placing(&mut self, node: NodeRef, change: &StreamRecord, settings: &Settings, rules: Rules) {
        let (old, new) = (change.old.as_ref(), change.new.as_ref());
        let puts = rules.keeps(Rule::UndeletePuts) && is_undelete(old, new);
        let touched = change.event == Event::Modify && is_touch(old, new) && !puts;
        let likely_parent = change
            .new
            .as_ref()
            .and_then(|item| BaseNode::read(item.clone(), &node, &settings.schema).ok().and_then(|base| base.parent));
        let placing = self.placings.entry(node).or_insert(Placing { only_touched: touched, likely_parent: None });
        placing.only_touched = touched && (placing.only_touched || !rules.keeps(Rule::AllTouches));
        placing.likely_parent = likely_parent;
    }

    fn add_cascade(&mut self, node: NodeRef, change: &StreamRecord, settings: &Settings, rules: Rules) {
        let (old, new) = (Handed::read(change.old.as_ref(), settings), Handed::read(change.new.as_ref(), settings));
        if let Some(newer) = old.newer.or(new.newer) {
            self.newer.insert(change.key.clone());
            self.problems.push(Problem { key: change.key.clone(), reason: newer.to_string(), unreadable: false });
            return;
        }
        if new.malformed {
            let reason = "this lineage is not the handler's; it counts as not there until its node is written again";
            self.problems.push(Problem { key: change.key.clone(), reason: reason.to_owned(), unreadable: false });
        }
        // A record without images tells nothing: then it is taken for any change.
        let imaged = change.old.is_some() || change.new.is_some();
        let touches = !imaged || old.placed(rules) != new.placed(rules);
        let releases = new.deleting.is_some() && old.deleting != new.deleting && rules.keeps(Rule::ChildActions);
        if !touches && !releases {
            return;
        }
        let removal = !imaged || releases || old.deleting.is_some();
        if !releases && new.placed.is_none() && old.deleting.is_some() && !rules.keeps(Rule::TouchRemaining) {
            return;
        }
        // A tombstone before it is as good as nothing: its children are orphans.
        let inserted = change.event == Event::Insert || old.tombstone;
        let kind = match (removal, inserted) {
            (true, _) => HandDown::Deletion { touches },
            (false, true) => HandDown::ToOrphans,
            (false, false) => HandDown::ToChildren,
        };
        let sequence = format!("{:0>40}", change.sequence);
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

    /// The broken rule [`Rule::CascadeAnyChange`]: a lineage that ends as it began counts as unchanged.
    fn keep_net_cascades(&mut self, changes: &[StreamRecord], settings: &Settings) {
        self.cascades.retain(|node, _| {
            let key = settings.schema.lineage_key(node);
            let mut of_it = changes.iter().filter(|change| change.key == key);
            let first = of_it.next();
            let last = of_it.next_back().or(first);
            let placed = |item: Option<&Item>| {
                Stored::read(item, &settings.schema)
                    .lineage()
                    .map(|l| (l.placement.ancestors.clone(), l.placement.path.clone()))
            };
            placed(first.and_then(|c| c.old.as_ref())) != placed(last.and_then(|c| c.new.as_ref()))
        });
    }
}

/// What a lineage hands down to its node's children.
#[derive(Default)]
struct Handed {
    /// Where the node stands: ancestors and path. None without a lineage, or where a tombstone stands.
    placed: Option<(Vec<Id>, Vec<String>)>,
    deleting: Option<DeletionMark>,
    malformed: bool,
    newer: Option<NewerFormat>,
    tombstone: bool,
}

impl Handed {
    fn read(item: Option<&Item>, settings: &Settings) -> Self {
        match Stored::read(item, &settings.schema) {
            Stored::Lineage(lineage) => Self {
                placed: Some((lineage.placement.ancestors, lineage.placement.path)),
                deleting: lineage.deleting.map(|deletion| deletion.mark),
                ..Self::default()
            },
            Stored::Absent => Self::default(),
            Stored::Newer(format) => Self { newer: Some(NewerFormat { format }), ..Self::default() },
            Stored::Malformed => Self { malformed: true, ..Self::default() },
            Stored::Tombstone(_) => Self { tombstone: true, ..Self::default() },
        }
    }

    fn placed(&self, rules: Rules) -> Option<(&[Id], &[String])> {
        let (ancestors, path) = self.placed.as_ref()?;
        Some((ancestors, if rules.keeps(Rule::CascadePath) { path } else { &[] }))
    }
}
