"""Queues that people have answered: read, checked, and put together as rounds."""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixpul._util.errors import DamagedFile, MixpulError
from mixpul._util.json_values import read_json
from mixpul._util.schema import ListOf, Maybe, Record, Text, check_value
from mixpul.assess.queues import CHECK, DESIGN, ROW, VERDICT, compute_check
from mixpul.assess.strata import Review
from mixpul.assess.verdicts import read_verdict

__all__ = ["Answered", "read_answers"]

DELIMITERS = ",;\t"
# What tells one draw from another.
ROUND = ("mixpul_model", "mixpul_table", "mixpul_strata", "mixpul_seed", "mixpul_round")
WHOLE = "keep all lines as `mixpul review` wrote them, and fill in the column verdict only"


# Whole numbers, sizes of strata, and a score, perhaps with the comma of a spreadsheet.
NUMBER = re.compile(r"[0-9]{1,15}")
PATTERNS = {
    ROW: NUMBER,
    "mixpul_score": re.compile(r"[0-9]([.,][0-9]{1,20})?([eE]-?[0-9]{1,3})?"),
    "mixpul_rank": NUMBER,
    "mixpul_stratum": NUMBER,
    "mixpul_stratum_drawn": NUMBER,
    "mixpul_strata": re.compile(r"[0-9]{1,15}([+][0-9]{1,15}){0,999}"),
    "mixpul_seed": NUMBER,
    "mixpul_round": NUMBER,
    "mixpul_place": NUMBER,
}
# What Label Studio exports, as far as it matters here.
RESULTS = Maybe(ListOf(Record({}, {"value": Maybe(Record({}, {"choices": ListOf(Text())}))})))
ANNOTATIONS = Maybe(ListOf(Record({}, {"result": RESULTS})))
TASKS = ListOf(Record({}, {"data": Record({}), "annotations": ANNOTATIONS}))


class Answered(NamedTuple):
    """Rounds of a review with their verdicts.

    Attributes
    ----------
    reviews : list of Review
    verdicts : list of list of str
        For each round the verdicts in the order of its queue.
    table : str
        The first 16 digits of the checksum of the table that the rows come from.
    shown : list of list of dict
        For each round what people saw of each row, by column.
    contents : list of list of str
        For each round the hash of each row's content.
    """

    reviews: list[Review]
    verdicts: list[list[str]]
    table: str
    shown: list[list[dict[str, str]]]
    contents: list[list[str]]


class _Line(NamedTuple):
    where: str  # to name it in a sentence
    cells: dict[str, str]
    verdict: str
    shown: dict[str, str]


def read_answers(paths: Sequence[str | os.PathLike], model: str) -> Answered:
    """Read queues, as CSV or as exported by Label Studio; refuse what cannot be counted.

    Parameters
    ----------
    paths : sequence of str or path-like
        Files with lines of one or several rounds. A round may be divided among files.
    model : str
        Checksum of the model file; its first 16 digits stand in the queues.

    Returns
    -------
    Answered
    """
    _refuse_twins(paths)
    lines = [line for path in paths for line in _read_file(path)]
    rounds: dict[tuple[str, ...], dict[int, _Line]] = {}
    for line in lines:
        if line.cells["mixpul_model"] != model[:16]:
            raise MixpulError(
                f"{line.where} was drawn for another model ({line.cells['mixpul_model']}, this one "
                f"is {model[:16]}); audit the model it was drawn for, or review this one."
            )
        of_round = rounds.setdefault(tuple(line.cells[name] for name in ROUND), {})
        row = int(line.cells[ROW])
        of_round[row] = _merge(of_round.get(row), line)
    if len({key[1] for key in rounds}) > 1:
        raise MixpulError("The queues were drawn from different tables; audit each table alone.")
    _refuse_contradictions(rounds.values())
    in_order = [_sort_lines(of_round.values()) for of_round in rounds.values()]
    return Answered(
        reviews=[_make_review(own) for own in in_order],
        verdicts=[[line.verdict for line in own] for own in in_order],
        table=next(iter(rounds))[1],
        shown=[[line.shown for line in own] for own in in_order],
        contents=[[line.cells["mixpul_content"] for line in own] for own in in_order],
    )


# -- files ----------------------------------------------------------------------------------


def _refuse_twins(paths: Sequence[str | os.PathLike]) -> None:
    seen: dict[bytes, str] = {}
    for path in paths:
        name = os.fspath(path)
        if not os.path.isfile(name):
            raise FileNotFoundError(f"There is no queue {name!r}.")
        content = Path(name).read_bytes()
        if content in seen:
            raise MixpulError(
                f"{name!r} is the same as {seen[content]!r}; name each queue once, or its answers "
                "would count twice."
            )
        seen[content] = name


def _read_file(path: str | os.PathLike) -> list[_Line]:
    name = os.fspath(path)
    content = Path(name).read_bytes()
    if content.lstrip()[:1] == b"<":
        raise MixpulError(
            f"{name!r} is a page; open it in a browser, answer, and audit the CSV file that it "
            "saves."
        )
    text = _decode(content)
    is_json = text.lstrip()[:1] in ("[", "{")
    try:
        lines = list(_read_tasks(text, name) if is_json else _read_csv(text, name))
    except csv.Error as error:
        raise DamagedFile(f"{name!r} is not a table of a queue: {error}; {WHOLE}.") from None
    if not lines:
        raise MixpulError(f"{name!r} has no rows; a queue of `mixpul review` was expected.")
    _refuse_repeats(lines)
    return lines


def _refuse_repeats(lines: Sequence[_Line]) -> None:
    """Refuse a file that has a row twice; several files may share rows, if they agree."""
    seen: dict[tuple[str, ...], str] = {}
    for line in lines:
        key = tuple(line.cells[name] for name in (*ROUND, ROW))
        if key in seen:
            raise MixpulError(
                f"{line.where} has the same row as {seen[key].rpartition(', ')[2]}; remove one of "
                "them."
            )
        seen[key] = line.where


def _decode(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # What spreadsheets of older make write; every byte is a letter in it.
        return content.decode("latin-1")


def _read_csv(text: str, name: str) -> Iterator[_Line]:
    head = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=head.count)
    # Other ways to end a line, as some spreadsheets have them, are the same to everyone else.
    reader = csv.reader(io.StringIO(text.replace("\0", ""), newline=None), delimiter=delimiter)
    columns = [column.strip() for column in next(reader, [])]
    _check_columns(columns, name)
    shown = [column for column in columns[: columns.index(VERDICT)] if column != ROW]
    for cells in reader:
        if any(cell.strip() for cell in cells):
            where = f"{name!r}, line {reader.line_num}"
            if len(cells) != len(columns):
                raise MixpulError(
                    f"{where} has {len(cells)} cells instead of {len(columns)}; {WHOLE}."
                )
            yield _make_line(dict(zip(columns, cells, strict=True)), shown, where)


def _read_tasks(text: str, name: str) -> Iterator[_Line]:
    """Read what Label Studio exports: tasks with annotations, or in its short form without."""
    try:
        tasks = read_json(text)
        check_value(tasks, TASKS, "tasks")
    except DamagedFile as error:
        raise DamagedFile(
            f"{name!r} is not a list of tasks as Label Studio exports them: {error}"
        ) from None
    for number, task in enumerate(tasks, 1):
        where = f"{name!r}, task {number}"
        data = task.get("data", task)
        _check_columns(list(data), where)
        shown = data.get("mixpul_columns", [])
        cells = {column: str(value) for column, value in data.items()}
        cells[VERDICT] = _find_choice(task, where)
        is_list = isinstance(shown, list) and all(isinstance(column, str) for column in shown)
        yield _make_line(cells, shown if is_list else [], where)


def _find_choice(task: dict[str, Any], where: str) -> str:
    """Return the one choice of a task; empty if there is none."""
    if "data" not in task:
        choices = {str(task.get(VERDICT, ""))}
    else:
        choices = {
            str(choice)
            for annotation in task.get("annotations") or []
            if not annotation.get("was_cancelled")
            for result in annotation.get("result") or []
            for choice in (result.get("value") or {}).get("choices", [])
        }
    if len(choices) > 1:
        raise MixpulError(
            f"{where} has several answers ({', '.join(sorted(choices))}); agree on one."
        )
    return next(iter(choices), "")


def _check_columns(columns: list[str], where: str) -> None:
    missing = [name for name in (ROW, VERDICT, *DESIGN, CHECK) if name not in columns]
    if missing:
        where = where if where.startswith("'") else repr(where)
        raise MixpulError(
            f"{where} has no column {missing[0]!r}: it is not a queue of `mixpul review`, or "
            f"a column was removed; {WHOLE}."
        )


def _make_line(cells: dict[str, str], shown: list[str], where: str) -> _Line:
    """Return a line if its verdict is a word we know and nothing else was changed."""
    try:
        verdict = read_verdict(cells[VERDICT])
    except MixpulError as error:
        raise MixpulError(f"{where}: {error}") from None
    # Nothing is counted by a changed line: it would not be the row that was drawn.
    if any(name not in cells for name in shown) or compute_check(cells, shown) != cells[CHECK]:
        raise MixpulError(f"{where} was changed since it was drawn; {WHOLE}.")
    design = {name: cells[name].strip() for name in (ROW, *DESIGN)}
    # A hash can be right and the content still not add up: anyone can compute one.
    for column, pattern in PATTERNS.items():
        if not pattern.fullmatch(design[column]):
            raise DamagedFile(f"{where} has {design[column][:40]!r} as {column!r}; {WHOLE}.")
    return _Line(where, design, verdict, {name: cells[name] for name in shown})


# -- rounds ---------------------------------------------------------------------------------


def _merge(known: _Line | None, line: _Line) -> _Line:
    """Return the one of two lines of a row that has an answer."""
    if known is None:
        return line
    if known.verdict and line.verdict and known.verdict != line.verdict:
        raise MixpulError(
            f"The row {line.cells[ROW]} is {known.verdict!r} in {known.where} and "
            f"{line.verdict!r} in {line.where}; agree on one answer."
        )
    return known if known.verdict else line


def _refuse_contradictions(rounds: Any) -> None:
    """Refuse a row that has different answers in two rounds."""
    answers: dict[str, _Line] = {}
    for of_round in rounds:
        for line in of_round.values():
            answers[line.cells[ROW]] = _merge(answers.get(line.cells[ROW]), line)


def _sort_lines(lines: Iterable[_Line]) -> list[_Line]:
    return sorted(lines, key=lambda line: int(line.cells["mixpul_place"]))


def _make_review(lines: list[_Line]) -> Review:
    """Return a round as it was drawn, from its lines in their order."""
    first = lines[0].cells
    drawn = {line.cells["mixpul_stratum"]: line.cells["mixpul_stratum_drawn"] for line in lines}
    n_drawn = sum(map(int, drawn.values()))
    if len(lines) != n_drawn:
        raise MixpulError(
            f"Round {first['mixpul_round']} has {n_drawn} rows, but the queue has {len(lines)} of "
            f"them (see {lines[0].where}); {WHOLE}. Rows without an answer stay empty."
        )

    def collect(name: str) -> Any:
        return np.array([int(line.cells[name]) for line in lines], dtype=np.intp)

    sizes = np.array([int(size) for size in first["mixpul_strata"].split("+")], dtype=np.intp)
    strata = collect("mixpul_stratum") - 1
    if not 0 <= strata.min() <= strata.max() < len(sizes):
        raise DamagedFile(f"{lines[0].where} names a stratum that is not there; {WHOLE}.")
    return Review(
        rows=collect(ROW),
        scores=np.array([float(line.cells["mixpul_score"].replace(",", ".")) for line in lines]),
        ranks=collect("mixpul_rank"),
        strata=strata,
        sizes=sizes,
        seed=int(first["mixpul_seed"]),
        number=int(first["mixpul_round"]),
    )
