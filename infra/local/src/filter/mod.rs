//! Lambda's event filtering: which records of a stream reach the function.
//!
//! A filter is several patterns, and a record passes that matches any of them. A pattern is a JSON object shaped like the
//! record; its leaves are lists of alternatives. Every field that the pattern names must match.
//!
//! | alternative | matches |
//! |---|---|
//! | `"text"`, `""`, `5`, `true`, `null` | exactly this; numbers by value |
//! | `{"prefix": "text"}`, `{"suffix": "text"}` | a string that begins or ends so |
//! | `{"anything-but": "text"}`, a list, or `{"prefix": "text"}` | a value that is there and is none of these |
//! | `{"exists": true}`, `{"exists": false}` | a leaf that is there, or isn't; an object is no leaf |
//!
//! Where the record has a list, one of its elements must match, as in Lambda.

mod error;
mod matching;
mod parse;

use serde_json::Value;

pub use self::error::FilterError;

use self::matching::matches;

/// Several patterns, of which a record must match one.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    patterns: Vec<Pattern>,
}

impl Filter {
    /// Reads patterns, JSON texts. Without any, every record passes.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, FilterError> {
        let patterns = patterns.iter().map(|text| parse::pattern(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Filter { patterns })
    }

    /// Whether a record passes.
    pub fn passes(&self, record: &Value) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches(pattern, Some(record)))
    }
}

/// What a part of the record must be like.
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
