//! The lock of a working file, a file beside it. The working file can't be the lock itself: it is deleted once its work
//! is done, and who had opened it before then would lock what nobody else sees, and write into the log of the next one.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use same_file::Handle;

/// A process has it from before it opens the working file until it has closed or deleted it. One that is killed leaves
/// the file of the lock behind, which the next one takes.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// The system gives the lock up with it.
    _file: Handle,
}

impl Lock {
    /// Returns `None` if another process has the lock.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn of(working_file: &Path) -> io::Result<Option<Self>> {
        let path = beside(working_file, "-lock");
        loop {
            let file = File::options().append(true).create(true).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let file = Handle::from_file(file)?;
            // The process that had it may have deleted it since this one opened it, and another has its own by then.
            match Handle::from_path(&path) {
                Ok(there) if there == file => return Ok(Some(Self { path, _file: file })),
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

/// Returns the path of the file beside this one whose name ends with so much more.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
