//! The values of a node at a spot and of the siblings that make room for it: which of the [order
//! keys](super::order_key) fit.

use super::find_spot::{CROWDED_BYTES, FindSpot};
use super::order_key;
use super::sibling_walk::{Sibling, Way};
use crate::plan::Rule;
use crate::write::Refusal;
use crate::write::command::Spot;
use crate::write::request::Tiebreak;

impl FindSpot<'_> {
    /// The values of these siblings next to the spot and of the node. `beyond` is the sibling behind. `None`: no room.
    pub(super) fn values(
        &self,
        siblings: &[&Sibling],
        beyond: Option<&Sibling>,
    ) -> Result<Option<Vec<String>>, Refusal> {
        for sibling in siblings {
            self.siblings.text_or_none(sibling)?;
        }
        let (count, tiebreak, seed) = (siblings.len() + 1, &self.tiebreak, self.seed());
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

    /// The values of the node, of its anchor and of this many siblings on the anchor's other side, in their order.
    pub(super) fn values_on_both_sides(
        &self,
        anchor: &Sibling,
        near: Option<&Sibling>,
        others: usize,
        beyond: Option<&Sibling>,
    ) -> Result<Option<Vec<String>>, Refusal> {
        let Some(text) = self.siblings.text_or_none(anchor)? else { return Ok(None) };
        // A node that is put last later comes after the anchor, and one that is put first before it.
        let (low, high) = match self.way {
            Way::Down => (self.low(near), self.high(beyond)?.map(str::to_owned).or_else(|| order_key::ceiling(text))),
            Way::Up => (self.low(beyond), self.high(near)?.map(str::to_owned)),
        };
        let floor = if self.way == Way::Up && low.is_none() { order_key::floor(text) } else { None };
        Ok(order_key::spread(low.or(floor.as_deref()), high.as_deref(), others + 2, self.seed()))
    }

    /// The values of the first siblings without one, after the last that has one.
    pub(super) fn values_of_slice(&self, last: Option<&Sibling>, count: usize) -> Option<Vec<String>> {
        self.after_all(self.low(last), count, self.tiebreak.seed)
    }

    fn seed(&self) -> u64 {
        self.tiebreak.seed.wrapping_add(self.tiebreak.part.into())
    }

    /// The text that values sort before, if there is one. Others are refused: numbers sort before all texts.
    fn high<'s>(&self, beyond: Option<&'s Sibling>) -> Result<Option<&'s str>, Refusal> {
        let placed = beyond.filter(|sibling| sibling.has_value());
        Ok(placed.map(|sibling| self.siblings.text_or_none(sibling)).transpose()?.flatten())
    }

    /// The text that the values have to sort after. Numbers sort before all texts.
    fn low<'s>(&self, beyond: Option<&'s Sibling>) -> Option<&'s str> {
        beyond.and_then(|sibling| self.siblings.text_or_none(sibling).ok().flatten())
    }

    /// `count` values that sort after `text`, and before nodes that are put last later. `None`: no room.
    fn after_all(&self, text: Option<&str>, count: usize, seed: u64) -> Option<Vec<String>> {
        if !self.rules.keeps(Rule::LastByTime) {
            return order_key::spread(text, None, count, seed);
        }
        let least = order_key::last(text, &self.tiebreak);
        let others = order_key::spread(Some(&least), Some(&order_key::ceiling(&least)?), count - 1, seed)?;
        Some(std::iter::once(least).chain(others).collect())
    }
}

/// `count` values that sort before `text`, and after nodes that are put first later. `None`: no room.
fn before_all(text: &str, count: usize, tiebreak: &Tiebreak) -> Option<Vec<String>> {
    let greatest = order_key::first(Some(text), tiebreak)?;
    let mut values = order_key::spread(Some(&order_key::floor(&greatest)?), Some(&greatest), count - 1, tiebreak.seed)?;
    values.push(greatest);
    Some(values)
}

/// These values, or one with a time, if that is no longer than the value or the neighbour's, which may have one.
fn shorter(values: Option<Vec<String>>, one: Option<String>, neighbour: &str) -> Option<Vec<String>> {
    match (values.as_deref(), one) {
        (Some([value]), Some(one)) if one.len() > value.len().max(neighbour.len()) => values,
        (_, Some(one)) => Some(vec![one]),
        _ => values,
    }
}
