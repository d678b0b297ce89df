//! Conditions of a write.

use crate::model::{AttributeValue, Item};

/// What must hold of the item in the table for a write to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Nothing.
    Always,
    /// It is there.
    Exists,
    /// It isn't there.
    Absent,
    /// All of these; there is at least one.
    All(Vec<Condition>),
    /// An attribute has this value; with none, the attribute isn't there (nor need the item be).
    Is {
        /// The attribute.
        name: String,
        /// Its value.
        value: Option<AttributeValue>,
    },
    /// An attribute is less than this value, or is of another type (text or number), or isn't there.
    LessThan {
        /// The attribute.
        name: String,
        /// The value, text or a number.
        value: AttributeValue,
    },
    /// The same, or equal to it.
    AtMost {
        /// The attribute.
        name: String,
        /// The value, text or a number.
        value: AttributeValue,
    },
}

impl Condition {
    /// An attribute has this value, or isn't there.
    pub fn is(name: impl Into<String>, value: Option<AttributeValue>) -> Self {
        Self::Is { name: name.into(), value }
    }

    /// Whether it holds of `item`: what DynamoDB answers, for tables that are simulated. Numbers are compared as
    /// whole numbers, which is all that is ever compared here.
    #[must_use]
    pub fn holds(&self, item: Option<&Item>) -> bool {
        use std::cmp::Ordering::{Equal, Less};
        let attribute = |name: &str| item.and_then(|item| item.get(name));
        match self {
            Self::Always => true,
            Self::Exists => item.is_some(),
            Self::Absent => item.is_none(),
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(item)),
            Self::Is { name, value } => attribute(name) == value.as_ref(),
            Self::LessThan { name, value } => compare(attribute(name), value).is_none_or(|order| order == Less),
            Self::AtMost { name, value } => {
                compare(attribute(name), value).is_none_or(|order| matches!(order, Less | Equal))
            }
        }
    }
}

fn compare(attribute: Option<&AttributeValue>, value: &AttributeValue) -> Option<std::cmp::Ordering> {
    match (attribute?, value) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.cmp(b)),
        (AttributeValue::N(a), AttributeValue::N(b)) => Some(a.parse::<i128>().ok()?.cmp(&b.parse::<i128>().ok()?)),
        _ => None,
    }
}
