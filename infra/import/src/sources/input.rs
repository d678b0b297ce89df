//! Files as bytes and as lines.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::OpenError;
use crate::Fault;

/// The longest record of a source, in bytes. In an export's JSON an item of 400 KB takes at most 14 times its bytes.
pub const RECORD_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// How much is read from a file at a time, in bytes.
const BUFFER_BYTES: usize = 64 * 1_024;

/// The bytes of a file, without compression and without a byte order mark.
pub(super) type Input = Box<dyn BufRead + Send>;

pub(super) fn metadata(path: &Path) -> Result<Metadata, OpenError> {
    std::fs::metadata(path).map_err(|error| OpenError::io(path, error))
}

/// Opens a file that must have content.
pub(super) fn open(path: &Path) -> Result<Input, OpenError> {
    let mut input = open_any(path)?;
    match input.fill_buf() {
        Ok([]) => Err(OpenError::of(path, "is empty; check that it was written completely")),
        _ => Ok(input),
    }
}

/// Opens a file that may be empty.
pub(super) fn open_any(path: &Path) -> Result<Input, OpenError> {
    let failed = |error| OpenError::io(path, error);
    if metadata(path)?.is_dir() {
        return Err(OpenError::directory(path));
    }
    let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path).map_err(failed)?);
    let is_gzip = file.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    let plain: Input = if is_gzip {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    };
    without_mark(plain, path)
}

/// Takes the byte order mark of UTF-8 off, and refuses UTF-16, with its mark or without.
fn without_mark(mut input: Input, path: &Path) -> Result<Input, OpenError> {
    let mut start = Vec::with_capacity(3);
    // A compressed file that is cut off fails here or later. What was read before is kept.
    let failed = input.by_ref().take(3).read_to_end(&mut start).err();
    if let Some(error) = failed.filter(|_| start.is_empty()) {
        return Err(OpenError::io(path, error));
    }
    match start.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [1..=255, 0, ..] | [0, 1..=255, ..] => {
            let words = "is UTF-16; convert it to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`";
            Err(OpenError::of(path, words))
        }
        [0xef, 0xbb, 0xbf] => Ok(input),
        _ => Ok(Box::new(Cursor::new(start).chain(input))),
    }
}

/// Returns what a failed read means for the file.
pub(super) fn broken(error: &io::Error) -> Fault {
    let remedy = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the compressed file is cut off; copy it again",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => "the compressed file is damaged; copy it again",
        _ => "try again, or copy the file to another disk",
    };
    Fault::unreadable(format!("the file can't be read from here on ({error}): {remedy}"))
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let position = error.valid_up_to() + 1;
        Fault::unreadable(format!(
            "byte {position} isn't UTF-8; convert the file, for example with `iconv -f ISO-8859-1 -t UTF-8`"
        ))
    })?;
    match bytes.iter().position(|byte| *byte == 0) {
        None => Ok(text),
        Some(position) => Err(Fault::unreadable(format!(
            "byte {} is NUL, which no text has; the file is damaged, write it again",
            position + 1
        ))),
    }
}

pub(super) struct Lines {
    input: Input,
    text: Vec<u8>,
    line: u64,
    ended: bool,
}

impl Lines {
    pub(super) fn new(input: Input) -> Self {
        Self { input, text: Vec::new(), line: 0, ended: false }
    }

    /// Returns the next line that isn't blank, without its end, and its number.
    pub(super) fn next(&mut self) -> Option<(u64, Result<&str, Fault>)> {
        let read = loop {
            if self.ended {
                return None;
            }
            let read = self.read();
            self.line += 1;
            match read {
                Ok(true) if self.text.trim_ascii().is_empty() => {}
                Ok(false) => return None,
                read => break read,
            }
        };
        Some((self.line, read.and_then(|_| utf8(self.text.trim_ascii_end()))))
    }

    /// Reads a line. Returns false at the end of the file. A line that is too long is skipped.
    fn read(&mut self) -> Result<bool, Fault> {
        self.text.clear();
        let mut bytes = 0;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    return Err(broken(&error));
                }
            };
            if available.is_empty() {
                self.ended = true;
                break;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(available.len(), |end| end + 1);
            bytes += used;
            if bytes <= RECORD_BYTES_MAX {
                self.text.extend_from_slice(&available[..used]);
            }
            self.input.consume(used);
            if end.is_some() {
                break;
            }
        }
        if bytes > RECORD_BYTES_MAX {
            let message = format!("the line has {bytes} bytes, over the limit of {RECORD_BYTES_MAX}; make it shorter");
            return Err(Fault::unreadable(message));
        }
        Ok(bytes > 0)
    }
}
