"""Rows to check as a file: a CSV table, or tasks for Label Studio.

Each line has the row, the columns that people need to see, an empty verdict, and how the row was
drawn. So the file says all that an audit needs, and the table is not needed again.
"""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from mixpul._util.spreadsheets import disarm_formula
from mixpul.assess.strata import Review
from mixpul.tables.content import hash_cells

__all__ = [
    "CHECK",
    "DESIGN",
    "ROW",
    "VERDICT",
    "Queue",
    "compute_check",
    "make_queue",
    "write_csv",
    "write_tasks",
]

ROW, VERDICT = "mixpul_row", "verdict"
# How a row was drawn.
DESIGN = (
    "mixpul_score",
    "mixpul_rank",
    "mixpul_stratum",
    "mixpul_stratum_rows",
    "mixpul_stratum_drawn",
    "mixpul_inclusion",
    "mixpul_strata",
    "mixpul_seed",
    "mixpul_round",
    "mixpul_place",
    "mixpul_model",
    "mixpul_table",
    "mixpul_content",
)
CHECK = "mixpul_check"


class Queue(NamedTuple):
    """Rows to check, in the order in which they should be checked.

    Attributes
    ----------
    id_column : str or None
        Names the rows.
    shown : list of str
        The columns that people see.
    lines : list of dict
        The cells of each row as text, by column.
    """

    id_column: str | None
    shown: list[str]
    lines: list[dict[str, str]]

    @property
    def columns(self) -> list[str]:
        """All columns in the order of the file."""
        ids = [] if self.id_column is None else [self.id_column]
        return [ROW, *ids, *self.shown, VERDICT, *DESIGN, CHECK]


def make_queue(
    drawn: Review,
    *,
    ids: Sequence[Any] | None,
    id_column: str | None,
    cells: Sequence[dict[str, str]],
    contents: Sequence[str],
    model: str,
    table: str,
) -> Queue:
    """Write rows that were drawn as lines of a queue.

    Parameters
    ----------
    drawn : Review
    ids, cells, contents : sequence
        For each row that was drawn its name, the columns to show as text, and the hash of its
        content (`mixpul.tables.content.hash_rows`).
    id_column : str, optional
        The name of the column of `ids`.
    model, table : str
        Short checksums of the model file and of the table.
    """
    shown = list(cells[0]) if cells else []
    n_drawn = [int((drawn.strata == h).sum()) for h in range(len(drawn.sizes))]
    lines = []
    for k, row in enumerate(drawn.rows):
        h = int(drawn.strata[k])
        design = {
            "mixpul_score": f"{drawn.scores[k]:.6g}",
            "mixpul_rank": drawn.ranks[k],
            "mixpul_stratum": h + 1,
            "mixpul_stratum_rows": drawn.sizes[h],
            "mixpul_stratum_drawn": n_drawn[h],
            "mixpul_inclusion": f"{n_drawn[h] / drawn.sizes[h]:.6g}",
            "mixpul_strata": "+".join(map(str, drawn.sizes)),
            "mixpul_seed": drawn.seed,
            "mixpul_round": drawn.number,
            "mixpul_place": k + 1,
            "mixpul_model": model,
            "mixpul_table": table,
            "mixpul_content": contents[k],
        }
        named = {} if ids is None or id_column is None else {id_column: ids[k]}
        line = {ROW: row, **named, **cells[k], VERDICT: "", **design}
        line = {name: str(disarm_formula(value)) for name, value in line.items()}
        lines.append(line | {CHECK: compute_check(line, [*named, *shown])})
    return Queue(id_column if ids is not None else None, shown, lines)


def compute_check(line: dict[str, str], shown: Sequence[str]) -> str:
    """Return a hash of a line without its verdict; it tells if the line was changed."""
    return hash_cells(line[name] for name in (ROW, *shown, *DESIGN))


def write_csv(queue: Queue) -> bytes:
    """Write a queue as a CSV file."""
    file = io.StringIO()
    writer = csv.DictWriter(file, queue.columns, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(queue.lines)
    # With a mark at the front, which tells spreadsheets that it is UTF-8.
    return file.getvalue().encode("utf-8-sig")


def write_tasks(queue: Queue) -> bytes:
    """Write a queue as tasks for Label Studio: the data of each, and a text to show."""
    names = [] if queue.id_column is None else [queue.id_column]
    tasks = [
        {
            "data": {
                "text": "\n".join(f"{name}: {line[name]}" for name in (*names, *queue.shown)),
                # Databases do not keep the order of keys.
                "mixpul_columns": [*names, *queue.shown],
                **line,
            }
        }
        for line in queue.lines
    ]
    return json.dumps(tasks, indent=1).encode()
