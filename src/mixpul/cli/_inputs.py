"""What comes in: a table with its labels, a model file, names on the command line."""

import hashlib
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import typer
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from mixpul import load
from mixpul.persistence import describe
from mixpul.tables import TableInput, read_table, split_label
from mixpul.tables.formats import is_stream
from mixpul.tables.names import check_present

__all__ = [
    "LabeledTable",
    "check_among",
    "chosen",
    "command_line",
    "fingerprint",
    "given",
    "load_model",
    "merged_reading",
    "read_labeled",
    "source_name",
]


class LabeledTable(NamedTuple):
    """A user's table apart from its labels, and how it was asked to be read."""

    X: Any
    is_positive: NDArray
    positive: Any
    id_column: str | None
    input: TableInput
    missing_is_unlabeled: bool
    reading: dict[str, Any]

    @property
    def ids(self) -> list[Any] | None:
        return None if self.id_column is None else self.X[self.id_column].tolist()


def read_labeled(
    table: str,
    label: str,
    *,
    positive: str | None,
    missing_is_unlabeled: bool,
    id_column: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    categorical: Sequence[str],
    **reading: Any,
) -> LabeledTable:
    options = {"--drop": drop, "--keep": keep, "--categorical": categorical}
    left_out = [*([id_column] if id_column is not None else []), *drop]
    for option, names in {"--id": left_out[:1] if id_column else [], **options}.items():
        if label in names:
            raise typer.BadParameter(
                f"{option} names {label!r}, the label column, which is never learned from; name "
                "another."
            )
    frame = read_table(table, **given(reading))
    data = split_label(frame, label, positive=positive, missing_is_unlabeled=missing_is_unlabeled)
    check_present([*left_out, *keep, *categorical], list(map(str, data.X.columns)), "The table")
    return LabeledTable(
        *data,
        id_column,
        TableInput(drop=left_out, keep=list(keep), categorical=list(categorical)),
        missing_is_unlabeled,
        given(reading),
    )


def given(reading: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of how the file is written."""
    return {name: value for name, value in reading.items() if value}


def load_model(path: Path) -> tuple[Pipeline, dict[str, Any]]:
    """The pipeline, and what the file knows of its fit."""
    pipeline = load(path)
    info = describe(path)["info"]
    if "pictures" in info:
        raise ValueError(
            f"{str(path)!r} was fitted on pictures and takes no tables; score a folder of pictures "
            "with `mixpul predict-images`."
        )
    if not isinstance(pipeline, Pipeline):
        raise ValueError(
            f"{str(path)!r} holds a {type(pipeline).__name__} that takes rows of numbers, not "
            "tables; fit one with `mixpul fit`, or save a Pipeline of a TableInput and a "
            "classifier."
        )
    return pipeline, info


def merged_reading(info: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """As the table of the fit was read, unless told otherwise."""
    return given({**info.get("reading", {}), **given(reading)})


def chosen(names: Sequence[str], known: Iterable[str], option: str) -> list[str]:
    """The names, all that are known if they are 'all', and none that is unknown."""
    known = list(known)
    if list(names) == ["all"]:
        return known
    for name in names:
        check_among(name, known, option)
    if not names:
        raise typer.BadParameter(f"{option} is empty; name some of {', '.join(known)}, or all.")
    return list(dict.fromkeys(names))


def check_among(name: str, known: Iterable[str], where: str, kind: str = "choice") -> None:
    names = list(known)
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}."
        raise typer.BadParameter(f"{where} has no {kind} {name!r}; {hint}")


def source_name(table: str) -> str:
    return "standard input" if table == "-" else Path(table).name


def command_line() -> str:
    return f"mixpul {shlex.join(sys.argv[1:])}"


def fingerprint(table: str) -> str | None:
    """Of a file that can be read again."""
    if is_stream(table):
        return None
    with open(table, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
