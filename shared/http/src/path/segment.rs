//! One segment of a path, and the text it stands for.

use std::fmt::Write;

use thiserror::Error;

/// Why a segment stands for no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SegmentError {
    /// `~` or `%` without two hexadecimal digits after it.
    #[error("`{0}` needs two hexadecimal digits after it; a `{0}` itself is written ~{value:02X}", value = u32::from(*.0))]
    BadEscape(char),
    /// Bytes that are no UTF-8.
    #[error("the escapes of a segment are no UTF-8; write each byte of the UTF-8 of a character as ~XX")]
    NotUtf8,
}

/// The text as a segment. Every text has one spelling, and no other text has the same.
#[must_use]
pub fn encode_segment(text: &str) -> String {
    let dots = matches!(text, "." | "..");
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'.' if dots => segment.push_str("~2E"),
            b'-' | b'_' | b'.' => segment.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => segment.push(char::from(byte)),
            // A String takes all that is written.
            byte => drop(write!(segment, "~{byte:02X}")),
        }
    }
    segment
}

/// The text that a segment stands for.
///
/// # Errors
/// [`SegmentError`]; digits of either case are read.
pub fn decode_segment(segment: &str) -> Result<String, SegmentError> {
    tilde_decode(segment.as_bytes())
}

/// `~XX` as bytes, and all of them as text.
pub(super) fn tilde_decode(bytes: &[u8]) -> Result<String, SegmentError> {
    String::from_utf8(unescape(bytes, '~')?).map_err(|_| SegmentError::NotUtf8)
}

/// `%XX` as bytes.
pub(crate) fn percent_decode(segment: &str) -> Result<Vec<u8>, SegmentError> {
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
