//! Follows the quotes of a file of CSV, before it is cut into cells: a quote that isn't closed takes in all rows up to
//! the next quote, and whoever cuts cells takes that for one long cell.

use std::io::{self, Read};

/// Most lines of a cell in quotes, unless the options say otherwise.
pub const CELL_LINES_MAX: u64 = 100;

/// A fault of a quote, and the line on which its cell begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reason())]
pub(super) struct BadQuote {
    pub(super) line: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The file ends inside of the cell.
    Open,
    /// Something stands between the closing quote and the separator.
    NotAtEnd,
    /// The cell has more lines than this.
    TooLong(u64),
}

impl BadQuote {
    fn reason(self) -> String {
        let rest = "so nothing after it was read; close the quote, or write a quote inside of quotes twice";
        match self.kind {
            Kind::Open => format!("the file ends inside of a cell in quotes that begins here, {rest}"),
            Kind::NotAtEnd => {
                format!("the quote of a cell that begins here is closed in the middle of the cell, {rest}")
            }
            Kind::TooLong(lines) => format!(
                "the cell in quotes that begins here has more than {lines} lines, {rest}. If it is one cell, allow more with --cell-lines"
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// The beginning of a cell.
    Begin,
    /// A cell without quotes, or what comes after one in quotes.
    Plain,
    /// A cell in quotes that began on this line.
    Quoted(u64),
    /// A quote inside of such a cell: it closes the cell, or another one follows.
    Closing(u64),
}

/// A file that fails where a quote is wrong. What stands before it is read.
pub(super) struct Quotes<R> {
    input: R,
    delimiter: u8,
    lines_max: u64,
    at: At,
    line: u64,
    bad: Option<BadQuote>,
}

impl<R> Quotes<R> {
    pub(super) fn new(input: R, delimiter: u8, lines_max: u64) -> Self {
        Self { input, delimiter, lines_max, at: At::Begin, line: 1, bad: None }
    }

    pub(super) fn inner(&self) -> &R {
        &self.input
    }

    pub(super) fn inner_mut(&mut self) -> &mut R {
        &mut self.input
    }

    fn take(&mut self, byte: u8) -> Result<(), BadQuote> {
        let begins = byte == self.delimiter || byte == b'\n';
        self.at = match self.at {
            At::Begin if byte == b'"' => At::Quoted(self.line),
            At::Quoted(line) if byte == b'"' => At::Closing(line),
            At::Quoted(line) if byte == b'\n' && self.line - line + 1 >= self.lines_max => {
                return Err(BadQuote { line, kind: Kind::TooLong(self.lines_max) });
            }
            At::Quoted(line) => At::Quoted(line),
            At::Closing(line) if byte == b'"' => At::Quoted(line),
            At::Closing(line) if !begins && byte != b'\r' => return Err(BadQuote { line, kind: Kind::NotAtEnd }),
            At::Begin | At::Plain | At::Closing(_) if begins => At::Begin,
            At::Begin | At::Plain | At::Closing(_) => At::Plain,
        };
        self.line += u64::from(byte == b'\n');
        Ok(())
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(bad) = self.bad {
            return Err(io::Error::other(bad));
        }
        let read = self.input.read(buffer)?;
        if read == 0
            && !buffer.is_empty()
            && let At::Quoted(line) = self.at
        {
            let bad = *self.bad.insert(BadQuote { line, kind: Kind::Open });
            return Err(io::Error::other(bad));
        }
        for (at, byte) in buffer.iter().take(read).enumerate() {
            if let Err(bad) = self.take(*byte) {
                self.bad = Some(bad);
                // All before the fault is read first. The next read fails.
                return if at > 0 { Ok(at) } else { Err(io::Error::other(bad)) };
            }
        }
        Ok(read)
    }
}
