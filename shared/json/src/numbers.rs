//! How answers write numbers.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

use super::number;
use super::read::NUMBER;

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

/// Writes an answer as JSON.
///
/// # Errors
/// Those of [`serde_json::to_vec`].
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

/// Writes numbers that a double can't keep as text. The numbers of attributes are written as raw JSON, and nothing else
/// that begins like a number is.
struct LongAsText;

impl Formatter for LongAsText {
    fn write_raw_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if number::is_number(fragment) && !number::is_kept_by_doubles(fragment) {
            return write!(writer, r#"{{"{NUMBER}":"{fragment}"}}"#);
        }
        CompactFormatter.write_raw_fragment(writer, fragment)
    }
}
