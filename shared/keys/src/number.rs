//! Numbers whose texts sort as the numbers do.

use std::borrow::Cow;

use super::{Error, Part};

/// A number of `DIGITS` digits with zeros in front (`00042`), so that byte order is number order. `DIGITS` is 1 to 20,
/// which the compiler checks; 20 digits hold every `u64`.
///
/// A number of more digits is an [`Error::Value`]. The number can't be negative; [`Part`] shows a type that can.
///
/// ```
/// use sapwood_keys::{Padded, Part};
///
/// assert_eq!(Padded::<5>(42).encode()?, "00042");
/// assert!(Padded::<5>(100_000).encode().is_err());
/// # Ok::<(), sapwood_keys::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Padded<const DIGITS: usize>(pub u64);

impl<const DIGITS: usize> Padded<DIGITS> {
    const DIGITS_IN_RANGE: () = assert!(1 <= DIGITS && DIGITS <= 20, "DIGITS is 1 to 20");
}

impl<const DIGITS: usize> Part for Padded<DIGITS> {
    fn encode(&self) -> Result<Cow<'_, str>, Error> {
        let () = Self::DIGITS_IN_RANGE;
        let text = format!("{:0DIGITS$}", self.0);
        if text.len() > DIGITS {
            return Err(Error::value(text, format!("a number of at most {DIGITS} digits")));
        }
        Ok(Cow::Owned(text))
    }

    fn decode(text: &str) -> Result<Self, Error> {
        let digits = text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit());
        text.parse()
            .ok()
            .filter(|_| digits)
            .map(Self)
            .ok_or_else(|| Error::value(text, format!("a number of exactly {DIGITS} digits")))
    }
}
