//! Files that are replaced at once: whoever looks, or is cut off, finds the old one or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Replaces a file by one with this content.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = Replacement::of(path)?;
    new.write_all(content)?;
    new.keep()
}

/// A file that takes its name once it is whole. Until then it has another, and goes if it isn't kept.
#[derive(Debug)]
pub(crate) enum Replacement {
    /// A new file beside the one that it replaces.
    Beside(NamedTempFile, PathBuf),
    /// A pipe or a device: there is nothing to lose.
    Direct(File),
    Standard(io::Stdout),
}

impl Replacement {
    /// Begins what is to become this file. It has the permissions of the file that is there.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        // A link stays, and what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let there = fs::metadata(&path).ok();
        let kind = there.as_ref().map(fs::Metadata::file_type);
        if kind.is_some_and(|kind| !kind.is_file() && !kind.is_dir()) {
            return Ok(Self::Direct(File::options().write(true).open(path)?));
        }
        if kind.is_some_and(|kind| kind.is_dir()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if there.is_some() {
            // A file that may not be written isn't replaced either.
            File::options().append(true).open(&path)?;
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        prefix.push(".");
        let mut new = Builder::new();
        new.prefix(&prefix);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = there.map_or(0o666, |there| there.permissions().mode() & 0o7777);
            new.permissions(fs::Permissions::from_mode(mode));
        }
        Ok(Self::Beside(new.tempfile_in(directory)?, path))
    }

    /// Takes the place of the file.
    pub(crate) fn keep(self) -> io::Result<()> {
        match self {
            Self::Beside(new, path) => {
                new.as_file().sync_all()?;
                new.persist(path).map(drop).map_err(|error| error.error)
            }
            Self::Direct(_) | Self::Standard(_) => Ok(()),
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Beside(file, _) => file.write(bytes),
            Self::Direct(file) => file.write(bytes),
            Self::Standard(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Beside(file, _) => file.flush(),
            Self::Direct(file) => file.flush(),
            Self::Standard(output) => output.flush(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::{Replacement, replace};

    #[test]
    fn a_file_is_replaced_when_the_new_one_is_whole_and_nothing_else_is_touched() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["a.work", "a.new", "a"] {
            fs::write(path(name), name).unwrap();
        }
        fs::set_permissions(path("a.work"), fs::Permissions::from_mode(0o640)).unwrap();
        let read = |name: &str| fs::read_to_string(path(name)).unwrap();
        let mut new = Replacement::of(&path("a.work")).unwrap();
        new.write_all(b"new").unwrap();
        assert_eq!(read("a.work"), "a.work");
        drop(new);
        assert_eq!(read("a.work"), "a.work");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "nothing is left");
        replace(&path("a.work"), b"new").unwrap();
        assert_eq!([read("a.work"), read("a.new"), read("a")], ["new", "a.new", "a"]);
        assert_eq!(fs::metadata(path("a.work")).unwrap().permissions().mode() & 0o777, 0o640);
        // A link stays one.
        std::os::unix::fs::symlink(path("a"), path("link")).unwrap();
        replace(&path("link"), b"through").unwrap();
        assert_eq!(read("a"), "through");
        assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
        replace(std::path::Path::new("/dev/null"), b"gone").unwrap();
        assert!(replace(directory.path(), b"").is_err());
    }
}
