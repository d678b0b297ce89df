//! Names that no two siblings have. A write that gives its node a name claims it in the same transaction, and gives
//! back the name that the node had.
//!
//! A claim is a hint that is checked, so one that a writer without claims leaves behind does no harm. Where it names
//! another node that has the name by its record, the write is refused. Otherwise it is taken over, on the condition
//! that claim and record are as they were read.

use std::collections::BTreeMap;

use super::attempts::{Attempts, Stop};
use super::{Context, Refusal};
use crate::keys::{Id, ItemKey, NodeRef, SortRange};
use crate::model::{Item, NameClaim, ending, held_name, key_of, numbered};
use crate::plan::conditions::{same_claim, same_name, unclaimed_or_of};
use crate::plan::{Io, Need, Rule};
use crate::request::{Action, Query};

/// Most numbers that are tried, where requests for one name take them from each other.
const RENAMES_MAX: usize = 20;

/// Most claims of a name with numbers that are looked at: about as many as fit a page.
const NUMBERED_MAX: usize = 10_000;

#[derive(Debug, PartialEq)]
pub(super) struct SiblingName {
    pub(super) parent: Option<Id>,
    pub(super) name: String,
}

/// The name that a node gets in the place of one that a sibling has.
#[derive(Debug)]
pub(super) struct Renamed {
    pub(super) of: SiblingName,
    number: u64,
    tries: usize,
    pub(super) name: String,
}

/// A write's changes of claims: of the name that the node gets and of the one that it had, if these differ.
#[derive(Debug, Default)]
pub(super) struct Naming {
    taken: Option<(ItemKey, String)>,
    left: Option<ItemKey>,
}

impl Naming {
    pub(super) fn of(node: &NodeRef, before: Option<&Item>, after: Option<&Item>, context: Context<'_>) -> Self {
        let held = |record| held_name(node, record, context.settings);
        let (left, taken) = (held(before).map(|(key, _)| key), held(after));
        if left.as_ref() == taken.as_ref().map(|(key, _)| key) { Self::default() } else { Self { taken, left } }
    }

    /// Most actions that this takes in a transaction.
    pub(super) fn actions_max(&self) -> usize {
        2 * usize::from(self.taken.is_some()) + usize::from(self.left.is_some())
    }

    /// Gives back the name that the node had. On another node's claim the attempt fails, and the next leaves it alone.
    pub(super) fn release(&self, node: &NodeRef, attempts: &Attempts<'_>) -> Option<Action> {
        let key = self.left.as_ref().filter(|key| !attempts.has_failed_on(key))?;
        let condition = attempts.context.rules.on(Rule::ReleaseOwn, unclaimed_or_of(&node.id));
        Some(Action::Delete { key: key.clone(), condition })
    }

    /// The actions that claim the node's new name, the claim first. `read` is the claim, if it was read: none may stand
    /// there. Otherwise it is read only after an attempt has failed on it, or if this `asks`. Fails with
    /// [`Refusal::NameTaken`] or [`Refusal::NameObstructed`].
    pub(super) async fn claim(
        &self,
        io: &Io,
        node: &NodeRef,
        attempts: &Attempts<'_>,
        read: Option<(&ItemKey, Option<&Item>)>,
        asks: bool,
    ) -> Result<Vec<Action>, Stop> {
        let Some((key, _)) = &self.taken else { return Ok(Vec::new()) };
        let Context { settings, rules, .. } = attempts.context;
        let schema = &settings.schema;
        let claim = NameClaim { node: node.id.clone(), write: attempts.request.stamp.token.clone() };
        let put = |condition| Action::Put { key: key.clone(), item: claim.item(key, schema), condition };
        let found = match read.filter(|(of, _)| *of == key) {
            Some((_, found)) => found.cloned(),
            None if asks || attempts.has_failed_on(key) => {
                io.read(Need::keys([key.clone()])).await?.item(key)?.cloned()
            }
            None => None,
        };
        let Some(found) = found.filter(|found| NameClaim::node_in(found).as_ref() != Some(&node.id)) else {
            return Ok(vec![put(rules.on(Rule::ClaimName, unclaimed_or_of(&node.id)))]);
        };
        let take_over = put(rules.on(Rule::ClaimAsRead, same_claim(&found)));
        // An item of another client isn't overwritten.
        let id = NameClaim::node_in(&found).ok_or_else(|| Refusal::NameObstructed(key.clone()))?;
        let other = node.sibling(id);
        let other_key = schema.node_key(&other);
        let read = io.read(Need::keys([other_key.clone()])).await?;
        let record = read.item(&other_key)?;
        if let Some((_, name)) = held_name(&other, record, settings).filter(|(held, _)| held == key) {
            return Err(Refusal::NameTaken { name, id: other.id }.into());
        }
        let check = Action::Check { key: other_key, condition: same_name(record, schema) };
        Ok(std::iter::once(take_over).chain(rules.keeps(Rule::HolderLeft).then_some(check)).collect())
    }

    /// A name for the node instead of the refused one: with the first number behind it that no sibling has, or its own.
    /// One query shows them all. `last` was tried before. Fails with the `refusal`, where too many were tried or are to
    /// be looked at.
    pub(super) async fn renamed(
        io: &Io,
        node: &NodeRef,
        of: SiblingName,
        attempts: &Attempts<'_>,
        last: Option<Renamed>,
        refusal: Refusal,
    ) -> Result<Renamed, Stop> {
        let settings = attempts.context.settings;
        let (tried, tries) = last.map_or((1, 0), |last| (last.number, last.tries));
        let (parent, wanted) = (of.parent.as_ref(), &of.name);
        let key = |end: &str| settings.schema.name_key(node, parent, settings.names.compared(&ending(wanted, end)));
        let ItemKey { pk, sk: from } = key(" (");
        // The byte after the digits. What is cut to fit a key is in no order.
        let range = SortRange { to: key(" (:").sk, from };
        let mut numbers = BTreeMap::new();
        if range.from < range.to {
            let from = range.from.clone();
            let page = io.page(Query::first(pk, range, NUMBERED_MAX)).await?;
            if page.next.is_some() {
                return Err(refusal.into());
            }
            numbers.extend(page.items.iter().filter_map(|claim| {
                let key = key_of(claim, &settings.schema)?;
                let number: u32 = key.sk.strip_prefix(&from)?.strip_suffix(')')?.parse().ok()?;
                Some((u64::from(number), NameClaim::node_in(claim).as_ref() == Some(&node.id)))
            }));
        }
        let own = numbers.iter().find(|(number, is_own)| **is_own && **number > tried).map(|(number, _)| *number);
        let free = || (tried + 1..).find(|number| !numbers.contains_key(number));
        let Some(number) = own.or_else(free).filter(|_| tries < RENAMES_MAX) else { return Err(refusal.into()) };
        let name = numbered(wanted, number);
        Ok(Renamed { of, number, tries: tries + 1, name })
    }
}
