//! Decimal numbers whose texts sort as the numbers do.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::{Error, Part};

/// A number as DynamoDB keeps it: up to 38 digits, zero or from 1E-130 to 9.99…E+125 on either side of it ([AWS:
/// numbers][aws]). As a part of a key it sorts as the number, whatever its sign and exponent.
///
/// The text is `0` for zero; `1`, the exponent plus 500 in three digits, and the digits for a positive number; `-`, the
/// same with each digit taken from 9, and `~` for a negative one. Equal numbers have one text.
///
/// ```
/// use sapwood_keys::{Decimal, Part};
///
/// let texts = ["-20", "-3.5", "0", "1e-7", "42.0"].map(|number| {
///     number.parse::<Decimal>().and_then(|number| number.encode().map(String::from))
/// });
/// let texts: Vec<String> = texts.into_iter().collect::<Result<_, _>>()?;
/// assert_eq!(texts, ["-4987~", "-49964~", "0", "14931", "150142"]);
/// assert!(texts.is_sorted());
/// assert_eq!(Decimal::decode("150142")?.to_string(), "4.2e1");
/// # Ok::<(), sapwood_keys::Error>(())
/// ```
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html#HowItWorks.DataTypes.Number
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    is_negative: bool,
    /// The power of ten of the first digit.
    exponent: i32,
    /// The digits, without zeros at either end. Empty for zero.
    digits: String,
}

const DIGITS_MAX: usize = 38;
const EXPONENTS: std::ops::RangeInclusive<i32> = -130..=125;
const OFFSET: i32 = 500;

/// The expectations in errors.
const EXPECTED: &str = "a number of at most 38 digits, from 1E-130 to 9.99E+125, its negative, or 0";
const TEXT_EXPECTED: &str = "the text of a decimal number";

/// Why a text is no [`Decimal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFault {
    /// The text isn't a number.
    NoNumber,
    /// The number has this many significant digits.
    Digits(usize),
    /// The number is too large, or too close to zero.
    Range,
}

impl Decimal {
    const ZERO: Self = Self { is_negative: false, exponent: 0, digits: String::new() };

    /// Reads a number such as `-12.50` or `1.25E+3`.
    ///
    /// # Errors
    /// [`NumberFault`].
    pub fn read(text: &str) -> Result<Self, NumberFault> {
        let (is_negative, unsigned) = signed(text);
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, read_power(power)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        if !are_digits(&all) {
            return Err(NumberFault::NoNumber);
        }
        let significant = all.trim_start_matches('0');
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return Ok(Self::ZERO);
        }
        if digits.len() > DIGITS_MAX {
            return Err(NumberFault::Digits(digits.len()));
        }
        // The lengths are those of a text in memory, so they fit.
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let zeros = length(&all) - length(significant);
        let exponent = i32::try_from(power.saturating_add(length(whole) - zeros - 1)).ok();
        let exponent = exponent.filter(|exponent| EXPONENTS.contains(exponent)).ok_or(NumberFault::Range)?;
        Ok(Self { is_negative, exponent, digits: digits.to_owned() })
    }

    /// True if it is less than zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// Its digits, without zeros at either end. Zero has none.
    #[must_use]
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// The power of ten of its first digit.
    #[must_use]
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The number without an exponent, as DynamoDB answers it: `-12.5`.
    #[must_use]
    pub fn plain(&self) -> String {
        let (sign, digits) = (if self.is_negative { "-" } else { "" }, &self.digits);
        // How many digits are before the point.
        let point = self.exponent + 1;
        match usize::try_from(point) {
            _ if digits.is_empty() => "0".to_owned(),
            Ok(0) => format!("{sign}0.{digits}"),
            Ok(point) if point >= digits.len() => format!("{sign}{digits:0<point$}"),
            Ok(point) => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
            Err(_) => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
        }
    }
}

impl FromStr for Decimal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text).map_err(|_| Error::value(text, EXPECTED))
    }
}

/// Reads a power of ten. One that doesn't fit an integer is replaced by the largest.
fn read_power(text: &str) -> Result<i64, NumberFault> {
    let (is_negative, digits) = signed(text);
    if !are_digits(digits) {
        return Err(NumberFault::NoNumber);
    }
    let size: i64 = digits.parse().unwrap_or(i64::MAX);
    Ok(if is_negative { -size } else { size })
}

/// True for a text that begins with a minus, and the text without its sign.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Takes each digit from 9.
fn complement(digits: &str) -> String {
    digits.bytes().map(|digit| char::from(b'0' + (b'9' - digit))).collect()
}

impl Part for Decimal {
    fn encode(&self) -> Result<Cow<'_, str>, Error> {
        let text = || format!("{:03}{}", self.exponent + OFFSET, self.digits);
        Ok(match (self.digits.is_empty(), self.is_negative) {
            (true, _) => Cow::Borrowed("0"),
            (false, false) => Cow::Owned(format!("1{}", text())),
            (false, true) => Cow::Owned(format!("-{}~", complement(&text()))),
        })
    }

    fn decode(text: &str) -> Result<Self, Error> {
        let (is_negative, rest) = match (text, text.strip_prefix('-')) {
            ("0", _) => return Ok(Self::ZERO),
            (_, Some(rest)) => (true, rest.strip_suffix('~')),
            _ => (false, text.strip_prefix('1')),
        };
        let rest = rest.filter(|rest| rest.len() > 3 && rest.bytes().all(|byte| byte.is_ascii_digit()));
        let rest = rest.map(|rest| if is_negative { complement(rest) } else { rest.to_owned() });
        let number = rest.and_then(|rest| {
            let (exponent, digits) = rest.split_at(3);
            let exponent = exponent.parse::<i32>().ok()? - OFFSET;
            Some(Self { is_negative, exponent, digits: digits.to_owned() })
        });
        let is_whole = |number: &Self| {
            !number.digits.starts_with('0')
                && !number.digits.ends_with('0')
                && number.digits.len() <= DIGITS_MAX
                && EXPONENTS.contains(&number.exponent)
        };
        number.filter(is_whole).ok_or_else(|| Error::value(text, TEXT_EXPECTED))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        match self.digits.split_at_checked(1) {
            None => write!(f, "0"),
            Some((first, "")) => write!(f, "{sign}{first}e{}", self.exponent),
            Some((first, rest)) => write!(f, "{sign}{first}.{rest}e{}", self.exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(number: &str) -> Result<String, Error> {
        Ok(number.parse::<Decimal>()?.encode()?.into_owned())
    }

    #[test]
    #[allow(clippy::unwrap_used)]
    fn numbers_have_one_text_each_and_no_others_are_read() {
        for equal in [["0", "-0.00"], ["1", "1.000"], ["-120", "-1.2E+2"], ["0.05", "5e-2"], [".5", "0.5"], ["5.", "5"]]
        {
            assert_eq!(text(equal[0]).unwrap(), text(equal[1]).unwrap(), "{equal:?}");
        }
        let long = "9".repeat(38);
        assert!(text(&long).is_ok() && text(&format!("-{long}e87")).is_ok() && text("1e-130").is_ok());
        let wrong = ["", "-", ".", "e1", "1e", "1e126", "1e-131", "1 ", "0x1", "1.2.3", "--1", "1e999999999999", "NaN"];
        for wrong in wrong.into_iter().chain([format!("{long}9").as_str()]) {
            assert!(text(wrong).is_err(), "{wrong}");
        }
        for wrong in
            ["", "00", "1", "1500", "15000", "150110", "-4998", "-4998~~", "1999", "19991", "-", "~", "1-001", "é"]
        {
            assert!(Decimal::decode(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn texts_sort_as_numbers_and_are_read_back(
            a in any::<i64>(), b in any::<i64>(), [i, j] in [-60_i32..60, -60_i32..60],
        ) {
            let value = |n: i64, power: i32| format!("{n}e{power}").parse::<Decimal>();
            let (x, y) = (value(a, i)?, value(b, j)?);
            let (text_x, text_y) = (x.encode()?.into_owned(), y.encode()?.into_owned());
            prop_assert_eq!(&Decimal::decode(&text_x)?, &x);
            prop_assert_eq!(x.to_string().parse::<Decimal>()?, x);
            // The naive comparison: both numbers as whole numbers of the same power, digit by digit.
            let whole = |n: i64, power: i32| {
                let digits = format!("{}{}", n.unsigned_abs(), "0".repeat(usize::try_from(power + 60).unwrap_or_default()));
                let padded = format!("{digits:0>200}");
                (n < 0, padded)
            };
            let naive = match (whole(a, i), whole(b, j)) {
                ((false, x), (false, y)) => x.cmp(&y),
                ((true, x), (true, y)) => y.cmp(&x),
                ((true, _), (false, _)) => std::cmp::Ordering::Less,
                ((false, _), (true, _)) => std::cmp::Ordering::Greater,
            };
            prop_assert_eq!(text_x.cmp(&text_y), naive);
        }
    }
}
