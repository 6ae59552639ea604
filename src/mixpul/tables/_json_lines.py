"""JSON Lines: one object per line."""

import json
import re
from collections.abc import Iterator
from typing import Any

from mixpul._util.errors import TableError
from mixpul.tables._cells import ROWS_PER_CHUNK, Chunk
from mixpul.tables._text import cut_rows, read_text
from mixpul.tables.opening import show_name

__all__ = ["read_json_lines"]

# Objects in objects become columns such as address.city; deeper ones stay text.
DEEPEST = 4
# Half of a letter, as texts have that were shortened by a program that counts in 16 bits.
HALF = re.compile("[\ud800-\udfff]")


def read_json_lines(name: str, compression: str | None, encoding: str | None) -> Iterator[Chunk]:
    """Yield the rows in chunks; a chunk has the columns that some row of it has."""
    rows: list[dict[str, Any]] = []
    n_lines = 0
    blocks = cut_rows(
        read_text(name, compression, encoding), lambda block: block.rfind(b"\n") + 1, name
    )
    for block in blocks:
        for line in block.split(b"\n"):
            n_lines += 1
            if line.strip():
                rows.append(_flatten(_parse(line, n_lines, name)))
            if len(rows) == ROWS_PER_CHUNK:
                yield _turn(rows)
                rows = []
        n_lines -= 1  # what follows the last line break is the first line of the next block
    if rows:
        yield _turn(rows)


def _parse(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    # A number of many thousand digits is a ValueError, too.
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"Line {number} of {show_name(name, first=False)} is not JSON; write one object per "
            'line, such as {"age": 36, "city": "Oslo"}.'
        ) from error
    if not isinstance(row, dict):
        raise TableError(
            f"Line {number} of {show_name(name, first=False)} is JSON, but not an object; write "
            'one object per line, such as {"age": 36, "city": "Oslo"}.'
        )
    if b"\\u" in line and HALF.search(text := json.dumps(row, ensure_ascii=False)):
        row = json.loads(HALF.sub("\N{REPLACEMENT CHARACTER}", text))
    return row


def _flatten(row: dict[str, Any], prefix: str = "", depth: int = 1) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and value and depth < DEEPEST:
            flat |= _flatten(value, f"{prefix}{key}.", depth + 1)
        elif isinstance(value, list | dict):
            flat[prefix + key] = json.dumps(value, ensure_ascii=False)
        else:
            flat[prefix + key] = value
    return flat


def _turn(rows: list[dict[str, Any]]) -> Chunk:
    names = dict.fromkeys(key for row in rows for key in row)
    return {name: [row.get(name) for row in rows] for name in names}
