//! Times and dates whose texts sort chronologically.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use super::{Error, Part};

/// A time in UTC as RFC 3339 writes it, always with `DIGITS` digits of the second's fraction: `2024-12-01T10:30:00Z`
/// with 0, `2024-12-01T10:30:00.250Z` with 3. `DIGITS` is 0 to 9 (nanoseconds), which the compiler checks. Byte order
/// is the order of times, and a time's text begins with its year, month and day, for
/// [`prefix_within`](super::Format::prefix_within).
///
/// A time of finer resolution is an [`Error::Value`], since it would be read back as another time: round it first. So
/// is a time before the year 0. The type has no time after the year 9999.
///
/// ```
/// use sapwood_keys::{Part, Utc};
///
/// let at = Utc::<0>("2024-12-01T11:30:00+01:00".parse()?);
/// assert_eq!(at.encode()?, "2024-12-01T10:30:00Z");
/// assert!(Utc::<0>("2024-12-01T10:30:00.5Z".parse()?).encode().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Utc<const DIGITS: u32>(pub Timestamp);

impl<const DIGITS: u32> Utc<DIGITS> {
    const DIGITS_IN_RANGE: () = assert!(DIGITS <= 9, "DIGITS is 0 to 9");
}

impl<const DIGITS: u32> Part for Utc<DIGITS> {
    fn encode(&self) -> Result<Cow<'_, str>, Error> {
        let () = Self::DIGITS_IN_RANGE;
        let date = Offset::UTC.to_datetime(self.0).date();
        let too_fine = self.0.subsec_nanosecond() % 10_i32.pow(9 - DIGITS) != 0;
        if date.year() < 0 || too_fine {
            let expected = format!("a time from the year 0, with at most {DIGITS} digits after the second");
            return Err(Error::value(self.0.to_string(), expected));
        }
        Ok(Cow::Owned(format!("{:.*}", DIGITS as usize, self.0)))
    }

    fn decode(text: &str) -> Result<Self, Error> {
        exact(text, Self).ok_or_else(|| {
            let expected = format!("a UTC time with {DIGITS} digits after the second");
            Error::value(text, expected)
        })
    }
}

/// A day, `2024-12-01`. A day before the year 0 is an [`Error::Value`]. The type has no day after the year 9999.
impl Part for Date {
    fn encode(&self) -> Result<Cow<'_, str>, Error> {
        if self.year() < 0 {
            return Err(Error::value(self.to_string(), "a date from the year 0"));
        }
        Ok(Cow::Owned(self.to_string()))
    }

    fn decode(text: &str) -> Result<Self, Error> {
        exact(text, |date: Date| date).ok_or_else(|| Error::value(text, "a date, YYYY-MM-DD"))
    }
}

/// Returns the value of a text, if the value is written as exactly that text.
fn exact<T: FromStr + Display, P: Part>(text: &str, part: impl Fn(T) -> P) -> Option<P> {
    let part = part(text.parse().ok()?);
    let written = part.encode().is_ok_and(|written| written == text);
    written.then_some(part)
}
