"""Archives that are the same for the same contents, on every machine with the same zlib: nothing of the machine, and one time for all."""

import gzip
import hashlib
import io
import stat
import tarfile
import zipfile
from dataclasses import dataclass

# The earliest time that a ZIP archive can have.
EARLIEST = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class File:
    """A file of an archive. Without content it is a directory."""

    content: bytes | None
    mode: int = 0o644
    owner: int = 0


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def zipped(files):
    """A ZIP archive. The last file of a wheel is its list, so the order is kept."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, file in files.items():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | file.mode) << 16
            archive.writestr(entry, file.content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def tarred(files, moment):
    """A TAR archive, sorted by name, whose files have the time `moment`, in seconds since 1970."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, file in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.mtime, entry.uid, entry.gid = file.mode, moment, file.owner, file.owner
            if file.content is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(file.content)
                archive.addfile(entry, io.BytesIO(file.content))
    return packed.getvalue()


def gzipped(content):
    return gzip.compress(content, mtime=0)
