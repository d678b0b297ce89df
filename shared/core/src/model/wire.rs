//! The size of items in DynamoDB's JSON. It can be forty times what DynamoDB counts: a zero in a list takes two bytes
//! there and ten in a request, and 1E125 takes 135 in an answer.

use std::borrow::Cow;

use super::PLAIN_NUMBER_BYTES_MAX;
use super::item::{AttributeValue, Item};

/// Returns how many bytes an item takes in a request, where long numbers are written with exponents ([`shortest`]). An
/// item of 400 KB takes some 4 MB at most.
#[must_use]
pub fn sent_bytes(item: &Item) -> usize {
    item_size(item, Spelling::Shortest)
}

/// Returns how many bytes an item takes in an answer. DynamoDB writes numbers with all of their digits there.
#[must_use]
pub fn answered_bytes(item: &Item) -> usize {
    item_size(item, Spelling::AsIs)
}

/// Returns a number as it is sent: with an exponent, if that is shorter. DynamoDB takes it for the same number.
#[must_use]
pub fn shortest(digits: &str) -> Cow<'_, str> {
    if digits.len() <= PLAIN_NUMBER_BYTES_MAX {
        return Cow::Borrowed(digits);
    }
    scientific(digits).filter(|short| short.len() < digits.len()).map_or(Cow::Borrowed(digits), Cow::Owned)
}

/// A number in plain digits, with an exponent. `None` if it isn't one with zeros at an end.
fn scientific(digits: &str) -> Option<String> {
    let (sign, plain) = digits.strip_prefix('-').map_or(("", digits), |plain| ("-", plain));
    let (significant, exponent) = match plain.split_once('.') {
        None if plain.starts_with('0') => return None,
        None => (plain.trim_end_matches('0'), (plain.len() - 1).to_string()),
        Some(("0", fraction)) => {
            let significant = fraction.trim_start_matches('0');
            (significant, format!("-{}", fraction.len() - significant.len() + 1))
        }
        Some(_) => return None,
    };
    if significant.is_empty() || !significant.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (first, rest) = significant.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    Some(format!("{sign}{first}{point}{rest}e{exponent}"))
}

/// Returns the number that [`shortest`] has made shorter, in plain digits.
pub(super) fn plain(number: &str) -> String {
    let parts = number.split_once('e').and_then(|(mantissa, exponent)| Some((mantissa, exponent.parse::<i16>().ok()?)));
    let Some((mantissa, exponent)) = parts.filter(|(_, exponent)| exponent.unsigned_abs() <= 200) else {
        return number.to_owned();
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let (digits, zeros) = (mantissa.replace('.', ""), usize::from(exponent.unsigned_abs()));
    if exponent < 0 {
        format!("{sign}0.{}{digits}", "0".repeat(zeros - 1))
    } else {
        format!("{sign}{digits:0<width$}", width = zeros + 1)
    }
}

#[derive(Clone, Copy)]
enum Spelling {
    AsIs,
    Shortest,
}

/// Returns how many bytes an attribute takes in a request, with a comma.
pub(super) fn sent_attribute_bytes(name: &str, value: &AttributeValue) -> usize {
    attribute_size(name, value, Spelling::Shortest)
}

fn item_size(item: &Item, spelling: Spelling) -> usize {
    2 + item.iter().map(|(name, value)| attribute_size(name, value, spelling)).sum::<usize>()
}

fn attribute_size(name: &str, value: &AttributeValue, spelling: Spelling) -> usize {
    text_size(name) + 1 + value_size(value, spelling) + 1
}

/// The size of `{"S":…}`; the other types have longer names by `more`.
const fn typed(more: usize, value: usize) -> usize {
    6 + more + value
}

fn value_size(value: &AttributeValue, spelling: Spelling) -> usize {
    let number = |digits: &String| match spelling {
        Spelling::AsIs => digits.len() + 2,
        Spelling::Shortest => shortest(digits).len() + 2,
    };
    // Brackets, and a comma after each.
    let list = |sizes: &mut dyn Iterator<Item = usize>| 2 + sizes.map(|size| size + 1).sum::<usize>();
    match value {
        AttributeValue::S(text) => typed(0, text_size(text)),
        AttributeValue::N(digits) => typed(0, number(digits)),
        AttributeValue::B(bytes) => typed(0, binary_size(bytes)),
        AttributeValue::Bool(is) => typed(3, if *is { 4 } else { 5 }),
        AttributeValue::Null(is) => typed(3, if *is { 4 } else { 5 }),
        AttributeValue::Ss(set) => typed(1, list(&mut set.iter().map(|text| text_size(text)))),
        AttributeValue::Ns(set) => typed(1, list(&mut set.iter().map(number))),
        AttributeValue::Bs(set) => typed(1, list(&mut set.iter().map(|bytes| binary_size(bytes)))),
        AttributeValue::L(values) => typed(0, list(&mut values.iter().map(|value| value_size(value, spelling)))),
        AttributeValue::M(map) => {
            typed(0, 2 + map.iter().map(|(name, value)| attribute_size(name, value, spelling)).sum::<usize>())
        }
    }
}

pub(super) fn text_size(text: &str) -> usize {
    let escaped = |byte| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    2 + text.bytes().map(escaped).sum::<usize>()
}

/// The size of bytes in base64, in quotes.
fn binary_size(bytes: &[u8]) -> usize {
    2 + bytes.len().div_ceil(3) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_number_is_sent_with_an_exponent_if_that_is_shorter() {
        let zeros = |count: usize| "0".repeat(count);
        for (plain, sent) in [
            ("0".to_owned(), "0"),
            ("-1000".to_owned(), "-1000"),
            (format!("1{}", zeros(125)), "1e125"),
            (format!("-1{}", zeros(125)), "-1e125"),
            (format!("12345{}", zeros(30)), "1.2345e34"),
            (format!("0.{}1", zeros(129)), "1e-130"),
            (format!("-0.{}123", zeros(40)), "-1.23e-41"),
            ("12345678901234567890123456789012345678".to_owned(), "12345678901234567890123456789012345678"),
            ("1234567890123456789.0123456789012345678".to_owned(), "1234567890123456789.0123456789012345678"),
            ("0.1234567890123456789012345678901234567".to_owned(), "0.1234567890123456789012345678901234567"),
            ("1e125".to_owned(), "1e125"),
            (zeros(30), "000000000000000000000000000000"),
            (format!("0.{}", zeros(30)), "0.000000000000000000000000000000"),
            (format!("é{}", zeros(30)), "é000000000000000000000000000000"),
        ] {
            assert_eq!(shortest(&plain), sent);
            assert!(plain == "1e125" || super::plain(sent) == plain, "{sent}");
        }
    }
}
