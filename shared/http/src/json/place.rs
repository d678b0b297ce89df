//! Where in a body a value stands.

use std::fmt;

/// The most characters of one name that an error repeats.
const NAME_CHARACTERS_MAX: usize = 64;

/// Where in a body a value stands. It is spelt only when something is wrong there.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The body as a whole.
    Body,
    /// A member of the object at a place.
    Member(&'a Place<'a>, &'a str),
    /// An element of the list at a place.
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
