//! Lambda's event filtering: which records of a stream reach the function.
//!
//! A filter has several patterns, and a record passes if it matches any of them. A pattern is a JSON object shaped like the
//! record, whose leaves are lists of alternatives. Every field that the pattern names must match.
//!
//! | alternative | matches |
//! |---|---|
//! | `"text"`, `""`, `5`, `true`, `null` | exactly this value; numbers are compared by value |
//! | `{"prefix": "text"}`, `{"suffix": "text"}` | a string that begins or ends with the text |
//! | `{"anything-but": "text"}`, a list, or `{"prefix": "text"}` | a value that exists and is none of these |
//! | `{"exists": true}`, `{"exists": false}` | a leaf that exists, or doesn't; an object isn't a leaf |
//!
//! If the record has a list, one of its elements must match, as in Lambda.

mod error;
mod matching;
mod parse;

use serde_json::Value;

pub use self::error::FilterError;

use self::matching::matches;

/// Patterns, of which a record must match one.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    patterns: Vec<Pattern>,
}

impl Filter {
    /// Parses patterns, which are JSON texts. Without patterns every record passes.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, FilterError> {
        let patterns = patterns.iter().map(|text| parse::pattern(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Filter { patterns })
    }

    /// Returns true if a record passes.
    pub fn passes(&self, record: &Value) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches(pattern, Some(record)))
    }
}

/// What a part of the record must match.
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
