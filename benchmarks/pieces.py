"""What long attacks have counted, piece by piece: a run that is stopped goes on where it was.

A piece is a range of seeds, and a line of benchmarks/results/robustness.jsonl. It names the code
that was attacked by a hash: pieces add up as long as this code is the same.

    python benchmarks/pieces.py    # prints the sums, for each attack and each code
"""

import datetime
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from mixpul._util.files import lock_folder, write_whole

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "robustness.jsonl"


class Piece(NamedTuple):
    """What became of a piece: words and how often, what failed, and the most memory in MB."""

    counts: dict[str, int]
    failures: list[str]
    peak: int = 0


def hash_code(*names: str, but: str | None = None) -> str:
    """Return a short hash of files and of the Python files in folders, named from the root."""
    total = hashlib.sha256()
    for name in names:
        path = ROOT / name
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in (file for file in files if file.name != but):
            total.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return total.hexdigest()[:12]


def read_pieces(what: str, code: str, results: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the pieces of this attack on this code that are counted already."""
    if not results.exists():
        return []
    records = map(json.loads, results.read_text().splitlines())
    return [record for record in records if (record["what"], record["code"]) == (what, code)]


def count_pieces(
    what: str,
    code: str,
    firsts: Iterable[int],
    count: Callable[[int], Piece],
    results: Path = RESULTS,
) -> str:
    """Count the pieces that are missing, and return a line that sums up all of them."""
    firsts = list(firsts)
    done = {record["first"] for record in read_pieces(what, code, results)}
    for first in firsts:
        if first in done:
            continue
        begun = time.monotonic()
        piece = count(first)
        record = {"what": what, "code": code, "first": first, **piece._asdict()}
        record |= {"seconds": round(time.monotonic() - begun), "date": f"{datetime.date.today()}"}
        # Read anew: another run may have counted something else meanwhile.
        with lock_folder(results.parent):
            before = results.read_text() if results.exists() else ""
            write_whole(results, (before + json.dumps(record) + "\n").encode())
        print(describe_pieces(read_pieces(what, code, results)), flush=True)
    return describe_pieces([p for p in read_pieces(what, code, results) if p["first"] in firsts])


def describe_pieces(pieces: list[dict[str, Any]]) -> str:
    """Return the sum of pieces in one line."""
    counts = sum((Counter(piece["counts"]) for piece in pieces), Counter[str]())
    parts = [f"{n:,} {word}" for word, n in sorted(counts.items())]
    what, peak = pieces[0]["what"], max(piece["peak"] for piece in pieces)
    n_failures = sum(len(piece["failures"]) for piece in pieces)
    memory = f", at most {peak} MB" if peak else ""
    return f"{what}: {counts.total():,} ({', '.join(parts)}){memory}; failures: {n_failures}"


def main() -> None:
    records = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    for what, code in dict.fromkeys((record["what"], record["code"]) for record in records):
        print(code, describe_pieces(read_pieces(what, code)))


if __name__ == "__main__":
    main()
