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

/// What an error says that there should be.
const EXPECTED: &str = "a number of at most 38 digits, from 1E-130 to 9.99E+125, its negative, or 0";
const TEXT_EXPECTED: &str = "the text of a decimal number";

impl Decimal {
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
}

impl FromStr for Decimal {
    type Err = Error;

    /// Reads a number such as `-12.50` or `1.25E+3`.
    fn from_str(text: &str) -> Result<Self, Error> {
        read(text).ok_or_else(|| Error::value(text, EXPECTED))
    }
}

fn read(text: &str) -> Option<Decimal> {
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = all.trim_start_matches('0');
    let zeros = i32::try_from(all.len() - significant.len()).ok()?;
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        return Some(Decimal { is_negative: false, exponent: 0, digits: String::new() });
    }
    let exponent = i32::try_from(whole.len()).ok()?.checked_sub(zeros + 1)?.checked_add(power)?;
    let is_in_range = digits.len() <= DIGITS_MAX && EXPONENTS.contains(&exponent);
    is_in_range.then(|| Decimal { is_negative, exponent, digits: digits.to_owned() })
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
            ("0", _) => return Ok(Self { is_negative: false, exponent: 0, digits: String::new() }),
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
