//! An upper bound for the size of an item in an answer of a function.

use super::answered_bytes;
use super::item::{AttributeValue, Item};

/// Most bytes of a record in an answer, by [`json_bytes`]. Its stream record has it twice, as it was and as it is, and
/// fits an event of Lambda's (6 MiB). DynamoDB measures in another way: a list of empty binaries has a byte for each
/// there, and 19 in an answer.
pub const JSON_BYTES_MAX: usize = 3_100_000;

/// Returns the bytes of an item as JSON in an answer of the API ([`size_estimate`]) or of DynamoDB
/// ([`answered_bytes`]), whichever are more.
#[must_use]
pub fn json_bytes(item: &Item) -> usize {
    size_estimate(item).max(answered_bytes(item))
}

/// Returns an upper bound for the bytes of an item in an answer of the API, with all of its attributes. Pages end by
/// this estimate, because a function's answer has a limit and DynamoDB measures differently. The answer is JSON, and
/// has the body, which is JSON, as a text: a control character is one byte there and seven here, a quotation mark four,
/// and a quote around a text two.
#[must_use]
pub fn size_estimate(item: &Item) -> usize {
    item.iter().map(|(name, value)| text_size(name) + 1 + value_size(value)).sum::<usize>() + 2
}

/// The size of a text in quotes, with a comma.
#[must_use]
pub fn text_size(text: &str) -> usize {
    let escaped = |byte| match byte {
        0..=0x1f => 7,
        b'"' | b'\\' => 4,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + AROUND_TEXT
}

/// Two quotes and a comma.
const AROUND_TEXT: usize = 5;

/// The size of bytes in base64, in quotes, with a comma.
fn binary_size(bytes: &[u8]) -> usize {
    bytes.len().div_ceil(3) * 4 + AROUND_TEXT
}

/// The size of `{"$binary":…}` and the other forms.
const MARK: usize = 18;

/// The longest number: 38 digits with a sign, a point and an exponent.
const NUMBER: usize = 46;

/// The longest number that is always written in plain digits, in bytes. JavaScript writes longer ones with an exponent.
pub const PLAIN_NUMBER_BYTES_MAX: usize = 21;

/// The sign, the point and the exponent of a number that isn't written in plain digits.
const AROUND: usize = 8;

/// The size of a number, with a comma.
fn number_size(digits: &str) -> usize {
    let significant = digits.trim_matches(['-', '0', '.']).len();
    3 + match digits.len() {
        _ if digits.contains(['e', 'E']) => NUMBER,
        bytes if bytes <= PLAIN_NUMBER_BYTES_MAX => bytes,
        bytes => bytes.min(significant + AROUND),
    }
}

fn value_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text_size(text),
        AttributeValue::N(digits) => number_size(digits),
        AttributeValue::B(bytes) => MARK + binary_size(bytes),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 6,
        AttributeValue::Ss(set) => MARK + set.iter().map(|text| text_size(text)).sum::<usize>(),
        AttributeValue::Ns(set) => MARK + set.iter().map(|digits| number_size(digits)).sum::<usize>(),
        AttributeValue::Bs(set) => MARK + set.iter().map(|bytes| MARK + binary_size(bytes)).sum::<usize>(),
        AttributeValue::L(list) => 3 + list.iter().map(value_size).sum::<usize>(),
        AttributeValue::M(map) => {
            MARK + map.iter().map(|(name, value)| text_size(name) + 1 + value_size(value)).sum::<usize>()
        }
    }
}
