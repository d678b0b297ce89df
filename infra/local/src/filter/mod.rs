//! Lambda's event filtering: which records of a stream reach the function.
//!
//! A filter has several patterns, and a record passes if it matches any of them. A pattern is a JSON object shaped like
//! the record, whose leaves are lists of alternatives. Every field that the pattern names must match.
//!
//! | alternative | matches |
//! |---|---|
//! | `"text"`, `""`, `5`, `true`, `null` | exactly this value; numbers are compared by value |
//! | `{"prefix": "text"}`, `{"suffix": "text"}` | a string that begins or ends with the text |
//! | `{"anything-but": "text"}`, a list, or `{"prefix": "text"}` | a value that exists and is none of these |
//! | `{"exists": true}`, `{"exists": false}` | a leaf that exists, or doesn't; an object isn't a leaf |
//!
//! If the record has a list, one of its elements must match, as in Lambda.

mod matching;
mod parse;

use serde_json::Value;

pub use self::parse::FilterError;

use self::matching::matches;

/// Patterns, of which a record must match one.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    criteria: Vec<Criterion>,
}

/// The answer of a record's keys alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The record passes, whatever else is in it.
    Passes,
    /// The record doesn't pass, whatever else is in it.
    Rejected,
    /// It depends on more than the keys.
    AsksForMore,
}

/// A pattern, and what it asks of a record's keys.
#[derive(Debug, Clone)]
struct Criterion {
    pattern: Pattern,
    /// The pattern's part on `dynamodb.Keys`. None: the pattern asks nothing of the keys.
    keys: Option<Pattern>,
    asks_for_more: bool,
}

impl Filter {
    /// Parses patterns, which are JSON texts. Without patterns every record passes.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, FilterError> {
        let patterns = patterns.iter().map(|text| parse::pattern(text.as_ref()));
        let criteria = patterns.map(|pattern| pattern.map(Criterion::from)).collect::<Result<_, _>>()?;
        Ok(Filter { criteria })
    }

    /// Returns true if a record passes.
    pub fn passes(&self, record: &Value) -> bool {
        self.criteria.is_empty() || self.criteria.iter().any(|one| matches(&one.pattern, Some(record)))
    }

    /// Judges a record by its keys, `{"PK": {"S": "a"}, …}`. It agrees with [`Filter::passes`] on the whole record.
    pub fn judge(&self, keys: &Value) -> Verdict {
        if self.criteria.is_empty() {
            return Verdict::Passes;
        }
        let mut verdict = Verdict::Rejected;
        for Criterion { keys: wanted, asks_for_more, .. } in &self.criteria {
            if wanted.as_ref().is_none_or(|wanted| matches(wanted, Some(keys))) {
                if !asks_for_more {
                    return Verdict::Passes;
                }
                verdict = Verdict::AsksForMore;
            }
        }
        verdict
    }
}

impl From<Pattern> for Criterion {
    /// Every field of a pattern must match, so its part on the keys can reject a record by itself.
    fn from(pattern: Pattern) -> Self {
        let (dynamodb, beside) = pattern.field("dynamodb");
        let (keys, beside_keys) = dynamodb.map_or((None, false), |change| change.field("Keys"));
        Criterion { keys: keys.cloned(), asks_for_more: beside || beside_keys, pattern }
    }
}

impl Pattern {
    /// Returns the part on a field, and true if there are other parts.
    fn field(&self, wanted: &str) -> (Option<&Pattern>, bool) {
        match self {
            Pattern::Fields(fields) => {
                let found = fields.iter().find(|(name, _)| name == wanted).map(|(_, inner)| inner);
                (found, fields.iter().any(|(name, _)| name != wanted))
            }
            Pattern::AnyOf(_) => (None, true),
        }
    }
}

/// The match for a part of the record.
#[derive(Debug, Clone)]
enum Pattern {
    Fields(Vec<(String, Pattern)>),
    AnyOf(Vec<Alternative>),
}

#[derive(Debug, Clone)]
enum Alternative {
    Exactly(Value),
    Prefix(String),
    Suffix(String),
    NoneOf(Vec<Value>),
    NotPrefix(String),
    Exists(bool),
}
