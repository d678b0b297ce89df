//! Items as bytes, in one spelling for equal items.

use std::borrow::Cow;
use std::collections::HashMap;

use super::item::{AttributeValue, Item};
use super::wire::{plain, shortest};

/// The bytes of these attributes. Equal attributes have equal bytes: names are sorted, and so are sets, in which
/// DynamoDB keeps no order. Long numbers have exponents. They take at most three times as many bytes as DynamoDB
/// counts.
///
/// Lengths are numbers of seven bits a byte, least significant first. A map is the number of its values, then each name
/// and value; a value is a letter for its type and what it holds. `{"ok": true, "n": 12}` is `2 1 "n" 'N' 2 "12" 2 "ok"
/// 't'`.
pub(crate) fn encode<'a>(attributes: impl IntoIterator<Item = (&'a String, &'a AttributeValue)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_map(attributes, &mut bytes);
    bytes
}

/// Reads the bytes of an item. `None` where they are not an item's.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Item> {
    let item = read_map(&mut bytes)?;
    bytes.is_empty().then(|| item.into_iter().collect())
}

fn write_map<'a>(values: impl IntoIterator<Item = (&'a String, &'a AttributeValue)>, to: &mut Vec<u8>) {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_unstable_by_key(|(name, _)| *name);
    write_length(values.len(), to);
    for (name, value) in values {
        write_bytes(name.as_bytes(), to);
        write_value(value, to);
    }
}

fn write_value(value: &AttributeValue, to: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => write_one(b'S', text.as_bytes(), to),
        AttributeValue::N(digits) => write_one(b'N', shortest(digits).as_bytes(), to),
        AttributeValue::B(bytes) => write_one(b'B', bytes, to),
        AttributeValue::Bool(true) => to.push(b't'),
        AttributeValue::Bool(false) => to.push(b'f'),
        AttributeValue::Null(_) => to.push(b'0'),
        AttributeValue::Ss(set) => write_set(b's', set.iter().map(String::as_bytes), to),
        AttributeValue::Ns(set) => {
            let set: Vec<Cow<'_, str>> = set.iter().map(|digits| shortest(digits)).collect();
            write_set(b'n', set.iter().map(|digits| digits.as_bytes()), to);
        }
        AttributeValue::Bs(set) => write_set(b'b', set.iter().map(Vec::as_slice), to),
        AttributeValue::L(list) => {
            to.push(b'L');
            write_length(list.len(), to);
            list.iter().for_each(|value| write_value(value, to));
        }
        AttributeValue::M(map) => {
            to.push(b'M');
            write_map(map, to);
        }
    }
}

fn write_one(letter: u8, bytes: &[u8], to: &mut Vec<u8>) {
    to.push(letter);
    write_bytes(bytes, to);
}

fn write_set<'a>(letter: u8, set: impl Iterator<Item = &'a [u8]>, to: &mut Vec<u8>) {
    let mut set: Vec<&[u8]> = set.collect();
    set.sort_unstable();
    to.push(letter);
    write_length(set.len(), to);
    set.into_iter().for_each(|bytes| write_bytes(bytes, to));
}

fn write_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    write_length(bytes.len(), to);
    to.extend_from_slice(bytes);
}

fn write_length(mut length: usize, to: &mut Vec<u8>) {
    while length >= 0x80 {
        to.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    to.push(length as u8);
}

fn read_map(from: &mut &[u8]) -> Option<HashMap<String, AttributeValue>> {
    let length = read_length(from)?;
    (0..length).map(|_| Some((read_text(from)?, read_value(from)?))).collect()
}

fn read_value(from: &mut &[u8]) -> Option<AttributeValue> {
    let (letter, rest) = from.split_first()?;
    *from = rest;
    Some(match letter {
        b'S' => AttributeValue::S(read_text(from)?),
        b'N' => AttributeValue::N(read_number(from)?),
        b'B' => AttributeValue::B(read_bytes(from)?),
        b't' => AttributeValue::Bool(true),
        b'f' => AttributeValue::Bool(false),
        b'0' => AttributeValue::Null(true),
        b's' => AttributeValue::Ss(read_all(from, read_text)?),
        b'n' => {
            // Numbers with exponents have another order.
            let mut set = read_all(from, read_number)?;
            set.sort_unstable();
            AttributeValue::Ns(set)
        }
        b'b' => AttributeValue::Bs(read_all(from, read_bytes)?),
        b'L' => AttributeValue::L(read_all(from, read_value)?),
        b'M' => AttributeValue::M(read_map(from)?),
        _ => return None,
    })
}

fn read_all<T>(from: &mut &[u8], read: fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let length = read_length(from)?;
    (0..length).map(|_| read(from)).collect()
}

fn read_number(from: &mut &[u8]) -> Option<String> {
    read_text(from).map(|number| plain(&number))
}

fn read_text(from: &mut &[u8]) -> Option<String> {
    String::from_utf8(read_bytes(from)?).ok()
}

fn read_bytes(from: &mut &[u8]) -> Option<Vec<u8>> {
    let length = read_length(from)?;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes.to_vec())
}

fn read_length(from: &mut &[u8]) -> Option<usize> {
    let mut length = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(length);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::{number, text};

    fn item() -> Item {
        let map = HashMap::from([("x".to_owned(), number(1)), ("y".to_owned(), AttributeValue::Null(true))]);
        let values = [
            ("text", text("é")),
            ("number", AttributeValue::N("-12345678901234567890123456789012345678".to_owned())),
            ("bytes", AttributeValue::B(vec![0, 255])),
            ("flags", AttributeValue::L(vec![AttributeValue::Bool(true), AttributeValue::Bool(false)])),
            ("texts", AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()])),
            ("numbers", AttributeValue::Ns(vec![format!("1{:050}", 0), format!("11{:059}", 0)])),
            ("blobs", AttributeValue::Bs(vec![vec![1], vec![2, 3]])),
            ("map", AttributeValue::M(map)),
            ("long", text("x".repeat(100_000))),
        ];
        values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn an_item_comes_back_from_its_bytes() {
        assert_eq!(decode(&encode(&item())), Some(item()));
        assert_eq!(decode(&encode(&Item::new())), Some(Item::new()));
    }

    #[test]
    fn the_order_of_a_set_is_no_difference() {
        let set =
            |texts: [&str; 2]| Item::from([("s".to_owned(), AttributeValue::Ss(texts.map(str::to_owned).into()))]);
        assert_eq!(encode(&set(["a", "b"])), encode(&set(["b", "a"])));
    }

    #[test]
    fn what_is_no_items_bytes_is_refused() {
        let bytes = encode(&item());
        for cut in [0, 1, 2, 10, bytes.len() - 1] {
            assert_eq!(decode(&bytes[..cut]), None, "cut at {cut}");
        }
        let more: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert_eq!(decode(&more), None);
        assert_eq!(decode(&[1, 1, b'a', b'?']), None, "no such type");
        assert_eq!(decode(&[0xff; 20]), None, "no such length");
    }
}
