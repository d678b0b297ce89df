//! Items as the SDK and a request's body have them.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;
use sapwood_core::model::{AttributeValue, Item, shortest, sort_sets};
use serde::{Serialize, Serializer};

/// Room in a body besides what `Write::sent_bytes` counts. It is a guess; the body grows if need be.
pub(crate) const WRITE_BYTES: usize = 320;

/// Writes attributes as an object, after the text that begins it.
pub(crate) fn put_object<'a>(
    body: &mut Vec<u8>,
    start: &[u8],
    attributes: impl IntoIterator<Item = (impl Serialize, &'a AttributeValue)>,
) -> serde_json::Result<()> {
    body.extend(start);
    serde_json::Serializer::new(body).collect_map(attributes.into_iter().map(|(name, value)| (name, Sent(value))))
}

/// A value as it is sent: its long numbers have exponents ([`shortest`]).
struct Sent<'a>(&'a AttributeValue);

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn of<S: Serializer>(serializer: S, name: &'static str, value: &impl Serialize) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(name, value)])
        }
        match self.0 {
            AttributeValue::N(digits) => of(serializer, "N", &shortest(digits)),
            AttributeValue::Ns(set) => {
                of(serializer, "NS", &set.iter().map(|digits| shortest(digits)).collect::<Vec<_>>())
            }
            AttributeValue::L(list) => of(serializer, "L", &list.iter().map(Sent).collect::<Vec<_>>()),
            AttributeValue::M(map) => of(serializer, "M", &SentMap(map)),
            value => value.serialize(serializer),
        }
    }
}

struct SentMap<'a>(&'a HashMap<String, AttributeValue>);

impl Serialize for SentMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Sent(value))))
    }
}

/// A value as the SDK sends it, with the numbers of [`Sent`].
pub(crate) fn sdk_value(value: AttributeValue) -> SdkValue {
    let number = |digits: String| match shortest(&digits) {
        Cow::Owned(short) => short,
        Cow::Borrowed(_) => digits,
    };
    match value {
        AttributeValue::N(digits) => SdkValue::N(number(digits)),
        AttributeValue::Ns(set) => SdkValue::Ns(set.into_iter().map(number).collect()),
        AttributeValue::L(list) => SdkValue::L(list.into_iter().map(sdk_value).collect()),
        AttributeValue::M(map) => SdkValue::M(map.into_iter().map(|(name, value)| (name, sdk_value(value))).collect()),
        value => value.into(),
    }
}

pub(crate) fn to_sdk(item: &Item) -> HashMap<String, SdkValue> {
    item.iter().map(|(name, value)| (name.clone(), sdk_value(value.clone()))).collect()
}

pub(crate) fn from_sdk(item: HashMap<String, SdkValue>) -> Item {
    item.into_iter().map(|(name, value)| (name, AttributeValue::from(value))).map(sorted).collect()
}

/// Sorts an attribute's sets. DynamoDB keeps no order in them, and equal items must compare equal.
fn sorted((name, mut value): (String, AttributeValue)) -> (String, AttributeValue) {
    sort_sets(&mut value);
    (name, value)
}
