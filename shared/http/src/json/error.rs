//! Why JSON can't be taken.

use sapwood_core::keys::KeyError;
use thiserror::Error;

/// What kind of mistake a [`JsonError`] is about: each has its own problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is no JSON, or not of the shape that is wanted: 400.
    Malformed,
    /// A value that DynamoDB can't keep: 422.
    Value,
    /// A name that isn't the user's to give: 422.
    Reserved,
    /// A text that no key can hold: 422.
    Key,
}

/// Why JSON can't be taken, and where: `path` is like `attributes.dimensions.width` or `operations[3].put.id`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "`path` is the same in each; the messages say the rest")]
pub enum JsonError {
    /// No JSON.
    #[error("the body is no JSON: {detail}")]
    Syntax { detail: String },
    /// A string with an escape that stands for no character.
    #[error("the string holds half a surrogate pair; escape characters past U+FFFF as two, or write them as they are")]
    NoText { path: String },
    /// Two members of one name.
    #[error("the name is there twice; leave one of them out")]
    Twice { path: String },
    /// A member that isn't part of this body.
    #[error("there is no such field here; leave it out (attributes go into `attributes`)")]
    Unknown { path: String },
    /// A member that must be there.
    #[error("the field is missing; {remedy}")]
    Missing { path: String, remedy: &'static str },
    /// A value of another type.
    #[error("the value must be {wanted}")]
    Type { path: String, wanted: &'static str },
    /// Fewer or more operations than a batch has.
    #[error("a batch has 1 to {limit} operations, this one has {count}")]
    Count { path: String, count: usize, limit: usize },
    /// A number with more digits than DynamoDB keeps.
    #[error("the number has {digits} significant digits, and 38 can be kept; round it, or send it as text")]
    Digits { path: String, digits: usize },
    /// A number larger or smaller than DynamoDB keeps.
    #[error("the number is out of range: 0 can be kept, and from 1E-130 to 9.99E+125 on either side of it")]
    Range { path: String },
    /// Lists and maps within one another past DynamoDB's limit.
    #[error("lists and maps are nested past {limit} levels", limit = super::read::NESTED_MAX)]
    Nested { path: String },
    /// An attribute without a name.
    #[error("the name is empty; give it at least one character")]
    EmptyName { path: String },
    /// A name longer than DynamoDB keeps.
    #[error("the name has {bytes} bytes, over its limit of {limit}; shorten it", limit = super::read::NAME_BYTES_MAX)]
    LongName { path: String, bytes: usize },
    /// A map whose only key begins with `$`, and is none of ours.
    #[error(
        "a map with one key that begins with `$` is $set, $binary or $map; to mean it as it is, write {{\"$map\": …}} around it"
    )]
    Form { path: String },
    /// A set of nothing.
    #[error("a set can't be empty; leave the attribute out")]
    EmptySet { path: String },
    /// A set of several kinds of values, or of a kind that there is none of.
    #[error("a set holds strings, or numbers, or {{\"$binary\": …}}, and only one of the three")]
    MixedSet { path: String },
    /// A set with a value twice.
    #[error("the set holds a value twice; leave one of them out")]
    SetTwice { path: String },
    /// Binary that isn't base64.
    #[error("the text is no base64 of the standard alphabet with its padding")]
    Base64 { path: String },
    /// A name that isn't the user's to give.
    #[error("`{path}`: the name is reserved, since {reason}; choose another")]
    Reserved { path: String, reason: &'static str },
    /// A text that no key can hold.
    #[error("{source}")]
    Key { path: String, source: KeyError },
}

impl JsonError {
    /// What kind of mistake it is.
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

    /// Where it is: empty where it is the body as a whole.
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
