//! Numbers as JSON has them.

use std::io;

use sapwood_core::model::PLAIN_NUMBER_BYTES_MAX;
use sapwood_keys::{Decimal, NumberFault};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

pub(super) const NUMBER: &str = "$number";

/// How answers write the numbers of attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// As JSON numbers, with all their digits.
    #[default]
    Plain,
    /// As `{"$number": "…"}` where a client that reads numbers as doubles (JavaScript's) would give back another one.
    /// DynamoDB's numbers have 38 digits, and doubles keep 15 to 17.
    Strings,
}

/// Writes an answer as JSON. Fails as [`serde_json::to_vec`] does.
pub fn to_vec(body: &impl Serialize, numbers: Numbers) -> serde_json::Result<Vec<u8>> {
    match numbers {
        Numbers::Plain => serde_json::to_vec(body),
        Numbers::Strings => {
            let mut written = Vec::new();
            body.serialize(&mut Serializer::with_formatter(&mut written, LongAsText))?;
            Ok(written)
        }
    }
}

/// Writes numbers that a double can't keep as text. Only the numbers of attributes are written as raw JSON.
struct LongAsText;

impl Formatter for LongAsText {
    fn write_raw_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if is_number(fragment) && !is_kept_by_doubles(fragment) {
            return write!(writer, r#"{{"{NUMBER}":"{fragment}"}}"#);
        }
        CompactFormatter.write_raw_fragment(writer, fragment)
    }
}

/// A number in plain digits, or with an exponent where that is shorter: 1E125 takes two bytes, or 126 digits.
pub(super) fn written(text: &str) -> Result<String, NumberFault> {
    let number = Decimal::read(text)?;
    let (plain, scientific) = (number.plain(), number.to_string());
    let is_short = plain.len() <= PLAIN_NUMBER_BYTES_MAX || plain.len() <= scientific.len();
    Ok(if is_short { plain } else { scientific })
}

/// Returns true if a JSON value that begins like this is a number.
pub(super) fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Returns true if a double that is read from this number is written as the same number again.
fn is_kept_by_doubles(text: &str) -> bool {
    let Ok(double) = text.parse::<f64>() else { return false };
    let (wanted, kept) = (Decimal::read(text), Decimal::read(&double.to_string()));
    wanted.is_ok() && wanted == kept
}
