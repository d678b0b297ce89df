//! An upper bound for the size of an item as JSON.

use sapwood_core::model::{AttributeValue, Item};

/// Returns an upper bound for the bytes of an item as JSON in an answer of the API, with all of its attributes. Pages end by
/// this estimate, because a function's answer has a limit and DynamoDB measures differently: a control character is one byte
/// there and six in JSON.
#[must_use]
pub fn size_estimate(item: &Item) -> usize {
    item.iter().map(|(name, value)| text_size(name) + 1 + value_size(value)).sum::<usize>() + 2
}

/// The size of a text in quotes, with a comma.
pub(super) fn text_size(text: &str) -> usize {
    let escaped = |byte| match byte {
        0..=0x1f => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + 3
}

/// The size of bytes in base64, in quotes, with a comma.
fn binary_size(bytes: &[u8]) -> usize {
    bytes.len().div_ceil(3) * 4 + 3
}

/// The size of `{"$binary":…}` and the other forms.
const MARK: usize = 16;

/// The longest number: a number is written in plain digits, up to 126 before the point or 131 after it.
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
