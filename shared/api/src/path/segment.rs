//! One segment of a path, and the text that it stands for.

use std::fmt::Write;

use thiserror::Error;

/// Why a segment can't be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SegmentError {
    /// `~` or `%` isn't followed by two hexadecimal digits.
    #[error("`{0}` needs two hexadecimal digits after it; a `{0}` itself is written ~{value:02X}", value = u32::from(*.0))]
    BadEscape(char),
    /// The bytes aren't UTF-8.
    #[error("the escapes of a segment aren't UTF-8; write each byte of the UTF-8 of a character as ~XX")]
    NotUtf8,
}

/// Encodes a text as a segment. Each text has one spelling, and two texts never have the same.
#[must_use]
pub fn encode_segment(text: &str) -> String {
    match text {
        "." => "~2E".to_owned(),
        ".." => "~2E~2E".to_owned(),
        text => encode(text.bytes(), ""),
    }
}

/// Encodes what remains of a segment after its `%XX` were resolved. Its `~XX` stay as they are.
pub(super) fn encode_but_tildes(bytes: &[u8]) -> String {
    encode(bytes.iter().copied(), "~")
}

fn encode(bytes: impl Iterator<Item = u8>, and: &str) -> String {
    let mut segment = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || and.as_bytes().contains(&byte) {
            segment.push(char::from(byte));
        } else {
            // Writing to a String can't fail.
            _ = write!(segment, "~{byte:02X}");
        }
    }
    segment
}

/// Decodes a segment. Hexadecimal digits may be upper or lower case.
pub fn decode_segment(segment: &str) -> Result<String, SegmentError> {
    tilde_decode(segment.as_bytes())
}

/// Resolves `~XX` and reads the bytes as UTF-8.
pub(super) fn tilde_decode(bytes: &[u8]) -> Result<String, SegmentError> {
    String::from_utf8(unescape(bytes, '~')?).map_err(|_| SegmentError::NotUtf8)
}

/// Resolves `%XX`.
///
/// # Errors
/// [`SegmentError::BadEscape`] for a `%` without two hexadecimal digits after it.
pub fn percent_decode(segment: &str) -> Result<Vec<u8>, SegmentError> {
    unescape(segment.as_bytes(), '%')
}

fn unescape(mut bytes: &[u8], escape: char) -> Result<Vec<u8>, SegmentError> {
    let mut found = Vec::with_capacity(bytes.len());
    while let [byte, rest @ ..] = bytes {
        bytes = rest;
        if char::from(*byte) != escape {
            found.push(*byte);
            continue;
        }
        let [high, low, rest @ ..] = rest else { return Err(SegmentError::BadEscape(escape)) };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return Err(SegmentError::BadEscape(escape)) };
        found.push(high * 16 + low);
        bytes = rest;
    }
    Ok(found)
}
