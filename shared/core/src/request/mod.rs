//! Requests to a DynamoDB table and their answers, as values: what a plan asks for and what `sapwood-dynamodb` sends.

mod error;
mod read;
mod transaction;
mod write;

pub use error::{ErrorKind, TableError};
pub use read::{Page, Query, ReadOptions, Scan, Scanned};
pub(crate) use transaction::TRANSACTION_BYTES_MAX;
pub use transaction::{Action, TRANSACTION_ACTIONS_MAX, Transacted};
pub use write::{Update, Write};

use crate::model::{AttributeValue, Item};

/// The condition on the item in the table for a write to be carried out.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
#[must_use]
pub enum Condition {
    /// Any state will do.
    Always,
    /// The item exists.
    Exists,
    /// The item doesn't exist.
    Absent,
    /// All of these conditions hold. There is at least one.
    All(Vec<Condition>),
    /// The attribute has this value. With `None` the attribute doesn't exist; the item needn't exist either.
    Is { name: String, value: Option<AttributeValue> },
    /// The item doesn't exist, or its attribute has this value.
    AbsentOr { name: String, value: AttributeValue },
    /// The attribute is less than the value, a text or a number, or is of another type, or doesn't exist.
    LessThan { name: String, value: AttributeValue },
    /// Like `LessThan`, and also true if the attribute equals the value.
    AtMost { name: String, value: AttributeValue },
}

impl Condition {
    /// The condition that an attribute has this value, or, with `None`, that it doesn't exist.
    pub fn is(name: impl Into<String>, value: Option<AttributeValue>) -> Self {
        Self::Is { name: name.into(), value }
    }

    /// True if the condition holds of `item`, as DynamoDB decides it. Simulated tables use this. Numbers are compared
    /// as whole numbers, because no condition compares others.
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
            Self::AbsentOr { name, value } => item.is_none() || attribute(name) == Some(value),
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
