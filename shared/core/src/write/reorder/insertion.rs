//! The part of the transaction that puts a node at its spot: the values of siblings that make room for it, and the
//! check of the one that it comes next to.

use super::find_spot::FindSpot;
use super::sibling_walk::{Sibling, Way};
use super::{Insertion, SiblingPosition};
use crate::keys::SiblingPlace;
use crate::model::{CREATED_AT, CREATED_BY, REVISION, TRASHED, text};
use crate::plan::Rule;
use crate::request::{Action, Condition, Update};
use crate::write::command::Spot;
use crate::write::{Refusal, record};

impl FindSpot<'_> {
    /// The insertion beside the anchor, with values of the siblings there, of the anchor if it had none, and of the
    /// node.
    pub(super) fn beside(
        &self,
        siblings: &[&Sibling],
        values: Vec<String>,
        beyond: Option<&Sibling>,
    ) -> Result<Insertion, Refusal> {
        let mut changed: Vec<&Sibling> = siblings.to_vec();
        if self.way == Way::Down {
            changed.reverse();
        }
        let gets_value = |anchor: &&Sibling| matches!(self.spot, Spot::After(_)) && !anchor.has_value();
        let valued = self.anchor.as_ref().filter(gets_value);
        changed.extend(valued);
        let near = self.anchor.as_ref().map(|anchor| &anchor.place).filter(|place| **place != SiblingPlace::none());
        let places = [near, beyond.map(|beyond| &beyond.place)];
        let insertion = self.insertion(self.way == Way::Up, changed, values, places)?;
        // The update of an anchor that gets a value has the conditions of its check.
        let anchor = if valued.is_none() { self.stays() } else { None };
        Ok(Insertion { anchor, ..insertion })
    }

    /// The insertion that gives these values, in their order, to the node and to siblings that are all after it, or all
    /// before it. They come between the place next to the node and the one beyond the siblings. Checks that they are in
    /// order as parts of keys, where long ones are cut.
    pub(super) fn insertion(
        &self,
        is_first: bool,
        siblings: Vec<&Sibling>,
        mut values: Vec<String>,
        [near, beyond]: [Option<&SiblingPlace>; 2],
    ) -> Result<Insertion, Refusal> {
        let value = if is_first { values.remove(0) } else { values.pop().unwrap_or_default() };
        let own = SiblingPlace::of_text(&value, &self.siblings.node.id);
        let changes = self.changes(siblings.into_iter().zip(&values));
        let mut places: Vec<&SiblingPlace> = changes.iter().map(|(_, position)| &position.place).collect();
        if !is_first {
            places.reverse();
        }
        let outwards = near.into_iter().chain([&own]).chain(places).chain(beyond);
        if !outwards.is_sorted_by(|a, b| if is_first { a < b } else { a > b }) {
            return Err(self.no_room());
        }
        Ok(Insertion { value: Some(value), changes, ..Insertion::default() })
    }

    /// The updates that give siblings other values, and where they are then.
    pub(super) fn changes<'s>(
        &self,
        siblings: impl Iterator<Item = (&'s Sibling, &'s String)>,
    ) -> Vec<(Action, SiblingPosition)> {
        let position = |sibling: &Sibling, value: &str| SiblingPosition {
            parent: self.parent.clone(),
            node: sibling.id.clone(),
            place: SiblingPlace::of_text(value, &sibling.id),
        };
        siblings.map(|(sibling, value)| (self.change(sibling, value), position(sibling, value))).collect()
    }

    fn change(&self, sibling: &Sibling, value: &str) -> Action {
        let mut update = Update::set(self.siblings.order.attribute(), text(value));
        // The API didn't create it.
        let is_of_creation = |name: &str| name == CREATED_AT || name == CREATED_BY;
        let stamps = record::stamped(Some(&sibling.item), self.stamp).into_iter();
        update.set.extend(stamps.filter(|(name, _)| !is_of_creation(name)));
        let condition = self.is_as_read(sibling, &[REVISION, CREATED_AT]);
        Action::Update { key: self.siblings.key(&sibling.id), update, condition }
    }

    /// The check that the anchor has kept its parent and its value.
    pub(super) fn stays(&self) -> Option<Action> {
        let anchor = self.anchor.as_ref().filter(|_| self.rules.keeps(Rule::AnchorStays))?;
        Some(Action::Check { key: self.siblings.key(&anchor.id), condition: self.is_as_read(anchor, &[]) })
    }

    fn is_as_read(&self, sibling: &Sibling, others: &[&str]) -> Condition {
        let parent = &self.siblings.settings.schema.names().parent;
        let same = |name: &str| Condition::is(name, sibling.item.get(name).cloned());
        let mut conditions = vec![Condition::Exists, same(parent), same(self.siblings.order.attribute())];
        // A root that is put into the trash has no parent before and after.
        conditions.extend(self.parent.is_none().then(|| same(TRASHED)));
        conditions.extend(others.iter().map(|name| same(name)));
        Condition::All(conditions)
    }
}
