//! Whether a refusal was right at some time between a call and its answer.

use std::collections::BTreeSet;

use sapwood_core::keys::{Id, ItemKey};
use sapwood_core::model::{AttributeValue, Item, LinkFault};
use sapwood_engine::write::{Children, Command, Idempotency, NoWayBack, Refusal, Spot};

use super::sequential::{self, is_marked, is_odd, is_there, text};
use super::{Answer, Asking, Call, History};
use crate::sim::names::has_name;

/// How long the claim of an idempotency key is its owner's, in seconds.
pub(super) const LEASE_SECONDS: u64 = 60;

impl History {
    /// Checks that a refusal was right at some time between the call and its answer. What others than the node itself
    /// and its parent must be like is read one after another, so no single moment need have all of it.
    pub(super) fn check_refusal(&self, call: &Call, refusal: &Refusal, until: usize) -> Result<(), String> {
        let Asking::Api(command) = &call.asking else { return Err("an import isn't refused".to_owned()) };
        let node = sequential::node(command);
        // What is copied is read first.
        let own = match command.as_ref() {
            Command::Copy { source, .. } if matches!(refusal, Refusal::NotFound | Refusal::Unreadable(_)) => {
                Some(self.schema.node_key(source))
            }
            command => sequential::key(command, &self.schema),
        };
        // Reads that see a part of a transaction can show what was so before the call.
        let from = if self.is_torn { call.since } else { call.called };
        let was = |key: &ItemKey, is: &dyn Fn(Option<&Item>) -> bool| self.states(key, from, until).any(is);
        let own_was = |is: &dyn Fn(Option<&Item>) -> bool| own.as_ref().is_none_or(|key| was(key, is));
        let above = |id: &Id| self.above(self.node(node, id), from, until);
        let is_right = match refusal {
            Refusal::NotFound => own_was(&|state| !is_there(state)),
            Refusal::Exists => own_was(&is_there),
            Refusal::PreconditionFailed(_) => own_was(&|state| !self.holds(call, state)),
            Refusal::BeingDeleted { id, .. } => {
                was(&self.node(node, id), &|state| state.is_some_and(|item| is_marked(item, None)))
            }
            Refusal::ParentMissing(id) => was(&self.node(node, id), &|state| !is_there(state)),
            Refusal::ParentUnreadable { id, .. } => {
                was(&self.node(node, id), &|state| state.is_some_and(|item| is_odd(item) || !is_there(state)))
            }
            Refusal::Cycle { node: own, parent } if own == parent => {
                let is_its_child = |id: &Id| {
                    was(&self.node(node, id), &|state| state.is_some_and(|item| text(item, "parent") == own.as_str()))
                };
                let anchor = sequential::spot(command).and_then(Spot::anchor);
                let is_copied = matches!(**command, Command::Copy { parent: None, .. }) && anchor.is_none();
                sequential::parent(command) == Some(own)
                    || anchor.is_some_and(is_its_child)
                    || is_copied && is_its_child(sequential::kept_parent_of(command))
            }
            Refusal::Cycle { node: own, parent } => above(parent).contains(&self.node(node, own)),
            Refusal::Circle(parent) => {
                let mut circle = above(parent);
                circle.insert(self.node(node, parent));
                circle.into_iter().any(|key| self.above(key.clone(), from, until).contains(&key))
            }
            Refusal::Unreadable(_) => own_was(&|state| state.is_some_and(is_odd)),
            Refusal::NameTaken { name, id } => {
                *id != node.id
                    && was(&self.node(node, id), &|state| state.is_some_and(|item| has_name(item, id.as_str(), name)))
            }
            Refusal::InTrash | Refusal::ChildrenInTrash => {
                own_was(&|state| state.and_then(sequential::trashed).is_some())
            }
            Refusal::NotInTrash => own_was(&|state| state.is_some_and(|item| sequential::trashed(item).is_none())),
            Refusal::ParentInTrash { parent, top } => {
                (parent == top || above(parent).contains(&self.node(node, top)))
                    && was(&self.node(node, top), &|state| state.and_then(sequential::trashed).is_some())
            }
            Refusal::NoWayBack { parent, why } => {
                let key = self.node(node, parent);
                let mut said = own.iter().flat_map(|own| self.states(own, from, until)).flatten();
                let came_from = |item: &Item| {
                    let says = sequential::trashed(item)?;
                    (text(&says, "parent") == parent.as_str()).then(|| text(&says, "born").to_owned())
                };
                let mut paths = above(parent);
                paths.insert(key.clone());
                said.any(|item| {
                    let Some(born) = came_from(item) else { return false };
                    sequential::goes_back(command)
                        && match why {
                            NoWayBack::Gone => was(&key, &|state| !is_there(state)),
                            NoWayBack::OtherLife => {
                                was(&key, &|state| state.is_some_and(|item| text(item, "_born") != born))
                            }
                            NoWayBack::InTrash => {
                                paths.iter().any(|key| was(key, &|state| state.and_then(sequential::trashed).is_some()))
                            }
                            NoWayBack::Cycle => paths.contains(&self.node(node, &node.id)),
                        }
                })
            }
            Refusal::HasChildren => self.had_children(&node.id, until),
            Refusal::NotUpToDate => {
                matches!(**command, Command::Delete { children: Children::Restrict, .. }) && call.was_unplaced
            }
            Refusal::NotASibling(id) => self.was_elsewhere(command, id, from, until),
            Refusal::PlaceNotText { id, attribute } => {
                let is_no_text = |item: &Item| !matches!(item.get(attribute), None | Some(AttributeValue::S(_)));
                sequential::spot(command).is_some() && was(&self.node(node, id), &|state| state.is_some_and(is_no_text))
            }
            Refusal::NotByHand => sequential::spot(command).is_some() && self.order.is_none(),
            // Without root rows nobody knows the order of roots.
            Refusal::RootsUnordered => self.parents(call, command, until).contains(""),
            Refusal::Link(LinkFault::NotAnId(name)) => match command.as_ref() {
                Command::Copy { source, .. } => was(&self.schema.node_key(source), &|state| {
                    state.and_then(|item| item.get(name)).is_some_and(sequential::is_no_link)
                }),
                command => sequential::given(command, name).is_some_and(sequential::is_no_link),
            },
            // An id that the API has made is never read before the first attempt.
            Refusal::Contended => {
                let is_made = matches!(
                    **command,
                    Command::Create { is_made_id: true, .. } | Command::Copy { is_made_id: true, .. }
                );
                let is_taken = is_made && own_was(&is_there);
                // What is in its place already is only checked. Without an answer to that nothing is unknown, and the
                // time may be used up.
                let is_lost_check = call.is_lost() && sequential::spot(command).is_some();
                is_taken || is_lost_check || self.was_disturbed(call, until)
            }
            Refusal::InProgress(_) => self.with_the_key(call).any(|(other, _)| is_in_its_way(call, other, until)),
            Refusal::IdempotencyMismatch => {
                let is_another = |key: &Idempotency, other: &Idempotency| key.fingerprint != other.fingerprint;
                self.with_the_key(call).any(|(other, key)| {
                    other.called <= until && call.request.idempotency.as_ref().is_some_and(|own| is_another(own, key))
                })
            }
            // All that is written in a run is short, and has few siblings.
            _ => false,
        };
        if is_right { Ok(()) } else { Err(format!("refused ({refusal:?}) for what never was so")) }
    }

    /// The nodes above one, by parents that their records had at some time in between, each at another.
    fn above(&self, node: ItemKey, from: usize, until: usize) -> BTreeSet<ItemKey> {
        let (mut above, mut next) = (BTreeSet::new(), vec![node]);
        while let Some(key) = next.pop() {
            let parents = self.states(&key, from, until).flatten().map(|item| text(item, "parent"));
            let parents = parents.filter(|parent| !parent.is_empty()).map(|parent| ItemKey::new(parent, "NODE"));
            next.extend(parents.filter(|parent| above.insert(parent.clone())).collect::<Vec<_>>());
        }
        above
    }

    /// True if some node was ever under this one. Rows show children that have left.
    fn had_children(&self, id: &Id, until: usize) -> bool {
        let nodes = self.changes.iter().filter(|(key, _)| key.sk == "NODE");
        let mut changes = nodes.flat_map(|(_, changes)| changes).filter(|change| change.at <= until);
        changes.any(|change| change.item.as_ref().is_some_and(|item| text(item, "parent") == id.as_str()))
    }

    /// True if the node that another was to come next to wasn't its sibling.
    fn was_elsewhere(&self, command: &Command, id: &Id, from: usize, until: usize) -> bool {
        if sequential::spot(command).and_then(Spot::anchor) != Some(id) {
            return false;
        }
        let states: Vec<Option<&Item>> = self.states(&self.node(sequential::node(command), id), from, until).collect();
        let parents: BTreeSet<&str> = states.iter().flatten().map(|item| text(item, "parent")).collect();
        let is_apart = |item: &Item| is_odd(item) || sequential::trashed(item).is_some();
        let is_missing = states.iter().any(|state| !is_there(*state) || state.is_some_and(is_apart));
        let named = sequential::named_parent(command).map(|named| named.map_or("", Id::as_str));
        is_missing || parents.len() > 1 || named.is_some_and(|named| !parents.contains(named))
    }

    /// True if others have written something since the beginning of a call, or sent its key, or the answer to its claim
    /// was lost: the next try finds the key in use.
    fn was_disturbed(&self, call: &Call, until: usize) -> bool {
        let own: BTreeSet<usize> = call.effects.iter().map(|(_, at)| *at).collect();
        let is_lost_claim = call.is_lost() && call.request.idempotency.is_some();
        // A repair changes claims of names alone.
        let is_claimed = self.claimed.iter().any(|at| (call.called..=until).contains(at));
        is_lost_claim
            || is_claimed
            || (call.since + 1..=until).any(|at| !own.contains(&at))
            || self.with_the_key(call).next().is_some()
    }

    /// The other calls that have the key of this one.
    pub(super) fn with_the_key<'a>(&'a self, call: &'a Call) -> impl Iterator<Item = (&'a Call, &'a Idempotency)> {
        let own = call.request.idempotency.as_ref();
        let others = self.calls().filter(|other| !std::ptr::eq(*other, call));
        others.filter_map(move |other| {
            let key = other.request.idempotency.as_ref()?;
            (own?.hash == key.hash).then_some((other, key))
        })
    }
}

/// True if another call with the same key may have had the key's claim while this one was under way: it wasn't answered
/// before, or may not have given the claim back, and its lease hadn't ended. Who is refused gives it back if the table
/// lets it.
fn is_in_its_way(call: &Call, other: &Call, until: usize) -> bool {
    let has_ended = match &other.answer {
        None | Some((_, Answer::Unknown | Answer::Failed)) => false,
        Some((_, Answer::Refused(_))) if other.has_failed => false,
        Some((at, _)) => *at < call.called,
    };
    let is_leased = other.request.stamp.seconds + LEASE_SECONDS > call.request.stamp.seconds;
    other.called <= until && !has_ended && is_leased
}

/// True if a lineage shows the place and the life of a node, or there is no such node.
pub(super) fn is_placed(pk: &str, node: Option<&Item>, lineage: Option<&Item>) -> bool {
    let Some(node) = node.filter(|item| is_there(Some(item)) && !is_odd(item)) else { return true };
    let Some(lineage) = lineage else { return false };
    let nearest = match lineage.get("ancestors") {
        Some(AttributeValue::L(ancestors)) => ancestors.first().and_then(|above| match above {
            AttributeValue::S(id) => Some(id.as_str()),
            _ => None,
        }),
        _ => None,
    };
    let parent = Some(text(node, "parent")).filter(|parent| !parent.is_empty() && *parent != pk);
    let is_same_life = ["", text(lineage, "born")].contains(&text(node, "_born"));
    let is_going = lineage.contains_key("deleting") || lineage.contains_key("deleted");
    nearest == parent && is_same_life && !is_going
}
