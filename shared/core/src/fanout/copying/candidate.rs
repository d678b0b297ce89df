//! Which nodes are copied, what their copies are, and which names these get.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{CopyLook, Copying};
use crate::keys::{Id, ItemKey, NodeRef};
use crate::model::{
    BORN, BaseNode, COPY_OF, CREATED_AT, CREATED_BY, CopyOf, DELETING, Item, PUT_BACK, REVISION, UNDER, UPDATED_AT,
    UPDATED_BY, Under, WRITE, is_reserved, number, numbered, text, with_key,
};
use crate::plan::{Failure, Need, Read, Rule};
use crate::request::ReadOptions;

/// Most names that are tried in one read where siblings have the name of a copy.
const NAMES_TRIED: u64 = 24;

pub(super) struct Candidate {
    pub(super) node: NodeRef,
    pub(super) base: BaseNode,
    /// The id of its copy.
    pub(super) copy: Id,
    /// The id of its parent's copy.
    pub(super) parent: Id,
}

/// The items that are there of the copies.
#[derive(Default)]
pub(super) struct CopiesThere {
    /// Ids at which a node is, or was.
    pub(super) taken: BTreeSet<Id>,
    /// Nodes that others can be put below, each with its life, if its record names it.
    pub(super) alive: BTreeMap<Id, Option<String>>,
    /// The claims that stand where the copies would have theirs.
    pub(super) claimed: BTreeSet<ItemKey>,
}

impl Copying<'_> {
    /// The key of the claim for a copy's name, and its other name if the own one is claimed: by users' nodes below the
    /// copy, or by children of the source with one name. `None` where siblings may have the same name.
    pub(super) async fn name(
        &self,
        look: &CopyLook,
        one: &Candidate,
        there: &CopiesThere,
    ) -> Result<Option<(Option<String>, ItemKey)>, Failure> {
        let Some(key) = self.claim_key(one, None) else { return Ok(None) };
        if !there.claimed.contains(&key) {
            return Ok(Some((None, key)));
        }
        if !self.context.rules.keeps(Rule::CopyRenamed) {
            return Ok(None);
        }
        let own = one.base.written_segment(&one.node, self.schema());
        let own = own.as_deref().unwrap_or(one.copy.as_str());
        // The last one is free: it is of the hash of the operation and the node.
        let numbers = (2..2 + NAMES_TRIED).chain([look.mark.number_of(&one.node.id)]);
        let tried: Vec<(String, ItemKey)> = numbers
            .map(|n| numbered(own, n))
            .filter_map(|name| self.claim_key(one, Some(&name)).map(|key| (name, key)))
            .collect();
        let read = self.io.read(Need::keys(tried.iter().map(|(_, key)| key.clone()))).await?;
        for (name, key) in tried {
            if read.item(&key)?.is_none() && !there.claimed.contains(&key) {
                return Ok(Some((Some(name), key)));
            }
        }
        Err(Failure::Again)
    }

    /// The key of the claim of a name, or else of the own name, that the copy of a node has below its parent.
    fn claim_key(&self, one: &Candidate, name: Option<&str>) -> Option<ItemKey> {
        let names = Some(self.context.settings.names).filter(|names| names.is_on())?;
        let own = one.base.written_segment(&one.node, self.schema());
        let name = names.compared(name.or(own.as_deref()).unwrap_or(one.copy.as_str()));
        Some(self.schema().name_key(self.top, Some(&one.parent), name))
    }

    /// A node to copy while its parent's copy is there and its own never was; `None` for one that is never copied.
    pub(super) fn found(&self, look: &CopyLook, id: &Id, read: &Read) -> Result<Option<Candidate>, Failure> {
        let node = self.top.sibling(id.clone());
        let Some(item) = read.shared(&self.key(id))? else { return Ok(None) };
        let Ok(base) = BaseNode::read(Arc::clone(item), &node, self.schema()) else { return Ok(None) };
        // Copies of this operation would be copied for ever, and so would those that two make of each other's.
        let is_own = CopyOf::read(item).is_some_and(|of| of.operation >= look.mark.operation);
        if base.deleting.is_some() || (is_own && self.context.rules.keeps(Rule::CopyOwn)) {
            return Ok(None);
        }
        let copy_of = |id: &Id| if *id == look.mark.source { Ok(self.top.id.clone()) } else { look.mark.id_of(id) };
        let parent = base.parent.as_ref().and_then(|parent| copy_of(parent).ok());
        let (Some(parent), Ok(copy)) = (parent, copy_of(id)) else { return Ok(None) };
        // In a cycle, which other clients make, the source is below itself.
        Ok(Some(Candidate { node, base, copy, parent }).filter(|one| one.copy != self.top.id))
    }

    /// Reads the copies of these nodes' parents, and what would tell that a copy of a node was there.
    pub(super) async fn there(
        &self,
        look: &CopyLook,
        found: &BTreeMap<&Id, Candidate>,
    ) -> Result<CopiesThere, Failure> {
        let schema = self.schema();
        let (mut keys, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for Candidate { copy, parent, .. } in found.values() {
            let copied = self.top.sibling(copy.clone());
            keys.extend([self.key(parent), self.key(copy), schema.lineage_key(&copied), schema.deleted_key(&copied)]);
            ids.extend([parent.clone(), copy.clone()]);
        }
        keys.remove(&self.key(&self.top.id));
        let claims: BTreeSet<ItemKey> = found.values().filter_map(|one| self.claim_key(one, None)).collect();
        keys.extend(claims.iter().cloned());
        // Records and lineages can be large, and little of them counts.
        let names = schema.names();
        let options = ReadOptions::of([BORN, DELETING, COPY_OF, PUT_BACK, &names.parent, &names.segment]);
        let need = Need { options, ..Need::keys(keys) };
        let read = if need.keys.is_empty() { Read::default() } else { self.io.read(need).await? };
        let mut there = CopiesThere::default();
        for key in claims {
            if read.item(&key)?.is_some() {
                there.claimed.insert(key);
            }
        }
        for id in ids {
            let node = self.top.sibling(id.clone());
            let item = if id == self.top.id { Some(&look.top) } else { read.shared(&self.key(&id))? };
            let traces = [schema.lineage_key(&node), schema.deleted_key(&node)];
            let was_there = read.item(&traces[0])?.or(read.item(&traces[1])?).is_some();
            if item.is_some() || (was_there && self.context.rules.keeps(Rule::CopyOnce)) {
                there.taken.insert(id.clone());
            }
            let base = item.and_then(|item| BaseNode::read(Arc::clone(item), &node, schema).ok());
            // Another node may have the id by now.
            let is_copy = |base: &BaseNode| {
                id == self.top.id || CopyOf::read(&base.item).is_some_and(|of| of.operation == look.mark.operation)
            };
            if let Some(base) = base.filter(|base| base.deleting.is_none() && is_copy(base)) {
                there.alive.insert(id, base.born().map(str::to_owned));
            }
        }
        Ok(there)
    }

    /// The copy of a node, and its life. `None` if its parent's copy isn't there, or its own is or was.
    pub(super) fn copy(
        &self,
        look: &CopyLook,
        one: &Candidate,
        made: &BTreeMap<Id, String>,
        there: &CopiesThere,
    ) -> Option<(Item, String)> {
        let Candidate { node, base, copy, parent } = one;
        let (schema, rules) = (self.schema(), self.context.rules);
        if there.taken.contains(copy) || made.contains_key(copy) {
            return None;
        }
        let above = made.get(parent).cloned().map(Some).or_else(|| there.alive.get(parent).cloned());
        if above.is_none() && rules.keeps(Rule::CopyBelow) {
            return None;
        }
        let names = schema.names();
        let mark = &look.mark;
        let born = mark.name_of(&node.id);
        let mut item = with_key(&self.key(copy), schema);
        let own = base.item.iter().filter(|(name, _)| !is_reserved(name, schema) || **name == names.segment);
        item.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        item.insert(names.parent.clone(), text(parent.as_str()));
        if rules.keeps(Rule::CopyUnder) {
            let under = Under { parent: parent.clone(), born: above.flatten() };
            item.insert(UNDER.to_owned(), under.value());
        }
        item.insert(BORN.to_owned(), text(&born));
        item.insert(WRITE.to_owned(), text(&born));
        item.insert(REVISION.to_owned(), number(1));
        item.insert(COPY_OF.to_owned(), CopyOf { operation: mark.operation.clone(), node: node.id.clone() }.value());
        // When and by whom the copy was asked for.
        for (at, by) in [(CREATED_AT, CREATED_BY), (UPDATED_AT, UPDATED_BY)] {
            item.extend(look.top.get(CREATED_AT).map(|value| (at.to_owned(), value.clone())));
            item.extend(look.top.get(CREATED_BY).map(|value| (by.to_owned(), value.clone())));
        }
        Some((item, born))
    }
}
