//! Percent-encoding of a path's segments.
//!
//! Bytes up to `$` (0x24) and `%` itself are written `%XX`. Whatever is left sorts after `$`, so the separators `!`
//! and `#` sort before any text, a subtree ends right before its prefix with `$`, and encoded text sorts as the text
//! itself does (an encoded byte begins with `%`, 0x25, the lowest byte that can stand there).

/// The last byte that is written encoded, `%` apart.
const LAST_ENCODED: u8 = b'$';

fn is_encoded(byte: u8) -> bool {
    byte <= LAST_ENCODED || byte == b'%'
}

/// Appends `text` to `key`, encoded.
pub(super) fn encode_into(key: &mut String, text: &str) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(byte) if is_encoded(byte) => {
                key.push('%');
                key.push(HEX[usize::from(byte >> 4)]);
                key.push(HEX[usize::from(byte & 15)]);
            }
            _ => key.push(c),
        }
    }
}

/// The text that was encoded. `None` for anything that [`encode_into`] wouldn't have written, so that no two keys
/// stand for one path.
pub(super) fn decode(encoded: &str) -> Option<String> {
    let mut text = String::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some(c) = rest.chars().next() {
        if c == '%' {
            let hex = rest.get(1..3)?;
            if hex.bytes().any(|b| !(b.is_ascii_digit() || (b'A'..=b'F').contains(&b))) {
                return None;
            }
            let byte = u8::from_str_radix(hex, 16).ok()?;
            if !is_encoded(byte) {
                return None;
            }
            text.push(char::from(byte));
            rest = &rest[3..];
        } else {
            if u8::try_from(c).is_ok_and(is_encoded) {
                return None;
            }
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Some(text)
}
