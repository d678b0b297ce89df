//! Exact decimal numbers, as DynamoDB adds them. A float can't hold a tenth.

use std::fmt;
use std::ops::{Add, AddAssign, Neg};

/// Digits after the point that are counted.
const FRACTION_DIGITS: i32 = 9;

/// Most digits of a value before the point. With those after it, a sum of 10^11 values has DynamoDB's 38 digits.
const VALUE_DIGITS_MAX: i32 = 18;

/// Most digits before the point of a sum.
const SUM_DIGITS_MAX: i32 = 29;

/// A decimal number of at most nine digits after the point. Sums of numbers that [`Decimal::value`] reads are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(i128);

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The number 1.
    pub const ONE: Self = Self(1_000_000_000);

    /// Reads a number that can be added up: of at most 18 digits before the point. It is rounded to 9 after it, a half
    /// away from zero, so that 0.30000000000000004, which is 0.1 + 0.2 in a double, counts as 0.3.
    #[must_use]
    pub fn value(digits: &str) -> Option<Self> {
        Self::read(digits, VALUE_DIGITS_MAX)
    }

    /// Reads a sum.
    #[must_use]
    pub fn sum(digits: &str) -> Option<Self> {
        Self::read(digits, SUM_DIGITS_MAX)
    }

    /// True for nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The number, if it is whole and not less than nothing.
    #[must_use]
    pub fn count(self) -> Option<u64> {
        u64::try_from(self.0 / Self::ONE.0).ok().filter(|_| self.0 % Self::ONE.0 == 0)
    }

    fn read(text: &str, digits_max: i32) -> Option<Self> {
        let number: sapwood_keys::Decimal = text.parse().ok()?;
        if number.digits().is_empty() {
            return Some(Self::ZERO);
        }
        let before = number.exponent() + 1;
        if before > digits_max {
            return None;
        }
        // How many of the digits count. The one after them decides how it is rounded.
        let count = usize::try_from(before + FRACTION_DIGITS).unwrap_or_default();
        let digits = number.digits();
        let counted = digits.get(..count).unwrap_or(digits);
        let missing = u32::try_from(count.saturating_sub(digits.len())).ok()?;
        let whole = if counted.is_empty() { 0 } else { counted.parse::<i128>().ok()? };
        let next = digits.as_bytes().get(count).filter(|_| before + FRACTION_DIGITS >= 0);
        let rounded_up = i128::from(next.is_some_and(|next| *next >= b'5'));
        let billionths = whole.checked_mul(10_i128.checked_pow(missing)?)?.checked_add(rounded_up)?;
        // Rounding can make a digit more.
        let end = 10_i128.checked_pow(u32::try_from(digits_max + FRACTION_DIGITS).ok()?)?;
        (billionths < end).then_some(Self(if number.is_negative() { -billionths } else { billionths }))
    }
}

impl fmt::Display for Decimal {
    /// Plain digits, as DynamoDB answers them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / Self::ONE.0, (self.0 % Self::ONE.0).unsigned_abs());
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}", whole.unsigned_abs())?;
        if fraction == 0 {
            return Ok(());
        }
        write!(f, ".{}", format!("{fraction:09}").trim_end_matches('0'))
    }
}

// A sum that doesn't fit is one that no table has. It stays at the end of the range.
impl Add for Decimal {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Neg for Decimal {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl AddAssign for Decimal {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_as_dynamodb_spells_them_and_as_others_do() {
        for (text, plain) in [
            ("0", "0"),
            ("-0", "0"),
            ("000", "0"),
            ("12", "12"),
            ("-12.50", "-12.5"),
            ("0.1", "0.1"),
            (".1", "0.1"),
            ("5.", "5"),
            ("+7", "7"),
            ("1e3", "1000"),
            ("1E+3", "1000"),
            ("12.5e-1", "1.25"),
            ("0.000000001", "0.000000001"),
            ("1e-9", "0.000000001"),
            ("-0.000000001", "-0.000000001"),
            ("999999999999999999.999999999", "999999999999999999.999999999"),
            ("1e17", "100000000000000000"),
            ("0e999999999", "0"),
            ("0.30000000000000004", "0.3"),
            ("-1.2345678905", "-1.234567891"),
            ("0.0000000005", "0.000000001"),
            ("0.00000000049", "0"),
            ("1e-130", "0"),
        ] {
            assert_eq!(Decimal::value(text).map(|number| number.to_string()).as_deref(), Some(plain), "{text}");
        }
    }

    #[test]
    fn what_has_too_many_digits_or_is_no_number_isnt_read() {
        let most = "1".to_owned() + &"0".repeat(18);
        for text in
            ["", "-", ".", "a", "1a", "1e", "1e1.5", "0x1", "--1", "999999999999999999.9999999999", "1e18", &most]
        {
            assert_eq!(Decimal::value(text), None, "{text}");
        }
        assert!(Decimal::sum(&most).is_some());
        for text in ["1e30", "1e2147483647", "1e-2147483648", "9e28"] {
            _ = Decimal::sum(text);
        }
        assert_eq!(Decimal::sum("1e29"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(billionths in -(10_i128.pow(27) - 1)..10_i128.pow(27)) {
            let number = Decimal(billionths);
            prop_assert_eq!(Decimal::value(&number.to_string()), Some(number));
        }

        #[test]
        fn sums_are_exact_in_any_order(numbers in proptest::collection::vec(-(10_i128.pow(27) - 1)..10_i128.pow(27), 0..20)) {
            let forth: Decimal = numbers.iter().fold(Decimal::ZERO, |sum, one| sum + Decimal(*one));
            let back: Decimal = numbers.iter().rev().fold(Decimal::ZERO, |sum, one| sum + Decimal(*one));
            prop_assert_eq!(forth, back);
            prop_assert_eq!(forth.0, numbers.iter().sum::<i128>());
            prop_assert_eq!(Decimal::sum(&forth.to_string()), Some(forth));
        }
    }
}
