//! Releasing the children of a node that is being deleted, or has been: each is marked, adopted or made a root.
//!
//! The cascade does it for the children it finds, and the placing of a node for one that comes in after its parent is gone.

use std::collections::BTreeSet;

use super::Fanout;
use super::adopt::{Adopted, adopt};
use super::store::{Failure, Store};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{
    BaseNode, CREATED_AT, DELETING, Deletion, Item, REVISION, Stored, TOUCHED, UNDER, UPDATED_AT, item_bytes, text,
};
use sapwood_core::plan::{ChildAction, Rule, is_held};
use sapwood_table::{Action, Condition, RetryPolicy, TRANSACTION_ACTIONS_MAX, Table, Transacted, Update};

/// How many attributes of a base record are compared: DynamoDB takes 300 operators in a condition.
const COMPARED_ATTRIBUTES_MAX: usize = 120;

/// Most bytes of items in one transaction: 4 MB, less what a change can add.
const TRANSACTION_BYTES_MAX: usize = 3 * 1_024 * 1_024;

pub(super) struct Releasing<'a, 's, T, P> {
    pub(super) store: &'a Store<'s, T, P>,
    pub(super) fanout: &'a Fanout,
}

impl<T: Table, P: RetryPolicy> Releasing<'_, '_, T, P> {
    fn schema(&self) -> &Schema {
        &self.fanout.settings.schema
    }

    /// A node's base record and what it says of the node's removal, if it is being deleted.
    pub(super) async fn deleting(&self, node: &NodeRef) -> Result<Option<(Item, Deletion)>, Failure> {
        let key = self.schema().node_key(node);
        let read = self.store.get_many(BTreeSet::from([key.clone()]), self.schema()).await;
        Ok(read.item(&key)?.and_then(|item| Some((item.clone(), deletion(item, node, self.schema())?))))
    }

    /// Releases these children of a node that is being deleted; those that aren't its children any more stay as they are.
    /// False: it hasn't this mark any more.
    ///
    /// The children are read, then the node, then each child is changed on the condition that it is as it was read: so
    /// at the moment of the look at the node it was its child, and the node on its way out.
    pub(super) async fn release(
        &self,
        node: &NodeRef,
        known: &Deletion,
        mut children: BTreeSet<Id>,
    ) -> Result<bool, Failure> {
        for _ in 0..self.fanout.limits.rounds_max {
            let held = self.held(node, &children).await?;
            if held.is_empty() {
                return Ok(true);
            }
            let (item, deletion) = match self.deleting(node).await? {
                Some((item, deletion)) if deletion.mark == known.mark => (item, deletion),
                _ if !self.fanout.rules.keeps(Rule::DeletionRecheck) => (Item::new(), known.clone()),
                _ => return Ok(false),
            };
            children = self.release_held(node, &item, &deletion, held).await?;
            if !self.fanout.rules.keeps(Rule::ChildAgain) {
                return Ok(true);
            }
        }
        Err(Failure::Again)
    }

    /// Those of these nodes that are children of this one, and aren't being deleted themselves.
    pub(super) async fn held(&self, node: &NodeRef, ids: &BTreeSet<Id>) -> Result<Vec<Child>, Failure> {
        let keys: BTreeSet<ItemKey> = ids.iter().map(|id| self.schema().node_key(&node.sibling(id.clone()))).collect();
        let read = self.store.get_many(keys, self.schema()).await;
        let mut held = Vec::new();
        for id in ids {
            let child = node.sibling(id.clone());
            let Some(item) = read.item(&self.schema().node_key(&child))? else { continue };
            let Ok(base) = BaseNode::read(item.clone(), &child, self.schema()) else { continue };
            if is_held(&base, node) {
                held.push(Child { node: child, base });
            }
        }
        Ok(held)
    }

    /// Releases children that were read before their parent. Returns those that changed meanwhile.
    async fn release_held(
        &self,
        node: &NodeRef,
        item: &Item,
        deletion: &Deletion,
        held: Vec<Child>,
    ) -> Result<BTreeSet<Id>, Failure> {
        let adopts = |child: &Child| matches!(ChildAction::of(&child.node.id, deletion), ChildAction::Reparent { .. });
        let together = self.fanout.rules.keeps(Rule::AdoptTogether);
        let (adopted, others): (Vec<Child>, Vec<Child>) = held.into_iter().partition(|child| together && adopts(child));
        let releases =
            others.iter().map(|child| self.change(child, ChildAction::of(&child.node.id, deletion))).collect();
        let mut changed = BTreeSet::new();
        for (child, result) in others.iter().zip(self.store.all_in_order(releases).await) {
            if !result? {
                changed.insert(child.node.id.clone());
            }
        }
        for chunk in chunks(adopted, item_bytes(item)) {
            changed.extend(self.adopt_together(node, item, deletion, &chunk).await?);
        }
        Ok(changed)
    }

    /// Gives children to their parent's parent, on the condition that it is that still: then no cycle can come of it, since
    /// only what is between them goes. Returns the children to look at again.
    async fn adopt_together(
        &self,
        node: &NodeRef,
        item: &Item,
        deletion: &Deletion,
        children: &[Child],
    ) -> Result<Vec<Id>, Failure> {
        let schema = self.schema();
        let key = schema.node_key(node);
        let mut actions = vec![Action::Check { key: key.clone(), condition: unchanged(item, schema) }];
        actions.extend(children.iter().map(|child| Action::Update {
            key: schema.node_key(&child.node),
            update: update(&ChildAction::of(&child.node.id, deletion), schema),
            condition: self.as_read(child),
        }));
        match self.store.transact(&key, &actions).await {
            Ok(Transacted::Done) => {
                self.store.count(|counts| counts.released += children.len() as u64);
                Ok(Vec::new())
            }
            Ok(Transacted::Failed(_)) => Ok(children.iter().map(|child| child.node.id.clone()).collect()),
            // One of them is impossible with another parent: the others go alone, and that one is noted.
            Err(Failure::Refused) if children.len() > 1 => {
                let mut changed = Vec::new();
                for child in children {
                    let alone = self.adopt_together(node, item, deletion, std::slice::from_ref(child));
                    changed.extend(Box::pin(alone).await?);
                }
                Ok(changed)
            }
            Err(Failure::Refused) => Ok(Vec::new()),
            Err(Failure::Again) => Err(Failure::Again),
        }
    }

    /// Changes a child as its release has it; false where it has changed meanwhile.
    async fn change(&self, child: &Child, release: ChildAction) -> Result<bool, Failure> {
        let key = self.schema().node_key(&child.node);
        // A mark for each attempt: one whose answer was lost may have been carried out, and taken back since.
        let marks = self.fanout.rules.keeps(Rule::FreshMark);
        let update = || match &release {
            ChildAction::Delete(deleting) if marks => {
                update(&ChildAction::Delete(deleting.marked(self.store.name())), self.schema())
            }
            release => update(release, self.schema()),
        };
        match self.store.update(&key, update, &self.as_read(child)).await {
            Ok(held) => {
                self.store.count(|counts| counts.released += u64::from(held));
                Ok(held)
            }
            // It is noted, and stays where it is.
            Err(Failure::Refused) => Ok(true),
            Err(Failure::Again) => Err(Failure::Again),
        }
    }

    fn as_read(&self, child: &Child) -> Condition {
        if self.fanout.rules.keeps(Rule::ChildCondition) {
            as_read(&child.base.item, self.schema())
        } else {
            Condition::Exists
        }
    }

    /// Releases a child whose parent has been removed, as the parent's tombstone says. Where it is to be adopted and that
    /// node has been removed as well, that one's tombstone decides; where there is nobody it becomes a root. A child that
    /// has changed meanwhile has a record of its own coming.
    pub(super) async fn release_left(&self, child: &Child, deletion: &Deletion) -> Result<(), Failure> {
        let mut deletion = deletion.clone();
        for _ in 0..self.fanout.limits.rounds_max {
            let ChildAction::Reparent { parent, seen } = ChildAction::of(&child.node.id, &deletion) else {
                return self.change(child, ChildAction::of(&child.node.id, &deletion)).await.map(|_| ());
            };
            let heir = child.node.sibling(parent);
            let keys = [self.schema().node_key(&heir), self.schema().lineage_key(&heir)];
            let read = self.store.get_many(BTreeSet::from(keys.clone()), self.schema()).await;
            if let Some(item) = read.item(&keys[0])? {
                if BaseNode::read(item.clone(), &heir, self.schema()).is_err() {
                    break;
                }
                match adopt(self, child, &heir).await? {
                    Adopted::Done => return Ok(()),
                    Adopted::Cycle => break,
                    Adopted::Changed => continue,
                }
            }
            let onwards = seen && self.fanout.rules.keeps(Rule::AdoptOnwards);
            deletion = match Stored::read(read.item(&keys[1])?, self.schema()) {
                Stored::Tombstone(onward) if onwards => onward,
                Stored::Lineage(lineage) if onwards && lineage.deleting.is_some() => match lineage.deleting {
                    Some(onward) => onward,
                    None => break,
                },
                _ => break,
            };
        }
        self.change(child, ChildAction::Detach).await.map(|_| ())
    }

    /// What releases a child to this parent, as a part of a transaction.
    pub(super) fn adoption(&self, child: &Child, parent: &Id) -> Action {
        let release = ChildAction::Reparent { parent: parent.clone(), seen: true };
        Action::Update {
            key: self.schema().node_key(&child.node),
            update: update(&release, self.schema()),
            condition: self.as_read(child),
        }
    }
}

/// A child with its base record, as it was read.
pub(super) struct Child {
    pub(super) node: NodeRef,
    pub(super) base: BaseNode,
}

/// Children that fit one transaction together with their parent.
fn chunks(children: Vec<Child>, parent_bytes: usize) -> Vec<Vec<Child>> {
    let mut chunks: Vec<Vec<Child>> = Vec::new();
    let mut bytes = 0;
    for child in children {
        let more = item_bytes(&child.base.item);
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < TRANSACTION_ACTIONS_MAX - 1 && bytes + more <= TRANSACTION_BYTES_MAX => {
                bytes += more;
                chunk.push(child);
            }
            _ => {
                bytes = parent_bytes + more;
                chunks.push(vec![child]);
            }
        }
    }
    chunks
}

/// What a base record says of its node's removal.
fn deletion(item: &Item, node: &NodeRef, schema: &Schema) -> Option<Deletion> {
    Deletion::of(node, &BaseNode::read(item.clone(), node, schema).ok()?)
}

/// That a node is still being deleted, by the same operation and below the same parent.
fn unchanged(item: &Item, schema: &Schema) -> Condition {
    let names = [DELETING, &schema.names().parent, UNDER];
    Condition::All(names.map(|name| Condition::is(name, item.get(name).cloned())).to_vec())
}

/// A release as a change of the child's base record.
fn update(release: &ChildAction, schema: &Schema) -> Update {
    let name = &schema.names().parent;
    let mut update = Update::default();
    match release {
        ChildAction::Delete(deleting) => {
            update.set.insert(DELETING.into(), deleting.value());
        }
        ChildAction::Detach => update.remove.extend([name.clone(), UNDER.to_owned()]),
        ChildAction::Reparent { parent, seen } => {
            update.set.insert(name.clone(), text(parent.as_str()));
            if *seen {
                update.set.insert(UNDER.into(), text(parent.as_str()));
            } else {
                update.remove.insert(UNDER.into());
            }
        }
    }
    update
}

/// That an item is still as it was read. A base record that the API has written is known by its revision number, and by
/// where it is; of any other, every attribute is compared.
pub(super) fn as_read(item: &Item, schema: &Schema) -> Condition {
    let names = schema.names();
    let of_ours = [&names.parent, &names.segment, UNDER, DELETING, TOUCHED];
    let is = |name: &str| Condition::is(name, item.get(name).cloned());
    let mut conditions: Vec<Condition> =
        std::iter::once(Condition::Exists).chain(of_ours.into_iter().map(is)).collect();
    if item.contains_key(REVISION) {
        conditions.extend([REVISION, CREATED_AT, UPDATED_AT].into_iter().map(is));
    } else {
        let others = item.keys().filter(|name| !of_ours.contains(&name.as_str()) && !is_key(name, schema));
        conditions.extend(others.take(COMPARED_ATTRIBUTES_MAX).map(|name| is(name)));
    }
    Condition::All(conditions)
}

fn is_key(name: &str, schema: &Schema) -> bool {
    name == schema.names().partition_key || name == schema.names().sort_key
}
