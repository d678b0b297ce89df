//! The order by hand: finds the value that a node gets to be where it is asked for among its siblings.
//!
//! Rows propose the neighbours, and base records decide: rows lag, so each that is found is looked at again. Siblings
//! without a value, or with the value of the one next to the spot, get values of their own, and so do siblings that
//! have become crowded. All of them are written with the node in one transaction.

pub(super) mod order_key;
pub(super) mod room;
pub(super) mod walk;

use super::attempts::Stop;
use super::command::Spot;
use super::request::{Stamp, Tiebreak};
use super::{Context, Refusal, record};
use crate::keys::{Id, NodeRef, SiblingPlace};
use crate::model::{CREATED_AT, CREATED_BY, Item, REVISION, TRASHED, text};
use crate::plan::{Io, Rule, Rules};
use crate::request::{Action, Condition, TRANSACTION_ACTIONS_MAX, Update};
use walk::{Placed, Sibling, Siblings, Start, VALUE_BYTES_MAX, Walk, Way};

/// Longest value, in bytes, before crowded siblings get others.
const CROWDED_BYTES: usize = 64;
/// How short these should be, so that it isn't soon to be done again.
const RESPACED_BYTES: usize = 56;
/// Most siblings that one write gives other values: a transaction has the node, its neighbour and an idempotency key,
/// too.
pub(super) const CHANGED_MAX: usize = TRANSACTION_ACTIONS_MAX - 3;
/// How many siblings next to the spot get other values where they have become crowded: as few as it takes.
const CROWDS: [usize; 7] = [0, 1, 3, 7, 15, 31, 63];

/// Finds the value of a node that is to be at a spot.
#[derive(Debug)]
pub(super) struct FindSpot<'a> {
    siblings: Siblings<'a>,
    rules: Rules,
    stamp: &'a Stamp,
    tiebreak: Tiebreak,
    parent: Option<Id>,
    spot: &'a Spot,
    placed: Vec<Placed>,
    /// Most siblings that get other values.
    room: Room,
    /// How many slices were written.
    slices: u64,
    /// The node in this list, if it is there.
    own: Option<Sibling>,
    anchor: Option<Sibling>,
    way: Way,
    /// The way from the spot.
    walk: Walk,
    looking: Phase,
}

/// Most siblings that get other values in one transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// With the node.
    pub(super) with_node: usize,
    /// In a slice, without the node.
    pub(super) in_slice: usize,
}

/// A sibling, where it is with its new value, and that value.
type Move<'s> = (&'s Sibling, SiblingPlace, &'s String);

/// What comes of a look at the siblings that are known.
enum Decided {
    Found(Found),
    Phase(Phase),
    /// More have to be known.
    Further,
}

/// Which siblings are looked for.
#[derive(Debug)]
enum Phase {
    /// Those on the way from the spot.
    Nearest,
    /// Those on the other side of the anchor, which make room where those on the way can't, or only by long values.
    OtherSide(Walk, Option<Box<(usize, Found)>>),
    /// The first siblings without a value, after the last one that got one in a slice: more have none than one
    /// transaction gives values to.
    Unvalued(Walk, Option<Sibling>),
    /// The last sibling that has a value. The walk looks for it after those without one, so it also finds a
    /// sibling that another request has just given a value.
    LastValued(Walk, Box<Walk>, Option<Sibling>),
}

/// What [`FindSpot`] comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The value that the node gets; `None` if it is there already.
    pub(super) value: Option<String>,
    /// The siblings that get other values in the same transaction, and where they are then.
    pub(super) changes: Vec<(Action, Placed)>,
    /// What must hold of the sibling that the node comes next to.
    pub(super) anchor: Option<Action>,
    /// The changes are written without the node, and it goes on from here.
    pub(super) slice: Option<Slice>,
}

/// How far siblings without a value have got values, before the node is placed after them. They get them from the first
/// on, each slice after the one before, so after each slice all are in the order in which they were.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    /// The parent of these siblings.
    parent: Option<Id>,
    /// The last one that got a value, as it is now.
    last: Sibling,
    /// How many slices were written. Each has a time of its own.
    number: u64,
}

impl Phase {
    /// The walk of this phase, given that along the way.
    fn walk<'w>(&'w mut self, way: &'w mut Walk) -> &'w mut Walk {
        match self {
            Self::Nearest => way,
            Self::OtherSide(walk, _) | Self::LastValued(walk, ..) | Self::Unvalued(walk, _) => walk,
        }
    }
}

impl<'a> FindSpot<'a> {
    /// Begins with the base records of the node and of the anchor, what the batch has placed, how many siblings may get
    /// other values, and the slice that was written before.
    pub(super) fn new(
        context: Context<'a>,
        stamp: &'a Stamp,
        (node, parent): (&'a NodeRef, Option<Id>),
        spot: &'a Spot,
        (own, anchor): (Option<&Item>, Option<&Item>),
        placed: &[Placed],
        (room, slice): (Room, Option<&Slice>),
    ) -> Result<Self, Stop> {
        let Context { settings, rules, .. } = context;
        let order = settings.order.as_ref().filter(|order| order.by_hand).ok_or(Refusal::NotByHand)?;
        if parent.is_none() && !settings.root_rows {
            return Err(Refusal::RootsUnordered.into());
        }
        let siblings = Siblings { settings, order, node };
        let own = own.and_then(|item| siblings.read(parent.as_ref(), &node.id, item));
        let mut way = match spot {
            Spot::First | Spot::After(_) => Way::Up,
            Spot::Last | Spot::Before(_) => Way::Down,
        };
        let mut anchored = None;
        if let Some(id) = spot.anchor() {
            let anchor = anchor.and_then(|item| siblings.read(parent.as_ref(), id, item));
            let anchor = anchor.ok_or_else(|| Refusal::NotASibling(id.clone()))?;
            siblings.text_or_none(&anchor)?;
            if !anchor.has_value() {
                way = Way::Down;
            }
            anchored = Some(anchor);
        }
        let start = anchored.as_ref().map_or(Start::End, Start::Sibling);
        let walk = siblings.walk(parent.as_ref(), way, &start, placed)?;
        let mut tiebreak = stamp.tiebreak;
        // Another request may have given the anchor a value, or put the node under another parent.
        let slice =
            slice.filter(|slice| slice.parent == parent && anchored.as_ref().is_none_or(|anchor| !anchor.has_value()));
        let looking = match slice {
            None => Phase::Nearest,
            Some(Slice { last, number, .. }) => {
                tiebreak.micros += number;
                let on = siblings.walk(parent.as_ref(), Way::Up, &Start::UnvaluedAfter(&last.id), placed)?;
                Phase::Unvalued(on, Some(last.clone()))
            }
        };
        Ok(Self {
            siblings,
            rules,
            stamp,
            tiebreak,
            parent,
            spot,
            placed: placed.to_vec(),
            room,
            slices: slice.map_or(0, |slice| slice.number),
            own,
            anchor: anchored,
            way,
            walk,
            looking,
        })
    }

    /// Decides, or goes on along the way until it can.
    pub(super) async fn find(&mut self, io: &Io) -> Result<Found, Stop> {
        loop {
            let decided = match &self.looking {
                Phase::Nearest => self.decide()?,
                Phase::OtherSide(walk, found) => self.decide_on_both_sides(walk, found.as_deref())?,
                Phase::Unvalued(walk, last) if self.knows_a_slice(walk) => {
                    let before = self.walk_from(Way::Down, &Start::Unvalued)?;
                    Decided::Phase(Phase::LastValued(before, Box::new(walk.clone()), last.clone()))
                }
                Phase::Unvalued(..) => Decided::Further,
                Phase::LastValued(before, walk, last) => {
                    let nearest = before.nearest().first().copied();
                    let last = nearest.into_iter().chain(last.as_ref()).max_by(|a, b| a.order().cmp(&b.order()));
                    if before.knows(nearest) { self.decide_on_unvalued(walk, last)? } else { Decided::Further }
                }
            };
            match decided {
                Decided::Found(found) => return Ok(found),
                Decided::Phase(phase) => self.looking = phase,
                Decided::Further => {
                    let Self { siblings, walk, looking, .. } = self;
                    siblings.further(io, looking.walk(walk)).await?;
                }
            }
        }
    }

    fn walk_from(&self, way: Way, start: &Start<'_>) -> Result<Walk, Stop> {
        self.siblings.walk(self.parent.as_ref(), way, start, &self.placed)
    }

    /// The value, if enough siblings are known.
    fn decide(&self) -> Result<Decided, Stop> {
        let nearest = self.walk.nearest();
        // Siblings that nothing can be put between before they have other values.
        let start = match (&self.anchor, self.spot) {
            (Some(anchor), _) => Some(anchor.place.clone()),
            (None, Spot::Last) => Some(SiblingPlace::none()),
            (None, _) => None,
        };
        let alike = nearest.iter().take_while(|sibling| Some(&sibling.place) == start.as_ref()).count();
        let is_known = alike > self.room.with_node || self.walk.knows(nearest.get(alike).copied());
        if !is_known {
            return Ok(Decided::Further);
        }
        let next = nearest.first().copied();
        if self.walk.knows(next) && self.is_there(next) {
            return Ok(Decided::Found(Found { anchor: self.stays(), ..Found::default() }));
        }
        if alike > self.room.with_node && start == Some(SiblingPlace::none()) {
            return Ok(Decided::Phase(Phase::Unvalued(self.walk_from(Way::Up, &Start::Unvalued)?, None)));
        }
        let mut spaced: Option<(usize, usize, Vec<String>)> = None;
        for crowded in CROWDS {
            let changed = alike + crowded;
            if changed > self.room.with_node {
                break;
            }
            if !self.walk.knows(nearest.get(changed).copied()) {
                return Ok(Decided::Further);
            }
            // What has no text isn't changed to make room.
            let crowd = nearest.get(alike..changed);
            if !crowd.is_some_and(|crowd| crowd.iter().all(|sibling| self.siblings.has_text(sibling))) {
                break;
            }
            let limit = if crowded == 0 { CROWDED_BYTES } else { RESPACED_BYTES };
            if let Some(values) = self.values(&nearest[..changed], nearest.get(changed).copied())? {
                let longest = longest(&values);
                if longest <= VALUE_BYTES_MAX && spaced.as_ref().is_none_or(|(least, ..)| longest < *least) {
                    spaced = Some((longest, changed, values));
                }
                if longest <= limit {
                    break;
                }
            }
            if self.goes_by_time() {
                break;
            }
        }
        let is_short = spaced.as_ref().is_some_and(|(longest, ..)| *longest <= CROWDED_BYTES);
        let found = spaced
            .map(|(longest, changed, values)| {
                Ok((longest, self.placed(&nearest[..changed], values, nearest.get(changed).copied())?))
            })
            .unwrap_or_else(|| Err(self.no_room()));
        match (found, &self.anchor) {
            (Ok((_, found)), _) if is_short => Ok(Decided::Found(found)),
            (found, Some(anchor)) if !self.goes_by_time() => {
                let walk = self.walk_from(self.way.back(), &Start::Sibling(anchor))?;
                Ok(Decided::Phase(Phase::OtherSide(walk, found.ok().map(Box::new))))
            }
            (found, _) => Ok(Decided::Found(found?.1)),
        }
    }

    /// Makes room by other values of the anchor and of siblings on its other side. `found` is what those on the way
    /// would come to, and its longest value.
    fn decide_on_both_sides(&self, walk: &Walk, found: Option<&(usize, Found)>) -> Result<Decided, Stop> {
        let (Some(anchor), near, others) = (&self.anchor, self.walk.nearest(), walk.nearest()) else {
            return Err(self.no_room().into());
        };
        let near = near.first().copied();
        let alike = others.iter().take_while(|sibling| sibling.place == anchor.place).count();
        let mut best: Option<(usize, usize, Vec<String>)> = None;
        for crowded in CROWDS {
            let changed = alike + crowded;
            if changed + 1 > self.room.with_node {
                break;
            }
            let beyond = others.get(changed).copied();
            if !walk.knows(beyond) {
                return Ok(Decided::Further);
            }
            if !others.get(..changed).is_some_and(|all| all.iter().all(|sibling| self.siblings.has_text(sibling))) {
                break;
            }
            if let Some(values) = self.values_on_both_sides(anchor, near, changed, beyond)? {
                let longest = longest(&values);
                if best.as_ref().is_none_or(|(least, ..)| longest < *least) {
                    best = Some((longest, changed, values));
                }
                if longest <= RESPACED_BYTES {
                    break;
                }
            }
        }
        let least = found.map_or(VALUE_BYTES_MAX, |(longest, _)| longest - 1);
        let Some((_, changed, mut values)) = best.filter(|(longest, ..)| *longest <= least) else {
            return found.map(|(_, found)| Decided::Found(found.clone())).ok_or_else(|| self.no_room().into());
        };
        let mut changes: Vec<&Sibling> = std::iter::once(anchor).chain(others[..changed].iter().copied()).collect();
        let value = if self.way == Way::Down {
            values.remove(0)
        } else {
            changes.reverse();
            values.pop().unwrap_or_default()
        };
        let moves = self.moves(&changes, &values);
        let own = SiblingPlace::of_text(&value, &self.siblings.node.id);
        let beyond = others.get(changed).map(|beyond| &beyond.place);
        let places = moves.iter().map(|(_, place, _)| place);
        let near = near.map(|near| &near.place);
        let is_in_order = match self.way {
            Way::Down => near.into_iter().chain([&own]).chain(places).chain(beyond).is_sorted_by(|a, b| a < b),
            Way::Up => beyond.into_iter().chain(places).chain([&own]).chain(near).is_sorted_by(|a, b| a < b),
        };
        if !is_in_order {
            return found.map(|(_, found)| Decided::Found(found.clone())).ok_or_else(|| self.no_room().into());
        }
        // The anchor gets a value on the conditions of a check.
        Ok(Decided::Found(Found { value: Some(value), changes: self.changes(moves), ..Found::default() }))
    }

    /// The values of the node, of its anchor and of this many siblings on the anchor's other side, in their order.
    fn values_on_both_sides(
        &self,
        anchor: &Sibling,
        near: Option<&Sibling>,
        changed: usize,
        beyond: Option<&Sibling>,
    ) -> Result<Option<Vec<String>>, Refusal> {
        let Some(text) = self.siblings.text_or_none(anchor)? else { return Ok(None) };
        // What comes last later comes after the anchor, and what comes first before it.
        let (low, high) = match self.way {
            Way::Down => (self.low(near), self.high(beyond)?.map(str::to_owned).or_else(|| order_key::ceiling(text))),
            Way::Up => (self.low(beyond), self.high(near)?.map(str::to_owned)),
        };
        let floor = if self.way == Way::Up && low.is_none() { order_key::floor(text) } else { None };
        let seed = self.tiebreak.seed.wrapping_add(self.tiebreak.part.into());
        Ok(order_key::spread(low.or(floor.as_deref()), high.as_deref(), changed + 2, seed))
    }

    /// The siblings of a walk without a value that come before the anchor.
    fn unvalued<'w>(&self, walk: &'w Walk) -> Vec<&'w Sibling> {
        let before = |sibling: &&Sibling| self.anchor.as_ref().is_none_or(|anchor| sibling.id < anchor.id);
        walk.nearest().into_iter().filter(|sibling| !sibling.has_value()).filter(before).collect()
    }

    /// True if the siblings of the next slice are known, or all.
    fn knows_a_slice(&self, walk: &Walk) -> bool {
        let end = self.unvalued(walk).get(self.room.in_slice - 1).copied();
        walk.knows(self.anchor.as_ref()) || (end.is_some() && walk.knows(end))
    }

    /// Gives values to the first siblings without one; to the last of them with the node.
    fn decide_on_unvalued(&self, walk: &Walk, last: Option<&Sibling>) -> Result<Decided, Stop> {
        // Siblings that got a value meanwhile, and whose rows don't show it yet.
        let valued = walk.nearest().into_iter().filter(|sibling| sibling.has_value());
        let last = valued.chain(last).max_by(|a, b| a.order().cmp(&b.order()));
        let unvalued = self.unvalued(walk);
        let knows_all = walk.knows(self.anchor.as_ref());
        if knows_all && unvalued.len() <= self.room.with_node {
            let nearest: Vec<&Sibling> = unvalued.into_iter().rev().collect();
            let values = self.values(&nearest, last)?.ok_or_else(|| self.no_room())?;
            return Ok(Decided::Found(self.placed(&nearest, values, last)?));
        }
        let count = unvalued.len().min(self.room.in_slice);
        for sibling in &unvalued[..count] {
            self.siblings.text_or_none(sibling)?;
        }
        let values = self.after_all(self.low(last), count, self.tiebreak.seed).ok_or_else(|| self.no_room())?;
        let moves = self.moves(&unvalued[..count], &values);
        let places = moves.iter().map(|(_, place, _)| place);
        if !last.map(|last| &last.place).into_iter().chain(places).is_sorted_by(|a, b| a < b) {
            return Err(self.no_room().into());
        }
        let Some((sibling, place, value)) = moves.last().cloned() else { return Err(self.no_room().into()) };
        let item = Item::from([(self.siblings.order.attribute().to_owned(), text(value))]).into();
        let last = Sibling { id: sibling.id.clone(), place, item };
        let slice = Some(Slice { parent: self.parent.clone(), last, number: self.slices + 1 });
        Ok(Decided::Found(Found { value: Some(value.clone()), changes: self.changes(moves), anchor: None, slice }))
    }

    /// True if the value comes of the time alone.
    fn goes_by_time(&self) -> bool {
        self.anchor.as_ref().is_none_or(|anchor| !anchor.has_value())
    }

    /// True if the node is next to its anchor already. Whether it is the first or the last of all isn't known: rows
    /// lag.
    fn is_there(&self, nearest: Option<&Sibling>) -> bool {
        let (Some(own), Some(anchor)) = (&self.own, &self.anchor) else { return false };
        let (start, own) = ((&anchor.place, &anchor.id), (&own.place, &own.id));
        let before = matches!(self.spot, Spot::Before(_));
        let is_right_side = if before { own < start } else { own > start };
        // Of siblings without a value the walk goes down, whichever side is asked for.
        let walks_to_it = before == (self.way == Way::Down);
        is_right_side
            && walks_to_it
            && nearest.is_none_or(|nearest| {
                let nearest = (&nearest.place, &nearest.id);
                if before { nearest < own } else { own < nearest }
            })
    }

    /// The text that the values must sort before; `None` if the sibling behind has no value. A value that is no text is
    /// refused, because numbers sort before all texts.
    fn high<'s>(&self, beyond: Option<&'s Sibling>) -> Result<Option<&'s str>, Refusal> {
        let placed = beyond.filter(|sibling| sibling.has_value());
        Ok(placed.map(|sibling| self.siblings.text_or_none(sibling)).transpose()?.flatten())
    }

    /// The text that the values have to sort after. Numbers sort before all texts.
    fn low<'s>(&self, beyond: Option<&'s Sibling>) -> Option<&'s str> {
        beyond.and_then(|sibling| self.siblings.text_or_none(sibling).ok().flatten())
    }

    /// The values of these siblings, which are next to the spot, and of the node, in their order. `beyond` is the
    /// sibling behind them. `None`: there is no room.
    fn values(&self, siblings: &[&Sibling], beyond: Option<&Sibling>) -> Result<Option<Vec<String>>, Refusal> {
        for sibling in siblings {
            self.siblings.text_or_none(sibling)?;
        }
        let (count, tiebreak) = (siblings.len() + 1, &self.tiebreak);
        let seed = tiebreak.seed.wrapping_add(tiebreak.part.into());
        let anchor = self.anchor.as_ref().map(|anchor| self.siblings.text_or_none(anchor)).transpose()?.flatten();
        let low = self.low(beyond);
        let is_short = |values: &Vec<String>| values.iter().all(|value| value.len() <= CROWDED_BYTES);
        Ok(match (self.spot, anchor) {
            (Spot::First, _) => order_key::first(self.high(beyond)?, tiebreak).map(|value| vec![value]),
            (Spot::Last, _) => self.after_all(low, count, seed),
            (Spot::After(_), Some(text)) => match self.high(beyond)? {
                Some(high) => {
                    let one = order_key::right_after(text, high, tiebreak).filter(|_| count == 1);
                    shorter(order_key::spread(Some(text), Some(high), count, seed), one, high)
                }
                None => order_key::ceiling(text)
                    .and_then(|ceiling| order_key::spread(Some(text), Some(&ceiling), count, seed))
                    .filter(is_short)
                    .or_else(|| self.after_all(Some(text), count, seed)),
            },
            (Spot::Before(_), Some(text)) => match low {
                Some(low) => {
                    let one = order_key::right_before(low, text, tiebreak).filter(|_| count == 1);
                    shorter(order_key::spread(Some(low), Some(text), count, seed), one, low)
                }
                None => order_key::floor(text)
                    .and_then(|floor| order_key::spread(Some(&floor), Some(text), count, seed))
                    .filter(is_short)
                    .or_else(|| before_all(text, count, tiebreak)),
            },
            // The anchor has no value. It gets one if something is to come after it.
            (Spot::After(_), None) => self.after_all(low, count + 1, seed),
            (Spot::Before(_), None) => self.after_all(low, count, seed),
        })
    }

    /// Returns `count` values that sort after `text`; nodes that are put last later sort after them. `None` if there is
    /// no room.
    fn after_all(&self, text: Option<&str>, count: usize, seed: u64) -> Option<Vec<String>> {
        if !self.rules.keeps(Rule::LastByTime) {
            return order_key::spread(text, None, count, seed);
        }
        let least = order_key::last(text, &self.tiebreak);
        let others = order_key::spread(Some(&least), Some(&order_key::ceiling(&least)?), count - 1, seed)?;
        Some(std::iter::once(least).chain(others).collect())
    }

    /// What is written, given the values of the siblings next to the spot, of the anchor if it had none, and of the
    /// node.
    fn placed(&self, siblings: &[&Sibling], values: Vec<String>, beyond: Option<&Sibling>) -> Result<Found, Refusal> {
        let mut changed: Vec<&Sibling> = siblings.to_vec();
        if self.way == Way::Down {
            changed.reverse();
        }
        let gets_value = |anchor: &&Sibling| matches!(self.spot, Spot::After(_)) && !anchor.has_value();
        let anchor = self.anchor.as_ref().filter(gets_value);
        changed.extend(anchor);
        let mut values = values;
        // The node comes before all that change, or after them.
        let value = if self.way == Way::Up { values.remove(0) } else { values.pop().unwrap_or_default() };
        let moves = self.moves(&changed, &values);
        self.check_room(&value, &moves, beyond)?;
        // The update of an anchor that gets a value has the conditions of its check.
        let stays = if anchor.is_none() { self.stays() } else { None };
        Ok(Found { value: Some(value), changes: self.changes(moves), anchor: stays, slice: None })
    }

    /// Where siblings are with their new values.
    fn moves<'s>(&self, siblings: &[&'s Sibling], values: &'s [String]) -> Vec<Move<'s>> {
        let of =
            |(sibling, value): (&&'s Sibling, &'s String)| (*sibling, SiblingPlace::of_text(value, &sibling.id), value);
        siblings.iter().zip(values).map(of).collect()
    }

    fn changes(&self, moves: Vec<Move<'_>>) -> Vec<(Action, Placed)> {
        let change = |(sibling, place, value): Move<'_>| {
            (self.change(sibling, value), (self.parent.clone(), sibling.id.clone(), place))
        };
        moves.into_iter().map(change).collect()
    }

    /// Checks that the values are in order as parts of keys, where long ones are cut.
    fn check_room(&self, value: &str, moves: &[Move<'_>], beyond: Option<&Sibling>) -> Result<(), Refusal> {
        let own = SiblingPlace::of_text(value, &self.siblings.node.id);
        let mut places: Vec<&SiblingPlace> = moves.iter().map(|(_, place, _)| place).collect();
        let anchor = self.anchor.as_ref().map(|anchor| &anchor.place).filter(|place| **place != SiblingPlace::none());
        let beyond = beyond.map(|beyond| &beyond.place);
        match self.way {
            Way::Up => {
                places.insert(0, &own);
                let places = anchor.into_iter().chain(places).chain(beyond);
                places.is_sorted_by(|a, b| a < b)
            }
            Way::Down => {
                places.push(&own);
                let places = beyond.into_iter().chain(places).chain(anchor);
                places.is_sorted_by(|a, b| a < b)
            }
        }
        .then_some(())
        .ok_or_else(|| self.no_room())
    }

    fn no_room(&self) -> Refusal {
        Refusal::NoRoom { attribute: self.siblings.order.attribute().to_owned() }
    }

    /// Gives a sibling another value.
    fn change(&self, sibling: &Sibling, value: &str) -> Action {
        let mut update = Update::set(self.siblings.order.attribute(), text(value));
        // The API didn't create it.
        let is_of_creation = |name: &str| name == CREATED_AT || name == CREATED_BY;
        let stamps = record::stamped(Some(&sibling.item), self.stamp).into_iter();
        update.set.extend(stamps.filter(|(name, _)| !is_of_creation(name)));
        Action::Update {
            key: self.siblings.key(&sibling.id),
            update,
            condition: self.is_as_read(sibling, &[REVISION, CREATED_AT]),
        }
    }

    /// The check that the anchor has kept its parent and its value.
    fn stays(&self) -> Option<Action> {
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

fn longest(values: &[String]) -> usize {
    values.iter().map(String::len).max().unwrap_or_default()
}

/// Returns `count` values that sort before `text`; nodes that are put first later sort before them. `None` if there is
/// no room.
fn before_all(text: &str, count: usize, tiebreak: &Tiebreak) -> Option<Vec<String>> {
    let greatest = order_key::first(Some(text), tiebreak)?;
    let mut values = order_key::spread(Some(&order_key::floor(&greatest)?), Some(&greatest), count - 1, tiebreak.seed)?;
    values.push(greatest);
    Some(values)
}

/// These values, or one with a time, if that is no longer than the value or than the neighbour's, which may have a time
/// as well.
fn shorter(values: Option<Vec<String>>, one: Option<String>, neighbour: &str) -> Option<Vec<String>> {
    match (values.as_deref(), one) {
        (Some([value]), Some(one)) if one.len() > value.len().max(neighbour.len()) => values,
        (_, Some(one)) => Some(vec![one]),
        _ => values,
    }
}
