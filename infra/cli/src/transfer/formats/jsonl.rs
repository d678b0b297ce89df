//! JSON Lines.

use std::io::Write;

use sapwood_import::Record;
use sapwood_import::sources::jsonl;

use super::{Ended, Format, FormatError};

/// All records, without loss.
pub(super) struct JsonLines;

impl Format for JsonLines {
    fn take(&mut self, record: &Record, to: &mut dyn Write) -> Result<(), FormatError> {
        Ok(writeln!(to, "{}", jsonl::write(record)?)?)
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Ended, FormatError> {
        Ok(Ended::default())
    }
}
