//! Keys declared as structs.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::vec;

use super::{AsPart, Error, Format, Part, Place};

/// A key declared as a struct by [`composite_key!`](crate::composite_key).
///
/// Errors name the field. Where the format and the fields [keep order](Format#order), keys sort as the structs do
/// (derive `Ord`).
pub trait CompositeKey: Sized {
    /// How the parts are joined to a key.
    const FORMAT: Format<'static> = Format::SORT_KEY;

    /// The literals and fields, in order.
    const LAYOUT: &'static [Piece];

    /// Returns the fields' texts in order. The macro writes it.
    fn texts(&self) -> Texts<'_>;

    /// Returns the struct of these fields. The macro writes it.
    ///
    /// # Errors
    /// [`Error::Value`] for a text that isn't a value of its field.
    fn from_fields(fields: Fields<'_>) -> Result<Self, Error>;

    /// Builds the key.
    ///
    /// # Errors
    /// As [`Format::build`], and [`Error::Value`] for a field that has no text.
    fn build(&self) -> Result<String, Error> {
        let parts = lay_out::<Self>(self.texts())?;
        Self::FORMAT.build(&parts).map_err(named::<Self>)
    }

    /// Reads a key: the inverse of `build`.
    ///
    /// # Errors
    /// As [`Format::parse`]; [`Error::Count`] for a key of more or fewer parts, [`Error::Value`] for a part that isn't
    /// the expected literal or a value of its field.
    fn parse(key: &str) -> Result<Self, Error> {
        let parts = Self::FORMAT.parse(key).map_err(named::<Self>)?;
        let (found, expected) = (parts.len(), Self::LAYOUT.len());
        if found != expected {
            return Err(Error::Count { found, expected });
        }
        let mut fields = Vec::with_capacity(expected);
        for (index, (piece, part)) in Self::LAYOUT.iter().zip(parts).enumerate() {
            match *piece {
                Piece::Field(name) => fields.push((name, index, part)),
                Piece::Literal(text) if part == text => {}
                Piece::Literal(text) => {
                    let place = Place { index, field: None };
                    return Err(Error::value(part, format!("{text:?}")).at(place));
                }
            }
        }
        Self::from_fields(Fields(fields.into_iter()))
    }

    /// Builds the prefix, for `begins_with`, of all keys that have these first fields. The fields are passed as a
    /// tuple; the prefix has the literals up to the next field, and ends with the separator.
    ///
    /// # Errors
    /// As [`Format::prefix`], and [`Error::Value`] for a field that has no text.
    fn prefix<L: Leading<Self>>(leading: L) -> Result<String, Error> {
        let parts = lay_out::<Self>(leading.texts())?;
        Self::FORMAT.prefix(&parts).map_err(named::<Self>)
    }

    /// Builds the prefix, for `begins_with`, of all keys that have these first fields and whose next field begins with
    /// a text.
    ///
    /// # Errors
    /// As [`CompositeKey::prefix`].
    fn prefix_within<L: Leading<Self>>(leading: L, beginning: &str) -> Result<String, Error> {
        let mut parts = lay_out::<Self>(leading.texts())?;
        parts.push(Cow::Borrowed(beginning));
        Self::FORMAT.prefix_within(&parts).map_err(named::<Self>)
    }

    /// Builds the bounds, for `BETWEEN`, of all keys that have these first fields and whose next field is from `from`
    /// to `to`, both included.
    ///
    /// # Errors
    /// As [`Format::between`], and [`Error::Value`] for a field that has no text.
    fn between<L: Leading<Self>>(
        leading: L,
        from: impl AsPart<L::Next>,
        to: impl AsPart<L::Next>,
    ) -> Result<RangeInclusive<String>, Error> {
        let parents = lay_out::<Self>(leading.texts())?;
        let next = |error: Error| named::<Self>(error.at(place(parents.len())));
        let (from, to) = (from.as_part().map_err(next)?, to.as_part().map_err(next)?);
        Self::FORMAT.between(&parents, &from, &to).map_err(named::<Self>)
    }
}

/// An element of a key's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The same text in every key.
    Literal(&'static str),
    /// The field of this name.
    Field(&'static str),
}

/// The texts of fields, or the reason why a field has none.
pub type Texts<'v> = Vec<Result<Cow<'v, str>, Error>>;

/// Some of the first fields of the key `K`, but not all of them: a tuple of values that can be [passed for](AsPart)
/// each, or `()` for none.
pub trait Leading<K> {
    /// The type of the next field.
    type Next: Part;

    /// Returns the fields' texts.
    fn texts(&self) -> Texts<'_>;
}

/// The fields of a key that is being parsed.
pub struct Fields<'k>(vec::IntoIter<(&'static str, usize, Cow<'k, str>)>);

impl Fields<'_> {
    /// Returns the next field's value.
    ///
    /// # Errors
    /// [`Error::Value`] for a text that isn't a value of the field, [`Error::Count`] after the last field.
    pub fn decode<T: Part>(&mut self) -> Result<T, Error> {
        let (found, expected) = (0, 1);
        let (name, index, text) = self.0.next().ok_or(Error::Count { found, expected })?;
        let field = Some(name);
        T::decode(&text).map_err(|error| error.at(Place { index, field }))
    }
}

/// Returns the literals and the fields' texts in order, up to the first field that has none.
fn lay_out<K: CompositeKey>(texts: Texts<'_>) -> Result<Vec<Cow<'_, str>>, Error> {
    let mut texts = texts.into_iter();
    let pieces = K::LAYOUT.iter().map_while(|piece| match *piece {
        Piece::Literal(text) => Some(Ok(Cow::Borrowed(text))),
        Piece::Field(_) => texts.next(),
    });
    pieces.enumerate().map(|(index, part)| part.map_err(|error| named::<K>(error.at(place(index))))).collect()
}

fn place(index: usize) -> Place {
    Place { index, field: None }
}

/// Returns the error with the name of the field that it is about.
fn named<K: CompositeKey>(error: Error) -> Error {
    let Some(Place { index, .. }) = error.place() else {
        return error;
    };
    let field = match K::LAYOUT.get(index) {
        Some(Piece::Field(name)) => Some(*name),
        _ => None,
    };
    error.at(Place { index, field })
}

/// Declares a composite key as a struct: its parts in order, each a literal or a field whose type is a
/// [`Part`](crate::Part).
///
/// The struct implements [`CompositeKey`](crate::CompositeKey), whose methods build and parse it. Its
/// [`Format`](crate::Format) follows the name in parentheses; the default is `Format::SORT_KEY`. Fields are as visible
/// as the struct. Attributes, `derive` among them, are passed on.
///
/// ```
/// use sapwood_keys::composite_key;
/// use sapwood_keys::{CompositeKey, Format, Padded, Utc};
///
/// composite_key! {
///     /// `USER#<user>#ORDER#<time>#<number>`: a user's orders by time.
///     #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
///     pub struct OrderKey(Format::SORT_KEY.escaping()) {
///         "USER",
///         /// Who ordered.
///         user: String,
///         "ORDER",
///         at: Utc<0>,
///         number: Padded<6>,
///     }
/// }
///
/// let order = OrderKey {
///     user: "alice".into(),
///     at: Utc("2024-12-01T10:30:00Z".parse()?),
///     number: Padded(456),
/// };
/// assert_eq!(order.build()?, "USER#alice#ORDER#2024-12-01T10:30:00Z#000456");
/// assert_eq!(OrderKey::parse(&order.build()?)?, order);
///
/// // The prefixes of all keys, and of one user's.
/// assert_eq!(OrderKey::prefix(())?, "USER#");
/// assert_eq!(OrderKey::prefix(("alice",))?, "USER#alice#ORDER#");
/// assert_eq!(OrderKey::prefix_within(("alice",), "2024-12")?, "USER#alice#ORDER#2024-12");
///
/// // From one time to another, for `BETWEEN`.
/// let later = Utc("2024-12-24T00:00:00Z".parse()?);
/// let range = OrderKey::between(("alice",), order.at, later)?;
/// assert!(range.contains(&order.build()?));
///
/// // Errors name the field.
/// let refused = OrderKey::parse("USER#alice#ORDER#yesterday#000456").unwrap_err();
/// assert!(refused.to_string().starts_with("part `at` is \"yesterday\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The first fields of a prefix are typed too:
///
/// ```compile_fail
/// # use sapwood_keys::{CompositeKey, Padded, composite_key};
/// composite_key! { struct Line { order: Padded<6>, line: Padded<3> } }
/// let _ = Line::prefix(("six",));
/// ```
#[macro_export]
macro_rules! composite_key {
    // `Leading` for the first 0, 1, 2… fields, as long as another follows.
    (@leading $key:ident [$($first:ident: $first_type:ty,)*]
        [$next:ident: $next_type:ty, $($rest:ident: $rest_type:ty,)*]) => {
        // Each field's name is also the name of the type passed for it.
        #[allow(non_camel_case_types)]
        impl<$($first: $crate::AsPart<$first_type>),*>
            $crate::Leading<$key> for ($($first,)*)
        {
            type Next = $next_type;

            fn texts(&self) -> $crate::Texts<'_> {
                let ($($first,)*) = self;
                vec![$($crate::AsPart::as_part($first)),*]
            }
        }
        $crate::composite_key!(@leading $key
            [$($first: $first_type,)* $next: $next_type,] [$($rest: $rest_type,)*]);
    };
    (@leading $key:ident [$($first:ident: $first_type:ty,)*] []) => {};

    ($(#[$attribute:meta])* $visibility:vis struct $key:ident $(($format:expr))? {
        $($($literal:literal)? $($(#[$about:meta])* $field:ident: $type:ty)?),*
    }) => {
        $(#[$attribute])*
        $visibility struct $key {
            $($($(#[$about])* $visibility $field: $type,)?)*
        }

        impl $crate::CompositeKey for $key {
            $(const FORMAT: $crate::Format<'static> = $format;)?

            const LAYOUT: &'static [$crate::Piece] = &[
                $($($crate::Piece::Literal($literal),)?
                  $($crate::Piece::Field(stringify!($field)),)?)*
            ];

            fn texts(&self) -> $crate::Texts<'_> {
                vec![$($($crate::Part::encode(&self.$field),)?)*]
            }

            fn from_fields(
                mut fields: $crate::Fields<'_>,
            ) -> Result<Self, $crate::Error> {
                Ok(Self { $($($field: fields.decode::<$type>()?,)?)* })
            }
        }

        $crate::composite_key!(@leading $key [] [$($($field: $type,)?)*]);
    };
}
