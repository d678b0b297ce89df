//! Values whose size in DynamoDB isn't their size on the wire, where it is up to 45 times as much.

use std::collections::HashMap;

use sapwood_core::model::{AttributeValue, Item, item_bytes, sort_sets, text};

/// A shape: what it has in it, and the value of about so many bytes, as DynamoDB counts them.
pub type Shape = (&'static str, fn(usize) -> AttributeValue);

/// All shapes.
pub const SHAPES: [Shape; 18] = [
    ("text", |bytes| text("x".repeat(bytes))),
    ("control characters", |bytes| text("\0".repeat(bytes))),
    ("quotes and backslashes", |bytes| text("\"\\".repeat(bytes / 2))),
    ("binary", |bytes| AttributeValue::B(vec![0; bytes])),
    ("zeros", |bytes| list(bytes, &AttributeValue::N("0".to_owned()))),
    ("large numbers", |bytes| list(bytes, &AttributeValue::N(format!("1{}", "0".repeat(125))))),
    ("small numbers", |bytes| list(bytes, &AttributeValue::N(format!("-0.{}1", "0".repeat(129))))),
    ("numbers of 38 digits", |bytes| list(bytes, &AttributeValue::N("9".repeat(38)))),
    ("booleans", |bytes| list(bytes, &AttributeValue::Bool(false))),
    ("nulls", |bytes| list(bytes, &AttributeValue::Null(true))),
    ("empty texts", |bytes| list(bytes, &text(""))),
    ("short control characters", |bytes| list(bytes, &text("\u{1}"))),
    ("empty binaries", |bytes| list(bytes, &AttributeValue::B(Vec::new()))),
    ("empty maps", |bytes| list(bytes, &AttributeValue::M(HashMap::new()))),
    ("deep maps", |bytes| list(bytes, &deep())),
    ("a wide map", |bytes| AttributeValue::M((0..bytes / 8).map(|n| (format!("\u{1}{n}"), text(""))).collect())),
    ("a set of numbers", |bytes| {
        // The digit 1 behind each keeps 1 and 10 apart. In the order in which they are read again.
        let number = |n: usize| format!("{n}1{}", "0".repeat(124 - n.to_string().len()));
        let mut set = AttributeValue::Ns((1..=bytes / 5).map(number).collect());
        sort_sets(&mut set);
        set
    }),
    ("a set of texts", |bytes| AttributeValue::Ss((0..bytes / 8).map(|n| format!("\0\"{n:06}")).collect())),
];

/// A list of as many of a value as have so many bytes.
fn list(bytes: usize, value: &AttributeValue) -> AttributeValue {
    let each = 1 + item_bytes(&Item::from([(String::new(), value.clone())]));
    AttributeValue::L(vec![value.clone(); bytes / each])
}

/// Maps inside one another, as many as DynamoDB takes within a list.
fn deep() -> AttributeValue {
    (0..30).fold(text(""), |inner, _| AttributeValue::M(HashMap::from([("m".to_owned(), inner)])))
}

/// Attributes of about so many bytes: as many as fit, each without a value to speak of.
#[must_use]
pub fn wide_item(bytes: usize) -> Item {
    (0..bytes / 8).map(|n| (format!("a{n:06}"), AttributeValue::Null(true))).collect()
}
