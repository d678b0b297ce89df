//! The place of a value in a body.

use std::fmt;

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
