//! How long an item can become as JSON.

use sapwood_core::model::{AttributeValue, Item};

/// The most bytes that an item takes as JSON in an answer of the API, whichever of its attributes are shown. A page ends by
/// this, since a function's answer has a limit that DynamoDB's own pages don't know of: a control character is one byte
/// there and six in JSON.
#[must_use]
pub fn size_estimate(item: &Item) -> usize {
    item.iter().map(|(name, value)| text_size(name) + 1 + value_size(value)).sum::<usize>() + 2
}

/// Text in quotes, and a comma.
pub(super) fn text_size(text: &str) -> usize {
    let escaped = |byte| match byte {
        0..=0x1f => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + 3
}

/// Bytes in base64, in quotes, and a comma.
fn binary_size(bytes: &[u8]) -> usize {
    bytes.len().div_ceil(3) * 4 + 3
}

/// `{"$binary":…}` and the like.
const MARK: usize = 16;

/// A number is written as its digits, and all of them: up to 126 with its zeros, and a fraction up to 131 after its point.
const NUMBER: usize = 172;

fn number_size(digits: &str) -> usize {
    if digits.contains(['e', 'E']) { NUMBER } else { digits.len() + 3 }
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
