//! Conditions on attributes, which the items of a list must meet.

use std::cmp::Ordering;

use super::ReadError;
use sapwood_core::keys::SiblingPlace;
use sapwood_core::model::{AttributeValue, Item, Settings, is_truncated};

/// Most conditions of a filter.
pub const CONDITIONS_MAX: usize = 10;

/// The longest condition, in characters.
pub const CONDITION_CHARACTERS_MAX: usize = 1_024;

/// The names that answers have from records, and that no row has.
const OF_RECORDS: [&str; 4] = ["created_at", "created_by", "updated_at", "updated_by"];

/// Conditions on attributes. An item is shown if it meets all of them. Rows that aren't shown are read all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Vec<Condition>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    attribute: String,
    test: Test,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Is(&'static [Ordering]),
    NotEqual,
    Begins,
    Contains,
    Exists,
    Missing,
}

/// The tests by their words, and whether each takes a value.
const TESTS: [(&str, Test, bool); 10] = [
    ("eq", Test::Is(&[Ordering::Equal]), true),
    ("ne", Test::NotEqual, true),
    ("lt", Test::Is(&[Ordering::Less]), true),
    ("le", Test::Is(&[Ordering::Less, Ordering::Equal]), true),
    ("gt", Test::Is(&[Ordering::Greater]), true),
    ("ge", Test::Is(&[Ordering::Greater, Ordering::Equal]), true),
    ("begins", Test::Begins, true),
    ("contains", Test::Contains, true),
    ("exists", Test::Exists, false),
    ("missing", Test::Missing, false),
];

impl Filter {
    /// Reads conditions, each as `<attribute>:<test>:<value>`, or `<attribute>:exists` and `<attribute>:missing`. An
    /// attribute whose name has a colon can't be given.
    ///
    /// # Errors
    /// [`ReadError::Parameter`] for another form, for more than 10, for more than 1,024 characters, and for what rows
    /// don't have.
    pub fn parse(conditions: &[String], settings: &Settings) -> Result<Self, ReadError> {
        let refuse = |reason| ReadError::Parameter { parameter: "where", reason };
        if conditions.len() > CONDITIONS_MAX {
            return Err(refuse("give at most 10 conditions"));
        }
        if conditions.iter().any(|condition| condition.chars().count() > CONDITION_CHARACTERS_MAX) {
            return Err(refuse("a condition can have at most 1,024 characters"));
        }
        let parse = |text: &String| {
            let mut parts = text.splitn(3, ':');
            let attribute = parts.next().filter(|name| !name.is_empty() && name.len() <= 255)?.to_owned();
            let word = parts.next()?;
            let (_, test, has_value) = TESTS.into_iter().find(|(name, _, _)| *name == word)?;
            let value = parts.next();
            (value.is_some() == has_value).then(|| Condition {
                attribute,
                test,
                value: value.unwrap_or_default().to_owned(),
            })
        };
        let parsed: Option<Vec<Condition>> = conditions.iter().map(parse).collect();
        let parsed = parsed.ok_or_else(|| {
            refuse(
                "write `attribute:test:value` with eq, ne, lt, le, gt, ge, begins or contains, or `attribute:exists` and `attribute:missing`",
            )
        })?;
        let is_carried = |of: &Condition| !OF_RECORDS.contains(&&*of.attribute) && settings.is_copied(&of.attribute);
        if parsed.iter().all(is_carried) {
            return Ok(Self(parsed));
        }
        Err(refuse(
            "name attributes that rows carry: your own that `CopiedAttributes` and `NeverCopied` let through. `created_at`, `created_by`, `updated_at` and `updated_by` are in records alone, and `expand=record` shows them",
        ))
    }

    /// True if there is no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn attributes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|condition| condition.attribute.as_str())
    }

    /// True if a row meets all conditions. One that had no room for its attributes doesn't tell, and is shown.
    pub(super) fn holds(&self, row: &Item) -> bool {
        self.0.is_empty() || is_truncated(row) || self.0.iter().all(|condition| condition.holds(row))
    }
}

impl Condition {
    fn holds(&self, row: &Item) -> bool {
        let value = row.get(&self.attribute);
        let is = |orders: &[Ordering]| value.and_then(|value| self.order(value)).is_some_and(|o| orders.contains(&o));
        match self.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::Is(orders) => is(orders),
            Test::NotEqual => !is(&[Ordering::Equal]),
            Test::Begins => matches!(value, Some(AttributeValue::S(text)) if text.starts_with(&self.value)),
            Test::Contains => value.is_some_and(|value| self.is_in(value)),
        }
    }

    /// Compares an attribute with the condition's value: texts by bytes, numbers by size, truth values for equality.
    fn order(&self, value: &AttributeValue) -> Option<Ordering> {
        match value {
            AttributeValue::S(text) => Some(text.as_str().cmp(&self.value)),
            AttributeValue::N(digits) => {
                let wanted = SiblingPlace::number_bound(&self.value)?;
                Some(SiblingPlace::number_bound(digits)?.cmp(&wanted))
            }
            AttributeValue::Bool(value) => (value.to_string() == self.value).then_some(Ordering::Equal),
            _ => None,
        }
    }

    /// True if a text has the condition's value in it, or a set or a list has it as an element.
    fn is_in(&self, value: &AttributeValue) -> bool {
        let is_number = |digits: &String| self.order(&AttributeValue::N(digits.clone())) == Some(Ordering::Equal);
        match value {
            AttributeValue::S(text) => text.contains(&self.value),
            AttributeValue::Ss(texts) => texts.contains(&self.value),
            AttributeValue::Ns(numbers) => numbers.iter().any(is_number),
            AttributeValue::L(values) => values.iter().any(|value| self.order(value) == Some(Ordering::Equal)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::model::text;

    fn parsed(conditions: &[&str]) -> Result<Filter, ReadError> {
        let conditions: Vec<String> = conditions.iter().map(|&condition| condition.to_owned()).collect();
        Filter::parse(&conditions, &Settings::default())
    }

    fn holds(condition: &str, row: &Item) -> bool {
        parsed(&[condition]).is_ok_and(|filter| filter.holds(row))
    }

    #[test]
    fn a_condition_compares_texts_by_their_bytes_and_numbers_by_their_size() {
        let number = |digits: &str| AttributeValue::N(digits.to_owned());
        let row = Item::from([
            ("kind".to_owned(), text("folder")),
            ("size".to_owned(), number("12.50")),
            ("is_new".to_owned(), AttributeValue::Bool(true)),
            ("tags".to_owned(), AttributeValue::Ss(vec!["red".to_owned(), "a:b".to_owned()])),
            ("parts".to_owned(), AttributeValue::L(vec![number("7"), text("x")])),
            ("_id".to_owned(), text("V")),
        ]);
        for met in [
            "kind:eq:folder",
            "kind:ne:file",
            "kind:begins:fol",
            "kind:contains:old",
            "kind:gt:f",
            "kind:le:folder",
            "size:eq:12.5",
            "size:lt:100",
            "size:ge:1.25e1",
            "size:gt:-3",
            "is_new:eq:true",
            "is_new:ne:false",
            "tags:contains:red",
            "tags:contains:a:b",
            "parts:contains:7.0",
            "parts:contains:x",
            "kind:exists",
            "other:missing",
            "other:ne:x",
        ] {
            assert!(holds(met, &row), "{met}");
        }
        for unmet in [
            "kind:eq:Folder",
            "kind:ne:folder",
            "kind:begins:older",
            "kind:missing",
            "other:exists",
            "other:eq:",
            "size:lt:9",
            "size:eq:x",
            "size:begins:1",
            "is_new:eq:false",
            "tags:contains:re",
            "tags:eq:red",
        ] {
            assert!(parsed(&[unmet]).is_ok() && !holds(unmet, &row), "{unmet}");
        }
        let both = parsed(&["kind:eq:folder", "size:gt:100"]);
        assert!(!both.is_ok_and(|filter| filter.holds(&row)), "all must hold");
        for wrong in [
            "",
            "kind",
            "kind:is:x",
            ":eq:x",
            "kind:eq",
            "kind:exists:x",
            "_id:eq:V",
            "updated_at:gt:2026",
            "PK:exists",
        ] {
            assert!(parsed(&[wrong]).is_err(), "{wrong}");
        }
        assert!(parsed(&["a:exists"; 11]).is_err());
    }
}
