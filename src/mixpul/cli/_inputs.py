"""What comes in: a table with its labels, a model file, the command line itself."""

import hashlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from mixpul import load
from mixpul.cli._messages import note
from mixpul.cli._sampling import read_or_sample
from mixpul.cli.options import Reading, TableOptions, Weighing
from mixpul.persistence import describe
from mixpul.persistence.notes import check_notes
from mixpul.tables import TableInput, find_negatives, read_table, read_verdicts, split_label
from mixpul.tables.formats import find_format, split_place
from mixpul.tables.names import check_present
from mixpul.tables.opening import is_stream, open_bytes
from mixpul.tables.parts import find_parts
from mixpul.tables.sampling import Design, Sample

__all__ = [
    "LabeledTable",
    "Limit",
    "digest_table",
    "load_any_model",
    "load_table_model",
    "name_table",
    "quote_command",
    "read_labeled_table",
    "read_pieces",
]

WHY_UNLABELED = (
    "labeled positives should be a random draw of all positives, and rows that were picked for "
    "checking by their score are not."
)


@dataclass(frozen=True)
class LabeledTable:
    """A user's table apart from its labels.

    Attributes
    ----------
    X : pandas.DataFrame
    is_positive : ndarray of bool
    is_negative : ndarray of bool
        Verified negatives.
    positive : object
        The value of the label column that means labeled positive.
    ids : list or None
        What the rows are called.
    input : TableInput
        Not fitted yet.
    options : TableOptions
        As they were given.
    weights : ndarray, optional
    sample : Sample, optional
        What is known of the whole table, if these are some of its rows.
    design : Design, optional
        How they were drawn.
    """

    X: Any
    is_positive: NDArray[np.bool_]
    positive: Any
    ids: list[Any] | None
    input: TableInput
    options: TableOptions
    is_negative: NDArray[np.bool_]
    weights: NDArray[np.float64] | None = None
    sample: Sample | None = None
    design: Design | None = None


class Limit(NamedTuple):
    """How many rows to learn from at most; None chooses it by the columns. Which ones: the seed."""

    max_rows: int | None
    seed: int


def read_labeled_table(
    table: str,
    options: TableOptions,
    reading: Reading,
    weighing: Weighing | None = None,
    limit: Limit | None = None,
) -> LabeledTable:
    """Read a table to learn from and take its labels, and perhaps its weights, out.

    With a `limit` a large table is sampled.
    """
    weighing = weighing or Weighing()
    _check_label_is_not_used(options, weighing)
    _check_one_kind(options)
    style = reading.to_arguments()
    sample = design = None
    if limit is None:
        frame = read_table(table, **style)
    else:
        frame, sample, design = read_or_sample(table, options, style, *limit)
        _check_queues(options, sample)
    data = split_label(
        frame,
        options.label,
        positive=options.positive,
        negative=options.negative,
        missing_is_unlabeled=options.missing_is_unlabeled,
    )
    is_negative = np.zeros(len(frame), dtype=bool)
    if options.negative is not None:
        is_negative = find_negatives(frame, options.label, options.negative)
    id_column = options.id_column
    apart = [name for name in (id_column, weighing.weight) if name is not None]
    table_input = _make_input(options, [*apart, *options.drop], list(map(str, data.X.columns)))
    ids = None if id_column is None else data.X[id_column].tolist()
    for queue in options.verdicts or ():
        is_negative |= _read_queue(queue, data.is_positive, is_negative, id_column, ids)
    return LabeledTable(
        *data,
        ids=ids,
        input=table_input,
        options=options,
        is_negative=is_negative,
        weights=None if weighing.weight is None else _read_weights(data.X[weighing.weight]),
        sample=sample,
        design=design,
    )


def _make_input(options: TableOptions, left_out: list[str], known: list[str]) -> TableInput:
    """Return what prepares the columns as asked; refuse names that the table does not have."""
    check_present([*left_out, *options.keep, *options.categorical], known, "The table")
    kinds = options.list_kinds()
    for kind, names in kinds.items():
        try:
            check_present(names, known, f"--{kind}: the table")
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return TableInput(
        drop=left_out,
        keep=list(options.keep),
        categorical=list(options.categorical),
        number=kinds["number"],
        category=kinds["category"],
        date=kinds["date"],
        text=kinds["text"],
        date_order=None if options.date_order is None else options.date_order.value,
    )


def _check_queues(options: TableOptions, sample: Sample | None) -> None:
    """Refuse verdicts that could go to other rows: of a sample only ids tell which they are."""
    if sample is not None and options.verdicts and options.id_column is None:
        raise typer.BadParameter(
            f"The fit takes a sample of the {sample.n_rows:,} rows, and verdicts are found again "
            "by ids only; name the column with --id, or read all rows with "
            f"--max-rows {sample.n_rows}."
        )


def _read_weights(column: Any) -> NDArray[np.float64]:
    """Return the weights of the rows; refuse what is no weight by its row."""
    import pandas

    weights = pandas.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise ValueError(
            f"--weight: a weight is a number that is not negative; row {bad[0] + 1} of column "
            f"{column.name!r} has {column.iloc[bad[0]]!r}."
        )
    return weights


def _read_queue(
    queue: str,
    is_positive: NDArray[np.bool_],
    is_negative: NDArray[np.bool_],
    id_column: str | None,
    ids: list[Any] | None,
) -> NDArray[np.bool_]:
    """Return the verified negatives of a queue, and say what became of all verdicts."""
    found = read_verdicts(queue, is_positive, id_column=id_column, ids=ids)
    if (clash := np.flatnonzero(found.is_positive & is_negative)).size:
        raise ValueError(
            f"{queue!r} says that row {clash[0]} is positive, but another verdict or its label "
            "says that it is negative; leave one of them."
        )
    n_yes, n_no = int(found.is_positive.sum()), int(found.is_negative.sum())
    kept = f" The {n_yes} answered yes stay unlabeled: {WHY_UNLABELED}" if n_yes else ""
    note(f"{queue!r}: {n_no} row{'s' * (n_no != 1)} answered no are verified negatives.{kept}")
    return found.is_negative


def _check_label_is_not_used(options: TableOptions, weighing: Weighing) -> None:
    named = {
        "--id": [options.id_column],
        "--drop": options.drop,
        "--keep": options.keep,
        "--categorical": options.categorical,
        **{f"--{kind}": names for kind, names in options.list_kinds().items()},
        "--weight": [weighing.weight],
        "--propensity": weighing.propensity,
    }
    for option, names in named.items():
        if options.label in names:
            raise typer.BadParameter(
                f"{option} names {options.label!r}, the label column, which is never learned "
                "from; name another."
            )


def _check_one_kind(options: TableOptions) -> None:
    """Refuse a column that is to be two things."""
    asked = {"drop": list(options.drop), "id": [options.id_column], **options.list_kinds()}
    # The former name of the same.
    asked["category"] = [*asked["category"], *options.categorical]
    for one, other in combinations(asked, 2):
        if both := set(asked[one]) & set(asked[other]) - {None}:
            # Which has always been allowed: codes that are left out after all.
            if one in ("drop", "id") and both <= set(options.categorical):
                continue
            raise typer.BadParameter(
                f"Column {min(both)!r} is named by both --{one} and --{other}; it can be one of "
                "them."
            )


def load_any_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return what a model file holds, and what the file knows of its fit."""
    return load(path), check_notes(describe(path)["info"])


def load_table_model(path: Path) -> tuple[Pipeline, dict[str, Any]]:
    """Return the pipeline of a model file, and what the file knows of its fit."""
    pipeline, info = load_any_model(path)
    # Asked first: an image model is not a pipeline either, and this message helps more.
    if "pictures" in info:
        raise ValueError(
            f"{str(path)!r} was fitted on images and does not take tables; score a folder of "
            "images with `mixpul predict-images`."
        )
    if not isinstance(pipeline, Pipeline):
        raise ValueError(
            f"{str(path)!r} holds a {type(pipeline).__name__} that takes rows of numbers, not "
            "tables; fit one with `mixpul fit`, or save a Pipeline of a TableInput and a "
            "classifier."
        )
    if not isinstance(pipeline[0], TableInput):
        raise ValueError(
            f"{str(path)!r} starts from a {type(pipeline[0]).__name__}, and only a TableInput "
            "knows how to read the columns of a file; score it in Python with `mixpul.load`, or "
            "put a TableInput first."
        )
    return pipeline, info


def name_table(table: str | Sequence[str]) -> str:
    """Return what to call a table on a page."""
    if not isinstance(table, str):
        return f"{Path(table[0]).name} and {len(table) - 1} more"
    file, place = split_place(table)
    return "standard input" if table == "-" else " ".join([Path(file).name, *filter(None, [place])])


def digest_table(table: str | Sequence[str]) -> str | None:
    """Return a fingerprint of a file or of many; None for a stream, which cannot be read again."""
    if is_stream(table):
        return None
    digests = []
    for part in find_parts(table):
        path, place = split_place(part.name)
        find_format(path)  # which says it if there is no such file
        digest = hashlib.sha256()
        for piece in read_pieces(path):
            digest.update(piece)
        if place is not None:
            digest.update(f"::{place}".encode())
        digests.append(f"sha256:{digest.hexdigest()}")
    return _join_digests(digests)


def _join_digests(digests: Sequence[str]) -> str | None:
    """Return one fingerprint for several files in order, that of the file itself for one."""
    if len(digests) <= 1:
        return digests[0] if digests else None
    return f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"


def read_pieces(path: str) -> Iterator[memoryview]:
    """Yield the bytes of a file, each piece in the memory of the one before it."""
    room = memoryview(bytearray(2**20))
    with open_bytes(path) as file:
        while n_read := file.readinto(room):
            yield room[:n_read]


def quote_command(words: Sequence[str] | None = None) -> str:
    """Return a command of mixpul as one types it; by default the one that is running."""
    return f"mixpul {shlex.join(sys.argv[1:] if words is None else words)}"
