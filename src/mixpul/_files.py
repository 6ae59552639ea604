"""Files are written whole or not at all."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write `content` to `path` so that a crash leaves the old file or the new one."""
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
            partial.write(content)
            partial.flush()
            os.fsync(partial.fileno())
            # A temporary file is private to its owner; a model file is an ordinary file.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(partial.name, 0o666 & ~umask)
            os.replace(partial.name, path)
        except BaseException:
            Path(partial.name).unlink(missing_ok=True)
            raise
