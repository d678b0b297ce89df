//! JSON that is read piece by piece, with bounded memory at any length and depth.

use std::io;

use super::RECORD_BYTES_MAX;
use super::input::{Input, broken};
use crate::Fault;

/// A place in JSON text. The caller knows the structure and asks for its pieces; values are returned as text.
pub(super) struct Scanner {
    input: Input,
    /// The number of the line that is being read, from 1.
    pub(super) line: u64,
}

impl Scanner {
    pub(super) fn new(input: Input) -> Self {
        Self { input, line: 1 }
    }

    /// Returns the next byte that isn't white space, without taking it; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            match self.byte()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.take(),
                other => return Ok(other),
            }
        }
    }

    /// Takes one of these bytes, after white space.
    pub(super) fn expect(&mut self, wanted: &[u8]) -> Result<u8, Fault> {
        match self.peek()? {
            Some(byte) if wanted.contains(&byte) => {
                self.take();
                Ok(byte)
            }
            found => Err(self.unexpected(found, wanted)),
        }
    }

    /// Takes a byte if it is the next, after white space.
    pub(super) fn take_if(&mut self, wanted: u8) -> Result<bool, Fault> {
        let is_next = self.peek()? == Some(wanted);
        if is_next {
            self.take();
        }
        Ok(is_next)
    }

    /// Takes a whole value, and returns its text.
    pub(super) fn value(&mut self) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        let (mut open, mut in_string, mut escaped) = (0_usize, false, false);
        self.peek()?;
        while let Some(byte) = self.byte()? {
            // A number, true, false or null ends where something else begins.
            let ends_before = !in_string && open == 0 && !text.is_empty() && b",]}: \t\r\n".contains(&byte);
            if ends_before {
                break;
            }
            self.take();
            text.push(byte);
            if text.len() > RECORD_BYTES_MAX {
                return Err(Fault::unreadable(format!(
                    "a value is longer than {RECORD_BYTES_MAX} bytes; make it shorter"
                )));
            }
            if in_string {
                in_string = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
                if in_string {
                    continue;
                }
            } else {
                match byte {
                    b'"' => in_string = true,
                    b'[' | b'{' => open += 1,
                    b']' | b'}' => open = open.saturating_sub(1),
                    _ => {}
                }
            }
            if open == 0 && !in_string && b"\"]}".contains(&byte) {
                return Ok(text);
            }
        }
        if text.is_empty() || open > 0 || in_string { Err(self.unexpected(None, b"")) } else { Ok(text) }
    }

    fn unexpected(&self, found: Option<u8>, wanted: &[u8]) -> Fault {
        let wanted: Vec<String> = wanted.iter().map(|byte| format!("`{}`", char::from(*byte))).collect();
        match found {
            None => Fault::unreadable("the file ends in the middle of the JSON; copy it again, or write it again"),
            Some(byte) => Fault::unreadable(format!(
                "`{}` stands where {} should; write the file again",
                char::from(byte).escape_default(),
                wanted.join(" or ")
            )),
        }
    }

    fn byte(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            match self.input.fill_buf() {
                Ok(available) => return Ok(available.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
        }
    }

    fn take(&mut self) {
        if let Ok([b'\n', ..]) = self.input.fill_buf() {
            self.line += 1;
        }
        self.input.consume(1);
    }
}
