//! The lock of a working file is a file beside it. The working file is deleted once its work is done, and a process
//! that had opened it before would then lock a file that nobody else sees.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use same_file::Handle;

/// A process has it from before it opens the working file until it has closed it. A kill leaves it to the next.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The working file's path without symbolic links: whatever it is called, it has one lock.
    pub(super) working_file: PathBuf,
    path: PathBuf,
    /// When those that had the lock before last wrote the working file, or the log that SQLite keeps beside it; `None`
    /// if there was none.
    pub(crate) written: Option<SystemTime>,
    /// Closing it gives the lock up.
    _file: Handle,
}

impl Lock {
    /// Returns `None` if another process has the lock.
    pub(crate) fn of(working_file: &Path) -> io::Result<Option<Self>> {
        let working_file = without_links(working_file)?;
        let path = beside(&working_file, "-lock");
        loop {
            // Windows locks no file that is open for appending alone.
            let file = File::options().read(true).append(true).create(true).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let file = Handle::from_file(file)?;
            // The process that had it may have deleted it since this one opened it, and another has its own by then.
            match Handle::from_path(&path) {
                Ok(there) if there == file => {
                    let written = written(&working_file).max(written(&beside(&working_file, "-wal")));
                    return Ok(Some(Self { working_file, path, written, _file: file }));
                }
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
}

impl Drop for Lock {
    /// Deletes the file while it is locked. It does no harm if it stays.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

/// Resolves the symbolic links of a path. The file needn't be there, but its folder must.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Ok(fs::canonicalize(folder)?.join(path.file_name().unwrap_or_default()))
        }
        found => found,
    }
}

/// Returns a path with this added to its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
