//! An import reads its source several times, and a pipe can be read once: it goes into a temporary file first.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::OpenError;

/// The name of what comes through the standard input, where people read it.
const STANDARD_INPUT: &str = "standard-input";

/// A copy of what came through a pipe. It is deleted in the end.
#[derive(Debug)]
pub struct Spooled {
    directory: TempDir,
    /// The name of the pipe.
    pub name: PathBuf,
}

impl Spooled {
    /// Reads the standard input (`-`), or a file that can be read once, to its end. `None` for other files and
    /// directories, which stay where they are, and for missing ones.
    pub fn of(path: &Path) -> Result<Option<Self>, OpenError> {
        let is_standard_input = path == Path::new("-");
        if !is_standard_input && path.metadata().map_or(true, |metadata| metadata.is_file() || metadata.is_dir()) {
            return Ok(None);
        }
        let failed = |error| OpenError::io(path, error);
        let input: Box<dyn Read> =
            if is_standard_input { Box::new(io::stdin().lock()) } else { Box::new(File::open(path).map_err(failed)?) };
        let name = match path.file_name() {
            Some(name) if !is_standard_input && !path.starts_with("/dev") && !path.starts_with("/proc") => name.into(),
            _ => PathBuf::from(STANDARD_INPUT),
        };
        Self::read(input, name).map(Some).map_err(failed)
    }

    fn read(mut input: impl Read, name: PathBuf) -> io::Result<Self> {
        let spooled = Self { directory: tempfile::tempdir()?, name };
        let mut file = File::create(spooled.path())?;
        io::copy(&mut input, &mut file)?;
        Ok(spooled)
    }

    /// The copy.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }
}
