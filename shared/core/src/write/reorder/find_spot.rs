//! The search for a spot: walks along the siblings until enough of them are known to choose values.

use super::sibling_walk::{Sibling, Siblings, Start, VALUE_BYTES_MAX, Walk, Way};
use super::{Insertion, Room, SiblingPosition, Slice};
use crate::keys::{Id, NodeRef, SiblingPlace};
use crate::model::{Item, text};
use crate::plan::{Io, Rules};
use crate::write::attempts::Stop;
use crate::write::command::Spot;
use crate::write::request::{Stamp, Tiebreak};
use crate::write::{Context, Refusal};

/// Longest value, in bytes, before crowded siblings get others.
pub(super) const CROWDED_BYTES: usize = 64;
/// Longest of the values that replace them, so that they aren't crowded again soon.
const RESPACED_BYTES: usize = 56;
/// How many siblings next to the spot get other values where they have become crowded: as few as it takes.
const CROWDS: [usize; 7] = [0, 1, 3, 7, 15, 31, 63];

/// A node that is to be at a spot, and the records of it and of the sibling that the spot is next to.
#[derive(Clone, Debug)]
pub(in crate::write) struct SpotRequest<'a> {
    pub(in crate::write) node: &'a NodeRef,
    pub(in crate::write) parent: Option<Id>,
    pub(in crate::write) spot: &'a Spot,
    pub(in crate::write) own: Option<&'a Item>,
    pub(in crate::write) anchor: Option<&'a Item>,
}

#[derive(Debug)]
pub(in crate::write) struct FindSpot<'a> {
    pub(super) siblings: Siblings<'a>,
    pub(super) rules: Rules,
    pub(super) stamp: &'a Stamp,
    pub(super) tiebreak: Tiebreak,
    pub(super) parent: Option<Id>,
    pub(super) spot: &'a Spot,
    placed: Vec<SiblingPosition>,
    /// Most siblings that get other values.
    room: Room,
    slices: u64,
    /// The node in this list, if it is there.
    own: Option<Sibling>,
    pub(super) anchor: Option<Sibling>,
    pub(super) way: Way,
    walk: Walk,
    looking: Phase,
}

/// The result of a look at the siblings that are known.
enum Decided {
    Found(Insertion),
    Phase(Phase),
    Further,
}

#[derive(Debug)]
enum Phase {
    /// The nearest on the way from the spot.
    Nearest,
    /// The nearest on the other side of the anchor, where those on the way have no room, or only for long values.
    OtherSide(Walk, Option<Box<(usize, Insertion)>>),
    /// The first siblings without a value, after the last one of a slice: there are more than one transaction takes.
    Unvalued(Walk, Option<Sibling>),
    /// The last sibling with a value. It is found after those without one, so one that just got a value is found too.
    LastValued(Walk, Box<Walk>, Option<Sibling>),
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

/// Values of the node and of this many siblings, in their order, and how long the longest is.
struct Spaced {
    longest: usize,
    changed: usize,
    values: Vec<String>,
}

impl<'a> FindSpot<'a> {
    /// Begins with the batch's placed nodes, the room for other values, and the slice that was written before.
    pub(super) fn new(
        context: Context<'a>,
        stamp: &'a Stamp,
        request: SpotRequest<'a>,
        placed: &[SiblingPosition],
        room: Room,
        slice: Option<&Slice>,
    ) -> Result<Self, Stop> {
        let Context { settings, rules, .. } = context;
        let SpotRequest { node, parent, spot, own, anchor } = request;
        let order = settings.order.as_ref().filter(|order| order.by_hand).ok_or(Refusal::NotByHand)?;
        if parent.is_none() && !settings.root_rows {
            return Err(Refusal::RootsUnordered.into());
        }
        let siblings = Siblings { settings, order, node };
        let own = own.and_then(|item| siblings.read(parent.as_ref(), &node.id, item));
        let read = |id: &Id| {
            let anchor = anchor.and_then(|item| siblings.read(parent.as_ref(), id, item));
            let anchor = anchor.ok_or_else(|| Refusal::NotASibling(id.clone()))?;
            siblings.text_or_none(&anchor).map(|_| ())?;
            Ok::<_, Refusal>(anchor)
        };
        let anchor = spot.anchor().map(read).transpose()?;
        let way = match spot {
            _ if anchor.as_ref().is_some_and(|anchor| !anchor.has_value()) => Way::Down,
            Spot::First | Spot::After(_) => Way::Up,
            Spot::Last | Spot::Before(_) => Way::Down,
        };
        let walk = siblings.walk(parent.as_ref(), way, &anchor.as_ref().map_or(Start::End, Start::Sibling), placed)?;
        // Another request may have given the anchor a value, or put the node under another parent.
        let slice =
            slice.filter(|slice| slice.parent == parent && anchor.as_ref().is_none_or(|anchor| !anchor.has_value()));
        let (slices, mut tiebreak) = (slice.map_or(0, |slice| slice.number), stamp.tiebreak);
        tiebreak.micros += slices;
        let looking = match slice {
            None => Phase::Nearest,
            Some(Slice { last, .. }) => {
                let on = siblings.walk(parent.as_ref(), Way::Up, &Start::UnvaluedAfter(&last.id), placed)?;
                Phase::Unvalued(on, Some(last.clone()))
            }
        };
        let placed = placed.to_vec();
        Ok(Self {
            siblings,
            rules,
            stamp,
            tiebreak,
            parent,
            spot,
            placed,
            room,
            slices,
            own,
            anchor,
            way,
            walk,
            looking,
        })
    }

    pub(super) async fn find(&mut self, io: &Io) -> Result<Insertion, Stop> {
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
                    let last = nearest.into_iter().chain(last.as_ref()).max_by_key(|sibling| sibling.order());
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

    fn decide(&self) -> Result<Decided, Stop> {
        let nearest = self.walk.nearest();
        // Siblings that nothing can be put between before they have other values.
        let start = match (&self.anchor, self.spot) {
            (Some(anchor), _) => Some(anchor.place.clone()),
            (None, Spot::Last) => Some(SiblingPlace::none()),
            (None, _) => None,
        };
        let alike = nearest.iter().take_while(|sibling| Some(&sibling.place) == start.as_ref()).count();
        if alike <= self.room.with_node && !self.walk.knows(nearest.get(alike).copied()) {
            return Ok(Decided::Further);
        }
        let next = nearest.first().copied();
        if self.walk.knows(next) && self.is_there(next) {
            return Ok(Decided::Found(Insertion { anchor: self.stays(), ..Insertion::default() }));
        }
        if alike > self.room.with_node && start == Some(SiblingPlace::none()) {
            return Ok(Decided::Phase(Phase::Unvalued(self.walk_from(Way::Up, &Start::Unvalued)?, None)));
        }
        let values = |siblings: &[&Sibling], beyond: Option<&Sibling>| self.values(siblings, beyond);
        let Some(spaced) = self.space(&self.walk, alike, 0, CROWDED_BYTES, values)? else {
            return Ok(Decided::Further);
        };
        let found = spaced.map(|Spaced { longest, changed, values }| {
            let found = self.beside(&nearest[..changed], values, nearest.get(changed).copied())?;
            Ok((longest, found))
        });
        match (found.unwrap_or_else(|| Err(self.no_room())), &self.anchor) {
            (Ok((longest, found)), _) if longest <= CROWDED_BYTES => Ok(Decided::Found(found)),
            (found, Some(anchor)) if !self.goes_by_time() => {
                let walk = self.walk_from(self.way.back(), &Start::Sibling(anchor))?;
                Ok(Decided::Phase(Phase::OtherSide(walk, found.ok().map(Box::new))))
            }
            (found, _) => Ok(Decided::Found(found?.1)),
        }
    }

    /// Makes room on both sides of the anchor. `found` is the best of those on the way, and its longest value.
    fn decide_on_both_sides(&self, walk: &Walk, found: Option<&(usize, Insertion)>) -> Result<Decided, Stop> {
        let (Some(anchor), near, others) = (&self.anchor, self.walk.nearest(), walk.nearest()) else {
            return Err(self.no_room().into());
        };
        let near = near.first().copied();
        let alike = others.iter().take_while(|sibling| sibling.place == anchor.place).count();
        let values = |siblings: &[&Sibling], beyond: Option<&Sibling>| {
            self.values_on_both_sides(anchor, near, siblings.len(), beyond)
        };
        let Some(spaced) = self.space(walk, alike, 1, RESPACED_BYTES, values)? else { return Ok(Decided::Further) };
        let shorter = spaced.filter(|spaced| found.is_none_or(|(longest, _)| spaced.longest < *longest));
        let both = shorter.and_then(|Spaced { changed, values, .. }| {
            let mut siblings: Vec<&Sibling> =
                std::iter::once(anchor).chain(others[..changed].iter().copied()).collect();
            if self.way == Way::Up {
                siblings.reverse();
            }
            // The anchor gets a value on the conditions of a check.
            let places = [near, others.get(changed).copied()].map(|sibling| sibling.map(|sibling| &sibling.place));
            self.insertion(self.way == Way::Down, siblings, values, places).ok()
        });
        let found = both.or_else(|| found.map(|(_, found)| found.clone()));
        found.map(Decided::Found).ok_or_else(|| self.no_room().into())
    }

    /// Values of the siblings that are like the spot, and of as few others as it takes to get short ones: the shortest
    /// that were found, if any. `None` if more siblings have to be known. `besides` others get a value as well, and
    /// values are short at `short` bytes as long as none but these get one.
    fn space(
        &self,
        walk: &Walk,
        alike: usize,
        besides: usize,
        short: usize,
        values: impl Fn(&[&Sibling], Option<&Sibling>) -> Result<Option<Vec<String>>, Refusal>,
    ) -> Result<Option<Option<Spaced>>, Refusal> {
        let (nearest, mut best): (_, Option<Spaced>) = (walk.nearest(), None);
        for crowded in CROWDS {
            let changed = alike + crowded;
            if changed + besides > self.room.with_node {
                break;
            }
            let beyond = nearest.get(changed).copied();
            if !walk.knows(beyond) {
                return Ok(None);
            }
            // A sibling without a text isn't changed to make room.
            let Some(crowd) = nearest.get(..changed) else { break };
            if !crowd[alike..].iter().all(|sibling| self.siblings.has_text(sibling)) {
                break;
            }
            if let Some(values) = values(crowd, beyond)? {
                let longest = values.iter().map(String::len).max().unwrap_or_default();
                if longest <= VALUE_BYTES_MAX && best.as_ref().is_none_or(|best| longest < best.longest) {
                    best = Some(Spaced { longest, changed, values });
                }
                if longest <= if crowded == 0 { short } else { RESPACED_BYTES } {
                    break;
                }
            }
            if self.goes_by_time() {
                break;
            }
        }
        Ok(Some(best))
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
        let last = valued.chain(last).max_by_key(|sibling| sibling.order());
        let unvalued = self.unvalued(walk);
        if walk.knows(self.anchor.as_ref()) && unvalued.len() <= self.room.with_node {
            let nearest: Vec<&Sibling> = unvalued.into_iter().rev().collect();
            let values = self.values(&nearest, last)?.ok_or_else(|| self.no_room())?;
            return Ok(Decided::Found(self.beside(&nearest, values, last)?));
        }
        let slice = &unvalued[..unvalued.len().min(self.room.in_slice)];
        for sibling in slice {
            self.siblings.text_or_none(sibling)?;
        }
        let values = self.values_of_slice(last, slice.len()).ok_or_else(|| self.no_room())?;
        let places: Vec<SiblingPlace> =
            slice.iter().zip(&values).map(|(sibling, value)| SiblingPlace::of_text(value, &sibling.id)).collect();
        let is_sorted = last.map(|last| &last.place).into_iter().chain(&places).is_sorted_by(|a, b| a < b);
        let (Some(sibling), Some(place), Some(value), true) = (slice.last(), places.last(), values.last(), is_sorted)
        else {
            return Err(self.no_room().into());
        };
        let item = Item::from([(self.siblings.order.attribute().to_owned(), text(value))]).into();
        let last = Sibling { id: sibling.id.clone(), place: place.clone(), item };
        let (value, changes) = (Some(value.clone()), self.changes(slice.iter().copied().zip(&values)));
        let slice = Some(Slice { parent: self.parent.clone(), last, number: self.slices + 1 });
        Ok(Decided::Found(Insertion { value, changes, anchor: None, slice }))
    }

    /// True if the value is generated from the clock alone.
    fn goes_by_time(&self) -> bool {
        self.anchor.as_ref().is_none_or(|anchor| !anchor.has_value())
    }

    /// True if the node is next to its anchor already. Whether it is first or last of all isn't known: rows lag.
    fn is_there(&self, nearest: Option<&Sibling>) -> bool {
        let (Some(own), Some(anchor)) = (&self.own, &self.anchor) else { return false };
        let (start, own) = (anchor.order(), own.order());
        let before = matches!(self.spot, Spot::Before(_));
        let is_right_side = if before { own < start } else { own > start };
        // Of siblings without a value the walk goes down, whichever side is asked for.
        let walks_to_it = before == (self.way == Way::Down);
        let is_nearer = |nearest: &Sibling| if before { nearest.order() < own } else { own < nearest.order() };
        is_right_side && walks_to_it && nearest.is_none_or(is_nearer)
    }

    pub(super) fn no_room(&self) -> Refusal {
        Refusal::NoRoom { attribute: self.siblings.order.attribute().to_owned() }
    }
}
