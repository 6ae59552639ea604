"""A model file as bytes: workers of a cluster need not see the file."""

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from mixpul.persistence import describe, load
from mixpul.persistence.notes import check_notes

__all__ = ["load_content"]


# A worker scores many parts by one model.
@lru_cache(maxsize=1)
def load_content(content: bytes) -> tuple[Any, dict[str, Any]]:
    """Return what a model file holds, and what it knows of its fit, once per process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mixpul"
        path.write_bytes(content)
        return load(path), check_notes(describe(path)["info"])
