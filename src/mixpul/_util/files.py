"""Files are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

__all__ = ["open_whole", "write_whole"]


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write `content` to `path` so that a crash leaves the old file or the new one."""
    with open_whole(path) as file:
        file.write(content)


@contextmanager
def open_whole(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Open a file to write in pieces; it replaces `path` when the block ends without an error."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} into; create it first."
        )
    # Beside the target: a rename is atomic only within one file system.
    with NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", suffix=".partial", delete=False
    ) as partial:
        try:
            yield partial
            partial.flush()
            # On disk before it gets its name: a power cut must not leave an empty file.
            os.fsync(partial.fileno())
            # A temporary file is private to its owner; a model file is an ordinary file.
            # The umask can be read only by setting it.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(partial.name, 0o666 & ~umask)
            os.replace(partial.name, path)
        # Ctrl-C counts, too: nothing half-written may stay beside the target.
        except BaseException:
            Path(partial.name).unlink(missing_ok=True)
            raise
