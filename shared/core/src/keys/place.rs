//! The place of a node among its siblings, as a part of a key.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use sapwood_keys::{Decimal, Part};

use super::ranges::PART_END;
use super::sort_key::escape_part;
use super::{Id, SORT_KEY_BYTES_MAX};

/// The place of a node among its siblings: the value of its attribute as text that sorts as values do: numbers, then
/// texts, by their bytes, then nodes without a value. Nodes with equal places are in the order of their ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct SiblingPlace(Arc<str>);

/// Most bytes of the text in a place. Longer ones are cut, and their nodes are in the order of their ids.
pub const TEXT_BYTES_MAX: usize = 256;

/// Bytes of a sort key besides the place's text and the id: `ORDERED#s#`.
const AROUND_BYTES: usize = 10;

const NUMBER: char = 'n';
const TEXT: char = 's';
/// Sorts after the other two.
const NONE: &str = "~";

/// Most attributes that order siblings: each leaves room for any number.
pub const ORDER_ATTRIBUTES_MAX: usize = 4;

/// A value by which a node is ordered among its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderValue<'a> {
    /// A number, as DynamoDB writes it.
    Number(&'a str),
    /// A text.
    Text(Cow<'a, str>),
    /// None, or one that is neither. It comes last.
    Missing,
}

impl SiblingPlace {
    /// The place of a node by several values, of which each is compared where those before it are equal. Each has the
    /// same share of the room: a text is cut to it, and a number that doesn't fit it counts as missing.
    pub fn of_values<'v>(values: impl IntoIterator<Item = OrderValue<'v>>, id: &Id) -> Self {
        let (mut values, room): (Vec<OrderValue<'_>>, usize) = (values.into_iter().collect(), room(id));
        // Beside an id of over 1,000 bytes there may be no room for all of them.
        values.truncate((room / 2).saturating_add(1));
        let room = share(room, values.len());
        let part = |value: OrderValue<'_>| match value {
            OrderValue::Number(digits) => Self::number(digits, room).unwrap_or_else(Self::none),
            OrderValue::Text(text) => Self::text(&text, room),
            OrderValue::Missing => Self::none(),
        };
        let mut place = String::new();
        for (position, value) in values.into_iter().enumerate() {
            place.extend((position > 0).then_some(PART_END));
            place += part(value).as_str();
        }
        Self(place.into())
    }

    /// The place of a node by a text.
    pub fn of_text(text: &str, id: &Id) -> Self {
        Self::text(text, room(id))
    }

    /// The place of a node without a value.
    pub fn none() -> Self {
        Self(NONE.into())
    }

    /// The end of a range of places by a number. `None` for a text that is no number of DynamoDB's.
    #[must_use]
    pub fn number_bound(digits: &str) -> Option<Self> {
        Self::number(digits, TEXT_BYTES_MAX)
    }

    /// The end of a range of places by a text, which is cut as the places are that so many attributes make.
    pub fn text_bound(text: &str, attributes: usize) -> Self {
        Self::text(text, share(TEXT_BYTES_MAX, attributes))
    }

    /// The beginning of the places by a number.
    pub fn numbers() -> Self {
        Self(NUMBER.to_string().into())
    }

    /// The prefix of the places, of `attributes` attributes, of all texts that begin so. `None` if none has room for
    /// it.
    #[must_use]
    pub fn texts(beginning: &str, attributes: usize) -> Option<Self> {
        let text = escape_part(beginning);
        (text.len() <= share(TEXT_BYTES_MAX, attributes)).then(|| Self(format!("{TEXT}{text}").into()))
    }

    /// Reads a place that a key or an item holds.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(PART_END);
        // A place has no character that a key escapes.
        let is_one = |part: &str| (part == NONE || part.starts_with([NUMBER, TEXT])) && part.chars().all(|c| c > '$');
        let is_whole = parts.all(is_one) && text.matches(PART_END).count() < ORDER_ATTRIBUTES_MAX;
        (is_whole && text.len() <= TEXT_BYTES_MAX + 1).then(|| Self(text.into()))
    }

    /// True if the node has none of the values that order it.
    #[must_use]
    pub fn is_without_values(&self) -> bool {
        self.0.split(PART_END).all(|part| part == NONE)
    }

    /// True if more than one attribute makes the place.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.0.contains(PART_END)
    }

    /// The place as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn number(digits: &str, room: usize) -> Option<Self> {
        let number: Decimal = digits.parse().ok()?;
        let text = number.encode().ok()?;
        (text.len() <= room).then(|| Self(format!("{NUMBER}{text}").into()))
    }

    fn text(text: &str, room: usize) -> Self {
        // No character gets shorter when it is escaped, so the rest would be cut in any case.
        let end = (TEXT_BYTES_MAX..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
        Self::cut(&escape_part(&text[..end]), room)
    }

    /// Cuts a text so that the key has room for it. Cut texts are in the order of the whole ones, or equal.
    fn cut(text: &str, room: usize) -> Self {
        let mut place = String::with_capacity(1 + room.min(text.len()));
        place.push(TEXT);
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            let length = if first == '%' { 3 } else { first.len_utf8() };
            if at + length > room {
                // An escaped character sorts before all that would fit; any other, as the last one that fits, after
                // them.
                let last = ['\u{7F}', '\u{7FF}', '\u{FFFF}'].into_iter().find(|last| at + last.len_utf8() == room);
                place.extend(last.filter(|_| first != '%'));
                break;
            }
            place += &text[at..at + length];
            at += length;
        }
        Self(place.into())
    }
}

/// How many bytes a place by a text has room for, in the key of a node of this id.
fn room(id: &Id) -> usize {
    TEXT_BYTES_MAX.min((SORT_KEY_BYTES_MAX - AROUND_BYTES).saturating_sub(id.as_str().len()))
}

/// The bytes that each of `parts` parts has besides its first, out of the `room` of one part.
fn share(room: usize, parts: usize) -> usize {
    let parts = parts.max(1);
    ((room + 1).saturating_sub(parts - 1) / parts).saturating_sub(1)
}

impl fmt::Display for SiblingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
