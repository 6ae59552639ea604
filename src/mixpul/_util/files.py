"""Files are written whole or not at all, and stay on disk.

A file is written beside its place under another name, a *partial* file, brought to the disk, and
renamed. Whoever writes holds a lock on the partial file. The system lifts the lock when a process
dies, however it dies, so the next writer can tell a partial file that was left behind from one
that another process is writing.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # not on Windows: there, partial files of killed processes stay
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "FULL",
    "check_place",
    "find_target",
    "lock_folder",
    "open_whole",
    "remove_partials",
    "write_whole",
]

# A quota and a limit on file sizes end a write in the same way as a full disk.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Longer names are shortened: with the marks of a partial file they could be too long.
LONGEST_NAME = 150
# Of folders that cannot be brought to the disk by themselves, such as some on networks.
NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF, errno.EPERM)


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write `content` to `path` so that a crash leaves the old file or the new one."""
    with open_whole(path) as file:
        file.write(content)


@contextmanager
def open_whole(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Open a file to write in pieces; it replaces `path` when the block ends without an error.

    A symbolic link is followed, and a file that is replaced keeps its permissions.
    """
    target = find_target(path)
    remove_partials(target.parent, target.name)
    with _open_partial(target) as (partial, file):
        try:
            yield file
            file.flush()
            # On disk before it gets its name: a power cut must not leave an empty file.
            os.fsync(file.fileno())
            os.replace(partial, target)
        except OSError as error:
            _discard(partial, file)
            # A failed write does not say of which file it was.
            if error.errno in FULL and error.filename is None:
                error.filename = os.fspath(path)
            raise
        # Ctrl-C counts, too: nothing half-written may stay beside the target.
        except BaseException:
            _discard(partial, file)
            raise
    _sync_folder(target.parent)


def check_place(path: str | os.PathLike) -> None:
    """Refuse a file that could not be written, by opening a partial one there."""
    target = find_target(path)
    remove_partials(target.parent, target.name)
    try:
        with _open_partial(target) as (partial, file):
            _discard(partial, file)
    except OSError as error:
        if error.errno in FULL:
            raise
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise PermissionError(
            f"The folder {str(target.parent)!r} is not writable ({reason}); name another one."
        ) from error


def find_target(path: str | os.PathLike) -> Path:
    """Return the file that `path` stands for, behind symbolic links; refuse what is none."""
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(target.parent)!r} to write {target.name!r} into; create it "
            "first."
        )
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError(
                f"{str(path)!r} is a symbolic link that leads in a circle; name a file."
            ) from error
        if error.errno == errno.ENAMETOOLONG:
            raise ValueError(
                f"The name {target.name[:40]!r}... is too long for a file; name a shorter one."
            ) from error
        raise
    # A rename would put a file in the place of a device such as /dev/null.
    if not stat.S_ISREG(mode):
        kind = IsADirectoryError if stat.S_ISDIR(mode) else ValueError
        raise kind(f"{str(path)!r} is a folder or a device; name a file to write.")
    return target


def remove_partials(folder: Path, name: str | None = None) -> None:
    """Remove partial files that killed processes have left, of one file or of all in a folder."""
    if fcntl is None:
        return
    stem = r"\..+" if name is None else re.escape(_name_partial(name))
    is_partial = re.compile(stem + r"\.[a-z0-9_]{8}\.partial")
    with suppress(OSError), os.scandir(folder) as entries:
        for found in [entry.path for entry in entries if is_partial.fullmatch(entry.name)]:
            _remove_if_left(found)


@contextmanager
def lock_folder(folder: str | os.PathLike) -> Iterator[None]:
    """Wait until no other process changes the files of a folder; the lock leaves no file."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _name_partial(name: str) -> str:
    if len(os.fsencode(name)) <= LONGEST_NAME:
        return f".{name}"
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}"


@contextmanager
def _open_partial(target: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Open a new, locked file beside the target: a rename is atomic only within a file system."""
    mode = 0o666
    old = None
    with suppress(OSError):
        old = os.stat(target)
        # From the start: what is private must not be open to others while it is written.
        mode = stat.S_IMODE(old.st_mode)
    while True:
        partial = f"{target.parent}{os.sep}{_name_partial(target.name)}.{secrets.token_hex(4)}"
        partial += ".partial"
        # Not tempfile: the system takes the umask off this mode, and nobody else can read it.
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_BINARY, mode)
        with os.fdopen(handle, "wb") as file:
            if not _lock(handle):
                continue  # another process took it for one left behind, and removed it
            if old is not None:
                _keep_owner(handle, old, mode)
            yield partial, file
            return


O_BINARY = getattr(os, "O_BINARY", 0)  # Windows would change line ends


def _lock(handle: int) -> bool:
    """Lock a file that was just made; false if it has been removed since."""
    if fcntl is None:
        return True
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    return os.fstat(handle).st_nlink > 0


def _keep_owner(handle: int, old: os.stat_result, mode: int) -> None:
    """Give a file the owner, if that is allowed, and the permissions of the one it replaces."""
    if hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(handle, old.st_uid, old.st_gid)
        with suppress(OSError):
            os.fchmod(handle, mode)


def _remove_if_left(partial: str) -> None:
    """Remove a partial file unless the process that writes it is alive."""
    with suppress(OSError):
        handle = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(partial)
        finally:
            os.close(handle)


def _discard(partial: str, file: IO[bytes]) -> None:
    # What is still to be written would fail once more when the file is closed.
    with suppress(OSError, ValueError):
        file.close()
    with suppress(OSError):
        os.unlink(partial)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk, too."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC:
            raise
