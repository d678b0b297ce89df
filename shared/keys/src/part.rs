//! The types that a part of a declared key can have.

use std::borrow::Cow;

use super::Error;

/// A value that can be a part of a [`CompositeKey`](super::CompositeKey).
///
/// `decode` accepts exactly the texts that `encode` returns. For keys to sort as values do, the texts must: that is why
/// numbers and times have a fixed width. A part needn't care about separators; the key's [`Format`](super::Format)
/// refuses or escapes them.
///
/// [`Padded`](super::Padded) is unsigned. With an offset, negative numbers keep their order too:
///
/// ```
/// use std::borrow::Cow;
/// use sapwood_keys::{Error, Padded, Part};
///
/// /// Degrees Celsius, from -1000.
/// #[derive(Debug, PartialEq)]
/// struct Celsius(i64);
///
/// impl Part for Celsius {
///     fn encode(&self) -> Result<Cow<'_, str>, Error> {
///         let offset = u64::try_from(self.0 + 1000)
///             .map_err(|_| Error::value(self.0.to_string(), "-1000 or warmer"))?;
///         Ok(Cow::Owned(Padded::<4>(offset).encode()?.into_owned()))
///     }
///     fn decode(text: &str) -> Result<Self, Error> {
///         Padded::<4>::decode(text).map(|offset| Self(offset.0 as i64 - 1000))
///     }
/// }
/// assert_eq!(Celsius(-5).encode()?, "0995");
/// assert_eq!(Celsius::decode("0995")?, Celsius(-5));
/// # Ok::<(), Error>(())
/// ```
pub trait Part: Sized {
    /// Returns the value as text.
    ///
    /// # Errors
    /// [`Error::value`] for a value that has no text, or no text that keeps order.
    fn encode(&self) -> Result<Cow<'_, str>, Error>;

    /// Returns the value of a text.
    ///
    /// # Errors
    /// [`Error::value`] for a text that `encode` never returns.
    fn decode(text: &str) -> Result<Self, Error>;
}

/// Any text, as it is. It may be empty.
impl Part for String {
    fn encode(&self) -> Result<Cow<'_, str>, Error> {
        Ok(Cow::Borrowed(self))
    }

    fn decode(text: &str) -> Result<Self, Error> {
        Ok(text.to_owned())
    }
}

/// A value that can be passed for a part of type `T` which is only written: a `T`, a `&T`, or a `&str` for a `String`.
pub trait AsPart<T> {
    /// Returns the value as [`Part::encode`] does.
    ///
    /// # Errors
    /// As [`Part::encode`].
    fn as_part(&self) -> Result<Cow<'_, str>, Error>;
}

impl<T: Part> AsPart<T> for T {
    fn as_part(&self) -> Result<Cow<'_, str>, Error> {
        self.encode()
    }
}

impl<T: Part> AsPart<T> for &T {
    fn as_part(&self) -> Result<Cow<'_, str>, Error> {
        self.encode()
    }
}

impl AsPart<String> for &str {
    fn as_part(&self) -> Result<Cow<'_, str>, Error> {
        Ok(Cow::Borrowed(self))
    }
}
