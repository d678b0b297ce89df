//! Why JSON is refused, and at which place.

use std::fmt;

use sapwood_core::keys::KeyError;
use thiserror::Error;

/// The kind of mistake that a [`JsonError`] is about. Each kind has a problem of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The body isn't JSON, or isn't of the expected shape: 400.
    Malformed,
    /// DynamoDB can't keep a value: 422.
    Value,
    /// A name is reserved: 422.
    Reserved,
    /// No key can hold a text: 422.
    Key,
}

/// Why JSON is refused. `path` names the place, such as `attributes.dimensions.width` or `operations[3].put.id`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "`path` is the same in each; the messages say the rest")]
pub enum JsonError {
    /// The body isn't JSON.
    #[error("the body isn't JSON: {detail}")]
    Syntax { detail: String },
    /// A string has an escape that stands for no character.
    #[error("the string holds half a surrogate pair; escape characters past U+FFFF as two, or write them as they are")]
    NoText { path: String },
    /// Two members of an object have the same name.
    #[error("the name comes twice; leave one of them out")]
    Twice { path: String },
    /// The body has no such member.
    #[error("the body has no such field; leave it out (attributes go into `attributes`)")]
    Unknown { path: String },
    /// A member is missing.
    #[error("the field is missing; {remedy}")]
    Missing { path: String, remedy: &'static str },
    /// A value has another type.
    #[error("the value must be {wanted}")]
    Type { path: String, wanted: &'static str },
    /// A batch has too few or too many operations.
    #[error("a batch has 1 to {limit} operations, and this one has {count}")]
    Count { path: String, count: usize, limit: usize },
    /// A number has more digits than DynamoDB keeps.
    #[error("the number has {digits} significant digits, and 38 can be kept; round it, or send it as text")]
    Digits { path: String, digits: usize },
    /// A number is larger or smaller than DynamoDB keeps.
    #[error("the number is out of range: 0 can be kept, and from 1E-130 to 9.99E+125 on either side of it")]
    Range { path: String },
    /// Lists and maps are nested deeper than DynamoDB allows.
    #[error("lists and maps are nested past {limit} levels", limit = super::read::NESTED_MAX)]
    Nested { path: String },
    /// An attribute has an empty name.
    #[error("the name is empty; give it at least one character")]
    EmptyName { path: String },
    /// A name is longer than DynamoDB keeps.
    #[error("the name has {bytes} bytes, over its limit of {limit}; shorten it", limit = super::read::NAME_BYTES_MAX)]
    LongName { path: String, bytes: usize },
    /// The only key of a map begins with `$`, and isn't one of the three forms.
    #[error(
        "a map with one key that begins with `$` is $set, $binary or $map; to mean it as it is, write {{\"$map\": …}} around it"
    )]
    Form { path: String },
    /// A set is empty.
    #[error("a set can't be empty; leave the attribute out")]
    EmptySet { path: String },
    /// A set holds values of several kinds, or of a kind that no set can hold.
    #[error("a set holds strings, or numbers, or {{\"$binary\": …}}, and only one of the three")]
    MixedSet { path: String },
    /// A set holds a value twice.
    #[error("the set holds a value twice; leave one of them out")]
    SetTwice { path: String },
    /// A text isn't base64.
    #[error("the text isn't base64 in the standard alphabet with padding")]
    Base64 { path: String },
    /// A name is reserved.
    #[error("`{path}`: the name is reserved, since {reason}; choose another")]
    Reserved { path: String, reason: &'static str },
    /// No key can hold a text.
    #[error("{source}")]
    Key { path: String, source: KeyError },
}

impl JsonError {
    /// The kind of mistake.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Syntax { .. }
            | Self::NoText { .. }
            | Self::Twice { .. }
            | Self::Unknown { .. }
            | Self::Missing { .. }
            | Self::Type { .. }
            | Self::Count { .. } => Fault::Malformed,
            Self::Digits { .. }
            | Self::Range { .. }
            | Self::Nested { .. }
            | Self::EmptyName { .. }
            | Self::LongName { .. }
            | Self::Form { .. }
            | Self::EmptySet { .. }
            | Self::MixedSet { .. }
            | Self::SetTwice { .. }
            | Self::Base64 { .. } => Fault::Value,
            Self::Reserved { .. } => Fault::Reserved,
            Self::Key { .. } => Fault::Key,
        }
    }

    /// The place of the mistake; empty for the body as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Syntax { .. } => "",
            Self::NoText { path }
            | Self::Twice { path }
            | Self::Unknown { path }
            | Self::Missing { path, .. }
            | Self::Type { path, .. }
            | Self::Count { path, .. }
            | Self::Digits { path, .. }
            | Self::Range { path }
            | Self::Nested { path }
            | Self::EmptyName { path }
            | Self::LongName { path, .. }
            | Self::Form { path }
            | Self::EmptySet { path }
            | Self::MixedSet { path }
            | Self::SetTwice { path }
            | Self::Base64 { path }
            | Self::Reserved { path, .. }
            | Self::Key { path, .. } => path,
        }
    }
}

/// The most characters of a name that an error repeats.
const NAME_CHARACTERS_MAX: usize = 64;

/// The place of a value in a body. It is written out only for an error.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The body as a whole.
    Body,
    /// A member of the object at another place.
    Member(&'a Place<'a>, &'a str),
    /// An element of the list at another place.
    Element(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => Ok(()),
            Self::Member(within, name) => {
                within.fmt(f)?;
                if !matches!(within, Self::Body) {
                    f.write_str(".")?;
                }
                match name.char_indices().nth(NAME_CHARACTERS_MAX) {
                    Some((end, _)) => write!(f, "{}…", &name[..end]),
                    None => f.write_str(name),
                }
            }
            Self::Element(within, position) => write!(f, "{within}[{position}]"),
        }
    }
}
